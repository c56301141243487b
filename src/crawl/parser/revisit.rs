//! What a capture owes to the one before it, and what it keeps for the next.

use crate::content::html::Page;
use crate::crawl::lease::Lease;
use crate::domain::found_as::FoundAs;
use crate::storage::values::{AsSitemap, DoneKind, PageRecord, Remarks};

/// As what sitemap a page was found, if it is one: by its content, or because robots.txt or an index says so.
pub(super) fn as_sitemap(lease: &Lease, status: u16, page: Option<&Page>) -> Option<AsSitemap> {
    let announced = matches!(lease.entry.found, FoundAs::SitemapFile { .. }) && status < 400;
    let read = page.is_some_and(|page| page.facts.sitemap.is_some());
    let via = lease.entry.via.clone().filter(|_| lease.entry.found.is_sitemap());
    (announced || read).then_some(AsSitemap { found: lease.entry.found, via, put_off: false })
}

/// The record of a page that was fetched before. One that has not changed keeps what was found then.
pub(super) fn after(last: Option<&PageRecord>, record: PageRecord) -> PageRecord {
    let Some(last) = last else { return record };
    if record.how != DoneKind::NotModified {
        let same = record.payload_digest == last.payload_digest && record.remarks.target == last.remarks.target;
        return PageRecord { unchanged: if same { last.unchanged.saturating_add(1) } else { 0 }, ..record };
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
        unchanged: last.unchanged.saturating_add(1),
        ..record
    }
}
