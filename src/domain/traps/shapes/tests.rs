use std::sync::LazyLock;

use super::super::aliases;
use super::super::shape::Shape;
use super::*;
use crate::content::html::{ExtractOptions, Extractor};
use crate::domain::textprint::Shown;
use crate::domain::url::{Canonicaliser, CleanRules};

#[path = "sites.rs"]
mod sites;

const RULES: ShapeRules = ShapeRules {
    pages_per_pattern: 0,
    sessions: true,
    permutations: true,
    pages_without_novelty: 10,
    hosts_per_domain: 4,
};
const HOST: HostKey = HostKey([1; 8]);

fn url(text: &str) -> PageUrl {
    static CANON: LazyLock<Canonicaliser> = LazyLock::new(|| Canonicaliser::new(CleanRules::keep_all()));
    let text = if text.starts_with('/') { format!("http://a.test{text}") } else { text.to_owned() };
    CANON.parse(&text).unwrap()
}

fn shown(at: &PageUrl, body: &str) -> Shown {
    let mut reader = Extractor::new(&at.to_url(), ExtractOptions::default());
    reader.feed(body);
    reader.finish().shown
}

/// How many of these are taken before the first is turned away, and why that is.
fn taken(rules: ShapeRules, urls: impl Iterator<Item = String>) -> (usize, Option<Rejection>) {
    let mut shapes = Shapes::default();
    for (n, text) in urls.enumerate() {
        let url = url(&text);
        let host = HostKey(xxh3_64(url.host().as_bytes()).to_be_bytes());
        if let Err(refusal) = shapes.admit(None, host, &url, &rules) {
            return (n, Some(refusal.reason));
        }
    }
    (usize::MAX, None)
}

#[test]
fn budgets_that_the_user_sets_hold_and_nothing_is_turned_away_at_sight_otherwise() {
    let limited = ShapeRules { pages_per_pattern: 20, ..RULES };
    for (name, urls, rules, wanted) in [
        ("a list of months", "/c?year=2026&month=5&x={n}", RULES, (usize::MAX, None)),
        ("articles by number", "/article/{n}", RULES, (usize::MAX, None)),
        ("articles, limited", "/article/{n}", limited, (20, Some(Rejection::PatternBudget))),
        ("identifiers, limited", "/ps/{hex}/item{n}", limited, (20, Some(Rejection::PatternBudget))),
        ("documents by token", "/doc?id={hex}", RULES, (usize::MAX, None)),
        ("orders of parameters", "/l?{n}=1&a=2", RULES, (usize::MAX, None)),
    ] {
        let urls = (0..1_000).map(|n| urls.replace("{n}", &n.to_string()).replace("{hex}", &format!("{n:015x}a")));
        assert_eq!(taken(rules, urls), wanted, "{name}");
    }
}

/// Pages of a host, each found on the one before, that show what they are told to; until a link is turned away.
struct Chain {
    shapes: Shapes,
    finder: Option<Finder>,
}

impl Chain {
    fn new() -> Self {
        Self { shapes: Shapes::default(), finder: None }
    }

    /// The verdict over a link to this page, which then shows `body`.
    fn go(&mut self, tail: &str, body: &str) -> Result<Turn, Rejection> {
        let page = url(tail);
        let turn = self.shapes.admit(self.finder.as_mut(), HOST, &page, &RULES);
        if let Some(finder) = self.finder.take() {
            self.shapes.count(&finder);
        }
        if let Err(refusal) = turn {
            self.shapes.hold(HOST, &page, refusal);
            return Err(refusal.reason);
        }
        let mut finder = Finder::new(HOST, &page, None);
        self.shapes.read(&mut finder, &shown(&page, body));
        self.finder = Some(finder);
        Ok(turn.unwrap())
    }
}

#[test]
fn what_pages_without_news_find_of_their_shape_comes_last_then_is_held_back_and_news_renew_the_budget() {
    let mut chain = Chain::new();
    let mut go = |n: u32, body: &str| chain.go(&format!("/list/{n}"), body);
    let empty = "<p>Nothing here, 13:20:07";
    let turns: Vec<_> = (0..13).map(|n| go(n, empty)).collect();
    let mut wanted = vec![Ok(Turn::Ordinary); 2];
    wanted.extend([Ok(Turn::Last); 10]);
    wanted.push(Err(Rejection::NoNovelty));
    assert_eq!(turns, wanted);
    let mut chain = Chain::new();
    let mut go = |n: u32, body: &str| chain.go(&format!("/list/{n}"), body);
    for n in 0..200 {
        let body = if n % 9 == 0 { format!("<img src=/i/{n}.jpg>") } else { empty.to_owned() };
        assert!(go(n, &body).is_ok(), "{n}");
    }
}

