//! URLs, pages, requests: what becomes of them, and how long it takes.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Unit;

use super::parts::{Each, Labels, Values, count, follow, long, one_more, put, set_all, wide};
use super::{Metrics, Phase};
use crate::content::sitemap::End;
use crate::domain::note::Note;
use crate::domain::reason::{Failure, Rejection};
use crate::domain::revisit::RequeueReason;
use crate::domain::url::UrlError;
use crate::domain::visit::Visit;
use crate::net::dns::DnsStats;
use crate::telemetry::series::VISITS;
use crate::telemetry::status::StatusSnapshot;

const CLASSES: [&str; 6] = ["1xx", "2xx", "3xx", "4xx", "5xx", "other"];

metrics! {
    Pages {
        urls: Family<[(&'static str, String); 2], Gauge> = family("lycosa_urls", "URLs by state");
        conservation: Family<[(&'static str, String); 1], Gauge> = family(
            "lycosa_conservation_difference",
            "URLs discovered less the sum of all states: 0, or the program has a fault (I2)"
        );
        hosts: Each<Gauge> = gauges("lycosa_hosts", "Hosts with URLs, by state", HOSTS);
        ordered: Each<Gauge> = gauges("lycosa_hosts_ordered", "Hosts by the orders that stand for them", ORDERS);
        ranks: Each<Gauge> = gauges(
            "lycosa_frontier_urls",
            "URLs in the queues of all hosts by rank, those being fetched among them", RANK_NAMES
        );
        retries_waiting: Gauge = gauge("lycosa_frontier_retries", "URLs that wait for the time of their next try");
        credit: Each<Gauge> =
            gauges("lycosa_credit_thousandths", "Link credit by who holds it, in thousandths of what a seed brings", HOLDERS);
        credit_difference: Gauge =
            gauge("lycosa_credit_difference", "Units of link credit held less those issued: 0, or the program has a fault (I11)");
        credit_notes: Gauge = gauge("lycosa_credit_notes_open", "Notes of link credit that are not settled");
        credit_rounds: Counter = counter("lycosa_credit_rounds", "Rounds of link credit that ended");
        credit_moved: Counter = counter("lycosa_credit_moved", "URLs that moved up by link credit");
        visits_planned: Gauge = gauge("lycosa_visits_planned", "Pages that are done and have a next visit");
        visit_load: Gauge = gauge("lycosa_visit_load", "Visits a day that pages ask for");
        visit_lateness: Histogram = times_as("lycosa_visit_lateness", "How late the first visit of a host's turn began", long);
        hosts_blocked: Each<Counter> = counters(
            "lycosa_hosts_blocked",
            "How often a host was left alone for long, by reason", ("reason", &BLOCKS)
        );
        rejected: Each<Counter> = counters_of::<Rejection>("lycosa_rejected", "URLs turned away, by reason");
        links_refused: Each<Counter> = counters_of::<UrlError>(
            "lycosa_links_refused",
            "Links found that are no URLs that can be asked for, by reason"
        );
        errors: Each<Counter> = counters_of::<Failure>("lycosa_errors", "URLs given up, by reason");
        retries: Each<Counter> =
            counters_of::<Failure>("lycosa_retries", "Attempts that failed and are repeated, by reason");
        responses: Each<Counter> = counters("lycosa_responses", "Final answers by status class", ("class", &CLASSES));
        notes: Each<Counter> = counters_of::<Note>("lycosa_page_notes", "What was odd about answers, by note");
        stored: Counter = counter("lycosa_pages_stored", "Answers stored in the archive, in full or as a reference to content that is known");
        revisits: Counter = counter("lycosa_revisits", "Answers with known or unchanged content, stored as references");
        visits: Each<Counter> = counters_of::<Visit>("lycosa_visits", "Pages finished, by what their visit brought: the kind of the entry in the feed");
        near: Counter = counter(
            "lycosa_near_duplicates", "Pages whose text was found to be near to that of another page of their domain"
        );
        near_cut: Counter = counter(
            "lycosa_near_cut", "Blocks of texts with more leaders than are looked at, where a near one may have been missed"
        );
        received: Counter = counter_in("lycosa_received", "Bytes of the bodies of captures, as received", Unit::Bytes);
        in_hand: Each<Gauge> = gauges("lycosa_in_flight", "Requests on the wire, and pages being parsed", STAGES);
        phases: Each<Histogram> =
            times_of::<Phase>("lycosa_fetch_phase", "Time of a fetch by phase; dns: with answers that were kept", wide);
        lookups: Each<Counter> =
            counters("lycosa_dns_lookups", "Names looked up, by where the answer came from", LOOKUPS);
        looking_up: Gauge = gauge("lycosa_dns_pending", "Names being looked up");
        sitemaps: Each<Counter> = counters_of::<End>("lycosa_sitemaps", "Sitemaps read, by how that ended");
        queued_again: Each<Counter> = counters_of::<RequeueReason>(
            "lycosa_revisits_queued",
            "URLs fetched before that were queued once more, by why"
        );
        reranked: Counter = counter("lycosa_reranked", "Waiting URLs that were given another place by other rules");
        sitemap_urls: Counter = counter("lycosa_sitemap_urls", "URLs in sitemaps read, known and unwanted ones too");
        lateness: Histogram = times(
            "lycosa_politeness_lateness",
            "How long after its earliest time a request was sent; not of a host that was never asked before"
        );
        commit_lag: Histogram = times("lycosa_commit_lag", "End of the answer to the commit of its page");
    }
}

/// Where a host with URLs can be.
const HOLDERS: Values<'_> = ("holder", &["accounts", "purses", "unpaid", "lambda", "notes"]);
const HOSTS: Values<'_> = ("state", &["active", "waiting", "parked", "held"]);
/// What the operator can have said of a host.
const ORDERS: Values<'_> = ("order", &["paused", "blocked", "dropping", "recrawling"]);
/// The ranks of a queue.
const RANK_NAMES: Values<'_> = ("rank", &["0", "1", "2", "3", "4", "5", "6", "7"]);
/// Where a page in somebody's hands is.
const STAGES: Values<'_> = ("stage", &["fetch", "parse"]);
/// Where the addresses of a name come from.
const LOOKUPS: Values<'_> = ("result", &["cached", "answered", "not_found", "failed", "timeout"]);
/// Why a host is left alone.
const BLOCKS: [&str; 2] = ["refusals", "robots_unreachable"];

impl Metrics {
    /// So many URLs were turned away.
    pub fn rejected(&self, reason: Rejection, n: u64) {
        self.0.pages.rejected.with(reason.place(), |m| {
            m.inc_by(n);
        });
    }

    /// A link is no URL that can be asked for.
    pub fn link_refused(&self, why: UrlError) {
        count(&self.0.pages.links_refused, why);
    }

    /// A URL was given up.
    pub fn error(&self, reason: Failure) {
        count(&self.0.pages.errors, reason);
    }

    /// An attempt failed and will be repeated.
    pub fn retry(&self, reason: Failure) {
        count(&self.0.pages.retries, reason);
    }

    /// A host is left alone for long.
    pub fn host_blocked(&self, reason: &str) {
        let place = BLOCKS.iter().position(|known| *known == reason).unwrap_or(usize::MAX);
        self.0.pages.hosts_blocked.with(place, one_more);
    }

    /// A final answer with this status came in.
    pub fn response(&self, status: u16) {
        let class = match status {
            100..=599 => usize::from(status / 100) - 1,
            _ => CLASSES.len() - 1,
        };
        self.0.pages.responses.with(class, one_more);
    }

    /// Something was odd about an answer.
    pub fn note(&self, note: Note) {
        count(&self.0.pages.notes, note);
    }

    /// Pages and references committed.
    pub fn stored(&self, pages: u64, revisits: u64) {
        self.0.pages.stored.inc_by(pages);
        self.0.pages.revisits.inc_by(revisits);
    }

    /// A page is finished.
    pub fn visit(&self, visit: Visit) {
        count(&self.0.pages.visits, visit);
    }

    /// A page was found to be near to another one.
    pub fn near_duplicate(&self) {
        one_more(&self.0.pages.near);
    }

    /// Pages found to be near to another one since the process began.
    pub fn near_duplicates(&self) -> u64 {
        self.0.pages.near.get()
    }

    /// So many blocks had more leaders than were looked at.
    pub fn near_cut(&self, blocks: u64) {
        self.0.pages.near_cut.inc_by(blocks);
    }

    /// A body of so many bytes was captured.
    pub fn received(&self, bytes: u64) {
        self.0.pages.received.inc_by(bytes);
    }

    /// A sitemap was read.
    pub fn sitemap(&self, end: End, urls: u64) {
        count(&self.0.pages.sitemaps, end);
        self.0.pages.sitemap_urls.inc_by(urls);
    }

    /// A URL that was fetched is queued once more.
    pub fn queued_again(&self, why: RequeueReason) {
        count(&self.0.pages.queued_again, why);
    }

    /// So many waiting URLs were given another place.
    pub fn reranked(&self, urls: u64) {
        self.0.pages.reranked.inc_by(urls);
    }

    /// A phase of a fetch took so long.
    pub fn phase(&self, phase: Phase, took: Duration) {
        self.0.pages.phases.with(phase.place(), |m| m.observe(took.as_secs_f64()));
    }

    /// A request was sent so long after its earliest time.
    pub fn lateness(&self, late: Duration) {
        self.0.pages.lateness.observe(late.as_secs_f64());
    }

    /// Visits since the process began, in the order of [`Visit::ALL`].
    pub fn visits(&self) -> [u64; VISITS] {
        std::array::from_fn(|at| self.0.pages.visits.get(at).map_or(0, Counter::get))
    }

    /// The first visit of a host's turn began so late.
    pub fn visit_late(&self, late: Duration) {
        self.0.pages.visit_lateness.observe(late.as_secs_f64());
    }

    /// A page was committed so long after its answer's end.
    pub fn commit_lag(&self, lag: Duration) {
        self.0.pages.commit_lag.observe(lag.as_secs_f64());
    }

    /// Requests on the wire, pages being parsed.
    pub fn in_hand(&self, fetching: u64, parsing: u64) {
        set_all(&self.0.pages.in_hand, &[fetching, parsing]);
    }

    /// Names looked up so far.
    pub fn dns(&self, stats: DnsStats) {
        let answered = stats.misses.saturating_sub(stats.faults()).saturating_sub(stats.pending);
        let totals = [stats.hits, answered, stats.not_found, stats.failed, stats.timed_out];
        put(&self.0.pages.looking_up, stats.pending);
        totals.into_iter().enumerate().for_each(|(i, n)| self.0.pages.lookups.with(i, |m| follow(m, n)));
    }

    /// Takes the gauges of URLs and hosts from a snapshot.
    pub fn publish(&self, s: &StatusSnapshot) {
        let pages = &self.0.pages;
        let states = [
            ("waiting", s.waiting),
            ("processing", s.processing),
            ("done", s.done),
            ("error", s.errors),
            ("rejected", s.rejected),
        ];
        for (state, value) in states {
            let labels = [("crawl", s.crawl.clone()), ("state", state.to_owned())];
            put(&pages.urls.get_or_create(&labels), value);
        }
        let sum = states.iter().map(|(_, n)| *n).fold(0, u64::saturating_add);
        let difference = i128::from(s.discovered) - i128::from(sum);
        let difference = i64::try_from(difference).unwrap_or(if difference < 0 { i64::MIN } else { i64::MAX });
        pages.conservation.get_or_create(&[("crawl", s.crawl.clone())]).set(difference);
        set_all(&pages.hosts, &[s.hosts_active, s.hosts_waiting, s.hosts_parked, s.hosts_held]);
        let orders = s.hosts_ordered;
        set_all(&pages.ordered, &[orders.paused, orders.blocked, orders.dropping, orders.recrawling]);
        set_all(&pages.ranks, &s.frontier);
        put(&pages.retries_waiting, s.retries);
        put(&pages.visits_planned, s.visits_planned);
        let credit = s.credit.clone().unwrap_or_default();
        let held = [credit.accounts, credit.purses, credit.unpaid, credit.lambda, credit.notes];
        set_all(&pages.credit, &held.map(|of| (of * 1_000.0).round() as u64));
        pages.credit_difference.set(credit.difference);
        put(&pages.credit_notes, credit.notes_open);
        follow(&pages.credit_rounds, credit.rounds);
        follow(&pages.credit_moved, credit.moved);
        put(&pages.visit_load, s.visits_a_day.round() as u64);
    }
}
