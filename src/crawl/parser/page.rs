//! One page: from the exchange to its links, facts and records.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{Parse, links, sitemap};
use crate::base::time::UnixMillis;
use crate::content::html::Page;
use crate::content::modules::HeaderDirectives;
use crate::crawl::deduper::{PageParts, Parsed};
use crate::crawl::fetcher::ending_of_verdict;
use crate::crawl::lease::Lease;
use crate::crawl::link_room::LinkPlaces;
use crate::crawl::node::Node;
use crate::crawl::parser::inspect::{Inspection, Redirect};
use crate::crawl::pulse::moved;
use crate::domain::found_as::FoundAs;
use crate::domain::note::Note;
use crate::domain::outcome::Verdict;
use crate::domain::reason::Failure;
use crate::net::protocol::Fetched;
use crate::storage::ledger::{Ending, LinkChange};
use crate::storage::values::{AsSitemap, DoneKind, PageRecord, Remarks};
use crate::warc::digest::WarcDigest;
use crate::warc::exchange::{Said, Tools, payload_of};
use crate::warc::metadata::Outlink;
use crate::warc::page::PageRecords;

/// Characters of a title that are kept.
const TITLE: usize = 512;

/// Room for the links of a page. Whoever waits for it stands still because of the Store, which has a pulse of its own.
fn room_for(node: &Node, links: usize) -> LinkPlaces {
    node.permits.links.take(links, || {
        moved();
        !node.crawl.switches.closed.load(Ordering::Acquire)
    })
}

/// Reads a page. What cannot be read is stored and recorded all the same.
pub(super) fn read(node: &Arc<Node>, tools: &mut Tools, job: Parse) -> Parsed {
    let Parse { mut lease, permit, fetched, verdict, usage, last, begun } = job;
    node.faults.pass_url("parser.page", &lease.url);
    let head = HeaderDirectives::of(&fetched.headers, &node.crawl.rules.settings.agent.robots_tokens);
    let looked = looked(node, &mut tools.buffer, (&lease, &fetched), &verdict, &head);
    node.faults.pass("parser.looked");
    lease.room = Some(room_for(node, looked.page.as_ref().map_or(0, links::at_most)));
    let onward = redirect(node, &lease, &fetched, &verdict, &looked, &head);
    let reach = links::reach(node, &lease);
    let found = links::found(node, (&lease, reach), &verdict, &onward, looked.page.as_ref(), &head);
    node.faults.pass("parser.links");
    let usage = crate::content::modules::usage(usage.as_deref(), &fetched.headers);
    let store = &node.crawl.rules.settings.store;
    let of_no_use = verdict.parses() && store.leaves_out(&looked.mime);
    let skipped = of_no_use || !store.keeps_status(fetched.status);
    let charset = looked.page.as_ref().map(|page| page.charset.name());
    let said = Said { charset, identified: looked.identified, usage: usage.as_deref(), outlinks: &found.outlinks };
    let said = (!skipped).then_some(&said);
    let (records, payload) = match archived(node, tools, &lease, begun, &fetched, said) {
        Ok(built) => built,
        Err(e) => {
            // What is not archived is not done; that is this machine's trouble, so it waits as after any other fault.
            log::error!("page not archived, it is tried again later: url={} error={e}", lease.url);
            let ending = Ending::Retry { at: node.after_spill(&lease.core().url_key), reason: Failure::Spill };
            return Parsed { begun, took: fetched.timings.total, ..Parsed::bare(lease, Some(permit), ending) };
        }
    };
    let change = found.change;
    let mut record = PageRecord {
        how: how(&verdict),
        remarks: Remarks { usage, ..remarks(&lease, &fetched, &looked, &verdict, &head, (&onward, found.refused)) },
        payload_digest: payload.0,
        out_links: u32::try_from(change.new.len() + change.turned.len() + change.foreign.len()).unwrap_or(u32::MAX),
        ..record(&lease, begun, &fetched, &looked)
    };
    record = after(last.as_deref(), record);
    let mut ending = sitemap::ending(&lease, fetched.status, ending_of_verdict(&verdict, None));
    let mut content = looked.content;
    if skipped {
        // A later page with this content could not refer to it.
        (record.how, record.content, content) = (DoneKind::Unstored, None, None);
        if ending == Ending::Done(DoneKind::Stored) {
            ending = Ending::Done(DoneKind::Unstored);
        }
    }
    Parsed {
        lease,
        permit: Some(permit),
        ending,
        parts: Some(Box::new(PageParts { record, records, content, shown: looked.shown })),
        links: change,
        reach,
        status: None, // the record has it
        begun,
        took: fetched.timings.total,
    }
}

