//! One page: from the exchange to its links, facts and records.

use std::io::Read;
use std::sync::Arc;

use super::archive::Tools;
use super::onward::{self, Onward};
use super::{Parse, links, sitemap};
use crate::actors::deduper::{PageParts, Parsed};
use crate::actors::fetcher::{ending_of, ending_of_verdict};
use crate::actors::node::Node;
use crate::document::{DecodedEnd, decoded};
use crate::domain::fingerprint::{ContentDigest, ContentHasher};
use crate::domain::found_as::FoundAs;
use crate::domain::html::Page;
use crate::domain::mime::Kind;
use crate::domain::note::Note;
use crate::domain::outcome::{FetchOutcome, Verdict};
use crate::domain::reason::Failure;
use crate::net::protocol::{Cut, Fetched};
use crate::parse::{Body, PageSink};
use crate::storage::ledger::LinkChange;
use crate::storage::values::{self, How, PageRecord, Remarks};
use crate::warc::page::PageRecords;

/// Bytes looked at to tell the type.
const SNIFF: usize = 1_500;
/// Characters of a title that are kept.
const TITLE: usize = 512;

/// Reads a page. What cannot be read is stored and recorded all the same.
pub(super) fn read(node: &Arc<Node>, tools: &mut Tools, job: Parse) -> Parsed {
    let Parse { lease, permit, fetched, verdict, begun } = job;
    node.faults.pass_url("parser.page", &lease.url);
    let looked = look(node, &mut tools.buffer, &lease.url.to_url(), &fetched, &verdict, lease.entry.found);
    node.faults.pass("parser.looked");
    let onward = onward::of(node, &lease, &fetched, &verdict, looked.page.as_ref());
    let change: LinkChange = links::found(node, &lease, &fetched, &verdict, &onward, looked.page.as_ref());
    node.faults.pass("parser.links");
    let built = match node.faults.check("parser.archive") {
        Err(e) => Err(e.to_string()),
        Ok(()) => tools.page(&lease, begun, &fetched, looked.page.as_ref(), &change).map_err(|e| e.to_string()),
    };
    node.faults.pass("parser.archived");
    let built = built.inspect_err(|e| node.spill_failed(e));
    let records = match built {
        Ok(records) => records,
        Err(e) => {
            // What is not archived is not done; that is this machine's trouble, so it waits as after any other fault.
            log::error!("page not archived, it is tried again later: url={} error={e}", lease.url);
            let ending = ending_of(node, &FetchOutcome::Fault(Failure::Spill), lease.entry.attempts);
            return Parsed::bare(lease, Some(permit), ending).with_timing(begun, fetched.timings.total);
        }
    };
    let parts = PageParts {
        record: PageRecord {
            how: how(&verdict),
            remarks: remarks(&fetched, onward, looked.page.as_ref()),
            ..record(&lease, begun, &fetched, &looked, &records, &change)
        },
        content: looked.content,
        records,
    };
    let ending = sitemap::ending(&lease, fetched.status, ending_of_verdict(&verdict));
    Parsed {
        lease,
        permit: Some(permit),
        ending,
        parts: Some(Box::new(parts)),
        links: change,
        begun,
        took: fetched.timings.total,
    }
}

/// What looking at a body gives.
struct Looked {
    page: Option<Page>,
    content: Option<ContentDigest>,
    kind: Kind,
}

fn look(
    node: &Node,
    buffer: &mut [u8],
    url: &url::Url,
    fetched: &Fetched,
    verdict: &Verdict,
    found: FoundAs,
) -> Looked {
    let content_type = fetched.header("content-type");
    let nothing = Looked { page: None, content: None, kind: Kind::Other };
    if !verdict.parses() || fetched.body.is_empty() {
        return nothing;
    }
    let coding = fetched.header_list("content-encoding").unwrap_or_default();
    let settings = &node.rules.settings;
    let mut body = decoded(fetched.body.reader(), &coding, settings.fetch.max_decoded);
    let mut hasher = ContentHasher::new();
    let mut sink: Option<Box<dyn PageSink>> = None;
    let mut kind = None;
    let (mut wanted, mut whole) = (true, true);
    loop {
        let n = match read_some(&mut body, buffer, if kind.is_none() { SNIFF } else { 1 }) {
            Ok(0) => break,
            Ok(n) => n,
            Err(e) => {
                log::debug!("body read only in part: url={url} error={e}");
                whole = false;
                break;
            }
        };
        let piece = buffer.get(..n).unwrap_or_default();
        if kind.is_none() {
            let first = Body::sniffed(url, content_type.as_deref(), piece).found_as_sitemap(found.is_sitemap());
            sink = node.rules.modules.of(&first).map(|module| module.open(&first, &node.rules.parse));
            kind = Some(first.kind);
        }
        hasher.update(piece);
        if let (Some(sink), true) = (&mut sink, wanted) {
            wanted = sink.push(piece);
        }
    }
    Looked {
        page: sink.map(PageSink::finish),
        // Of a body that is cut, or decoded only in part, nobody knows what followed: it is the duplicate of nothing.
        content: (fetched.cut.is_none() && whole && body.end() == DecodedEnd::Whole).then(|| hasher.finish()),
        kind: kind.unwrap_or(Kind::Other),
    }
}

