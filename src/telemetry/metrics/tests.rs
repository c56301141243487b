//! Names and values as a scrape sees them.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use super::*;
use crate::domain::reason::{Failure, Rejection};
use crate::storage::StorageStats;
use crate::telemetry::{HostsOrdered, StatusSnapshot};

fn line<'a>(text: &'a str, begin: &str) -> Option<&'a str> {
    text.lines().find_map(|l| l.strip_prefix(begin)).map(str::trim)
}

#[test]
fn counts_and_gauges_appear_under_the_names_of_the_interface() {
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
    m.received(10);
    m.publish(&StatusSnapshot {
        crawl: "default".into(),
        waiting: 9,
        discovered: 7,
        hosts_held: 3,
        hosts_ordered: HostsOrdered { blocked: 5, ..HostsOrdered::default() },
        frontier: vec![6, 0, 0, 0, 0, 0, 0, 2],
        retries: 1,
        ..StatusSnapshot::default()
    });
    let text = m.text();
    let cases = [
        ("lycosa_rejected_total{reason=\"robots\"}", "1"),
        ("lycosa_rejected_total{reason=\"scope\"}", "0"),
        ("lycosa_errors_total{reason=\"tls\"}", "1"),
        ("lycosa_errors_total{reason=\"reset\"}", "0"),
        ("lycosa_retries_total{reason=\"reset\"}", "1"),
        ("lycosa_hosts_blocked_total{reason=\"refusals\"}", "1"),
        ("lycosa_webhook_calls_total{result=\"failed\"}", "1"),
        ("lycosa_event_listeners", "3"),
        ("lycosa_events_missed_total", "9"),
        ("lycosa_storage_memory_bytes{part=\"block_cache\"}", "5"),
        ("lycosa_storage_memory_bytes{part=\"memtables\"}", "4"),
        ("lycosa_storage_tables_bytes", "77"),
        ("lycosa_storage_stalled", "1"),
        ("lycosa_responses_total{class=\"2xx\"}", "1"),
        ("lycosa_responses_total{class=\"other\"}", "1"),
        ("lycosa_actor_restarts_total{actor=\"parser\"}", "1"),
        ("lycosa_actor_restarts_asked_total{actor=\"store\"}", "1"),
        ("lycosa_actor_restarts_total{actor=\"store\"}", "0"),
        ("lycosa_actor_queue{actor=\"store\"}", "2"),
        ("lycosa_permits{state=\"free\"}", "7"),
        ("lycosa_permits{state=\"withheld\"}", "2"),
        ("lycosa_memory_max_bytes", "100"),
        ("lycosa_memory_part_bytes{part=\"seen_filter\"}", "4"),
        ("lycosa_disk_free_bytes{folder=\"warc\"}", "42"),
        ("lycosa_received_bytes_total", "10"),
        ("lycosa_urls{crawl=\"default\",state=\"waiting\"}", "9"),
        ("lycosa_frontier_urls{rank=\"0\"}", "6"),
        ("lycosa_frontier_urls{rank=\"7\"}", "2"),
        ("lycosa_frontier_retries", "1"),
        ("lycosa_hosts{state=\"held\"}", "3"),
        ("lycosa_hosts_ordered{order=\"blocked\"}", "5"),
        ("lycosa_conservation_difference{crawl=\"default\"}", "-2"),
        ("lycosa_invariant_violations_total{invariant=\"I1\"}", "0"),
        ("process_start_time_seconds", "5.0"),
    ];
    for (name, value) in cases {
        assert_eq!(line(&text, name), Some(value), "{name} in\n{text}");
    }
    assert!(text.contains("lycosa_build_info{version="), "{text}");
    assert!(text.ends_with("# EOF\n"));
    assert_eq!((m.queued(ActorKind::Store), m.restarts(ActorKind::Parser)), (2, 1));
}

#[test]
fn times_are_counted_into_buckets_in_seconds() {
    let m = Metrics::new(UnixMillis(0));
    m.phase(Phase::FirstByte, Duration::from_millis(3));
    m.lateness(Duration::from_secs(2));
    m.commit_lag(Duration::ZERO);
    m.handled(ActorKind::Frontier, Duration::from_micros(20));
    let text = m.text();
    let cases = [
        ("lycosa_fetch_phase_seconds_bucket{le=\"0.002\",phase=\"first_byte\"}", "0"),
        ("lycosa_fetch_phase_seconds_bucket{le=\"0.004\",phase=\"first_byte\"}", "1"),
        ("lycosa_politeness_lateness_seconds_sum", "2.0"),
        ("lycosa_commit_lag_seconds_count", "1"),
        ("lycosa_actor_handle_seconds_count{actor=\"frontier\"}", "1"),
        ("lycosa_actor_handled_total{actor=\"frontier\"}", "1"),
    ];
    for (name, value) in cases {
        assert_eq!(line(&text, name), Some(value), "{name} in\n{text}");
    }
}

#[test]
fn the_process_is_described_from_proc() {
    let text = Metrics::new(UnixMillis(0)).text();
    let value = |name: &str| line(&text, name).unwrap().parse::<f64>().unwrap();
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
