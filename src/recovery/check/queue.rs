//! Queue entries and retries against the marks of their URLs, both ways.

use super::book::Book;
use super::desk::{Desk, Entry};
use super::error::Result;
use super::fault::Fault;
use super::hosts::{Unit, Walk};
use super::judge::{Bond, bond_of_entry, bond_of_retry, mark_of_entry, mark_of_page, mark_of_retry, same_url};
use super::lost::Want;
use super::stream::{Row, Stream, look, look_one};
use super::tally::Totals;
use crate::domain::reach::Reach;
use crate::domain::url::PageUrl;
use crate::storage::Batch;
use crate::storage::error::hex;
use crate::storage::keys::{HostAt, Key, KeyRange, SeenKey};
use crate::storage::tables::{Due, HostState, Pages, Queue, Rejected, Seen, Table};
use crate::storage::values::{QueueEntry, RANKS, UrlState, Value};

/// Entries looked up at a time.
const CHUNK: usize = 256;

fn url_of(name: &str, entry: &QueueEntry) -> Option<PageUrl> {
    entry.url(name).ok()
}

/// The queue entries of one host.
pub fn entries(
    desk: &mut Desk<'_>,
    book: &mut Book<'_>,
    walk: &mut Walk,
    unit: &mut Unit,
    totals: &mut Totals,
) -> Result<()> {
    loop {
        let rows = walk.queue.chunk_in(book, &unit.prefix, CHUNK)?;
        if rows.is_empty() {
            return Ok(());
        }
        for row in &rows {
            totals.order(row.key.order);
            unit.tally.queue(&row.key);
        }
        let Some(name) = unit.name.clone() else {
            if desk.lost.gave_up(unit.at.host_at()) {
                rows.iter().try_for_each(|row| unreadable(book, row, "its host's name is nowhere"))?;
            }
            continue;
        };
        bind(desk, book, unit, &name, rows)?;
    }
}

/// Compares a chunk of a host's entries with the marks of their URLs.
fn bind(desk: &Desk<'_>, book: &mut Book<'_>, unit: &mut Unit, name: &str, rows: Vec<Row<Queue>>) -> Result<()> {
    let (mut known, mut keys) = (Vec::with_capacity(rows.len()), Vec::with_capacity(rows.len()));
    for row in rows {
        match url_of(name, &row.value) {
            Some(url) => {
                keys.push(unit.at.url(desk.prints.url(&url)));
                known.push((row, url));
            }
            None => unreadable(book, &row, "its parts make no URL")?,
        }
    }
    let states = look::<Seen>(book.storage, &keys)?;
    for (((row, url), key), state) in known.iter().zip(&keys).zip(states) {
        match bond_of_entry(&row.key, &row.value, state.as_ref()) {
            Bond::Fits => unit.bound += 1,
            bond => entry(book, row, url, *key, bond)?,
        }
        if usize::from(row.key.rank) >= RANKS {
            moved(desk, book, row, url, *key)?;
        }
    }
    Ok(())
}

fn unreadable(book: &mut Book<'_>, row: &Row<Queue>, why: &str) -> Result<()> {
    let subject = format!("queue {}", hex(&row.raw));
    book.find(Fault::Damaged, &subject, why, |batch| batch.delete::<Queue>(&row.key))
}

/// A queue entry that its mark does not point to.
fn entry(book: &mut Book<'_>, row: &Row<Queue>, url: &PageUrl, key: SeenKey, bond: Bond) -> Result<()> {
    let elsewhere = is_elsewhere(book, key, &row.value, bond)?;
    let detail = told(bond, elsewhere);
    let mark = mark_of_entry(&row.key, &row.value);
    book.find(Fault::QueueUnmarked, url.as_str(), detail, |batch| match elsewhere {
        true => batch.delete::<Queue>(&row.key),
        false => batch.put::<Seen>(&key, &mark),
    })
}

/// A rank that does not exist is never served: the URL is queued anew.
fn moved(desk: &Desk<'_>, book: &mut Book<'_>, row: &Row<Queue>, url: &PageUrl, key: SeenKey) -> Result<()> {
    let again = Entry {
        depth: row.value.depth,
        limit: row.value.limit,
        hops: row.value.hops,
        discovered: row.value.discovered,
        spelling: row.value.spelling.clone(),
        via: row.value.via.clone(),
        origin: row.value.origin.clone(),
        found: row.value.found,
    };
    let mut again = desk.queue_again(book, key, url, again)?;
    again.delete::<Queue>(&row.key);
    book.find(Fault::QueueUnmarked, url.as_str(), "has a rank that does not exist", |batch| batch.append(again))
}

/// True when the URL is finished, or queued at the other place that its mark names.
fn is_elsewhere(book: &Book<'_>, key: SeenKey, entry: &QueueEntry, bond: Bond) -> Result<bool> {
    let other = match bond {
        Bond::Finished => return Ok(true),
        Bond::Queued { rank, order } => look_one::<Queue>(book.storage, &key.host_crawl().queue(rank, order))?,
        Bond::Due { time } => look_one::<Due>(book.storage, &key.due(time))?,
        Bond::Fits | Bond::Inexact | Bond::Unmarked => None,
    };
    Ok(other.is_some_and(|other| same_url(&other, entry)))
}

fn told(bond: Bond, elsewhere: bool) -> &'static str {
    match (bond, elsewhere) {
        (Bond::Unmarked, _) => "has no mark",
        (Bond::Inexact | Bond::Fits, _) => "its mark says another depth",
        (Bond::Finished, _) => "is finished",
        (_, true) => "is queued elsewhere too",
        (_, false) => "its mark points to where it is not",
    }
}

