//! Names and values as a scrape sees them.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use super::*;
use crate::domain::reason::{Failure, Rejection};
use crate::storage::StorageStats;
use crate::telemetry::{HostsOrdered, StatusSnapshot};

#[test]
fn counts_gauges_and_times_appear_under_the_names_of_the_interface() {
    let m = Metrics::new(UnixMillis(5_000));
    m.rejected(Rejection::Robots, 1);
    m.error(Failure::Tls);
    m.retry(Failure::Reset);
    m.host_blocked("refusals");
    m.webhook(Call::Failed);
    m.listening(3, 9);
    m.storage(&StorageStats { memory: 9, memtables: 4, disk: 77, stalled: true, ..StorageStats::default() });
    m.response(204);
    m.response(999);
    m.restarted(ActorKind::Parser);
    m.restart_asked(ActorKind::Store);
    m.queue(ActorKind::Store, 3);
    m.queue(ActorKind::Store, -1);
    m.permits(7, 1, 2);
    m.memory(100, 30, 4);
    m.disk_free(1, 42);
    m.sink("search", (7, true), [5, 2, 3]);
    m.received(10);
    m.publish(&StatusSnapshot {
        crawl: "default".into(),
        waiting: 9,
        discovered: 7,
        hosts_held: 3,
        hosts_ordered: HostsOrdered { blocked: 5, ..HostsOrdered::default() },
        frontier: vec![6, 0, 0, 0, 0, 0, 0, 2],
        retries: 1,
        visits_planned: 12,
        visits_a_day: 2.6,
        ..StatusSnapshot::default()
    });
    m.phase(Phase::FirstByte, Duration::from_millis(3));
    m.lateness(Duration::from_secs(2));
    m.commit_lag(Duration::ZERO);
    m.handled(ActorKind::Frontier, Duration::from_micros(20));
    let text = m.text();
    let expected = include_str!("../../../tests/data/metrics.txt").lines().skip(1);
    let missing: Vec<_> = expected.filter(|line| !text.lines().any(|found| found == *line)).collect();
    assert!(missing.is_empty(), "{missing:#?} are not in\n{text}");
    assert!(text.contains("lycosa_build_info{version="), "{text}");
    assert!(text.ends_with("# EOF\n"));
    assert_eq!((m.queued(ActorKind::Store), m.restarts(ActorKind::Parser)), (2, 1));
}

#[test]
fn the_process_is_described_from_proc() {
    let text = Metrics::new(UnixMillis(0)).text();
    let value = |name: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).unwrap();
        value.parse::<f64>().unwrap()
    };
    assert!(value("process_resident_memory_bytes") > 1e6);
    assert!(value("process_open_fds") >= 3.0);
    assert!(value("process_threads") >= 1.0);
    assert!(value("process_cpu_seconds_total") >= 0.0);
}

/// A family of the text form: its kind, and the names of its samples.
type Family = (String, Vec<String>);

/// The families of a text of Prometheus (version 0.0.4), read as strictly as `promtool check metrics` does.
fn families(text: &str) -> BTreeMap<String, Family> {
    let (mut found, mut told, mut series) = (BTreeMap::<String, Family>::new(), String::new(), HashSet::new());
    for line in text.strip_suffix('\n').expect("the last line ends").split('\n') {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, help) = help.split_once(' ').unwrap_or_else(|| panic!("no help: {line}"));
            assert!(!help.is_empty() && !found.contains_key(name), "{line}");
            told = name.to_owned();
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').unwrap();
            assert_eq!(name, told, "TYPE stands behind its HELP");
            assert!(["counter", "gauge", "histogram", "summary", "untyped"].contains(&kind), "{line}");
            assert!(found.insert(told.clone(), (kind.to_owned(), Vec::new())).is_none(), "each family once: {line}");
        } else {
            assert!(!line.starts_with('#') && !line.is_empty(), "{line:?}");
            let (name, rest) = line.split_at(line.find(['{', ' ']).unwrap());
            assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'), "{line}");
            let (labels, value) = rest.rsplit_once(' ').unwrap();
            assert!(value == "+Inf" || value.parse::<f64>().is_ok_and(f64::is_finite), "{line}");
            assert!(labels.is_empty() || (labels.starts_with('{') && labels.ends_with("\"}")), "{line}");
            assert!(series.insert((name.to_owned(), labels.to_owned())), "twice: {line}");
            let (kind, samples) = found.get_mut(&told).expect("TYPE stands before samples");
            let suffix = name.strip_prefix(told.as_str()).unwrap_or_else(|| panic!("{line} stands under {told}"));
            let fits = match kind.as_str() {
                "histogram" => ["_bucket", "_sum", "_count"].contains(&suffix),
                _ => suffix.is_empty(),
            };
            assert!(fits, "{line} is no sample of the {kind} {told}");
            samples.push(name.to_owned());
        }
    }
    found
}

#[test]
fn the_text_form_keeps_the_rules_that_promtool_checks() {
    let text = form::Form::Text.write(Metrics::new(UnixMillis(5_000)).text());
    let families = families(&text);
    assert!(families.len() > 50, "{}", families.len());
    let units = ["ms", "us", "ns", "milliseconds", "minutes", "hours", "days", "kb", "mb", "gb", "bits", "percent"];
    let kinds = ["counter", "gauge", "histogram", "summary"];
    for (name, (kind, samples)) in &families {
        assert!(!samples.is_empty(), "{name} has no sample");
        assert_eq!(kind == "counter", name.ends_with("_total"), "{name} is a {kind}");
        assert!(!["_bucket", "_sum", "_count"].iter().any(|suffix| name.ends_with(suffix)), "{name}");
        let word = name.split('_').find(|word| units.contains(word) || kinds.contains(word));
        assert_eq!(word, None, "{name}");
    }
}
