//! The crawled set is the truth, over webs of many shapes, in every order and scope.

use std::time::Duration;

use lycosa::testweb::robots::RobotsMode;
use lycosa::testweb::traps::Trap;
use lycosa::testweb::{TestWebConfig, TruthQuery, TruthScope};

use crate::support::{Ended, Sandbox, truth_any};

fn small() -> TestWebConfig {
    TestWebConfig { hosts: 6, pages: 40, links: 12, min_size: 500, max_size: 3_000, ..TestWebConfig::default() }
}

/// Crawls all hosts: the truth, each URL once, politely.
fn exact(web: TestWebConfig, sets: &[&str]) -> Ended {
    exact_in(&sets.iter().fold(Sandbox::new(web), |s, set| s.set(set)))
}

fn exact_in(sandbox: &Sandbox) -> Ended {
    let ended = sandbox.crawl();
    ended.assert_is(&sandbox.web.truth(truth_any()));
    ended.assert_polite();
    ended
}

#[test]
fn a_plain_web_is_crawled_whole_and_nothing_twice() {
    exact(small(), &[]).assert_none_twice();
}

#[test]
fn all_actors_on_one_thread_crawl_the_same() {
    let sandbox = Sandbox::new(small()).together();
    let ended = sandbox.crawl();
    ended.assert_is(&sandbox.web.truth(truth_any()));
    ended.assert_none_twice();
}

#[test]
fn chains_and_loops_of_redirects_end_and_their_targets_are_crawled() {
    let web = TestWebConfig { redirects: 0.3, redirect_hops: 6, redirect_loops: 0.1, ..small() };
    let ended = exact(web, &[]);
    ended.assert_none_twice();
    assert!(ended.found.counters.redirects > 10, "{}", ended.report());
}

#[test]
fn duplicates_are_stored_as_revisits_and_their_links_are_followed() {
    let sandbox = Sandbox::new(TestWebConfig { duplicates: 0.3, ..small() });
    let ended = exact_in(&sandbox);
    ended.assert_none_twice();
    let c = &ended.found.counters;
    assert!(c.revisits > 10, "{}", ended.report());
    let revisits = cdxj(&ended).lines().filter(|l| l.contains("\"warc/revisit\"")).count();
    assert_eq!(revisits as u64, c.revisits);
}

/// All closed indexes.
fn cdxj(ended: &Ended) -> String {
    let files = ended.files_of("warc");
    assert!(!files.is_empty());
    files.iter().filter(|name| name.ends_with(".cdxj")).map(|name| ended.file(&format!("warc/{name}"))).collect()
}

#[test]
fn errors_are_final_or_tried_again_and_stored_either_way() {
    let web = TestWebConfig { errors: 0.15, error_status: vec![404, 410, 500], flaky: 0.0, ..small() };
    let ended = exact(web, &["fetch.retries=2"]);
    let counts = &ended.status.statuses;
    assert!(counts.contains_key(&404) && counts.contains_key(&500), "{}", ended.report());
    for (url, times) in ended.refetched() {
        assert_eq!(times, 3, "{url}: two retries");
    }
}

#[test]
fn a_503_and_flaky_pages_come_through_by_retries() {
    let web = TestWebConfig {
        hosts: 3,
        pages: 15,
        errors: 0.04,
        error_status: vec![503],
        flaky: 0.1,
        retry_after: 1,
        ..small()
    };
    let ended = exact(web, &["fetch.retries=3"]);
    assert!(!ended.refetched().is_empty());
}

#[test]
fn broken_markup_spellings_charsets_and_framings_lose_and_invent_no_link() {
    let web = TestWebConfig {
        broken: 0.6,
        spellings: 0.4,
        kinds: 0.2,
        files: 0.1,
        unicode: 0.1,
        queries: 0.3,
        canonical: 0.3,
        base: 0.2,
        gbk: 0.3,
        gzip: 0.4,
        chunked: 0.4,
        until_eof: 0.2,
        ..small()
    };
    exact(web, &[]).assert_none_twice();
}

