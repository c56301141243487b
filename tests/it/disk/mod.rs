//! Disks that are full, broken or read-only under the real daemon: it says so, loses nothing, goes on by itself (I3).
//!
//! Full disks are real ones (a tmpfs; root is needed to mount it). Faults at each single write come from
//! `tests/tools/badfs.c`, preloaded into the daemon.

pub mod bad;
mod faults;
mod mount;
mod real;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::Duration;

use crate::support::audit_check::{early_requests, max_in_flight_per_host};
use lycosa::storage::values::Format;
use lycosa::storage::{RocksOptions, RocksStorage, read};
use lycosa::telemetry::{State, StatusSnapshot};
use lycosa::testweb::{AuditEntry, TestWebConfig};

use crate::sandbox::{Daemon, Sandbox, is_rules, judge_archive, python, until};
use crate::support::fsck;

const GAP: Duration = Duration::from_millis(20);
/// Bodies above 64 KiB go to temporary files, a WARC is full after a few dozens of pages.
const SETTINGS: &str = "crawl.max_depth = \"none\"\nfetch.concurrency = 8\nfetch.body_memory = 0\npoliteness.min_delay = \"20ms\"\n\
    politeness.delay_factor = 0\ndurability.sync = \"50ms\"\nstore.warc_max_size = \"1MB\"\nstore.memory = \"16MiB\"\n\
    fetch.retry_delays = [\"50ms\"]\nlog.summary = \"0s\"\n";

fn web(pages: u32) -> TestWebConfig {
    TestWebConfig { hosts: 8, pages, min_size: 4_000, max_size: 90_000, duplicates: 0.05, ..TestWebConfig::default() }
}

/// The same without bodies that go to temporary files: then it is the Store that finds no space.
fn small(pages: u32) -> TestWebConfig {
    TestWebConfig { min_size: 8_000, max_size: 40_000, ..web(pages) }
}

/// A daemon and its endpoint.
pub struct Running {
    daemon: Daemon,
    at: SocketAddr,
}

impl Running {
    fn start(sandbox: &mut Sandbox, arguments: &[&str], variables: &[(&str, OsString)]) -> Self {
        let daemon = sandbox.start_with(arguments, variables);
        let address = || daemon.log().split_once("address=http://")?.1.lines().next()?.trim().parse().ok();
        let at = until("the endpoint", address, || daemon.log());
        Self { daemon, at }
    }

    /// Asked more often than the endpoint answers, it is asked again.
    fn get(&self, path: &str) -> String {
        until("an answer", || self.try_get(path), || path.to_owned())
    }

    fn try_get(&self, path: &str) -> Option<String> {
        let mut stream = TcpStream::connect(self.at).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.at).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        if head.starts_with("HTTP/1.1 429") {
            return None;
        }
        assert!(head.starts_with("HTTP/1.1 200"), "{answer}");
        Some(body.to_owned())
    }

    fn status(&self) -> StatusSnapshot {
        let text = self.get("/api/v1/status");
        let status: StatusSnapshot = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
        assert!(status.adds_up(), "I2: {text}");
        status
    }

    fn metric(&self, name: &str) -> f64 {
        let text = self.get("/metrics");
        let line = text.lines().find(|l| l.starts_with(name)).unwrap_or_else(|| panic!("{name} in\n{text}"));
        line.rsplit_once(' ').unwrap().1.parse().unwrap()
    }

    /// Waits until it pauses and says why.
    fn until_paused(&self) -> StatusSnapshot {
        let paused = || Some(self.status()).filter(|s| s.state == State::Paused && !s.idle_reason.is_empty());
        until("the pause", paused, || self.daemon.log())
    }

    /// Waits until it runs and has stored more than `pages`.
    fn until_beyond(&self, pages: u64) {
        let beyond = || Some(self.status()).filter(|s| s.state == State::Running && s.pages_stored > pages);
        until("more pages", beyond, || format!("{:?}\n{}", self.status(), self.daemon.log()));
    }

    /// Waits for its end as done.
    fn finish(mut self) -> String {
        let status = self.daemon.wait();
        assert_eq!(status.code(), Some(0), "{}", self.daemon.log());
        self.daemon.log()
    }
}

/// All that must hold when the crawl is over: nothing lost, nothing recorded twice, no host asked early, database and
/// files agree, other people's tools read every record.
fn assert_whole(sandbox: &Sandbox) {
    let (truth, audit) = (sandbox.truth(), sandbox.web.audit());
    let done: Vec<String> = sandbox.lines().iter().map(|l| l["url"].as_str().unwrap().to_owned()).collect();
    let set: BTreeSet<String> = done.iter().cloned().collect();
    assert_eq!(set.len(), done.len(), "a second line for a URL");
    assert_eq!(set, truth, "in crawl.jsonl");
    assert_eq!(sandbox.open_files(), [""; 0]);
    let index = sandbox.index();
    let twice: Vec<_> = index.iter().filter(|(url, n)| **n > 1 && !is_rules(url)).collect();
    assert!(twice.is_empty(), "recorded twice: {twice:?}");
    assert_eq!(index.into_keys().filter(|u| !is_rules(u)).collect::<BTreeSet<_>>(), truth, "in the index");
    sandbox.revisits_have_responses();
    let early = early_requests(&audit, |_| GAP);
    assert!(early.is_empty(), "{} requests came early: {:?}", early.len(), early.first());
    assert!(max_in_flight_per_host(&audit).values().all(|n| *n == 1));
    let storage = RocksStorage::open(&sandbox.data(), RocksOptions::default()).unwrap();
    let seed = read::meta::<Format>(&storage, ()).unwrap().unwrap().seed;
    fsck(&storage, seed, Some(&sandbox.data()));
    if let Some(python) = python() {
        judge_archive(&python, &sandbox.data().join("warc"), None);
    }
}

/// Pages asked for more than once.
fn asked_again(sandbox: &Sandbox) -> usize {
    let urls: Vec<String> = sandbox.web.audit().iter().map(AuditEntry::url).filter(|u| !is_rules(u)).collect();
    urls.len() - urls.iter().collect::<BTreeSet<_>>().len()
}

fn run(program: &str, arguments: &[&str]) -> bool {
    match Command::new(program).args(arguments).output() {
        Ok(done) if done.status.success() => true,
        done => {
            eprintln!("skipped, or failed later: {program} {arguments:?}: {done:?}");
            false
        }
    }
}
