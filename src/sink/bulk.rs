//! Documents of OpenSearch and Elasticsearch, as lines of a request of `_bulk`.
//!
//! The version of all that is sent of a page is the time of its newest capture, compared as `external_gte`: to send it again does no harm, and
//! what is older never takes the place of what is newer.

use std::io;

use data_encoding::HEXLOWER;
use serde::Serialize;
use serde_json::json;

use super::outbox::Piece;
use crate::domain::card::Card;
use crate::export::{ExportError, Row};
use crate::storage::keys::SeenKey;
use crate::storage::newest::{Newest, id};
use crate::warc::date::iso;
use crate::warc::digest::WarcDigest;

/// A document.
#[derive(Serialize)]
struct Document<'a> {
    url: &'a str,
    host: &'a str,
    /// Of the newest capture with content; times as ISO 8601.
    captured: String,
    /// Since when it has this content.
    changed: String,
    status: u16,
    mime: Option<&'a str>,
    lang: Option<&'a str>,
    digest: String,
    depth: u16,
    /// It could not be fetched the last time.
    stale: bool,
    card: Option<&'a Card>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    text_cut: bool,
    /// Why card and text are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    unread: Option<&'a str>,
}

/// Puts the document of a page in; none for a page that has no text after all. `row`: the capture of `newest`.
///
/// # Errors
/// The storage's own.
pub fn put(row: &Row<'_>, newest: &Newest, version: u64, with_text: bool) -> Result<Option<Piece>, ExportError> {
    let (Some(url), read) = (row.url(), row.read()?) else { return Ok(None) };
    if read.is_none() && row.unread().is_none() {
        return Ok(None);
    }
    let (page, card) = (&newest.page, row.card()?);
    let facts = read.map(|page| &page.facts).filter(|_| with_text);
    let document = Document {
        url: &page.url,
        host: url.host(),
        captured: iso(page.fetched),
        changed: iso(newest.changed),
        status: row.status()?,
        mime: page.mime.as_deref(),
        lang: card.and_then(|card| card.language.as_deref()),
        digest: WarcDigest(page.payload_digest).to_string(),
        depth: page.depth,
        stale: newest.stale,
        card,
        text: facts.map(|facts| facts.text.as_str()),
        text_cut: facts.is_some_and(|facts| facts.text_cut),
        unread: row.unread(),
    };
    let mut piece = Piece { url: Some(page.url.clone()), ..begun("index", row.number, newest.key, version) };
    serde_json::to_writer(&mut piece.bytes, &document).map_err(io::Error::from)?;
    piece.bytes.push(b'\n');
    Ok(Some(piece))
}

/// Takes the document of a page away, if there is one.
pub fn remove(seq: u64, page: SeenKey, version: u64, url: Option<String>) -> Piece {
    Piece { url, removes: true, ..begun("delete", seq, page, version) }
}

/// The line that says what is done with which document.
fn begun(action: &str, seq: u64, page: SeenKey, version: u64) -> Piece {
    let id = HEXLOWER.encode(&id(page));
    let line = json!({ action: { "_id": id, "version": version, "version_type": "external_gte" } });
    Piece { seq, id, bytes: format!("{line}\n").into_bytes(), ..Piece::default() }
}
