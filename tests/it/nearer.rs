//! Better ways to pages that are done: a page is fetched twice for one only where something was too deep.

use std::collections::BTreeSet;
use std::sync::{Arc, Condvar, Mutex};

use lycosa::crawl::live::{Readmitting, SettingsPatch, change};
use lycosa::crawl::node::Stop;
use lycosa::crawl::readmit;
use lycosa::domain::fingerprint::CrawlId;
use lycosa::storage::values::Counters;
use lycosa::storage::{Batch, MemoryStorage, Storage, read};
use lycosa::testweb::{TestWebConfig, TruthQuery};
use serde_json::json;

use crate::site::{Site, html, none};
use crate::support::{Live, Sandbox, truth_any};

fn web(seed: u64) -> TestWebConfig {
    TestWebConfig {
        seed,
        hosts: 6,
        pages: 40,
        links: 3,
        min_size: 300,
        max_size: 1_000,
        redirects: 0.1,
        ..TestWebConfig::default()
    }
}

#[test]
fn where_nothing_is_too_deep_no_page_is_fetched_twice_whatever_known_pages_are_handed_in_as_seeds() {
    let sandbox = Sandbox::new(web(1)).set("crawl.order=depth").set("crawl.max_depth=60");
    let truth = sandbox.web.truth(truth_any());
    sandbox.crawl().assert_is(&truth);
    let live = sandbox.start_bare();
    let report = live.seed(&truth.iter().collect::<Vec<_>>());
    assert_eq!((report.accepted, report.known), (0, truth.len() as u64));
    assert_eq!(live.until_stop(), Stop::Done);
    let ended = live.end();
    ended.assert_is(&truth);
    ended.assert_none_twice();
    let counters = &ended.found.counters;
    assert!(counters.nearer > 100 && !counters.too_deep, "{counters:?}");
}

#[test]
fn killed_at_any_moment_a_crawl_finds_all_within_its_limit() {
    for (seed, depth) in [(2, 3), (3, 5), (4, 7), (5, 9)] {
        let truth = |sandbox: &Sandbox| sandbox.web.truth(TruthQuery { depth: Some(depth), ..truth_any() });
        let sandbox = Sandbox::new(web(seed)).set("crawl.order=depth").set(&format!("crawl.max_depth={depth}"));
        let mut sandbox = sandbox.fetching_again();
        let most = truth(&sandbox).len() as u64;
        for nth in 1..6 {
            let live = sandbox.start();
            let pages = most * nth / 6;
            live.until("some pages", |s| s.pages_stored >= pages || s.waiting + s.processing == 0);
            let fork = sandbox.fork();
            drop(live.close());
            sandbox = sandbox.resume(fork);
        }
        sandbox.crawl().assert_is(&truth(&sandbox));
    }
}

/// Opens in steps: what is behind a step waits for it.
#[derive(Clone, Default)]
struct Gate(Arc<(Mutex<u32>, Condvar)>);

impl Gate {
    fn open(&self, step: u32) {
        *self.0.0.lock().unwrap() = step;
        self.0.1.notify_all();
    }

    fn pass(&self, step: u32) {
        drop(self.0.1.wait_while(self.0.0.lock().unwrap(), |open| *open < step).unwrap());
    }
}

/// A chain of pages of one host, and a way over another that leads to its fourth page sooner than the chain, but is found later.
fn shortcut(gate: Gate) -> Site {
    Site::http(move |host, path| match (host, path.trim_start_matches('/').parse::<u32>()) {
        ("b.test", _) if path == "/x" => {
            gate.pass(1);
            html("<p>short <a href=http://a.test/3>on</a>")
        }
        ("a.test", Ok(n)) if n < 12 => {
            gate.pass(if n == 4 { 2 } else { 0 });
            let short = if n == 0 { "<a href=http://b.test/x>short</a>" } else { "" };
            html(&format!("<p>{} {short}<a href=/{}>on</a>", "word ".repeat(n as usize + 1), n + 1))
        }
        _ => none(),
    })
}

