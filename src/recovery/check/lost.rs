//! Lost and found: URLs that are known by their key only, and hosts without a name, looked for in every text there is.

use super::context::{Context, Entry};
use super::error::Result;
use super::fault::Fault;
use super::findings::Findings;
use super::stream::{Stream, look_one};
use super::texts;
use crate::domain::fingerprint::{KeyMap, KeySet};
use crate::domain::found_as::FoundAs;
use crate::domain::reach::Reach;
use crate::domain::reason::Rejection;
use crate::domain::url::PageUrl;
use crate::storage::Batch;
use crate::storage::error::hex;
use crate::storage::keys::{HostAt, Key, SeenKey};
use crate::storage::tables::{Failed, HostState, Pages, Queue, Rejected, Seeds, Seen};
use crate::storage::values::{self, RejectedValue};

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

/// What is looked for.
#[derive(Default)]
pub struct Lost {
    urls: KeyMap<SeenKey, (Fault, Want)>,
    hosts: KeySet<HostAt>,
    given_up: KeySet<HostAt>,
}

/// A text that may be a URL, with where it stands.
pub struct Text<'t> {
    pub url: &'t str,
    pub depth: u16,
    pub via: Option<&'t str>,
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
pub fn search(context: &mut Context<'_>, findings: &mut Findings<'_>) -> Result<()> {
    if context.lost.is_empty() {
        return Ok(());
    }
    in_database(context, findings)?;
    texts::in_files(context, findings)?;
    let lost = std::mem::take(&mut context.lost);
    context.lost.given_up = lost.given_up;
    for (key, (fault, _)) in lost.urls {
        let name = hex(&key.encode());
        findings.mend(fault, &name, "its text is nowhere: the mark is dropped", |batch| batch.delete::<Seen>(&key))?;
        findings.dropped(&name);
    }
    for at in lost.hosts {
        context.lost.given_up.insert(at);
        findings.changes += 1; // the next round takes its entries out
    }
    findings.flush()
}

/// URLs that stand in other records: where a page was found, the seed it goes back to.
fn in_database(context: &mut Context<'_>, findings: &mut Findings<'_>) -> Result<()> {
    let mut queue = Stream::<Queue>::quiet();
    while let Some(row) = queue.next_in(findings, &[])? {
        for text in row.value.via.iter().chain(&row.value.origin) {
            offer(context, findings, &Text { url: text, depth: row.value.depth.saturating_sub(1), via: None })?;
        }
    }
    let mut rejected = Stream::<Rejected>::quiet();
    while let Some(row) = rejected.next_in(findings, &[])? {
        offer(context, findings, &Text { url: &row.value.url, depth: row.value.depth, via: row.value.via.as_deref() })?;
        if let Some(via) = &row.value.via {
            offer(context, findings, &Text { url: via, depth: row.value.depth.saturating_sub(1), via: None })?;
        }
    }
    let mut seeds = Stream::<Seeds>::quiet();
    while let Some(row) = seeds.next_in(findings, &[])? {
        offer(context, findings, &Text { url: &row.value.url, depth: 0, via: None })?;
    }
    let mut failed = Stream::<Failed>::quiet();
    while let Some(row) = failed.next_in(findings, &[])? {
        for text in row.value.via.iter().chain(&row.value.origin) {
            offer(context, findings, &Text { url: text, depth: row.value.depth.saturating_sub(1), via: None })?;
        }
        offer(context, findings, &Text { url: &row.value.url, depth: row.value.depth, via: row.value.via.as_deref() })?;
    }
    let mut pages = Stream::<Pages>::quiet();
    while let Some(row) = pages.next_in(findings, &[])? {
        offer(context, findings, &Text { url: &row.value.url, depth: row.value.depth, via: None })?;
    }
    Ok(())
}

/// A text that may be what is looked for.
pub fn offer(context: &mut Context<'_>, findings: &mut Findings<'_>, text: &Text<'_>) -> Result<()> {
    let named: Vec<_> = context.named_by(text.url).collect();
    named.iter().try_for_each(|url| offer_url(context, findings, text, url))
}

fn offer_url(context: &mut Context<'_>, findings: &mut Findings<'_>, text: &Text<'_>, url: &PageUrl) -> Result<()> {
    let key = context.key_of(url);
    let at = key.host_crawl().host_at();
    if context.lost.hosts.remove(&at) {
        let known = look_one::<HostState>(findings.storage, &at)?.unwrap_or_default();
        let state = values::HostState { name: url.host().to_owned(), ..known };
        findings.mend(Fault::HostNameless, url.host(), "named again", |batch| batch.put::<HostState>(&at, &state))?;
    }
    let Some((fault, want)) = context.lost.urls.remove(&key) else { return Ok(()) };
    let (batch, how) = match want {
        Want::Queue(reach) => {
            let Reach { depth, limit } = reach.unwrap_or(Reach { depth: text.depth, limit: None });
            let entry = Entry { depth, limit, via: text.via.map(str::to_owned), ..Entry::default() };
            (context.queue_again(findings, key, url, entry)?, "its text was found: queued")
        }
        Want::Keep { reason, generation, depth } => {
            let via = text.via.map(str::to_owned);
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
    findings.mend(fault, url.as_str(), how, |all| all.append(batch))
}