#[test]
fn a_web_without_keep_alive_is_crawled_whole() {
    exact(TestWebConfig { keep_alive: false, gzip: 0.5, ..small() }, &[]).assert_none_twice();
}

#[test]
fn robots_files_of_all_kinds_and_nofollow_are_obeyed() {
    let web = TestWebConfig { robots: RobotsMode::Mixed, private: 0.2, nofollow: 0.15, ..small() };
    let ended = exact(web, &[]);
    ended.assert_none_twice();
    assert!(ended.status.rejected_by_reason.contains_key("robots"), "{}", ended.report());
}

#[test]
fn large_pages_go_through_the_spill_files_and_none_is_left() {
    let web = TestWebConfig { hosts: 3, pages: 10, large: 0.3, large_size: 400_000, gzip: 0.3, ..small() };
    let sandbox = Sandbox::new(web).set("fetch.body_memory=0");
    let ended = exact_in(&sandbox);
    ended.assert_none_twice();
    assert_eq!(ended.files_of("spill"), Vec::<String>::new());
}

#[test]
fn every_order_crawls_the_same_set() {
    for order in ["breadth", "depth", "mixed", "best"] {
        let web = TestWebConfig { redirects: 0.1, duplicates: 0.1, hosts: 4, pages: 30, ..small() };
        exact(web, &[&format!("crawl.order={order}")]).assert_none_twice();
    }
}

#[test]
fn hosts_that_yield_after_a_few_pages_lose_nothing() {
    let sets = ["frontier.host_quantum={pages=3,time=\"1s\"}", "frontier.max_active_hosts=2"];
    exact(small(), &sets).assert_none_twice();
}

#[test]
fn one_page_permit_and_one_connection_are_enough() {
    let web = TestWebConfig { hosts: 3, pages: 15, ..small() };
    exact(web, &["fetch.concurrency=1", "parse.threads=1"]).assert_none_twice();
}

#[test]
fn a_filter_too_small_and_full_of_false_positives_loses_nothing() {
    let sets = ["dedup.bloom_urls=1000", "dedup.bloom_bits=1", "dedup.bloom_hashes=1"];
    let web = TestWebConfig { hosts: 20, pages: 60, links: 15, ..small() };
    exact(web, &sets).assert_none_twice();
}

#[test]
fn a_web_that_answers_too_late_comes_to_an_end_with_its_reason() {
    let web = TestWebConfig { hosts: 1, pages: 3, latency_ms: 400, ..small() };
    let sets = ["fetch.timeouts.first_byte=50ms", "fetch.retries=1"];
    let sandbox = sets.iter().fold(Sandbox::new(web), |s, set| s.set(set));
    let live = sandbox.start();
    live.until_stop();
    let ended = live.end();
    assert_eq!(ended.status.errors_by_reason.get("first_byte_timeout"), Some(&1), "{}", ended.report());
    assert_eq!(ended.status.pages_stored, 0);
}

#[test]
fn several_fetchers_share_the_hosts() {
    exact(small(), &["fetch.threads=3"]).assert_none_twice();
}

#[test]
fn the_scope_of_the_seed_s_host_holds() {
    for (mode, scope) in [("hosts", TruthScope::Hosts), ("domains", TruthScope::Domains)] {
        let sandbox = Sandbox::new(small()).set(&format!("scope.mode={mode}"));
        let ended = sandbox.crawl();
        ended.assert_is(&sandbox.web.truth(TruthQuery { scope, ..TruthQuery::default() }));
        ended.assert_none_twice();
        assert!(ended.status.rejected_by_reason.contains_key("scope"), "{}", ended.report());
    }
}

#[test]
fn rejected_urls_need_not_be_recorded() {
    let sandbox = Sandbox::new(small()).set("scope.mode=hosts").set("scope.record_rejected=false");
    let ended = sandbox.crawl();
    ended.assert_is(&sandbox.web.truth(TruthQuery::default()));
    assert_eq!(ended.status.rejected, 0);
}