#[test]
fn what_is_held_back_is_counted_by_shape_and_a_pardon_lasts() {
    let mut chain = Chain::new();
    let turns: Vec<_> = (0..14).map(|n| chain.go(&format!("/list/{n}"), "<p>Nothing")).collect();
    let refused = turns.iter().filter(|turn| turn.is_err()).count() as u64;
    let (held, all) = chain.shapes.held_back(10);
    assert_eq!((held.len(), all > 0, all), (1, true, refused));
    assert_eq!((held[0].host.as_str(), held[0].reason, held[0].urls), ("a.test", Rejection::NoNovelty, refused));
    assert_eq!((chain.shapes.newly_held().len(), chain.shapes.newly_held().len()), (1, 0), "told once");
    let again = |shapes: &Shapes| shapes.judge_again(HOST, &url("/list/99"), Some("http://a.test/list/9"), &RULES);
    assert!(again(&chain.shapes).is_err());
    assert_eq!(
        chain.shapes.judge_again(HOST, &url("/list/99"), Some("http://a.test/"), &RULES),
        Ok(()),
        "from outside"
    );
    chain.shapes.pardon(HOST, &url("/list/12"), &RULES);
    assert_eq!((again(&chain.shapes), chain.shapes.held_back(10)), (Ok(()), (Vec::new(), 0)));
    assert!((20..110).all(|n| chain.go(&format!("/list/{n}"), "<p>Nothing").is_ok()), "ten times as much from then on");
}

/// How many of 1,000 pages, each reached from the one before over a redirect of its own, are asked for until a link is turned away.
fn over_redirects(body: impl Fn(u32) -> String) -> u32 {
    let mut shapes = Shapes::default();
    let mut go = |from: &mut Finder, to: &PageUrl, n: u32| {
        let turn = shapes.admit(Some(from), HOST, to, &ShapeRules::default());
        shapes.count(from);
        let mut finder = Finder::new(HOST, to, None);
        if to.path() == "/goto" {
            finder.is_redirect();
        } else {
            shapes.read(&mut finder, &shown(to, &body(n)));
        }
        *from = finder;
        turn.is_ok()
    };
    let mut finder = Finder::new(HOST, &url("/"), None);
    let both = |n: &u32| [url(&format!("/goto?m={n}")), url(&format!("/cal/{n}"))];
    (0..1_000).take_while(|n| both(n).iter().all(|to| go(&mut finder, to, *n))).count() as u32
}

#[test]
fn a_redirect_shows_nothing_and_leads_on_like_any_page() {
    let empty = over_redirects(|_| "<p>No events".to_owned());
    assert!((100..150).contains(&empty), "{empty}");
    assert_eq!(over_redirects(|n| format!("<img src=/i/{n}.png>")), 1_000, "what it leads to shows something");
}

/// How many pages of five places under ever new numbers are taken, when each shows this.
fn under_aliases(
    rules: ShapeRules,
    path: impl Fn(u32) -> String,
    body: impl Fn(u32) -> u32,
) -> (u32, Option<Rejection>) {
    let mut shapes = Shapes::default();
    for n in 0..1_000 {
        let page = url(&path(n));
        if let Err(refusal) = shapes.admit(None, HOST, &page, &rules) {
            return (n, Some(refusal.reason));
        }
        let mut finder = Finder::new(HOST, &page, None);
        shapes.read(&mut finder, &shown(&page, &format!("<p>Part {}", body(n))));
        shapes.count(&finder);
    }
    (u32::MAX, None)
}

#[test]
fn identifiers_and_the_order_of_parameters_name_nothing_once_pages_have_shown_it() {
    let session_id = |n: u32| format!("/page/{}?ticket={n:015x}f", n % 5);
    let turned = |n: u32| {
        let (a, b, c) = (format!("a={}", n % 5), format!("b={}", n / 5 % 5), "c=3");
        match n / 25 % 6 {
            0 => format!("/l?{a}&{b}&{c}"),
            1 => format!("/l?{b}&{a}&{c}"),
            2 => format!("/l?{b}&{c}&{a}"),
            3 => format!("/l?{c}&{a}&{b}"),
            4 => format!("/l?{c}&{b}&{a}"),
            _ => format!("/l?{a}&{c}&{b}&x={n}"),
        }
    };
    let (n, reason) = under_aliases(RULES, session_id, |n| n % 5);
    assert!(reason == Some(Rejection::Session) && n < 30, "{n} {reason:?}");
    assert_eq!(under_aliases(RULES, session_id, |n| n), (u32::MAX, None), "each is a page of its own");
    assert_eq!(under_aliases(ShapeRules { sessions: false, ..RULES }, session_id, |n| n % 5), (u32::MAX, None));
    let (n, reason) = under_aliases(RULES, turned, |n| n % 25);
    assert!(reason == Some(Rejection::Permuted) && n < 60, "{n} {reason:?}");
    assert_eq!(under_aliases(RULES, turned, |n| n), (u32::MAX, None), "the order means something here");
    assert_eq!(under_aliases(ShapeRules { permutations: false, ..RULES }, turned, |n| n % 25), (u32::MAX, None));
}

