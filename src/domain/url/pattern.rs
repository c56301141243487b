//! Regular expressions over URLs as people write them.
//!
//! A canonical URL is ASCII: letters beyond it, spaces and some signs stand in it percent-encoded, names of hosts in the form of DNS.
//! Who writes a pattern copies an address as a browser shows it, or as a server sent it. So each pattern is held against two forms:
//! the canonical one, with the encodings in the pattern brought into canonical form (`%e6` is `%E6`, `%7E` is `~`); and, where it
//! differs, the one that people read, with the encodings in the pattern read as well.

use std::borrow::Cow;

use regex::{Regex, RegexSet, RegexSetBuilder};

use super::percent::{self, decoded, is_unreserved};

/// The most memory a compiled set of patterns may take, in bytes.
const SIZE_LIMIT: usize = 16 << 20;

/// What is shown to people as it is, besides letters beyond ASCII; canonical URLs have it encoded, or may have.
const READABLE: &[u8] = b" \"<>`{}|^\\[]'";

/// Patterns of URLs, compiled. Unanchored, as everywhere.
#[derive(Clone, Debug, Default)]
pub struct UrlPatterns {
    /// As the user wrote them.
    written: Vec<String>,
    canonical: RegexSet,
    /// The same for the form that people read, where it is another.
    readable: Option<RegexSet>,
}

/// What is wrong with a list of patterns.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// No regular expression.
    #[error("`{pattern}` is not a regular expression: {fault}")]
    Syntax {
        /// As the user wrote it.
        pattern: String,
        /// What the compiler says, on one line.
        fault: String,
    },
    /// It asks for a fragment.
    #[error("`{pattern}` can match no URL: what follows `#` is never part of one here; {}", advice(fits))]
    Fragment {
        /// As the user wrote it.
        pattern: String,
        /// Without the fragment.
        fits: String,
    },
    /// It asks for a host as no canonical URL has it.
    #[error(
        "`{pattern}` can match no URL: scheme and host stand in small letters there, without the usual port; write `{fits}`"
    )]
    Host {
        /// As the user wrote it.
        pattern: String,
        /// In that form.
        fits: String,
    },
    /// They are too large together.
    #[error("the patterns are too large together (16 MiB compiled); use fewer or simpler ones")]
    TooLarge,
}

impl UrlPatterns {
    /// Compiles them.
    ///
    /// # Errors
    /// The first that is none or that can match nothing, or all of them together.
    pub fn new(written: &[String]) -> Result<Self, PatternError> {
        if let Some((pattern, fits)) = written.iter().find_map(|pattern| Some((pattern, before_fragment(pattern)?))) {
            return Err(PatternError::Fragment { pattern: pattern.clone(), fits: fits.to_owned() });
        }
        if let Some((pattern, fits)) = written.iter().find_map(|pattern| Some((pattern, with_usual_host(pattern)?))) {
            return Err(PatternError::Host { pattern: pattern.clone(), fits });
        }
        let forms =
            |readable: bool| written.iter().map(move |pattern| rewritten(pattern, readable)).collect::<Vec<_>>();
        let (canonical, readable) = (forms(false), forms(true));
        let compile = |forms: &[Cow<'_, str>]| {
            RegexSetBuilder::new(forms).size_limit(SIZE_LIMIT).build().map_err(|_| fault_of(written))
        };
        let set = compile(&canonical)?;
        let readable = if readable == canonical { None } else { Some(compile(&readable)?) };
        Ok(Self { written: written.to_vec(), canonical: set, readable })
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.written.is_empty()
    }

    /// Whether one of them matches a canonical URL.
    pub fn is_match(&self, url: &str) -> bool {
        !self.is_empty()
            && (self.canonical.is_match(url) || self.read(url, |set, form| set.is_match(form).then_some(())).is_some())
    }

    /// The first that matches a canonical URL, as the user wrote it.
    pub fn first(&self, url: &str) -> Option<&str> {
        let first = |set: &RegexSet, form: &str| set.matches(form).into_iter().next();
        let readable = self.read(url, first);
        let nth = first(&self.canonical, url).into_iter().chain(readable).min()?;
        self.written.get(nth).map(String::as_str)
    }

    /// What is found in the form that people read, where URL or patterns have another than the canonical one.
    fn read<T>(&self, url: &str, find: impl Fn(&RegexSet, &str) -> Option<T>) -> Option<T> {
        match (readable(url), &self.readable) {
            (Some(form), set) => find(set.as_ref().unwrap_or(&self.canonical), &form),
            (None, Some(set)) => find(set, url),
            (None, None) => None,
        }
    }
}

/// What to write instead; a pattern of which nothing is left would match everything.
fn advice(fits: &str) -> String {
    if matches!(fits, "" | "^") { "leave it out".to_owned() } else { format!("write `{fits}`") }
}

/// The one that does not compile; when each does, all together are too large.
fn fault_of(written: &[String]) -> PatternError {
    let faulty = |pattern: &String| Some((pattern.clone(), Regex::new(pattern).err()?));
    match written.iter().find_map(faulty) {
        None => PatternError::TooLarge,
        Some((pattern, fault)) => {
            let fault = fault.to_string();
            let fault = fault.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            PatternError::Syntax { pattern, fault }
        }
    }
}

