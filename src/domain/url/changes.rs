//! What the canonical form of a URL changed, in words.

use url::Url;

use super::page_url::PageUrl;
use super::percent::{normal, standard_path};

/// Characters of a dropped part that are shown.
const SHOWN: usize = 60;

/// What is different in `url`, the canonical form of `input`; empty when nothing is.
pub fn changes(input: &str, url: &PageUrl) -> Vec<String> {
    let mut found = Vec::new();
    let Ok(parsed) = Url::parse(input) else { return found };
    if input == url.as_str() {
        return found;
    }
    let text = input.trim_matches(|c: char| c <= ' ');
    if text != input || text.contains(['\t', '\n', '\r']) {
        found.push("white space dropped".to_owned());
    }
    found.extend(of_authority(text, &parsed, url));
    found.extend(of_path(text, parsed.path(), url.path()));
    found.extend(of_query(parsed.query(), url.query()));
    if let Some(fragment) = parsed.fragment() {
        found.push(format!("fragment #{} dropped", short(fragment)));
    }
    found
}

/// Scheme, user information, host and port.
fn of_authority(text: &str, parsed: &Url, url: &PageUrl) -> Vec<String> {
    let mut found = Vec::new();
    let scheme = text.split(':').next().unwrap_or_default();
    if scheme != url.scheme().as_str() {
        found.push("scheme in lower case".to_owned());
    }
    if !parsed.username().is_empty() || parsed.password().is_some() {
        found.push("user information dropped".to_owned());
    }
    let authority = authority(text);
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => {
            if parsed.port().is_none() {
                found.push("default port dropped".to_owned());
            }
            host
        }
        _ => authority,
    };
    match host.strip_suffix('.').unwrap_or(host) {
        bare if bare != host => found.push("final dot of the host dropped".to_owned()),
        bare if bare == url.host() => {}
        bare if bare.eq_ignore_ascii_case(url.host()) => found.push("host in lower case".to_owned()),
        _ => found.push(format!("host written as {}", url.host())),
    }
    found
}

/// What stands between `//` and the path, without user information.
fn authority(text: &str) -> &str {
    let rest = text.split_once(':').map_or("", |(_, rest)| rest).trim_start_matches(['/', '\\']);
    let authority = rest.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    authority.rsplit('@').next().unwrap_or_default()
}

fn of_path(text: &str, parsed: &str, path: &str) -> Option<String> {
    let behind = text.split_once(authority(text)).map_or("", |(_, behind)| behind);
    let written = behind.split(['?', '#']).next().unwrap_or_default();
    if written == path {
        None
    } else if written.is_empty() {
        Some("path / added".to_owned())
    } else if normal(&standard_path(parsed)) != path {
        Some("session id dropped from the path".to_owned())
    } else if written.split('/').any(|segment| matches!(segment, "." | "..")) {
        Some("dot segments of the path resolved".to_owned())
    } else {
        Some("encoding of the path normalised".to_owned())
    }
}

fn of_query(parsed: Option<&str>, query: Option<&str>) -> Vec<String> {
    let Some(parsed) = parsed else { return Vec::new() };
    let normal = normal(parsed);
    let kept: Vec<&str> = query.map(|query| query.split('&').collect()).unwrap_or_default();
    let mut kept = kept.into_iter().peekable();
    let mut found = Vec::new();
    for part in normal.split('&') {
        if kept.next_if(|next| *next == part).is_none() {
            let name = part.split('=').next().unwrap_or_default();
            found.push(match name {
                "" => "empty query dropped".to_owned(),
                name => format!("parameter {} dropped", short(name)),
            });
        }
    }
    if normal != parsed {
        found.push("encoding of the query normalised".to_owned());
    }
    found
}

fn short(text: &str) -> String {
    text.chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::cases::{check, unescape};
    use crate::domain::url::Canonicaliser;

    #[test]
    fn each_change_is_named() {
        check(include_str!("../../../tests/data/url_changes.txt"), |[input]| {
            let input = unescape(input);
            let found = changes(&input, &Canonicaliser::default().parse(&input).unwrap());
            [if found.is_empty() { "-".to_owned() } else { found.join(", ") }]
        });
    }

    proptest::proptest! {
        #[test]
        fn any_text_has_an_answer_and_a_canonical_one_has_no_changes(input in "(http|HTTPS)://[a-zA-Z@:.]{1,9}(/[ -~é]{0,20})?") {
            if let Ok(url) = Canonicaliser::default().parse(&input) {
                proptest::prop_assert!(changes(&input, &url).len() < 40);
                proptest::prop_assert_eq!(changes(url.as_str(), &url), Vec::<String>::new());
            }
        }
    }
}
