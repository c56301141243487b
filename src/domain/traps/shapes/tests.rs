use super::super::{PageRuns, Shown};
use super::*;
use crate::domain::url::{Canonicaliser, CleanRules};

#[path = "sites.rs"]
mod sites;

const RULES: ShapeRules = ShapeRules {
    suspect_pages: 5,
    pages_per_pattern: 20,
    sessions: true,
    permutations: true,
    max_duplicates: 3,
    barren_pages: 10,
    self_fed_pages: 0,
    hosts_per_domain: 4,
};
const HOST: HostKey = HostKey([1; 8]);

fn url(text: &str) -> PageUrl {
    Canonicaliser::new(CleanRules::keep_all()).parse(text).unwrap()
}

/// How many of these are taken before the first is turned away, and why that is.
fn taken(rules: ShapeRules, urls: impl Iterator<Item = String>) -> (usize, Option<Rejection>) {
    let mut shapes = Shapes::default();
    for (n, text) in urls.enumerate() {
        let url = url(&text);
        let host = HostKey(xxh3_64(url.host().as_bytes()).to_be_bytes());
        if let Err(reason) = shapes.admit(None, host, &url, &rules) {
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
        ("a list of months", "http://a.test/c?year=2026&month=5&x={n}", off, (usize::MAX, None)),
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

fn same() -> Shown {
    vec![Run { whole: 1, told: 1, words: 1 }]
}

/// What becomes of a link to each URL found on a page that shows the same as the one before.
fn after_empty_pages(urls: &[&str]) -> Vec<Result<(), Rejection>> {
    let mut shapes = Shapes::default();
    let rules = ShapeRules { suspect_pages: 5, pages_per_pattern: 0, max_duplicates: 0, ..RULES };
    let verdict = |text: &&str| {
        let page = url(&format!("http://a.test{text}"));
        let verdict = shapes.admit(None, HOST, &page, &rules);
        shapes.fetched(&Finder::new(HOST, &page, None), false, Some(&same()));
        verdict
    };
    urls.iter().map(verdict).collect()
}

#[test]
fn suspicious_shapes_have_a_budget_once_they_bring_nothing_new() {
    let rounds = ["/r/a/b/a", "/r/a/a/b", "/r/b/a/b", "/r/a/b/b", "/r/b/b/a", "/r/a/b/a/b"].repeat(2);
    let calendar = ["/c?year=2026&month=5"; 12];
    let dates = ["/c?date=2026-05-01"; 12];
    for trap in [&rounds[..], &calendar, &dates] {
        let verdicts = after_empty_pages(trap);
        assert_eq!(verdicts.iter().filter(|v| **v == Err(Rejection::PatternBudget)).count(), 3, "{verdicts:?}");
    }
    let honest = ["/en/products/en", "/x/y/x/z", "/2024/05/05"].repeat(2);
    assert!(after_empty_pages(&honest).iter().all(Result::is_ok));
    assert!(after_empty_pages(&["/article/1"; 50]).iter().all(Result::is_ok));
}

/// How many of so many pages are taken, of five places under ever new numbers, when each shows this.
fn under_sessions(rules: ShapeRules, shown: impl Fn(u32) -> u32) -> (usize, Option<Rejection>) {
    let mut shapes = Shapes::default();
    for n in 0..1_000 {
        let page = url(&format!("http://a.test/page/{}?ticket={n:015x}f", n % 5));
        if let Err(reason) = shapes.admit(None, HOST, &page, &rules) {
            return (n as usize, Some(reason));
        }
        let text = xxh3_64(&shown(n).to_le_bytes()) as u32;
        let shown = vec![Run { whole: text, told: text, words: text }];
        shapes.fetched(&Finder::new(HOST, &page, None), false, Some(&shown));
    }
    (usize::MAX, None)
}

#[test]
fn a_parameter_is_a_session_number_when_its_pages_come_again() {
    let off = ShapeRules { pages_per_pattern: 0, max_duplicates: 0, ..RULES };
    let (n, reason) = under_sessions(off, |n| n % 5);
    assert!(reason == Some(Rejection::Session) && n < 20, "{n} {reason:?}");
    assert_eq!(under_sessions(ShapeRules { sessions: false, ..off }, |n| n % 5), (usize::MAX, None));
    assert_eq!(under_sessions(off, |n| n), (usize::MAX, None), "each is a page of its own");
}

#[test]
fn a_shape_that_brings_only_duplicates_is_left() {
    let mut shapes = Shapes::default();
    let page = |n: u32| url(&format!("http://a.test/p/{n}"));
    let finder = |n: u32| Finder::new(HOST, &page(n), None);
    for n in 0..3 {
        assert_eq!(shapes.admit(None, HOST, &page(n), &RULES), Ok(()));
        shapes.fetched(&finder(n), true, None);
    }
    assert_eq!(shapes.admit(None, HOST, &page(4), &RULES), Err(Rejection::Duplicates));
    shapes.fetched(&finder(2), false, None);
    assert_eq!(shapes.admit(None, HOST, &page(5), &RULES), Ok(()));
    assert_eq!(shapes.admit(None, HOST, &url("http://a.test/q/1"), &RULES), Ok(()));
    for n in 0..4 {
        shapes.fetched(&finder(n), false, Some(&same()));
    }
    assert_eq!(shapes.admit(None, HOST, &page(6), &RULES), Err(Rejection::Duplicates), "to the eye");
}

#[test]
fn parameters_in_another_order_are_turned_away() {
    let urls = ["/l?a=1&b=2", "/l?a=1&b=3", "/l?b=2&a=1"].map(|tail| format!("http://a.test{tail}"));
    assert_eq!(taken(RULES, urls.clone().into_iter()), (2, Some(Rejection::Permuted)));
    let off = ShapeRules { permutations: false, ..RULES };
    assert_eq!(taken(off, urls.into_iter()), (usize::MAX, None));
}

#[test]
fn hosts_that_hosts_of_their_domain_lead_to_end_when_they_show_nothing_new() {
    let mut shapes = Shapes::default();
    let key = |n: u32| HostKey(u64::from(n).to_be_bytes());
    let page = |n: u32| url(&format!("http://h{n}.made.test/"));
    let rules = ShapeRules { hosts_per_domain: 0, ..RULES };
    let mut led = |n: u32, shown: &[Run]| {
        let via = page(n);
        let mut finder = Finder::new(key(n), &via, Some(page(n + 1_000).as_str()));
        shapes.fetched(&finder, false, Some(shown));
        shapes.admit(Some(&mut finder), key(n + 1), &page(n + 1), &rules)
    };
    let verdicts: Vec<_> = (0..12).map(|n| led(n, &same())).collect();
    assert_eq!(verdicts.iter().position(Result::is_err), Some(11), "{verdicts:?}");
    assert_eq!(verdicts.last(), Some(&Err(Rejection::Barren)));
    let list = url("http://www.made.test/blogs");
    let mut list = Finder::new(HOST, &list, None);
    assert_eq!(shapes.admit(Some(&mut list), key(500), &page(500), &rules), Ok(()), "a list elsewhere leads there");
}

/// What a crawl of the site asks for by default, by kind, and why it was turned away from the rest.
fn crawled(site: &sites::Site<'_>, most: usize) -> (sites::Asked, Vec<Rejection>) {
    let (mut shapes, rules, mut why) = (Shapes::default(), ShapeRules::default(), Vec::new());
    let asked = sites::crawl(site, most, |page, via, body, links| {
        let page = url(page);
        let mut finder = Finder::new(HOST, &page, via);
        let mut admit = |(text, new): &(String, bool)| {
            let link = url(text);
            if !*new {
                finder.met(HOST, &link);
                return false;
            }
            let verdict = shapes.admit(Some(&mut finder), HOST, &link, &rules);
            why.extend(verdict.err());
            verdict.is_ok()
        };
        let taken = links.iter().map(&mut admit).collect();
        let mut runs = PageRuns::new(&page);
        runs.push(body.as_bytes());
        shapes.fetched(&finder, false, runs.finish().as_deref());
        taken
    });
    why.sort_unstable();
    why.dedup();
    (asked, why)
}

#[test]
fn no_honest_site_loses_a_page_and_no_space_without_end_goes_on() {
    let table = sites::sites(include_str!("../../../../tests/data/traps.txt"));
    let mut wrong = Vec::new();
    for site in &table {
        let (asked, why) = crawled(site, 40_000);
        for (at, kind) in site.kinds.iter().enumerate() {
            let n = asked.get(&at).copied().unwrap_or(0);
            let fine = match (kind.most, kind.pages) {
                (Some(most), _) => (1..=most).contains(&n),
                (None, pages) => Some(n as u64) == pages,
            };
            if !fine {
                wrong.push(format!(
                    "{}, {}: {n} of {:?}, at most {:?}; {why:?}",
                    site.name, kind.name, kind.pages, kind.most
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(table.len() > 20);
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
        let _ = shapes.admit(None, host, &page, &RULES);
        shapes.fetched(&Finder::new(host, &page, Some("http://made.test/")), false, Some(&Shown::default()));
    }
    assert!(shapes.len() <= HOSTS && shapes.domains.len() <= DOMAINS && shapes.shown.len() <= SHOWN);
    let (host, mut shapes) = (HostKey([1; 8]), Shapes::default());
    for n in 0..3 * SHAPES {
        let page = url(&format!("http://a.test/{}?t{n}={n:016x}a", "x".repeat(n)));
        let _ = shapes.admit(None, host, &page, &RULES);
        shapes.fetched(&Finder::new(host, &page, Some("http://made.test/")), false, Some(&Shown::default()));
    }
    let of_host = shapes.hosts.get(&host).unwrap();
    assert!(of_host.shapes.len() <= SHAPES && of_host.spaces.len() <= SPACES);
}
