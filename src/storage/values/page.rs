//! One capture of a URL, the first one of a content, and those that may not have reached the disk.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::QueueEntry;
use super::wire::fields;
use crate::base::time::UnixMillis;
use crate::domain::coded::codes;
use crate::domain::cut::Cut;
use crate::domain::fingerprint::ContentDigest;
use crate::domain::found_as::FoundAs;
use crate::domain::near::Near;
use crate::domain::note::Note;
use crate::domain::refresh::Habit;
use crate::domain::textprint::TextPrint;
use crate::domain::url::PageUrl;
use crate::domain::visit::Visit;
use crate::storage::keys::PageKey;

codes! {
    /// How a URL that is done ended.
    #[derive(Default)]
    DoneKind {
        /// Its response is in the WARC.
        #[default]
        Stored = 1, "stored";
        /// Its content was known: a revisit record is in the WARC.
        Duplicate = 2, "duplicate";
        /// The server said 304: a revisit record is in the WARC.
        NotModified = 3, "not_modified";
        /// It redirects elsewhere.
        Redirect = 4, "redirect";
        /// Fetched, and left out of the WARC by the settings.
        Unstored = 5, "unstored";
    }
}

impl DoneKind {
    /// True when its record in the archive refers to an earlier one.
    pub fn is_revisit(self) -> bool {
        matches!(self, Self::Duplicate | Self::NotModified)
    }
}

fields! {
    /// Where a record lies in the WARC files.
    #[derive(Serialize, Deserialize, ToSchema)]
    #[schema(as = WarcView)]
    WarcPlace {
        /// Name of the file, without its folder; while it is written it ends in `.open`.
        file: String,
        /// First byte of the record, as compressed.
        offset: u64,
        /// Bytes of the record, as compressed.
        length: u64,
    }
}

fields! {
    /// What is said of some captures only.
    #[derive(Default)]
    Remarks {
        /// What was odd about it, by ascending code.
        notes: Vec<Note>,
        /// Where it redirects to, as far as that is a URL.
        target: Option<String>,
        /// `<link rel=canonical>` or the header `Link` of that relation, absolute. No key: what it names is another page.
        canonical: Option<String>,
        /// What it says of its use by machines: `Content-Signal` or `Content-Usage`, as sent.
        usage: Option<String>,
        /// What the rules of `[[extract]]` found: a JSON object.
        extracted: Option<String>,
        /// What it is among near-duplicates.
        near: Option<Near>,
    }
}

fields! {
    /// One capture of a URL.
    #[derive(Default)]
    #[expect(missing_docs, reason = "each name says it")]
    PageRecord {
        url: String,
        status: u16,
        /// When the request was sent.
        fetched: UnixMillis,
        /// Milliseconds from there to the end of the body.
        took_ms: u32,
        /// Media type as used, without parameters.
        mime: Option<String>,
        /// Bytes of the body as received, without transfer coding.
        bytes: u64,
        /// SHA-1 of those bytes.
        payload_digest: [u8; 20],
        /// Digest of the decoded payload, the key in `content`.
        content: Option<ContentDigest>,
        /// Its record, unless the settings left it out.
        warc: Option<WarcPlace>,
        /// `ETag` as sent.
        etag: Option<String>,
        /// `Last-Modified` as sent.
        last_modified: Option<String>,
        title: Option<String>,
        /// Links found on it.
        out_links: u32,
        /// Links from the nearest seed.
        depth: u16,
        /// Redirects that led here in a row.
        hops: u8,
        how: DoneKind,
        /// Why the body is not whole, if it is not.
        cut: Option<Cut>,
        /// The character encoding used.
        charset: Option<String>,
        remarks: Remarks,
        /// The seed it goes back to; `None` for a seed itself.
        origin: Option<String>,
        /// As what sitemap it was found, when it is one.
        sitemap: Option<AsSitemap>,
        /// How often in a row until now it was found unchanged since the capture before.
        unchanged: u8,
        /// How it was asked for, where that is not the canonical form.
        spelling: Option<String>,
        /// The print of its text, where it has one and came whole.
        print: Option<TextPrint>,
        /// What this visit brought.
        visit: Visit,
        /// What is known of its changes after it.
        habit: Habit,
        /// When it is visited next: its row in `visits`, while the URL is done by this capture.
        next: Option<UnixMillis>,
        /// Answers 304 in a row until now.
        not_modified: u8,
        /// Why where it leads was turned away: the reason, and the rule in words.
        refused: Option<String>,
    }
}

fields! {
    /// As what a sitemap was found: with that it may speak for the same hosts when it is read again.
    AsSitemap {
        /// As what.
        found: FoundAs,
        /// The robots.txt, index or page that led to it.
        via: Option<String>,
        /// It says of a page that it was changed, and that was not heeded yet: it must be read again even if it has not changed.
        put_off: bool,
    }
}

impl PageRecord {
    /// A capture of which nothing is said but when it was made and how it ended.
    pub fn new(url: &PageUrl, fetched: UnixMillis, how: DoneKind) -> Self {
        let (url, spelling) = (url.as_str().to_owned(), url.spelling().map(str::to_owned));
        Self { url, fetched, how, spelling, ..Self::default() }
    }

    /// The URL as it was asked for: the `WARC-Target-URI` of its record.
    pub fn asked(&self) -> Cow<'_, str> {
        match (&self.spelling, PageUrl::from_canonical(&self.url)) {
            (Some(spelling), Ok(url)) => Cow::Owned(url.spelled(Some(spelling)).asked().into_owned()),
            _ => Cow::Borrowed(&self.url),
        }
    }
}

fields! {
    /// The first capture of a content: what a revisit record refers to.
    ContentValue {
        /// Its key in `pages`.
        first: PageKey,
        /// Its URL (`WARC-Refers-To-Target-URI`).
        url: String,
        /// Its date (`WARC-Refers-To-Date`).
        date: UnixMillis,
        /// Its payload digest. The same content may come in another coding: then the payload differs, and a record that says
        /// "identical payload" would be wrong.
        payload: [u8; 20],
    }
}

fields! {
    /// A page committed since the last barrier, with all that is needed to queue it again.
    #[expect(missing_docs, reason = "each name says it")]
    UnsyncedPage {
        page: PageKey,
        rank: u8,
        order: u64,
        entry: QueueEntry,
        /// Where its record should be.
        warc: WarcPlace,
        /// Number of its entry in `feed`; 0 for a half that is to be tried again.
        feed: u64,
    }
}

/// The pages of one commit. Deleted when the WARC and then the WAL are synced; after a power loss, those whose record lies
/// beyond the WARC's end are queued again (I3, I8).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unsynced(pub Vec<UnsyncedPage>);

fields! {
    /// The lines of `crawl.jsonl` of one commit. Deleted with its [`Unsynced`]; after a power loss the end of the file is written
    /// anew from them, whatever has become of it.
    #[derive(Default)]
    UnsyncedLines {
        /// Length of the file before.
        from: u64,
        /// The lines, each with its end.
        text: String,
    }
}