/// What a walk by breadth finds within five links of `/0`: six pages of the chain by itself, one more by the other way.
fn within_five() -> BTreeSet<String> {
    (0..=6).map(|n| format!("http://a.test/{n}")).chain(["http://b.test/x".to_owned()]).collect()
}

/// Up to where the better way waits and nothing is too deep yet.
fn until_a_way_waits<'s>(sandbox: &'s Sandbox, gate: &Gate) -> Live<'s> {
    let live = sandbox.start();
    live.until("the chain", |s| s.done == 4);
    gate.open(1);
    live.until("the other way", |_| live.node.crawl.counters().nearer == 1);
    assert!(!live.node.crawl.counters().too_deep);
    live
}

fn sandbox(site: &Site) -> Sandbox {
    let overrides = format!("dns.overrides={{\"*.test\"=\"{}\"}}", site.address);
    let sandbox = Sandbox::new(web(1)).set(&overrides).set("crawl.seeds=[\"http://a.test/0\"]");
    sandbox.set("crawl.max_depth=5").fetching_again()
}

fn times(site: &Site, page: &str) -> usize {
    site.asked().iter().filter(|asked| *asked == page).count()
}

#[test]
fn a_better_way_waits_until_a_url_is_too_deep_and_is_then_followed_also_where_nothing_is_kept_of_what_is_rejected() {
    for recorded in [true, false] {
        let gate = Gate::default();
        let site = shortcut(gate.clone());
        let sandbox = sandbox(&site).set(&format!("scope.record_rejected={recorded}"));
        let live = until_a_way_waits(&sandbox, &gate);
        assert_eq!(times(&site, "a.test /3"), 1);
        gate.open(2);
        assert_eq!(live.until_stop(), Stop::Done);
        let ended = live.end();
        assert_eq!(ended.found.captured(), within_five());
        assert_eq!((times(&site, "a.test /2"), times(&site, "a.test /3"), times(&site, "a.test /6")), (1, 2, 1));
        let counters = &ended.found.counters;
        assert_eq!((counters.nearer, counters.too_deep, counters.rejected_total() > 0), (0, true, recorded));
    }
}

/// As a kill leaves it between the first URL that is too deep and the walk over the ways that wait.
fn too_deep_is_committed(storage: &MemoryStorage) {
    let counters: Counters = read::meta(storage, CrawlId::default()).unwrap().unwrap();
    let mut batch = Batch::new();
    batch.put_meta(CrawlId::default(), &Counters { too_deep: true, ..counters });
    storage.write(&batch).unwrap();
}

#[test]
fn killed_while_a_better_way_waits_a_crawl_follows_it_all_the_same() {
    for committed in [false, true] {
        let gate = Gate::default();
        let site = shortcut(gate.clone());
        let sandbox = sandbox(&site);
        let live = until_a_way_waits(&sandbox, &gate);
        let fork = sandbox.fork();
        gate.open(2);
        drop(live.close());
        if committed {
            too_deep_is_committed(fork.storage());
        }
        let sandbox = sandbox.resume(fork);
        let live = sandbox.start_bare();
        assert_eq!(live.until_stop(), Stop::Done);
        let ended = live.end();
        assert_eq!(ended.found.captured(), within_five(), "{committed}");
        assert_eq!((ended.found.counters.nearer, ended.found.counters.too_deep), (0, true), "{committed}");
    }
}

#[test]
fn a_crawl_of_which_nothing_is_queued_is_not_over_while_better_ways_are_to_be_followed() {
    let sandbox = Sandbox::new(web(6)).set("crawl.order=depth").set("crawl.max_depth=60").fetching_again();
    let truth = sandbox.web.truth(truth_any());
    drop(sandbox.crawl());
    let live = sandbox.start_bare();
    live.seed(&truth.iter().collect::<Vec<_>>());
    let waiting = live.node.crawl.counters().nearer;
    drop(live.end());
    assert!(waiting > 0);
    too_deep_is_committed(sandbox.memory());
    let live = sandbox.start_bare();
    assert_eq!(live.until_stop(), Stop::Done);
    let ended = live.end();
    ended.assert_is(&truth);
    assert!(ended.refetched().len() as u64 >= waiting, "{waiting} pages were to be fetched again");
    assert_eq!(ended.found.counters.nearer, 0);
}

