//! Pause, resume, drop, block, delay.

use std::time::Duration;

use lycosa::admin::ControlError;
use lycosa::admin::jobs::JobState;
use lycosa::crawl::jobs::Job;
use lycosa::crawl::node::Stop;
use lycosa::domain::fingerprint::CrawlId;
use lycosa::domain::orders::HostOrder;
use lycosa::domain::reason::Rejection;
use lycosa::storage::keys::SeenKey;
use lycosa::storage::read;
use lycosa::storage::values::{Counters, UrlState};
use lycosa::testweb::TestWebConfig;

use super::{large_host, metric, requests_to, web};
use crate::support::{Sandbox, truth_any};

const HOST: &str = "h1.test";

#[test]
fn a_paused_host_is_asked_nothing_also_after_a_restart_and_resume_brings_it_back() {
    let sandbox = Sandbox::new(web());
    let live = sandbox.start();
    live.until("pages", |s| s.pages_stored >= 10);
    assert!(live.order(HOST, HostOrder::Pause).unwrap().orders.paused.is_some());
    live.until("the others' end", |s| s.hosts_active + s.hosts_waiting == 0 && s.in_flight == 0);
    let asked = requests_to(&sandbox.web, HOST).len();
    assert!(
        live.node.crawl.orders.told(&live.node.prints.host(HOST))[0].starts_with("paused by the operator since 20")
    );
    let left = lycosa::admin::status(&live.node).waiting;
    assert!(left > 0, "there is nothing left to pause");
    // One that nothing is known of keeps nothing from being done; the answer says that it is unknown.
    assert!(!live.order("mistyped.test", HostOrder::Pause).unwrap().known);
    assert!(live.order(HOST, HostOrder::Pause).unwrap().known);
    let status = lycosa::admin::status(&live.node);
    assert_eq!((status.hosts_held, status.hosts_ordered.paused), (1, 2));
    assert!(status.idle_reason.contains("1 host paused or blocked by the operator"), "{}", status.idle_reason);
    live.close();

    let live = sandbox.start();
    let more = "http://h0.test/not-linked-from-anywhere";
    assert_eq!(live.seed(&[more, "http://h1.test/nor-this"]).accepted, 2);
    live.until("the other host's page", |s| s.waiting + s.processing == left + 1 && s.in_flight == 0);
    assert_eq!(requests_to(&sandbox.web, HOST).len(), asked, "a paused host was asked");
    assert_eq!(live.order("H1.TEST", HostOrder::Resume).unwrap().orders.paused, None);
    assert_eq!(live.until_stop(), Stop::Done);
    let ended = live.end();
    assert!(sandbox.web.truth(truth_any()).is_subset(&ended.found.captured()));
    ended.assert_none_twice();
    ended.assert_polite();
}

#[test]
fn a_host_is_paused_and_resumed_in_the_middle_again_and_again_and_nothing_is_lost() {
    let sandbox = Sandbox::new(web()).together();
    let live = sandbox.start();
    for pages in [5, 10, 15, 20, 30] {
        live.until("pages", |s| s.pages_stored >= pages);
        live.order("h0.test", HostOrder::Pause).unwrap();
        live.order(HOST, HostOrder::Pause).unwrap();
        live.order("h0.test", HostOrder::Resume).unwrap();
        live.order(HOST, HostOrder::Resume).unwrap();
    }
    assert_eq!(live.until_stop(), Stop::Done);
    let ended = live.end();
    ended.assert_is(&sandbox.web.truth(truth_any()));
    ended.assert_none_twice();
    ended.assert_polite();
}

