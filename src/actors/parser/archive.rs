//! The WARC records of one exchange, compressed here so that the Store only appends.

use crate::actors::lease::Lease;
use crate::actors::node::Node;
use crate::domain::found_as::FoundAs;
use crate::domain::html::Page;
use crate::domain::time::UnixMillis;
use crate::domain::url::PageUrl;
use crate::net::protocol::{Cut, Fetched};
use crate::storage::ledger::LinkChange;
use crate::storage::values::ContentValue;
use crate::warc::id::{IdSource, Truncated};
use crate::warc::metadata::{Metadata, Outlink};
use crate::warc::page::{PageRecords, PageSource};
use crate::warc::record::{Capture, PROFILE_IDENTICAL, RecordBuilder, RecordError, RefersTo};
use crate::warc::spool::SpoolRule;

/// Bytes of a record that stay in memory.
const RECORD_MEMORY: usize = 256 * 1024;

/// Bytes of a body looked at at a time.
const PIECE: usize = 32 * 1024;

/// What one thread needs to build records.
pub struct Tools {
    builder: RecordBuilder,
    ids: IdSource,
    /// Room for a piece of a body, kept because it costs more to clear than to fill.
    pub(super) buffer: Box<[u8]>,
}

impl Tools {
    /// With the settings of this node.
    #[must_use]
    pub fn new(node: &Node) -> Self {
        let spool = SpoolRule { dir: node.rules.spill_dir.clone(), memory: RECORD_MEMORY };
        Self {
            builder: RecordBuilder::new(node.rules.settings.store.compression, spool),
            ids: node.rules.record_ids(),
            buffer: vec![0; PIECE].into(),
        }
    }

    /// The records of an exchange, without or with the facts of a page.
    ///
    /// # Errors
    /// A body that cannot be read again, or a temporary file that cannot be written.
    pub fn exchange(
        &mut self,
        url: &PageUrl,
        begun: UnixMillis,
        fetched: &Fetched,
        metadata: Option<Metadata<'_>>,
    ) -> Result<PageRecords, RecordError> {
        let source = PageSource {
            capture: Capture { url: url.as_str(), date: begun, ip: Some(fetched.peer.ip()) },
            request_head: &fetched.request_head,
            response_head: &fetched.response_head,
            body: &fetched.body,
            truncated: fetched.cut.map(|c| match c {
                Cut::Length => Truncated::Length,
                Cut::Time => Truncated::Time,
                Cut::Disconnect => Truncated::Disconnect,
            }),
            identified_type: None,
            metadata,
        };
        self.builder.page(&mut self.ids, &source)
    }

    /// The records of a page: response, request, metadata.
    ///
    /// # Errors
    /// As for [`exchange`](Self::exchange).
    pub(super) fn page(
        &mut self,
        lease: &Lease,
        begun: UnixMillis,
        fetched: &Fetched,
        page: Option<&Page>,
        links: &LinkChange,
    ) -> Result<PageRecords, RecordError> {
        let redirect = (300..400).contains(&fetched.status);
        let (hop, context) = match page {
            _ if redirect => ('R', "location"),
            Some(page) if page.facts.sitemap.is_some() => ('M', "sitemap/loc"),
            _ => ('L', "a/@href"),
        };
        let urls = links.new.iter().chain(links.turned.iter().map(|t| &t.new)).map(|new| new.url.as_str());
        let outlinks: Vec<Outlink<'_>> = urls.map(|url| Outlink { url, hop, context }).collect();
        let hops = hop_path(&lease.entry);
        let metadata = Metadata {
            via: lease.entry.via.as_deref(),
            hops_from_seed: &hops,
            fetch_time_ms: u64::try_from(fetched.timings.total.as_millis()).ok(),
            charset: page.map(|p| p.charset.name()),
            outlinks: &outlinks,
        };
        self.exchange(&lease.url, begun, fetched, Some(metadata))
    }

    /// Turns a page's response into a revisit of `first`.
    ///
    /// # Errors
    /// As for [`exchange`](Self::exchange).
    pub fn make_revisit(&mut self, records: &mut PageRecords, first: &ContentValue) -> Result<(), RecordError> {
        let refers = RefersTo { profile: PROFILE_IDENTICAL, url: &first.url, date: first.date };
        records.make_revisit(&mut self.builder, &refers)
    }
}

/// One letter a hop: links followed from the seed, then what was taken from sitemaps, then redirects. A page that a sitemap names
/// is one link deeper than the sitemap: that link is its `M`.
#[must_use]
pub fn hop_path(entry: &crate::storage::values::QueueEntry) -> String {
    let letters = |letter: &str, n: usize| letter.repeat(n.min(64));
    let named = usize::from(entry.found == FoundAs::SitemapEntry);
    letters("L", usize::from(entry.depth).saturating_sub(named))
        + &letters("M", entry.found.sitemap_hops())
        + &letters("R", usize::from(entry.hops))
}
