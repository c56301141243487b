//! From what a page or a user wrote to the canonical URL.

use std::borrow::Cow;

use encoding_rs::{EncoderResult, Encoding};
use url::Url;

use super::clean::Cleaner;
use super::joiner::Joiner;
use super::page_url::{MAX_PAGE_URL_LENGTH, PageUrl, Scheme};
use super::percent::{normal, standard_path};
use super::stand_in::{masked, named};
use super::{CleanRules, UrlError};
use crate::domain::host::is_canonical_host;

/// The longest text that is looked at, in bytes (a canonical URL may be much shorter than what was written).
pub const MAX_INPUT_LENGTH: usize = 65_536;

/// Makes canonical URLs under one set of [`CleanRules`].
#[derive(Clone, Debug)]
pub struct Canonicaliser {
    pub(super) cleaner: Cleaner,
    max_length: usize,
}

impl Default for Canonicaliser {
    fn default() -> Self {
        Self::new(CleanRules::default())
    }
}

impl Canonicaliser {
    /// Compiles the rules.
    pub fn new(rules: CleanRules) -> Self {
        Self { cleaner: Cleaner::new(&rules), max_length: rules.max_url_length.min(MAX_PAGE_URL_LENGTH) }
    }

    /// The canonical form of an absolute URL.
    pub fn parse(&self, text: &str) -> Result<PageUrl, UrlError> {
        check_input(text)?;
        self.canonical(&parsed(text, Url::parse)?)
    }

    /// The canonical form of a link as it stands in a page whose base URL is `base`.
    ///
    /// `query_encoding` is the page's character encoding: browsers write the query in it (WHATWG URL, query state);
    /// `None` means UTF-8. The path is always UTF-8.
    pub fn join(&self, base: &Url, href: &str, query_encoding: Option<&'static Encoding>) -> Result<PageUrl, UrlError> {
        self.canonical(&resolved(base, href, query_encoding)?)
    }

    /// The same for where a server sends whoever asks: asked for as it is written there, marks of sessions and campaigns, an empty
    /// query and the host's final dot included, for the server may know it under no other spelling.
    pub fn join_as_written(
        &self,
        base: &Url,
        href: &str,
        query_encoding: Option<&'static Encoding>,
    ) -> Result<PageUrl, UrlError> {
        let resolved = resolved(base, href, query_encoding)?;
        let url = self.canonical(&resolved)?;
        let dot = if resolved.host_str().is_some_and(|host| host.ends_with('.')) { "." } else { "" };
        let query = resolved.query().map(|query| format!("?{query}")).unwrap_or_default();
        let written = format!("{dot}{}{query}", standard_path(resolved.path()));
        Ok(if written.len() > self.max_length { url } else { url.spelled(Some(&written)) })
    }

    /// The canonical form of a URL that the `url` crate has parsed. It is asked for with the percent-encodings as they are written;
    /// what names no page is taken away.
    pub fn canonical(&self, url: &Url) -> Result<PageUrl, UrlError> {
        let scheme = match url.scheme() {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            _ => return Err(UrlError::Scheme),
        };
        let host = named(url.host_str().ok_or(UrlError::Malformed)?);
        let host = host.strip_suffix('.').unwrap_or(&host);
        let port = url.port().unwrap_or(scheme.default_port());
        if port == 0 || !is_canonical_host(host) {
            return Err(UrlError::Malformed);
        }
        let written = self.cleaned(&standard_path(url.path()), url.query());
        let canonical = normal(&written);
        let url = PageUrl::build(scheme, host, port, canonical.len(), |text| text.push_str(&canonical))?;
        self.limited(match canonical {
            Cow::Borrowed(_) => url,
            Cow::Owned(_) => url.spelled(Some(&written)),
        })
    }

    /// Joins the links of one page: the same as [`Canonicaliser::join`], several times as fast for most links.
    ///
    /// `base` and `query_encoding` are as there.
    pub fn joiner(&self, base: Url, query_encoding: Option<&'static Encoding>) -> Joiner<'_> {
        Joiner::new(Cow::Borrowed(self), base, query_encoding)
    }

    /// The same for all `links` of one page or list. Marks of sessions that name pages there stay: those in whose values alone links
    /// differ, and one that a single link has while others have none.
    pub fn joiner_of<'l>(
        &self,
        links: impl Iterator<Item = &'l str>,
        base: Url,
        query_encoding: Option<&'static Encoding>,
    ) -> Joiner<'_> {
        let own = self
            .cleaner
            .for_links(links, base.host_str().unwrap_or_default())
            .map(|cleaner| Self { cleaner, ..self.clone() });
        Joiner::new(own.map_or(Cow::Borrowed(self), Cow::Owned), base, query_encoding)
    }

    /// The URL, unless it is too long.
    pub(super) fn limited(&self, url: PageUrl) -> Result<PageUrl, UrlError> {
        if url.as_str().len() > self.max_length { Err(UrlError::TooLong) } else { Ok(url) }
    }

    /// Path and query without what names no page, the rest as written.
    fn cleaned(&self, path: &str, query: Option<&str>) -> String {
        let mut text = String::with_capacity(path.len() + query.map_or(0, |query| query.len() + 1));
        self.cleaner.push_path(path, &mut text);
        let Some(query) = query else { return text };
        text.push('?');
        let path_end = text.len();
        self.cleaner.push_query(query, &mut text);
        if text.len() == path_end {
            text.pop();
        }
        text
    }
}