#[test]
fn a_dropped_queue_is_turned_away_and_the_rest_of_the_crawl_goes_on() {
    let sandbox = Sandbox::new(large_host()).gap(Duration::from_millis(3));
    let live = sandbox.start();
    live.until("a queue", |s| s.waiting > 300);
    let job = live.order("h0.test", HostOrder::Drop).unwrap().job.unwrap();
    let job = live.until_job(job.id);
    assert_eq!(job.state, JobState::Done, "{job:?}");
    assert!(job.changed > 256, "{job:?}");
    let asked = sandbox.web.audit_len();
    assert_eq!(live.until_stop(), Stop::Done);
    let counted = metric(&live, "lycosa_rejected_total{reason=\"dropped\"}");
    let ended = live.end();
    assert_eq!(
        counted, ended.status.rejected_by_reason["dropped"],
        "also those turned away on their way into the queue"
    );
    assert!(counted >= job.changed);
    let dropped = |state: &&UrlState| matches!(state, UrlState::Rejected { reason: Rejection::Dropped, .. });
    let dropped: Vec<_> = ended.found.seen.iter().filter(|(_, s)| dropped(s)).collect();
    // And what pages in flight linked to meanwhile.
    assert!(dropped.len() as u64 >= job.changed);
    for entry in &ended.entries[asked..] {
        let key = ended.found.key(&page_url(&entry.url()));
        assert!(!dropped.iter().any(|(k, _)| **k == key), "{} was asked for though it was dropped", entry.url());
    }
    assert!(ended.found.held.is_empty(), "a queue that is dropped holds nothing any more");
}

fn page_url(text: &str) -> lycosa::domain::url::PageUrl {
    lycosa::domain::url::Canonicaliser::new(Default::default()).parse(text).unwrap()
}

#[test]
fn a_drop_cut_short_in_the_middle_is_carried_out_by_the_next_start() {
    let sandbox = Sandbox::new(large_host()).gap(Duration::from_millis(3));
    let live = sandbox.start();
    live.until("a queue", |s| s.waiting > 400);
    let job = live.order("h0.test", HostOrder::Drop).unwrap().job.unwrap();
    live.node.jobs.close(); // as the end of the process does: it ends behind the step it is in
    let job = live.until_job(job.id);
    let fork = sandbox.fork();
    live.drop_at_once();
    let counters: Counters = read::meta(fork.storage(), CrawlId::default()).unwrap().unwrap();
    let before = counters.queued;
    assert!(job.state == JobState::Cancelled && before > 0, "{job:?}, {before} left");
    let sandbox = sandbox.resume(fork);
    let live = sandbox.start();
    let own = live.node.jobs.all().pop().unwrap();
    assert_eq!((own.kind.as_str(), live.until_job(own.id).state), ("orders", JobState::Done));
    assert_eq!(live.until_stop(), Stop::Done);
    let ended = live.end_after_fork();
    assert!(ended.status.rejected_by_reason["dropped"] >= before);
    assert!(ended.found.held.is_empty());
}

#[test]
fn a_drop_that_is_cancelled_ends_and_the_host_goes_on_with_what_is_left() {
    let web = TestWebConfig { latency_ms: 20, ..large_host() };
    let sandbox = Sandbox::new(web).gap(Duration::from_millis(3));
    let live = sandbox.start();
    live.until("a queue", |s| s.waiting > 400);
    let job = live.order("h0.test", HostOrder::Drop).unwrap().job.unwrap();
    let _ = live.node.jobs.cancel(job.id, Duration::ZERO);
    match live.order("h0.test", HostOrder::Drop) {
        Ok(again) => {
            assert!(again.job.is_some_and(|again| again.id != job.id), "a job that was cancelled drops nothing")
        }
        Err(e) => assert!(e.to_string().contains("coming to its end"), "{e}"),
    }
    live.node.jobs.all().iter().for_each(|job| _ = live.node.jobs.cancel(job.id, Duration::from_secs(60)));
    let job = live.until_job(job.id);
    assert_eq!(job.state, JobState::Cancelled, "{job:?}");
    let host = live.node.prints.host("h0.test");
    assert!(live.node.crawl.orders.of(&host).is_empty(), "it stands though its job was cancelled");
    let stored = live.node.crawl.counters().pages_stored;
    live.until("further pages", |s| s.pages_stored > stored + 5);
    live.close();
    let live = sandbox.start();
    assert!(live.node.jobs.all().is_empty(), "the next start goes on with it: {:?}", live.node.jobs.all());
    live.close();
}