#[test]
fn hosts_that_hosts_of_their_domain_lead_to_end_when_they_show_nothing_new() {
    let mut shapes = Shapes::default();
    let key = |n: u32| HostKey(u64::from(n).to_be_bytes());
    let page = |n: u32| url(&format!("http://h{n}.made.test/"));
    let rules = ShapeRules { hosts_per_domain: 0, pages_without_novelty: 50, ..RULES };
    let mut led = |n: u32| {
        let via = page(n);
        let mut finder = Finder::new(key(n), &via, Some(page(n + 1_000).as_str()));
        shapes.read(&mut finder, &shown(&via, "<p>Buy this name"));
        shapes.admit(Some(&mut finder), key(n + 1), &page(n + 1), &rules).map_err(|refusal| refusal.reason)
    };
    let verdicts: Vec<_> = (0..12).map(&mut led).collect();
    assert_eq!(verdicts.iter().position(Result::is_err), Some(10), "{verdicts:?}");
    assert_eq!(verdicts.last(), Some(&Err(Rejection::NoNovelty)));
    let list = url("http://www.made.test/blogs");
    let mut list = Finder::new(HOST, &list, None);
    assert!(shapes.admit(Some(&mut list), key(500), &page(500), &rules).is_ok(), "a list elsewhere leads there");
}

/// What a crawl of the site asks for by default, by kind, and why it was turned away from the rest.
fn crawled(site: &sites::Site<'_>, most: usize, newest: bool) -> (sites::Asked, Vec<Rejection>) {
    let (mut shapes, rules, mut why) = (Shapes::default(), ShapeRules::default(), Vec::new());
    let asked = sites::crawl(site, (most, newest), |page, via, body, links| {
        let page = url(page);
        if body == sites::AGAIN {
            let refused = shapes.judge_again(HOST, &page, via, &rules).err();
            why.extend(refused.map(|refusal| refusal.reason));
            return refused.map_or_else(|| vec![None], |_| Vec::new());
        }
        let mut finder = Finder::new(HOST, &page, via);
        shapes.read(&mut finder, &shown(&page, body));
        let mut admit = |(text, seen): &(String, sites::Seen)| {
            let link = url(text);
            if *seen != sites::Seen::New {
                finder.met(HOST, &link);
                return (*seen == sites::Seen::WaitsLast).then(|| shapes.turn(Some(&finder), HOST, &link, &rules));
            }
            let verdict = shapes.admit(Some(&mut finder), HOST, &link, &rules);
            why.extend(verdict.err().map(|refusal| refusal.reason));
            verdict.ok()
        };
        let turns = links.iter().map(&mut admit).collect();
        shapes.count(&finder);
        turns
    });
    why.sort_unstable();
    why.dedup();
    (asked, why)
}

/// Every site of the table, when what was found last comes first or what was found first does.
fn assert_right(newest: bool) {
    let table = sites::sites(include_str!("../../../../tests/data/traps.txt"));
    let mut wrong = Vec::new();
    for site in &table {
        let (asked, why) = crawled(site, 40_000, newest);
        for (at, kind) in site.kinds.iter().enumerate() {
            let n = asked.get(&at).copied().unwrap_or(0);
            let fine = match (kind.most, kind.pages) {
                (Some(most), _) => (1..=most).contains(&n),
                (None, pages) => Some(n as u64) == pages,
            };
            if !fine {
                let (site, kind, pages, most) = (site.name, kind.name, kind.pages, kind.most);
                wrong.push(format!("{site}, {kind}: {n} of {pages:?}, at most {most:?}; {why:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(table.len() > 60);
}

#[test]
fn no_honest_site_loses_a_page_and_no_subtree_without_end_goes_on() {
    assert_right(false);
}

#[test]
fn nor_when_what_was_found_last_comes_first() {
    assert_right(true);
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
    let mut page = |host: HostKey, page: &PageUrl| {
        let _ = shapes.admit(None, host, page, &RULES);
        let mut finder = Finder::new(host, page, Some("http://made.test/"));
        shapes.read(&mut finder, &shown(page, "<p>x"));
        shapes.count(&finder);
        shapes.hold(host, page, Refusal::of(Rejection::NoNovelty, Shape::of(page).key));
    };
    for n in 0..3 * HOSTS {
        page(
            HostKey((n as u64).to_be_bytes()),
            &url(&format!("http://h{n}.test/a{}?x{n}={n:016x}a", "x".repeat(n % 7))),
        );
    }
    for n in 0..3 * SHAPES {
        page(HOST, &url(&format!("/{}?t{n}={n:016x}a", "x".repeat(n))));
    }
    assert!(shapes.len() <= HOSTS && shapes.domains.len() <= DOMAINS && shapes.shown.len() <= SHOWN);
    let of_host = shapes.hosts.get(&HOST).unwrap();
    assert!(of_host.shapes.values.len() <= SHAPES && of_host.subtrees.values.len() <= SUBTREES);
    let (held, all) = shapes.held_back(usize::MAX);
    assert!(held.len() <= 256 && all == 3 * (HOSTS + SHAPES) as u64);
    assert!(aliases::of(&url("/?a=1"), &Shape::of(&url("/?a=1"))).next().is_none());
}
