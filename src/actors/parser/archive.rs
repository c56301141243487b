//! The WARC records of one exchange, compressed here so that the Store only appends.

use std::sync::Arc;

use crate::actors::lease::Lease;
use crate::actors::node::Node;
use crate::domain::html::Page;
use crate::domain::time::UnixMillis;
use crate::domain::url::PageUrl;
use crate::net::protocol::{Cut, Fetched};
use crate::storage::ledger::LinkChange;
use crate::warc::WarcError;
use crate::warc::digest::{Digests, WarcDigest};
use crate::warc::id::{IdSource, RecordId, Truncated};
use crate::warc::metadata::{Metadata, Outlink};
use crate::warc::record::{Capture, RecordBuilder, RecordBytes, RecordError, ResponseNotes};
use crate::warc::spool::SpoolRule;

/// What one thread needs to build records.
pub struct Tools {
    builder: RecordBuilder,
    ids: IdSource,
}

/// Bytes of a record that stay in memory.
const RECORD_MEMORY: usize = 256 * 1024;

impl Tools {
    /// With the settings of this node.
    #[must_use]
    pub fn new(node: &Node) -> Self {
        let spool = SpoolRule { dir: node.rules.spill_dir.clone(), memory: RECORD_MEMORY };
        Self { builder: RecordBuilder::new(node.rules.settings.store.compression, spool), ids: node.rules.record_ids() }
    }

    /// Builder and a new name, for the Deduper's revisit records.
    pub fn parts(&mut self) -> (&mut RecordBuilder, RecordId) {
        (&mut self.builder, self.ids.next_id())
    }
}

/// The records of a page, and what a revisit record needs if its content turns out to be known.
pub struct Stored {
    /// The response.
    pub response: RecordBytes,
    /// Request and metadata.
    pub others: Vec<RecordBytes>,
    /// The response's name, which the others refer to.
    pub response_id: RecordId,
    /// The head as stored.
    pub head: Vec<u8>,
    /// Digest of the payload.
    pub payload: WarcDigest,
    /// Where it came from.
    pub peer: std::net::IpAddr,
}

/// The records of a page: response, request, metadata.
///
/// # Errors
/// A body that cannot be read again, or a temporary file that cannot be written.
pub(super) fn page(
    _node: &Arc<Node>,
    tools: &mut Tools,
    lease: &Lease,
    begun: UnixMillis,
    fetched: &Fetched,
    page: Option<&Page>,
    links: &LinkChange,
) -> Result<Stored, RecordError> {
    let mut stored = response_and_request(tools, &lease.url, begun, fetched)?;
    let capture = Capture { url: lease.url.as_str(), date: begun, ip: Some(stored.peer) };
    let hop = if stored_is_redirect(fetched) { 'R' } else { 'L' };
    let outlinks: Vec<Outlink<'_>> = links
        .new
        .iter()
        .map(|n| &n.url)
        .chain(links.turned.iter().map(|t| &t.new.url))
        .map(|url| Outlink { url: url.as_str(), hop, context: if hop == 'R' { "location" } else { "a/@href" } })
        .collect();
    let hops = "L".repeat(usize::from(lease.entry.depth).min(64)) + &"R".repeat(usize::from(lease.entry.hops).min(64));
    let metadata = Metadata {
        via: lease.entry.via.as_deref(),
        hops_from_seed: &hops,
        fetch_time_ms: u64::try_from(fetched.timings.total.as_millis()).ok(),
        charset: page.map(|p| p.charset.name()),
        outlinks: &outlinks,
    };
    let id = tools.ids.next_id();
    stored.others.push(tools.builder.metadata(&capture, id, stored.response_id, &metadata)?);
    Ok(stored)
}

fn stored_is_redirect(fetched: &Fetched) -> bool {
    (300..400).contains(&fetched.status)
}

fn response_and_request(
    tools: &mut Tools,
    url: &PageUrl,
    begun: UnixMillis,
    fetched: &Fetched,
) -> Result<Stored, RecordError> {
    let peer = fetched.peer.ip();
    let capture = Capture { url: url.as_str(), date: begun, ip: Some(peer) };
    let head = fetched.warc_head();
    let io = |source| RecordError::Io {
        kind: crate::warc::id::RecordKind::Response,
        url: url.as_str().to_owned(),
        source,
    };
    let digests = Digests::of(&head, &mut fetched.body.reader()).map_err(io)?;
    let truncated = fetched.cut.map(|c| match c {
        Cut::Length => Truncated::Length,
        Cut::Time => Truncated::Time,
        Cut::Disconnect => Truncated::Disconnect,
    });
    let notes = ResponseNotes { truncated, identified_type: None };
    let response_id = tools.ids.next_id();
    let response =
        tools.builder.response(&capture, response_id, &head, &mut fetched.body.reader(), &digests, notes)?;
    let id = tools.ids.next_id();
    let request = tools.builder.request(&capture, id, response_id, &fetched.request_head)?;
    Ok(Stored { response, others: vec![request], response_id, head, payload: digests.payload, peer })
}

/// Response and request of an exchange that is no page (robots.txt).
///
/// # Errors
/// As for pages.
pub fn exchange(
    node: &Node,
    url: &PageUrl,
    begun: UnixMillis,
    fetched: &Fetched,
) -> Result<(Vec<RecordBytes>, Vec<u8>), RecordError> {
    let stored = response_and_request(&mut Tools::new(node), url, begun, fetched)?;
    let mut records = vec![stored.response];
    records.extend(stored.others);
    Ok((records, stored.head))
}

/// An error of the archive, in one sentence.
#[must_use]
pub fn says(e: &WarcError) -> String {
    e.to_string()
}
