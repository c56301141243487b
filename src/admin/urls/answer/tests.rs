//! One sentence for each kind of state.

use serde_json::json;

use super::*;
use crate::admin::urls::{AgainView, AttemptView, HoldView, RuleView, UrlHost, deciding};
use crate::admin::views::{CanonicalView, CaptureView, HostState, VerdictView, WaitView};
use crate::domain::url::Canonicaliser;

const NOW: UnixMillis = UnixMillis(1_714_979_289_000);

/// A view from its JSON; what is not named is none.
fn view<T: serde::de::DeserializeOwned>(json: serde_json::Value) -> T {
    serde_json::from_value(json).unwrap()
}

fn explanation(state: UrlState, reason: Option<&str>) -> Explanation {
    let url = Canonicaliser::default().parse("http://a.test/x").unwrap();
    view(json!({
        "answer": "", "facts": [], "attempts": [], "state": state, "reason": reason,
        "canonical": CanonicalView::new("http://a.test/x", &url),
        "rules": { "accepted": true, "rule": "a.test is a host of the scope", "depth": 1 },
        "robots_verdict": { "allowed": true, "because": "no rule matches" },
        "robots": {
            "scheme": "http", "port": 80, "standing": "rules", "status": 200, "fetched_ms": 1, "age_seconds": 1.0, "due": false,
            "failures": 0, "bytes": 10, "group": "star", "rules": 1, "sitemaps": [],
        },
    }))
}

fn queued(before: u64) -> QueueView {
    view(json!({
        "rank": 2, "order": 9, "before": before, "before_is_exact": before < 1_000, "failed_attempts": 0, "seed": false,
        "discovered_ms": 1,
    }))
}

fn host(wait: Option<WaitView>, delay_from: DelayFrom) -> UrlHost {
    view(json!({
        "state": "active", "wait": wait, "queued": 41,
        "schedule": {
            "earliest_ms": 0, "delay_seconds": 10.0, "delay_from": delay_from, "own_rules": false, "connections": 1,
            "backoff_steps": 0, "refusals": 0, "last_answer_seconds": 0.0,
        },
    }))
}

fn wait(seconds: u32, why: WaitWhy) -> Option<WaitView> {
    let until_ms = NOW.0 + u64::from(seconds) * 1_000;
    Some(WaitView { until_ms, seconds: seconds.into(), why, words: why.words().into() })
}

fn said(e: &Explanation) -> String {
    answer(e, NOW)
}

#[test]
fn a_url_never_seen_is_told_what_would_become_of_it() {
    let mut e = explanation(UrlState::Unknown, None);
    let begin = "Not crawled: nobody found a link to it yet; ";
    assert_eq!(said(&e), format!("{begin}it would be accepted: a.test is a host of the scope."));
    e.robots_verdict = VerdictView { allowed: Some(false), because: "2: Disallow: /x".into() };
    assert_eq!(said(&e), format!("{begin}the rules would accept it, but robots.txt forbids it (2: Disallow: /x)."));
    e.rules = outside();
    assert_eq!(said(&e), format!("{begin}it would be turned away (scope): a.test is no host of the scope."));
}

fn outside() -> RuleView {
    RuleView { accepted: false, reason: Some("scope".into()), rule: "a.test is no host of the scope".into(), depth: 1 }
}

#[test]
fn a_waiting_url_is_told_its_place_and_when_its_turn_can_come_and_why_then() {
    let mut e = explanation(UrlState::Waiting, None);
    e.queue = Some(QueueView { earliest_ms: Some(NOW.0 + 182_000), ..queued(17) });
    e.host = Some(host(wait(12, WaitWhy::CrawlDelay), DelayFrom::CrawlDelay));
    let place = "waiting in the queue of a.test, rank 2, 17 before it";
    let because = "because of Crawl-delay 10s in robots.txt";
    assert_eq!(said(&e), format!("Not crawled yet: {place}; earliest 07:11:11 UTC (in 3 min), {because}."));
    for (why, because) in [
        (WaitWhy::Gap, "of the gap of 10s between two requests (politeness.min_delay)"),
        (WaitWhy::RobotsUnreachable, "its robots.txt cannot be reached"),
        (WaitWhy::RetryAfter, "of the Retry-After of its server"),
    ] {
        e.host = Some(host(wait(12, why), DelayFrom::MinDelay));
        assert!(said(&e).ends_with(&format!(", because {because}.")), "{}", said(&e));
    }
    e.state = UrlState::Processing;
    assert!(said(&e).starts_with("Not crawled yet: in the hands of its host, rank 2, 17 before it; earliest "));
    e.host = Some(host(None, DelayFrom::MinDelay));
    assert!(said(&e).starts_with("Being crawled now: "), "{}", said(&e));
}

