//! Endless spaces seen from many URLs of a host: budgets for shapes of URLs, session numbers, runs of duplicates, and hosts
//! made up under one domain.
//!
//! A *shape* is a URL with its numbers and the values of its parameters left out. What is counted is forgotten with the process:
//! a start gives every shape its budget once more. All of it is bounded; what does not fit is not counted, and so passes.

use std::collections::{HashMap, VecDeque};

use smallvec::SmallVec;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::{date, segments};
use crate::domain::fingerprint::{HostKey, KeyMap};
use crate::domain::host::registrable_domain;
use crate::domain::reason::Rejection;
use crate::domain::url::PageUrl;

/// Hosts whose shapes are known at a time; of more, those that came first are forgotten.
const HOSTS: usize = 4_096;
/// Shapes counted of one host.
const SHAPES: usize = 128;
/// Parameters of one host that may be session numbers, and the places each is counted at.
const TOKENS: usize = 8;
const PLACES: usize = 16;
/// A parameter is a session number when so many places have each been found under so many values of it.
const SESSION_PLACES: usize = 3;
const SESSION_VALUES: u32 = 8;
/// The shortest value that may be a session number.
const TOKEN: usize = 16;
/// Domains whose hosts are counted.
const DOMAINS: usize = 20_000;

/// Limits of the shapes; 0 switches one off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShapeRules {
    /// New URLs of one suspicious shape: a calendar, or a path that goes round.
    pub suspect_pages: u32,
    /// New URLs of any one shape.
    pub pages_per_pattern: u32,
    /// Whether session numbers are looked for.
    pub sessions: bool,
    /// Duplicates in a row after which no more of a shape is taken.
    pub max_duplicates: u32,
    /// Hosts of one registrable domain.
    pub hosts_per_domain: u32,
}

/// What has been found, by host.
#[derive(Debug, Default)]
pub struct Shapes {
    hosts: KeyMap<HostKey, OfHost>,
    order: VecDeque<HostKey>,
    domains: HashMap<u64, Vec<HostKey>>,
}

#[derive(Debug, Default)]
struct OfHost {
    shapes: HashMap<u64, Count>,
    tokens: HashMap<u64, HashMap<u64, u32>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    pages: u32,
    duplicates: u32,
}

impl Shapes {
    /// Counts a URL that is found for the first time.
    ///
    /// # Errors
    /// Why it is not wanted; it is not counted then.
    pub fn admit(&mut self, host: HostKey, url: &PageUrl, rules: &ShapeRules) -> Result<(), Rejection> {
        self.admit_host(host, url, rules)?;
        let of_host = self.of_host(host);
        if rules.sessions {
            of_host.admit_tokens(url)?;
        }
        let shape = Shape::of(url);
        let Some(count) = of_host.count(shape.key) else { return Ok(()) };
        let over = |limit: u32| limit > 0 && count.pages >= limit;
        if over(rules.pages_per_pattern) || (shape.suspicious && over(rules.suspect_pages)) {
            return Err(Rejection::PatternBudget);
        }
        if rules.max_duplicates > 0 && count.duplicates >= rules.max_duplicates {
            return Err(Rejection::Duplicates);
        }
        count.pages += 1;
        Ok(())
    }

    /// Takes in whether a page was a duplicate.
    pub fn fetched(&mut self, host: HostKey, url: &PageUrl, duplicate: bool) {
        let key = Shape::of(url).key;
        if let Some(count) = self.hosts.get_mut(&host).and_then(|of_host| of_host.shapes.get_mut(&key)) {
            count.duplicates = if duplicate { count.duplicates.saturating_add(1) } else { 0 };
        }
    }

    /// Hosts known at the moment.
    #[must_use]
    pub fn len(&self) -> usize {
        self.hosts.len()
    }

    /// Whether nothing has been found yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    fn admit_host(&mut self, host: HostKey, url: &PageUrl, rules: &ShapeRules) -> Result<(), Rejection> {
        let most = rules.hosts_per_domain as usize;
        if most == 0 {
            return Ok(());
        }
        let domain = xxh3_64(registrable_domain(url.host()).as_bytes());
        if self.domains.len() >= DOMAINS && !self.domains.contains_key(&domain) {
            self.domains.clear();
        }
        let hosts = self.domains.entry(domain).or_default();
        match hosts.binary_search(&host) {
            Ok(_) => Ok(()),
            Err(_) if hosts.len() >= most => Err(Rejection::DomainBudget),
            Err(at) => {
                hosts.insert(at, host);
                Ok(())
            }
        }
    }

    fn of_host(&mut self, host: HostKey) -> &mut OfHost {
        if !self.hosts.contains_key(&host) {
            if self.order.len() >= HOSTS
                && let Some(first) = self.order.pop_front()
            {
                self.hosts.remove(&first);
            }
            self.order.push_back(host);
        }
        self.hosts.entry(host).or_default()
    }
}

