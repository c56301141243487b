//! What was fetched of a host is fetched once more.

use lycosa::admin::jobs::JobState;
use lycosa::crawl::node::Stop;
use lycosa::domain::orders::HostOrder;
use lycosa::testweb::TestWebConfig;

use super::{large_host, web};
use crate::support::{Sandbox, truth_any};

const HOST: &str = "http://h1.test/";

#[test]
fn each_page_of_a_host_is_fetched_exactly_once_more_and_the_older_captures_are_kept() {
    let web = TestWebConfig { redirects: 0.1, duplicates: 0.1, ..web() };
    let sandbox = Sandbox::new(web).fetching_again().set("traps.pages_per_host=45");
    let live = sandbox.start();
    assert_eq!(live.until_stop(), Stop::Done);
    let before = live.node.crawl.counters();
    let job = live.order("h1.test", HostOrder::Recrawl).unwrap().job.unwrap();
    assert_eq!(live.until_job(job.id).state, JobState::Done);
    live.until("the pages of the host", |s| s.waiting + s.processing == 0);
    let after = live.node.crawl.counters();
    assert_eq!((after.discovered, after.done, after.redirects), (before.discovered, before.done, before.redirects));
    let ended = live.end();
    let captures = ended.found.captures();
    assert_eq!(captures.keys().cloned().collect::<std::collections::BTreeSet<_>>(), sandbox.web.truth(truth_any()));
    for (url, n) in &captures {
        assert_eq!(*n, if url.starts_with(HOST) { 2 } else { 1 }, "{url}");
    }
    let asked = crate::support::audit_check::fetch_counts(&ended.entries);
    assert!(captures.iter().all(|(url, n)| asked[url] as usize == *n), "{asked:?}");
    ended.assert_polite();
    // Each of its lines, the second too, names the seed.
    for line in ended.file("crawl.jsonl").lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["seed"], sandbox.web.start_url(), "{line}");
    }
}

#[test]
fn a_recrawl_that_is_cancelled_ends_and_what_is_queued_by_then_is_fetched() {
    let sandbox = Sandbox::new(large_host()).fetching_again();
    let live = sandbox.start();
    assert_eq!(live.until_stop(), Stop::Done);
    let done = live.node.crawl.counters().done;
    let job = live.order("h0.test", HostOrder::Recrawl).unwrap().job.unwrap();
    let _ = live.node.jobs.cancel(job.id, std::time::Duration::ZERO);
    let job = live.until_job(job.id);
    assert!(job.state == JobState::Cancelled && job.changed < done, "{job:?}");
    assert!(live.node.crawl.orders.of(&live.node.prints.host("h0.test")).is_empty());
    live.until("what was queued", |s| s.waiting + s.processing == 0);
    live.close();
    let live = sandbox.start();
    assert!(live.node.jobs.all().is_empty(), "the next start goes on with it: {:?}", live.node.jobs.all());
    let ended = live.end();
    let twice = ended.found.captures().values().filter(|n| **n == 2).count() as u64;
    assert!(job.changed <= twice && twice < done, "{} {twice} {done}", job.changed);
}

#[test]
fn a_recrawl_cut_short_in_the_middle_goes_on_at_the_next_start_and_fetches_nothing_a_third_time() {
    let sandbox = Sandbox::new(large_host()).fetching_again();
    let live = sandbox.start();
    assert_eq!(live.until_stop(), Stop::Done);
    let done = live.node.crawl.counters().done;
    let job = live.order("h0.test", HostOrder::Recrawl).unwrap().job.unwrap();
    live.node.jobs.close(); // as the end of the process does: it ends behind the step it is in
    let job = live.until_job(job.id);
    assert!(job.state == JobState::Cancelled && job.changed < done, "{job:?}");
    live.until("some of them", |s| s.done + 200 > done);
    let fork = sandbox.fork();
    live.drop_at_once();
    let sandbox = sandbox.resume(fork);
    let live = sandbox.start();
    let own = live.node.jobs.all().pop().unwrap();
    assert_eq!(live.until_job(own.id).state, JobState::Done);
    live.until("the rest", |s| s.waiting + s.processing == 0);
    let ended = live.end_after_fork();
    assert!(ended.found.captures().values().all(|n| *n == 2), "{:?}", ended.found.captures());
}
