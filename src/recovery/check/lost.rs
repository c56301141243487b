//! Lost and found: URLs that are known by their key only, and hosts without a name, looked for in every text there is: other records,
//! lines of `crawl.jsonl`, targets and links in the archive.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};

use super::lines::each_line;
use super::pass::{Pass, entry_of};
use super::stream::each;
use super::{Fault, Result};
use crate::domain::fingerprint::{KeyMap, KeySet};
use crate::domain::found_as::FoundAs;
use crate::domain::reach::Reach;
use crate::domain::reason::Rejection;
use crate::domain::url::PageUrl;
use crate::storage::Batch;
use crate::storage::error::hex;
use crate::storage::keys::{HostAt, Key, SeenKey};
use crate::storage::tables::{Failed, HostState, Pages, Queue, Rejected, Seeds, Seen};
use crate::storage::values::{self, FailedValue, QueueEntry, RejectedValue};
use crate::warc::jsonl::CrawlLine;
use crate::warc::reader::{WarcHeader, WarcReader};

/// URLs looked for in one round; more wait for the next.
const CAP: usize = 500_000;

/// What is to become of a URL when its text is found.
#[derive(Clone, Copy, Debug)]
pub enum Want {
    /// Queue it; the way to it is known, or its depth that of where it is found.
    Queue(Option<Reach>),
    /// Keep it as rejected.
    Keep { reason: Rejection, generation: u32, depth: u16 },
}

#[derive(Default)]
pub struct Lost {
    urls: KeyMap<SeenKey, (Fault, Want)>,
    hosts: KeySet<HostAt>,
    given_up: KeySet<HostAt>,
}

impl Lost {
    pub fn url(&mut self, key: SeenKey, fault: Fault, want: Want) {
        if self.urls.len() < CAP {
            self.urls.insert(key, (fault, want));
        }
    }

    pub fn host(&mut self, at: HostAt) {
        if self.hosts.len() < CAP {
            self.hosts.insert(at);
        }
    }

    /// True for a host whose name was looked for in vain.
    pub fn gave_up(&self, at: HostAt) -> bool {
        self.given_up.contains(&at)
    }

    fn is_empty(&self) -> bool {
        self.urls.is_empty() && self.hosts.is_empty()
    }
}

/// Looks for everything lost, and settles it: queued, kept, named, or dropped.
pub fn search(pass: &mut Pass<'_>) -> Result<()> {
    if pass.lost.is_empty() {
        return Ok(());
    }
    in_database(pass)?;
    in_files(pass)?;
    let lost = std::mem::take(&mut pass.lost);
    pass.lost.given_up = lost.given_up;
    for (key, (fault, _)) in lost.urls {
        let name = hex(&key.encode());
        pass.mend(fault, &name, "its text is nowhere: the mark is dropped", |batch| batch.delete::<Seen>(&key))?;
        pass.dropped(&name);
    }
    for at in lost.hosts {
        pass.lost.given_up.insert(at);
        pass.changes += 1; // the next round takes its entries out
    }
    pass.flush()
}

/// URLs that stand in other records: where a page was found, the seed it goes back to.
fn in_database(pass: &mut Pass<'_>) -> Result<()> {
    each::<Queue>(pass, |pass, row| {
        let QueueEntry { via, origin, depth, .. } = row.value;
        via.iter().chain(&origin).try_for_each(|url| offer(pass, url, depth.saturating_sub(1), None))
    })?;
    each::<Rejected>(pass, |pass, row| {
        let RejectedValue { url, via, depth, .. } = row.value;
        offer(pass, &url, depth, via.as_deref())?;
        via.iter().try_for_each(|via| offer(pass, via, depth.saturating_sub(1), None))
    })?;
    each::<Seeds>(pass, |pass, row| offer(pass, &row.value.url, 0, None))?;
    each::<Failed>(pass, |pass, row| {
        let FailedValue { url, via, origin, depth, .. } = row.value;
        via.iter().chain(&origin).try_for_each(|url| offer(pass, url, depth.saturating_sub(1), None))?;
        offer(pass, &url, depth, via.as_deref())
    })?;
    each::<Pages>(pass, |pass, row| offer(pass, &row.value.url, row.value.depth, None))
}

