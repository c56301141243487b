//! One request from its start to the message that carries its result on.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use super::{Fetch, FetchPurpose, Hung, Report, RobotsAnswer};
use crate::base::clock::Stopwatch;
use crate::base::fence::Fence;
use crate::base::time::UnixMillis;
use crate::crawl::deduper::Parsed;
use crate::crawl::lease::{Lease, Stage};
use crate::crawl::node::{Node, PagePermit};
use crate::crawl::parser::Parse;
use crate::crawl::supervise::die;
use crate::domain::outcome::{FetchOutcome, FinalState, Verdict, judge, pace_signal};
use crate::domain::politeness::PaceSignal;
use crate::domain::reason::Failure;
use crate::domain::revisit::RequeueReason;
use crate::domain::url::PageUrl;
use crate::net::answer::outcome_of;
use crate::net::http::Http;
use crate::net::protocol::{Conditional, FetchFault, FetchRequest, Fetched};
use crate::net::robots::{robots_limits, robots_text};
use crate::storage::ledger::Ending;
use crate::storage::values::{DoneKind, PageRecord};
use crate::telemetry::trouble::CERTIFICATE;
use crate::warc::exchange::Tools;

/// Longest validators that are sent; longer ones are kept in part only.
const LONGEST: [usize; 2] = [255, 63];

pub(super) async fn run(node: Arc<Node>, http: Rc<Http>, tools: Rc<RefCell<Tools>>, fetch: Fetch) {
    let page = match &fetch.purpose {
        FetchPurpose::Page { lease, .. } => Some(lease.core().clone()),
        FetchPurpose::Robots { .. } => None,
    };
    let fence = node.fence.clone();
    let exchange = fenced(fence, exchange(node, http, tools, fetch));
    match page {
        Some(page) => page.held(Stage::Fetcher, exchange).await,
        None => exchange.await,
    }
}

/// Between two looks at a fence while nothing else moves.
const LOOK: Duration = Duration::from_secs(1);

/// The exchange, until the fence is over: then its connection is closed where it stands, and its URL is asked for anew another time. It is
/// looked at before each step of the exchange, so that not a byte is written after it, however long the process stood still.
async fn fenced(fence: Fence, exchange: impl Future<Output = ()>) {
    let Some(left) = fence.left() else { return exchange.await };
    let mut exchange = std::pin::pin!(exchange);
    let mut wake = std::pin::pin!(tokio::time::sleep(left.min(LOOK)));
    std::future::poll_fn(|cx| {
        while wake.as_mut().poll(cx).is_ready() {
            wake.as_mut().reset(tokio::time::Instant::now() + LOOK);
        }
        if fence.is_over() { Poll::Ready(()) } else { exchange.as_mut().poll(cx) }
    })
    .await;
}

async fn exchange(node: Arc<Node>, http: Rc<Http>, tools: Rc<RefCell<Tools>>, fetch: Fetch) {
    let (begun, asked_at) = (node.clock.date(), node.clock.now());
    let stopwatch = Stopwatch::start();
    let request = request_of(&node, &fetch);
    let Fetch { url, slot, on_wire, guess, purpose, reply, .. } = fetch;
    let (asked, anonymous) = (request.conditional.is_some(), request.anonymous);
    let sent = async {
        node.faults.wait_url("fetcher.task", &url).await;
        http.fetch(request).await
    };
    let result = match tokio::time::timeout(node.crawl.rules.settings.hung_after(), sent).await {
        Ok(result) => result,
        Err(_) => hung(&node, &url, asked_at),
    };
    node.faults.pass_url("fetcher.fetched", &url);
    if let Err(FetchFault { failure: Failure::Spill, detail, .. }) = &result {
        node.spill_failed(detail);
    }
    let outcome = outcome_of(result.as_ref(), asked, node.clock.date());
    node.note_fetched(&outcome, result.as_ref().ok().map(|f| &f.timings));
    let no_https = guess && matches!(outcome, FetchOutcome::Fault(failure) if failure.is_no_https());
    let (took, signal) = match no_https {
        true => (Duration::ZERO, PaceSignal::Neutral),
        false => (stopwatch.elapsed(), signal_of(anonymous, &outcome)),
    };
    if slot.finish(took, signal) {
        let why = "so many refusals in a row (fetch.waf_brake) that the host is left alone";
        node.host_blocked(url.host(), "refusals", why);
    }
    drop(on_wire); // slot and connection are free before anybody hears of the answer
    node.permits.answered();
    match purpose {
        FetchPurpose::Page { lease, usage, last, permit } => {
            let answered = Answered { outcome, result, begun, took: stopwatch.elapsed() };
            let _ = reply.send(Report { outcome, robots: None });
            node.faults.pass("fetcher.reported");
            hand_over(&node, *lease, permit, (usage, last), answered);
        }
        FetchPurpose::Robots { .. } => {
            let robots =
                result.ok().map(|fetched| robots_answer(&node, &mut tools.borrow_mut(), &url, begun, &fetched));
            let _ = reply.send(Report { outcome, robots });
        }
    }
}

