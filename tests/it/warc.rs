//! A finished crawl of a rough web, read by other people's tools: warcio and FastWARC (`tests/warc_tools.py`).

use std::collections::{BTreeMap, BTreeSet};

use lycosa::testweb::{AuditEntry, TestWebConfig};
use sha2::{Digest, Sha256};

use crate::sandbox::{Sandbox, canonical, is_rules, judge_archive, plain_get, python};

/// Longer bodies are cut here.
const CAP: usize = 200_000;

const SETTINGS: &str = "politeness.min_delay = \"1ms\"\npoliteness.delay_factor = 0\nfetch.max_body = 200000\n\
    crawl.max_depth = \"none\"\ndurability.sync = \"50ms\"\nstore.warc_max_size = \"1MB\"\nstore.memory = \"32MiB\"\n";

/// What the web sent for a URL, as a line of the manifest.
fn sent(sandbox: &Sandbox, url: &str) -> (serde_json::Value, bool) {
    let (head, body) = plain_get(&sandbox.web, url, "");
    let (coded_head, on_wire) = plain_get(&sandbox.web, url, "Accept-Encoding: gzip\r\n");
    let status: u16 = head.get(9..12).unwrap().parse().unwrap();
    let cut = on_wire.len() > CAP;
    assert!(!cut || !coded_head.contains("Content-Encoding"), "a cut gzip body cannot be compared: {url}");
    let kept = if cut { &body[..CAP] } else { &body[..] };
    let digest: String = Sha256::digest(kept).iter().map(|b| format!("{b:02x}")).collect();
    (serde_json::json!({ "status": status, "body": digest }), cut)
}

#[test]
fn every_record_of_a_crawl_is_read_by_others_as_it_was_sent() {
    let web = TestWebConfig {
        hosts: 8,
        pages: 60,
        large: 0.03,
        large_size: 250_000,
        duplicates: 0.1,
        ..TestWebConfig::rough()
    };
    let mut sandbox = Sandbox::new(web, SETTINGS);
    sandbox.finish();
    let urls: BTreeSet<String> = sandbox.web.audit().iter().map(AuditEntry::url).collect();
    let manifest: BTreeMap<&String, (serde_json::Value, bool)> =
        urls.iter().map(|url| (url, sent(&sandbox, url))).collect();

    one_line_each(&sandbox, &urls);
    assert!(sandbox.revisits_have_responses() > 0, "the web has duplicates");
    let index = sandbox.index();
    assert!(index.keys().eq(urls.iter()), "the index has all that was asked for, and nothing else");
    assert!(index.values().all(|n| *n == 1), "each URL has one record");
    let cut: Vec<&&String> = manifest.iter().filter(|(_, (_, cut))| *cut).map(|(url, _)| url).collect();
    assert!(!cut.is_empty(), "the web has no body that is cut");
    let entries = entries(&sandbox);
    for url in &cut {
        let record = sandbox.record(&entries[**url]);
        assert!(record.contains("\r\nWARC-Truncated: length\r\n"), "{url}: {}", &record[..800.min(record.len())]);
    }

    let Some(python) = python() else { return };
    // Records bear a URL as it was asked for.
    let asked = |url: &str| entries[url]["url"].as_str().unwrap().to_owned();
    let expected: BTreeMap<String, &serde_json::Value> = manifest.iter().map(|(url, (v, _))| (asked(url), v)).collect();
    let path = sandbox.data().join("manifest.json");
    std::fs::write(&path, serde_json::json!(expected).to_string()).unwrap();
    let said = judge_archive(&python, &sandbox.data().join("warc"), Some(&path));
    println!("{} URLs, {} of them cut; {said}", urls.len(), cut.len());
    assert!(said.contains("'revisit'"), "the web has duplicates: {said}");
}

fn entries(sandbox: &Sandbox) -> BTreeMap<String, serde_json::Value> {
    sandbox.entries().into_iter().map(|e| (canonical(e["url"].as_str().unwrap()), e)).collect()
}

/// `crawl.jsonl` has one line for each page, and says what the index says.
fn one_line_each(sandbox: &Sandbox, urls: &BTreeSet<String>) {
    let mut lines = BTreeMap::new();
    for line in sandbox.lines() {
        let url = line["url"].as_str().unwrap().to_owned();
        let first = lines.insert(url, line.clone());
        assert!(first.is_none(), "a second line: {line}\n{first:?}");
    }
    let entries = entries(sandbox);
    for url in urls.iter().filter(|url| !is_rules(url)) {
        let line = lines.get(url).unwrap_or_else(|| panic!("{url} has no line"));
        let entry = entries.get(url).unwrap_or_else(|| panic!("{url} is not in the index"));
        for (field, of_index) in [("warc", "filename"), ("digest", "digest")] {
            assert_eq!(line[field], entry[of_index], "{url}: {field}");
        }
        assert_eq!(line["offset"].to_string(), entry["offset"].as_str().unwrap(), "{url}");
        assert_eq!(line["status"].to_string(), entry["status"].as_str().unwrap(), "{url}");
        assert_eq!(line["reason"] == "revisit", entry["mime"] == "warc/revisit", "{url}");
    }
    let fetched = lines.values().filter(|line| line.get("status").is_some()).count();
    assert_eq!(fetched, urls.iter().filter(|url| !is_rules(url)).count());
}
