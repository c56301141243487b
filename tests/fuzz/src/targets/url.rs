//! Canonical URLs. Input: base, link and label of the page's encoding, a line each.

use std::sync::LazyLock;

use encoding_rs::Encoding;
use http::uri::PathAndQuery;

use super::domain::fingerprint::HostKey;
use super::domain::host::{registrable_domain, without_www};
use super::domain::textprint::Shown;
use super::domain::traps::{Finder, ShapeRules, Shapes, TrapRules};
use super::domain::url::{Canonicaliser, CleanRules, PageUrl, changes, without_stand_in};
use super::input::{line, text};
use super::warc::surt::surt;

static CANONICALISERS: LazyLock<[Canonicaliser; 2]> =
    LazyLock::new(|| [CleanRules::default(), CleanRules::keep_all()].map(Canonicaliser::new));

/// Canonical means canonical for good, fit to be sent, and the same by the quick way as by the long one.
pub fn check(data: &[u8]) {
    let (base, rest) = line(data);
    let (href, label) = line(rest);
    let (base, href) = (text(base), text(href));
    let encoding = Encoding::for_label(label);
    for canonicaliser in CANONICALISERS.iter() {
        for input in [&base, &href] {
            if let Ok(url) = canonicaliser.parse(input) {
                is_canonical(canonicaliser, &url);
                let _ = changes(input, &url);
            }
        }
        if let Ok(base) = ::url::Url::parse(&base) {
            joins(canonicaliser, &base, &href, encoding);
        }
    }
}

fn joins(canonicaliser: &Canonicaliser, base: &::url::Url, href: &str, encoding: Option<&'static Encoding>) {
    let joined = canonicaliser.join(base, href, encoding);
    assert_eq!(canonicaliser.joiner(base.clone(), encoding).join(href), joined, "the quick way differs");
    let written = canonicaliser.join_as_written(base, href, encoding);
    assert_eq!(written, joined, "one key, however it is asked for");
    for url in joined.iter().chain(&written) {
        is_canonical(canonicaliser, url);
        assert_eq!(canonicaliser.join(base, url.as_str(), encoding).as_ref(), Ok(url));
    }
}

fn is_canonical(canonicaliser: &Canonicaliser, url: &PageUrl) {
    assert_eq!(canonicaliser.parse(url.as_str()).as_ref(), Ok(url), "canonical twice");
    assert_eq!(PageUrl::from_canonical(url.as_str()).as_ref(), Ok(url));
    assert_eq!(PageUrl::from_parts(url.scheme(), url.host(), url.port(), url.tail()).as_ref(), Ok(url));
    assert_eq!(without_stand_in(url.to_url().as_str()), url.asked());
    assert_eq!(canonicaliser.canonical(&url.to_url()).as_ref(), Ok(url), "what is asked for has this key");
    let again = PageUrl::from_canonical(url.as_str()).map(|plain| plain.spelled(url.spelling()));
    assert_eq!(again.map(|again| again.asked().into_owned()), Ok(url.asked().into_owned()));
    assert!(
        PathAndQuery::try_from(url.asked_tail()).is_ok() && http::HeaderValue::from_str(&url.asked_authority()).is_ok()
    );
    assert_eq!(changes(url.as_str(), url), Vec::<String>::new());
    assert!(url.tail().starts_with('/') && url.tail().bytes().all(|b| b.is_ascii_graphic() && b != b'#'));
    assert_eq!(PathAndQuery::try_from(url.tail()).ok().as_ref().map(PathAndQuery::as_str), Some(url.tail()));
    assert!(http::HeaderValue::from_str(&url.authority()).is_ok());
    assert!(url.host().ends_with(registrable_domain(url.host())) && url.host().ends_with(without_www(url.host())));
    assert!(surt(url.as_str()).bytes().all(|b| b.is_ascii_graphic()), "a key is one word");
    traps(url);
}

fn traps(url: &PageUrl) {
    let rules = TrapRules::default();
    assert_eq!(rules.explain(url).map_err(|(reason, _)| reason), rules.judge(url));
    let budgets = ShapeRules { pages_per_pattern: 3, pages_without_novelty: 2, ..ShapeRules::default() };
    let (mut shapes, host) = (Shapes::default(), HostKey([0; 8]));
    let taken = (0..4).take_while(|_| shapes.admit(None, host, url, &budgets).is_ok()).count();
    assert_eq!(taken, 3, "of one shape");
    let open = ShapeRules { pages_per_pattern: 0, ..budgets };
    let mut links = (0..5).map(|_| {
        let mut finder = Finder::new(host, url, None);
        shapes.read(&mut finder, &Shown::default());
        let verdict = shapes.admit(Some(&mut finder), host, url, &open);
        shapes.count(&finder);
        verdict.is_ok()
    });
    let first = links.by_ref().take(2).all(|taken| taken);
    assert!(first && links.skip(1).all(|taken| !taken), "a shape that brings nothing");
}