/// What is sent: of a page known before, a question whether it has changed.
fn request_of(node: &Node, fetch: &Fetch) -> FetchRequest {
    let (conditional, limits) = match &fetch.purpose {
        FetchPurpose::Page { lease, last, .. } => {
            let conditional = condition(lease, last.as_deref());
            let keeps = node.crawl.rules.settings.store.keeps_status(304);
            (conditional.filter(|_| keeps), node.crawl.rules.limits.clone())
        }
        FetchPurpose::Robots { .. } => (None, robots_limits(&node.crawl.rules.limits)),
    };
    FetchRequest {
        url: fetch.url.clone(),
        addresses: fetch.addresses.clone(),
        headers: node.crawl.live().settings.headers_for(&node.crawl.rules.headers, fetch.url.host()),
        via: fetch.via.clone(),
        anonymous: is_anonymous(node, &fetch.purpose, &fetch.url),
        conditional,
        limits,
    }
}

/// After so many answers 304 in a row one is asked for that is whole: there are servers that always say 304.
const FULL_EVERY: u8 = 10;

/// The condition under which a page that was fetched before is asked for: where the last capture was whole and its server gave
/// validators. A recrawl that the operator has ordered asks for everything, and so do one for the sake of the page's links and a
/// sitemap that says what was not heeded yet.
fn condition(lease: &Lease, last: Option<&PageRecord>) -> Option<Conditional> {
    let (again, last) = (lease.entry.again.as_ref()?, last?);
    let needed = matches!(again.why, RequeueReason::Recrawl | RequeueReason::Depth)
        || again.why.is_led()
        || last.not_modified >= FULL_EVERY
        || last.sitemap.as_ref().is_some_and(|sitemap| sitemap.put_off);
    if needed { None } else { validators(last) }
}

fn validators(last: &PageRecord) -> Option<Conditional> {
    let whole = matches!(last.status, 200 | 304) && last.cut.is_none() && last.content.is_some();
    let sendable =
        |value: &String, longest| value.len() <= longest && value.bytes().all(|b| (b' '..=b'~').contains(&b));
    let [etag, date] = LONGEST;
    let known = Conditional {
        etag: last.etag.clone().filter(|value| sendable(value, etag)),
        last_modified: last.last_modified.clone().filter(|value| sendable(value, date)),
    };
    Some(known).filter(|known| whole && *known != Conditional::default())
}

/// What came of a page's request.
struct Answered {
    outcome: FetchOutcome,
    result: Result<Fetched, FetchFault>,
    begun: UnixMillis,
    took: Duration,
}

/// A document goes to the Parser, a failure to the Deduper.
fn hand_over(
    node: &Node,
    lease: Lease,
    permit: PagePermit,
    (usage, last): (Option<String>, Option<Box<PageRecord>>),
    answered: Answered,
) {
    let Answered { outcome, result, begun, took } = answered;
    let half = half_of(&lease, last.as_deref());
    let judged = judge(&outcome, lease.entry.attempts, node.clock.now(), &node.crawl.live().retry);
    let verdict = match judged.beside_half(half.map(|half| half.bytes), &outcome) {
        Verdict::Retry { reason: reason @ Failure::Spill, .. } => {
            Verdict::Retry { at: node.after_spill(&lease.core().url_key), reason }
        }
        verdict => verdict,
    };
    node.faults.pass_url("fetcher.hand_over", &lease.url);
    lease.core().let_go(Stage::Fetcher);
    match result {
        Ok(fetched) if verdict.stores() => {
            note_certificate(node, &lease.url, &fetched);
            let fetched = Box::new(fetched);
            node.mailboxes().parser.tell(Parse { lease, permit, fetched, verdict, usage, last, begun });
        }
        result => {
            if let Err(fault) = result {
                log::debug!("fetch failed: url={} reason={} detail={:?}", lease.url, fault.failure, fault.detail);
            }
            let parsed = Parsed::bare(lease, Some(permit), ending_of_verdict(&verdict, half));
            let status = match outcome {
                FetchOutcome::Answer(answer) => Some(answer.status),
                FetchOutcome::Fault(_) => None,
            };
            node.mailboxes().deduper.tell(Parsed { begun, took, status, ..parsed });
        }
    }
}

/// What another host has named, outside what is crawled, is asked for without credentials and cookies: the target of a
/// robots.txt's redirect, a sitemap.
fn is_anonymous(node: &Node, purpose: &FetchPurpose, url: &PageUrl) -> bool {
    match purpose {
        FetchPurpose::Robots { cross_host } => *cross_host,
        FetchPurpose::Page { lease, .. } => {
            let scope = node.crawl.scope.read().unwrap_or_else(std::sync::PoisonError::into_inner);
            lease.entry.found.is_sitemap() && scope.judge(url, lease.entry.depth).is_err()
        }
    }
}

