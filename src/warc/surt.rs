//! SURT keys: URLs turned so that sorting brings together what belongs together, as `org,example)/path?query`.
//!
//! The rules are those of the `surt` package (Internet Archive), because pywb and others make the keys they look for
//! with it: host reversed, lower case, without `www.` or `www7.`; default port dropped; percent-encoding undone and made
//! again where needed; `.`, `..` and empty path segments resolved; the slash at the end of a path dropped; session ids of
//! known form dropped; query parameters sorted. `tests/data/warc/surt.tsv` holds what that package gives.

use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder};

use crate::domain::url::{parse_any, without_stand_in};

/// The key of an absolute http or https URL. Text that is no such URL is its own key, without spaces.
pub fn surt(url: &str) -> String {
    let Some(parsed) = parse_any(url) else { return one_word(url) };
    let (Some(host), true) = (parsed.host_str(), matches!(parsed.scheme(), "http" | "https")) else {
        return one_word(url);
    };
    let (host, path) = (reversed_host(&without_stand_in(host)), path_key(parsed.path()));
    let port = parsed.port().map(|port| format!(":{port}")).unwrap_or_default();
    let query = parsed.query().map(query_key).filter(|q| !q.is_empty()).map(|q| format!("?{q}")).unwrap_or_default();
    format!("{host}{port}){path}{query}")
}

fn one_word(text: &str) -> String {
    if text.is_empty() { "-".to_owned() } else { escape(text.as_bytes()) }
}

fn reversed_host(host: &str) -> String {
    let host = host.trim_start_matches('[').trim_end_matches(']').trim_matches('.').to_ascii_lowercase();
    let host = without_www(&host);
    host.split('.').filter(|label| !label.is_empty()).rev().collect::<Vec<_>>().join(",")
}

/// Drops `www` with any digits and its dot.
fn without_www(host: &str) -> &str {
    host.strip_prefix("www")
        .and_then(|h| h.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix('.'))
        .unwrap_or(host)
}

fn path_key(path: &str) -> String {
    let path = escape(&resolve(&unescape(path.as_bytes()))).to_ascii_lowercase();
    let mut path = without_sessions(&PATH_SESSIONS, path);
    if path.len() > 1 && path.ends_with('/') {
        path.pop();
    }
    path
}

fn query_key(query: &str) -> String {
    let query = without_sessions(&QUERY_SESSIONS, escape(&unescape(query.as_bytes()))).to_ascii_lowercase();
    let mut parameters: Vec<_> =
        query.split('&').map(|p| p.split_once('=').map_or((p, None), |(n, v)| (n, Some(v)))).collect();
    parameters.sort_unstable();
    let texts = parameters.into_iter().map(|(name, value)| value.map_or(name.to_owned(), |v| format!("{name}={v}")));
    texts.collect::<Vec<_>>().join("&")
}

/// Undoes percent-encoding until none is left (`%2541` is `A`), in one pass: a decoded byte may complete the one before.
fn unescape(bytes: &[u8]) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::with_capacity(bytes.len());
    for byte in bytes {
        out.push(*byte);
        while let [.., b'%', high, low] = out.as_slice() {
            let digit = |b: u8| char::from(b).to_digit(16).and_then(|d| u8::try_from(d).ok());
            let (Some(high), Some(low)) = (digit(*high), digit(*low)) else { break };
            out.truncate(out.len() - 3);
            out.push(high * 16 + low);
        }
    }
    out
}

/// Percent-encodes what is not printable ASCII, and `#` and `%`.
fn escape(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for byte in bytes {
        match byte {
            b'#' | b'%' | 0..=b' ' | 0x7f.. => out.push_str(&format!("%{byte:02X}")),
            _ => out.push(char::from(*byte)),
        }
    }
    out
}

/// Resolves `.`, `..` and empty segments; the path keeps a slash at its end.
fn resolve(path: &[u8]) -> Vec<u8> {
    let mut kept: Vec<&[u8]> = Vec::new();
    for segment in path.split(|b| *b == b'/').skip(1) {
        match segment {
            b"." => {}
            b".." if !kept.is_empty() => {
                kept.pop();
            }
            _ => kept.push(segment),
        }
    }
    let mut out = vec![b'/'];
    let last = kept.pop();
    for segment in kept.into_iter().filter(|s| !s.is_empty()) {
        out.extend_from_slice(segment);
        out.push(b'/');
    }
    out.extend_from_slice(last.unwrap_or_default());
    out
}

/// Drops the part between the groups `a` and `b` of each pattern that finds one.
fn without_sessions(patterns: &[Regex], text: String) -> String {
    patterns.iter().fold(text, |text, pattern| {
        let Some(found) = pattern.captures(text.as_bytes()) else { return text };
        let group = |name| found.name(name).map(|m| String::from_utf8_lossy(m.as_bytes())).unwrap_or_default();
        format!("{}{}", group("a"), group("b"))
    })
}

static PATH_SESSIONS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    patterns(&[
        r"^(?<a>.*/)\((?:[a-z]\([0-9a-z]{24}\))+\)/(?<b>[^?]+\.aspx.*)$",
        r"^(?<a>.*/)\([0-9a-z]{24}\)/(?<b>[^?]+\.aspx.*)$",
    ])
});

static QUERY_SESSIONS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    patterns(&[
        r"^(?<a>.*)jsessionid=[0-9a-z]{32}(?:&(?<b>.*))?$",
        r"^(?<a>.*)phpsessid=[0-9a-z]{32}(?:&(?<b>.*))?$",
        r"^(?<a>.*)sid=[0-9a-z]{32}(?:&(?<b>.*))?$",
        r"^(?<a>.*)aspsessionid[a-z]{8}=[a-z]{24}(?:&(?<b>.*))?$",
        r"^(?<a>.*)cfid=[^&]+&cftoken=[^&]+(?:&(?<b>.*))?$",
    ])
});

#[expect(clippy::expect_used, reason = "the patterns are constants and compiled by a test")]
fn patterns(texts: &[&str]) -> Vec<Regex> {
    let build = |text: &&str| RegexBuilder::new(text).case_insensitive(true).unicode(false).build();
    texts.iter().map(|text| build(text).expect("a constant pattern")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn keys_are_those_of_the_surt_package() {
        let table = include_str!("../../tests/data/warc/surt.tsv");
        let mut cases = 0;
        for line in table.lines().filter(|l| !l.starts_with('#') && !l.is_empty()) {
            let (url, key) = line.split_once('\t').unwrap();
            assert_eq!(surt(url), key, "{url}");
            cases += 1;
        }
        assert!(cases >= 40);
    }

    #[test]
    fn text_that_is_no_url_is_one_word() {
        assert_eq!(surt("no url\nat all"), "no%20url%0Aat%20all");
        assert_eq!(surt(""), "-");
    }

    proptest! {
        #[test]
        fn a_key_never_holds_a_space_or_a_control_character(tail in "(?s).{0,40}") {
            let key = surt(&format!("http://example.org/{tail}"));
            prop_assert!(key.bytes().all(|b| b > b' ' && b < 0x7f), "{}", key);
        }

        #[test]
        fn unescaping_is_complete(text in "[%0-9a-f]{0,40}") {
            let once = unescape(text.as_bytes());
            prop_assert_eq!(unescape(&once), once);
        }
    }
}
