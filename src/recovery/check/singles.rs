//! Single records in `meta`, robots.txt and contents.

use super::context::Context;
use super::error::Result;
use super::fault::{Fault, Note};
use super::findings::Findings;
use super::stream::{Row, Stream, damaged, look};
use super::tally::{Totals, differences};
use crate::storage::keys::{Key, KeyRange, MetaKey};
use crate::storage::tables::{Content, Pages, Robots, Seeds};
use crate::storage::values::{
    ClockState, Counters, FileLengths, Format, JoinedHost, LiveSettings, OrderedHosts, RunState, Unsynced,
    UnsyncedLines, UnsyncedPage, Value, ValueError,
};
use crate::storage::{Family, Pair, read};

/// Contents looked up at a time.
const CHUNK: usize = 256;

/// Every record in `meta` decodes.
pub fn meta(findings: &mut Findings<'_>) -> Result<()> {
    let mut from = Vec::new();
    while let Some((key, bytes)) = findings.storage.scan(Family::Meta, &from, &[], 1)?.pop() {
        findings.read(Family::Meta, 1);
        from = crate::storage::keys::after(&key);
        if let Err(why) = decodes(&key, &bytes) {
            damaged(findings, Family::Meta, key, &why)?;
        }
    }
    findings.flush()?;
    let run = read::meta::<RunState>(findings.storage, ()).ok().flatten();
    if run.is_some_and(|run| !run.clean) {
        findings.note(Note::UncleanEnd, || "meta/run".to_owned());
    }
    Ok(())
}

fn decodes(key: &[u8], bytes: &[u8]) -> std::result::Result<(), String> {
    fn good<V: Value>(bytes: &[u8]) -> std::result::Result<(), ValueError> {
        V::decode(bytes).map(drop)
    }
    let good = match MetaKey::decode(key).map_err(|e| e.to_string())? {
        MetaKey::Format => good::<Format>(bytes),
        MetaKey::Counters(_) => good::<Counters>(bytes),
        MetaKey::Joined(..) => good::<JoinedHost>(bytes),
        MetaKey::Orders(_) => good::<OrderedHosts>(bytes),
        MetaKey::FileLengths => good::<FileLengths>(bytes),
        MetaKey::Run => good::<RunState>(bytes),
        MetaKey::Clock => good::<ClockState>(bytes),
        MetaKey::Settings => good::<LiveSettings>(bytes),
        MetaKey::Lines(_) => good::<UnsyncedLines>(bytes),
        MetaKey::Unsynced(_) => good::<Unsynced>(bytes),
    };
    good.map_err(|e| e.to_string())
}

/// Pages listed as not yet safe are there as listed.
pub fn unsynced(context: &mut Context<'_>, findings: &mut Findings<'_>, totals: &mut Totals) -> Result<()> {
    for (number, list) in lists(findings)? {
        totals.counters.next_commit = totals.counters.next_commit.max(number.saturating_add(1));
        let keys: Vec<_> = list.0.iter().map(|page| page.page).collect();
        let pages = look::<Pages>(findings.storage, &keys)?;
        let fits = |(listed, page): (&UnsyncedPage, Option<_>)| {
            page.is_some_and(|p: crate::storage::values::PageRecord| p.warc.as_ref() == Some(&listed.warc))
        };
        let fit: Vec<bool> = list.0.iter().zip(pages).map(fits).collect();
        for (listed, _) in list.0.iter().zip(&fit).filter(|(_, fits)| !**fits) {
            let subject = format!("{}", listed.page.url);
            let left = Unsynced(list.0.iter().zip(&fit).filter(|(_, fits)| **fits).map(|(l, _)| l.clone()).collect());
            findings.find(Fault::UnsyncedStray, &subject, &format!("in list {number}"), |batch| {
                batch.put_meta(number, &left)
            })?;
        }
        if let Some(files) = &mut context.files {
            files.doubt(list.0.iter().map(|page| page.page));
        }
    }
    Ok(())
}

fn lists(findings: &Findings<'_>) -> Result<Vec<(u64, Unsynced)>> {
    let range = KeyRange {
        from: MetaKey::Unsynced(0).encode(),
        until: crate::storage::keys::after(&MetaKey::Unsynced(u64::MAX).encode()),
    };
    let found = findings.storage.scan(Family::Meta, &range.from, &range.until, usize::MAX)?;
    let list = |(key, bytes): &Pair| match MetaKey::decode(key) {
        Ok(MetaKey::Unsynced(number)) => Some((number, Unsynced::decode(bytes).ok()?)),
        _ => None,
    };
    Ok(found.iter().filter_map(list).collect())
}

/// Every robots.txt decodes.
pub fn robots(findings: &mut Findings<'_>) -> Result<()> {
    let mut robots = Stream::<Robots>::all();
    while robots.next_in(findings, &[])?.is_some() {}
    Ok(())
}

/// Every seed is that of its key.
pub fn seeds(context: &Context<'_>, findings: &mut Findings<'_>) -> Result<()> {
    let mut seeds = Stream::<Seeds>::all();
    while let Some(row) = seeds.next_in(findings, &[])? {
        if context.url_at(&row.value.url, row.key).is_none() {
            let why = "is not the URL of this seed's key";
            findings.find(Fault::Misplaced, &row.value.url, why, |batch| batch.delete::<Seeds>(&row.key))?;
        }
    }
    Ok(())
}

/// Every content has its first capture.
pub fn contents(findings: &mut Findings<'_>) -> Result<()> {
    let mut contents = Stream::<Content>::all();
    loop {
        let rows: Vec<Row<Content>> = contents.chunk_in(findings, &[], CHUNK)?;
        if rows.is_empty() {
            return Ok(());
        }
        let firsts: Vec<_> = rows.iter().map(|row| row.value.first).collect();
        for (row, page) in rows.iter().zip(look::<Pages>(findings.storage, &firsts)?) {
            let why = match page {
                None => "its capture is not there",
                Some(page) if *page.asked() != row.value.url => "its capture is of another URL",
                Some(page) if page.content != Some(row.key.digest) => "its capture has another content",
                Some(_) => continue,
            };
            findings.find(Fault::ContentDangling, &row.value.url, why, |batch| batch.delete::<Content>(&row.key))?;
        }
    }
}

/// Counters, after everything was counted.
pub fn counters(context: &Context<'_>, findings: &mut Findings<'_>, totals: &Totals) -> Result<()> {
    let stored: Counters = read::meta(findings.storage, context.crawl).ok().flatten().unwrap_or_default();
    let counted = &totals.counters;
    let right = Counters {
        next_seq: stored.next_seq.max(counted.next_seq),
        next_commit: stored.next_commit.max(counted.next_commit),
        ..counted.clone()
    };
    if findings.repairing() && findings.changes > 0 {
        return findings.flush(); // what was changed is counted in the next round
    }
    for difference in differences(&stored, counted) {
        findings.find(Fault::Counters, "meta/counters", &difference, |batch| batch.put_meta(context.crawl, &right))?;
    }
    let numbers =
        [("next_seq", stored.next_seq, right.next_seq), ("next_commit", stored.next_commit, right.next_commit)];
    for (name, is, least) in numbers.iter().filter(|(_, is, least)| is < least) {
        let detail = format!("{name} is {is}, the next free is {least}");
        findings.find(Fault::NextNumber, "meta/counters", &detail, |batch| batch.put_meta(context.crawl, &right))?;
    }
    findings.flush()
}