/// Whoever asked, a host that is overloaded says so to all. What it merely refuses to a stranger's redirect or sitemap is not held
/// against it: so nobody can have it left alone by naming what it shows to nobody.
fn signal_of(anonymous: bool, outcome: &FetchOutcome) -> PaceSignal {
    match pace_signal(outcome) {
        PaceSignal::Challenge if anonymous => PaceSignal::Neutral,
        signal => signal,
    }
}

/// Every phase of a request has its time-out, so this is a fault of ours: the request is given up, and its Fetcher begins
/// anew with other connections.
fn hung(node: &Node, url: &PageUrl, begun: UnixMillis) -> ! {
    let why = format!("hung for {} s: the request for {url}", node.crawl.rules.settings.hung_after().as_secs_f32());
    node.fetcher_of(&node.prints.host(url.host())).tell(Hung { begun, why: why.clone() });
    die(why)
}

/// A certificate that a browser would refuse is told once a run, counted always.
fn note_certificate(node: &Node, url: &PageUrl, fetched: &Fetched) {
    let Some(fault) = &fetched.tls_fault else { return };
    if node.telemetry.troubles.note(node.clock.now(), CERTIFICATE, format!("{}: {fault}", url.host())) {
        log::warn!(
            "certificate with a fault, accepted as tls.verify says (told for the first host only): host={} fault={fault:?}",
            url.host()
        );
    }
}

/// The half that an earlier try has left, where `last` is the latest capture.
fn half_of<'r>(lease: &Lease, last: Option<&'r PageRecord>) -> Option<&'r PageRecord> {
    last.filter(|_| lease.entry.again.as_ref().is_some_and(|again| again.why == RequeueReason::Cut))
}

/// How a URL ends by a verdict, before its document is looked at; `half`: what an earlier try has left.
pub fn ending_of_verdict(verdict: &Verdict, half: Option<&PageRecord>) -> Ending {
    match (verdict, half) {
        (Verdict::Retry { at, reason }, _) => Ending::Retry { at: *at, reason: *reason },
        (Verdict::StoreHalf { at }, _) => Ending::Retry { at: *at, reason: Failure::BodyCut },
        (Verdict::KeepHalf, Some(half)) => Ending::Kept(Box::new(half.clone())),
        (Verdict::KeepHalf, None) => Ending::Error(Failure::BodyCut),
        (Verdict::Follow, _) => Ending::Done(DoneKind::Redirect),
        (Verdict::NotModified, _) => Ending::Done(DoneKind::NotModified),
        (other, _) => match other.final_state() {
            Some(FinalState::Error(failure)) => Ending::Error(failure),
            Some(FinalState::Rejected(reason)) => Ending::Rejected(reason),
            Some(FinalState::Done) | None => Ending::Done(DoneKind::Stored),
        },
    }
}

/// How a URL ends by what became of its request; `last`: its latest capture.
pub fn ending_of(node: &Node, outcome: &FetchOutcome, lease: &Lease, last: Option<&PageRecord>) -> Ending {
    let half = half_of(lease, last);
    let verdict = judge(outcome, lease.entry.attempts, node.clock.now(), &node.crawl.live().retry);
    ending_of_verdict(&verdict.beside_half(half.map(|half| half.bytes), outcome), half)
}

fn robots_answer(node: &Node, tools: &mut Tools, url: &PageUrl, begun: UnixMillis, fetched: &Fetched) -> RobotsAnswer {
    let text = robots_text(fetched).map_err(|why| log::debug!("robots.txt says nothing: url={url} why={why:?}"));
    let kept = node.crawl.rules.settings.store.keeps_status(fetched.status);
    let exchange = || tools.exchange(url, begun, fetched, (None, None));
    let records = kept.then(exchange).transpose().unwrap_or_else(|e| {
        log::warn!("robots.txt was not archived: {e}");
        None
    });
    let location = fetched.reference("location").map(|v| v.into_owned());
    RobotsAnswer { status: fetched.status, text: text.ok(), location, records: records.into_iter().collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::outcome::Answer;

    #[test]
    fn overload_is_heard_whoever_asked_and_a_refusal_is_not_held_against_a_host_that_a_stranger_named() {
        let throttled = PaceSignal::Throttled { retry_after: None };
        for (status, own, cross_host) in [
            (200, PaceSignal::Ok, PaceSignal::Ok),
            (404, PaceSignal::Ok, PaceSignal::Ok),
            (403, PaceSignal::Challenge, PaceSignal::Neutral),
            (429, throttled, throttled),
            (503, throttled, throttled),
            (500, PaceSignal::ServerError, PaceSignal::ServerError),
        ] {
            let outcome = FetchOutcome::Answer(Answer::of(status));
            assert_eq!([false, true].map(|anonymous| signal_of(anonymous, &outcome)), [own, cross_host], "{status}");
        }
        let reset = FetchOutcome::Fault(Failure::Reset);
        assert_eq!([false, true].map(|anonymous| signal_of(anonymous, &reset)), [PaceSignal::Fault; 2]);
    }
}