/// A canonical URL as people read it; `None` when that is no other form.
fn readable(url: &str) -> Option<String> {
    let scheme = memchr::memmem::find(url.as_bytes(), b"://")? + 3;
    let host_end = url.get(scheme..)?.find([':', '/']).map_or(url.len(), |at| scheme + at);
    let (host, rest) = (url.get(scheme..host_end)?, url.get(host_end..)?);
    let foreign = host.split('.').any(|label| label.starts_with("xn--"));
    if !foreign && memchr::memchr(b'%', rest.as_bytes()).is_none() {
        return None;
    }
    let mut out = String::with_capacity(url.len());
    out.push_str(url.get(..scheme)?);
    let shown = if foreign { url::quirks::domain_to_unicode(host) } else { String::new() };
    out.push_str(if shown.is_empty() { host } else { &shown });
    push_read(rest, |text, _| out.push_str(text));
    Some(out)
}

/// Hands `text` on in pieces, encodings that people read as characters read (then `true`): whole characters of UTF-8, and
/// [`READABLE`].
fn push_read(text: &str, mut out: impl FnMut(&str, bool)) {
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'%', rest.as_bytes()) {
        let (before, encoded) = rest.split_at(at);
        out(before, false);
        let mut bytes = Vec::new();
        while let Some(byte) = encoded.get(bytes.len() * 3..).and_then(|rest| decoded(rest.as_bytes())) {
            bytes.push(byte);
        }
        let mut done = 0;
        for chunk in bytes.utf8_chunks() {
            for c in chunk.valid().chars() {
                let (from, to) = (done * 3, (done + c.len_utf8()) * 3);
                done += c.len_utf8();
                let is_read =
                    u8::try_from(c).map_or(!c.is_control(), |b| !b.is_ascii() && b > 0x9f || READABLE.contains(&b));
                match is_read {
                    true => out(c.encode_utf8(&mut [0; 4]), true),
                    false => out(encoded.get(from..to).unwrap_or_default(), false),
                }
            }
            let to = done + chunk.invalid().len();
            out(encoded.get(done * 3..to * 3).unwrap_or_default(), false);
            done = to;
        }
        let lone = if done == 0 { 1 } else { done * 3 }; // a `%` that encodes nothing
        if done == 0 {
            out("%", false);
        }
        rest = encoded.get(lone..).unwrap_or_default();
    }
    out(rest, false);
}

/// A pattern with its percent-encodings in canonical form, or read.
fn rewritten(pattern: &str, readable: bool) -> Cow<'_, str> {
    if !pattern.contains('%') {
        return Cow::Borrowed(pattern);
    }
    let mut out = String::with_capacity(pattern.len() + 16);
    for (piece, literal) in pieces(pattern) {
        if !literal {
            out.push_str(piece);
            continue;
        }
        let canonical = canonical_escapes(piece);
        if readable {
            push_read(&canonical, |text, is_read| match is_read {
                true => out.push_str(&regex::escape(text)),
                false => out.push_str(text),
            });
        } else {
            out.push_str(&canonical);
        }
    }
    Cow::Owned(out)
}

/// The percent-encodings of a literal in capitals; those of unreserved characters are the characters, escaped for a pattern.
fn canonical_escapes(literal: &str) -> String {
    let mut out = String::with_capacity(literal.len());
    for (piece, byte) in percent::pieces(literal) {
        match byte {
            Some(byte) if is_unreserved(byte) => out.push_str(&regex::escape(&char::from(byte).to_string())),
            Some(_) => out.push_str(&piece.to_ascii_uppercase()),
            None => out.push_str(piece),
        }
    }
    out
}

/// The pieces of a pattern: what stands outside of classes and escapes (then `true`), and these.
fn pieces(pattern: &str) -> impl Iterator<Item = (&str, bool)> {
    let mut rest = pattern;
    std::iter::from_fn(move || {
        let (length, literal) = match rest.chars().next()? {
            '\\' => (1 + rest.chars().nth(1).map_or(0, char::len_utf8), false),
            '[' => (class_length(rest), false),
            _ => (rest.find(['\\', '[']).unwrap_or(rest.len()), true),
        };
        let (piece, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        rest = after;
        Some((piece, literal))
    })
}

/// Where the class at the start of `text` ends; a `]` that comes first in it is one of its characters.
fn class_length(text: &str) -> usize {
    let (mut depth, mut escaped, mut first) = (0_usize, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' => {
                depth += 1;
                first = true;
                continue;
            }
            '^' if first => continue,
            ']' if !first => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
        first = false;
    }
    text.len()
}

