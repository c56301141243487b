//! Tests of the scope.

use proptest::prelude::*;

use super::*;
use crate::domain::reason::Rejection;
use crate::domain::url::{Canonicaliser, PageUrl};

fn url(text: &str) -> PageUrl {
    Canonicaliser::default().parse(text).unwrap()
}

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

fn scope(rules: ScopeRules) -> Scope {
    Scope::new(rules, &[url("http://www.example.org/start")]).unwrap()
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
fn mode_hosts_ignores_scheme_port_and_www() {
    let scope = in_mode(ScopeMode::Hosts);
    for wanted in
        ["http://www.example.org/", "https://example.org/a", "http://example.org:8080/", "https://www.example.org:1/"]
    {
        assert_eq!(judged(&scope, wanted), "in", "{wanted}");
    }
    for other in
        ["http://blog.example.org/", "http://example.com/", "http://wwwexample.org/", "http://example.org.evil.net/"]
    {
        assert_eq!(judged(&scope, other), "scope", "{other}");
    }
}

#[test]
fn mode_domains_takes_every_host_below_the_registrable_domain() {
    let rules = ScopeRules { mode: ScopeMode::Domains, ..ScopeRules::default() };
    let seeds = [
        url("http://www.example.co.uk/"),
        url("http://me.github.io/"),
        url("http://10.0.0.1/"),
        url("http://localhost/"),
    ];
    let scope = Scope::new(rules, &seeds).unwrap();
    for wanted in [
        "http://a.b.example.co.uk/",
        "http://example.co.uk/",
        "http://x.me.github.io/",
        "http://10.0.0.1/",
        "http://localhost/",
    ] {
        assert_eq!(judged(&scope, wanted), "in", "{wanted}");
    }
    for other in ["http://other.co.uk/", "http://you.github.io/", "http://10.0.0.2/", "http://b.localhost.org/"] {
        assert_eq!(judged(&scope, other), "scope", "{other}");
    }
}

#[test]
fn mode_any_takes_every_host() {
    assert_eq!(judged(&in_mode(ScopeMode::Any), "http://anything.example/"), "in");
}

#[test]
fn prefixes_are_urls_or_surts() {
    let cases: &[(&str, &[&str], &[&str])] = &[
        (
            "http://example.org/docs/",
            &["https://example.org/docs/a", "http://www.example.org:81/docs/", "http://example.org/docs/a?b"],
            &[
                "http://example.org/docs",
                "http://example.org/",
                "http://a.example.org/docs/",
                "http://example.orga/docs/",
            ],
        ),
        (
            "http://www.example.org/docs/",
            &["http://example.org/docs/a", "http://www.example.org/docs/"],
            &["http://b.example.org/docs/"],
        ),
        (
            "http://example.org",
            &["http://example.org/", "http://a.b.example.org/c"],
            &["http://example.com/", "http://notexample.org/", "http://example.organic.net/"],
        ),
        ("http://example.org/", &["http://example.org/x", "http://www.example.org/"], &["http://a.example.org/"]),
        ("example.org/docs/", &["http://example.org/docs/a"], &["http://example.org/"]),
        (
            "http://(org,example,",
            &["http://example.org/", "http://a.example.org/"],
            &["http://example.com/", "http://examples.org/"],
        ),
        ("http://(org,example,)/", &["http://example.org/a", "http://www.example.org/a"], &["http://a.example.org/"]),
        ("https://(org,example,a:8080)/b", &["http://a.example.org/b"], &["http://a.example.org/a"]),
        ("http://(org,example,a,:8080)/b", &["http://a.example.org/b"], &["http://a.example.org/a"]),
        ("http://example.org/%7euser/a%2fb", &["http://example.org/~user/a%2Fb"], &["http://example.org/~user/a/b"]),
        ("org,example,a,)/b", &["http://a.example.org/bc"], &["http://a.example.org/a"]),
        (
            "http://10.0.0.1",
            &["http://10.0.0.1/", "https://10.0.0.1:8443/a"],
            &["http://10.0.0.10/", "http://10.0.0.2/"],
        ),
        ("http://[::1]/a", &["http://[::1]/a/b"], &["http://[::1]/b", "http://[::2]/a"]),
        ("http://例子.测试/中/", &["http://xn--fsqu00a.xn--0zwm56d/%E4%B8%AD/a"], &["http://xn--fsqu00a.xn--0zwm56d/"]),
    ];
    for (prefix, wanted, others) in cases {
        let scope = scope(below(strings(&[prefix, "http://zzz.example/"])));
        for text in *wanted {
            assert_eq!(judged(&scope, text), "in", "{prefix} and {text}");
        }
        for text in *others {
            assert_eq!(judged(&scope, text), "scope", "{prefix} and {text}");
        }
    }
}

#[test]
fn exclude_wins_over_include_and_include_narrows_the_mode() {
    let scope = scope(ScopeRules {
        include: strings(&["/docs/", r"\.html$"]),
        exclude: strings(&["/docs/old/", "[?&]print="]),
        ..ScopeRules::default()
    });
    assert_eq!(judged(&scope, "http://example.org/docs/a"), "in");
    assert_eq!(judged(&scope, "http://example.org/a.html"), "in");
    assert_eq!(judged(&scope, "http://example.org/a"), "scope");
    assert_eq!(judged(&scope, "http://example.org/docs/old/a"), "excluded");
    assert_eq!(judged(&scope, "http://example.org/docs/a?print=1"), "excluded");
    assert_eq!(judged(&scope, "http://example.com/docs/a"), "scope");
}

#[test]
fn allowed_hosts_widen_and_denied_hosts_win_over_everything() {
    let scope = scope(ScopeRules {
        allow_hosts: strings(&["Other.example", "*.cdn.example"]),
        deny_hosts: strings(&["bad.cdn.example", "*.www.example.org"]),
        ..ScopeRules::default()
    });
    assert_eq!(judged(&scope, "http://other.example/"), "in");
    assert_eq!(judged(&scope, "http://a.b.cdn.example/"), "in");
    assert_eq!(judged(&scope, "http://cdn.example/"), "scope");
    assert_eq!(judged(&scope, "http://bad.cdn.example/"), "excluded");
    assert_eq!(judged(&scope, "http://x.www.example.org/"), "excluded");
    assert_eq!(judged(&scope, "http://www.example.org/"), "in");
}

#[test]
fn files_that_hold_no_text_are_skipped_by_the_ending_of_the_path() {
    let scope = in_mode(ScopeMode::Any);
    for skipped in ["/a.jpg", "/a.PNG", "/b/c.tar.gz", "/a.zip?x=1", "/a.mp4;v=1", "/a.woff2"] {
        assert_eq!(judged(&scope, &format!("http://example.org{skipped}")), "extension", "{skipped}");
    }
    for kept in [
        "/a.html",
        "/a.pdf",
        "/a.docx",
        "/a",
        "/a.jpg/",
        "/a?file=b.jpg",
        "/sitemap.xml.gz",
        "/v1.0",
        "/.zip.html",
        "/jpg",
    ] {
        assert_eq!(judged(&scope, &format!("http://example.org{kept}")), "in", "{kept}");
    }
    assert_eq!(judged(&scope, "http://example.zip/"), "in");
}

#[test]
fn the_list_of_endings_can_be_changed() {
    let scope = scope(ScopeRules { skip_extensions: strings(&[".PHP", ""]), ..ScopeRules::default() });
    assert_eq!(judged(&scope, "http://example.org/a.php"), "extension");
    assert_eq!(judged(&scope, "http://example.org/a.jpg"), "in");
    assert_eq!(judged(&scope, "http://example.org/a."), "in");
}

#[test]
fn the_depth_limit_lets_pages_at_the_limit_in() {
    let scope = scope(ScopeRules { max_depth: Some(2), ..ScopeRules::default() });
    assert_eq!(scope.judge(&url("http://example.org/"), 2), Ok(()));
    assert_eq!(scope.judge(&url("http://example.org/"), 3), Err(Rejection::TooDeep));
    let endless = self::scope(ScopeRules { max_depth: None, ..ScopeRules::default() });
    assert_eq!(endless.judge(&url("http://example.org/"), u16::MAX), Ok(()));
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
    let scope = scope(ScopeRules {
        exclude: strings(&["never", "/private/"]),
        deny_hosts: strings(&["bad.example"]),
        max_depth: Some(3),
        ..ScopeRules::default()
    });
    let rule = |text: &str, depth| scope.explain(&url(text), depth).1;
    assert_eq!(rule("http://www.example.org/", 0), "example.org is a host of the scope");
    assert_eq!(rule("http://other.example/", 0), "other.example is no host of the scope");
    assert_eq!(rule("http://bad.example/", 0), "deny_hosts names bad.example");
    assert_eq!(rule("http://example.org/private/a", 0), "exclude pattern /private/ matches");
    assert_eq!(rule("http://example.org/a.png", 0), "skip_extensions names png");
    assert_eq!(rule("http://example.org/", 4), "depth 4 is more than max_depth 3");
}

#[test]
fn a_rule_that_cannot_be_used_is_named() {
    let fault = |rules: ScopeRules| Scope::new(rules, &[]).unwrap_err().to_string();
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

#[test]
fn rules_are_written_in_toml_as_documented() {
    let rules: ScopeRules = toml::from_str("mode = 'domains'\nexclude = ['/x']\nmax_depth = 5").unwrap();
    assert_eq!((rules.mode, rules.max_depth), (ScopeMode::Domains, Some(5)));
    let rules: ScopeRules = toml::from_str("mode = 'prefixes'\nprefixes = ['http://(org,']").unwrap();
    assert_eq!(rules, below(strings(&["http://(org,"])));
    assert!(toml::from_str::<ScopeRules>("modus = 'any'").is_err());
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
