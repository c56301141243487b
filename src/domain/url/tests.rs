//! Tests of canonical URLs: case tables, properties, limits.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::domain::cases::{check, unescape};

fn shown(url: Result<PageUrl, UrlError>) -> String {
    url.map_or_else(|error| format!("{error:?}"), |url| url.to_string().replace('\\', r"\\"))
}

#[test]
fn the_folders_above_a_page_are_named_from_the_nearest_to_the_top() {
    check(include_str!("../../../tests/data/url_folders.txt"), |[url]| {
        let folders: Vec<String> = PageUrl::from_canonical(url).unwrap().folders().map(|f| f.to_string()).collect();
        [if folders.is_empty() { "-".to_owned() } else { folders.join(" ") }]
    });
}

#[test]
fn every_case_of_the_canonical_table_holds() {
    let canonicaliser = Canonicaliser::default();
    let table = include_str!("../../../tests/data/url_canonical.txt");
    assert!(check(table, |[input]| [shown(canonicaliser.parse(&unescape(input)))]) >= 60);
}

#[test]
fn every_case_of_the_join_table_holds() {
    let canonicaliser = Canonicaliser::default();
    check(include_str!("../../../tests/data/url_join.txt"), |[base, encoding, href]| {
        let encoding = encoding_rs::Encoding::for_label(encoding.as_bytes());
        let base = canonicaliser.parse(&unescape(base)).unwrap().to_url();
        [shown(canonicaliser.join(&base, &unescape(href), encoding))]
    });
}

#[test]
fn every_case_of_the_spelling_table_holds() {
    let canonicaliser = Canonicaliser::default();
    let base = url::Url::parse("http://a.org/").unwrap();
    let count = check(include_str!("../../../tests/data/url_spelling.txt"), |[place, text]| {
        let join = if place == "link" { Canonicaliser::join } else { Canonicaliser::join_as_written };
        let url = join(&canonicaliser, &base, &unescape(text), None).unwrap();
        [url.to_string(), url.asked().into_owned()]
    });
    assert!(count >= 30);
}

#[test]
fn a_spelling_is_no_part_of_the_key_and_is_given_back_as_it_was() {
    let canonicaliser = Canonicaliser::default();
    let base = url::Url::parse("http://a.org/").unwrap();
    let url = canonicaliser.join_as_written(&base, "http://b.org.:81/%7ea?", None).unwrap();
    let plain = PageUrl::from_canonical("http://b.org:81/~a").unwrap();
    assert_eq!(url, plain);
    assert_eq!((url.spelling(), plain.spelling()), (Some("./%7ea?"), None));
    assert_eq!((url.asked_authority().as_str(), url.asked_tail()), ("b.org.:81", "/%7ea?"));
    assert_eq!((plain.asked_authority().as_str(), plain.asked_tail()), ("b.org:81", "/~a"));
    assert_eq!(plain.clone().spelled(url.spelling()).asked(), url.asked());
    assert_eq!(url.to_url().as_str(), "http://b.org.:81/%7ea?");
    for none in [Some("/~a"), Some("x"), Some("/a b"), Some("/#"), Some("/\n"), Some(""), Some("."), None] {
        assert_eq!(plain.clone().spelled(none).spelling(), None, "{none:?}");
    }
    let long = format!("/{}", "?".repeat(MAX_PAGE_URL_LENGTH));
    assert_eq!(plain.clone().spelled(Some(&long)).spelling(), None);
    let short = Canonicaliser::new(CleanRules { max_url_length: 20, ..CleanRules::default() });
    let cut = short.join_as_written(&base, "/q?PHPSESSID=0123456789abcdef", None).unwrap();
    assert_eq!((cut.as_str(), cut.spelling()), ("http://a.org/q", None), "what is too long to be asked for");
}

