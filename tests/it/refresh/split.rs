//! Visits and new pages share a host: by an exact counter, neither starves.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::cockpit::{Desk, in_front_of};
use crate::sandbox::scale;
use crate::site::{Site, html, none};

/// Visits of a host that are in hands at a time.
const TURN: usize = 16;

#[test]
fn of_a_host_with_as_many_new_pages_as_visits_due_no_stretch_has_more_than_half_of_visits_and_a_turn_and_none_few() {
    // The large one waits less, and has the stretches of a thousand.
    let (pages, window, gap, least) = match scale() {
        1 => (200, 100, "20ms", 100 / 4),
        _ => (10_000, 1_000, "5ms", 1_000 * 2 / 5),
    };
    let more = Arc::new(AtomicBool::new(false));
    let known = more.clone();
    let list = move |kind: &str| (0..pages).map(|n| format!("<a href=/{kind}/{n}>x</a> ")).collect::<String>();
    let site = Site::http(move |_, path| match path {
        "/robots.txt" => none(),
        "/" => html(&list("old")),
        "/more" if known.load(Ordering::SeqCst) => html(&list("new")),
        _ => html(&format!("<p>the page {path}")),
    });
    let sandbox = in_front_of(&site)
        .fetching_again()
        .set("crawl.seeds=[\"http://a.test/\"]")
        .set(&format!("politeness.min_delay={gap}"))
        .set("refresh.cycle=off");
    let live = sandbox.start();
    live.until("the old pages", |s| s.done as usize == pages + 1 && s.waiting + s.processing == 0);
    more.store(true, Ordering::SeqCst);
    live.seed(&["http://a.test/more"]);
    live.until("the new pages to be known", |s| s.done as usize > pages + 1 && s.waiting > 0);
    let desk = Desk::of(&live);
    let (status, answer) = desk.send("PATCH", "/api/v1/settings", r#"{"refresh.cycle": "1s"}"#);
    assert_eq!(status, 200, "{answer}");
    assert_eq!(desk.send("POST", "/api/v1/schedule/reschedule", "").0, 202);
    // Of the last ones some are being visited again at any time, and are not done then.
    for part in 1..=9 {
        live.until("a tenth of the new pages", |s| s.done as usize >= pages + 2 + pages * part / 10);
    }
    drop(desk);
    live.close();
    let asked = site.asked();
    let is_new = |line: &str| line.starts_with("a.test /new/");
    // From the first visit on, while new pages wait: the last ones may be in hands when the next visits are taken.
    let first = asked.iter().position(|line| line == "a.test /more").unwrap();
    let mut known = std::collections::BTreeSet::new();
    let begins = (0..asked.len()).find(|at| !known.insert(&asked[*at]) && *at > first).unwrap();
    let ends = asked.iter().rposition(|line| is_new(line)).unwrap().saturating_sub(2 * TURN);
    let visits: Vec<bool> = asked[begins..ends].iter().map(|line| !is_new(line)).collect();
    assert!(visits.len() >= window * 3 / 2, "{} requests, {begins} to {ends}", visits.len());
    let counts: Vec<usize> =
        visits.windows(window).map(|stretch| stretch.iter().filter(|visit| **visit).count()).collect();
    let (fewest, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
    println!("of {window} pages {fewest} to {most} are visits, in {} stretches", counts.len());
    // That visits are never too many hangs on nothing. That they are not too few hangs on the next turn being there within four pages: what a
    // busy machine takes longer is lost to the visits.
    assert!(*fewest >= least && *most <= window / 2 + TURN, "{fewest} to {most} of {window}");
}
