//! Seeds of which more is said than their URL, and the reports.

use std::collections::BTreeSet;

use lycosa::admin::NewSeed;
use lycosa::admin::paging::Paging;
use lycosa::admin::reports::query as reports;
use lycosa::app::NodeControl;

use lycosa::crawl::node::Stop;
use lycosa::testweb::{TestWebConfig, TruthQuery};

use super::web;
use crate::support::{Sandbox, truth_any};

#[test]
fn a_depth_budget_bounds_what_is_found_from_a_seed_and_its_tags_are_in_the_lines() {
    let sandbox = Sandbox::new(TestWebConfig { off_host: 0.0, redirects: 0.1, ..web() }).set("crawl.order=breadth");
    let live = sandbox.start_bare();
    let seed = |url: &str, max_depth, tags: &[&str]| NewSeed {
        url: url.into(),
        rank: Some(3),
        max_depth,
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        ..NewSeed::default()
    };
    let url = sandbox.web.start_url();
    let seeds = vec![seed(&url, Some(1), &["news", "de"]), seed("http://h1.test/", Some(0), &[])];
    let report = live.block(NodeControl::add_seeds(live.node.clone(), seeds), "seeds to be committed").unwrap();
    assert_eq!(report.accepted, 2);
    assert_eq!(live.until_stop(), Stop::Done);
    let lines = reports::seeds(&live.node, &Paging::default()).unwrap().items;
    let states: BTreeSet<_> = lines.iter().map(|l| (l.state.as_str(), l.rank, l.max_depth)).collect();
    assert_eq!(states, BTreeSet::from([("done", Some(3), Some(0)), ("done", Some(3), Some(1))]), "{lines:?}");
    // One page at a time gives the same lines.
    let first = reports::seeds(&live.node, &Paging { limit: Some(1), cursor: None }).unwrap();
    let second = reports::seeds(&live.node, &Paging { limit: Some(1), cursor: first.next }).unwrap();
    assert_eq!([first.items, second.items].concat(), lines);
    let ended = live.end();
    let mut truth = sandbox.web.truth(TruthQuery { depth: Some(1), ..truth_any() });
    truth.insert("http://h1.test/".into());
    ended.assert_is(&truth);
    for line in ended.file("crawl.jsonl").lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        if line["seed"] == url.as_str() {
            assert_eq!(line["tags"], serde_json::json!(["news", "de"]), "{line}");
        } else {
            assert!(line.get("tags").is_none(), "{line}");
        }
    }
}

#[test]
fn a_seed_of_the_configuration_may_say_as_much() {
    let sandbox = Sandbox::new(web());
    let said = r#"{url = "http://h1.test/", rank = 3, max_depth = 0, tags = ["news"]}"#;
    let seeds = format!(r#"crawl.seeds=["http://h2.test/none", {said}]"#);
    let sandbox = sandbox.set(&seeds).set("crawl.max_depth=0");
    let live = sandbox.start_bare();
    let seeds = live.node.crawl.rules.settings.crawl.seeds.clone();
    let report = live.block(NodeControl::add_seeds(live.node.clone(), seeds), "seeds to be committed").unwrap();
    assert_eq!(report.accepted, 2);
    assert_eq!(live.until_stop(), Stop::Done);
    let lines = reports::seeds(&live.node, &Paging::default()).unwrap().items;
    let said: BTreeSet<_> = lines.iter().map(|l| (l.url.as_str(), l.rank, l.max_depth)).collect();
    assert_eq!(said, BTreeSet::from([("http://h1.test/", Some(3), Some(0)), ("http://h2.test/none", None, None)]));
    let lines = live.end().file("crawl.jsonl");
    assert!(lines.lines().any(|l| l.contains("http://h1.test/") && l.contains(r#""tags":["news"]"#)), "{lines}");
}

#[test]
fn the_reports_say_what_was_counted() {
    let sandbox = Sandbox::new(TestWebConfig { errors: 0.1, ..web() }).set("fetch.retries=0");
    let live = sandbox.start();
    assert_eq!(live.until_stop(), Stop::Done);
    let counters = live.node.crawl.counters();
    let hosts = reports::hosts(&live.node, &Paging::default()).unwrap().items;
    assert_eq!(hosts.iter().map(|h| h.done).sum::<u64>(), counters.done);
    assert_eq!(hosts.iter().map(|h| h.errors).sum::<u64>(), counters.error());
    assert_eq!(hosts.len(), 3, "{hosts:?}");
    let captures = |lines: &[u64]| lines.iter().sum::<u64>();
    let statuses: Vec<u64> = reports::statuses(&live.node).iter().map(|s| s.captures).collect();
    let types: Vec<u64> = reports::types(&live.node).iter().map(|t| t.captures).collect();
    assert_eq!((captures(&statuses), captures(&types)), (counters.pages_stored, counters.pages_stored));
    assert!(reports::types(&live.node).iter().any(|t| t.media_type == "text/html"), "{:?}", reports::types(&live.node));
    live.end();
}
