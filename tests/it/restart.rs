//! A node goes on where the one before stopped, however that ended.

use std::collections::BTreeSet;
use std::time::Duration;

use lycosa::crawl::node::Stop;
use lycosa::storage::values::UrlState;
use lycosa::testweb::TestWebConfig;

use crate::sandbox::Sandbox as Alone;
use crate::site::{Site, html, none};
use crate::support::{Ended, Sandbox, truth_any};

fn web() -> TestWebConfig {
    TestWebConfig {
        hosts: 4,
        pages: 25,
        links: 8,
        min_size: 300,
        max_size: 1_500,
        redirects: 0.1,
        duplicates: 0.1,
        latency_ms: 2,
        ..TestWebConfig::default()
    }
}

fn whole(sandbox: &Sandbox) -> Ended {
    let ended = sandbox.crawl();
    ended.assert_is(&sandbox.web.truth(truth_any()));
    ended.assert_polite();
    ended
}

#[test]
fn a_crawl_stopped_in_the_middle_goes_on_and_asks_nothing_twice() {
    let sandbox = Sandbox::new(web()).gap(Duration::from_millis(60));
    for pages in [5, 20] {
        let live = sandbox.start();
        live.until("pages", |s| s.pages_stored >= pages);
        live.close();
    }
    whole(&sandbox).assert_none_twice();
}

#[test]
fn a_finished_crawl_started_again_asks_nothing() {
    let sandbox = Sandbox::new(web());
    whole(&sandbox);
    let asked = sandbox.web.audit_len();
    whole(&sandbox).assert_none_twice();
    assert_eq!(sandbox.web.audit_len(), asked);
}

#[test]
fn a_node_dropped_in_the_middle_costs_what_was_in_flight_and_no_host_is_asked_early() {
    let sandbox = Sandbox::new(web()).gap(Duration::from_millis(60));
    let mut drops = 0;
    for pages in [1, 10, 30] {
        let live = sandbox.start();
        live.until("pages", |s| s.pages_stored >= pages);
        live.drop_at_once();
        drops += 1;
    }
    let ended = whole(&sandbox);
    let again: u32 = ended.refetched().iter().map(|(_, n)| n - 1).sum();
    assert!(again <= drops * 32, "{:?}", ended.refetched());
}

#[test]
fn what_a_kill_leaves_at_any_moment_goes_on() {
    for pages in [0, 1, 7, 20, 50] {
        let sandbox = Sandbox::new(web()).gap(Duration::from_millis(20));
        let live = sandbox.start();
        live.until("pages", |s| s.pages_stored >= pages);
        let fork = sandbox.fork();
        live.drop_at_once();
        let sandbox = sandbox.resume(fork);
        let before = sandbox.web.audit_len();
        let done: BTreeSet<_> = done_of(&sandbox);
        let live = sandbox.start();
        assert_eq!(live.until_stop(), Stop::Done);
        let ended = live.end_after_fork();
        ended.assert_is(&sandbox.web.truth(truth_any()));
        ended.assert_polite();
        for entry in &ended.entries[before..] {
            let url = lycosa::domain::url::Canonicaliser::new(Default::default()).parse(&entry.url()).unwrap();
            let key = ended.found.key(&url);
            assert!(!done.contains(&key.url), "{url} was done at the kill and is asked for again");
        }
    }
}

fn done_of(sandbox: &Sandbox) -> BTreeSet<lycosa::domain::fingerprint::UrlKey> {
    let storage = &**sandbox.memory();
    let all = lycosa::storage::keys::KeyRange::all();
    let seen = lycosa::storage::read::scan::<lycosa::storage::tables::Seen>(storage, &all, usize::MAX).unwrap();
    seen.into_iter().filter(|(_, s)| matches!(s, UrlState::Done { .. })).map(|(k, _)| k.url).collect()
}

#[cfg(feature = "rocksdb")]
mod on_disk {
    use super::*;

    #[test]
    fn a_crawl_on_disk_is_the_truth() {
        let sandbox = Sandbox::new(web()).on_rocks();
        whole(&sandbox).assert_none_twice();
    }

    #[test]
    fn stopped_cleanly_and_dropped_it_goes_on() {
        let sandbox = Sandbox::new(web()).on_rocks().gap(Duration::from_millis(30));
        for (pages, clean) in [(3, true), (12, false), (30, true), (45, false)] {
            let live = sandbox.start();
            live.until("pages", |s| s.pages_stored >= pages);
            if clean {
                live.close()
            } else {
                live.drop_at_once()
            };
        }
        whole(&sandbox);
    }
}

#[test]
fn a_start_that_names_no_seed_has_the_scope_of_those_that_the_crawl_knows() {
    let site = Site::http(|_, path| match path {
        "/" => html("<a href=/a>a</a>"),
        "/a" => html("<a href=/b>b</a><a href=http://other.test/>o</a>"),
        "/b" => html("the end"),
        _ => none(),
    });
    let mut sandbox = Alone::alone(&format!(
        "admin.listen = \"127.0.0.1:0\"\nnet.allow = [\"127.0.0.1/32:{}\"]\ndns.overrides = {{ \"*.test\" = \"{}\" }}\n\
         disk.pause_below = \"1MB\"\ndisk.reserve = 0\npoliteness.min_delay = \"1ms\"\nstore.memory = \"32MiB\"\n",
        site.port(),
        site.address
    ));
    let first = ["--seed", "http://own.test/", "--max-pages", "1", "--until-done"];
    for more in [&first[..], &["--until-done"]] {
        let mut crawl = sandbox.start(more, None);
        assert_eq!(crawl.wait().code(), Some(0), "{}", crawl.log());
    }
    let mut asked = site.asked();
    asked.retain(|asked| !asked.ends_with("/robots.txt"));
    assert_eq!(asked, ["own.test /", "own.test /a", "own.test /b"]);
}