/// What is made of an answer that was stored.
pub struct Reread<'p> {
    /// What was found in its body.
    pub looked: &'p Inspection,
    /// All that it leads to, as its metadata record lists it.
    pub outlinks: Vec<Outlink<'p>>,
    /// The same, judged.
    pub links: LinkChange,
    /// What it says of itself.
    pub remarks: Remarks,
}

/// Reads a stored answer as [`read`] reads one that has just come, and hands on what is made of it. `lease`: as it was asked for.
pub fn reread<T>(
    node: &Node,
    buffer: &mut [u8],
    (lease, fetched): (&Lease, &Fetched),
    verdict: &Verdict,
    then: impl FnOnce(Reread<'_>) -> T,
) -> T {
    let head = HeaderDirectives::of(&fetched.headers, &node.crawl.rules.settings.agent.robots_tokens);
    let looked = looked(node, buffer, (lease, fetched), verdict, &head);
    let onward = redirect(node, lease, fetched, verdict, &looked, &head);
    let found = links::found(node, (lease, links::reach(node, lease)), verdict, &onward, looked.page.as_ref(), &head);
    let remarks = remarks(lease, fetched, &looked, verdict, &head, (&onward, found.refused));
    then(Reread { looked: &looked, outlinks: found.outlinks, links: found.change, remarks })
}

/// What is in the body, as many links of it as are taken.
fn looked(
    node: &Node,
    buffer: &mut [u8],
    (lease, fetched): (&Lease, &Fetched),
    verdict: &Verdict,
    head: &HeaderDirectives,
) -> Inspection {
    let at = (&lease.url, lease.entry.found.is_sitemap());
    let looked = node.crawl.rules.inspector().look(at, fetched, verdict, head, buffer);
    looked.bounded(&node.crawl.live().canon, &lease.url, node.crawl.rules.settings.parse.max_links_per_page)
}

/// Where the page leads at once, if it does.
fn redirect(
    node: &Node,
    lease: &Lease,
    fetched: &Fetched,
    verdict: &Verdict,
    looked: &Inspection,
    head: &HeaderDirectives,
) -> Redirect {
    let set = head.sets_cookies && node.crawl.rules.settings.cookies.enabled;
    let onward = Redirect::of(&node.crawl.live().canon, &lease.url, fetched, verdict, looked.page.as_ref());
    let onward = onward.with_cookies(&lease.url, set);
    if let (Redirect::Itself, Some(note)) = (&onward, onward.note()) {
        node.telemetry.troubles.tally(note.as_str(), lease.url.to_string());
    }
    onward
}

/// The records of a page and its payload digest; of one that the settings leave out, of which nothing is `said`, the digest alone.
fn archived(
    node: &Node,
    tools: &mut Tools,
    lease: &Lease,
    begun: UnixMillis,
    fetched: &Fetched,
    said: Option<&Said<'_>>,
) -> Result<(Option<PageRecords>, WarcDigest), String> {
    let mut build = || -> Result<_, Box<dyn Error>> {
        node.faults.check("parser.archive")?;
        let Some(said) = said else { return Ok((None, payload_of(fetched)?)) };
        let records = tools.page((&lease.url, &lease.entry), begun, fetched, said)?;
        let payload = records.payload_digest();
        Ok((Some(records), payload))
    };
    let built = build().map_err(|e| e.to_string());
    node.faults.pass("parser.archived");
    built.inspect_err(|e| node.spill_failed(e))
}

fn record(lease: &Lease, begun: UnixMillis, fetched: &Fetched, looked: &Inspection) -> PageRecord {
    let title = looked.page.as_ref().and_then(|p| p.facts.title.as_deref());
    PageRecord {
        status: fetched.status,
        took_ms: u32::try_from(fetched.timings.total.as_millis()).unwrap_or(u32::MAX),
        mime: Some(short(&looked.mime, 128)).filter(|mime| !mime.is_empty()),
        bytes: fetched.body.len(),
        content: looked.content,
        etag: fetched.header("etag").map(|v| short(&v, 256)),
        last_modified: fetched.header("last-modified").map(|v| short(&v, 64)),
        title: title.map(|t| short(t, TITLE)),
        depth: lease.entry.depth,
        hops: lease.entry.hops,
        cut: fetched.cut,
        charset: looked.page.as_ref().map(|p| p.charset.name().to_ascii_lowercase()),
        origin: lease.entry.origin.clone(),
        sitemap: as_sitemap(lease, fetched.status, looked.page.as_ref()),
        print: looked.shown.as_ref().filter(|_| looked.content.is_some()).and_then(|shown| shown.print),
        ..PageRecord::new(&lease.url, begun, DoneKind::Stored)
    }
}

/// What was odd, and where it leads, and what it says of itself.
fn remarks(
    lease: &Lease,
    fetched: &Fetched,
    looked: &Inspection,
    verdict: &Verdict,
    head: &HeaderDirectives,
    (onward, refused): (&Redirect, bool),
) -> Remarks {
    let extracted = looked.page.as_ref().map(|page| &page.extracted).filter(|values| !values.is_empty());
    let mut notes = looked.notes(fetched, verdict, head, onward);
    notes.extend(refused.then_some(Note::LinksRefused));
    notes.sort_unstable();
    Remarks {
        notes,
        canonical: looked.canonical(&lease.url, verdict, head),
        target: onward.target().map(|(url, _)| url.as_str().to_owned()),
        // Maps of texts can always be written.
        extracted: extracted.and_then(|values| serde_json::to_string(values).ok()),
        ..Remarks::default()
    }
}

/// A status of redirection alone leads nowhere.
fn how(verdict: &Verdict) -> DoneKind {
    match verdict {
        Verdict::Follow => DoneKind::Redirect,
        Verdict::NotModified => DoneKind::NotModified,
        _ => DoneKind::Stored,
    }
}

/// The first `max` characters.
fn short(text: &str, max: usize) -> String {
    text.chars().take(max).collect()
}

/// As what sitemap a page was found, if it is one: by its content, or because robots.txt or an index says so.
fn as_sitemap(lease: &Lease, status: u16, page: Option<&Page>) -> Option<AsSitemap> {
    let announced = matches!(lease.entry.found, FoundAs::SitemapFile { .. }) && status < 400;
    let read = page.is_some_and(|page| page.facts.sitemap.is_some());
    let via = lease.entry.via.clone().filter(|_| lease.entry.found.is_sitemap());
    (announced || read).then_some(AsSitemap { found: lease.entry.found, via, put_off: false })
}

/// The record of a page that was fetched before. One that has not changed keeps what was found then.
fn after(last: Option<&PageRecord>, record: PageRecord) -> PageRecord {
    let Some(last) = last else { return record };
    if record.how != DoneKind::NotModified {
        let same = record.payload_digest == last.payload_digest && record.remarks.target == last.remarks.target;
        let near = last.remarks.near.clone().filter(|_| same);
        let unchanged = if same { last.unchanged.saturating_add(1) } else { 0 };
        return PageRecord { unchanged, remarks: Remarks { near, ..record.remarks }, ..record };
    }
    PageRecord {
        mime: last.mime.clone(),
        payload_digest: last.payload_digest,
        content: last.content,
        etag: record.etag.or_else(|| last.etag.clone()),
        last_modified: record.last_modified.or_else(|| last.last_modified.clone()),
        title: last.title.clone(),
        out_links: last.out_links,
        charset: last.charset.clone(),
        remarks: Remarks { notes: record.remarks.notes, ..last.remarks.clone() },
        sitemap: last.sitemap.clone(),
        print: last.print,
        not_modified: last.not_modified.saturating_add(1),
        unchanged: last.unchanged.saturating_add(1),
        ..record
    }
}
