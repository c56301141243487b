//! What a fetch takes and gives: a request for one URL at one checked address, and the answer with its exact heads, its body as a [`Document`] and the time each phase took.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::base::units::{Wrapped, duration, size};
use crate::document::{Decoded, Document, SpillConfig, decoded_as};
use crate::domain::note::Note;
use crate::domain::reason::Failure;
use crate::domain::text::url_text;
use crate::domain::url::PageUrl;

pub use super::head::HttpVersion;
use super::proxy::Proxy;
use crate::domain::cut::Cut;

/// One fetch: the URL, and the addresses it was resolved to. Redirects are answers like others; nothing is followed here.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "each name says it")]
pub struct FetchRequest {
    pub url: PageUrl,
    /// The addresses to connect to, one after the other until one accepts; resolved and checked by the caller. The module
    /// checks each again before it connects. Empty only where a proxy looks the name up ([`Proxy::resolves`]).
    pub addresses: Vec<SocketAddr>,
    /// `User-Agent`, `From`, `Accept`, `Accept-Encoding`, `Accept-Language` and the like, in the order to be sent.
    /// `Host` and `Connection` are the module's own and ignored here; credentials and cookies are chosen by it.
    pub headers: Vec<(String, String)>,
    pub via: Option<Arc<Proxy>>,
    /// Neither credentials nor cookies go with it, and none are learned from its answer: the URL is one that somebody else named, outside what is crawled.
    pub anonymous: bool,
    /// Validators of the copy we have; sent as `If-None-Match` and `If-Modified-Since`.
    pub conditional: Option<Conditional>,
    pub limits: FetchLimits,
}

/// Validators of an earlier capture, as the server gave them (RFC 9110 section 13.1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditional {
    /// Value of `ETag`.
    pub etag: Option<String>,
    /// Value of `Last-Modified`.
    pub last_modified: Option<String>,
}

/// Time-outs by phase and size caps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchLimits {
    /// Time-outs.
    pub timeouts: TimeoutsSection,
    /// Bytes of body kept (payload without transfer coding, content coding still on); what follows is cut off.
    pub max_body: u64,
    /// Bytes of body kept in memory before it goes to a spill file.
    pub memory_body: usize,
}

impl Default for FetchLimits {
    /// 100 MiB, 64 KiB.
    fn default() -> Self {
        Self { timeouts: TimeoutsSection::default(), max_body: 100 << 20, memory_body: 64 << 10 }
    }
}

impl FetchLimits {
    /// The spill rules of one body under these limits.
    pub(super) fn spill(&self, base: &SpillConfig) -> SpillConfig {
        SpillConfig { memory_body: self.memory_body, ..base.clone() }
    }
}

/// What the time-outs are where none is named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// 10 s to connect, 10 s for TLS, 30 s to the first byte.
    #[default]
    Standard,
    /// 5 s each.
    Strict,
}

/// `[fetch.timeouts]`: time-outs by phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "GivenTimeouts")]
pub struct TimeoutsSection {
    /// What holds for those that are not named.
    pub preset: Preset,
    /// TCP connection.
    #[serde(with = "duration")]
    pub connect: Duration,
    /// TLS handshake.
    #[serde(with = "duration")]
    pub tls: Duration,
    /// From the request sent to the whole head of the answer.
    #[serde(with = "duration")]
    pub first_byte: Duration,
    /// Whole body.
    #[serde(with = "duration")]
    pub body: Duration,
    /// Bytes a second a body must keep up, measured over `min_rate_window`; none where either is nothing.
    #[serde(with = "size")]
    pub min_rate: u64,
    /// Window of `min_rate`.
    #[serde(with = "duration")]
    pub min_rate_window: Duration,
}

/// The same as it is written: what is absent comes from the preset.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct GivenTimeouts {
    preset: Preset,
    connect: Option<Wrapped<Duration>>,
    tls: Option<Wrapped<Duration>>,
    first_byte: Option<Wrapped<Duration>>,
    body: Option<Wrapped<Duration>>,
    min_rate: Option<Wrapped<u64>>,
    min_rate_window: Option<Wrapped<Duration>>,
}

impl From<GivenTimeouts> for TimeoutsSection {
    fn from(given: GivenTimeouts) -> Self {
        let preset = Self::of(given.preset);
        Self {
            preset: given.preset,
            connect: given.connect.map_or(preset.connect, |given| given.0),
            tls: given.tls.map_or(preset.tls, |given| given.0),
            first_byte: given.first_byte.map_or(preset.first_byte, |given| given.0),
            body: given.body.map_or(preset.body, |given| given.0),
            min_rate: given.min_rate.map_or(preset.min_rate, |given| given.0),
            min_rate_window: given.min_rate_window.map_or(preset.min_rate_window, |given| given.0),
        }
    }
}

