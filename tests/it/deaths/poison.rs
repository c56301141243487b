//! A page that ends whoever has it in hands is given up; the rest of the web is crawled.

use std::collections::BTreeSet;

use lycosa::base::fault::Fault;
use lycosa::domain::reason::Failure;
use lycosa::storage::values::UrlState;
use lycosa::testweb::TestWeb;
use lycosa::testweb::shape::Answer;

use super::sandbox;
use crate::support::truth_any;

/// A page that nothing else is reached by only: the start page's own links lead to enough.
pub fn plain_page(web: &TestWeb, truth: &BTreeSet<String>) -> String {
    let plain = |url: &&String| {
        let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
        let host = lycosa::testweb::place::host_number(host).unwrap();
        let shape = web.shape();
        let node = shape.find(host, &format!("/{path}"));
        url.contains("/p/") && node.is_some_and(|node| matches!(shape.answer(node), Answer::Page { .. }))
    };
    truth.iter().find(plain).unwrap().clone()
}

/// Where a page can end a room, and how often it is asked for before it is given up.
const ROOMS: &[(&str, usize)] = &[
    ("host.visit", 0),
    ("fetcher.task", 0),
    ("fetcher.fetched", 3),
    ("fetcher.hand_over", 3),
    ("parser.page", 3),
    ("deduper.content", 3),
    ("store.capture", 3),
];

#[test]
fn a_page_that_always_ends_the_room_that_has_it_in_hands_is_given_up_as_poison() {
    for (point, times) in ROOMS {
        let sandbox = sandbox();
        let truth = sandbox.web.truth(truth_any());
        let poison = plain_page(&sandbox.web, &truth);
        sandbox.faults.set(&format!("{point} {poison}"), Fault::Panic, 1, u64::MAX);
        let ended = sandbox.crawl();
        let url = lycosa::domain::url::Canonicaliser::new(Default::default()).parse(&poison).unwrap();
        let state = ended.found.seen.get(&ended.found.key(&url)).copied();
        assert_eq!(state, Some(UrlState::Error { reason: Failure::Poison }), "{point}\n{}", ended.report());
        let asked = ended.entries.iter().filter(|e| e.url() == poison).count();
        assert_eq!(asked, *times, "{point}");
        assert!(ended.asked().is_subset(&truth));
        assert!(ended.asked().len() * 10 > truth.len() * 8, "the rest of the web is crawled\n{}", ended.report());
        ended.assert_polite();
    }
}

#[test]
fn a_page_whose_neighbour_ends_the_room_is_innocent() {
    let sandbox = sandbox();
    // Whatever is in the Store's group, in flight or queued at a Host when these die comes back again and again.
    sandbox.faults.set("store.group", Fault::Panic, 2, 6);
    sandbox.faults.set("host.leases", Fault::Panic, 2, 6);
    let ended = sandbox.crawl();
    ended.assert_is(&sandbox.web.truth(truth_any()));
    assert!(!ended.found.seen.values().any(|s| *s == UrlState::Error { reason: Failure::Poison }));
}
