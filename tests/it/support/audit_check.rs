//! What an audit log proves: requests in flight, early requests, how often each URL was asked for.

use std::collections::BTreeMap;
use std::time::Duration;

use lycosa::testweb::AuditEntry;
use lycosa::testweb::robots::REAL_ROBOTS;

/// A request that came too early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The host.
    pub host: String,
    /// URL of the request before.
    pub before: String,
    /// URL of the early one.
    pub early: String,
    /// Time between the end of the answer before and the request; zero when they overlap.
    pub gap: Duration,
    /// What it should have been at least.
    pub wanted: Duration,
}

/// Most requests in flight at one moment, for each host.
pub fn max_in_flight_per_host(entries: &[AuditEntry]) -> BTreeMap<String, usize> {
    let mut edges: BTreeMap<&str, Vec<(u64, i64)>> = BTreeMap::new();
    for entry in entries {
        let host = edges.entry(&entry.host).or_default();
        host.push((entry.t_request_us, 1));
        host.push((entry.t_end_us.max(entry.t_request_us), -1));
    }
    edges.into_iter().map(|(host, edges)| (host.to_owned(), deepest(edges))).collect()
}

/// The deepest overlap; at the same microsecond an end counts before a beginning, except an answer's own.
fn deepest(mut edges: Vec<(u64, i64)>) -> usize {
    edges.sort_unstable();
    let (mut now, mut most) = (0i64, 0i64);
    for (_, step) in edges {
        now += step;
        most = most.max(now);
    }
    // An answer that began and ended in one microsecond has its end sorted first: it was one in flight all the same.
    usize::try_from(most.max(1)).unwrap_or(1)
}

/// Requests that began sooner after the end of the host's previous answer than `min_gap(host)` asks.
///
/// "Previous" is the latest end among all requests of the host that began before.
pub fn early_requests(entries: &[AuditEntry], min_gap: impl Fn(&str) -> Duration) -> Vec<Violation> {
    early_after(entries, |before, _| min_gap(&before.host))
}

/// The same, where what is asked depends on the previous answer and the request.
pub fn early_after(entries: &[AuditEntry], min_gap: impl Fn(&AuditEntry, &AuditEntry) -> Duration) -> Vec<Violation> {
    let mut sorted: Vec<&AuditEntry> = entries.iter().collect();
    sorted.sort_by(|a, b| (&a.host, a.t_request_us, a.t_end_us).cmp(&(&b.host, b.t_request_us, b.t_end_us)));
    let mut violations = Vec::new();
    let mut last: Option<&AuditEntry> = None;
    for entry in sorted {
        match last.filter(|last| last.host == entry.host) {
            Some(before) => {
                violations.extend(early(before, entry, min_gap(before, entry)));
                if entry.t_end_us >= before.t_end_us {
                    last = Some(entry);
                }
            }
            None => last = Some(entry),
        }
    }
    violations
}

fn early(before: &AuditEntry, entry: &AuditEntry, wanted: Duration) -> Option<Violation> {
    let overlap = entry.t_request_us < before.t_end_us;
    let gap = Duration::from_micros(entry.t_request_us.saturating_sub(before.t_end_us));
    (overlap || gap < wanted).then(|| Violation {
        host: entry.host.clone(),
        before: before.url(),
        early: entry.url(),
        gap,
        wanted,
    })
}

/// How often each URL was asked for, `/robots.txt` apart.
pub fn fetch_counts(entries: &[AuditEntry]) -> BTreeMap<String, u32> {
    counted(entries.iter().filter(|entry| !is_robots(entry)).map(AuditEntry::url))
}

/// How often each host was asked for its robots.txt (its redirect target counts as a request of its own).
pub fn robots_counts(entries: &[AuditEntry]) -> BTreeMap<String, u32> {
    counted(entries.iter().filter(|entry| entry.path == "/robots.txt").map(|entry| entry.host.clone()))
}