impl OfHost {
    fn count(&mut self, key: u64) -> Option<&mut Count> {
        if self.shapes.len() >= SHAPES && !self.shapes.contains_key(&key) {
            return None;
        }
        Some(self.shapes.entry(key).or_default())
    }

    /// A parameter that is new everywhere, all over the site, is a session number.
    fn admit_tokens(&mut self, url: &PageUrl) -> Result<(), Rejection> {
        let params: SmallVec<[&str; 8]> = url.query().unwrap_or_default().split('&').collect();
        for (at, name) in params.iter().enumerate().filter_map(|(at, part)| {
            let (name, value) = part.split_once('=')?;
            is_token(value).then_some((at, name))
        }) {
            let mut place = Xxh3::new();
            place.update(url.path().as_bytes());
            params
                .iter()
                .enumerate()
                .filter(|(other, _)| *other != at)
                .for_each(|(_, part)| place.update(part.as_bytes()));
            let room = self.tokens.len() < TOKENS;
            let name = xxh3_64(name.as_bytes());
            if !room && !self.tokens.contains_key(&name) {
                continue;
            }
            let places = self.tokens.entry(name).or_default();
            if places.values().filter(|values| **values >= SESSION_VALUES).count() >= SESSION_PLACES {
                return Err(Rejection::Session);
            }
            let room = places.len() < PLACES;
            let place = place.digest();
            if room || places.contains_key(&place) {
                *places.entry(place).or_default() += 1;
            }
        }
        Ok(())
    }
}

/// Letters and digits mixed, long enough to be drawn by lot.
fn is_token(value: &str) -> bool {
    value.len() >= TOKEN
        && value.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        && value.bytes().any(|b| b.is_ascii_digit())
        && value.bytes().any(|b| b.is_ascii_alphabetic())
}

/// A URL with what varies left out.
struct Shape {
    key: u64,
    /// A calendar, or a path that goes round.
    suspicious: bool,
}

impl Shape {
    fn of(url: &PageUrl) -> Self {
        let mut names = segments(url);
        let length = names.len();
        names.sort_unstable();
        names.dedup();
        // Numbers come again in honest paths; words hardly do.
        let round = names.len() < length && letters_come_again(url);
        let mut hash = Xxh3::new();
        if round {
            names.iter().for_each(|segment| fold(segment, &mut hash));
        } else {
            url.path().split('/').for_each(|segment| fold(segment, &mut hash));
        }
        let mut params: SmallVec<[&str; 8]> =
            url.query().unwrap_or_default().split('&').map(|part| part.split('=').next().unwrap_or_default()).collect();
        params.sort_unstable();
        params.iter().for_each(|name| {
            hash.update(b"?");
            hash.update(name.as_bytes());
        });
        Self { key: hash.digest(), suspicious: round || date::is_calendar(url) }
    }
}

fn letters_come_again(url: &PageUrl) -> bool {
    let mut words: SmallVec<[&str; 24]> = segments(url);
    words.retain(|word| word.bytes().any(|b| b.is_ascii_alphabetic()));
    words.sort_unstable();
    words.windows(2).any(|pair| matches!(pair, [a, b] if a == b))
}

