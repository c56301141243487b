//! How long a crawl waits that is to end: what was never tried is no retry. The clock is moved on whenever nothing can be done.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use lycosa::admin::status;
use lycosa::app::watch;
use lycosa::base::time::millis;
use lycosa::crawl::node::{Node, Stop};

use crate::cockpit::in_front_of;
use crate::site::{Site, html, none, page};
use crate::support::{Ended, Sandbox};

/// Time between two looks whether the crawl waits.
const LOOK: Duration = Duration::from_millis(5);

/// Moves the clock to the next moment at which there is something to do, each time that nothing can be done.
async fn hasten(node: &Node) -> Stop {
    loop {
        if let Some(wait) = status(node).next_try_seconds.filter(|wait| *wait > 0.0) {
            let ms = millis(Duration::from_secs_f64(wait)).saturating_add(1);
            drop(node.clock.clone().off_by(i64::try_from(ms).unwrap())); // clones share their time
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// A crawl with the default patience, in the order of the links; hosts are set aside after each page.
fn crawl_of(site: &Site, sets: &[&str]) -> Ended {
    let quick =
        ["crawl.until_done=true", "frontier.host_quantum={pages=1,time=\"1h\"}", "fetch.retry_delays=[\"1m\",\"15m\"]"];
    let all = quick.iter().chain(sets);
    let sandbox: Sandbox = all.fold(in_front_of(site), |sandbox, set| sandbox.set(set)).fetching_again();
    let live = sandbox.start_bare();
    live.seed(&["http://a.test/"]);
    let node = live.node.clone();
    let both = async {
        tokio::select! {
            stop = watch(&node) => stop,
            stop = hasten(&node) => stop,
        }
    };
    assert_eq!(live.block(both, "the end of the crawl"), Stop::Done);
    drop(node);
    live.end()
}

/// Links to so many pages of each of these folders, one folder after the other.
fn links(folders: &[(&str, usize)]) -> String {
    let of = |(folder, n): &(&str, usize)| (0..*n).map(|i| format!("<a href=/{folder}/{i}>x</a>")).collect::<String>();
    html(&folders.iter().map(of).collect::<String>())
}

/// How many pages of `/good/` were asked for.
fn good(site: &Site) -> usize {
    site.asked().iter().filter(|asked| asked.starts_with("a.test /good/")).count()
}

#[test]
fn a_page_that_is_busy_once_costs_none_of_those_that_were_never_tried() {
    let times = AtomicU32::new(0);
    let site = Site::http(move |_, path| match path {
        "/robots.txt" => none(),
        "/" => links(&[("busy", 1), ("good", 20)]),
        "/busy/0" if times.fetch_add(1, Ordering::AcqRel) == 0 => page(503, "text/plain", "", "busy"),
        path => html(path),
    });
    let ended = crawl_of(&site, &[]);
    assert_eq!((ended.status.done, ended.status.waiting), (22, 0), "{:?}", site.asked());
}

#[test]
fn pages_that_fail_first_do_not_end_the_crawl_before_the_good_ones() {
    let site = Site::http(|_, path| match path {
        "/robots.txt" => none(),
        "/" => links(&[("bad", 12), ("good", 10)]),
        path if path.starts_with("/bad/") => page(500, "text/plain", "", "oops"),
        path => html(path),
    });
    // The gap is doubled with each error in a row: at the end it is much more than the patience with retries.
    let ended = crawl_of(&site, &["politeness.min_delay=16ms", "fetch.retry_delays=[\"10h\"]"]);
    assert_eq!((good(&site), ended.status.done), (10, 11), "{:?}", site.asked());
}

#[test]
fn a_host_that_refuses_many_pages_is_left_alone_and_its_other_pages_are_waited_for() {
    let site = Site::http(|_, path| match path {
        "/robots.txt" => none(),
        "/" => links(&[("private", 25), ("good", 40)]),
        path if path.starts_with("/private/") => page(403, "text/plain", "", "no"),
        path => html(path),
    });
    let ended = crawl_of(&site, &[]);
    assert_eq!(
        (good(&site), ended.status.done, ended.status.waiting),
        (40, 41, 0),
        "{:?} {}",
        site.asked(),
        ended.report()
    );
}

#[test]
fn a_retry_after_of_an_hour_is_waited_for() {
    let site = Site::http(|_, path| match path {
        "/robots.txt" => none(),
        "/" => links(&[("bad", 1), ("good", 3)]),
        "/bad/0" => page(503, "text/plain", "Retry-After: 3600\r\n", "busy"),
        path => html(path),
    });
    let ended = crawl_of(&site, &[]);
    assert_eq!(good(&site), 3, "{}", ended.report());
}

#[test]
fn a_host_that_does_nothing_but_refuse_is_not_waited_for_without_end() {
    let site = Site::http(|_, path| match path {
        "/robots.txt" => none(),
        "/" => links(&[("private", 120)]),
        _ => page(403, "text/plain", "", "no"),
    });
    let ended = crawl_of(&site, &[]);
    assert_eq!(ended.status.done, 1);
    assert!((20..=80).contains(&ended.status.errors), "{:?}", ended.status);
}
