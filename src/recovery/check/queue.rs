//! Queue entries and retries against the marks of their URLs, both ways.

use super::hosts::{Unit, Walk};
use super::judge::{Bond, bond, mark_of_entry, mark_of_page, mark_of_retry, same_url};
use super::lost::Want;
use super::pass::{Pass, entry_of};
use super::stream::{Row, Stream, TOGETHER, each_chunk};
use super::{Fault, Result};
use crate::domain::reach::Reach;
use crate::domain::url::PageUrl;
use crate::storage::Batch;
use crate::storage::error::hex;
use crate::storage::keys::{HostAt, Key, KeyRange, SeenKey};
use crate::storage::tables::{Due, HostState, Pages, Queue, Rejected, Seen, Table};
use crate::storage::values::{QueueEntry, RANKS, UrlState, Value};

/// The queue entries of one host.
pub fn entries(pass: &mut Pass<'_>, walk: &mut Walk, unit: &mut Unit) -> Result<()> {
    loop {
        let rows = walk.queue.chunk_in(pass, &unit.prefix, TOGETHER)?;
        if rows.is_empty() {
            return Ok(());
        }
        for row in &rows {
            pass.totals.order(row.key.order);
            unit.tally.queue(&row.key);
            unit.tally.entry(&row.value);
        }
        let Some(name) = unit.name.clone() else {
            if pass.lost.gave_up(unit.at.host_at()) {
                rows.iter().try_for_each(|row| unreadable(pass, row, "its host's name is nowhere"))?;
            }
            continue;
        };
        bind(pass, unit, &name, rows)?;
    }
}

/// Compares a chunk of a host's entries with the marks of their URLs.
fn bind(pass: &mut Pass<'_>, unit: &mut Unit, name: &str, rows: Vec<Row<Queue>>) -> Result<()> {
    let (mut known, mut keys) = (Vec::with_capacity(rows.len()), Vec::with_capacity(rows.len()));
    for row in rows {
        match row.value.url(name) {
            Ok(url) => {
                keys.push(unit.at.url(pass.prints.url(&url)));
                known.push((row, url));
            }
            Err(_) => unreadable(pass, &row, "its parts make no URL")?,
        }
    }
    let states = pass.look::<Seen>(&keys)?;
    for (((row, url), key), state) in known.iter().zip(&keys).zip(states) {
        let mark = mark_of_entry(&row.key, &row.value);
        match bond(&mark, state.as_ref()) {
            Bond::Fits => unit.bound += 1,
            bond => unbound(pass, Fault::QueueUnmarked, row, url, *key, &mark, bond)?,
        }
        if usize::from(row.key.rank) >= RANKS {
            moved(pass, row, url, *key)?;
        }
    }
    Ok(())
}

fn unreadable(pass: &mut Pass<'_>, row: &Row<Queue>, why: &str) -> Result<()> {
    let subject = format!("queue {}", hex(&row.raw));
    pass.find(Fault::Damaged, &subject, why, |batch| batch.delete::<Queue>(&row.key))
}

/// An entry that its mark does not point to: it goes when its URL is finished or queued elsewhere, else the mark is written.
fn unbound<T: Table<Value = QueueEntry>>(
    pass: &mut Pass<'_>,
    fault: Fault,
    row: &Row<T>,
    url: &PageUrl,
    key: SeenKey,
    mark: &UrlState,
    bond: Bond,
) -> Result<()> {
    let elsewhere = is_elsewhere(pass, key, &row.value, bond)?;
    pass.find(fault, url.as_str(), told(bond, elsewhere), |batch| match elsewhere {
        true => batch.delete::<T>(&row.key),
        false => batch.put::<Seen>(&key, mark),
    })
}

/// A rank that does not exist is never served: the URL is queued anew.
fn moved(pass: &mut Pass<'_>, row: &Row<Queue>, url: &PageUrl, key: SeenKey) -> Result<()> {
    let entry = QueueEntry { attempts: 0, seed: false, again: None, ..row.value.clone() };
    let mut again = pass.queue_again(key, url, &entry)?;
    again.delete::<Queue>(&row.key);
    pass.find(Fault::QueueUnmarked, url.as_str(), "has a rank that does not exist", |batch| batch.append(again))
}