/// What stands before a `#` that every match would need. A pattern in verbose mode has remarks there.
fn before_fragment(pattern: &str) -> Option<&str> {
    if !pattern.contains('#') || pattern.starts_with("(?") || is_choice(pattern) {
        return None;
    }
    let (mut at, mut depth) = (0, 0_usize);
    for (piece, literal) in pieces(pattern) {
        let inner = if literal { piece } else { "" };
        for (n, c) in inner.char_indices() {
            match c {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                '#' if depth == 0 && !inner.get(n + 1..)?.starts_with(['?', '*', '{']) => return pattern.get(..at + n),
                _ => {}
            }
        }
        if piece == "\\#" && depth == 0 && !pattern.get(at + 2..)?.starts_with(['?', '*', '{']) {
            return pattern.get(..at);
        }
        at += piece.len();
    }
    None
}

/// A pattern with scheme and host as canonical URLs have them, where it names them otherwise: capitals, the scheme's own port.
fn with_usual_host(pattern: &str) -> Option<String> {
    if pattern.starts_with("(?") || is_choice(pattern) {
        return None;
    }
    let (start, rest) = pattern.split_once("://")?;
    let scheme = start.trim_start_matches('^').to_ascii_lowercase();
    if !matches!(scheme.as_str(), "http" | "https" | "https?") {
        return None; // it may stand in a path or a query, where capitals stay
    }
    let named = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    let mut end = 0;
    while let Some(c) = rest.get(end..)?.chars().next() {
        match rest.get(end + 1..).and_then(|rest| rest.chars().next()) {
            Some('.' | '-') if c == '\\' => end += 2,
            _ if named(c) => end += c.len_utf8(),
            _ => break,
        }
    }
    let (mut host, mut behind) = rest.split_at_checked(end)?;
    if behind.starts_with(['?', '*', '{']) {
        host = host.strip_suffix(|_| true)?; // the last sign may be left out
        behind = rest.get(host.len()..)?;
    }
    let port = match scheme.as_str() {
        "http" => ":80",
        "https" => ":443",
        _ => "\0",
    };
    let without = behind.strip_prefix(port).filter(|path| path.is_empty() || path.starts_with(['/', '$']));
    let slash = if without.is_some_and(|path| path.starts_with('$')) { "/" } else { "" };
    let behind = without.unwrap_or(behind);
    let fits = format!("{}://{}{slash}{behind}", start.to_ascii_lowercase(), host.to_lowercase());
    (fits != pattern).then_some(fits)
}

/// It has alternatives that stand in no group.
fn is_choice(pattern: &str) -> bool {
    let mut depth = 0_usize;
    pieces(pattern).filter(|(_, literal)| *literal).flat_map(|(piece, _)| piece.chars()).any(|c| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == '|' && depth == 0
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Canonicaliser;
    use super::*;
    use crate::domain::cases::check;

    fn patterns(texts: &[&str]) -> Result<UrlPatterns, PatternError> {
        UrlPatterns::new(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn patterns_match_as_the_table_says() {
        check(include_str!("../../../tests/data/url_patterns.txt"), |[pattern, url]| {
            let url = Canonicaliser::default().parse(url).unwrap();
            [match patterns(&[pattern]) {
                Ok(patterns) => if patterns.is_match(url.as_str()) { "yes" } else { "no" }.to_owned(),
                Err(PatternError::Fragment { fits, .. } | PatternError::Host { fits, .. }) => format!("write {fits}"),
                Err(e) => e.to_string(),
            }]
        });
    }

    #[test]
    fn the_first_that_matches_is_named_as_it_was_written() {
        let all = patterns(&["/c/", "/%e6%96%b0/", "/新"]).unwrap();
        let url = "http://h.test/%E6%96%B0/x";
        assert_eq!((all.first(url), all.first("http://h.test/%E6%96%B0x")), (Some("/%e6%96%b0/"), Some("/新")));
        assert_eq!((all.first("http://h.test/"), all.is_match("http://h.test/")), (None, false));
        assert!(!UrlPatterns::default().is_match(url));
    }

    #[test]
    fn what_is_no_pattern_is_named_with_its_fault() {
        let fault = patterns(&["ok", "a(b"]).unwrap_err().to_string();
        assert!(fault.starts_with("`a(b` is not a regular expression: unclosed group"), "{fault}");
        let fault = patterns(&["http://h\\.test/#/x"]).unwrap_err().to_string();
        assert!(fault.ends_with("write `http://h\\.test/`"), "{fault}");
        let fault = patterns(&["#top"]).unwrap_err().to_string();
        assert!(fault.ends_with("here; leave it out"), "{fault}");
    }

    proptest! {
        /// Whatever stands in a path or a query, an address copied from a browser or from a log, and escaped, matches itself.
        #[test]
        fn an_address_copied_in_any_form_matches_its_page(tail in "[a-zé新闻ß Я%{}'^/?=&~.-]{0,12}", small: bool) {
            let Ok(url) = Canonicaliser::default().parse(&format!("http://bücher.test/{tail}")) else { return Ok(()) };
            let sent = if small { url.as_str().to_ascii_lowercase() } else { url.as_str().to_owned() };
            let shown = readable(url.as_str()).unwrap_or_else(|| url.as_str().to_owned());
            for form in [sent, shown] {
                let pattern = format!("^{}$", regex::escape(&form));
                prop_assert!(patterns(&[&pattern]).unwrap().is_match(url.as_str()), "{} for {}", pattern, url);
            }
        }
    }
}
