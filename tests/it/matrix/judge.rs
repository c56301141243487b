//! What must hold when a crawl is over, however often it was killed (I1, I3, I8).

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::support::audit_check::{early_after, max_in_flight_per_host};
use lycosa::testweb::AuditEntry;

use super::{CONCURRENCY, HOSTS, Kind};
use crate::sandbox::{Sandbox, is_rules, judge_archive, python};

/// How much later than a kill its requests may be read: the next life asks nothing before its first gap.
const READ_LATE: Duration = Duration::from_millis(100);
/// Statuses after which a URL is asked for again.
const RETRIED: [u16; 2] = [500, 503];

pub fn now_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as u64
}

/// One life of the daemon that did not end by itself.
pub struct Life {
    /// What ended it.
    pub how: String,
    pub killed: bool,
    /// It was to end itself at a fault point, and did.
    pub point: bool,
    pub at_the_point: bool,
    /// When, microseconds since 1970.
    pub end: u64,
    /// Until when its last requests were read. What was sent just before a kill may be read just after it.
    pub read: u64,
    /// Earliest times of hosts as they were on disk at its end, milliseconds since 1970; where that matters.
    pub paces: BTreeMap<String, u64>,
}

impl Life {
    pub fn killed(how: String, end: u64) -> Self {
        let read = end + READ_LATE.as_micros() as u64;
        Self { how, killed: true, point: false, at_the_point: false, end, read, paces: BTreeMap::new() }
    }

    /// It was killed because it did not come to its point.
    pub fn is_beside_its_point(&self) -> bool {
        self.point && !self.at_the_point
    }

    pub fn ended(how: String, end: u64) -> Self {
        Self { killed: false, read: end, ..Self::killed(how, end) }
    }
}

/// One line of the table.
#[derive(Clone, Copy, Default)]
pub struct Sum {
    pub lives: usize,
    pub kills: usize,
    pub urls: usize,
    pub requests: usize,
    /// URLs of the truth that were not fetched, or are not in the index or in `crawl.jsonl`.
    pub lost: usize,
    /// Pages that were asked for again though no answer of theirs asks for it.
    pub again: usize,
    /// Most of them in flight at one kill.
    pub most_again: usize,
    /// On the wire at kills.
    pub on_wire: usize,
    /// Asked for again after their commit.
    pub after_commit: usize,
    pub early: usize,
    /// Retry-After that were received and not committed at a kill.
    pub excepted: usize,
    pub warcs: usize,
}

impl Sum {
    pub const HEAD: &'static str =
        "lives  kills    URLs  requests  lost  on wire  refetched  most  after commit  early  excepted  WARCs";

    pub fn add(&mut self, o: &Self) {
        self.lives += o.lives;
        self.kills += o.kills;
        self.urls += o.urls;
        self.requests += o.requests;
        self.lost += o.lost;
        self.on_wire += o.on_wire;
        self.again += o.again;
        self.most_again = self.most_again.max(o.most_again);
        self.after_commit += o.after_commit;
        self.early += o.early;
        self.excepted += o.excepted;
        self.warcs += o.warcs;
    }

    pub fn row(&self) -> String {
        let Self { lives, kills, urls, requests, lost, on_wire, again, .. } = self;
        let Self { most_again, after_commit, early, excepted, warcs, .. } = self;
        format!(
            "{lives:5}  {kills:5}  {urls:6}  {requests:8}  {lost:4}  {on_wire:7}  {again:9}  {most_again:4}  \
             {after_commit:12}  {early:5}  {excepted:8}  {warcs:5}"
        )
    }
}

/// Judges a whole row of lives.
pub fn judge(kind: &Kind, sandbox: &Sandbox, lives: &[Life]) -> Sum {
    let (truth, audit) = (sandbox.truth(), sandbox.web.audit());
    let kills = lives.iter().filter(|l| l.killed).count();
    let mut sum = Sum { lives: lives.len() + 1, kills, urls: truth.len(), requests: audit.len(), ..Sum::default() };
    refetches(lives, &audit, &mut sum);
    let late = asked_after_their_commit(sandbox, &audit);
    sum.after_commit = late.len();
    assert!(late.is_empty(), "asked for after their commit: {:?}", late.first());
    manners(kind, lives, &audit, &mut sum);
    let fetched: BTreeSet<String> = audit.iter().map(AuditEntry::url).filter(|u| !is_rules(u)).collect();
    assert_same(&fetched, &truth, "asked for");
    files(sandbox, &truth, &mut sum);
    sum
}

