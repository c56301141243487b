//! A system's clock that is wrong at a start, or is set while a crawl runs: no wait is longer or shorter for it.

use std::time::Duration;

use lycosa::admin::status;
use lycosa::storage::read;
use lycosa::storage::values::ClockState;
use lycosa::testweb::TestWebConfig;
use serde_json::Value;

use crate::support::{Ended, Sandbox, truth_any};

const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;
/// What clocks are off by, both ways: hours, a month, years, back to 1970.
const OFF: [i64; 7] = [3 * HOUR, -3 * HOUR, 30 * DAY, -30 * DAY, 11 * 365 * DAY, -11 * 365 * DAY, -56 * 365 * DAY];

fn web() -> TestWebConfig {
    TestWebConfig { hosts: 3, pages: 12, links: 6, min_size: 300, max_size: 900, ..TestWebConfig::default() }
}

/// Captures are dated by another clock than the web's log, so that the two cannot be compared.
fn far_off() -> Sandbox {
    Sandbox::new(web()).gap(Duration::from_millis(30)).fetching_again()
}

/// Times of the lines of `crawl.jsonl`, in their order, in milliseconds.
fn times(ended: &Ended) -> Vec<i64> {
    let text = ended.file("crawl.jsonl");
    let ts = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        let at = lycosa::warc::date::parse_iso(line["ts"].as_str().unwrap()).unwrap();
        i64::try_from(at.0).unwrap()
    };
    text.lines().map(ts).collect()
}

fn real_now() -> i64 {
    i64::try_from(lycosa::base::clock::Clock::real().date().0).unwrap()
}

#[test]
fn a_clock_that_was_wrong_at_one_start_parks_nothing_at_the_next() {
    for off in OFF {
        let sandbox = far_off().clock_off_by(off);
        let live = sandbox.start();
        live.until("pages", |s| s.pages_stored >= 4);
        live.close();
        let sandbox = sandbox.clock_off_by(0);
        let live = sandbox.start();
        let troubles = status(&live.node).troubles;
        let told = if off > 0 { "went back by" } else { "went forward by" };
        let clock = &troubles["clock"].example;
        assert!(clock.contains(told) && clock.contains("since the last commit"), "{off}: {clock}");
        live.until_stop();
        let clock = read::meta::<ClockState>(&*live.storage, ()).unwrap().unwrap();
        let ended = live.end();
        ended.assert_is(&sandbox.web.truth(truth_any()));
        ended.assert_polite();
        ended.assert_none_twice();
        let date = i64::try_from(clock.date.0).unwrap();
        assert!((date - real_now()).abs() < HOUR, "the date is the right one: {clock:?}");
    }
}

#[test]
fn retries_of_a_run_with_a_clock_ahead_come_when_they_are_due() {
    let web = TestWebConfig { errors: 0.5, error_status: vec![500], ..web() };
    let sandbox = Sandbox::new(web).gap(Duration::from_millis(20)).clock_off_by(30 * DAY).fetching_again();
    let sandbox = sandbox.set("fetch.retry_delays=[\"3s\"]").set("fetch.retries=1");
    let live = sandbox.start();
    live.until("a page that waits for its next try", |s| s.retries > 0);
    live.close();
    let sandbox = sandbox.clock_off_by(0);
    let live = sandbox.start();
    let idle = status(&live.node).idle_reason;
    live.until_stop(); // within the test's patience, not in a month
    assert!(idle.is_empty() || idle.contains("since the last commit of this folder"), "{idle}");
    live.end().assert_polite();
}

#[test]
fn a_clock_that_is_set_while_the_crawl_runs_changes_the_dates_and_no_wait() {
    for by in OFF {
        let sandbox = far_off();
        let live = sandbox.start();
        live.until("pages", |s| s.pages_stored >= 4);
        live.node.clock.set_system(by);
        let jump = live.node.clock.follow().expect("the clock was set");
        assert!((jump.by - by).abs() < HOUR, "{jump:?}");
        live.until_stop();
        let ended = live.end();
        ended.assert_is(&sandbox.web.truth(truth_any()));
        ended.assert_polite();
        let (times, now) = (times(&ended), real_now());
        assert!((times[0] - now).abs() < HOUR, "{times:?}");
        assert!((times.last().unwrap() - now - by).abs() < HOUR, "{times:?} by {by}");
        // And once more, with the clock as it was: no matter which of the two is right.
        let live = sandbox.start();
        live.until_stop();
        live.end().assert_none_twice();
    }
}

#[test]
fn the_watch_notices_a_clock_that_is_set_and_tells_it() {
    let sandbox = Sandbox::new(web()).set("crawl.until_done=false");
    let live = sandbox.start();
    live.node.clock.set_system(-30 * DAY);
    live.during_watch(|| live.until("the jump to be told", |s| s.troubles.contains_key("clock")));
    let told = &status(&live.node).troubles["clock"].example;
    assert!(told.contains("went back by 30 d"), "{told}");
    live.close();
}