/// A link joined to its base, as the URL Standard says.
fn resolved(base: &Url, href: &str, query_encoding: Option<&'static Encoding>) -> Result<Url, UrlError> {
    check_input(href)?;
    let encode: &dyn Fn(&str) -> Cow<'_, [u8]> = &|text| encode_query(query_encoding, text);
    let options = Url::options().base_url(Some(base));
    let options = if query_encoding.is_some() { options.encoding_override(Some(encode)) } else { options };
    parsed(&two_slashes(href), |href| options.parse(href))
}

/// What `parse` makes of it, if need be under a stand-in for its host.
fn parsed(text: &str, parse: impl Fn(&str) -> Result<Url, url::ParseError>) -> Result<Url, UrlError> {
    parse(text).ok().or_else(|| parse(&masked(text)?).ok()).ok_or(UrlError::Malformed)
}

/// More slashes than two before a host count as two ("special authority ignore slashes state"); the `url` crate takes the
/// host of `///a.test/` for empty.
fn two_slashes(href: &str) -> Cow<'_, str> {
    let is_passed_over = |c: char| matches!(c, '/' | '\\' | '\t' | '\n' | '\r');
    let text = href.trim_start_matches(|c: char| c <= ' ');
    let rest = text.trim_start_matches(is_passed_over);
    let slashes = text.get(..text.len() - rest.len()).unwrap_or_default();
    let many = slashes.bytes().filter(|b| matches!(b, b'/' | b'\\')).count() > 2;
    if many { Cow::Owned(format!("//{rest}")) } else { Cow::Borrowed(href) }
}

/// Turns away, before it costs anything, what is too long or plainly of another scheme (`mailto:`, `data:` …).
fn check_input(text: &str) -> Result<(), UrlError> {
    let text = text.trim_start_matches(|c: char| c <= ' ');
    let is_scheme = |s: &str| {
        s.starts_with(|c: char| c.is_ascii_alphabetic())
            && s.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
    };
    let start = text.as_bytes().get(..32).unwrap_or(text.as_bytes());
    let colon = memchr::memchr(b':', start).and_then(|at| text.get(..at));
    if let Some(scheme) = colon.filter(|scheme| is_scheme(scheme))
        && !scheme.eq_ignore_ascii_case("http")
        && !scheme.eq_ignore_ascii_case("https")
    {
        return Err(UrlError::Scheme);
    }
    if text.len() > MAX_INPUT_LENGTH { Err(UrlError::TooLong) } else { Ok(()) }
}

/// The query's bytes in the page's encoding (WHATWG URL, "percent-encode after encoding"): a character that the
/// encoding lacks becomes `%26%23`, its number, `%3B`.
fn encode_query<'a>(encoding: Option<&'static Encoding>, text: &'a str) -> Cow<'a, [u8]> {
    let encoding = encoding.unwrap_or(encoding_rs::UTF_8).output_encoding();
    if encoding == encoding_rs::UTF_8 || (encoding.is_ascii_compatible() && text.is_ascii()) {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut encoder = encoding.new_encoder();
    let mut out = Vec::with_capacity(text.len() * 2 + 16);
    let mut rest = text;
    loop {
        out.reserve(encoder.max_buffer_length_from_utf8_without_replacement(rest.len()).unwrap_or(rest.len() * 4 + 16));
        let (result, read) = encoder.encode_from_utf8_to_vec_without_replacement(rest, &mut out, true);
        rest = rest.get(read..).unwrap_or_default();
        match result {
            EncoderResult::InputEmpty => return Cow::Owned(out),
            EncoderResult::Unmappable(c) => out.extend_from_slice(format!("%26%23{}%3B", u32::from(c)).as_bytes()),
            EncoderResult::OutputFull => {}
        }
    }
}