/// Counts what was asked for more than once, by the life whose request was in vain.
fn refetches(lives: &[Life], audit: &[AuditEntry], sum: &mut Sum) {
    let life_of = |entry: &AuditEntry| lives.iter().position(|l| entry.t_request_us <= l.read).unwrap_or(lives.len());
    let (mut pages, mut rules) = (vec![0; lives.len() + 1], vec![0; lives.len() + 1]);
    let mut asked: BTreeMap<String, Vec<&AuditEntry>> = BTreeMap::new();
    for entry in audit {
        let life = life_of(entry);
        sum.on_wire += usize::from(lives.get(life).is_some_and(|l| entry.t_end_us >= l.end || !entry.complete));
        asked.entry(entry.url()).or_default().push(entry);
    }
    for (url, mut entries) in asked {
        entries.sort_unstable_by_key(|e| e.t_request_us);
        for pair in entries.windows(2).filter(|pair| !(pair[0].complete && RETRIED.contains(&pair[0].status))) {
            let life = life_of(pair[0]);
            assert!(life < life_of(pair[1]), "{url} was asked for twice in life {}", life + 1);
            (if is_rules(&url) { &mut rules } else { &mut pages })[life] += 1;
        }
    }
    sum.again = pages.iter().sum();
    sum.most_again = pages.iter().copied().max().unwrap_or(0);
    assert!(sum.most_again <= 2 * CONCURRENCY, "more pages lost than can be in flight: {pages:?}");
    assert!(rules.iter().all(|n| *n <= HOSTS as usize), "robots.txt lost that were committed: {rules:?}");
}

/// A URL's line bears the time of its commit: no request may come later, in whatever life.
fn asked_after_their_commit(sandbox: &Sandbox, audit: &[AuditEntry]) -> Vec<String> {
    let lines = sandbox.lines();
    let time = |line: &serde_json::Value| {
        let at: jiff::Timestamp = line["ts"].as_str().unwrap().parse().unwrap();
        (at.as_millisecond() as u64 + 1) * 1_000 // the line's clock rounds down
    };
    let commits: BTreeMap<&str, u64> = lines.iter().map(|l| (l["url"].as_str().unwrap(), time(l))).collect();
    let late = |e: &&AuditEntry| commits.get(e.url().as_str()).is_some_and(|at| e.t_request_us > *at);
    audit.iter().filter(late).map(AuditEntry::url).collect()
}

/// No request before its host's earliest time: the gap or Crawl-delay, and Retry-After unless it was not committed at a kill.
fn manners(kind: &Kind, lives: &[Life], audit: &[AuditEntry], sum: &mut Sum) {
    let excepted = std::cell::Cell::new(0);
    let wanted = |before: &AuditEntry, _: &AuditEntry| {
        if is_rules(&before.path) {
            return kind.gap; // which may have told the Crawl-delay
        }
        let own = kind.crawl_delay.unwrap_or(kind.gap);
        if before.status != 503 || before.path == "/robots.txt" {
            return own;
        }
        let asked = before.t_end_us / 1_000 + kind.retry_after.as_millis() as u64;
        let first = lives.iter().find(|l| before.t_request_us <= l.read).filter(|l| l.killed);
        let committed = |life: &Life| life.paces.get(&before.host).is_some_and(|earliest| *earliest + 5 >= asked);
        match first {
            Some(life) if !committed(life) && before.t_end_us + 1_000_000 > life.end => {
                excepted.set(excepted.get() + 1);
                own
            }
            _ => own.max(kind.retry_after),
        }
    };
    let early = early_after(audit, |before, entry| wanted(before, entry).saturating_sub(Duration::from_millis(1)));
    (sum.early, sum.excepted) = (early.len(), excepted.get());
    assert!(early.is_empty(), "{} requests came early: {:?}", early.len(), &early[..early.len().min(5)]);
    assert!(max_in_flight_per_host(audit).values().all(|n| *n == 1));
}

/// Each URL has one line and one record, each revisit its response, and other people's tools read them all.
fn files(sandbox: &Sandbox, truth: &BTreeSet<String>, sum: &mut Sum) {
    let mut done = BTreeSet::new();
    for line in sandbox.lines() {
        let url = line["url"].as_str().unwrap().to_owned();
        let fetched = line.get("status").is_some();
        assert!(!fetched || truth.contains(&url), "{line}");
        assert!(done.insert((url, fetched)), "a second line: {line}");
    }
    let done: BTreeSet<String> = done.into_iter().filter(|(_, fetched)| *fetched).map(|(url, _)| url).collect();
    assert_same(&done, truth, "in crawl.jsonl");
    sandbox.revisits_have_responses();
    assert_eq!(sandbox.open_files(), [""; 0]);
    // An answer that asked to be asked again is recorded too, so such a URL has several records.
    let again: BTreeSet<String> =
        sandbox.web.audit().iter().filter(|e| RETRIED.contains(&e.status)).map(AuditEntry::url).collect();
    let index = sandbox.index();
    let twice: Vec<_> = index.iter().filter(|(url, n)| **n > 1 && !is_rules(url) && !again.contains(*url)).collect();
    assert!(twice.is_empty(), "recorded twice: {twice:?}");
    assert_same(&index.into_keys().filter(|u| !is_rules(u)).collect(), truth, "in the index");
    if let Some(python) = python() {
        let said = judge_archive(&python, &sandbox.data().join("warc"), None);
        sum.warcs = said.split(' ').next().unwrap().parse().unwrap();
    }
}

fn assert_same(found: &BTreeSet<String>, truth: &BTreeSet<String>, what: &str) {
    let missing: Vec<_> = truth.difference(found).take(5).collect();
    let extra: Vec<_> = found.difference(truth).take(5).collect();
    let (n, of) = (found.len(), truth.len());
    assert!(missing.is_empty() && extra.is_empty(), "{what}: {n} of {of}, missing {missing:?}, too many {extra:?}");
}
