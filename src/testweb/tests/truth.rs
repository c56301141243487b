//! What the truth says. That it is what is served, tests/it/crawl.rs shows: the crawler finds it, page by page.

use std::collections::BTreeSet;

use super::client::get;
use crate::testweb::robots::RobotsMode;
use crate::testweb::traps::TrapSet;
use crate::testweb::{TestWeb, TestWebConfig, TruthQuery, TruthScope};

fn truth_of(config: TestWebConfig, query: TruthQuery) -> BTreeSet<String> {
    TestWeb::start(config).unwrap().truth(query)
}

fn small() -> TestWebConfig {
    TestWebConfig { hosts: 4, pages: 40, links: 8, min_size: 600, max_size: 1_500, ..TestWebConfig::default() }
}

const HOSTS: TruthQuery = TruthQuery::HOSTS;
const ANY: TruthQuery = TruthQuery { scope: TruthScope::Any, ..HOSTS };

#[test]
fn a_plain_web_is_its_hosts_times_its_pages() {
    let truth = truth_of(small(), ANY);
    assert_eq!(truth.len(), 4 * 40);
    assert!(truth.contains("http://h3.test/") && truth.contains("http://h2.test/p/39"));
}

#[test]
fn the_scope_of_hosts_stays_on_the_start_host() {
    let truth = truth_of(small(), HOSTS);
    assert_eq!(truth.len(), 40);
    assert!(truth.iter().all(|url| url.starts_with("http://h0.test/")));
    assert_eq!(truth_of(small(), TruthQuery { scope: TruthScope::Domains, ..HOSTS }), truth);
}

#[test]
fn a_depth_limit_cuts_the_walk_at_the_shortest_path() {
    let config = TestWebConfig { redirects: 0.3, links: 4, ..small() };
    let size = |depth| truth_of(config.clone(), TruthQuery { depth: Some(depth), ..ANY }).len();
    let sizes: Vec<usize> = (0..4).map(size).collect();
    assert_eq!(sizes[0], 1);
    assert!(sizes.is_sorted() && sizes[3] > sizes[1], "{sizes:?}");
}

#[test]
fn redirect_chains_longer_than_allowed_are_cut_where_the_limit_says() {
    let config = TestWebConfig { redirects: 0.5, redirect_hops: 6, ..small() };
    let (whole, cut) = (truth_of(config.clone(), ANY), truth_of(config, TruthQuery { max_redirects: 2, ..ANY }));
    assert!(cut.len() < whole.len());
    assert!(whole.iter().any(|url| url.contains("/r/") && url.ends_with("/5")));
}

#[test]
fn a_redirected_start_page_takes_the_crawl_to_a_second_host() {
    let truth = truth_of(TestWebConfig { start_redirect: true, redirects: 0.1, ..small() }, HOSTS);
    assert!(truth.contains("http://h0.test/") && truth.contains("http://h1.test/"));
    assert!(truth.iter().all(|url| url.starts_with("http://h0.test/") || url.starts_with("http://h1.test/")));
}

#[test]
fn redirect_loops_flaky_pages_and_error_pages_are_part_of_the_truth() {
    let truth = truth_of(TestWebConfig { redirect_loops: 0.3, ..small() }, ANY);
    assert!(truth.iter().any(|url| url.contains("/loop/")));
    let config = TestWebConfig { flaky: 0.2, errors: 0.2, error_status: vec![404, 410], ..small() };
    assert!(truth_of(config, ANY).len() > 100);
}

#[test]
fn every_robots_variant_opens_and_closes_what_it_says() {
    for kind in
        ["none", "empty", "allow", "disallow-some", "disallow-all", "crawl-delay=0.5", "500", "redirect", "mixed"]
    {
        let robots: RobotsMode = kind.parse().unwrap();
        let truth = truth_of(TestWebConfig { robots, private: 0.3, ..small() }, ANY);
        assert_eq!(truth.is_empty(), robots.forbids_all(), "{kind}");
        assert!(truth.iter().all(|url| !url.contains("/secret")), "{kind}");
        let opened = truth.iter().any(|url| url.contains("/private/open/"));
        assert_eq!(opened, robots.forbids_some() || robots == RobotsMode::Mixed, "{kind}");
        assert!(truth.iter().filter(|url| url.contains("/private/")).all(|url| url.contains("/open/")), "{kind}");
    }
}

#[test]
fn traps_are_no_part_of_the_truth() {
    let web = TestWeb::start(TestWebConfig { traps: TrapSet::ALL, ..small() }).unwrap();
    assert_eq!(web.truth(ANY), truth_of(small(), ANY));
    let home = get(web.addr(), "h0.test", "/").text();
    for trap in ["trap/calendar?y=", "trap/session/", "trap/relative/"] {
        assert!(home.contains(trap), "{trap} is linked from the start page");
    }
}

#[test]
fn equal_settings_give_equal_webs_and_other_seeds_others() {
    let truth = |seed| truth_of(TestWebConfig { seed, hosts: 6, pages: 40, ..TestWebConfig::rough() }, ANY);
    assert_eq!(truth(7), truth(7));
    assert_ne!(truth(7), truth(8));
    let page = |seed| {
        let web = TestWeb::start(TestWebConfig { seed, ..small() }).unwrap();
        get(web.addr(), "h1.test", "/p/3").body
    };
    assert_eq!(page(7), page(7));
    assert_ne!(page(7), page(8));
}