/// True when the URL is finished, or queued at the other place that its mark names.
fn is_elsewhere(pass: &Pass<'_>, key: SeenKey, entry: &QueueEntry, bond: Bond) -> Result<bool> {
    let other = match bond {
        Bond::Finished => return Ok(true),
        Bond::Queued { rank, order } => pass.look_one::<Queue>(&key.host_crawl().queue(rank, order))?,
        Bond::Due { time } => pass.look_one::<Due>(&key.due(time))?,
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
pub fn look_for_entries(pass: &mut Pass<'_>, unit: &Unit) -> Result<()> {
    let mut seen = Stream::<Seen>::quiet_in(&unit.prefix);
    loop {
        let rows = seen.chunk_in(pass, &unit.prefix, TOGETHER)?;
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
        for ((key, _, reach), entry) in waiting.iter().zip(pass.look::<Queue>(&keys)?) {
            let own = |entry: &QueueEntry| match &unit.name {
                Some(name) => entry.url(name).is_ok_and(|url| pass.prints.url(&url) == key.url),
                None => true,
            };
            if !entry.as_ref().is_some_and(own) {
                unqueued(pass, *key, Some(*reach))?;
            }
        }
    }
}

/// A waiting URL in no queue: another record may say what it is; else it is looked for.
pub fn unqueued(pass: &mut Pass<'_>, key: SeenKey, reach: Option<Reach>) -> Result<()> {
    let captures = KeyRange::captures(key);
    let page = pass.storage.scan(Pages::FAMILY, &captures.from, &captures.until, 1)?.pop();
    let page = page.and_then(|(_, bytes)| <Pages as Table>::Value::decode(&bytes).ok());
    if let Some(page) = page.filter(|page| pass.url_at(&page.url, key).is_some()) {
        let mark = mark_of_page(&page);
        return pass.find(Fault::WaitingUnqueued, &page.url, "was captured", |b| b.put::<Seen>(&key, &mark));
    }
    if let Some(row) = pass.look_one::<Rejected>(&key)?
        && let Some(url) = pass.url_at(&row.url, key)
    {
        let reach = reach.unwrap_or(Reach { depth: row.depth, limit: None });
        let again = QueueEntry { via: row.via, found: row.found, ..entry_of(&url, reach) };
        let mut again = pass.queue_again(key, &url, &again)?;
        again.delete::<Rejected>(&key);
        return pass.find(Fault::WaitingUnqueued, url.as_str(), "was kept as rejected", |b| b.append(again));
    }
    pass.lost.url(key, Fault::WaitingUnqueued, Want::Queue(reach));
    pass.find(Fault::WaitingUnqueued, &hex(&key.encode()), "its text is not known", |_| {})
}

pub fn retries(pass: &mut Pass<'_>) -> Result<()> {
    each_chunk::<Due>(pass, |pass, rows| {
        let marks: Vec<SeenKey> = rows.iter().map(|row| row.key.seen()).collect();
        let hosts: Vec<HostAt> = marks.iter().map(|key| key.host_crawl().host_at()).collect();
        let (names, states) = (pass.look::<HostState>(&hosts)?, pass.look::<Seen>(&marks)?);
        for ((row, name), state) in rows.iter().zip(names).zip(states) {
            retry(pass, row, name.map(|state| state.name).as_deref(), state.as_ref())?;
        }
        Ok(())
    })
}

fn retry(pass: &mut Pass<'_>, row: &Row<Due>, name: Option<&str>, state: Option<&UrlState>) -> Result<()> {
    let key = row.key.seen();
    let at = key.host_crawl().host_at();
    let name = name.filter(|name| pass.host_at(name) == at);
    let Some(url) = name.and_then(|name| row.value.url(name).ok()) else {
        if name.is_none() && !pass.lost.gave_up(at) {
            pass.lost.host(at);
            return pass.find(Fault::HostNameless, &format!("host {}", at.host), "has a retry", |_| {});
        }
        let subject = format!("due {}", hex(&row.raw));
        return pass.find(Fault::Damaged, &subject, "its parts make no URL", |b| b.delete::<Due>(&row.key));
    };
    let own = at.crawl(key.crawl).url(pass.prints.url(&url));
    if own != key {
        return strayed(pass, row, &url, own);
    }
    let mark = mark_of_retry(row.key.time, &row.value);
    match bond(&mark, state) {
        Bond::Fits => Ok(()),
        bond => unbound(pass, Fault::DueUnmarked, row, &url, key, &mark, bond),
    }
}

/// A retry at the key of another URL is removed; its own URL is queued when nothing else is known of it.
fn strayed(pass: &mut Pass<'_>, row: &Row<Due>, url: &PageUrl, own: SeenKey) -> Result<()> {
    let mut batch = match pass.look_one::<Seen>(&own)? {
        Some(_) => Batch::new(),
        None => pass.queue_again(own, url, &entry_of(url, row.value.reach()))?,
    };
    batch.delete::<Due>(&row.key);
    pass.find(Fault::DueUnmarked, url.as_str(), "stands at the key of another URL", |all| all.append(batch))
}
