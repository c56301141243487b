//! The row of sitemaps against the last visit of each.

use super::error::Result;
use super::fault::Fault;
use super::findings::Findings;
use super::stream::{Row, Stream, look, look_one};
use crate::base::time::UnixMillis;
use crate::storage::error::hex;
use crate::storage::keys::SeenKey;
use crate::storage::tables::{Failed, Pages, Seen, Sitemaps};
use crate::storage::values::{FailedValue, UrlState};

/// Rows looked up at a time.
const CHUNK: usize = 256;

/// Every entry of the row is the last visit of its URL.
pub fn rows(findings: &mut Findings<'_>) -> Result<()> {
    let mut rows = Stream::<Sitemaps>::all();
    loop {
        let chunk = rows.chunk_in(findings, &[], CHUNK)?;
        if chunk.is_empty() {
            return Ok(());
        }
        let keys: Vec<SeenKey> = chunk.iter().map(|row| row.key.seen()).collect();
        let states = look::<Seen>(findings.storage, &keys)?;
        let failed = look::<Failed>(findings.storage, &keys)?;
        for ((row, state), failed) in chunk.iter().zip(states).zip(failed) {
            if !is_last_visit(row.key.time, state.as_ref(), failed.as_ref()) {
                let subject = format!("sitemaps {}", hex(&row.raw));
                let detail = "its URL is not as it was left then";
                findings.find(Fault::SitemapStray, &subject, detail, |batch| batch.delete::<Sitemaps>(&row.key))?;
            }
        }
    }
}

fn is_last_visit(time: UnixMillis, state: Option<&UrlState>, failed: Option<&FailedValue>) -> bool {
    match state {
        Some(UrlState::Done { captured, .. }) => *captured == time,
        Some(UrlState::Error { .. }) => failed.is_some_and(|failed| failed.when == time),
        _ => false,
    }
}

/// A sitemap that is done by this capture is in the row.
pub fn there(findings: &mut Findings<'_>, key: SeenKey, page: &Row<Pages>) -> Result<()> {
    let row = key.due(page.key.captured.0);
    if page.value.sitemap.is_none() || look_one::<Sitemaps>(findings.storage, &row)?.is_some() {
        return Ok(());
    }
    findings.find(Fault::SitemapMissing, &page.value.url, "would not be read again", |b| b.put::<Sitemaps>(&row, &()))
}
