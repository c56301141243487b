//! Texts that may be URLs, in the files: lines of `crawl.jsonl`, targets and links in the archive.

use std::io::{BufRead, BufReader, Read};

use super::context::Context;
use super::error::Result;
use super::findings::Findings;
use super::lines::each_line;
use super::lost::{Text, offer};
use crate::warc::jsonl::CrawlLine;
use crate::warc::reader::{WarcHeader, WarcReader};

/// Longest metadata record read, bytes.
const MAX_METADATA: u64 = 8 << 20;

/// Offers every URL in the files.
pub fn in_files(context: &mut Context<'_>, findings: &mut Findings<'_>) -> Result<()> {
    let Some(files) = &context.files else { return Ok(()) };
    let (path, limit) = (files.lines(), files.lines_limit());
    let warcs: Vec<_> = files.warcs.values().map(|warc| (warc.path.clone(), warc.limit)).collect();
    each_line(&path, limit, &mut |line| match serde_json::from_slice::<CrawlLine<'_>>(line) {
        Ok(line) => in_line(context, findings, &line),
        Err(_) => Ok(()),
    })?;
    for (path, limit) in warcs {
        // What cannot be read is found by the check itself.
        let Ok(file) = std::fs::File::open(&path) else { continue };
        let mut reader = WarcReader::new(BufReader::new(file.take(limit)), 0);
        while let Ok(Some(header)) = reader.next_record() {
            in_record(context, findings, &header, &mut reader)?;
        }
    }
    Ok(())
}

fn in_line(context: &mut Context<'_>, findings: &mut Findings<'_>, line: &CrawlLine<'_>) -> Result<()> {
    // A page of a sitemap has an M for its last link; a sitemap has one too, and is found again as deep as the page.
    let hops = line.hop_path.matches('L').count() + usize::from(line.hop_path.contains('M'));
    let depth = u16::try_from(hops).unwrap_or(u16::MAX);
    offer(context, findings, &Text { url: &line.url, depth, via: line.via.as_deref() })?;
    if let Some(via) = &line.via {
        offer(context, findings, &Text { url: via, depth: depth.saturating_sub(1), via: None })?;
    }
    match &line.seed {
        Some(seed) => offer(context, findings, &Text { url: seed, depth: 0, via: None }),
        None => Ok(()),
    }
}

fn in_record<R: BufRead>(
    context: &mut Context<'_>,
    findings: &mut Findings<'_>,
    header: &WarcHeader,
    reader: &mut WarcReader<R>,
) -> Result<()> {
    let Some(target) = header.target() else { return Ok(()) };
    if header.kind() != "metadata" {
        return offer(context, findings, &Text { url: target, depth: 0, via: None });
    }
    let mut text = Vec::new();
    if reader.content().take(MAX_METADATA).read_to_end(&mut text).is_err() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&text);
    let hops = text.lines().find_map(|line| line.strip_prefix("hopsFromSeed: ")).unwrap_or_default();
    let depth = u16::try_from(hops.matches('L').count()).unwrap_or(u16::MAX);
    for link in text.lines().filter_map(|line| line.strip_prefix("outlink: ")) {
        let url = link.split(' ').next().unwrap_or_default();
        offer(context, findings, &Text { url, depth: depth.saturating_add(1), via: Some(target) })?;
    }
    Ok(())
}