#[test]
fn orders_of_a_former_run_are_carried_out_one_by_one() {
    let sandbox = Sandbox::new(TestWebConfig { pages: 120, links: 20, ..web() }).gap(Duration::from_millis(3));
    let live = sandbox.start();
    live.until("queues", |s| s.waiting > 150);
    let wait = |job: &Job| loop {
        job.step(0, 0)?; // until it is cancelled
        std::thread::yield_now();
    };
    let node = &live.node;
    let others = [(); 2].map(|()| node.jobs.start(&node.clock, "other", String::new(), wait).unwrap().id);
    for host in [HOST, "h2.test"] {
        assert!(live.order(host, HostOrder::Block).unwrap().job.is_none(), "there is a place for its job");
    }
    let _ = node.jobs.cancel(others[0], Duration::ZERO);
    live.until_job(others[0]);
    live.order("h0.test", HostOrder::Drop).unwrap();
    node.jobs.close();
    let fork = sandbox.fork();
    live.drop_at_once();

    let sandbox = sandbox.resume(fork);
    let live = sandbox.start();
    let jobs = live.node.jobs.all();
    assert_eq!(jobs.iter().map(|job| job.kind.as_str()).collect::<Vec<_>>(), ["orders"]);
    assert_eq!(live.until_job(jobs[0].id).state, JobState::Done);
    let standing = |host: &str| live.node.crawl.orders.of(&live.node.prints.host(host));
    assert!(
        standing("h0.test").is_empty() && standing(HOST).blocked.is_some() && standing("h2.test").blocked.is_some()
    );
    let counters = live.node.crawl.counters();
    assert!(
        [Rejection::Blocked, Rejection::Dropped].iter().all(|why| counters.rejected[&why.code()] > 0),
        "{counters:?}"
    );
    assert_eq!(live.until_stop(), Stop::Done);
    let ended = live.end_after_fork();
    let blocked = [HOST, "h2.test"].map(|host| ended.found.key(&page_url(&format!("http://{host}/"))).host_crawl());
    let left = |(key, state): &(&SeenKey, &UrlState)| {
        blocked.contains(&key.host_crawl()) && matches!(state, UrlState::Waiting { .. })
    };
    assert_eq!(ended.found.seen.iter().filter(left).count(), 0);
}

#[test]
fn nothing_of_a_host_blocked_in_the_middle_is_asked_for_or_queued_ever_again() {
    let sandbox = Sandbox::new(web());
    let live = sandbox.start();
    live.until("pages", |s| s.pages_stored >= 10);
    let job = live.order(HOST, HostOrder::Block).unwrap().job.unwrap();
    let job = live.until_job(job.id);
    assert_eq!(job.state, JobState::Done);
    let asked = requests_to(&sandbox.web, HOST).len();
    assert_eq!(live.until_stop(), Stop::Done);
    let counted = metric(&live, "lycosa_rejected_total{reason=\"blocked\"}");
    let all = live.node.crawl.counters().rejected[&Rejection::Blocked.code()];
    assert_eq!(counted, all, "also those turned away on their way into the queue");
    assert!(job.changed > 0 && counted >= job.changed);
    live.close();
    let live = sandbox.start();
    let report = live.seed(&["http://h1.test/fresh"]);
    assert!(report.rejected[0].reason.starts_with("blocked: its host is blocked by"), "{}", report.rejected[0].reason);
    assert_eq!(live.until_stop(), Stop::Done);
    let ended = live.end();
    assert_eq!(requests_to(&sandbox.web, HOST).len(), asked, "a blocked host was asked");
    assert!(ended.status.rejected_by_reason["blocked"] > 0);
    let host = ended.found.key(&page_url("http://h1.test/")).host_crawl();
    let queued =
        |(key, state): &(&SeenKey, &UrlState)| key.host_crawl() == host && matches!(state, UrlState::Waiting { .. });
    assert_eq!(ended.found.seen.iter().filter(queued).count(), 0);
}

