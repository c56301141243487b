//! Every metric's name, in this file alone. Labels come from fixed sets; no host names.
//!
//! | metric | type | labels |
//! |---|---|---|
//! | `lycosa_urls` | gauge | `crawl`, `state`: waiting, processing, done, error, rejected |
//! | `lycosa_hosts` | gauge | `state`: active, waiting, parked |
//! | `lycosa_rejected_total` | counter | `reason` ([`Rejection`]) |
//! | `lycosa_errors_total` | counter | `reason` ([`Failure`]) |
//! | `lycosa_responses_total` | counter | `class`: 1xx to 5xx, other |
//! | `lycosa_pages_stored_total`, `lycosa_revisits_total`, `lycosa_received_bytes_total` | counter | |
//! | `lycosa_fetch_phase_seconds` | histogram | `phase` ([`Phase`]) |
//! | `lycosa_politeness_lateness_seconds`, `lycosa_commit_lag_seconds` | histogram | |
//! | `lycosa_actor_handled_total`, `lycosa_actor_restarts_total` | counter | `actor` ([`ActorKind`]) |
//! | `lycosa_actor_queue` | gauge | `actor` |
//! | `lycosa_actor_handle_seconds` | histogram | `actor` |
//! | `lycosa_permits` | gauge | `state`: free, taken |
//! | `lycosa_checkpoints_total`, `lycosa_uploads_total` | counter | `result`: done, failed |
//! | `lycosa_checkpoint_last_timestamp_seconds` | gauge | |
//! | `lycosa_disk_free_bytes` | gauge | `folder`: data, warc, spill |
//! | `lycosa_paused` | gauge | `reason`: operator, disk_low, disk_fault |
//! | `lycosa_commit_failures_total` | counter | `kind` ([`DiskFault`]) |
//! | `lycosa_storage_reopens_total` | counter | |
//! | `lycosa_log_errors_total` | counter | |
//! | `lycosa_build_info` | info | `version` |
//! | `process_*` | | [`ProcessCollector`] |

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use super::log::errors_logged;
use super::process::ProcessCollector;
use super::status::StatusSnapshot;
use crate::disk::DiskFault;
use crate::domain::reason::{Failure, Rejection};
use crate::domain::time::UnixMillis;

/// Content type of [`Metrics::text`]: OpenMetrics, which Prometheus reads as well.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

type Label = [(&'static str, &'static str); 1];