#[test]
fn the_parts_of_a_url_are_found_again() {
    let url = Canonicaliser::default().parse("https://[2001:db8::1]:8443/a/b;c?d=/e?f#g").unwrap();
    assert_eq!(url.scheme(), Scheme::Https);
    assert_eq!(url.host(), "[2001:db8::1]");
    assert_eq!(url.port(), 8443);
    assert_eq!(url.authority(), "[2001:db8::1]:8443");
    assert_eq!(url.path(), "/a/b;c");
    assert_eq!(url.query(), Some("d=/e?f"));
    assert_eq!(url.tail(), "/a/b;c?d=/e?f");
    let plain = Canonicaliser::default().parse("http://example.org").unwrap();
    assert_eq!((plain.authority().as_str(), plain.port(), plain.query()), ("example.org", 80, None));
}

#[test]
fn parts_that_no_canonical_url_has_are_refused() {
    let bad = |host: &str, port, tail: &str| PageUrl::from_parts(Scheme::Http, host, port, tail).unwrap_err();
    for host in
        ["", "Example.org", "example.org.", "a..b", "a b", "a/b", "a:1", "a@b", "1.2.3", "0x7f.1", "[::1", "[::01]"]
    {
        assert_eq!(bad(host, 80, "/"), UrlError::Malformed, "{host:?}");
    }
    for tail in ["", "a", "?q", "/ ", "/é", "/#f", "/a?", "/\\", "/a?'", "/\n", "/\0"] {
        assert_eq!(bad("a.org", 80, tail), UrlError::Malformed, "{tail:?}");
    }
    assert_eq!(bad("a.org", 0, "/"), UrlError::Malformed);
    assert_eq!(bad("a.org", 80, &format!("/{}", "a".repeat(MAX_PAGE_URL_LENGTH))), UrlError::TooLong);
}

#[test]
fn a_text_that_is_not_canonical_is_refused_by_from_canonical() {
    for text in
        ["http://a.org", "http://a.org:80/", "http://a.org:080/", "http://a.org:/", "http://u@a.org/", "HTTP://a.org/"]
    {
        assert!(PageUrl::from_canonical(text).is_err(), "{text}");
    }
    for text in ["http://a.org/", "https://a.org:80/x?y", "http://[::1]:8080/", "http://1.2.3.4/"] {
        assert_eq!(PageUrl::from_canonical(text).unwrap().as_str(), text);
    }
}

