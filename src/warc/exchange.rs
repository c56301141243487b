//! The WARC records of one exchange, compressed here so that the Store only appends.

use std::path::PathBuf;

use crate::base::time::UnixMillis;
use crate::domain::found_as::FoundAs;
use crate::domain::url::PageUrl;
use crate::net::protocol::Fetched;
use crate::storage::values::{ContentValue, DoneKind, QueueEntry};
use crate::warc::digest::{Digests, WarcDigest};
use crate::warc::member::Compression;
use crate::warc::metadata::{Metadata, Outlink};
use crate::warc::page::PageRecords;
use crate::warc::record::{
    Capture, PROFILE_IDENTICAL, PROFILE_NOT_MODIFIED, RecordBuilder, RecordError, RefersTo, SpoolRule,
};

/// Bytes of a record that stay in memory.
const RECORD_MEMORY: usize = 256 * 1024;

/// Bytes of a body looked at at a time.
const PIECE: usize = 32 * 1024;

/// What one thread needs to build records.
pub struct Tools {
    builder: RecordBuilder,
    /// Room for a piece of a body, kept because it costs more to clear than to fill.
    pub buffer: Box<[u8]>,
}

impl Tools {
    /// For records compressed so, with or without a digest of a response's whole block; what is too long for memory is built in
    /// `folder`.
    pub fn new(compression: Compression, block_digest: bool, folder: PathBuf) -> Self {
        let spool = SpoolRule { dir: folder, memory: RECORD_MEMORY };
        let builder = RecordBuilder::new(compression, spool).with_block_digest(block_digest);
        Self { builder, buffer: vec![0; PIECE].into() }
    }

    /// The records of an exchange, without or with the facts of a page and the media type that it was found to be.
    ///
    /// # Errors
    /// A body that cannot be read again, or a temporary file that cannot be written.
    pub fn exchange(
        &mut self,
        url: &PageUrl,
        begun: UnixMillis,
        fetched: &Fetched,
        (metadata, identified_type): (Option<Metadata<'_>>, Option<&str>),
    ) -> Result<PageRecords, RecordError> {
        let asked = url.asked();
        let capture = Capture { url: &asked, date: begun, ip: fetched.peer.map(|peer| peer.ip()) };
        self.builder.page(&capture, fetched, metadata, identified_type)
    }

    /// The records of a page: response, request, metadata.
    pub fn page(
        &mut self,
        (url, entry): (&PageUrl, &QueueEntry),
        begun: UnixMillis,
        fetched: &Fetched,
        said: &Said<'_>,
    ) -> Result<PageRecords, RecordError> {
        let hops = hop_path(entry);
        let metadata = Metadata {
            via: entry.via.as_deref(),
            hops_from_seed: &hops,
            fetch_time_ms: u64::try_from(fetched.timings.total.as_millis()).ok(),
            charset: said.charset,
            usage: said.usage,
            outlinks: said.outlinks,
        };
        self.exchange(url, begun, fetched, (Some(metadata), said.identified))
    }

    /// Turns a page's response into a revisit of `first`: it has the same payload, or says that it has not changed since.
    pub fn make_revisit(
        &mut self,
        records: &mut PageRecords,
        first: &ContentValue,
        how: DoneKind,
    ) -> Result<(), RecordError> {
        let profile = if how == DoneKind::NotModified { PROFILE_NOT_MODIFIED } else { PROFILE_IDENTICAL };
        let refers = RefersTo { profile, url: &first.url, date: first.date };
        records.make_revisit(&mut self.builder, &refers, WarcDigest(first.payload))
    }
}

/// What the metadata record of a page holds beside how it was found.
#[derive(Clone, Copy)]
pub struct Said<'a> {
    /// The encoding it was read in.
    pub charset: Option<&'a str>,
    /// The media type that looking at it showed.
    pub identified: Option<&'a str>,
    /// What is said of its use.
    pub usage: Option<&'a str>,
    /// Where it leads.
    pub outlinks: &'a [Outlink<'a>],
}

/// The payload digest of an answer of which no record is made.
///
/// # Errors
/// A body that cannot be read again.
pub fn payload_of(fetched: &Fetched) -> std::io::Result<WarcDigest> {
    Ok(Digests::of(None, &fetched.body)?.payload)
}

/// One letter a hop: links followed from the seed, then what was taken from sitemaps, then redirects. A page that a sitemap names
/// is one link deeper than the sitemap: that link is its `M`.
pub fn hop_path(entry: &QueueEntry) -> String {
    let letters = |letter: &str, n: usize| letter.repeat(n.min(64));
    let named = usize::from(entry.found == FoundAs::SitemapEntry);
    letters("L", usize::from(entry.depth).saturating_sub(named))
        + &letters("M", entry.found.sitemap_hops())
        + &letters("R", usize::from(entry.hops))
}
