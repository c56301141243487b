//! Queue entries and retries against the marks of their URLs, both ways.

use super::context::{Context, Entry};
use super::error::Result;
use super::fault::Fault;
use super::findings::Findings;
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
    context: &mut Context<'_>,
    findings: &mut Findings<'_>,
    walk: &mut Walk,
    unit: &mut Unit,
    totals: &mut Totals,
) -> Result<()> {
    loop {
        let rows = walk.queue.chunk_in(findings, &unit.prefix, CHUNK)?;
        if rows.is_empty() {
            return Ok(());
        }
        for row in &rows {
            totals.order(row.key.order);
            unit.tally.queue(&row.key);
        }
        let Some(name) = unit.name.clone() else {
            if context.lost.gave_up(unit.at.host_at()) {
                rows.iter().try_for_each(|row| unreadable(findings, row, "its host's name is nowhere"))?;
            }
            continue;
        };
        bind(context, findings, unit, &name, rows)?;
    }
}

/// Compares a chunk of a host's entries with the marks of their URLs.
fn bind(
    context: &Context<'_>,
    findings: &mut Findings<'_>,
    unit: &mut Unit,
    name: &str,
    rows: Vec<Row<Queue>>,
) -> Result<()> {
    let (mut known, mut keys) = (Vec::with_capacity(rows.len()), Vec::with_capacity(rows.len()));
    for row in rows {
        match url_of(name, &row.value) {
            Some(url) => {
                keys.push(unit.at.url(context.prints.url(&url)));
                known.push((row, url));
            }
            None => unreadable(findings, &row, "its parts make no URL")?,
        }
    }
    let states = look::<Seen>(findings.storage, &keys)?;
    for (((row, url), key), state) in known.iter().zip(&keys).zip(states) {
        match bond_of_entry(&row.key, &row.value, state.as_ref()) {
            Bond::Fits => unit.bound += 1,
            bond => entry(findings, row, url, *key, bond)?,
        }
        if usize::from(row.key.rank) >= RANKS {
            moved(context, findings, row, url, *key)?;
        }
    }
    Ok(())
}

fn unreadable(findings: &mut Findings<'_>, row: &Row<Queue>, why: &str) -> Result<()> {
    let subject = format!("queue {}", hex(&row.raw));
    findings.find(Fault::Damaged, &subject, why, |batch| batch.delete::<Queue>(&row.key))
}

/// A queue entry that its mark does not point to.
fn entry(findings: &mut Findings<'_>, row: &Row<Queue>, url: &PageUrl, key: SeenKey, bond: Bond) -> Result<()> {
    let elsewhere = is_elsewhere(findings, key, &row.value, bond)?;
    let detail = told(bond, elsewhere);
    let mark = mark_of_entry(&row.key, &row.value);
    findings.find(Fault::QueueUnmarked, url.as_str(), detail, |batch| match elsewhere {
        true => batch.delete::<Queue>(&row.key),
        false => batch.put::<Seen>(&key, &mark),
    })
}

/// A rank that does not exist is never served: the URL is queued anew.
fn moved(
    context: &Context<'_>,
    findings: &mut Findings<'_>,
    row: &Row<Queue>,
    url: &PageUrl,
    key: SeenKey,
) -> Result<()> {
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
    let mut again = context.queue_again(findings, key, url, again)?;
    again.delete::<Queue>(&row.key);
    findings.find(Fault::QueueUnmarked, url.as_str(), "has a rank that does not exist", |batch| batch.append(again))
}

