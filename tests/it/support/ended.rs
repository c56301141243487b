//! A node that has ended, and what must hold then.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Read as _;
use std::path::PathBuf;
use std::time::Duration;

use crate::support::audit_check::fetch_counts;
use lycosa::telemetry::StatusSnapshot;
use lycosa::testweb::AuditEntry;
use serde_json::Value;

use super::audit::{Manners, check_manners};
use super::fsck::Found;
use super::log;

/// A node that has ended.
pub struct Ended {
    /// The web's log since its start.
    pub entries: Vec<AuditEntry>,
    pub status: StatusSnapshot,
    pub found: Found,
    pub(super) folder: PathBuf,
    pub(super) gap: Duration,
}

impl Ended {
    pub fn report(&self) -> String {
        format!("status: {:?}\nlog:\n{}", self.status, log::latest())
    }

    /// The URLs asked for, robots.txt apart.
    pub fn asked(&self) -> BTreeSet<String> {
        fetch_counts(&self.entries).into_keys().collect()
    }

    /// URLs asked for more than once.
    pub fn refetched(&self) -> Vec<(String, u32)> {
        fetch_counts(&self.entries).into_iter().filter(|(_, n)| *n > 1).collect()
    }

    /// The crawled set is the truth: asked for, stored, and nothing else.
    pub fn assert_is(&self, truth: &BTreeSet<String>) {
        let difference =
            |a: &BTreeSet<String>, b: &BTreeSet<String>| a.difference(b).take(10).cloned().collect::<Vec<_>>();
        let asked = self.asked();
        let (missing, extra) = (difference(truth, &asked), difference(&asked, truth));
        assert!(
            missing.is_empty() && extra.is_empty(),
            "not asked for: {missing:?}; not wanted: {extra:?}\n{}",
            self.report()
        );
        let stored = self.found.captured();
        let (missing, extra) = (difference(truth, &stored), difference(&stored, truth));
        assert!(
            missing.is_empty() && extra.is_empty(),
            "not stored: {missing:?}; stored: {extra:?}\n{}",
            self.report()
        );
        assert_eq!(self.status.waiting + self.status.processing, 0, "{}", self.report());
    }

    /// No URL was asked for twice.
    pub fn assert_none_twice(&self) {
        let twice = self.refetched();
        assert!(twice.is_empty(), "asked for more than once: {twice:?}\n{}", self.report());
    }

    /// I8: what was committed was not asked for again.
    pub(super) fn assert_nothing_committed_is_fetched_again(&self) {
        let committed: HashMap<&str, u64> = self.found.lines.iter().map(|(at, url)| (url.as_str(), at.0)).collect();
        for entry in &self.entries {
            let late = committed.get(entry.url().as_str()).filter(|at| entry.t_request_us / 1_000 > **at + 1);
            assert!(late.is_none(), "{} was asked for after its commit\n{}", entry.url(), self.report());
        }
    }

    /// I1 with the sandbox's own gap.
    pub fn assert_polite(&self) {
        check_manners(&self.entries, &Manners::gap(self.gap));
    }

    /// Names of the files in a folder below the data folder, sorted.
    pub fn files_of(&self, folder: &str) -> Vec<String> {
        let names = std::fs::read_dir(self.folder.join(folder)).unwrap();
        let mut names: Vec<String> = names.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The file's bytes.
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.folder.join(name)).unwrap()
    }

    /// The file's text.
    pub fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.join(name)).unwrap()
    }

    /// The lines of `crawl.jsonl` of the host `a.test`, by the path of their URL.
    pub fn lines(&self) -> BTreeMap<String, Value> {
        let text = self.file("crawl.jsonl");
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.map(|line| (line["url"].as_str().unwrap().replace("http://a.test", ""), line)).collect()
    }

    /// All records of the archive as text.
    pub fn archive(&self) -> String {
        let mut text = String::new();
        for name in self.files_of("warc").iter().filter(|name| name.ends_with(".gz")) {
            let bytes = self.bytes(&format!("warc/{name}"));
            let mut all = Vec::new();
            flate2::read::MultiGzDecoder::new(&*bytes).read_to_end(&mut all).unwrap();
            text += &String::from_utf8_lossy(&all);
        }
        text
    }
}
