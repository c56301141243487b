//! Bytes to numbered lines, and a line to its field.

use memchr::memchr;

use crate::domain::text;
use crate::domain::usage::Signal;

/// What is read of a robots.txt: 500 KiB (RFC 9309, section 2.5). Of a longer one, the whole lines within it.
pub const MAX_ROBOTS_BYTES: usize = 500 * 1024;

/// What is read of a line; the rest of it is ignored.
pub const MAX_LINE_BYTES: usize = 16 * 1024;

/// A record this crawler acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    UserAgent,
    Allow,
    Disallow,
    CrawlDelay,
    Sitemap,
    Usage(Signal),
}

impl Field {
    /// Names are matched without regard to case. Besides the right ones, the misspellings that Google's open parser
    /// takes, and the same kind of slip for the other names.
    fn from_name(name: &[u8]) -> Option<Self> {
        const NAMES: [(&[&str], Field); 7] = [
            (&["user-agent", "useragent", "user agent", "user_agent"], Field::UserAgent),
            (&["allow"], Field::Allow),
            (&["disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"], Field::Disallow),
            (&["crawl-delay", "crawldelay", "crawl delay", "crawl_delay"], Field::CrawlDelay),
            (&["sitemap", "site-map"], Field::Sitemap),
            (&["content-signal"], Field::Usage(Signal::Content)),
            (&["content-usage"], Field::Usage(Signal::Usage)),
        ];
        let is = |known: &&str| known.as_bytes().eq_ignore_ascii_case(name);
        NAMES.iter().find(|(names, _)| names.iter().any(is)).map(|(_, field)| *field)
    }
}

/// One line of a robots.txt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    /// Counted from 1.
    pub number: u32,
    /// As written, cut to [`MAX_LINE_BYTES`], without white space at its ends.
    pub text: &'a [u8],
}

impl<'a> Line<'a> {
    /// Its field and value, if it is a record that matters here. A missing colon is forgiven when the line has exactly
    /// two words, so that prose is not taken for a rule.
    pub fn record(&self) -> Option<(Field, &'a [u8])> {
        let text = self.text.split(|b| *b == b'#').next()?;
        with_colon(text).or_else(|| two_words(text))
    }
}

fn with_colon(text: &[u8]) -> Option<(Field, &[u8])> {
    let (name, rest) = text.split_at_checked(memchr(b':', text)?)?;
    Some((Field::from_name(name.trim_ascii())?, rest.get(1..)?.trim_ascii()))
}

fn two_words(text: &[u8]) -> Option<(Field, &[u8])> {
    let mut words = text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    match (words.next(), words.next(), words.next()) {
        (Some(name), Some(value), None) => Some((Field::from_name(name)?, value)),
        _ => None,
    }
}

/// The lines of `text`: ended by LF, CR or CRLF, byte order marks before them taken off, at most [`MAX_ROBOTS_BYTES`] of them.
pub(super) fn lines(text: &[u8]) -> impl Iterator<Item = Line<'_>> {
    (1..).zip(text::lines(within_limit(text))).map(|(number, line)| {
        let mut text = line.get(..MAX_LINE_BYTES).unwrap_or(line).trim_ascii();
        while let Some(behind) = text.strip_prefix(b"\xEF\xBB\xBF") {
            text = behind.trim_ascii_start();
        }
        Line { number, text }
    })
}

/// What is read of a text: all of it up to [`MAX_ROBOTS_BYTES`], the whole lines within them of a longer one. So whoever keeps
/// a text must have read one byte more than the limit before it is cut here: half a rule would mean another rule.
pub fn within_limit(text: &[u8]) -> &[u8] {
    match text.get(..MAX_ROBOTS_BYTES) {
        Some(head) if text.len() > MAX_ROBOTS_BYTES => whole_lines(head),
        _ => text,
    }
}

/// The lines of `text` that have an end; of a text that broke off, nobody knows how its last line goes on.
pub fn whole_lines(text: &[u8]) -> &[u8] {
    let end = memchr::memrchr2(b'\n', b'\r', text).unwrap_or(0);
    text.get(..end).unwrap_or_default()
}
