//! Host names with a label `xn--…` that is no Punycode. The URL Standard takes an ASCII name as it is, in lower case, where ToASCII
//! fails (since June 2026); the `url` crate refuses it. It is parsed under a stand-in, which no host can have, and named again.

use std::borrow::Cow;

use url::Url;

/// How such a label begins.
const PREFIX: &str = "xn--";

/// How it begins in a value of the `url` crate. `=` is no forbidden code point of the URL Standard, but none of a DNS name.
const STAND_IN: &str = "xn=-";

/// A URL of any host, which has a stand-in where the `url` crate refuses its name.
pub fn parse_any(text: &str) -> Option<Url> {
    Url::parse(text).ok().or_else(|| Url::parse(&masked(text)?).ok())
}

/// The same for a reference and its base.
pub fn join_any(base: &Url, href: &str) -> Option<Url> {
    base.join(href).ok().or_else(|| base.join(&masked(href)?).ok())
}

/// `text`, a URL or a reference, with stand-ins in its host; nothing where it names no such host.
pub(super) fn masked(text: &str) -> Option<String> {
    let (before, host, behind) = around_host(text)?;
    let masked = relabelled(host, PREFIX, STAND_IN);
    (host.is_ascii() && masked != host).then(|| format!("{before}{masked}{behind}"))
}

/// A host, or a text with one, as it is named.
pub fn named(text: &str) -> Cow<'_, str> {
    if !text.contains(STAND_IN) {
        return Cow::Borrowed(text);
    }
    let (before, host, behind) = around_host(text).unwrap_or(("", text, ""));
    Cow::Owned(format!("{before}{}{behind}", relabelled(host, STAND_IN, PREFIX)))
}

/// A host whose labels that begin with `from` begin with `to`.
fn relabelled(host: &str, from: &str, to: &str) -> String {
    let label = |label: &str| match label.split_at_checked(from.len()) {
        Some((prefix, rest)) if prefix.eq_ignore_ascii_case(from) => format!("{to}{rest}"),
        _ => label.to_owned(),
    };
    host.split('.').map(label).collect::<Vec<_>>().join(".")
}

/// What stands before the host of a reference (scheme, slashes, user), the host, and what stands behind it (port and tail).
fn around_host(text: &str) -> Option<(&str, &str, &str)> {
    let bare = text.trim_start_matches(|c: char| c <= ' ');
    let scheme =
        ["https:", "http:"].into_iter().find(|s| bare.get(..s.len()).is_some_and(|b| b.eq_ignore_ascii_case(s)));
    let rest = bare.get(scheme.map_or(0, str::len)..)?;
    let after = rest.trim_start_matches(['/', '\\']);
    if scheme.is_none() && rest.len() - after.len() < 2 {
        return None;
    }
    let authority = after.split(['/', '\\', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?.split(':').next()?.trim_end_matches(|c: char| c <= ' ');
    let start = text.len() - after.len() + (authority.len() - authority.rsplit('@').next()?.len());
    Some((text.get(..start)?, host, text.get(start + host.len()..)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::cases::{check, unescape};

    #[test]
    fn only_labels_of_the_host_get_a_stand_in_and_all_are_named_again() {
        check(include_str!("../../../tests/data/url_stand_in.txt"), |[text]| {
            let text = unescape(text);
            let masked = masked(&text);
            if let Some(masked) = masked.as_ref().filter(|_| !text.contains("XN")) {
                assert_eq!(named(masked), text);
            }
            [masked.map_or("-".to_owned(), |masked| masked.replace(' ', "\\s"))]
        });
        assert_eq!(masked(""), None);
        let base = parse_any("http://XN--board-ngr.a.example/x/").unwrap();
        let joined = |href| join_any(&base, href).map(|url| named(url.as_str()).into_owned());
        assert_eq!(joined("y").as_deref(), Some("http://xn--board-ngr.a.example/x/y"));
        assert_eq!(joined("//xn--board-ngr.b.example").as_deref(), Some("http://xn--board-ngr.b.example/"));
        assert_eq!((joined("http://a b.example/"), parse_any("http://a b.example/")), (None, None));
        assert_eq!((named("xn=-a.example"), named("a.example")), ("xn--a.example".into(), "a.example".into()));
    }
}