fn counted(names: impl Iterator<Item = String>) -> BTreeMap<String, u32> {
    names.fold(BTreeMap::new(), |mut counts, name| {
        *counts.entry(name).or_insert(0) += 1;
        counts
    })
}

fn is_robots(entry: &AuditEntry) -> bool {
    entry.path == "/robots.txt" || entry.path == REAL_ROBOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(host: &str, path: &str, t_request_us: u64, t_end_us: u64) -> AuditEntry {
        AuditEntry {
            t_request_us,
            t_end_us,
            host: host.to_owned(),
            path: path.to_owned(),
            user_agent: String::new(),
            status: 200,
            bytes: 1,
            connection: 0,
            complete: true,
        }
    }

    #[test]
    fn requests_one_after_the_other_are_one_in_flight() {
        let entries =
            [entry("a", "/", 0, 10), entry("a", "/1", 10, 20), entry("a", "/2", 20, 20), entry("b", "/", 5, 15)];
        let expected = BTreeMap::from([("a".to_owned(), 1), ("b".to_owned(), 1)]);
        assert_eq!(max_in_flight_per_host(&entries), expected);
    }

    #[test]
    fn overlapping_requests_are_counted_at_their_deepest() {
        let entries =
            [entry("a", "/", 0, 10), entry("a", "/1", 2, 4), entry("a", "/2", 3, 12), entry("a", "/3", 11, 13)];
        assert_eq!(max_in_flight_per_host(&entries)["a"], 3);
    }

    #[test]
    fn a_request_before_its_gap_is_named_with_the_one_before() {
        let entries = [entry("a", "/1", 1_500, 1_600), entry("a", "/", 0, 1_000), entry("b", "/", 1_100, 1_200)];
        assert_eq!(early_requests(&entries, |_| Duration::from_micros(500)), []);
        let found = early_requests(&entries, |host| Duration::from_micros(if host == "a" { 501 } else { 0 }));
        let expected = Violation {
            host: "a".to_owned(),
            before: "http://a/".to_owned(),
            early: "http://a/1".to_owned(),
            gap: Duration::from_micros(500),
            wanted: Duration::from_micros(501),
        };
        assert_eq!(found, [expected]);
    }

    #[test]
    fn what_is_asked_may_depend_on_the_answer_before() {
        let busy = AuditEntry { status: 503, ..entry("a", "/1", 2_000, 2_100) };
        let entries = [entry("a", "/", 0, 1_000), busy, entry("a", "/2", 3_000, 3_100)];
        let asked =
            |before: &AuditEntry, _: &AuditEntry| Duration::from_micros(if before.status == 503 { 1_000 } else { 500 });
        let found = early_after(&entries, asked);
        assert_eq!(found.iter().map(|one| one.early.as_str()).collect::<Vec<_>>(), ["http://a/2"]);
    }

    #[test]
    fn an_overlap_is_early_even_without_a_gap() {
        let entries = [entry("a", "/", 0, 1_000), entry("a", "/1", 500, 600), entry("a", "/2", 900, 1_100)];
        let found = early_requests(&entries, |_| Duration::ZERO);
        let pairs: Vec<_> = found.iter().map(|one| (one.before.as_str(), one.early.as_str())).collect();
        assert_eq!(pairs, [("http://a/", "http://a/1"), ("http://a/", "http://a/2")]);
        assert!(found.iter().all(|one| one.gap.is_zero()));
    }

    #[test]
    fn fetches_are_counted_by_url_and_robots_apart() {
        let entries = [
            entry("a", "/robots.txt", 0, 1),
            entry("a", "/rules/robots-real.txt", 0, 1),
            entry("a", "/", 2, 3),
            entry("a", "/", 4, 5),
            entry("b", "/p/1", 4, 5),
        ];
        let expected = BTreeMap::from([("http://a/".to_owned(), 2), ("http://b/p/1".to_owned(), 1)]);
        assert_eq!(fetch_counts(&entries), expected);
        assert_eq!(robots_counts(&entries), BTreeMap::from([("a".to_owned(), 1)]));
    }
}
