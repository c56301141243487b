//! `srcset` and the URL of a `<meta http-equiv=refresh>`.

use super::tag::is_space;

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
    u8::try_from(c).is_ok_and(is_space)
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

    #[test]
    fn srcset_is_split_at_the_commas_that_count() {
        for (srcset, want) in [
            ("a.png", vec!["a.png"]),
            ("a.png 1x, b.png 2x", vec!["a.png", "b.png"]),
            ("a.png,b.png 2x", vec!["a.png,b.png"]),
            ("a.png, b.png", vec!["a.png", "b.png"]),
            (" ,, a.png 100w (x, y), b.png\n2x", vec!["a.png", "b.png"]),
            ("data:image/png;base64,AA== 1x, b", vec!["data:image/png;base64,AA==", "b"]),
            ("a.png,,,", vec!["a.png"]),
            (" , ", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(urls(srcset).collect::<Vec<_>>(), want, "{srcset}");
        }
    }

    #[test]
    fn a_refresh_is_read_as_browsers_read_it() {
        for (content, want) in [
            ("5; url=next.html", Some((5, "next.html"))),
            ("0;URL='a b'c", Some((0, "a b"))),
            ("0; url = \"x", Some((0, "x"))),
            ("0, /x", Some((0, "/x"))),
            ("0 /x", Some((0, "/x"))),
            ("1.5;url=x", Some((1, "x"))),
            (".5;url=x", Some((0, "x"))),
            ("99999999999;url=x", Some((u32::MAX, "x"))),
            ("0;urlx", Some((0, "urlx"))),
            ("0;url", Some((0, "url"))),
            ("5", Some((5, ""))),
            ("5;", Some((5, ""))),
            ("5; url=", Some((5, ""))),
            ("url=x", None),
            ("5x; url=x", None),
            ("", None),
        ] {
            assert_eq!(parse_refresh(content), want, "{content}");
        }
    }
}
