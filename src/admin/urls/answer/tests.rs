//! One sentence for each kind of state.

use super::*;
use crate::admin::urls::{AttemptView, HoldView, RuleView, UrlHost};
use crate::admin::views::{
    CanonicalView, CaptureView, HostState, RobotsStanding, RobotsView, VerdictView, WaitView, WarcView,
};
use crate::domain::url::Canonicaliser;

const NOW: UnixMillis = UnixMillis(1_714_979_289_000);

fn explanation(state: UrlState, reason: Option<&str>) -> Explanation {
    let url = Canonicaliser::default().parse("http://a.test/x").unwrap();
    Explanation {
        answer: String::new(),
        canonical: CanonicalView::new("http://a.test/x", &url),
        state,
        reason: reason.map(Into::into),
        rules: RuleView { accepted: true, reason: None, rule: "a.test is a host of the scope".into(), depth: 1 },
        robots_verdict: VerdictView { allowed: Some(true), because: "no rule matches".into() },
        robots: RobotsView {
            scheme: "http".into(),
            port: 80,
            standing: RobotsStanding::Rules,
            status: Some(200),
            fetched_ms: Some(1),
            age_seconds: Some(1.0),
            due: false,
            failures: 0,
            retry_ms: None,
            bytes: 10,
            group: "star".into(),
            rules: 1,
            crawl_delay_seconds: None,
            sitemaps: Vec::new(),
        },
        queue: None,
        host: None,
        hold: None,
        found: None,
        attempts: Vec::new(),
        page: None,
    }
}

fn queued(before: u64) -> QueueView {
    QueueView {
        rank: 2,
        order: 9,
        before,
        before_is_exact: before < 1_000,
        due_ms: None,
        failed_attempts: 0,
        seed: false,
        discovered_ms: 1,
        via: None,
        origin: None,
    }
}

fn said(e: &Explanation) -> String {
    answer(e, NOW)
}

#[test]
fn a_url_never_seen_is_told_what_would_become_of_it() {
    let mut e = explanation(UrlState::Unknown, None);
    let begin = "Nobody found a link to it yet; ";
    assert_eq!(said(&e), format!("{begin}it would be accepted: a.test is a host of the scope."));
    e.robots_verdict = VerdictView { allowed: Some(false), because: "2: Disallow: /x".into() };
    assert_eq!(said(&e), format!("{begin}the rules would accept it, but robots.txt forbids it (2: Disallow: /x)."));
    e.rules = RuleView {
        accepted: false,
        reason: Some("scope".into()),
        rule: "a.test is no host of the scope".into(),
        depth: 1,
    };
    assert_eq!(said(&e), format!("{begin}it would be turned away (scope): a.test is no host of the scope."));
}

#[test]
fn a_waiting_url_is_told_its_hosts_time_and_what_comes_before() {
    let mut e = explanation(UrlState::Waiting, None);
    e.queue = Some(queued(40));
    let wait = WaitView { until_ms: NOW.0 + 12_000, seconds: 12.0, why: WaitWhy::Gap, words: String::new() };
    e.host = Some(UrlHost { state: HostState::Active, wait: Some(wait), queued: 41 });
    assert_eq!(
        said(&e),
        "It waits: the host is asked again in 12 s (the gap between two requests); 40 URLs of the host come before it."
    );
    e.state = UrlState::Processing;
    let begin = "It is in the hands of its host: the host is asked again in 12 s (the gap between two requests); ";
    assert_eq!(said(&e), format!("{begin}40 URLs of the host come before it."));
    e.state = UrlState::Waiting;
    e.hold = Some(HoldView { code: "paused".into(), sentence: "paused by the operator".into() });
    e.queue = Some(queued(0));
    assert_eq!(said(&e), "It waits: nothing is begun now (paused by the operator); it is the next of its host.");
    (e.hold, e.host, e.queue) = (None, None, Some(queued(1_000)));
    assert_eq!(said(&e), "It waits: 1000 URLs of the host or more come before it.");
}

#[test]
fn a_url_that_is_tried_again_is_told_why_and_when() {
    let mut e = explanation(UrlState::Waiting, None);
    e.queue = Some(QueueView { due_ms: Some(NOW.0 + 60_000), failed_attempts: 2, ..queued(0) });
    e.attempts = vec![AttemptView { at_ms: 1, outcome: "connect_refused".into(), status: None }];
    assert_eq!(said(&e), "It waits: 2 tries failed (connect_refused), it is tried again in 1 min.");
}

#[test]
fn a_fetched_url_is_told_when_and_where_its_record_is() {
    let mut e = explanation(UrlState::Done, Some("stored"));
    let mut page = CaptureView {
        url: "http://a.test/x".into(),
        captured_ms: NOW.0,
        status: 200,
        how: "stored".into(),
        took_ms: 3,
        mime: None,
        charset: None,
        bytes: 1,
        cut: None,
        digest: String::new(),
        target: None,
        extracted: None,
        title: None,
        out_links: 0,
        depth: 1,
        hops: 0,
        etag: None,
        last_modified: None,
        warc: Some(WarcView { file: "w.warc.gz".into(), offset: 7, length: 9 }),
    };
    e.page = Some(page.clone());
    assert_eq!(
        said(&e),
        "It was fetched at 2024-05-06T07:08:09.000Z with status 200; its record is in w.warc.gz at 7."
    );
    (page.how, page.status, page.warc) = ("redirect".into(), 301, None);
    e.page = Some(page);
    assert!(said(&e).contains("status 301: it redirects elsewhere; the settings leave it out"), "{}", said(&e));
}

#[test]
fn what_was_given_up_or_turned_away_has_its_reason_and_what_to_do() {
    let e = explanation(UrlState::Error, Some("dns_not_found"));
    assert_eq!(said(&e), "It was given up: dns_not_found; check how the name is spelt.");
    let mut e = explanation(UrlState::Rejected, Some("scope"));
    assert!(said(&e).contains("those in force would accept it"), "{}", said(&e));
    e.rules = RuleView {
        accepted: false,
        reason: Some("scope".into()),
        rule: "a.test is no host of the scope".into(),
        depth: 1,
    };
    assert!(
        said(&e).starts_with("It was turned away (scope): a.test is no host of the scope; add it as a seed"),
        "{}",
        said(&e)
    );
    let mut e = explanation(UrlState::Rejected, Some("robots"));
    assert!(said(&e).contains("it does not now"));
    e.robots_verdict = VerdictView { allowed: Some(false), because: "2: Disallow: /x".into() };
    assert!(said(&e).starts_with("robots.txt forbids it (2: Disallow: /x); "), "{}", said(&e));
    let e = explanation(UrlState::Rejected, Some("host_budget"));
    assert!(said(&e).contains("traps.pages_per_host"), "{}", said(&e));
}
