//! The canonical URL of a page as a value: one text and the places of its parts.

use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use url::Url;

use super::UrlError;
use super::stand_in::parse_any;
use crate::domain::coded::codes;
use crate::domain::host::is_canonical_host;
use crate::domain::text::cut;

/// The longest text a [`PageUrl`] can hold, in bytes; the limit that users set lies below it.
pub const MAX_PAGE_URL_LENGTH: usize = 60_000;

codes! {
    /// The schemes whose documents are pages.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    Scheme {
        /// `http`
        Http = 0, "http";
        /// `https`
        Https = 1, "https";
    }
}

impl Scheme {
    /// The port that a URL need not name.
    pub fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }

    /// What stands before the host: `http://` or `https://`.
    fn prefix(self) -> &'static str {
        match self {
            Self::Http => "http://",
            Self::Https => "https://",
        }
    }
}

/// The absolute http or https URL of a page in canonical form: ASCII, no user information, no fragment.
///
/// Made by [`Canonicaliser`](super::Canonicaliser) from any text, or by [`PageUrl::from_parts`] and
/// [`PageUrl::from_canonical`] from what was canonical before. Equality, order and hash are those of the text: it is the key of
/// its page. It may carry the spelling under which its server is asked for it.
#[derive(Clone)]
pub struct PageUrl {
    text: Box<str>,
    scheme: Scheme,
    port: u16,
    /// Where the host ends in `text`.
    host_end: u16,
    /// Where path and query begin in `text`.
    tail_start: u16,
    /// How it is asked for, where that differs: path and query as written, behind a `.` where the host is written with a final dot.
    spelling: Option<Box<str>>,
}

impl PageUrl {
    /// The whole URL.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// http or https.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The host: lower-case ASCII; an IPv6 address stands in brackets.
    pub fn host(&self) -> &str {
        self.slice(self.scheme.prefix().len(), usize::from(self.host_end))
    }

    /// The port a connection goes to: the one named, or the scheme's own.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Path and query; begins with `/`.
    pub fn tail(&self) -> &str {
        self.slice(usize::from(self.tail_start), self.text.len())
    }

    /// The path; begins with `/`.
    pub fn path(&self) -> &str {
        cut(self.tail(), b'?').map_or(self.tail(), |(path, _)| path)
    }

    /// The folders above it, the nearest first: `/a/b/`, `/a/` and `/` for `/a/b/c?d`. Without a query; not itself.
    pub fn folders(&self) -> impl Iterator<Item = Self> {
        let path = self.path();
        let ends = path.bytes().enumerate().filter(|(_, byte)| *byte == b'/').map(|(at, _)| at + 1).collect::<Vec<_>>();
        let folders = ends.into_iter().rev().filter_map(|end| path.get(..end)).filter(|folder| *folder != self.tail());
        folders.filter_map(|folder| Self::from_parts(self.scheme, self.host(), self.port, folder).ok())
    }

    /// The query without its `?`; never empty.
    pub fn query(&self) -> Option<&str> {
        cut(self.tail(), b'?').map(|(_, query)| query)
    }

    /// `host`, or `host:port` when the port is not the scheme's own.
    pub fn authority(&self) -> String {
        self.slice(self.scheme.prefix().len(), usize::from(self.tail_start)).to_owned()
    }

    /// The same as it is asked for, perhaps with a final dot of the host: the value of a `Host` header.
    pub fn asked_authority(&self) -> String {
        let (host, port) = (self.host(), self.slice(usize::from(self.host_end), usize::from(self.tail_start)));
        format!("{host}{}{port}", if self.has_final_dot() { "." } else { "" })
    }

    /// Path and query as they are asked for.
    pub fn asked_tail(&self) -> &str {
        self.spelling().map_or(self.tail(), |spelling| spelling.strip_prefix('.').unwrap_or(spelling))
    }

