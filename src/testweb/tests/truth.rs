//! The truth against a naive walk over what is really served.

use std::collections::BTreeSet;

use super::walk::{Reader, by_lycosa, by_select, walk};
use crate::testweb::robots::RobotsMode;
use crate::testweb::traps::TrapSet;
use crate::testweb::{TestWeb, TestWebConfig, TruthQuery, TruthScope};

fn start(config: TestWebConfig) -> TestWeb {
    TestWeb::start(config).unwrap()
}

#[track_caller]
fn assert_walk_equals_truth(config: TestWebConfig, query: TruthQuery) -> BTreeSet<String> {
    assert_reader_finds_truth(config, query, by_select)
}

#[track_caller]
fn assert_reader_finds_truth(config: TestWebConfig, query: TruthQuery, reader: Reader) -> BTreeSet<String> {
    let web = start(config);
    let (truth, walked) = (web.truth(query), walk(&web, &query, reader));
    let missed: Vec<_> = truth.difference(&walked).take(5).collect();
    let beyond: Vec<_> = walked.difference(&truth).take(5).collect();
    assert!(missed.is_empty() && beyond.is_empty(), "walk missed {missed:?}, went beyond to {beyond:?}");
    truth
}

fn small() -> TestWebConfig {
    TestWebConfig { hosts: 4, pages: 40, links: 8, min_size: 600, max_size: 1_500, ..TestWebConfig::default() }
}

fn rough() -> TestWebConfig {
    TestWebConfig { hosts: 6, pages: 40, links: 12, min_size: 600, max_size: 1_500, ..TestWebConfig::rough() }
}

const ANY: TruthQuery = TruthQuery {
    depth: None,
    scope: TruthScope::Any,
    max_redirects: 10,
    robots: true,
    nofollow: true,
    skip_files: true,
};
const HOSTS: TruthQuery = TruthQuery { scope: TruthScope::Hosts, ..ANY };

#[test]
fn a_plain_web_is_its_hosts_times_its_pages() {
    let truth = assert_walk_equals_truth(small(), ANY);
    assert_eq!(truth.len(), 4 * 40);
    assert!(truth.contains("http://h3.test/") && truth.contains("http://h2.test/p/39"));
}

#[test]
fn the_scope_of_hosts_stays_on_the_start_host() {
    let truth = assert_walk_equals_truth(small(), HOSTS);
    assert_eq!(truth.len(), 40);
    assert!(truth.iter().all(|url| url.starts_with("http://h0.test/")));
    assert_eq!(start(small()).truth(TruthQuery { scope: TruthScope::Domains, ..HOSTS }), truth);
}

#[test]
fn a_depth_limit_cuts_the_walk_at_the_shortest_path() {
    let config = TestWebConfig { redirects: 0.3, links: 4, ..small() };
    let sizes: Vec<usize> = (0..4)
        .map(|depth| assert_walk_equals_truth(config.clone(), TruthQuery { depth: Some(depth), ..ANY }).len())
        .collect();
    assert_eq!(sizes[0], 1);
    assert!(sizes.is_sorted() && sizes[3] > sizes[1], "{sizes:?}");
}

#[test]
fn a_rough_web_is_walked_alike_by_truth_and_parser() {
    for seed in 1..=6 {
        assert_walk_equals_truth(TestWebConfig { seed, ..rough() }, ANY);
        assert_walk_equals_truth(TestWebConfig { seed, ..rough() }, HOSTS);
    }
}

#[test]
fn this_projects_own_reader_finds_what_the_truth_says() {
    for seed in 1..=6 {
        assert_reader_finds_truth(TestWebConfig { seed, ..rough() }, ANY, by_lycosa);
    }
}

#[test]
fn redirect_chains_longer_than_allowed_are_cut_where_the_limit_says() {
    let config = TestWebConfig { redirects: 0.5, redirect_hops: 6, ..small() };
    let whole = assert_walk_equals_truth(config.clone(), ANY);
    let cut = assert_walk_equals_truth(config, TruthQuery { max_redirects: 2, ..ANY });
    assert!(cut.len() < whole.len());
    assert!(whole.iter().any(|url| url.contains("/r/") && url.ends_with("/5")));
}

#[test]
fn a_redirected_start_page_takes_the_crawl_to_a_second_host() {
    let config = TestWebConfig { start_redirect: true, redirects: 0.1, ..small() };
    let truth = assert_walk_equals_truth(config.clone(), HOSTS);
    assert!(truth.contains("http://h0.test/") && truth.contains("http://h1.test/"));
    assert!(truth.iter().all(|url| url.starts_with("http://h0.test/") || url.starts_with("http://h1.test/")));
    assert_walk_equals_truth(config, ANY);
}

#[test]
fn redirect_loops_are_fetched_once_round() {
    let config = TestWebConfig { redirect_loops: 0.3, ..small() };
    let truth = assert_walk_equals_truth(config, ANY);
    assert!(truth.iter().any(|url| url.contains("/loop/")));
}

#[test]
fn flaky_pages_and_error_pages_are_part_of_the_truth() {
    let config = TestWebConfig { flaky: 0.2, errors: 0.2, error_status: vec![404, 410], ..small() };
    let truth = assert_walk_equals_truth(config, ANY);
    assert!(truth.len() > 100);
}

#[test]
fn every_robots_variant_is_walked_alike() {
    for kind in
        ["none", "empty", "allow", "disallow-some", "disallow-all", "crawl-delay=0.5", "500", "redirect", "mixed"]
    {
        let robots: RobotsMode = kind.parse().unwrap();
        let config = TestWebConfig { robots, private: 0.3, ..small() };
        let truth = assert_walk_equals_truth(config, ANY);
        assert_eq!(truth.is_empty(), robots.forbids_all(), "{kind}");
        assert!(truth.iter().all(|url| !url.contains("/secret")), "{kind}");
        let opened = truth.iter().any(|url| url.contains("/private/open/"));
        assert_eq!(opened, robots.forbids_some() || robots == RobotsMode::Mixed, "{kind}");
        assert!(truth.iter().filter(|url| url.contains("/private/")).all(|url| url.contains("/open/")), "{kind}");
    }
}

#[test]
fn traps_are_no_part_of_the_truth() {
    let config = TestWebConfig { traps: TrapSet::ALL, ..small() };
    let web = start(config);
    assert_eq!(web.truth(ANY), start(small()).truth(ANY));
    let home = super::client::get(web.addr(), "h0.test", "/").text();
    for trap in ["trap/calendar?y=", "trap/session/", "trap/relative/"] {
        assert!(home.contains(trap), "{trap} is linked from the start page");
    }
}

#[test]
fn equal_settings_give_equal_webs_and_other_seeds_others() {
    let truth = |seed| start(TestWebConfig { seed, ..rough() }).truth(ANY);
    assert_eq!(truth(7), truth(7));
    assert_ne!(truth(7), truth(8));
    let page = |seed| super::client::get(start(TestWebConfig { seed, ..small() }).addr(), "h1.test", "/p/3").body;
    assert_eq!(page(7), page(7));
    assert_ne!(page(7), page(8));
}