/// A segment with each run of digits as one, and an identifier drawn by lot as nothing but that.
fn fold(segment: &str, hash: &mut Xxh3) {
    hash.update(b"/");
    if is_token(segment) && !segment.contains(['-', '_']) {
        return hash.update(b"*");
    }
    let mut in_number = false;
    for byte in segment.bytes() {
        let digit = byte.is_ascii_digit();
        if !(digit && in_number) {
            hash.update(&[if digit { b'0' } else { byte }]);
        }
        in_number = digit;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::url::{Canonicaliser, CleanRules};

    const RULES: ShapeRules =
        ShapeRules { suspect_pages: 5, pages_per_pattern: 20, sessions: true, max_duplicates: 3, hosts_per_domain: 4 };

    fn url(text: &str) -> PageUrl {
        Canonicaliser::new(CleanRules::keep_all()).parse(text).unwrap()
    }

    /// How many of these are taken before the first is turned away, and why that is.
    fn taken(rules: ShapeRules, urls: impl Iterator<Item = String>) -> (usize, Option<Rejection>) {
        let mut shapes = Shapes::default();
        for (n, text) in urls.enumerate() {
            let url = url(&text);
            let host = HostKey(xxh3_64(url.host().as_bytes()).to_be_bytes());
            if let Err(reason) = shapes.admit(host, &url, &rules) {
                return (n, Some(reason));
            }
        }
        (usize::MAX, None)
    }

    fn numbered(pattern: &'static str) -> impl Iterator<Item = String> {
        (0..1_000).map(move |n| pattern.replace("{n}", &n.to_string()).replace("{hex}", &format!("{n:015x}a")))
    }

    #[test]
    fn each_space_without_end_has_a_budget_and_honest_pages_have_none() {
        let off = ShapeRules { pages_per_pattern: 0, ..RULES };
        for (name, urls, rules, wanted) in [
            ("a calendar", "http://a.test/c?year=2026&month=5&x={n}", off, (5, Some(Rejection::PatternBudget))),
            ("a calendar by dates", "http://a.test/c?date=2026-05-01&x={n}", off, (5, Some(Rejection::PatternBudget))),
            ("articles by number", "http://a.test/article/{n}", off, (usize::MAX, None)),
            ("articles, limited", "http://a.test/article/{n}", RULES, (20, Some(Rejection::PatternBudget))),
            ("documents by token", "http://a.test/doc?id={hex}", off, (usize::MAX, None)),
            (
                "identifiers in the path, limited",
                "http://a.test/ps/{hex}/item{n}",
                RULES,
                (20, Some(Rejection::PatternBudget)),
            ),
            ("identifiers in the path", "http://a.test/user/{hex}", off, (usize::MAX, None)),
            ("folders with dates", "http://a.test/2025/05/{n}", off, (usize::MAX, None)),
        ] {
            assert_eq!(taken(rules, numbered(urls)), wanted, "{name}");
        }
    }

    #[test]
    fn paths_that_go_round_share_one_budget() {
        let rounds = ["a/b/a", "a/a/b", "b/a/b", "a/b/b", "b/b/a", "a/b/a/b"];
        let urls = rounds.iter().map(|path| format!("http://a.test/r/{path}/"));
        assert_eq!(taken(RULES, urls), (5, Some(Rejection::PatternBudget)));
        let honest = ["en/products/en", "x/y/x/z", "2024/05/05"];
        let urls = honest.iter().cycle().take(15).enumerate().map(|(n, path)| format!("http://a.test/{path}/{n}x"));
        assert_eq!(taken(ShapeRules { suspect_pages: 10, ..RULES }, urls), (usize::MAX, None));
    }

    #[test]
    fn a_parameter_that_is_new_at_several_places_is_a_session_number() {
        let off = ShapeRules { pages_per_pattern: 0, ..RULES };
        let urls = (0..1_000).map(|n| format!("http://a.test/page/{}?ticket={:015x}f", n % 4, n));
        let (n, reason) = taken(off, urls);
        assert!(reason == Some(Rejection::Session) && n < 40, "{n} {reason:?}");
        let off = ShapeRules { sessions: false, ..off };
        let urls = (0..1_000).map(|n| format!("http://a.test/page/{}?ticket={:015x}f", n % 4, n));
        assert_eq!(taken(off, urls), (usize::MAX, None));
    }

    #[test]
    fn a_shape_that_brings_only_duplicates_is_left() {
        let (mut shapes, host) = (Shapes::default(), HostKey([1; 8]));
        let page = |n: u32| url(&format!("http://a.test/p/{n}"));
        for n in 0..3 {
            assert_eq!(shapes.admit(host, &page(n), &RULES), Ok(()));
            shapes.fetched(host, &page(n), true);
        }
        assert_eq!(shapes.admit(host, &page(4), &RULES), Err(Rejection::Duplicates));
        shapes.fetched(host, &page(2), false);
        assert_eq!(shapes.admit(host, &page(5), &RULES), Ok(()));
        assert_eq!(shapes.admit(host, &url("http://a.test/q/1"), &RULES), Ok(()));
    }

    #[test]
    fn a_domain_gets_so_many_hosts_and_others_get_theirs() {
        let urls = (0..9).map(|n| format!("http://h{}.made.test/", n % 6));
        assert_eq!(taken(RULES, urls), (4, Some(Rejection::DomainBudget)));
        let urls = (0..9).map(|n| format!("http://h.made{n}.org/"));
        assert_eq!(taken(RULES, urls), (usize::MAX, None));
    }

    #[test]
    fn whatever_is_found_the_room_is_bounded() {
        let mut shapes = Shapes::default();
        for n in 0..3 * HOSTS {
            let host = HostKey((n as u64).to_be_bytes());
            let page = url(&format!("http://h{n}.test/a{}?x{n}={n:016x}a", "x".repeat(n % 7)));
            let _ = shapes.admit(host, &page, &RULES);
        }
        assert!(shapes.len() <= HOSTS && shapes.domains.len() <= DOMAINS);
        let (host, mut shapes) = (HostKey([1; 8]), Shapes::default());
        for n in 0..3 * SHAPES {
            let page = url(&format!("http://a.test/{}?t{n}={n:016x}a", "x".repeat(n)));
            let _ = shapes.admit(host, &page, &RULES);
        }
        let of_host = shapes.hosts.get(&host).unwrap();
        assert!(of_host.shapes.len() <= SHAPES && of_host.tokens.len() <= TOKENS);
    }
}