    /// The whole URL as it is asked for.
    pub fn asked(&self) -> Cow<'_, str> {
        match self.spelling {
            None => Cow::Borrowed(self.as_str()),
            Some(_) => Cow::Owned(format!("{}{}{}", self.scheme.prefix(), self.asked_authority(), self.asked_tail())),
        }
    }

    /// The spelling under which it is asked for, where that is not the canonical one: what stands behind the host, the port left out.
    pub fn spelling(&self) -> Option<&str> {
        self.spelling.as_deref()
    }

    /// The same, asked for under a spelling that [`PageUrl::spelling`] gave; under its own where that can be none.
    #[must_use]
    pub fn spelled(self, spelling: Option<&str>) -> Self {
        let is_tail = |tail: &str| tail.starts_with('/') && tail.bytes().all(|b| b.is_ascii_graphic() && b != b'#');
        let can_be = |s: &&str| is_tail(s.strip_prefix('.').unwrap_or(s)) && s.len() <= MAX_PAGE_URL_LENGTH;
        let spelling = spelling.filter(can_be).filter(|spelling| *spelling != self.tail()).map(Box::from);
        Self { spelling, ..self }
    }

    fn has_final_dot(&self) -> bool {
        self.spelling().is_some_and(|spelling| spelling.starts_with('.'))
    }

    /// Puts an already canonical URL together again from its parts, as they come from storage.
    ///
    /// # Errors
    /// `Malformed` when a part cannot be that of a canonical URL (checked cheaply: characters, host, port; neither dot
    /// segments nor clean-up rules), `TooLong` above [`MAX_PAGE_URL_LENGTH`].
    pub fn from_parts(scheme: Scheme, host: &str, port: u16, tail: &str) -> Result<Self, UrlError> {
        if port == 0 || !is_canonical_host(host) || !is_canonical_tail(tail) {
            return Err(UrlError::Malformed);
        }
        Self::build(scheme, host, port, tail.len(), |text| text.push_str(tail))
    }

    /// Takes a text that was a [`PageUrl`] before; checks it as cheaply as [`PageUrl::from_parts`].
    ///
    /// # Errors
    /// `Scheme`, `Malformed` or `TooLong`, as for [`PageUrl::from_parts`].
    pub fn from_canonical(text: &str) -> Result<Self, UrlError> {
        let (scheme, rest) = match (text.strip_prefix("http://"), text.strip_prefix("https://")) {
            (Some(rest), _) => (Scheme::Http, rest),
            (_, Some(rest)) => (Scheme::Https, rest),
            _ => return Err(UrlError::Scheme),
        };
        let (authority, tail) = rest.split_at(rest.find('/').ok_or(UrlError::Malformed)?);
        let (host, port) = match authority.rsplit_once(':').filter(|_| !authority.ends_with(']')) {
            None => (authority, scheme.default_port()),
            Some((host, port)) => (host, port.parse().map_err(|_| UrlError::Malformed)?),
        };
        let url = Self::from_parts(scheme, host, port, tail)?;
        if url.as_str() == text { Ok(url) } else { Err(UrlError::Malformed) }
    }

    /// The URL as it is asked for, as the `url` crate's value, for joining links. A host that the crate refuses has a stand-in there
    /// ([`without_stand_in`](super::without_stand_in)).
    #[expect(clippy::expect_used, reason = "every constructor admits only hosts that the url crate accepts (proptest)")]
    pub fn to_url(&self) -> Url {
        parse_any(&self.asked()).or_else(|| parse_any(&self.text)).expect("a page's URL parses")
    }

    /// The URL with this checked host and port whose path and query `push_tail` appends (about `tail_length` bytes).
    pub(super) fn build(
        scheme: Scheme,
        host: &str,
        port: u16,
        tail_length: usize,
        push_tail: impl FnOnce(&mut String),
    ) -> Result<Self, UrlError> {
        let named_port = if port == scheme.default_port() { String::new() } else { format!(":{port}") };
        let host_end = scheme.prefix().len() + host.len();
        let tail_start = host_end + named_port.len();
        let mut text = String::with_capacity(tail_start + tail_length);
        text.extend([scheme.prefix(), host, &named_port]);
        push_tail(&mut text);
        if text.len() > MAX_PAGE_URL_LENGTH {
            return Err(UrlError::TooLong);
        }
        let place = |at: usize| u16::try_from(at).map_err(|_| UrlError::TooLong);
        let (host_end, tail_start) = (place(host_end)?, place(tail_start)?);
        Ok(Self { text: text.into_boxed_str(), scheme, port, host_end, tail_start, spelling: None })
    }

    /// The URL on the same scheme, host and port with another canonical path and query, which begins with `directory`.
    pub(super) fn sibling(&self, directory: &str, rest: &str, query: Option<&str>) -> Self {
        let authority = self.origin();
        let query_length = query.map_or(0, |query| query.len() + 1);
        let mut text = String::with_capacity(authority.len() + directory.len() + rest.len() + query_length);
        text.extend([authority, directory, rest]);
        text.extend(query.into_iter().flat_map(|query| ["?", query]));
        let Self { scheme, port, host_end, tail_start, .. } = *self;
        Self { text: text.into_boxed_str(), scheme, port, host_end, tail_start, spelling: None }
    }

    /// Scheme, host and port as they stand in the text: `https://example.org:8443`.
    pub(super) fn origin(&self) -> &str {
        self.slice(0, usize::from(self.tail_start))
    }

    fn slice(&self, from: usize, to: usize) -> &str {
        self.text.get(from..to).unwrap_or_default()
    }
}

/// Whether `tail` can be path and query of a canonical URL: printable ASCII without what WHATWG encodes in either.
fn is_canonical_tail(tail: &str) -> bool {
    let (path, query) = tail.split_once('?').map_or((tail, None), |(path, query)| (path, Some(query)));
    let graphic = |b: u8| b.is_ascii_graphic() && !matches!(b, b'#' | b'"' | b'<' | b'>');
    path.starts_with('/')
        && path.bytes().all(|b| graphic(b) && !matches!(b, b'\\' | b'`' | b'{' | b'}' | b'^'))
        && query.is_none_or(|query| !query.is_empty() && query.bytes().all(|b| graphic(b) && b != b'\''))
}

impl PartialEq for PageUrl {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for PageUrl {}

impl PartialOrd for PageUrl {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for PageUrl {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.text.cmp(&other.text)
    }
}

impl Hash for PageUrl {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl fmt::Debug for PageUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PageUrl({})", self.text)
    }
}

impl fmt::Display for PageUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for PageUrl {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for PageUrl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        Self::from_canonical(&text).map_err(serde::de::Error::custom)
    }
}