#[test]
fn what_cannot_be_said_of_a_waiting_url_is_left_out() {
    let mut e = explanation(UrlState::Waiting, None);
    e.hold = Some(HoldView { code: "paused".into(), sentence: "paused by the operator".into() });
    e.queue = Some(queued(0));
    let begin = "Not crawled yet: waiting in the queue of a.test, rank 2, ";
    assert_eq!(said(&e), format!("{begin}next; nothing is begun now (paused by the operator)."));
    (e.hold, e.queue) = (None, Some(queued(1_000)));
    assert_eq!(said(&e), format!("{begin}1000 or more before it."));
    e.queue = Some(QueueView { earliest_ms: Some(NOW.0), ..queued(0) });
    e.robots_verdict = VerdictView { allowed: Some(false), because: "2: Disallow: /x".into() };
    let robots = "then robots.txt will turn it away (2: Disallow: /x)";
    assert_eq!(said(&e), format!("{begin}next; it may be asked for now; {robots}."));
}

#[test]
fn a_url_that_is_tried_again_is_told_why_and_when() {
    let mut e = explanation(UrlState::Waiting, None);
    let due = Some(NOW.0 + 60_000);
    e.queue = Some(QueueView { due_ms: due, earliest_ms: due, failed_attempts: 2, ..queued(0) });
    e.attempts = vec![AttemptView { at_ms: 1, outcome: "connect_refused".into(), status: None }];
    assert_eq!(
        said(&e),
        "Not crawled yet: 2 tries failed (connect_refused), it is tried again; earliest 07:09:09 UTC (in 1 min), because \
         fetch.retry_delays."
    );
}

#[test]
fn a_url_that_was_fetched_before_is_told_why_it_is_queued_once_more() {
    let mut e = explanation(UrlState::Waiting, None);
    for (reason, via, why) in [
        ("spelling", Some("http://a.test/x"), "because a redirect leads to it under another spelling"),
        ("cookies", Some("http://a.test/consent"), "because a redirect leads back to it, perhaps for its cookies"),
        ("lastmod", Some("http://a.test/s.xml"), "because http://a.test/s.xml says that it was changed since"),
        ("sitemap", Some("http://a.test/robots.txt"), "because it is a sitemap, and sitemaps.revisit has passed since"),
        ("recrawl", None, "because the operator wants its host crawled anew"),
    ] {
        let again = Some(AgainView { captured_ms: 1_000, reason: reason.into() });
        e.queue = Some(QueueView { again, via: via.map(str::to_owned), ..queued(0) });
        let begin =
            format!("Crawled at 1970-01-01T00:00:01.000Z and queued once more, {why}: waiting in the queue of a.test");
        assert!(said(&e).starts_with(&begin), "{}", said(&e));
    }
}

fn captured() -> CaptureView {
    view(json!({
        "url": "http://a.test/x", "captured_ms": NOW, "status": 200, "how": "stored", "took_ms": 3, "mime": "text/html",
        "bytes": 2_048, "digest": "", "title": "A page", "out_links": 5, "depth": 1, "hops": 0, "notes": [],
        "warc": { "file": "w.warc.gz", "offset": 7, "length": 9 },
    }))
}

#[test]
fn a_fetched_url_is_told_when_and_where_its_record_is() {
    let mut e = explanation(UrlState::Done, Some("stored"));
    e.page = Some(captured());
    assert_eq!(
        said(&e),
        "Crawled at 2024-05-06T07:08:09.000Z with status 200: 2.0 KiB of text/html; its record is in w.warc.gz at 7."
    );
    let (target, refused) = (Some("http://b.test/".to_owned()), Some("excluded: a rule".to_owned()));
    let to_itself = CaptureView { notes: vec!["redirect_self".into()], ..captured() };
    for (page, told) in [
        (CaptureView { warc: None, ..captured() }, "elsewhere; the settings leave it out"),
        (to_itself, "to itself; its record"),
        (
            CaptureView { target: target.clone(), target_refused: refused, ..captured() },
            "to http://b.test/, which was turned away (excluded: a rule)",
        ),
        (CaptureView { target, ..captured() }, "to http://b.test/; its record "),
    ] {
        e.page = Some(CaptureView { how: "redirect".into(), status: 301, ..page });
        assert!(said(&e).contains(&format!("status 301: it redirects {told}")), "{}", said(&e));
    }
}

