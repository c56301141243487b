//! Tests of the scope.

use proptest::prelude::*;

use super::*;
use crate::domain::cases::rows;
use crate::domain::reason::Rejection;
use crate::domain::url::{Canonicaliser, PageUrl};

fn url(text: &str) -> PageUrl {
    Canonicaliser::default().parse(text).unwrap()
}

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

fn scope(rules: ScopeRules) -> Scope {
    to_depth(None, rules)
}

fn to_depth(max_depth: Option<u16>, rules: ScopeRules) -> Scope {
    Scope::new(&rules, false, max_depth, &[url("http://www.example.org/start")]).unwrap()
}

fn in_mode(mode: ScopeMode) -> Scope {
    scope(ScopeRules { mode, ..ScopeRules::default() })
}

fn below(prefixes: Vec<String>) -> ScopeRules {
    ScopeRules { mode: ScopeMode::Prefixes, prefixes, ..ScopeRules::default() }
}

/// The verdict at depth 1, by name.
fn judged(scope: &Scope, text: &str) -> &'static str {
    scope.judge(&url(text), 1).map_or_else(|rejection| rejection.as_str(), |()| "in")
}

#[test]
fn every_row_of_the_table_is_judged_as_it_says() {
    let seeds = ["http://www.example.org/", "http://www.example.co.uk/", "http://me.github.io/", "http://10.0.0.1/"];
    let seeds: Vec<PageUrl> = seeds.into_iter().chain(["http://localhost/"]).map(url).collect();
    let mut judged_urls = 0;
    for row in rows(include_str!("../../../tests/data/scope.txt"), 3) {
        let [rules, verdict, urls] = row.cells[..] else { unreachable!() };
        let scope = Scope::new(&toml::from_str(&rules.replace("; ", "\n")).unwrap(), false, None, &seeds).unwrap();
        for text in urls.split(' ') {
            assert_eq!(judged(&scope, text), verdict, "line {}: {rules} and {text}", row.line);
            judged_urls += 1;
        }
    }
    assert!(judged_urls > 90, "{judged_urls}");
}

#[test]
fn the_depth_limit_lets_pages_at_the_limit_in() {
    let judge = |max, depth| to_depth(max, ScopeRules::default()).judge(&url("http://example.org/"), depth);
    assert_eq!((judge(Some(2), 2), judge(Some(2), 3)), (Ok(()), Err(Rejection::TooDeep)));
    assert_eq!(judge(None, u16::MAX), Ok(()));
}

#[test]
fn images_and_the_like_are_left_out_unless_assets_are_wanted() {
    for (assets, image) in [(false, "extension"), (true, "in")] {
        let scope = Scope::new(&ScopeRules::default(), assets, None, &[url("http://example.org/")]).unwrap();
        let judged = ["/a.zip", "/a.png"].map(|path| judged(&scope, &format!("http://example.org{path}")));
        assert_eq!(judged, ["extension", image]);
    }
}

#[test]
fn a_host_that_joins_is_in_scope_and_listed() {
    let mut hosts = in_mode(ScopeMode::Hosts);
    assert!(hosts.join_host("www.moved.example"));
    assert!(!hosts.join_host("moved.example"), "known already");
    assert!(!hosts.join_host("example.org"), "a seed's host is there already");
    assert_eq!(judged(&hosts, "https://moved.example/"), "in");
    assert_eq!(hosts.joined().collect::<Vec<_>>(), ["moved.example"]);

    let mut domains = in_mode(ScopeMode::Domains);
    assert!(domains.join_host("a.moved.example"));
    assert_eq!(judged(&domains, "http://b.moved.example/"), "in");
    assert!(!domains.join_host("b.moved.example"), "its domain is there already");
    assert_eq!(domains.joined().collect::<Vec<_>>(), ["a.moved.example", "b.moved.example"]);

    let mut prefixes = scope(below(strings(&["http://example.org/"])));
    assert!(!prefixes.join_host("moved.example"));
    assert_eq!(judged(&prefixes, "http://moved.example/"), "scope");
}