#[test]
fn a_url_travels_through_serde_as_its_text() {
    let url = Canonicaliser::default().parse("https://example.org:8443/a?b").unwrap();
    let json = serde_json::to_string(&url).unwrap();
    assert_eq!(json, r#""https://example.org:8443/a?b""#);
    assert_eq!(serde_json::from_str::<PageUrl>(&json).unwrap(), url);
    assert!(serde_json::from_str::<PageUrl>(r#""https://example.org""#).is_err());
}

#[test]
fn the_length_limit_is_that_of_the_canonical_form() {
    let canonicaliser = Canonicaliser::default();
    let at_limit = format!("http://a.org/{}", "x".repeat(2_000 - 13));
    assert!(canonicaliser.parse(&format!("{at_limit}#{}", "f".repeat(5_000))).is_ok());
    assert_eq!(canonicaliser.parse(&format!("{at_limit}x")), Err(UrlError::TooLong));
    assert_eq!(canonicaliser.parse(&format!("http://a.org/#{}", "f".repeat(MAX_INPUT_LENGTH))), Err(UrlError::TooLong));
    assert_eq!(canonicaliser.parse(&format!("data:,{}", "f".repeat(MAX_INPUT_LENGTH))), Err(UrlError::Scheme));
    let generous = Canonicaliser::new(CleanRules { max_url_length: usize::MAX, ..CleanRules::default() });
    assert_eq!(generous.parse(&format!("http://a.org/{}", "x".repeat(65_000))), Err(UrlError::TooLong));
}

#[test]
fn without_clean_up_rules_every_parameter_stays() {
    let text = "http://a.org/b;jsessionid=E460A97852FA769C?utm_source=2&sid=0123456789abcdef0123";
    assert_eq!(Canonicaliser::new(CleanRules::keep_all()).parse(text).unwrap().as_str(), text);
}

#[test]
fn names_of_parameters_can_be_configured() {
    let rules = CleanRules { tracking: vec!["X_*".into(), " ref ".into(), String::new()], ..CleanRules::keep_all() };
    let url = Canonicaliser::new(rules).parse("http://a.org/?x_1=1&REF=2&reference=3&=4&x=5").unwrap();
    assert_eq!(url.as_str(), "http://a.org/?reference=3&=4&x=5");
}

#[test]
fn each_error_has_a_reason_of_its_own() {
    let reasons: BTreeSet<_> = UrlError::ALL.iter().map(|e| e.rejection()).collect();
    assert_eq!(reasons.len(), 3);
}

/// Texts near to URLs, made of the pieces that matter.
fn near_url() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => r"[a-z0-9A-Z]{1,4}".prop_map(String::from),
        4 => proptest::sample::select(vec![
            "/", "/", ".", "..", "/../", "/./", "?", "&", "=", ";", "#", "%", "%2", "%2e", "%2E", "%41", "%61", "%65", "%C3%A9",
            "%2f", "%25", ":", "@", ":80", ":8080", "[::1]", "127.1", "0x7f", "1", "www.", ".org", "xn--bcher-kva", "xn--", "é",
            "中", "\\", " ", "\t", "\n", "'", "\"", "`", "{", "|", "^", "<", ";jsessionid=E460A97852FA769C", "jsessionid=A", "utm_a=b",
            "&utm_", "sid=0123456789abcdef", "~", "_", "-", "+", "\u{ad}", "。", "．", "％",
        ]).prop_map(String::from),
        1 => any::<char>().prop_map(String::from),
    ];
    let start =
        proptest::sample::select(vec!["http://", "https://", "http://a.org/", "https://a.org/b?", "", "//", "/", "?"]);
    (start, proptest::collection::vec(piece, 0..12)).prop_map(|(start, pieces)| format!("{start}{}", pieces.concat()))
}

/// Links as pages have them, most of them plain, and anything near to a URL.
fn near_href() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => r"(http://a\.org|https?://[a-c]\.org(:80)?|//a\.org)?(/|\.\./|\./|[a-c]|\.|/\.\.|;sid=0123456789abcdef){0,8}(\?[a-c=&]{0,4}(utm_a=1)?)?(#[a-c]*)?",
        1 => near_url(),
    ]
}

