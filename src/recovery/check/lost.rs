//! Lost and found: URLs that are known by their key only, and hosts without a name, looked for in every text there is.

use super::book::Book;
use super::desk::{Desk, Entry};
use super::error::Result;
use super::fault::Fault;
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
pub fn search(desk: &mut Desk<'_>, book: &mut Book<'_>) -> Result<()> {
    if desk.lost.is_empty() {
        return Ok(());
    }
    in_database(desk, book)?;
    texts::in_files(desk, book)?;
    let lost = std::mem::take(&mut desk.lost);
    desk.lost.given_up = lost.given_up;
    for (key, (fault, _)) in lost.urls {
        let name = hex(&key.encode());
        book.mend(fault, &name, "its text is nowhere: the mark is dropped", |batch| batch.delete::<Seen>(&key))?;
        book.dropped(&name);
    }
    for at in lost.hosts {
        desk.lost.given_up.insert(at);
        book.changes += 1; // the next round takes its entries out
    }
    book.flush()
}

/// URLs that stand in other records: where a page was found, the seed it goes back to.
fn in_database(desk: &mut Desk<'_>, book: &mut Book<'_>) -> Result<()> {
    let mut queue = Stream::<Queue>::quiet();
    while let Some(row) = queue.next_in(book, &[])? {
        for text in row.value.via.iter().chain(&row.value.origin) {
            offer(desk, book, &Text { url: text, depth: row.value.depth.saturating_sub(1), via: None })?;
        }
    }
    let mut rejected = Stream::<Rejected>::quiet();
    while let Some(row) = rejected.next_in(book, &[])? {
        offer(desk, book, &Text { url: &row.value.url, depth: row.value.depth, via: row.value.via.as_deref() })?;
        if let Some(via) = &row.value.via {
            offer(desk, book, &Text { url: via, depth: row.value.depth.saturating_sub(1), via: None })?;
        }
    }
    let mut seeds = Stream::<Seeds>::quiet();
    while let Some(row) = seeds.next_in(book, &[])? {
        offer(desk, book, &Text { url: &row.value.url, depth: 0, via: None })?;
    }
    let mut failed = Stream::<Failed>::quiet();
    while let Some(row) = failed.next_in(book, &[])? {
        for text in row.value.via.iter().chain(&row.value.origin) {
            offer(desk, book, &Text { url: text, depth: row.value.depth.saturating_sub(1), via: None })?;
        }
        offer(desk, book, &Text { url: &row.value.url, depth: row.value.depth, via: row.value.via.as_deref() })?;
    }
    let mut pages = Stream::<Pages>::quiet();
    while let Some(row) = pages.next_in(book, &[])? {
        offer(desk, book, &Text { url: &row.value.url, depth: row.value.depth, via: None })?;
    }
    Ok(())
}

/// A text that may be what is looked for.
pub fn offer(desk: &mut Desk<'_>, book: &mut Book<'_>, text: &Text<'_>) -> Result<()> {
    let named: Vec<_> = desk.named_by(text.url).collect();
    named.iter().try_for_each(|url| offer_url(desk, book, text, url))
}

fn offer_url(desk: &mut Desk<'_>, book: &mut Book<'_>, text: &Text<'_>, url: &PageUrl) -> Result<()> {
    let key = desk.key_of(url);
    let at = key.host_crawl().host_at();
    if desk.lost.hosts.remove(&at) {
        let known = look_one::<HostState>(book.storage, &at)?.unwrap_or_default();
        let state = values::HostState { name: url.host().to_owned(), ..known };
        book.mend(Fault::HostNameless, url.host(), "named again", |batch| batch.put::<HostState>(&at, &state))?;
    }
    let Some((fault, want)) = desk.lost.urls.remove(&key) else { return Ok(()) };
    let (batch, how) = match want {
        Want::Queue(reach) => {
            let Reach { depth, limit } = reach.unwrap_or(Reach { depth: text.depth, limit: None });
            let entry = Entry { depth, limit, via: text.via.map(str::to_owned), ..Entry::default() };
            (desk.queue_again(book, key, url, entry)?, "its text was found: queued")
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
    book.mend(fault, url.as_str(), how, |all| all.append(batch))
}