/// Reads at least `least` bytes, unless the body ends before.
fn read_some(body: &mut impl Read, buffer: &mut [u8], least: usize) -> std::io::Result<usize> {
    let mut n = 0;
    while n < least {
        match body.read(buffer.get_mut(n..).unwrap_or_default()) {
            Ok(0) => break,
            Ok(more) => n += more,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) if n == 0 => return Err(e),
            Err(_) => break,
        }
    }
    Ok(n)
}

fn record(
    lease: &crate::actors::lease::Lease,
    begun: crate::domain::time::UnixMillis,
    fetched: &Fetched,
    looked: &Looked,
    records: &PageRecords,
    links: &LinkChange,
) -> PageRecord {
    let title = looked.page.as_ref().and_then(|p| p.facts.title.as_deref());
    let out_links = links.new.len() + links.turned.len();
    PageRecord {
        url: lease.url.as_str().to_owned(),
        status: fetched.status,
        fetched: begun,
        took_ms: u32::try_from(fetched.timings.total.as_millis()).unwrap_or(u32::MAX),
        mime: mime_of(fetched, looked.kind),
        bytes: fetched.body.len(),
        payload_digest: records.payload_digest().0,
        content: looked.content,
        warc: None,
        etag: fetched.header("etag").map(|v| short(&v, 256)),
        last_modified: fetched.header("last-modified").map(|v| short(&v, 64)),
        title: title.map(|t| short(t, TITLE)),
        out_links: u32::try_from(out_links).unwrap_or(u32::MAX),
        depth: lease.entry.depth,
        hops: lease.entry.hops,
        how: How::Stored,
        cut: fetched.cut.map(|c| match c {
            Cut::Length => values::Cut::Length,
            Cut::Time => values::Cut::Time,
            Cut::Disconnect => values::Cut::Disconnect,
        }),
        charset: looked.page.as_ref().map(|p| p.charset.name().to_ascii_lowercase()),
        remarks: Remarks::default(),
        origin: lease.entry.origin.clone(),
    }
}

/// What was odd, each once and in order, and where it leads.
fn remarks(fetched: &Fetched, onward: Onward, page: Option<&Page>) -> Remarks {
    let mut notes = fetched.notes.clone();
    notes.extend(onward.note);
    notes.extend(page.filter(|page| page.extract_skipped).map(|_| Note::ExtractSkipped));
    let extracted = page.map(|page| &page.extracted).filter(|values| !values.is_empty());
    notes.sort_unstable();
    notes.dedup();
    Remarks {
        notes,
        target: onward.to.map(|url| url.as_str().to_owned()),
        // Maps of texts can always be written.
        extracted: extracted.and_then(|values| serde_json::to_string(values).ok()),
        ..Remarks::default()
    }
}

/// A status of redirection alone leads nowhere.
fn how(verdict: &Verdict) -> How {
    if matches!(verdict, Verdict::Follow) { How::Redirect } else { How::Stored }
}

/// The type as sent; where none was sent, the one found by looking.
fn mime_of(fetched: &Fetched, kind: Kind) -> Option<String> {
    let header = fetched.header("content-type").unwrap_or_default();
    let essence = header.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if !essence.is_empty() {
        return Some(short(&essence, 128));
    }
    let found = match kind {
        Kind::Html => "text/html",
        Kind::Xhtml => "application/xhtml+xml",
        Kind::Xml => "text/xml",
        Kind::Text => "text/plain",
        Kind::Other => return None,
    };
    Some(found.to_owned())
}

/// The first `max` characters.
fn short(text: &str, max: usize) -> String {
    text.chars().take(max).collect()
}