#[test]
fn a_host_blocked_before_it_is_known_is_never_asked_and_unblocked_it_is_crawled() {
    let sandbox = Sandbox::new(web());
    let live = sandbox.start_bare();
    let job = live.order(HOST, HostOrder::Block).unwrap().job.unwrap();
    live.until_job(job.id);
    live.seed(&live.node.crawl.rules.settings.crawl.seeds.clone());
    assert_eq!(live.until_stop(), Stop::Done);
    assert_eq!(requests_to(&sandbox.web, HOST).len(), 0);
    assert!(live.node.crawl.counters().rejected[&Rejection::Blocked.code()] > 0);
    live.close();
    let live = sandbox.start();
    live.order(HOST, HostOrder::Unblock).unwrap();
    assert_eq!(live.seed(&["http://h1.test/"]).accepted, 1);
    live.until("its pages", |s| s.waiting + s.processing == 0);
    live.end();
    assert!(requests_to(&sandbox.web, HOST).len() > 1, "the seed and robots.txt at least");
}

#[test]
fn a_block_stands_at_once_while_other_jobs_take_all_places_and_a_drop_is_refused() {
    let sandbox = Sandbox::new(web());
    let live = sandbox.start_bare();
    let wait = |job: &Job| loop {
        job.step(0, 0)?; // until it is cancelled
        std::thread::yield_now();
    };
    let node = &live.node;
    let others = [(); 2].map(|()| node.jobs.start(&node.clock, "other", String::new(), wait).unwrap().id);
    assert!(live.order(HOST, HostOrder::Drop).is_err());
    let blocked = live.order(HOST, HostOrder::Block).unwrap();
    assert!(blocked.orders.blocked.is_some() && blocked.orders.dropping.is_none() && blocked.job.is_none());
    others.iter().for_each(|id| _ = node.jobs.cancel(*id, Duration::ZERO));
    live.seed(&node.crawl.rules.settings.crawl.seeds.clone());
    assert_eq!(live.until_stop(), Stop::Done);
    live.close();
    assert_eq!(requests_to(&sandbox.web, HOST).len(), 0);
}

#[test]
fn a_gap_that_the_operator_says_is_kept_also_after_a_restart() {
    let sandbox = Sandbox::new(web());
    let live = sandbox.start();
    live.until("pages", |s| s.pages_stored >= 10);
    let ordered = live.order(HOST, HostOrder::MinDelay(Some(Duration::from_millis(40)))).unwrap();
    assert_eq!(ordered.orders.min_delay_ms, Some(40));
    let shown = crate::cockpit::Desk::of(&live).get("/api/v1/hosts/h1.test");
    assert_eq!(shown["host"]["orders"][0], "at least 40ms between two requests, as the operator ordered", "{shown}");
    assert_eq!(
        (&shown["schedule"]["delay_from"], &shown["schedule"]["delay_seconds"]),
        (&"ordered".into(), &0.04.into())
    );
    let since = sandbox.web.audit_len();
    live.until("pages", |s| s.pages_stored >= 30);
    live.close();
    let live = sandbox.start();
    assert_eq!(live.until_stop(), Stop::Done);
    live.end().assert_is(&sandbox.web.truth(truth_any()));
    let own: Vec<_> = sandbox.web.audit_since(since).into_iter().filter(|e| e.host == HOST).collect();
    assert!(own.len() > 5);
    for pair in own.windows(2) {
        let gap = pair[1].t_request_us.saturating_sub(pair[0].t_end_us);
        assert!(gap >= 39_000, "{gap} us between two requests");
    }
}

#[test]
fn an_order_that_makes_no_sense_is_refused_and_changes_nothing() {
    let sandbox = Sandbox::new(web());
    let live = sandbox.start_bare();
    for name in ["", "a/b", "a b", "h1.test:80", "user@h1.test", "h1.test?x", "\u{0}", "[::1", &"x".repeat(300)] {
        let refused = live.order(name, HostOrder::Pause);
        assert!(matches!(refused, Err(ControlError::Invalid(_))), "{name:?}: {refused:?}");
    }
    for command in [HostOrder::Drop, HostOrder::Recrawl, HostOrder::Resume, HostOrder::MinDelay(None)] {
        assert!(matches!(live.order("unknown.test", command), Err(ControlError::Absent(_))));
    }
    let job = live.order(HOST, HostOrder::Block).unwrap().job.unwrap();
    live.until_job(job.id);
    assert!(matches!(live.order(HOST, HostOrder::Recrawl), Err(ControlError::Refused(_))));
    live.close();
}