#[test]
fn a_host_that_joins_in_any_mode_is_in_the_scope_of_every_later_one() {
    for first in [ScopeMode::Hosts, ScopeMode::Domains, ScopeMode::Any, ScopeMode::Prefixes] {
        let mut before = scope(ScopeRules { mode: first, ..below(strings(&["http://example.org/"])) });
        before.join_host("www.a.moved.example");
        before.join_host("www.example.org");
        assert_eq!(before.joined().collect::<Vec<_>>(), ["a.moved.example"], "{first:?}");
        for then in [ScopeMode::Hosts, ScopeMode::Domains] {
            let mut after = in_mode(then);
            after.join_all(&before);
            let sibling = if then == ScopeMode::Hosts { "scope" } else { "in" };
            assert_eq!(judged(&after, "http://a.moved.example/"), "in", "{first:?}, then {then:?}");
            assert_eq!(judged(&after, "http://b.moved.example/"), sibling, "{first:?}, then {then:?}");
        }
    }
}

#[test]
fn a_host_that_joined_is_to_be_kept_until_it_is_whatever_scope_takes_it_over() {
    let mut scope = in_mode(ScopeMode::Hosts);
    scope.join_host("a.example");
    scope.join_host("b.example");
    scope.kept(["a.example"]);
    let unkept = |scope: &Scope| scope.unkept().iter().cloned().collect::<Vec<_>>();
    assert_eq!(unkept(&scope), ["b.example"]);
    let mut draft = in_mode(ScopeMode::Any);
    draft.join_all(&scope);
    assert_eq!(unkept(&draft), ["b.example"]);
    scope.kept(["b.example"]);
    scope.join_host("c.example");
    draft.join_all(&scope); // in force only now
    assert_eq!(unkept(&draft), ["c.example"]);
    assert_eq!(draft.joined().collect::<Vec<_>>(), ["a.example", "b.example", "c.example"]);
}

#[test]
fn the_rule_that_decided_is_named() {
    let (exclude, deny_hosts) = (strings(&["never", "/private/"]), strings(&["bad.example"]));
    let scope = to_depth(Some(3), ScopeRules { exclude, deny_hosts, ..ScopeRules::default() });
    let rule = |text: &str, depth| scope.explain(&url(text), depth).1;
    for (text, depth, named) in [
        ("http://www.example.org/", 0, "example.org is a host of the scope"),
        ("http://other.example/", 0, "other.example is no host of the scope"),
        ("http://bad.example/", 0, "deny_hosts names bad.example"),
        ("http://example.org/private/a", 0, "exclude pattern /private/ matches"),
        ("http://example.org/a.png", 0, "skip_extensions names png"),
        ("http://example.org/", 4, "depth 4 is more than max_depth 3"),
    ] {
        assert_eq!(rule(text, depth), named);
    }
}

#[test]
fn a_rule_that_cannot_be_used_is_named() {
    let fault = |rules: ScopeRules| Scope::new(&rules, false, None, &[]).unwrap_err().to_string();
    let text = fault(ScopeRules { exclude: strings(&["fine", "(open"]), ..ScopeRules::default() });
    assert!(text.starts_with("scope.exclude: `(open` is not a regular expression: "), "{text}");
    assert_eq!(text.lines().count(), 1);
    let text = fault(ScopeRules { include: strings(&[r"\w{1000}{1000}"]), ..ScopeRules::default() });
    assert!(text.starts_with(r"scope.include: `\w{1000}{1000}`"), "{text}");
    let text = fault(below(strings(&["http://"])));
    assert!(text.starts_with("scope.mode: `http://` is no prefix"), "{text}");
    let text = fault(below(vec![]));
    assert!(text.contains("at least one prefix"), "{text}");
    let text = fault(ScopeRules { deny_hosts: strings(&["http://a.org/"]), ..ScopeRules::default() });
    assert!(text.starts_with("scope.deny_hosts: `http://a.org/` is no host"), "{text}");
}

proptest! {
    #[test]
    fn a_set_of_prefixes_finds_what_trying_each_finds(
        texts in proptest::collection::vec("http://[ab]{1,2}\\.org(/[ab]{0,2})?", 1..8),
        page in "http://([ab]\\.)?[ab]{1,2}\\.org/[ab]{0,3}",
    ) {
        let page = url(&page);
        let verdict = |texts: Vec<String>| scope(below(texts)).judge(&page, 0).is_ok();
        let any = texts.iter().any(|text| verdict(vec![text.clone()]));
        prop_assert_eq!(verdict(texts), any);
    }
}