impl TimeoutsSection {
    /// What holds where no time-out is named: 10 s, 10 s, 30 s, 20 min and 1 KiB/s over 60 s; under `strict` the answer must begin within
    /// the source paper's 5 s.
    pub fn of(preset: Preset) -> Self {
        let (connect, first_byte) = match preset {
            Preset::Standard => (Duration::from_secs(10), Duration::from_secs(30)),
            Preset::Strict => (Duration::from_secs(5), Duration::from_secs(5)),
        };
        let (body, min_rate_window) = (Duration::from_secs(20 * 60), Duration::from_secs(60));
        Self { preset, connect, tls: connect, first_byte, body, min_rate: 1_024, min_rate_window }
    }

    /// The longest that a request may take: a connection that went stale, or that only old TLS can follow, is replaced, so all but the
    /// body may come twice.
    pub fn slowest(&self) -> Duration {
        let before = self.connect.saturating_add(self.tls).saturating_add(self.first_byte);
        before.saturating_mul(2).saturating_add(self.body)
    }
}

impl Default for TimeoutsSection {
    fn default() -> Self {
        Self::of(Preset::Standard)
    }
}

/// How long each phase took; zero for a phase that did not happen (a reused connection, plain http).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timings {
    /// Name resolution, when the caller measured it.
    pub dns: Option<Duration>,
    /// TCP connection.
    pub connect: Duration,
    /// TLS handshake.
    pub tls: Duration,
    /// From the request handed to the connection to the first byte of the answer.
    pub first_byte: Duration,
    /// From the first byte of the answer to its end.
    pub body: Duration,
    /// The whole fetch, without name resolution.
    pub total: Duration,
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// The status code, 100 to 999.
    pub status: u16,
    /// The header lines in the order, case and bytes received; folded lines joined by a space, lines that are none left out.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The exact bytes of the request.
    pub request_head: Vec<u8>,
    /// The exact bytes of the answer's head, with the empty line that ends it; informational answers (1xx) left out.
    pub response_head: Vec<u8>,
    /// The payload without transfer coding, content coding still on.
    pub body: Document,
    /// The body as it came, chunk lines and trailers included, where that was asked for and can be had. Not of a chunked body
    /// that is cut.
    pub exact: Option<Document>,
    /// Why the body is not whole, if it is not.
    pub cut: Option<Cut>,
    /// The address that answered; none where a proxy looked the name up.
    pub peer: Option<SocketAddr>,
    /// How long each phase took.
    pub timings: Timings,
    /// What is wrong with the server's certificate, under `tls.verify = record`.
    pub tls_fault: Option<String>,
    /// What was odd about the answer.
    pub notes: Vec<Note>,
    /// Whether an open connection was used again.
    pub reused: bool,
    /// The version of the answer.
    pub version: HttpVersion,
    /// Bytes received, heads and transfer coding included.
    pub wire_bytes: u64,
}

impl Fetched {
    /// An answer of which nothing is known but this: one from a file.
    pub fn saved(status: u16, headers: Vec<(String, Vec<u8>)>, body: Document) -> Self {
        Self {
            status,
            headers,
            request_head: Vec::new(),
            response_head: Vec::new(),
            wire_bytes: body.len(),
            body,
            exact: None,
            cut: None,
            peer: None,
            timings: Timings::default(),
            tls_fault: None,
            notes: Vec::new(),
            reused: false,
            version: HttpVersion::Http11,
        }
    }

    /// The first header of that name (any case), with what is no UTF-8 replaced.
    pub fn header(&self, name: &str) -> Option<std::borrow::Cow<'_, str>> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| String::from_utf8_lossy(v))
    }

    /// The first header of that name (any case) that holds a URL, or begins with one: see [`url_text`].
    pub fn reference(&self, name: &str) -> Option<std::borrow::Cow<'_, str>> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| url_text(v))
    }

    /// The declared type; several lines are one list, of which the last counts (Fetch, "extract a MIME type").
    pub fn content_type(&self) -> Option<String> {
        self.header_list("content-type")
    }

    /// All headers of that name joined by `, ` (RFC 9110 section 5.3); none if there is none.
    pub fn header_list(&self, name: &str) -> Option<String> {
        let named = self.headers.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name));
        let values: Vec<_> = named.map(|(_, v)| String::from_utf8_lossy(v)).collect();
        (!values.is_empty()).then(|| values.join(", "))
    }

    /// The body with its content codings taken off, at most `max_decoded` bytes of it; a reader of its own each time.
    pub fn decoded_body(&self, max_decoded: u64) -> Decoded<'static> {
        let coding = self.header_list("content-encoding").unwrap_or_default();
        decoded_as(self.body.reader(), &coding, self.content_type().as_deref(), max_decoded)
    }
}

/// A fetch without an answer.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{failure}: {detail}")]
pub struct FetchFault {
    /// The reason, as stored.
    pub failure: Failure,
    /// What happened, for people.
    pub detail: String,
    /// How long each phase took up to then.
    pub timings: Timings,
}
