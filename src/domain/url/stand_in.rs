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
    let mut labels = host.split('.').peekable();
    let mut masked = String::with_capacity(text.len());
    masked.push_str(before);
    let mut found = false;
    while let Some(label) = labels.next() {
        match label.split_at_checked(PREFIX.len()) {
            Some((prefix, rest)) if prefix.eq_ignore_ascii_case(PREFIX) => {
                found = true;
                masked.push_str(STAND_IN);
                masked.push_str(rest);
            }
            _ => masked.push_str(label),
        }
        if labels.peek().is_some() {
            masked.push('.');
        }
    }
    masked.push_str(behind);
    (found && host.is_ascii()).then_some(masked)
}

/// A host, or a text with one, as it is named.
pub fn named(text: &str) -> Cow<'_, str> {
    if !text.contains(STAND_IN) {
        return Cow::Borrowed(text);
    }
    let Some((before, host, behind)) = around_host(text) else { return Cow::Owned(labels_named(text)) };
    Cow::Owned(format!("{before}{}{behind}", labels_named(host)))
}

fn labels_named(host: &str) -> String {
    let label = |label: &str| match label.strip_prefix(STAND_IN) {
        Some(rest) => format!("{PREFIX}{rest}"),
        None => label.to_owned(),
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

    #[test]
    fn only_labels_of_the_host_get_a_stand_in_and_all_are_named_again() {
        for (text, expected) in [
            ("http://xn--a.example/xn--b?xn--c", Some("http://xn=-a.example/xn--b?xn--c")),
            (" HTTP://u:p@a.XN--B.xn--c:81/", Some(" HTTP://u:p@a.xn=-B.xn=-c:81/")),
            ("//xn--a", Some("//xn=-a")),
            ("\\\\xn--a\\b", Some("\\\\xn=-a\\b")),
            ("/xn--a", None),
            ("xn--a.html", None),
            ("http://a.example/xn--b", None),
            ("http://axn--b.example/", None),
            ("http://xn--é.example/", None),
            ("", None),
        ] {
            assert_eq!(masked(text).as_deref(), expected, "{text}");
            if let Some(masked) = masked(text).filter(|_| !text.contains("XN")) {
                assert_eq!(named(&masked), text);
            }
        }
        let base = parse_any("http://XN--board-ngr.a.example/x/").unwrap();
        let joined = |href| join_any(&base, href).map(|url| named(url.as_str()).into_owned());
        assert_eq!(joined("y").as_deref(), Some("http://xn--board-ngr.a.example/x/y"));
        assert_eq!(joined("//xn--board-ngr.b.example").as_deref(), Some("http://xn--board-ngr.b.example/"));
        assert_eq!((joined("http://a b.example/"), parse_any("http://a b.example/")), (None, None));
        assert_eq!((named("xn=-a.example"), named("a.example")), ("xn--a.example".into(), "a.example".into()));
    }
}