#[test]
fn what_was_given_up_or_turned_away_has_its_reason_and_what_to_do() {
    let mut e = explanation(UrlState::Error, Some("dns_not_found"));
    assert_eq!(said(&e), "Not crawled: given up (dns_not_found); check how the name is spelt.");
    e.reason = Some("status_4xx".into());
    e.attempts = vec![AttemptView { at_ms: NOW.0, outcome: "status_4xx".into(), status: Some(404) }];
    let begin = "Not crawled: given up at 2024-05-06T07:08:09.000Z (status_4xx, answer 404); the server ";
    assert!(said(&e).starts_with(begin), "{}", said(&e));
    let mut e = explanation(UrlState::Rejected, Some("scope"));
    assert!(said(&e).contains("those in force would accept it"), "{}", said(&e));
    e.rules = outside();
    let begin = "Not crawled: turned away (scope), because a.test is no host of the scope; add it as a seed";
    assert!(said(&e).starts_with(begin), "{}", said(&e));
    let mut e = explanation(UrlState::Rejected, Some("robots"));
    assert!(said(&e).contains("it does not now"));
    e.robots_verdict = VerdictView { allowed: Some(false), because: "2: Disallow: /x".into() };
    assert!(said(&e).starts_with("Not crawled: robots.txt forbids it (2: Disallow: /x); "), "{}", said(&e));
    let e = explanation(UrlState::Rejected, Some("host_budget"));
    assert!(said(&e).contains("traps.pages_per_host"), "{}", said(&e));
}

fn facts(e: &Explanation) -> Vec<String> {
    deciding(e, NOW).into_iter().map(|fact| format!("{}: {}", fact.name, fact.text)).collect()
}

#[test]
fn the_deciding_facts_are_a_handful_of_lines() {
    let mut e = explanation(UrlState::Done, Some("stored"));
    e.page = Some(captured());
    e.assumed = Some("https was taken for its scheme, as browsers do".into());
    e.attempts = vec![AttemptView { at_ms: NOW.0, outcome: "stored".into(), status: Some(200) }; 6];
    let attempt = "2024-05-06T07:08:09.000Z stored 200, ".repeat(4);
    assert_eq!(
        facts(&e),
        [
            "URL: http://a.test/x (https was taken for its scheme, as browsers do)".to_owned(),
            "traps: none applies".into(),
            "scope and filters: accept it: a.test is a host of the scope; depth 1".into(),
            "robots.txt: allows it: no rule matches (its group for all (*), fetched 1 s ago)".into(),
            format!("attempts: {attempt}and 2 before"),
            "page: 200, 2.0 KiB, 5 links, text/html, “A page”".into(),
            "WARC: w.warc.gz at 7, 9 bytes".into(),
        ]
    );
}

#[test]
fn a_trap_is_named_as_one_and_a_queue_with_its_host() {
    let mut e = explanation(UrlState::Waiting, None);
    e.queue = Some(queued(17));
    e.host = Some(host(wait(12, WaitWhy::Gap), DelayFrom::MinDelay));
    let told = facts(&e);
    let line = "host: active, 41 queued, asked again at 07:08:21 UTC (in 12 s): the gap between two requests";
    assert!(told.contains(&line.to_owned()), "{told:#?}");
    assert!(told.contains(&"queue: rank 2, 17 before it, found 1970-01-01T00:00:00.001Z".to_owned()), "{told:#?}");
    e.rules = RuleView { accepted: false, reason: Some("repeats".into()), rule: "again /a".into(), depth: 1 };
    let told = facts(&e);
    assert!(told.contains(&"traps: turn it away (repeats): again /a".to_owned()), "{told:#?}");
    assert!(told.contains(&"scope and filters: not asked".to_owned()), "{told:#?}");
}

#[test]
fn a_host_of_which_nothing_is_due_is_not_said_to_be_asked_now() {
    let mut e = explanation(UrlState::Waiting, None);
    let idle = UrlHost { state: HostState::Idle, queued: 0, ..host(None, DelayFrom::MinDelay) };
    e.host = Some(idle.clone());
    assert!(facts(&e).contains(&"host: idle, 0 queued, nothing of it is to be asked for now".to_owned()), "{e:?}");
    e.host = Some(UrlHost { state: HostState::Active, ..idle });
    assert!(facts(&e).contains(&"host: active, 0 queued, may be asked now".to_owned()), "{e:?}");
}
