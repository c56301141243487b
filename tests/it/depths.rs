//! What lies within a limit of depth is found, in every order, by whatever way it was found first.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use lycosa::admin::NewSeed;
use lycosa::app::NodeControl;
use lycosa::crawl::node::Stop;
use lycosa::testweb::{TestWebConfig, TruthQuery};

use crate::site::{Site, html, none};
use crate::support::{Ended, Sandbox, truth_any};

const ORDERS: [&str; 4] = ["breadth", "depth", "mixed", "best"];

fn web(seed: u64) -> TestWebConfig {
    TestWebConfig {
        seed,
        hosts: 4,
        pages: 40,
        links: 3,
        min_size: 300,
        max_size: 1_000,
        redirects: 0.15,
        ..TestWebConfig::default()
    }
}

#[test]
fn a_depth_limit_over_many_hosts_is_exact_in_every_order() {
    for (seed, depth) in [(1, 2), (2, 3), (3, 4), (4, 6), (5, 9)] {
        for order in ORDERS {
            let sandbox = Sandbox::new(web(seed)).set(&format!("crawl.order={order}"));
            let ended = sandbox.set(&format!("crawl.max_depth={depth}"));
            let (sandbox, ended) = crawled(ended);
            ended.assert_is(&sandbox.web.truth(TruthQuery { depth: Some(depth), ..truth_any() }));
        }
    }
}

/// URLs may be asked for again, by a way that leads further: counts may go back.
fn crawled(sandbox: Sandbox) -> (Sandbox, Ended) {
    let sandbox = sandbox.fetching_again();
    let ended = sandbox.crawl();
    (sandbox, ended)
}

/// The paths at `a.test` that a crawl of these pages from these seeds asks for.
fn asked(pages: &'static [(&str, &[&str])], seeds: &[(&str, Option<u16>)], sets: &[&str]) -> (BTreeSet<String>, usize) {
    let site = Site::http(move |_, path| match pages.iter().find(|(page, _)| *page == path) {
        Some((_, links)) => {
            let mut body = String::new();
            links.iter().for_each(|link| write!(body, "<p>{path}<a href='{link}'>x</a>").unwrap());
            html(&body)
        }
        None => none(),
    });
    let overrides = format!("dns.overrides={{\"*.test\"=\"{}\"}}", site.address);
    let sandbox = Sandbox::new(web(1)).set(&overrides).set("scope.mode=hosts").set("crawl.seeds=[]").fetching_again();
    let sandbox = sets.iter().fold(sandbox, |sandbox, set| sandbox.set(set));
    let live = sandbox.start_bare();
    let seeds = seeds.iter().map(|(path, max_depth)| NewSeed {
        url: format!("http://a.test{path}"),
        max_depth: *max_depth,
        ..NewSeed::default()
    });
    let seeds = seeds.collect();
    live.block(NodeControl::add_seeds(live.node.clone(), seeds), "seeds to be committed").unwrap();
    assert_eq!(live.until_stop(), Stop::Done);
    drop(live.end());
    let asked = site.asked().into_iter().filter_map(|line| line.strip_prefix("a.test ").map(str::to_owned));
    let asked: Vec<String> = asked.filter(|path| path != "/robots.txt").collect();
    (asked.iter().cloned().collect(), asked.len())
}

/// A long way and a short one to the same pages; the short one is found last, for its first page is the last link.
const TWO_WAYS: &[(&str, &[&str])] = &[
    ("/", &["/1", "/short"]),
    ("/1", &["/2"]),
    ("/2", &["/3"]),
    ("/3", &["/4"]),
    ("/4", &["/5"]),
    ("/5", &["/6"]),
    ("/6", &[]),
    ("/short", &["/3"]),
];

#[test]
fn what_was_too_deep_by_the_way_found_first_is_taken_up_by_a_shorter_one() {
    for order in ORDERS {
        let order = format!("crawl.order={order}");
        let (found, _) = asked(TWO_WAYS, &[("/", None)], &[&order, "crawl.max_depth=4"]);
        let wanted = ["/", "/1", "/2", "/3", "/4", "/5", "/short"].map(str::to_owned);
        assert_eq!(found, BTreeSet::from(wanted), "{order}");
    }
}

/// A shallow seed reaches what a deep one reaches too.
const TWO_SEEDS: &[(&str, &[&str])] = &[
    ("/shallow", &["/a", "/b"]),
    ("/a", &["/a/1"]),
    ("/b", &["/b/1"]),
    ("/deep", &["/on"]),
    ("/on", &["/a", "/shallow"]),
    ("/a/1", &["/a/2"]),
    ("/a/2", &[]),
    ("/b/1", &[]),
];

#[test]
fn a_page_belongs_to_the_seed_that_lets_it_go_deepest() {
    for order in ORDERS {
        for first in [0, 1] {
            let mut seeds = [("/shallow", Some(1)), ("/deep", Some(5))];
            seeds.rotate_left(first);
            let (found, requests) = asked(TWO_SEEDS, &seeds, &[&format!("crawl.order={order}")]);
            assert_eq!(found.len(), TWO_SEEDS.len(), "{order}: {found:?}");
            assert!(requests <= TWO_SEEDS.len() + 3, "{order}: {requests} requests");
        }
    }
}

#[test]
fn a_deep_seed_that_comes_later_goes_on_where_a_shallow_one_ended() {
    let seeds = [("/shallow", Some(0)), ("/a", Some(0)), ("/a", None)];
    let (found, _) = asked(TWO_SEEDS, &seeds, &[]);
    assert_eq!(found, BTreeSet::from(["/shallow", "/a"].map(str::to_owned)), "what is said first stays");
    let (found, _) = asked(TWO_SEEDS, &[("/shallow", Some(0)), ("/a", Some(2))], &[]);
    assert_eq!(found, BTreeSet::from(["/shallow", "/a", "/a/1", "/a/2"].map(str::to_owned)));
}

/// A chain longer than the limit of the scopes that are wider than chosen hosts.
#[test]
fn without_a_limit_a_chain_of_pages_is_followed_to_its_end_and_with_the_scope_s_own_to_20() {
    for (mode, limit, pages) in [("hosts", "", 60), ("any", "", 21), ("any", "none", 60), ("hosts", "7", 8)] {
        let site = Site::http(|_, path| match path.strip_prefix("/p").and_then(|n| n.parse::<u32>().ok()) {
            Some(n) if n < 59 => html(&format!("<p>{}<a href=/p{}>on</a>", words(n), n + 1)),
            Some(_) => html("the last"),
            None => none(),
        });
        let overrides = format!("dns.overrides={{\"*.test\"=\"{}\"}}", site.address);
        let sandbox = Sandbox::new(web(1)).set(&overrides).set("crawl.seeds=[\"http://a.test/p0\"]");
        let sandbox = sandbox.set(&format!("scope.mode={mode}")).set(&format!("crawl.max_depth={limit}"));
        let ended = sandbox.crawl();
        assert_eq!(ended.found.counters.done, pages, "{mode} {limit}");
    }
}

/// Words that no other page has.
fn words(n: u32) -> String {
    let letter = |n: u32| char::from_u32(u32::from('a') + n % 26).unwrap();
    (0..6).map(|w| format!("{}{}{} ", letter(n), letter(n / 26), letter(w).to_string().repeat(3))).collect()
}
