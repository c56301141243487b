//! Near-duplicates: where the leaders of groups are found by their texts, and their members by the leader (ADR 36).
//!
//! The rows say what the newest captures say. A leader has its four rows in `near` while its newest capture has that text, a member its row
//! in `near_members` while its newest capture names that leader; both are written and removed with the capture.

use super::{Ending, Ledger, PageChange, Result};
use crate::domain::near::{Near, Sketch, TABLES};
use crate::domain::url::PageUrl;
use crate::storage::keys::{NearKey, NearMemberKey, SeenKey};
use crate::storage::tables::{Near as NearRows, NearMembers, Pages};
use crate::storage::txn::Txn;
use crate::storage::values::{LastTime, NearLeader, NearValue, PageRecord};

/// The rows that a capture calls for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NearPlace {
    /// Those of a leader: the first of them, and what stands there.
    Leads(NearKey, NearLeader),
    /// That of a member.
    Follows(NearMemberKey),
}

impl NearPlace {
    /// Of a capture of this URL; none when it is no part of a group.
    pub fn of(prints: &crate::domain::fingerprint::Fingerprinter, seen: SeenKey, capture: &PageRecord) -> Option<Self> {
        match capture.remarks.near.as_ref()? {
            Near::Leader => {
                let Sketch { sim, features, letters } = Sketch::of(capture.print.as_ref()?)?;
                let url = PageUrl::from_canonical(&capture.url).ok()?;
                let leader = NearLeader { host: seen.host, url: seen.url, features, letters };
                Some(Self::Leads(NearKey::of(prints, url.host(), 0, sim), leader))
            }
            Near::Like { url, .. } => {
                let leader = SeenKey::of(prints, seen.crawl, &PageUrl::from_canonical(url).ok()?);
                Some(Self::Follows(leader.near_member(seen)))
            }
        }
    }
}

/// The rows of a leader.
pub fn rows_of(first: NearKey, leader: NearLeader) -> impl Iterator<Item = (NearKey, NearValue)> {
    (0..TABLES).map(move |table| (first.in_table(table), NearValue((table == 0).then_some(leader))))
}

impl Ledger {
    /// What a page's commit changes of its group; gives what its capture is among near-duplicates.
    pub(super) fn regroup_page(
        &self,
        txn: &mut Txn<'_>,
        seen: SeenKey,
        before: Option<LastTime>,
        page: &PageChange,
    ) -> Result<Option<Near>> {
        if page.capture.is_none() && !matches!(page.ending, Ending::Rejected(_)) {
            return Ok(None); // its newest capture stays what it is
        }
        let was = match before {
            Some(before) => txn.get::<Pages>(&seen.page(before.captured))?,
            None => None,
        };
        self.regroup(txn, seen, was.as_ref(), page.capture.as_ref())
    }

    /// A page that waits is turned away: it leads nobody, and is of no group.
    pub(super) fn ungroup(&self, txn: &mut Txn<'_>, seen: SeenKey, before: Option<LastTime>) -> Result<()> {
        if let Some(before) = before
            && let Some(was) = txn.get::<Pages>(&seen.page(before.captured))?
        {
            self.regroup(txn, seen, Some(&was), None)?;
        }
        Ok(())
    }

    /// In place of the capture `was` of a page stands `is`. Gives what that is: a leader whose place is taken is none.
    pub(super) fn regroup(
        &self,
        txn: &mut Txn<'_>,
        seen: SeenKey,
        was: Option<&PageRecord>,
        is: Option<&PageRecord>,
    ) -> Result<Option<Near>> {
        let place = |capture: Option<&PageRecord>| NearPlace::of(&self.rules.prints, seen, capture?);
        let (old, new) = (place(was), place(is));
        match (old, new) {
            (Some(NearPlace::Leads(one, _)), Some(NearPlace::Leads(other, _))) if one == other => {}
            (Some(NearPlace::Leads(first, leader)), _) if leads(txn, first, seen)? => {
                rows_of(first, leader).for_each(|(key, _)| txn.delete::<NearRows>(&key));
            }
            (Some(NearPlace::Follows(key)), _) if old != new => txn.delete::<NearMembers>(&key),
            _ => {}
        }
        match new {
            Some(NearPlace::Leads(first, leader)) => {
                if txn.get::<NearRows>(&first)?.is_some() && !leads(txn, first, seen)? {
                    return Ok(None);
                }
                rows_of(first, leader).for_each(|(key, value)| txn.put::<NearRows>(&key, &value));
            }
            Some(NearPlace::Follows(key)) => txn.put::<NearMembers>(&key, &()),
            None => return Ok(None),
        }
        Ok(is.and_then(|capture| capture.remarks.near.clone()))
    }
}

/// Whether the rows that begin here are this page's.
fn leads(txn: &Txn<'_>, first: NearKey, seen: SeenKey) -> Result<bool> {
    let leader = txn.get::<NearRows>(&first)?.and_then(|row| row.0);
    Ok(leader.is_some_and(|leader| (leader.host, leader.url) == (seen.host, seen.url)))
}