/// Second look at a host whose marks and entries are not one to one: the marks without entry.
pub fn look_for_entries(desk: &mut Desk<'_>, book: &mut Book<'_>, unit: &Unit) -> Result<()> {
    let mut seen = Stream::<Seen>::quiet_in(&unit.prefix);
    loop {
        let rows = seen.chunk_in(book, &unit.prefix, CHUNK)?;
        if rows.is_empty() {
            return Ok(());
        }
        let waiting: Vec<_> = rows
            .iter()
            .filter_map(|row| match row.value {
                UrlState::Waiting { rank, order, reach, due: None } => {
                    Some((row.key, unit.at.queue(rank, order), reach))
                }
                _ => None,
            })
            .collect();
        let keys: Vec<_> = waiting.iter().map(|(_, key, _)| *key).collect();
        for ((key, _, reach), entry) in waiting.iter().zip(look::<Queue>(book.storage, &keys)?) {
            let own = |entry: &QueueEntry| match &unit.name {
                Some(name) => url_of(name, entry).is_some_and(|url| desk.prints.url(&url) == key.url),
                None => true,
            };
            if !entry.as_ref().is_some_and(own) {
                unqueued(desk, book, *key, Some(*reach))?;
            }
        }
    }
}

/// A waiting URL in no queue: another record may say what it is; else it is looked for.
pub fn unqueued(desk: &mut Desk<'_>, book: &mut Book<'_>, key: SeenKey, reach: Option<Reach>) -> Result<()> {
    let captures = KeyRange::captures(key);
    let page = book.storage.scan(Pages::FAMILY, &captures.from, &captures.until, 1)?.pop();
    let page = page.and_then(|(_, bytes)| <Pages as Table>::Value::decode(&bytes).ok());
    if let Some(page) = page.filter(|page| desk.url_at(&page.url, key).is_some()) {
        let mark = mark_of_page(&page);
        return book.find(Fault::WaitingUnqueued, &page.url, "was captured", |b| b.put::<Seen>(&key, &mark));
    }
    let row = look_one::<Rejected>(book.storage, &key)?;
    if let Some((row, url)) = row.and_then(|row| Some((desk.url_at(&row.url, key)?, row))).map(|(url, row)| (row, url))
    {
        let Reach { depth, limit } = reach.unwrap_or(Reach { depth: row.depth, limit: None });
        let again = Entry { depth, limit, via: row.via, found: row.found, ..Entry::default() };
        let mut again = desk.queue_again(book, key, &url, again)?;
        again.delete::<Rejected>(&key);
        return book.find(Fault::WaitingUnqueued, url.as_str(), "was kept as rejected", |b| b.append(again));
    }
    desk.lost.url(key, Fault::WaitingUnqueued, Want::Queue(reach));
    book.find(Fault::WaitingUnqueued, &hex(&key.encode()), "its text is not known", |_| {})
}

/// All retries.
pub fn retries(desk: &mut Desk<'_>, book: &mut Book<'_>) -> Result<()> {
    let mut due = Stream::<Due>::all();
    loop {
        let rows = due.chunk_in(book, &[], CHUNK)?;
        if rows.is_empty() {
            return Ok(());
        }
        let hosts: Vec<HostAt> = rows.iter().map(|row| row.key.seen().host_crawl().host_at()).collect();
        let marks: Vec<SeenKey> = rows.iter().map(|row| row.key.seen()).collect();
        let names = look::<HostState>(book.storage, &hosts)?;
        let states = look::<Seen>(book.storage, &marks)?;
        for ((row, name), state) in rows.iter().zip(names).zip(states) {
            retry(desk, book, row, name.map(|state| state.name).as_deref(), state.as_ref())?;
        }
    }
}

fn retry(
    desk: &mut Desk<'_>,
    book: &mut Book<'_>,
    row: &Row<Due>,
    name: Option<&str>,
    state: Option<&UrlState>,
) -> Result<()> {
    let key = row.key.seen();
    let at = key.host_crawl().host_at();
    let name = name.filter(|name| desk.host_at(name) == at);
    let Some(url) = name.and_then(|name| url_of(name, &row.value)) else {
        if name.is_none() && !desk.lost.gave_up(at) {
            desk.lost.host(at);
            return book.find(Fault::HostNameless, &format!("host {}", at.host), "has a retry", |_| {});
        }
        let subject = format!("due {}", hex(&row.raw));
        return book.find(Fault::Damaged, &subject, "its parts make no URL", |b| b.delete::<Due>(&row.key));
    };
    let own = at.crawl(key.crawl).url(desk.prints.url(&url));
    if own != key {
        return strayed(desk, book, row, &url, own);
    }
    let bond = bond_of_retry(row.key.time, &row.value, state);
    if bond == Bond::Fits {
        return Ok(());
    }
    let elsewhere = is_elsewhere(book, key, &row.value, bond)?;
    let mark = mark_of_retry(row.key.time, &row.value);
    book.find(Fault::DueUnmarked, url.as_str(), told(bond, elsewhere), |batch| match elsewhere {
        true => batch.delete::<Due>(&row.key),
        false => batch.put::<Seen>(&key, &mark),
    })
}

/// A retry at the key of another URL is removed; its own URL is queued when nothing else is known of it.
fn strayed(desk: &Desk<'_>, book: &mut Book<'_>, row: &Row<Due>, url: &PageUrl, own: SeenKey) -> Result<()> {
    let mut batch = match look_one::<Seen>(book.storage, &own)? {
        Some(_) => Batch::new(),
        None => desk.queue_again(
            book,
            own,
            url,
            Entry { depth: row.value.depth, limit: row.value.limit, ..Entry::default() },
        )?,
    };
    batch.delete::<Due>(&row.key);
    book.find(Fault::DueUnmarked, url.as_str(), "stands at the key of another URL", |all| all.append(batch))
}
