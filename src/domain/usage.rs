//! What a site says of the use of its content by machines: `Content-Signal` (contentsignals.org) and `Content-Usage` (IETF
//! AIPREF, draft-ietf-aipref-attach), in robots.txt by path and in an answer's head. Recorded as sent with each page, never
//! obeyed: both speak to whoever uses the pages.

use crate::base::kinds::names;

/// The most bytes that are recorded of one page.
pub const MAX_USAGE: usize = 1024;

/// What stands between two statements.
const BETWEEN: &str = " | ";

names! {
    /// Which of the two, by its name in robots.txt and in a head.
    Signal {
        /// `Content-Signal`.
        Content = "Content-Signal";
        /// `Content-Usage`.
        Usage = "Content-Usage";
    }
}

/// The path in front of a value of robots.txt, if there is one, and the value: `/ai/ train-ai=y`.
pub fn split_path(value: &[u8]) -> (Option<&[u8]>, &[u8]) {
    if !matches!(value.first(), Some(b'/' | b'*')) {
        return (None, value);
    }
    let end = value.iter().position(u8::is_ascii_whitespace).unwrap_or(value.len());
    let (path, rest) = value.split_at_checked(end).unwrap_or((value, b""));
    (Some(path), rest.trim_ascii())
}

/// Statements about one page, as they are recorded: `robots.txt: Content-Signal: ai-train=no | header: Content-Usage: train-ai=n`.
#[derive(Clone, Debug, Default)]
pub struct Statements {
    text: String,
}

impl Statements {
    /// Goes on from what [`finish`](Self::finish) gave.
    pub fn from(earlier: Option<&str>) -> Self {
        Self { text: earlier.unwrap_or_default().to_owned() }
    }

    /// One more of `source`; an empty one states nothing, and one that does not fit is left out.
    pub fn add(&mut self, source: &str, signal: Signal, value: &str) {
        let value: String = value.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let between = if self.text.is_empty() { "" } else { BETWEEN };
        let statement = format!("{between}{source}: {signal}: {value}");
        if !value.is_empty() && self.text.len() + statement.len() <= MAX_USAGE {
            self.text.push_str(&statement);
        }
    }

    /// Those of an answer's head, given as names and values.
    pub fn add_headers<'h>(&mut self, headers: impl Iterator<Item = (&'h str, &'h [u8])>) {
        for (name, value) in headers {
            if let Some(signal) = Signal::ALL.iter().find(|s| s.as_str().eq_ignore_ascii_case(name)) {
                self.add("header", *signal, &String::from_utf8_lossy(value));
            }
        }
    }

    /// What is recorded; none when nothing was stated.
    pub fn finish(self) -> Option<String> {
        (!self.text.is_empty()).then_some(self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::cases::{check, unescape};

    #[test]
    fn a_path_in_front_of_a_value_is_told_from_the_value() {
        check(include_str!("../../tests/data/usage_paths.txt"), |[value]| {
            let value = unescape(value);
            let (path, rest) = split_path(value.as_bytes());
            [path.unwrap_or(b"none"), rest].map(|part| String::from_utf8_lossy(part).into_owned())
        });
        assert_eq!((split_path(b"/"), split_path(b"")), ((Some(&b"/"[..]), &b""[..]), (None, &b""[..])));
    }

    #[test]
    fn statements_are_joined_in_one_line_and_bounded() {
        let mut all = Statements::from(Some("robots.txt: Content-Signal: ai-train=no"));
        let head = [("content-usage", &b" train-ai=n\x01\xff"[..]), ("x", b"y"), ("Content-Usage", b" ")];
        all.add_headers(head.into_iter());
        let want = "robots.txt: Content-Signal: ai-train=no | header: Content-Usage: train-ai=n \u{fffd}";
        assert_eq!(all.clone().finish().as_deref(), Some(want));
        for _ in 0..100 {
            all.add("header", Signal::Usage, &"x".repeat(90));
        }
        assert!(all.finish().unwrap().len() <= MAX_USAGE);
        assert_eq!(Statements::default().finish(), None);
    }
}
