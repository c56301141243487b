//! A capture of a page.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::storage::values::{PageRecord, WarcPlace};
use crate::warc::digest::WarcDigest;

/// Where a record lies in the WARC files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WarcView {
    /// Name of the file, without its folder; while it is written it ends in `.open`.
    pub file: String,
    /// First byte of the record, as compressed.
    pub offset: u64,
    /// Bytes of the record, as compressed.
    pub length: u64,
}

impl From<&WarcPlace> for WarcView {
    fn from(place: &WarcPlace) -> Self {
        Self { file: place.file.clone(), offset: place.offset, length: place.length }
    }
}

/// One capture of a URL. Times are milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CaptureView {
    /// The URL.
    pub url: String,
    /// The same as it was asked for, where that is another spelling.
    pub asked: Option<String>,
    /// When its request was sent.
    pub captured_ms: u64,
    /// HTTP status.
    pub status: u16,
    /// `stored`, `duplicate`, `not_modified`, `redirect` or `unstored`.
    pub how: String,
    /// Milliseconds from the request to the end of the body.
    pub took_ms: u32,
    /// Media type, without parameters.
    pub mime: Option<String>,
    /// Character encoding.
    pub charset: Option<String>,
    /// Bytes of the body as received.
    pub bytes: u64,
    /// Why the body is not whole: `length`, `time`, `disconnect` or `unspecified`.
    pub cut: Option<String>,
    /// SHA-1 of the body, in base32 after `sha1:`.
    pub digest: String,
    /// Where it leads at once: by redirect or refresh.
    pub target: Option<String>,
    /// Why that was turned away: the reason, and the rule in words.
    pub target_refused: Option<String>,
    /// The page's title.
    pub title: Option<String>,
    /// Links found on it.
    pub out_links: u32,
    /// Links from the nearest seed.
    pub depth: u16,
    /// Redirects that led here in a row.
    pub hops: u8,
    /// `ETag` as sent.
    pub etag: Option<String>,
    /// `Last-Modified` as sent.
    pub last_modified: Option<String>,
    /// What was odd about it, by name (`docs/operations.md`).
    pub notes: Vec<String>,
    /// The canonical URL that it names; recorded, never followed as one.
    pub canonical: Option<String>,
    /// What robots.txt and its head say of the use of its content: `Content-Signal`, `Content-Usage`.
    pub usage: Option<String>,
    /// What the rules of `[[extract]]` found, by name: a text, or a list of texts.
    pub extracted: Option<serde_json::Value>,
    /// Its record; none when the settings left it out.
    pub warc: Option<WarcView>,
}

impl From<&PageRecord> for CaptureView {
    fn from(page: &PageRecord) -> Self {
        Self {
            url: page.url.clone(),
            asked: page.spelling.as_ref().map(|_| page.asked().into_owned()),
            captured_ms: page.fetched.0,
            status: page.status,
            how: page.how.as_str().to_owned(),
            took_ms: page.took_ms,
            mime: page.mime.clone(),
            charset: page.charset.clone(),
            bytes: page.bytes,
            cut: page.cut.map(|cut| cut.as_str().to_owned()),
            digest: WarcDigest(page.payload_digest).to_string(),
            target: page.remarks.target.clone(),
            target_refused: page.refused.clone(),
            title: page.title.clone(),
            out_links: page.out_links,
            depth: page.depth,
            hops: page.hops,
            etag: page.etag.clone(),
            last_modified: page.last_modified.clone(),
            notes: page.remarks.notes.iter().map(|note| note.as_str().to_owned()).collect(),
            canonical: page.remarks.canonical.clone(),
            usage: page.remarks.usage.clone(),
            extracted: page.remarks.extracted.as_deref().and_then(|json| serde_json::from_str(json).ok()),
            warc: page.warc.as_ref().map(WarcView::from),
        }
    }
}
