//! The table of captures: the columns of Common Crawl's `cc-index-table`, by name, type and order, then those that Lycosa adds.
//!
//! A row is a list of JSON values in the order of [`COLUMNS`], so that it can be sorted in a file before it is written.

use serde_json::Value;

use crate::domain::host::{Suffixes, domain_under};
use crate::domain::url::PageUrl;
use crate::export::item::Rights;
use crate::storage::values::PageRecord;
use crate::warc::digest::WarcDigest;
use crate::warc::surt::surt;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    /// 16 bits.
    Short,
    /// 32 bits.
    Int,
    /// A place in a WARC: 32 bits as Common Crawl has it, 64 where files are larger.
    Place,
    /// 64 bits.
    Long,
    /// Milliseconds since 1970, UTC.
    Time,
}

/// A column: its name, what it holds, and whether it always does.
pub(super) type Column = (&'static str, Kind, bool);

/// Its number in [`COLUMNS`] is its number in a row.
#[rustfmt::skip]
pub(super) const COLUMNS: &[Column] = &[
    ("url_surtkey", Kind::Text, true),
    ("url", Kind::Text, true),
    ("url_host_name", Kind::Text, true),
    ("url_host_tld", Kind::Text, false),
    ("url_host_2nd_last_part", Kind::Text, false),
    ("url_host_3rd_last_part", Kind::Text, false),
    ("url_host_4th_last_part", Kind::Text, false),
    ("url_host_5th_last_part", Kind::Text, false),
    ("url_host_registry_suffix", Kind::Text, false),
    ("url_host_registered_domain", Kind::Text, false),
    ("url_host_private_suffix", Kind::Text, false),
    ("url_host_private_domain", Kind::Text, false),
    ("url_host_name_reversed", Kind::Text, false),
    ("url_protocol", Kind::Text, true),
    ("url_port", Kind::Int, false),
    ("url_path", Kind::Text, true),
    ("url_query", Kind::Text, false),
    ("fetch_time", Kind::Time, true),
    ("fetch_status", Kind::Short, true),
    ("fetch_redirect", Kind::Text, false),
    ("content_digest", Kind::Text, false),
    ("content_mime_type", Kind::Text, false),
    ("content_mime_detected", Kind::Text, false),
    ("content_charset", Kind::Text, false),
    ("content_languages", Kind::Text, false),
    ("content_truncated", Kind::Text, false),
    ("warc_filename", Kind::Text, true),
    ("warc_record_offset", Kind::Place, true),
    ("warc_record_length", Kind::Place, true),
    ("warc_segment", Kind::Text, true),
    ("crawl", Kind::Text, true),
    ("subset", Kind::Text, true),
    // Lycosa's own.
    ("depth", Kind::Int, true),
    ("title", Kind::Text, false),
    ("out_links", Kind::Long, true),
    ("usage", Kind::Text, false),
    ("seq", Kind::Long, true),
];

/// Behind them with the option `rights`.
pub(super) const RIGHTS: &[Column] = &[
    ("rights_robots_tag", Kind::Text, false),
    ("rights_robots_status", Kind::Short, false),
    ("rights_robots_filename", Kind::Text, false),
    ("rights_robots_offset", Kind::Long, false),
];

/// The values of these.
pub(super) fn rights(rights: &Rights) -> [Value; 4] {
    let robots = rights.robots.as_ref();
    [
        rights.robots_tag.as_deref().into(),
        robots.and_then(|robots| robots.status).into(),
        robots.map(|robots| &*robots.file).into(),
        robots.map(|robots| robots.offset).into(),
    ]
}

/// What a row is made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told<'a> {
    /// The number of its entry in the feed.
    pub seq: u64,
    /// The capture; its record is in the archive.
    pub page: &'a PageRecord,
    /// `Content-Type` as sent, without parameters.
    pub mime_sent: Option<&'a str>,
    /// ISO 639-3.
    pub language: Option<&'a str>,
    /// The name of the crawl.
    pub crawl: &'a str,
}

/// The row of a capture; none when it has no record in the archive, or its URL is none.
pub(super) fn row(told: &Told<'_>) -> Option<Vec<Value>> {
    let page = told.page;
    let (url, place) = (PageUrl::from_canonical(&page.url).ok()?, page.warc.as_ref()?);
    let host = url.host();
    let mut row = vec![surt(&page.url).into(), page.url.as_str().into(), host.into()];
    push_host(&mut row, host);
    let port = Some(url.port()).filter(|port| *port != url.scheme().default_port());
    let protocol = page.url.split_once(':').map_or("", |(scheme, _)| scheme);
    row.extend([protocol.into(), port.into(), url.path().into(), url.query().into()]);
    let mime_detected = page.mime.as_deref();
    row.extend([
        page.fetched.0.into(),
        page.status.into(),
        page.remarks.target.as_deref().into(),
        WarcDigest(page.payload_digest).to_string().trim_start_matches("sha1:").into(),
        told.mime_sent.or(mime_detected).into(),
        mime_detected.into(),
        page.charset.as_deref().into(),
        told.language.into(),
        page.cut.map(|cut| cut.as_str()).into(),
        place.file.trim_end_matches(".open").into(),
        place.offset.into(),
        place.length.into(),
        "".into(),
        told.crawl.into(),
        if (200..300).contains(&page.status) { "warc" } else { "crawldiagnostics" }.into(),
        page.depth.into(),
        page.title.as_deref().into(),
        page.out_links.into(),
        page.remarks.usage.as_deref().into(),
        told.seq.into(),
    ]);
    Some(row)
}

/// The parts of a host's name, from the last, and its suffixes. An address has none.
fn push_host(row: &mut Vec<Value>, host: &str) {
    let named = !crate::domain::host::is_ip_literal(host);
    let reversed: Vec<&str> = if named { host.rsplit('.').collect() } else { Vec::new() };
    row.extend((0..5).map(|nth| reversed.get(nth).copied().into()));
    let suffixes = Suffixes::of(host);
    for suffix in [suffixes.map(|of| of.registry), suffixes.map(|of| of.private)] {
        row.extend([suffix.into(), suffix.and_then(|suffix| domain_under(host, suffix)).into()]);
    }
    row.push(Some(reversed.join(".")).filter(|name| !name.is_empty()).into());
}