#[test]
fn a_limit_that_is_lowered_while_better_ways_wait_has_them_followed() {
    for at_a_restart in [false, true] {
        let gate = Gate::default();
        let site = shortcut(gate.clone());
        let sandbox = sandbox(&site).set("crawl.max_depth=20");
        let live = until_a_way_waits(&sandbox, &gate);
        // `/4` is on its way at four links, and is one of three by the other way.
        let ended = if at_a_restart {
            let fork = sandbox.fork();
            gate.open(2);
            drop(live.close());
            let sandbox = sandbox.resume(fork).set("crawl.max_depth=3");
            let live = sandbox.start_bare();
            assert_eq!(live.until_stop(), Stop::Done);
            live.end()
        } else {
            let wish = SettingsPatch {
                changes: [("crawl.max_depth".to_owned(), json!(3))].into(),
                ..SettingsPatch::default()
            };
            live.block(change(&live.node, wish), "the change").unwrap();
            gate.open(2);
            assert_eq!(live.until_stop(), Stop::Done);
            live.end()
        };
        let beyond = |url: &String| url.ends_with("/5") || url.ends_with("/6");
        let wanted: BTreeSet<String> = within_five().into_iter().filter(|url| !beyond(url)).collect();
        assert_eq!(ended.found.captured(), wanted);
        assert_eq!((ended.found.counters.nearer, ended.found.counters.too_deep), (0, true));
    }
}

#[test]
fn what_the_rules_let_in_later_and_is_too_deep_by_then_has_better_ways_followed() {
    let gate = Gate::default();
    let site = shortcut(gate.clone());
    let sandbox = sandbox(&site).set("crawl.max_depth=4").set("scope.exclude=['/5$']");
    let live = until_a_way_waits(&sandbox, &gate);
    gate.open(2);
    live.until("all but what is excluded", |s| s.done == 6 && s.waiting + s.processing == 0);
    assert!(!live.node.crawl.counters().too_deep, "it was turned away for another reason");
    let wish = SettingsPatch { changes: [("scope.exclude".to_owned(), json!([]))].into(), ..SettingsPatch::default() };
    live.block(change(&live.node, wish), "the change").unwrap();
    readmit::start(&live.node, readmit::Which::default(), Readmitting::begin(&live.node)).unwrap();
    assert_eq!(live.until_stop(), Stop::Done);
    let ended = live.end();
    let wanted: BTreeSet<String> = within_five().into_iter().filter(|url| !url.ends_with("/6")).collect();
    assert_eq!(ended.found.captured(), wanted);
}

#[test]
fn a_limit_that_is_raised_finds_what_a_crawl_with_that_limit_finds() {
    for (seed, low, high) in [(7, 2, 4), (8, 3, 6), (9, 4, 60)] {
        let sandbox = Sandbox::new(web(seed)).set("crawl.order=depth").set(&format!("crawl.max_depth={low}"));
        let sandbox = sandbox.fetching_again();
        let live = sandbox.start();
        live.until("what lies within the lower limit", |s| s.done > 0 && s.waiting + s.processing == 0);
        let wish =
            SettingsPatch { changes: [("crawl.max_depth".to_owned(), json!(high))].into(), ..SettingsPatch::default() };
        live.block(change(&live.node, wish), "the change").unwrap();
        readmit::start(&live.node, readmit::Which::default(), Readmitting::begin(&live.node)).unwrap();
        assert_eq!(live.until_stop(), Stop::Done);
        live.end().assert_is(&sandbox.web.truth(TruthQuery { depth: Some(high), ..truth_any() }));
    }
}