#[test]
fn a_depth_limit_is_exact_in_breadth_order_on_one_host() {
    for depth in [0, 1, 2, 3] {
        let web = TestWebConfig { hosts: 1, pages: 150, links: 4, redirects: 0.1, off_host: 0.0, ..small() };
        let sandbox = Sandbox::new(web).set("crawl.order=breadth").set(&format!("crawl.max_depth={depth}"));
        let ended = sandbox.crawl();
        ended.assert_is(&sandbox.web.truth(TruthQuery { depth: Some(depth), ..TruthQuery::default() }));
        ended.assert_none_twice();
    }
}

#[test]
fn a_depth_limit_over_many_hosts_gives_a_subset_and_nothing_else() {
    for order in ["mixed", "depth", "best"] {
        let web = TestWebConfig { hosts: 5, pages: 40, links: 4, ..small() };
        let sandbox = Sandbox::new(web).set(&format!("crawl.order={order}")).set("crawl.max_depth=3");
        let ended = sandbox.crawl();
        let truth = sandbox.web.truth(TruthQuery { depth: Some(3), ..truth_any() });
        let asked = ended.asked();
        assert!(asked.is_subset(&truth), "{:?}", asked.difference(&truth).collect::<Vec<_>>());
        assert!(asked.len() > 10);
        ended.assert_none_twice();
    }
}

#[test]
fn endless_spaces_waste_little_of_a_crawl_that_ends_by_itself() {
    const MOST: usize = 200;
    // Made-up text of few words meets itself by chance, which looks like an honest site: it costs more, and most beside other spaces of its
    // folder. It ends, and the site beside it is whole.
    let most = |trap| if trap == Trap::Anything { 600 } else { MOST };
    let each = Trap::ALL.iter().map(|trap| (trap.as_str().to_owned(), 800, most(*trap)));
    let others = Trap::ALL.iter().filter(|trap| **trap != Trap::Anything).map(|trap| trap.as_str()).collect::<Vec<_>>();
    let others = (others.join(","), 12_000, MOST * others.len());
    for (traps, pages, most) in each.into_iter().chain([others, ("all".to_owned(), 2_000, usize::MAX)]) {
        let traps_laid = traps.parse().unwrap();
        let web = TestWebConfig { hosts: 1, pages, links: 4, min_size: 1_000, traps: traps_laid, ..small() };
        let ended = Sandbox::new(web).set("scope.mode=domains").gap(Duration::ZERO).crawl();
        let asked = ended.asked();
        let wasted = asked.iter().filter(|url| url.contains("/trap/") || url.starts_with("http://x")).count();
        assert!((1..=most).contains(&wasted), "{traps}: {wasted} of {} are wasted", asked.len());
        assert_eq!(asked.len() - wasted, pages as usize, "{traps}: a page of the site is missing\n{}", ended.report());
    }
}

#[test]
fn the_folders_above_a_page_are_asked_for_when_they_are_wanted() {
    for (ascend, wanted) in [(false, 0), (true, 1)] {
        let web = TestWebConfig { hosts: 1, pages: 20, ..small() };
        let seeds = "crawl.seeds=[\"http://h0.test/\", \"http://h0.test/gone/for/good.html\"]";
        let ended = Sandbox::new(web).set(&format!("crawl.ascend={ascend}")).set(seeds).crawl();
        let asked = ended.asked();
        for folder in ["/p/", "/gone/for/", "/gone/"] {
            let times = asked.iter().filter(|url| **url == format!("http://h0.test{folder}")).count();
            assert_eq!(times, wanted, "{folder} {asked:?}");
        }
    }
}

#[test]
fn endless_spaces_end_at_the_page_limit() {
    let web = TestWebConfig { hosts: 2, pages: 20, traps: "all".parse().unwrap(), ..small() };
    let sandbox = Sandbox::new(web).set("crawl.max_pages=300");
    let sandbox = sandbox.set("traps.barren_pages=0").set("traps.sessions=false").set("traps.permutations=false");
    let live = sandbox.start();
    assert_eq!(live.until_stop(), lycosa::crawl::node::Stop::Pages);
    let ended = live.close();
    assert!((300..320).contains(&ended.status.pages_stored), "{}", ended.report());
    ended.assert_none_twice();
    ended.assert_polite();
}