/// Declares an enum whose variants index arrays of metrics.
macro_rules! kinds {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($(#[$vdoc])* $variant,)* }

        impl $name {
            /// Every one, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Its label and its name in the status.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }
    };
}

kinds! {
    /// The seven kinds of actor.
    ActorKind {
        /// Starts and replaces the others.
        Supervisor = "supervisor",
        /// Queues and leases.
        Frontier = "frontier",
        /// One a host.
        Politeness = "politeness",
        /// Connections.
        Fetcher = "fetcher",
        /// Pages.
        Parser = "parser",
        /// The seen test.
        Deduper = "deduper",
        /// The only writer.
        Store = "store",
    }
}

kinds! {
    /// Parts of a fetch.
    Phase {
        /// Name resolution.
        Dns = "dns",
        /// TCP.
        Connect = "connect",
        /// TLS.
        Tls = "tls",
        /// Request to first byte.
        FirstByte = "first_byte",
        /// First byte to the end of the body.
        Body = "body",
        /// All of it.
        Total = "total",
    }
}

/// One metric for each member of a fixed set; finding one is an array access.
#[derive(Debug)]
struct Each<M>(Vec<M>);

impl<M: Clone> Each<M> {
    fn of<C>(family: &Family<Label, M, C>, label: &'static str, values: impl Iterator<Item = &'static str>) -> Self
    where
        C: prometheus_client::metrics::family::MetricConstructor<M>,
    {
        Self(values.map(|value| family.get_or_create_owned(&[(label, value)])).collect())
    }

    fn with(&self, index: usize, act: impl FnOnce(&M)) {
        if let Some(metric) = self.0.get(index) {
            act(metric);
        }
    }
}

#[derive(Debug)]
struct Inner {
    registry: Registry,
    urls: Family<[(&'static str, String); 2], Gauge>,
    hosts: Each<Gauge>,
    rejected: Each<Counter>,
    errors: Each<Counter>,
    responses: Each<Counter>,
    pages_stored: Counter,
    revisits: Counter,
    received: Counter,
    phases: Each<Histogram>,
    lateness: Histogram,
    commit_lag: Histogram,
    handled: Each<Counter>,
    restarts: Each<Counter>,
    queue: Each<Gauge>,
    handle: Each<Histogram>,
    permits: Each<Gauge>,
    checkpoints: Each<Counter>,
    checkpoint_last: Gauge,
    uploads: Each<Counter>,
    disk_free: Each<Gauge>,
    paused: Each<Gauge>,
    commit_failures: Each<Counter>,
    storage_reopens: Counter,
    log_errors: Counter,
}

/// Handles to all metrics. Clones share them; counting is one atomic addition.
#[derive(Clone, Debug)]
pub struct Metrics(Arc<Inner>);

const RESULTS: [&str; 2] = ["done", "failed"];
/// Folders whose file systems are looked at.
const FOLDERS: [&str; 3] = ["data", "warc", "spill"];

const CLASSES: [&str; 6] = ["1xx", "2xx", "3xx", "4xx", "5xx", "other"];

/// 1 ms to 65 s.
fn wide() -> Histogram {
    Histogram::new(exponential_buckets(0.001, 2.0, 17))
}

/// 10 µs to 5 s.
fn narrow() -> Histogram {
    Histogram::new(exponential_buckets(0.000_01, 4.0, 10))
}

impl Metrics {
    /// Registers every metric. `started`: when this process began.
    #[must_use]
    pub fn new(started: UnixMillis) -> Self {
        let mut r = Registry::default();
        let counters = Family::<Label, Counter>::default;
        let gauges = Family::<Label, Gauge>::default;
        let (hosts, queue, permits) = (gauges(), gauges(), gauges());
        let (disk_free, paused, commit_failures) = (gauges(), gauges(), counters());
        let (rejected, errors, responses, handled, restarts) =
            (counters(), counters(), counters(), counters(), counters());
        let (checkpoints, uploads) = (counters(), counters());
        let phases = Family::<Label, Histogram, fn() -> Histogram>::new_with_constructor(wide);
        let handle = Family::<Label, Histogram, fn() -> Histogram>::new_with_constructor(narrow);
        let actors = || ActorKind::ALL.iter().map(|a| a.as_str());
        let inner = Inner {
            urls: Family::default(),
            hosts: Each::of(&hosts, "state", ["active", "waiting", "parked"].into_iter()),
            rejected: Each::of(&rejected, "reason", Rejection::ALL.iter().map(|x| x.as_str())),
            errors: Each::of(&errors, "reason", Failure::ALL.iter().map(|x| x.as_str())),
            responses: Each::of(&responses, "class", CLASSES.into_iter()),
            pages_stored: Counter::default(),
            revisits: Counter::default(),
            received: Counter::default(),
            phases: Each::of(&phases, "phase", Phase::ALL.iter().map(|p| p.as_str())),
            lateness: wide(),
            commit_lag: wide(),
            handled: Each::of(&handled, "actor", actors()),
            restarts: Each::of(&restarts, "actor", actors()),
            queue: Each::of(&queue, "actor", actors()),
            handle: Each::of(&handle, "actor", actors()),
            permits: Each::of(&permits, "state", ["free", "taken"].into_iter()),
            checkpoints: Each::of(&checkpoints, "result", RESULTS.into_iter()),
            checkpoint_last: Gauge::default(),
            uploads: Each::of(&uploads, "result", RESULTS.into_iter()),
            disk_free: Each::of(&disk_free, "folder", FOLDERS.into_iter()),
            paused: Each::of(&paused, "reason", ["operator", "disk_low", "disk_fault"].into_iter()),
            commit_failures: Each::of(&commit_failures, "kind", DiskFault::ALL.iter().map(|f| f.as_str())),
            storage_reopens: Counter::default(),
            log_errors: Counter::default(),
            registry: Registry::default(),
        };
        r.register("lycosa_urls", "URLs by state", inner.urls.clone());
        r.register("lycosa_hosts", "Hosts with URLs, by state", hosts);
        r.register("lycosa_rejected", "URLs turned away, by reason", rejected);
        r.register("lycosa_errors", "URLs given up, by reason", errors);
        r.register("lycosa_responses", "Final answers by status class", responses);
        r.register("lycosa_pages_stored", "Answers stored in full", inner.pages_stored.clone());
        r.register("lycosa_revisits", "Answers with known content, stored as references", inner.revisits.clone());
        r.register_with_unit("lycosa_received", "Bytes received", Unit::Bytes, inner.received.clone());
        r.register_with_unit("lycosa_fetch_phase", "Time of a fetch by phase", Unit::Seconds, phases);
        let late = "How long after its earliest time a request was sent";
        r.register_with_unit("lycosa_politeness_lateness", late, Unit::Seconds, inner.lateness.clone());
        let lag = "End of the answer to the commit of its page";
        r.register_with_unit("lycosa_commit_lag", lag, Unit::Seconds, inner.commit_lag.clone());
        r.register("lycosa_actor_handled", "Messages handled", handled);
        r.register("lycosa_actor_restarts", "Actors replaced after a panic or stop", restarts);
        r.register("lycosa_actor_queue", "Messages waiting", queue);
        r.register_with_unit("lycosa_actor_handle", "Time of handling a message", Unit::Seconds, handle);
        r.register("lycosa_permits", "Page permits by state", permits);
        r.register("lycosa_checkpoints", "Checkpoints, by result", checkpoints);
        let last = "When the newest checkpoint of this run was made, since 1970";
        r.register_with_unit("lycosa_checkpoint_last_timestamp", last, Unit::Seconds, inner.checkpoint_last.clone());
        r.register("lycosa_uploads", "Archive files and checkpoints copied elsewhere, by result", uploads);
        r.register_with_unit("lycosa_disk_free", "Free space where a folder lies", Unit::Bytes, disk_free);
        r.register("lycosa_paused", "1 while nothing new is begun, by reason", paused);
        let lost = "Groups of pages that could not be committed, and failed tries to go on, by kind of fault";
        r.register("lycosa_commit_failures", lost, commit_failures);
        let reopens = "How often the database was opened again after a failed write";
        r.register("lycosa_storage_reopens", reopens, inner.storage_reopens.clone());
        r.register("lycosa_log_errors", "Lines logged at level error", inner.log_errors.clone());
        r.register("lycosa_build", "The program", Info::new([("version", env!("CARGO_PKG_VERSION"))]));
        r.register_collector(Box::new(ProcessCollector::new(started)));
        Self(Arc::new(Inner { registry: r, ..inner }))
    }

    /// A URL was turned away.
    pub fn rejected(&self, reason: Rejection) {
        count(&self.0.rejected, position(Rejection::ALL, &reason));
    }

    /// A URL was given up.
    pub fn error(&self, reason: Failure) {
        count(&self.0.errors, position(Failure::ALL, &reason));
    }

    /// A final answer with this status came in.
    pub fn response(&self, status: u16) {
        let class = match status {
            100..=599 => usize::from(status / 100) - 1,
            _ => CLASSES.len() - 1,
        };
        count(&self.0.responses, class);
    }

    /// Pages and references committed.
    pub fn stored(&self, pages: u64, revisits: u64) {
        self.0.pages_stored.inc_by(pages);
        self.0.revisits.inc_by(revisits);
    }

    /// Bytes received.
    pub fn received(&self, bytes: u64) {
        self.0.received.inc_by(bytes);
    }

    /// A phase of a fetch took so long.
    pub fn phase(&self, phase: Phase, took: Duration) {
        self.0.phases.with(phase as usize, |m| m.observe(took.as_secs_f64()));
    }

    /// A request was sent so long after its earliest time.
    pub fn lateness(&self, late: Duration) {
        self.0.lateness.observe(late.as_secs_f64());
    }

    /// A page was committed so long after its answer's end.
    pub fn commit_lag(&self, lag: Duration) {
        self.0.commit_lag.observe(lag.as_secs_f64());
    }

    /// An actor handled a message.
    pub fn handled(&self, actor: ActorKind, took: Duration) {
        count(&self.0.handled, actor as usize);
        self.0.handle.with(actor as usize, |m| m.observe(took.as_secs_f64()));
    }

    /// A message was put into an actor's mailbox (`+1`) or taken out (`-1`).
    pub fn queue(&self, actor: ActorKind, change: i64) {
        self.0.queue.with(actor as usize, |m| {
            m.inc_by(change);
        });
    }

    /// Messages in an actor's mailbox.
    #[must_use]
    pub fn queued(&self, actor: ActorKind) -> i64 {
        self.0.queue.0.get(actor as usize).map_or(0, Gauge::get)
    }

    /// An actor was replaced.
    pub fn restarted(&self, actor: ActorKind) {
        count(&self.0.restarts, actor as usize);
    }

    /// How often actors of this kind were replaced.
    #[must_use]
    pub fn restarts(&self, actor: ActorKind) -> u64 {
        self.0.restarts.0.get(actor as usize).map_or(0, Counter::get)
    }

    /// Page permits.
    pub fn permits(&self, free: u64, taken: u64) {
        set(&self.0.permits, 0, free);
        set(&self.0.permits, 1, taken);
    }

    /// A checkpoint was made at this moment, or failed.
    pub fn checkpoint(&self, made: Option<UnixMillis>) {
        count(&self.0.checkpoints, usize::from(made.is_none()));
        if let Some(at) = made {
            self.0.checkpoint_last.set(i64::try_from(at.0 / 1_000).unwrap_or(i64::MAX));
        }
    }

    /// A file or a checkpoint was copied elsewhere, or failed to be.
    pub fn upload(&self, done: bool) {
        count(&self.0.uploads, usize::from(!done));
    }

    /// Free space where the folder of this number (data, warc, spill) lies.
    pub fn disk_free(&self, folder: usize, bytes: u64) {
        set(&self.0.disk_free, folder, bytes);
    }

    /// Whether nothing new is begun: by the operator, for want of space, for another fault of a disk.
    pub fn paused(&self, reasons: [bool; 3]) {
        reasons.into_iter().enumerate().for_each(|(index, holds)| set(&self.0.paused, index, holds.into()));
    }

    /// A group was not committed, or a try to go on failed.
    pub fn commit_failed(&self, fault: DiskFault) {
        count(&self.0.commit_failures, position(DiskFault::ALL, &fault));
    }

    /// The database was opened again.
    pub fn storage_reopened(&self) {
        self.0.storage_reopens.inc();
    }

    /// Takes the gauges of URLs and hosts from a snapshot.
    pub fn publish(&self, s: &StatusSnapshot) {
        let states = [
            ("waiting", s.waiting),
            ("processing", s.processing),
            ("done", s.done),
            ("error", s.errors),
            ("rejected", s.rejected),
        ];
        for (state, value) in states {
            let labels = [("crawl", s.crawl.clone()), ("state", state.to_owned())];
            self.0.urls.get_or_create(&labels).set(i64::try_from(value).unwrap_or(i64::MAX));
        }
        for (index, value) in [s.hosts_active, s.hosts_waiting, s.hosts_parked].into_iter().enumerate() {
            set(&self.0.hosts, index, value);
        }
    }

    /// All metrics in OpenMetrics text form, see [`CONTENT_TYPE`].
    #[must_use]
    pub fn text(&self) -> String {
        let logged = errors_logged();
        self.0.log_errors.inc_by(logged.saturating_sub(self.0.log_errors.get()));
        let mut text = String::new();
        match encode(&mut text, &self.0.registry) {
            Ok(()) => text,
            Err(_) => "# EOF\n".to_owned(),
        }
    }
}

fn count(each: &Each<Counter>, index: usize) {
    each.with(index, |m| {
        m.inc();
    });
}

fn set(each: &Each<Gauge>, index: usize, value: u64) {
    each.with(index, |m| {
        m.set(i64::try_from(value).unwrap_or(i64::MAX));
    });
}

fn position<T: PartialEq>(all: &[T], one: &T) -> usize {
    all.iter().position(|x| x == one).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line<'a>(text: &'a str, begin: &str) -> Option<&'a str> {
        text.lines().find_map(|l| l.strip_prefix(begin)).map(str::trim)
    }

    #[test]
    fn counts_and_gauges_appear_under_the_names_of_the_interface() {
        let m = Metrics::new(UnixMillis(5_000));
        m.rejected(Rejection::Robots);
        m.error(Failure::Tls);
        m.response(204);
        m.response(999);
        m.restarted(ActorKind::Parser);
        m.queue(ActorKind::Store, 3);
        m.queue(ActorKind::Store, -1);
        m.permits(7, 1);
        m.disk_free(1, 42);
        m.received(10);
        m.publish(&StatusSnapshot { crawl: "default".into(), waiting: 9, ..StatusSnapshot::default() });
        let text = m.text();
        let cases = [
            ("lycosa_rejected_total{reason=\"robots\"}", "1"),
            ("lycosa_rejected_total{reason=\"scope\"}", "0"),
            ("lycosa_errors_total{reason=\"tls\"}", "1"),
            ("lycosa_responses_total{class=\"2xx\"}", "1"),
            ("lycosa_responses_total{class=\"other\"}", "1"),
            ("lycosa_actor_restarts_total{actor=\"parser\"}", "1"),
            ("lycosa_actor_queue{actor=\"store\"}", "2"),
            ("lycosa_permits{state=\"free\"}", "7"),
            ("lycosa_disk_free_bytes{folder=\"warc\"}", "42"),
            ("lycosa_received_bytes_total", "10"),
            ("lycosa_urls{crawl=\"default\",state=\"waiting\"}", "9"),
            ("process_start_time_seconds", "5.0"),
        ];
        for (name, value) in cases {
            assert_eq!(line(&text, name), Some(value), "{name} in\n{text}");
        }
        assert!(text.contains("lycosa_build_info{version="), "{text}");
        assert!(text.ends_with("# EOF\n"));
        assert_eq!((m.queued(ActorKind::Store), m.restarts(ActorKind::Parser)), (2, 1));
    }

    #[test]
    fn times_are_counted_into_buckets_in_seconds() {
        let m = Metrics::new(UnixMillis(0));
        m.phase(Phase::FirstByte, Duration::from_millis(3));
        m.lateness(Duration::from_secs(2));
        m.commit_lag(Duration::ZERO);
        m.handled(ActorKind::Frontier, Duration::from_micros(20));
        let text = m.text();
        let cases = [
            ("lycosa_fetch_phase_seconds_bucket{le=\"0.002\",phase=\"first_byte\"}", "0"),
            ("lycosa_fetch_phase_seconds_bucket{le=\"0.004\",phase=\"first_byte\"}", "1"),
            ("lycosa_politeness_lateness_seconds_sum", "2.0"),
            ("lycosa_commit_lag_seconds_count", "1"),
            ("lycosa_actor_handle_seconds_count{actor=\"frontier\"}", "1"),
            ("lycosa_actor_handled_total{actor=\"frontier\"}", "1"),
        ];
        for (name, value) in cases {
            assert_eq!(line(&text, name), Some(value), "{name} in\n{text}");
        }
    }

    #[test]
    fn the_process_is_described_from_proc() {
        let text = Metrics::new(UnixMillis(0)).text();
        let value = |name: &str| line(&text, name).unwrap().parse::<f64>().unwrap();
        assert!(value("process_resident_memory_bytes") > 1e6);
        assert!(value("process_open_fds") >= 3.0);
        assert!(value("process_threads") >= 1.0);
        assert!(value("process_cpu_seconds_total") >= 0.0);
        assert!(super::super::process::peak_resident_bytes().unwrap() > 1_000_000);
    }
}
