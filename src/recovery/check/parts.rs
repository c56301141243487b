//! A crawl in parts: nothing of another member's partitions is here (I14); rows of links, and what is said of them (I13).

use std::collections::BTreeMap;

use super::pass::Pass;
use super::stream::Stream;
use super::{Fault, Note, Result};
use crate::domain::cluster::map::MemberId;
use crate::domain::partition::{Partition, PartitionSet};
use crate::storage::error::hex;
use crate::storage::keys::KeyRange;
use crate::storage::share::Share;
use crate::storage::tables::Outbox;
use crate::storage::values::{Handed, Membership, OutTo};
use crate::storage::{Family, read};

/// Partitions and rows.
pub fn parts(pass: &mut Pass<'_>) -> Result<()> {
    let member = read::meta::<Membership>(pass.storage, ()).ok().flatten();
    let share = match member.as_ref().map(Share::of) {
        Some(Ok(share)) => Some(share),
        Some(Err(why)) => {
            return pass.find(Fault::Damaged, "meta/member", &format!("{why}; no repair can make it anew"), |_| {});
        }
        None => None,
    };
    if let (Some(member), Some(share)) = (&member, &share) {
        match (&member.merged, &member.work) {
            (Some(into), _) => pass.note(Note::Merged, || into.clone()),
            (None, Some(_)) => pass.note(Note::UnderWay, || "meta/member".to_owned()),
            (None, None) => foreign(pass, share)?,
        }
    }
    rows(pass, share.as_ref())
}

fn foreign(pass: &mut Pass<'_>, share: &Share) -> Result<()> {
    let is_half = |partition: Partition| share.held.dirty.has(partition); // the next start clears it
    let is_other = |partition: &Partition| !share.held.owned.has(*partition) && !is_half(*partition);
    let others: PartitionSet = PartitionSet::all().iter().filter(is_other).collect();
    let ranges = KeyRange::partitions(&others);
    for family in Family::moving() {
        for range in &ranges {
            let first = pass.storage.scan(family, &range.from, &range.until, 1)?.pop();
            let Some((key, _)) = first else { continue };
            let subject = format!("{family} {}", hex(&key));
            pass.find(Fault::ForeignRow, &subject, "its partition is another member's", |_| {})?;
            if pass.repairing {
                pass.storage.clear(family, range)?;
                pass.mended(Fault::ForeignRow, &subject, "removed, with all of that partition in this family");
            }
        }
    }
    Ok(())
}

fn rows(pass: &mut Pass<'_>, share: Option<&Share>) -> Result<()> {
    let (mut rows, mut found) = (Stream::<Outbox>::default(), BTreeMap::<MemberId, OutTo>::new());
    let mut last = BTreeMap::new();
    while let Some(row) = rows.next_in(pass, &[])? {
        let subject = format!("outbox {}", hex(&row.raw));
        if row.value.unpack().map(|handed| handed.links.len() as u64) != Ok(row.value.links) {
            let detail = "does not unpack to as many links as it says";
            pass.find(Fault::OutboxRow, &subject, detail, |batch| batch.delete::<Outbox>(&row.key))?;
            continue;
        }
        if share.is_none_or(|share| share.own == row.key.from) {
            last.insert(row.key.to, row.key.number);
        }
        if share.is_none_or(|share| !share.is_me(row.key.to)) {
            let of = found.entry(row.key.to).or_default();
            (of.rows, of.links) = (of.rows + 1, of.links + row.value.links);
            of.bytes += row.value.packed.len() as u64;
        }
    }
    let stored = read::meta::<Handed>(pass.storage, ()).ok().flatten().unwrap_or_default();
    let mut right = stored.clone();
    right.out.retain(|to, of| found.contains_key(to) || of.next > 0);
    for (to, of) in &mut right.out {
        (of.rows, of.bytes, of.links) = (0, 0, 0);
        of.next = of.next.max(last.get(to).map_or(0, |last| last + 1));
    }
    for (to, OutTo { rows, bytes, links, .. }) in found {
        let of = right.out.entry(to).or_default();
        (of.rows, of.bytes, of.links) = (rows, bytes, links);
        of.next = of.next.max(last.get(&to).map_or(0, |last| last + 1));
    }
    if right != stored {
        let detail = format!("stored {:?}, counted {:?}", stored.out, right.out);
        pass.find(Fault::OutboxCounts, "meta/handed", &detail, |batch| batch.put_meta((), &right))?;
    }
    Ok(())
}