/// What holds for every canonical URL.
fn holds_for(url: &PageUrl, canonicaliser: &Canonicaliser) -> Result<(), TestCaseError> {
    prop_assert_eq!(canonicaliser.parse(url.as_str()), Ok(url.clone()), "parses to itself");
    let again = PageUrl::from_parts(url.scheme(), url.host(), url.port(), url.tail());
    prop_assert_eq!(again, Ok(url.clone()), "its parts make it again");
    let again = PageUrl::from_canonical(url.as_str()).unwrap();
    prop_assert_eq!((again.host(), again.port(), again.tail()), (url.host(), url.port(), url.tail()));
    let plain = url.clone().spelled(None).to_url();
    prop_assert_eq!(without_stand_in(plain.as_str()), url.as_str(), "the url crate agrees");
    let asked = url.to_url();
    prop_assert_eq!(without_stand_in(asked.as_str()), url.asked(), "of what is asked for too");
    prop_assert_eq!(canonicaliser.canonical(&asked), Ok(url.clone()), "a spelling is one of its own");
    let again = url.clone().spelled(url.spelling());
    prop_assert_eq!(again.asked(), url.asked());
    prop_assert!(url.as_str().is_ascii() && url.tail().starts_with('/'));
    let whole = format!("{}://{}{}", url.scheme(), url.authority(), url.tail());
    prop_assert_eq!(whole.as_str(), url.as_str());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_canonical_url_is_its_own_canonical_form(text in near_url()) {
        let canonicaliser = Canonicaliser::default();
        if let Ok(url) = canonicaliser.parse(&text) {
            holds_for(&url, &canonicaliser)?;
        }
    }

    #[test]
    fn a_joined_link_is_its_own_canonical_form(href in near_url(), gbk in any::<bool>()) {
        let canonicaliser = Canonicaliser::default();
        let base = url::Url::parse("http://base.example/dir/page?query").unwrap();
        let encoding = gbk.then_some(encoding_rs::GBK);
        let joined = canonicaliser.join(&base, &href, encoding);
        prop_assert_eq!(&canonicaliser.join_as_written(&base, &href, encoding), &joined, "one key");
        if let Ok(url) = joined {
            holds_for(&url, &canonicaliser)?;
            holds_for(&canonicaliser.join_as_written(&base, &href, encoding).unwrap(), &canonicaliser)?;
        }
    }

    #[test]
    fn a_joiner_gives_what_join_gives(base in near_url(), hrefs in proptest::collection::vec(near_href(), 1..6), gbk in any::<bool>()) {
        let canonicaliser = Canonicaliser::default();
        let encoding = gbk.then_some(encoding_rs::GBK);
        if let Ok(base) = url::Url::parse(&base) {
            let joiner = canonicaliser.joiner(base.clone(), encoding);
            for href in hrefs {
                let plain = canonicaliser.join(&base, &href, encoding);
                let quick = joiner.join(&href);
                prop_assert_eq!(quick.as_ref().map(PageUrl::asked), plain.as_ref().map(PageUrl::asked));
                prop_assert_eq!(quick, plain, "{:?} to {}", href, base);
            }
        }
    }

    #[test]
    fn any_text_at_all_is_taken_without_a_panic(text in any::<String>()) {
        let canonicaliser = Canonicaliser::default();
        let base = url::Url::parse("http://base.example/").unwrap();
        let _ = canonicaliser.parse(&text);
        let _ = canonicaliser.join(&base, &text, Some(encoding_rs::ISO_2022_JP));
        let _ = PageUrl::from_canonical(&text);
    }

    #[test]
    fn what_from_parts_admits_the_url_crate_parses(host in "[a-z0-9_.x\\-]{1,12}|xn--[a-z0-9]{1,6}|\\[[0-9a-f:.]{2,9}\\]", tail in "/[ -~]{0,12}") {
        if let Ok(url) = PageUrl::from_parts(Scheme::Http, &host, 80, &tail) {
            let parsed = url.to_url();
            prop_assert_eq!(parsed.host_str().map(without_stand_in), Some(host.as_str().into()));
        }
    }

    #[test]
    fn normal_percent_encodings_are_normal_for_good(text in "([%a-f0-9A-Fg~]|%[0-9a-f]{2}){0,12}") {
        let once = percent::normal(&text);
        prop_assert_eq!(percent::normal(&once), once.as_ref());
    }
}

#[test]
fn marks_of_sessions_on_the_links_of_one_page_name_pages_or_go() {
    let (one, two) = ("0123456789abcdef0123456789abcdef", "550e8400-e29b-41d4-a716-446655440000");
    let canonicaliser = Canonicaliser::default();
    check(include_str!("../../../tests/data/url_marks.txt"), |[links]| {
        let links = links.replace("{1}", one).replace("{2}", two).replace("{}", "");
        let base = url::Url::parse("http://a.org/x/").unwrap();
        let joiner = canonicaliser.joiner_of(links.split(' '), base, None);
        let joined = links.split(' ').map(|link| joiner.join(link).map_or("-".into(), |url| url.tail().to_owned()));
        [joined.collect::<Vec<_>>().join(" ").replace(one, "{1}").replace(two, "{2}")]
    });
}
