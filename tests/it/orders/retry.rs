//! URLs that were given up are tried again.

use lycosa::admin::ControlError;
use lycosa::admin::jobs::{JobState, JobView};
use lycosa::admin::paging::Paging;
use lycosa::admin::reports::query as reports;
use lycosa::admin::retry::RetryWhich;
use lycosa::admin::retry::start as queue_again;

use lycosa::crawl::node::Stop;
use lycosa::storage::values::UrlState;
use lycosa::testweb::TestWebConfig;

use super::web;
use crate::support::{Live, Sandbox, truth_any};

/// Pages of this web fail once or twice before they are good.
fn sick() -> Sandbox {
    let web = TestWebConfig { flaky: 0.3, retry_after: 0, ..web() };
    Sandbox::new(web).fetching_again().set("fetch.retries=0")
}

fn retry(live: &Live<'_>, which: RetryWhich) -> Result<JobView, ControlError> {
    let job = live.block(queue_again(live.node.clone(), which), "a job to begin")?;
    Ok(live.until_job(job.id))
}

#[test]
fn errors_of_a_server_that_is_well_again_are_put_back_and_nothing_is_missing_in_the_end() {
    let sandbox = sick();
    let live = sandbox.start();
    assert_eq!(live.until_stop(), Stop::Done);
    let errors = live.node.crawl.counters().error();
    assert!(errors > 0, "this web is not sick");
    let links = reports::dead_links(&live.node, None, &Paging { limit: Some(1000), cursor: None }).unwrap();
    assert_eq!((links.items.len() as u64, &links.next), (errors, &None));
    assert!(links.items.iter().all(|link| link.status.is_some_and(|s| s >= 500) && link.page.is_some()), "{links:?}");
    // Others are not touched.
    for which in [
        RetryWhich { reason: Some("dns".into()), ..RetryWhich::default() },
        RetryWhich { host: Some("elsewhere.test".into()), ..RetryWhich::default() },
        RetryWhich { since: Some("0s".into()), ..RetryWhich::default() },
        RetryWhich { status: Some(418), ..RetryWhich::default() },
    ] {
        assert_eq!(retry(&live, which.clone()).unwrap().changed, 0, "{which:?}");
    }
    for wrong in [
        RetryWhich { reason: Some("weather".into()), ..RetryWhich::default() },
        RetryWhich { since: Some("two hours".into()), ..RetryWhich::default() },
        RetryWhich { status: Some(7), ..RetryWhich::default() },
        RetryWhich { host: Some("a/b".into()), ..RetryWhich::default() },
    ] {
        assert!(matches!(retry(&live, wrong.clone()), Err(ControlError::Invalid(_))), "{wrong:?}");
    }
    let all = RetryWhich { reason: Some("status".into()), since: Some("1h".into()), ..RetryWhich::default() };
    let mut rounds = 0;
    while live.node.crawl.counters().error() > 0 {
        rounds += 1;
        assert!(rounds < 20, "errors that do not go: {:?}", live.node.crawl.counters().errors);
        assert_eq!(retry(&live, all.clone()).unwrap().state, JobState::Done);
        live.until("their end", |s| s.waiting + s.processing == 0);
    }
    let ended = live.end();
    let truth = sandbox.web.truth(truth_any());
    assert_eq!(ended.found.captured(), truth);
    assert!(truth.iter().all(|url| matches!(ended.found.state_of(url), Some(UrlState::Done { .. }))));
    ended.assert_polite();
}

#[test]
fn a_retry_cut_short_in_the_middle_leaves_nothing_half_done_and_is_given_again() {
    let sandbox = sick();
    let live = sandbox.start();
    assert_eq!(live.until_stop(), Stop::Done);
    let job = live.block(queue_again(live.node.clone(), RetryWhich::default()), "a job to begin").unwrap();
    let _ = live.node.jobs.cancel(job.id, std::time::Duration::ZERO);
    let fork = sandbox.fork();
    live.drop_at_once();
    let sandbox = sandbox.resume(fork);
    let live = sandbox.start();
    live.until("what was put back", |s| s.waiting + s.processing == 0);
    for _ in 0..20 {
        retry(&live, RetryWhich::default()).unwrap();
        live.until("their end", |s| s.waiting + s.processing == 0);
    }
    assert_eq!(live.node.crawl.counters().error(), 0);
    let ended = live.end_after_fork();
    assert_eq!(ended.found.captured(), sandbox.web.truth(truth_any()));
}
