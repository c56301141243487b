//! A whole node on a web that changes.

use std::collections::BTreeSet;
use std::time::Duration;

use lycosa::testweb::place::Place;
use lycosa::testweb::truth::truth;
use lycosa::testweb::variant::Noise;
use lycosa::testweb::{ChangeKind, TestWeb, TestWebConfig, Validators};
use serde_json::Value;

use super::seen::{Page, Seen, told};
use crate::cockpit::Desk;
use crate::support::{Ended, Live, Sandbox, truth_any};

/// A web whose pages change every few seconds, in English and Chinese.
fn web() -> TestWebConfig {
    TestWebConfig {
        hosts: 4,
        pages: 25,
        links: 6,
        min_size: 3_000,
        max_size: 6_000,
        gbk: 0.2,
        chinese: 0.2,
        changes: Some(Duration::from_secs(3)),
        ..TestWebConfig::default()
    }
}

/// A daemon that visits each page once in one to three seconds.
fn daemon(web: TestWebConfig) -> Sandbox {
    Sandbox::new(web)
        .fetching_again()
        .set("crawl.until_done=false")
        .set("refresh.cycle=adapt")
        .set("refresh.pace=1s")
        .set("refresh.min_interval=1s")
        .set("refresh.max_interval=3s")
}

/// Waits, looking ten times a second.
fn eventually(live: &Live<'_>, what: &str, mut is: impl FnMut() -> bool) {
    let wait = async {
        while !is() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    live.block(wait, what);
}

/// Waits until each page that there was at first has been visited so often.
fn until_visited(live: &Live<'_>, web: &TestWeb, times: usize) {
    let first = truth(web.shape(), &truth_any());
    eventually(live, "visits of all pages", || {
        let seen = Seen::of(web);
        first.iter().all(|url| seen.0.get(url).is_some_and(|page| page.visits.len() >= times))
    });
}

fn lines(ended: &Ended) -> Vec<Value> {
    ended.file("crawl.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn each_change_is_met_and_told_for_what_it_is_and_what_comes_with_hubs_is_crawled() {
    let sandbox = daemon(TestWebConfig { grow: 0.1, validators: Validators::True, changes_spread: 0.7, ..web() });
    let live = sandbox.start();
    let web = &sandbox.web;
    until_visited(&live, web, 5);
    let now = web.shape_now();
    eventually(&live, "all that changed until now", || {
        let seen = Seen::of(web);
        let asked = |url: &String| seen.0.get(url).is_some_and(|page| !page.visits.is_empty());
        seen.unmet(now.at_us).is_empty() && truth(&now, &truth_any()).iter().all(asked)
    });
    let ended = live.close();
    ended.assert_polite();
    let (seen, told) = (Seen::of(web), told(&lines(&ended)));
    println!("{:?}", seen.freshness(now.at_us - 5_000_000, now.at_us));
    let all = web.truth(truth_any());
    let asked = ended.asked();
    let strangers: Vec<&String> = asked.difference(&all).collect();
    assert!(strangers.is_empty(), "{strangers:?}");
    assert!(all.iter().filter(|url| url.contains('-')).count() > 10, "{}", all.len());
    let (mut changes, mut same) = (0, 0);
    for (url, visits) in &told {
        assert_eq!(visits[0], "first", "{url}");
        for (visit, found) in visits[1..].iter().zip(seen.0[url].found()) {
            assert_eq!(visit, if found { "changed" } else { "unchanged" }, "{url}: {visits:?} {:?}", seen.0[url]);
            (changes, same) = (changes + u32::from(found), same + u32::from(!found));
        }
    }
    assert!(changes > 100 && same > 100, "{changes} {same}");
}

#[test]
fn a_server_that_always_says_304_is_asked_for_everything_after_ten_of_them_and_its_changes_are_found() {
    let changes = Some(Duration::from_secs(1));
    let config = TestWebConfig { hosts: 2, pages: 12, validators: Validators::Always304, changes, ..web() };
    let sandbox = daemon(config).set("refresh.max_interval=1s");
    let live = sandbox.start();
    until_visited(&live, &sandbox.web, 13);
    let ended = live.close();
    let (seen, told) = (Seen::of(&sandbox.web), told(&lines(&ended)));
    assert_eq!(told.len(), 24);
    for (url, visits) in &told {
        let page = &seen.0[url];
        let mut whole = page.visits[0].0;
        for (n, ((at, status), visit)) in page.visits.iter().zip(visits).enumerate() {
            assert_eq!(*status, if n % 11 == 0 { 200 } else { 304 }, "{url} {n}: {:?}", page.visits);
            let changed = *status == 200 && page.first_change(whole, *at).is_some();
            let expected = if n == 0 {
                "first"
            } else if changed {
                "changed"
            } else {
                "unchanged"
            };
            assert_eq!(visit, expected, "{url} {n}");
            whole = if *status == 200 { *at } else { whole };
        }
    }
    let found = told.values().filter(|visits| visits[11] == "changed").count();
    assert!(found >= 22, "in eleven seconds nearly every page has changed: {found}");
}

#[test]
fn pages_with_clocks_tokens_and_boxes_and_such_with_ever_new_etags_are_asked_ever_more_seldom_and_those_that_change_are_not()
 {
    let config = TestWebConfig {
        hosts: 3,
        pages: 24,
        noise: 0.5,
        min_size: 8_000,
        max_size: 9_000,
        validators: Validators::NewEtag,
        changes: Some(Duration::from_millis(300)),
        changes_spread: 8.0,
        ..web()
    };
    // Every page weighs as much as can be: what differs is how often it changes.
    let sandbox = daemon(config).set("refresh.max_interval=1s").set("schedule=[{weight=100.0}]");
    let live = sandbox.start();
    let web = &sandbox.web;
    until_visited(&live, web, 16);
    let desk = Desk::of(&live);
    let (status, answer) = desk.send("PATCH", "/api/v1/settings", r#"{"refresh.max_interval": "1h"}"#);
    assert_eq!(status, 200, "{answer}");
    let began = web.shape_now().at_us;
    let since = |page: &Page| page.visits.iter().filter(|(at, _)| *at > began).count();
    let fast = |url: &str| {
        let (host, content) = number(web, url);
        web.shape().mean_gap_us(host, content).is_some_and(|gap| gap < 400_000)
    };
    eventually(&live, "four visits of each that changes", || {
        Seen::of(web).0.iter().filter(|(url, _)| fast(url)).all(|(_, page)| since(page) >= 4)
    });
    drop(desk);
    let ended = live.close();
    let (seen, told) = (Seen::of(web), told(&lines(&ended)));
    let minutes = (web.shape_now().at_us - began).div_ceil(60_000_000) as usize;
    let (mut still, mut late, mut news, mut boxes) = ([0, 0], Vec::new(), 0, 0);
    for (url, page) in &seen.0 {
        let (host, content) = number(web, url);
        if page.changes.is_empty() {
            let noise = web.shape().noise(host, content);
            still[usize::from(noise.is_some())] += 1;
            late.push((url, noise, since(page)));
            let from_the_fifth = told[url].iter().skip(4);
            news += from_the_fifth.clone().filter(|visit| *visit == "changed").count();
            boxes += usize::from(noise == Some(Noise::Box));
            let expected = match noise {
                None => &["unchanged"][..],
                Some(Noise::Clock) => &["numbers"],
                Some(Noise::Token) => &["markup"],
                Some(Noise::Box) => &["little", "unchanged", "changed"],
            };
            assert!(
                from_the_fifth.clone().all(|visit| expected.contains(&visit.as_str())),
                "{url} {noise:?}: {:?}",
                told[url]
            );
        }
    }
    println!("still: {still:?}, boxes {boxes}, called changed {news}; visits of them since: {late:?}");
    assert!(still[0] > 3 && still[1] > 3, "{still:?}");
    // One was planned before, and none comes sooner than after a minute.
    let often: Vec<_> = late.iter().filter(|(_, noise, n)| *noise != Some(Noise::Box) && *n > 2 + minutes).collect();
    assert!(often.is_empty(), "{often:?}");
}

/// Host and page of a URL.
fn number(web: &TestWeb, url: &str) -> (u32, u32) {
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let host = lycosa::testweb::place::host_number(host).unwrap();
    match web.shape().find(host, &format!("/{path}")).map(|node| node.place) {
        Some(Place::Page { number, .. }) => (host, number),
        other => panic!("{url} is {other:?}"),
    }
}

#[test]
fn what_is_gone_is_asked_for_three_times_more_and_what_is_back_by_then_is_told() {
    let changes = Some(Duration::from_millis(500));
    let sandbox = daemon(TestWebConfig { vanish: 0.6, changes, ..web() }).set("refresh.max_interval=1s");
    let live = sandbox.start();
    let web = &sandbox.web;
    let gone = |status: u16| status == 404 || status == 410;
    eventually(&live, "four requests of all that is gone for good", || {
        let seen = Seen::of(web);
        let missing =
            seen.0.values().filter(|page| page.changes.last().is_some_and(|(_, kind)| *kind == ChangeKind::Gone));
        let (mut all, mut n) = (true, 0);
        for page in missing {
            // One that was gone before it was ever there has no capture, and is an error like any other.
            let asked = page.visits.iter().filter(|(_, status)| gone(*status)).count();
            all &= asked == 4 || page.visits.first().is_none_or(|(_, status)| gone(*status));
            n += 1;
        }
        all && n > 5 && web.shape_now().at_us - web.shape().first_us() > 10_000_000
    });
    let ended = live.close();
    let (seen, told) = (Seen::of(web), told(&lines(&ended)));
    let (mut left, mut back) = (0, BTreeSet::new());
    for (url, page) in seen.0.iter().filter(|(_, page)| page.visits.iter().any(|(_, status)| gone(*status))) {
        let first = page.visits.iter().position(|(_, status)| gone(*status)).unwrap();
        if first == 0 {
            continue;
        }
        let row: Vec<u64> =
            page.visits[first..].iter().take_while(|(_, status)| gone(*status)).map(|(at, _)| *at).collect();
        assert!(row.len() <= 4, "{url}: {row:?}");
        // Not earlier than after one, four and sixteen times the least interval, five per cent off.
        for (gap, times) in row.windows(2).map(|two| two[1] - two[0]).zip([1, 4, 16]) {
            assert!(gap >= 940_000 * times, "{url}: {gap} after {times}");
        }
        let visits = &told[url];
        assert!(visits[first..].iter().take(row.len()).all(|visit| visit == "gone"), "{url}: {visits:?}");
        match visits.get(first + row.len()) {
            Some(visit) => {
                assert_eq!(visit, "back", "{url}: {visits:?} {page:?}");
                back.insert(url);
            }
            None => left += usize::from(row.len() == 4),
        }
    }
    assert!(left > 3 && back.len() > 2, "{left} left, {} back", back.len());
}
