//! `/metrics` as other people's tools read it, and what is built on its names: dashboard and alerts.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Stdio};

use lycosa::testweb::TestWebConfig;
use nix::sys::signal::Signal;

use crate::admin::Running;
use crate::sandbox::Sandbox;

/// A text in which metrics are named, such as one under `config/`.
fn shipped(name: &str) -> String {
    std::fs::read_to_string(format!("{}/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// The metrics that a text names.
fn named(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_lowercase() && c != '_');
    let ours = words.filter(|word| word.starts_with("lycosa_") || word.starts_with("process_"));
    ours.map(str::to_owned).collect()
}

/// Every sample's name, by the public parser of that form.
fn samples(form: &str, text: &str) -> BTreeSet<String> {
    let python = std::env::var("LYCOSA_PYTHON").expect("run the tests with `make test`");
    let script = format!("{}/tests/metrics_text.py", env!("CARGO_MANIFEST_DIR"));
    let mut reader =
        Command::new(python).arg(script).arg(form).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    reader.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = reader.wait_with_output().unwrap();
    assert!(output.status.success(), "refused by prometheus_client:\n{text}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// Prometheus's own judgement, where it is installed.
fn promtool(text: &str) {
    let mut command = Command::new("promtool");
    let Ok(mut promtool) = command.args(["check", "metrics"]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn()
    else {
        println!("skipped: promtool is not installed");
        return;
    };
    promtool.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = promtool.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_public_parser_reads_the_metrics_and_every_name_in_dashboard_alerts_and_docs_is_among_them() {
    let web = TestWebConfig { hosts: 5, pages: 30, errors: 0.1, error_status: vec![404], ..TestWebConfig::default() };
    let sink = "[[sink]]\nname = \"files\"\nkind = \"jsonl\"\n";
    let mut sandbox = Sandbox::new(web, &format!("politeness.min_delay = \"10ms\"\nstore.memory = \"32MiB\"\n{sink}"));
    let crawl = Running::start(&mut sandbox, &[]);
    crawl.until_status("pages and errors", |s| s.done > 20 && s.errors > 0);
    let open = "Accept: application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1\r\n";
    let (status, text) = crawl.get_with("/metrics", open);
    assert_eq!(status, 200, "{text}");
    let there = samples("openmetrics", &text);
    let (status, plain) = crawl.get("/metrics");
    assert!(status == 200 && !plain.contains("# EOF") && !plain.contains("# UNIT"), "{plain}");
    assert_eq!(samples("text", &plain), there, "both forms hold the same");
    promtool(&plain);
    for file in ["config/grafana.json", "config/alerts.yml"] {
        let named = named(&shipped(file));
        assert!(named.len() > 15, "{file} names {named:?}");
        let lost: Vec<_> = named.difference(&there).collect();
        assert!(lost.is_empty(), "{file} names what is not there: {lost:?}");
    }
    // The documentation writes families too, without the suffix of their samples.
    let known = |name: &String| there.iter().any(|sample| sample.starts_with(name.as_str()));
    let lost: Vec<_> = named(&shipped("docs/operations.md")).into_iter().filter(|name| !known(name)).collect();
    assert!(lost.is_empty(), "docs/operations.md names what is not there: {lost:?}");
    let value = |start: &str| -> f64 {
        let line = text.lines().find(|l| l.starts_with(start)).unwrap_or_else(|| panic!("{start} in\n{text}"));
        line.rsplit_once(' ').unwrap().1.parse().unwrap()
    };
    assert!(value("lycosa_storage_memory_bytes{part=\"memtables\"}") > 0.0);
    assert!(value("lycosa_politeness_lateness_seconds_sum") < 1e6, "no lateness since 1970");
    crawl.daemon.signal(Signal::SIGTERM);
    crawl.end();
}

#[test]
fn every_alert_leads_to_its_place_in_the_runbook() {
    let (alerts, runbook) = (shipped("config/alerts.yml"), shipped("docs/operations.md"));
    let rules: Vec<&str> = alerts.split("- alert: ").skip(1).collect();
    assert!(rules.len() > 15, "{rules:?}");
    for rule in rules {
        let name = rule.lines().next().unwrap();
        let anchor = name.to_lowercase();
        let url = format!("runbook_url: https://lycosa.example/docs/operations.md#{anchor}\n");
        assert!(rule.contains(&url), "{name} has no runbook_url of its own");
        assert!(runbook.contains(&format!("| `{name}`<a id=\"{anchor}\"></a> |")), "{name} is not in the runbook");
    }
}
