//! What the web's log and its own history say of a crawl's visits: which found a change, which change none has met, what was fresh.

use std::collections::BTreeMap;

use lycosa::testweb::{AuditEntry, ChangeKind, TestWeb};
use serde_json::Value;

/// A page of the web.
#[derive(Debug, Default)]
pub struct Page {
    /// Its requests that were answered whole, in their order: moment (microseconds since 1970) and status. The moment says which
    /// content was sent.
    pub visits: Vec<(u64, u16)>,
    /// What changed of it, in the order of time.
    pub changes: Vec<(u64, ChangeKind)>,
}

/// All pages that were asked for or changed, by URL.
pub struct Seen(pub BTreeMap<String, Page>);

/// How fresh a crawl was over some time.
#[derive(Debug, PartialEq)]
pub struct Freshness {
    /// Part of the time of all pages, each from its first visit on, that what was seen last is what is there.
    pub fresh: f64,
    /// Mean time since the first change that was not seen, seconds; 0 while there is none.
    pub age: f64,
    /// Visits after the first.
    pub visits: usize,
    /// Of them such that found nothing.
    pub in_vain: usize,
}

impl Seen {
    /// Until now.
    pub fn of(web: &TestWeb) -> Self {
        let mut pages = Self::asked(&web.audit());
        let mut since = 0;
        loop {
            let part = web.changes(since, usize::MAX);
            for change in part.changes {
                pages.0.entry(change.url).or_default().changes.push((change.at_us, change.kind));
            }
            since = part.next_us;
            if !part.more {
                return pages;
            }
        }
    }

    fn asked(entries: &[AuditEntry]) -> Self {
        let mut pages: BTreeMap<String, Page> = BTreeMap::new();
        for entry in entries.iter().filter(|entry| entry.complete && entry.path != "/robots.txt") {
            pages.entry(entry.url()).or_default().visits.push((entry.t_request_us, entry.status));
        }
        pages.values_mut().for_each(|page| page.visits.sort_unstable());
        Self(pages)
    }

    /// Pages that are known, changed until a moment and were not visited since.
    pub fn unmet(&self, until_us: u64) -> Vec<&str> {
        let is_unmet = |page: &Page| {
            let last = page.changes.iter().map(|(at, _)| *at).rfind(|at| *at <= until_us);
            last.is_some_and(|change| page.visits.last().is_some_and(|(visit, _)| *visit < change))
        };
        self.0.iter().filter(|(_, page)| is_unmet(page)).map(|(url, _)| url.as_str()).collect()
    }

    /// Between two moments, microseconds since 1970.
    pub fn freshness(&self, from_us: u64, until_us: u64) -> Freshness {
        let (mut fresh, mut age, mut all, mut visits, mut in_vain) = (0.0, 0.0, 0.0, 0, 0);
        for page in self.0.values() {
            let moments: Vec<u64> = page.visits.iter().map(|(at, _)| *at).filter(|at| *at < until_us).collect();
            for (n, begins) in moments.iter().enumerate() {
                let ends = moments.get(n + 1).copied().unwrap_or(until_us);
                let change = page.first_change(*begins, ends).unwrap_or(u64::MAX);
                if n + 1 < moments.len() && ends >= from_us {
                    visits += 1;
                    in_vain += usize::from(change == u64::MAX);
                }
                let begins = (*begins).max(from_us);
                if begins < ends {
                    let seconds = |us: u64| us as f64 / 1e6;
                    all += seconds(ends - begins);
                    fresh += seconds(change.clamp(begins, ends) - begins);
                    let stale = |until: u64| seconds(until.saturating_sub(change)).powi(2) / 2.0;
                    age += stale(ends) - stale(begins);
                }
            }
        }
        Freshness { fresh: fresh / all, age: age / all, visits, in_vain }
    }
}

impl Page {
    /// The first change after one moment and not after another.
    pub fn first_change(&self, after_us: u64, until_us: u64) -> Option<u64> {
        self.changes.iter().map(|(at, _)| *at).find(|at| *at > after_us && *at <= until_us)
    }

    /// Whether each visit after the first found a change since the one before.
    pub fn found(&self) -> Vec<bool> {
        self.visits.windows(2).map(|two| self.first_change(two[0].0, two[1].0).is_some()).collect()
    }
}

/// What `crawl.jsonl` says each visit of each URL brought, in their order; where it leaves that to the rest of the line, by its status.
pub fn told<'l>(lines: impl IntoIterator<Item = &'l Value>) -> BTreeMap<String, Vec<String>> {
    let mut told: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in lines {
        let gone = matches!(line["status"].as_u64(), Some(404 | 410));
        let visit = line["visit"].as_str().unwrap_or(if gone { "gone" } else { "first" });
        told.entry(line["url"].as_str().unwrap_or_default().to_owned()).or_default().push(visit.to_owned());
    }
    told
}

#[test]
fn freshness_and_age_are_those_of_the_time_between_visits() {
    let page = Page {
        visits: vec![(0, 200), (10_000_000, 200), (20_000_000, 304)],
        changes: vec![
            (4_000_000, ChangeKind::Changed),
            (8_000_000, ChangeKind::Changed),
            (25_000_000, ChangeKind::Gone),
        ],
    };
    assert_eq!(page.found(), [true, false]);
    let seen = Seen(BTreeMap::from([("http://h0.test/".to_owned(), page)]));
    let all = seen.freshness(0, 30_000_000);
    assert_eq!((all.visits, all.in_vain), (2, 1));
    assert!((all.fresh - 19.0 / 30.0).abs() < 1e-9 && (all.age - (18.0 + 12.5) / 30.0).abs() < 1e-9, "{all:?}");
    let later = seen.freshness(6_000_000, 20_000_000);
    assert!((later.fresh - 10.0 / 14.0).abs() < 1e-9 && (later.age - 16.0 / 14.0).abs() < 1e-9, "{later:?}");
    assert_eq!((seen.unmet(24_000_000), seen.unmet(25_000_000)), (vec![], vec!["http://h0.test/"]));
}
