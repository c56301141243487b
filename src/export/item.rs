//! An entry of the feed with its capture, as it is told outside.

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::near::Near;
use crate::domain::reason::{Failure, Rejection};
use crate::domain::visit::Visit;
use crate::storage::feed::Item;
use crate::storage::values::{FeedEntry, PageRecord, WarcPlace};
use crate::warc::digest::WarcDigest;
use crate::warc::robots::RobotsPlace;

/// What became of a page. Times are milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FeedItem {
    /// The entry's number: ascending, never used twice.
    pub seq: u64,
    /// `first`, `changed`, `unchanged`, `redirect`, `gone`, `failed`, `rejected` or `erased`.
    pub kind: String,
    /// The URL's key in this folder, forty hexadecimal digits: the same for all captures of a URL.
    pub id: String,
    /// The host's key, sixteen hexadecimal digits.
    pub host_id: String,
    /// When it was committed.
    pub committed_ms: u64,
    /// The URL; none when nothing of the page is left.
    pub url: Option<String>,
    /// Why it failed or was rejected.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// The capture; none where nothing was captured, or when that is gone.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub capture: Option<CaptureView>,
    /// What was read again for it.
    #[serde(flatten)]
    pub included: Included,
}

/// What of pages is read again from the archive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the part of this name")]
pub struct Include {
    pub card: bool,
    pub text: bool,
    pub links: bool,
    pub rights: bool,
}

impl Include {
    /// Reads names apart by commas.
    ///
    /// # Errors
    /// The first that is none.
    pub fn read(names: &str) -> Result<Self, String> {
        let mut include = Self::default();
        for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            match name {
                "card" => include.card = true,
                "text" => include.text = true,
                "links" => include.links = true,
                "rights" => include.rights = true,
                other => return Err(other.to_owned()),
            }
        }
        Ok(include)
    }

    /// Whether nothing is.
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }
}

/// What was read again of a page: as much of it as was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Included {
    /// Its card (`docs/card.md`); null for what has no text.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub card: Option<serde_json::Value>,
    /// Its visible text, at most 1 MiB.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub text: Option<String>,
    /// There was more text.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub text_cut: bool,
    /// Its links, as its metadata record has them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub links: Option<Vec<LinkOf>>,
    /// What is known of the rights to it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rights: Option<Rights>,
    /// Why something is missing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unread: Option<String>,
}

/// A link of a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LinkOf {
    /// Where it leads.
    pub url: String,
    /// `L` a link, `E` an embed, `R` a redirect, `M` of a sitemap: as the metadata record has it.
    pub kind: char,
    /// Element and attribute, as `a/@href`.
    pub context: String,
    /// Its text.
    pub text: String,
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
    /// What this visit brought: the kind of its entry in the feed.
    pub visit: String,
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
    /// The page of its domain that its text is near to: the leader of its group of near-duplicates.
    pub near: Option<String>,
    /// Bits of 256 in which their sketches differ.
    pub near_distance: Option<u8>,
    /// What robots.txt and its head say of the use of its content: `Content-Signal`, `Content-Usage`.
    pub usage: Option<String>,
    /// What the rules of `[[extract]]` found, by name: a text, or a list of texts.
    pub extracted: Option<serde_json::Value>,
    /// Its record; none when the settings left it out.
    pub warc: Option<WarcPlace>,
}

/// What is known of the rights to a page beside `usage` of its capture: recorded, never judged here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Rights {
    /// `X-Robots-Tag` of the answer, as sent.
    pub robots_tag: Option<String>,
    /// The record of the robots.txt that was in force at the fetch: the newest capture of it of that moment or before. None where the archive
    /// has none.
    pub robots: Option<RobotsPlace>,
}

impl From<&PageRecord> for CaptureView {
    fn from(page: &PageRecord) -> Self {
        let near = page.remarks.near.as_ref().and_then(Near::like);
        Self {
            url: page.url.clone(),
            asked: page.spelling.as_ref().map(|_| page.asked().into_owned()),
            captured_ms: page.fetched.0,
            status: page.status,
            how: page.how.as_str().to_owned(),
            visit: page.visit.as_str().to_owned(),
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
            near: near.map(|(url, _)| url.to_owned()),
            near_distance: near.map(|(_, distance)| distance),
            usage: page.remarks.usage.clone(),
            extracted: page.remarks.extracted.as_deref().and_then(|json| serde_json::from_str(json).ok()),
            warc: page.warc.clone(),
        }
    }
}

impl From<&Item> for FeedItem {
    fn from(item: &Item) -> Self {
        Self::of(item.number, &item.entry, item.url.clone(), item.page.as_ref())
    }
}

impl FeedItem {
    /// Of an entry, its URL and its capture, as far as they are known.
    pub fn of(number: u64, entry: &FeedEntry, url: Option<String>, page: Option<&PageRecord>) -> Self {
        Self {
            seq: number,
            kind: entry.kind.as_str().to_owned(),
            id: HEXLOWER.encode(&[&entry.page.host.0[..], &entry.page.url.0].concat()),
            host_id: HEXLOWER.encode(&entry.page.host.0),
            committed_ms: entry.at.0,
            url,
            reason: reason(entry).map(str::to_owned),
            capture: page.map(CaptureView::from),
            included: Included::default(),
        }
    }
}

/// Why a page failed or was turned away.
pub fn reason(entry: &FeedEntry) -> Option<&'static str> {
    match entry.kind {
        Visit::Rejected => Rejection::from_code(entry.why?).map(Rejection::as_str),
        _ => Failure::from_code(entry.why?).map(Failure::as_str),
    }
}
