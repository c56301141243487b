//! `srcset` and the URL of a `<meta http-equiv=refresh>`.

/// The image URLs of a `srcset`, in order (WHATWG HTML, 4.8.4.3.10; descriptors are not checked).
pub(super) fn urls(srcset: &str) -> impl Iterator<Item = &str> {
    let mut rest = srcset;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| c == ',' || space(c));
        let end = rest.find(space).unwrap_or(rest.len());
        let (url, after) = rest.split_at_checked(end)?;
        let bare = url.trim_end_matches(',');
        rest = if bare.len() < url.len() { after } else { after_descriptors(after) };
        (!bare.is_empty()).then_some(bare)
    })
}

/// What follows the comma that ends the descriptors; commas in parentheses do not.
fn after_descriptors(text: &str) -> &str {
    let mut parentheses = false;
    for (at, b) in text.bytes().enumerate() {
        match b {
            b'(' => parentheses = true,
            b')' => parentheses = false,
            b',' if !parentheses => return text.get(at + 1..).unwrap_or_default(),
            _ => {}
        }
    }
    ""
}

fn space(c: char) -> bool {
    c.is_ascii_whitespace()
}

/// Seconds and URL of a refresh, as in `<meta http-equiv=refresh content>` and the header `Refresh`; none if it only reloads or
/// is malformed (WHATWG HTML, 4.2.5.3, "shared declarative refresh steps"). Parts of a second do not count.
pub fn parse_refresh(content: &str) -> Option<(u32, &str)> {
    let text = content.trim_start_matches(space);
    let digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
    if digits.len() == text.len() && !text.starts_with('.') {
        return None;
    }
    let seconds = text.get(..text.len() - digits.len()).unwrap_or_default();
    let seconds = if seconds.is_empty() { 0 } else { seconds.parse().unwrap_or(u32::MAX) };
    let after_time = digits.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let separator = |c: char| c == ';' || c == ',';
    if !after_time.is_empty() && !after_time.starts_with(|c| separator(c) || space(c)) {
        return None;
    }
    let text = after_time.trim_start_matches(space);
    let text = text.strip_prefix(separator).unwrap_or(text).trim_start_matches(space);
    Some((seconds, quoted(without_url_prefix(text))))
}

/// Without `url=`; as written if it is not quite that.
fn without_url_prefix(text: &str) -> &str {
    let Some((word, rest)) = text.split_at_checked(3) else { return text };
    if !word.eq_ignore_ascii_case("url") {
        return text;
    }
    rest.trim_start_matches(space).strip_prefix('=').map_or(text, |r| r.trim_start_matches(space))
}

/// Without its quotes; a missing second quote means to the end.
fn quoted(text: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote) {
            return inner.split(quote).next().unwrap_or_default();
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::cases::{check, unescape};

    #[test]
    fn srcset_is_split_at_the_commas_that_count() {
        check(include_str!("../../../tests/data/html/srcset.txt"), |[srcset]| {
            [urls(&unescape(srcset)).collect::<Vec<_>>().join(" ")]
        });
        assert_eq!((urls(" , ").count(), urls("").count()), (0, 0));
    }

    #[test]
    fn a_refresh_is_read_as_browsers_read_it() {
        check(include_str!("../../../tests/data/html/refresh.txt"), |[content]| {
            let found = parse_refresh(content);
            [found.map_or("-".to_owned(), |(seconds, url)| format!("{seconds} {url}").trim_end().to_owned())]
        });
        assert_eq!(parse_refresh(""), None);
    }
}
