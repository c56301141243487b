//! Near-duplicates: the rows of leaders and members are those that the newest captures call for.

use super::pass::Pass;
use super::stream::{Row, each_chunk};
use super::{Fault, Result};
use crate::domain::fingerprint::CrawlId;
use crate::domain::near::{Near, TABLES};
use crate::domain::note::Note;
use crate::storage::error::hex;
use crate::storage::keys::{HostAt, NearKey, SeenKey};
use crate::storage::ledger::{NearPlace, rows_of};
use crate::storage::tables::{Near as NearRows, NearMembers, Pages, Seen};
use crate::storage::values::{NearLeader, NearValue, PageRecord};
use crate::storage::{Batch, read};

/// Every row is that of a newest capture.
pub fn rows(pass: &mut Pass<'_>) -> Result<()> {
    each_chunk::<NearRows>(pass, |pass, rows| {
        let firsts: Vec<NearKey> = rows.iter().map(|row| row.key.in_table(0)).collect();
        for (row, first) in rows.iter().zip(pass.look::<NearRows>(&firsts)?) {
            match first.and_then(|first| first.0) {
                Some(leader) if row.key.table == 0 => leads(pass, row.key, leader)?,
                Some(_) if row.value == NearValue(None) && row.key.table < TABLES => {}
                _ => {
                    let (subject, why) = (format!("near {}", hex(&row.raw)), "is no row of a leader");
                    pass.find(Fault::NearDangling, &subject, why, |batch| batch.delete::<NearRows>(&row.key))?;
                }
            }
        }
        Ok(())
    })?;
    each_chunk::<NearMembers>(pass, |pass, rows| {
        for row in rows {
            if place_of(pass, row.key.page()) != Some(NearPlace::Follows(row.key)) {
                let (subject, why) =
                    (format!("near_members {}", hex(&row.raw)), "its page names another leader, or none");
                pass.find(Fault::NearDangling, &subject, why, |batch| batch.delete::<NearMembers>(&row.key))?;
            }
        }
        Ok(())
    })
}

/// The leader at its place in the first table.
fn leads(pass: &mut Pass<'_>, first: NearKey, leader: NearLeader) -> Result<()> {
    let at = HostAt { partition: first.partition, host: leader.host };
    let seen = at.crawl(CrawlId::default()).url(leader.url);
    let subject = format!("leader {}", leader.url);
    if place_of(pass, seen) != Some(NearPlace::Leads(first, leader)) {
        let why = "its newest capture has another text, or is not there";
        return pass.find(Fault::NearDangling, &subject, why, |batch| {
            rows_of(first, leader).for_each(|(key, _)| batch.delete::<NearRows>(&key));
        });
    }
    let others: Vec<_> = (1..TABLES).map(|table| first.in_table(table)).collect();
    if pass.look::<NearRows>(&others)?.iter().all(Option::is_some) {
        return Ok(());
    }
    pass.find(Fault::NearMissing, &subject, "is not in all tables", |batch| put_rows(batch, first, leader))
}

fn put_rows(batch: &mut Batch, first: NearKey, leader: NearLeader) {
    rows_of(first, leader).for_each(|(key, value)| batch.put::<NearRows>(&key, &value));
}

/// What the newest capture of a URL calls for; one that does not decode is found elsewhere.
fn place_of(pass: &Pass<'_>, seen: SeenKey) -> Option<NearPlace> {
    let (_, page) = read::latest_page(pass.storage, seen).ok()??;
    NearPlace::of(&pass.prints, seen, &page)
}

/// The newest capture of a URL that is done has its rows, and a leader that is known.
pub fn placed(pass: &mut Pass<'_>, seen: SeenKey, page: &Row<Pages>) -> Result<()> {
    let Some(near) = &page.value.remarks.near else { return Ok(()) };
    let (url, fault) = (&page.value.url, Fault::NearMissing);
    match NearPlace::of(&pass.prints, seen, &page.value) {
        Some(NearPlace::Leads(first, leader)) => match pass.look_one::<NearRows>(&first)?.and_then(|row| row.0) {
            Some(there) if (there.host, there.url) == (leader.host, leader.url) => return Ok(()),
            Some(_) => {}
            None => return pass.find(fault, url, "leads, and is in no table", |batch| put_rows(batch, first, leader)),
        },
        Some(NearPlace::Follows(row)) if pass.look_one::<Seen>(&row.leader())?.is_some() => {
            if pass.look_one::<NearMembers>(&row)?.is_some() {
                return Ok(());
            }
            return pass.find(fault, url, "is not in its group", |batch| batch.put::<NearMembers>(&row, &()));
        }
        _ => {}
    }
    let why = match near {
        Near::Leader => "is said to lead, and another page has its place".to_owned(),
        Near::Like { url, .. } => format!("is said to be near to {url}, which nobody knows"),
    };
    let freed = of_no_group(page.value.clone());
    pass.find(Fault::NearDangling, url, &why, |batch| batch.put::<Pages>(&page.key, &freed))
}

/// A capture that is of no group.
pub fn of_no_group(mut page: PageRecord) -> PageRecord {
    page.remarks.near = None;
    page.remarks.notes.retain(|note| *note != Note::NearDuplicate);
    page
}
