//! The references of a style sheet: `url(…)` and `@import` (CSS Syntax Module Level 3, sections 4.3.4 to 4.3.6).

/// Where references stand in `css`: from and to, without quotes. Comments and other strings are passed over.
pub fn references(css: &str) -> Vec<(usize, usize)> {
    let bytes = css.as_bytes();
    let (mut found, mut at, mut import) = (Vec::new(), 0, false);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                at = memchr::memmem::find(bytes.get(at + 2..).unwrap_or_default(), b"*/")
                    .map_or(bytes.len(), |end| at + 2 + end + 2);
            }
            b'"' | b'\'' => {
                let end = string_end(bytes, at + 1, *byte);
                if import {
                    found.push((at + 1, end));
                }
                (at, import) = (end + 1, false);
            }
            b'u' | b'U' if begins(bytes, at, b"url(") && !is_name(bytes, at) => {
                let (reference, end) = url(bytes, at + 4);
                found.push(reference);
                (at, import) = (end, false);
            }
            b'@' => {
                import = begins(bytes, at, b"@import");
                at += if import { 7 } else { 1 };
            }
            b';' | b'{' | b'}' => (at, import) = (at + 1, false),
            _ => at += 1,
        }
    }
    found.retain(|(from, to)| from < to);
    found
}

/// What stands in `url(…)` from `at` on, and where that ends.
fn url(bytes: &[u8], mut at: usize) -> ((usize, usize), usize) {
    let space = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_whitespace);
    while space(at) {
        at += 1;
    }
    let close = |at: usize| memchr::memchr(b')', bytes.get(at..).unwrap_or_default()).map_or(bytes.len(), |n| at + n);
    if let Some(quote @ (b'"' | b'\'')) = bytes.get(at) {
        let end = string_end(bytes, at + 1, *quote);
        return ((at + 1, end), close(end).saturating_add(1).min(bytes.len()));
    }
    let end = close(at);
    let mut last = end;
    while last > at && space(last - 1) {
        last -= 1;
    }
    ((at, last), (end + 1).min(bytes.len()))
}

/// Where a string ends: before its quote, a line end, or where all ends.
fn string_end(bytes: &[u8], mut at: usize, quote: u8) -> usize {
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'\n' => return at,
            _ if *byte == quote => return at,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn begins(bytes: &[u8], at: usize, with: &[u8]) -> bool {
    bytes.get(at..at + with.len()).is_some_and(|piece| piece.eq_ignore_ascii_case(with))
}

/// What stands before `at` is the begin of the same name.
fn is_name(bytes: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|at| bytes.get(at));
    before.is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'\\') || !b.is_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::cases::{check, unescape};
    use proptest::prelude::*;

    #[test]
    fn references_are_found_where_the_table_says() {
        check(include_str!("../../tests/data/html/css_references.txt"), |[css]| {
            let css = unescape(css);
            let found: Vec<&str> = references(&css).into_iter().map(|(from, to)| &css[from..to]).collect();
            [if found.is_empty() { "-".to_owned() } else { found.join(" ") }]
        });
        assert_eq!(references(""), []);
    }

    proptest! {
        #[test]
        fn references_lie_in_order_within_any_text(css in "[a-z@;(){}\"'/*\\\\ \nü]{0,80}|(@import |url\\(|\\)|'|\"|/\\*|\\*/|\\\\|x|é|\n){0,30}") {
            let mut last = 0;
            for (from, to) in references(&css) {
                prop_assert!(last <= from && css.get(from..to).is_some());
                last = to;
            }
        }
    }
}