/// True when the URL is finished, or queued at the other place that its mark names.
fn is_elsewhere(findings: &Findings<'_>, key: SeenKey, entry: &QueueEntry, bond: Bond) -> Result<bool> {
    let other = match bond {
        Bond::Finished => return Ok(true),
        Bond::Queued { rank, order } => look_one::<Queue>(findings.storage, &key.host_crawl().queue(rank, order))?,
        Bond::Due { time } => look_one::<Due>(findings.storage, &key.due(time))?,
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
pub fn look_for_entries(context: &mut Context<'_>, findings: &mut Findings<'_>, unit: &Unit) -> Result<()> {
    let mut seen = Stream::<Seen>::quiet_in(&unit.prefix);
    loop {
        let rows = seen.chunk_in(findings, &unit.prefix, CHUNK)?;
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
        for ((key, _, reach), entry) in waiting.iter().zip(look::<Queue>(findings.storage, &keys)?) {
            let own = |entry: &QueueEntry| match &unit.name {
                Some(name) => url_of(name, entry).is_some_and(|url| context.prints.url(&url) == key.url),
                None => true,
            };
            if !entry.as_ref().is_some_and(own) {
                unqueued(context, findings, *key, Some(*reach))?;
            }
        }
    }
}

/// A waiting URL in no queue: another record may say what it is; else it is looked for.
pub fn unqueued(
    context: &mut Context<'_>,
    findings: &mut Findings<'_>,
    key: SeenKey,
    reach: Option<Reach>,
) -> Result<()> {
    let captures = KeyRange::captures(key);
    let page = findings.storage.scan(Pages::FAMILY, &captures.from, &captures.until, 1)?.pop();
    let page = page.and_then(|(_, bytes)| <Pages as Table>::Value::decode(&bytes).ok());
    if let Some(page) = page.filter(|page| context.url_at(&page.url, key).is_some()) {
        let mark = mark_of_page(&page);
        return findings.find(Fault::WaitingUnqueued, &page.url, "was captured", |b| b.put::<Seen>(&key, &mark));
    }
    let row = look_one::<Rejected>(findings.storage, &key)?;
    if let Some((row, url)) =
        row.and_then(|row| Some((context.url_at(&row.url, key)?, row))).map(|(url, row)| (row, url))
    {
        let Reach { depth, limit } = reach.unwrap_or(Reach { depth: row.depth, limit: None });
        let again = Entry { depth, limit, via: row.via, found: row.found, ..Entry::default() };
        let mut again = context.queue_again(findings, key, &url, again)?;
        again.delete::<Rejected>(&key);
        return findings.find(Fault::WaitingUnqueued, url.as_str(), "was kept as rejected", |b| b.append(again));
    }
    context.lost.url(key, Fault::WaitingUnqueued, Want::Queue(reach));
    findings.find(Fault::WaitingUnqueued, &hex(&key.encode()), "its text is not known", |_| {})
}

/// All retries.
pub fn retries(context: &mut Context<'_>, findings: &mut Findings<'_>) -> Result<()> {
    let mut due = Stream::<Due>::all();
    loop {
        let rows = due.chunk_in(findings, &[], CHUNK)?;
        if rows.is_empty() {
            return Ok(());
        }
        let hosts: Vec<HostAt> = rows.iter().map(|row| row.key.seen().host_crawl().host_at()).collect();
        let marks: Vec<SeenKey> = rows.iter().map(|row| row.key.seen()).collect();
        let names = look::<HostState>(findings.storage, &hosts)?;
        let states = look::<Seen>(findings.storage, &marks)?;
        for ((row, name), state) in rows.iter().zip(names).zip(states) {
            retry(context, findings, row, name.map(|state| state.name).as_deref(), state.as_ref())?;
        }
    }
}

fn retry(
    context: &mut Context<'_>,
    findings: &mut Findings<'_>,
    row: &Row<Due>,
    name: Option<&str>,
    state: Option<&UrlState>,
) -> Result<()> {
    let key = row.key.seen();
    let at = key.host_crawl().host_at();
    let name = name.filter(|name| context.host_at(name) == at);
    let Some(url) = name.and_then(|name| url_of(name, &row.value)) else {
        if name.is_none() && !context.lost.gave_up(at) {
            context.lost.host(at);
            return findings.find(Fault::HostNameless, &format!("host {}", at.host), "has a retry", |_| {});
        }
        let subject = format!("due {}", hex(&row.raw));
        return findings.find(Fault::Damaged, &subject, "its parts make no URL", |b| b.delete::<Due>(&row.key));
    };
    let own = at.crawl(key.crawl).url(context.prints.url(&url));
    if own != key {
        return strayed(context, findings, row, &url, own);
    }
    let bond = bond_of_retry(row.key.time, &row.value, state);
    if bond == Bond::Fits {
        return Ok(());
    }
    let elsewhere = is_elsewhere(findings, key, &row.value, bond)?;
    let mark = mark_of_retry(row.key.time, &row.value);
    findings.find(Fault::DueUnmarked, url.as_str(), told(bond, elsewhere), |batch| match elsewhere {
        true => batch.delete::<Due>(&row.key),
        false => batch.put::<Seen>(&key, &mark),
    })
}

/// A retry at the key of another URL is removed; its own URL is queued when nothing else is known of it.
fn strayed(
    context: &Context<'_>,
    findings: &mut Findings<'_>,
    row: &Row<Due>,
    url: &PageUrl,
    own: SeenKey,
) -> Result<()> {
    let mut batch = match look_one::<Seen>(findings.storage, &own)? {
        Some(_) => Batch::new(),
        None => context.queue_again(
            findings,
            own,
            url,
            Entry { depth: row.value.depth, limit: row.value.limit, ..Entry::default() },
        )?,
    };
    batch.delete::<Due>(&row.key);
    findings.find(Fault::DueUnmarked, url.as_str(), "stands at the key of another URL", |all| all.append(batch))
}