/// A text that may be a URL that is looked for, found at a depth, by way of `via`.
fn offer(pass: &mut Pass<'_>, text: &str, depth: u16, via: Option<&str>) -> Result<()> {
    let named: Vec<_> = pass.named_by(text).collect();
    named.iter().try_for_each(|url| offer_url(pass, url, depth, via))
}

fn offer_url(pass: &mut Pass<'_>, url: &PageUrl, depth: u16, via: Option<&str>) -> Result<()> {
    let via = via.map(str::to_owned);
    let key = pass.key_of(url);
    let at = key.host_crawl().host_at();
    if pass.lost.hosts.remove(&at) {
        let known = pass.look_one::<HostState>(&at)?.unwrap_or_default();
        let state = values::HostState { name: url.host().to_owned(), ..known };
        pass.mend(Fault::HostNameless, url.host(), "named again", |batch| batch.put::<HostState>(&at, &state))?;
    }
    let Some((fault, want)) = pass.lost.urls.remove(&key) else { return Ok(()) };
    let (batch, how) = match want {
        Want::Queue(reach) => {
            let reach = reach.unwrap_or(Reach { depth, limit: None });
            let entry = QueueEntry { via, ..entry_of(url, reach) };
            (pass.queue_again(key, url, &entry)?, "its text was found: queued")
        }
        Want::Keep { reason, generation, depth } => {
            let row = RejectedValue {
                url: url.as_str().to_owned(),
                reason,
                generation,
                depth,
                via,
                origin: None,
                found: FoundAs::Link,
                spelling: None,
            };
            let mut batch = Batch::new();
            batch.put::<Rejected>(&key, &row);
            (batch, "its text was found: kept")
        }
    };
    pass.mend(fault, url.as_str(), how, |all| all.append(batch))
}

/// Longest metadata record read, bytes.
const MAX_METADATA: u64 = 8 << 20;

/// Offers every URL in the files.
fn in_files(pass: &mut Pass<'_>) -> Result<()> {
    let Some(files) = &pass.files else { return Ok(()) };
    let (path, limit) = (files.lines(), files.lines_limit());
    let warcs: Vec<_> = files.warcs.values().map(|warc| (warc.path.clone(), warc.limit)).collect();
    each_line(&path, limit, &mut |line| match serde_json::from_slice::<CrawlLine<'_>>(line) {
        Ok(line) => in_line(pass, &line),
        Err(_) => Ok(()),
    })?;
    for (path, limit) in warcs {
        // What cannot be read is found by the check itself.
        let Ok(file) = File::open(&path) else { continue };
        let mut reader = WarcReader::new(BufReader::new(file.take(limit)), 0);
        while let Ok(Some(header)) = reader.next_record() {
            in_record(pass, &header, &mut reader)?;
        }
    }
    Ok(())
}

fn in_line(pass: &mut Pass<'_>, line: &CrawlLine<'_>) -> Result<()> {
    // A page of a sitemap has an M for its last link; a sitemap has one too, and is found again as deep as the page.
    let hops = line.hop_path.matches('L').count() + usize::from(line.hop_path.contains('M'));
    let depth = u16::try_from(hops).unwrap_or(u16::MAX);
    offer(pass, &line.url, depth, line.via.as_deref())?;
    line.via.iter().try_for_each(|via| offer(pass, via, depth.saturating_sub(1), None))?;
    line.seed.iter().try_for_each(|seed| offer(pass, seed, 0, None))
}

fn in_record<R: BufRead>(pass: &mut Pass<'_>, header: &WarcHeader, reader: &mut WarcReader<R>) -> Result<()> {
    let Some(target) = header.target() else { return Ok(()) };
    if header.kind() != "metadata" {
        return offer(pass, target, 0, None);
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
        offer(pass, url, depth.saturating_add(1), Some(target))?;
    }
    Ok(())
}
