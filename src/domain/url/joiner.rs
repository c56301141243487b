//! The links of one page, joined to its base.
//!
//! Most links are plain: printable ASCII without percent-encodings, on the base's own scheme, host and port, with dot
//! segments at the beginning at most. Their canonical form is a piece of the base's and a piece of the link, so they need
//! no parser. Everything else goes the long way; a property test holds the two together.

use std::borrow::Cow;

use encoding_rs::Encoding;
use url::Url;

use super::{Canonicaliser, PageUrl, UrlError};
use crate::domain::text::cut;

/// Joins links to one base; made by [`Canonicaliser::joiner`].
#[derive(Clone, Debug)]
pub struct Joiner<'a> {
    canonicaliser: Cow<'a, Canonicaliser>,
    base: Url,
    query_encoding: Option<&'static Encoding>,
    /// The base in canonical form, when it is one of a page.
    page: Option<PageUrl>,
}

impl<'a> Joiner<'a> {
    pub(super) fn new(
        canonicaliser: Cow<'a, Canonicaliser>,
        base: Url,
        query_encoding: Option<&'static Encoding>,
    ) -> Self {
        let page = canonicaliser.canonical(&base).ok();
        Self { canonicaliser, base, query_encoding, page }
    }

    /// The canonical form of a link.
    pub fn join(&self, href: &str) -> Result<PageUrl, UrlError> {
        match self.page.as_ref().filter(|page| page.spelling().is_none()).and_then(|page| self.quick(page, href)) {
            Some(url) => self.canonicaliser.limited(url),
            None => self.canonicaliser.join(&self.base, href, self.query_encoding),
        }
    }

    /// The base that links are joined to.
    pub fn base(&self) -> &Url {
        &self.base
    }

    /// The canonical form of a plain link; `None` sends it the long way.
    fn quick(&self, page: &PageUrl, href: &str) -> Option<PageUrl> {
        let link = cut(href, b'#').map_or(href, |(link, _)| link);
        if href.len() > super::MAX_INPUT_LENGTH || !ends_plainly(href) || !link.bytes().all(is_plain) {
            return None;
        }
        if link.is_empty() {
            return Some(page.clone());
        }
        let (path, query) = cut(link, b'?').map_or((link, None), |(path, query)| (path, Some(query)));
        let query = query.filter(|query| !query.is_empty());
        if query.is_some_and(|query| !self.canonicaliser.cleaner.keeps_query(query)) {
            return None;
        }
        let (directory, rest) = split(page, path)?;
        Some(page.sibling(directory, rest, query))
    }
}

/// Which part of the base's path and which part of the link's make the path of the link together.
fn split<'a>(page: &'a PageUrl, path: &'a str) -> Option<(&'a str, &'a str)> {
    let path = match path.strip_prefix(page.origin()) {
        Some(path) if path.starts_with('/') => path,
        Some(_) => return None,
        None if path.starts_with("//") || path.is_empty() || names_scheme(path) => return None,
        None => path,
    };
    if path.starts_with('/') {
        return (!has_dot_segment(path)).then_some(("", path));
    }
    let (mut directory, mut rest) = (parent(page.path()), path);
    loop {
        if let Some(after) = rest.strip_prefix("../") {
            directory = parent(directory.strip_suffix('/')?);
            rest = after;
        } else if let Some(after) = rest.strip_prefix("./") {
            rest = after;
        } else {
            return (!has_dot_segment(rest)).then_some((directory, rest));
        }
    }
}

/// The path up to its last `/`; `/` when there is none, as nothing lies above the root.
fn parent(path: &str) -> &str {
    memchr::memrchr(b'/', path.as_bytes()).and_then(|at| path.get(..=at)).unwrap_or("/")
}

/// Whether some segment begins with a dot: perhaps `.` or `..`.
fn has_dot_segment(path: &str) -> bool {
    path.starts_with('.') || memchr::memmem::find(path.as_bytes(), b"/.").is_some()
}

fn names_scheme(path: &str) -> bool {
    memchr::memchr2(b'/', b':', path.as_bytes()).is_some_and(|at| path.as_bytes().get(at) == Some(&b':'))
}

/// Whether nothing is left to trim at the end (the beginning is looked at with the rest of the link).
fn ends_plainly(href: &str) -> bool {
    href.bytes().next_back().is_none_or(|last| last > b' ')
}

/// Characters that mean the same before and after canonicalisation, in path and query alike.
fn is_plain(b: u8) -> bool {
    const PLAIN: [bool; 256] = {
        let mut table = [false; 256];
        let mut at = 0;
        while at < 256 {
            let b = at as u8;
            table[at] = b.is_ascii_alphanumeric()
                || matches!(b, b'-' | b'.' | b'_' | b'~' | b'!' | b'$' | b'&' | b'(' | b')' | b'*' | b'+')
                || matches!(b, b',' | b'/' | b':' | b'=' | b'?' | b'@');
            at += 1;
        }
        table
    };
    PLAIN.get(usize::from(b)).copied().unwrap_or(false)
}
