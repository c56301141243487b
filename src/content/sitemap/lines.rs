//! The text form of a sitemap: one URL a line (sitemaps.org, "Other Sitemap formats").

use super::{Entry, MAX_TEXT};

/// Takes the text in pieces. What begins with neither `http://` nor `https://` is no entry.
#[derive(Debug)]
pub struct Lines {
    entries: Vec<Entry>,
    max_urls: usize,
    line: String,
    too_long: bool,
    full: bool,
}

impl Lines {
    /// Takes at most `max_urls` entries.
    pub fn new(max_urls: usize) -> Self {
        Self { entries: Vec::new(), max_urls, line: String::new(), too_long: false, full: false }
    }

    /// The next piece; lines end with LF, CR or both.
    pub fn push(&mut self, text: &str) {
        for (i, part) in text.split(['\n', '\r']).enumerate() {
            if i > 0 {
                self.end_line();
            }
            self.too_long |= self.line.len() + part.len() > MAX_TEXT;
            if !self.too_long {
                self.line.push_str(part);
            }
        }
    }

    /// True when nothing more is taken.
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// The entries, and whether all were taken. `whole`: the last line is not broken off.
    pub fn finish(mut self, whole: bool) -> (Vec<Entry>, bool) {
        if whole {
            self.end_line();
        }
        (self.entries, whole && !self.full)
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let line = line.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        if std::mem::take(&mut self.too_long) || !begins_as_url(line) {
            return;
        }
        if self.entries.len() < self.max_urls {
            self.entries.push(Entry::page(line.to_owned()));
        } else {
            self.full = true;
        }
    }
}

/// `http://…` or `https://…`, in any case.
pub(crate) fn begins_as_url(text: &str) -> bool {
    let begins = |with: &str| text.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with));
    begins("http://") || begins("https://")
}
