//! Near-duplicates: where the leaders of groups are found by their texts, and their members by the leader (ADR 36).
//!
//! The rows say what the newest captures say. A leader has its four rows in `near` while its newest capture has that text, a member its row
//! in `near_members` while its newest capture names that leader; both are written and removed with the capture.

use super::{Ending, Ledger, PageChange, Result};
use crate::domain::fingerprint::Fingerprinter;
use crate::domain::near::{Near, Sketch, TABLES};
use crate::domain::url::PageUrl;
use crate::storage::keys::{NearKey, NearMemberKey, SeenKey};
use crate::storage::tables::{Near as NearRows, NearMembers, Pages};
use crate::storage::txn::Txn;
use crate::storage::values::{LastTime, PageRecord};

/// The rows that a capture calls for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NearPlace {
    /// Those of a leader, one in each table.
    Leads([NearKey; TABLES as usize]),
    /// That of a member.
    Follows(NearMemberKey),
}

impl NearPlace {
    /// Of a capture of this URL; none when it is no part of a group.
    pub fn of(prints: &Fingerprinter, seen: SeenKey, capture: &PageRecord) -> Option<Self> {
        match capture.remarks.near.as_ref()? {
            Near::Leader => {
                let sketch = Sketch::of(capture.print.as_ref()?)?;
                let url = PageUrl::from_canonical(&capture.url).ok()?;
                Some(Self::Leads(NearKey::rows(prints, url.host(), seen, &sketch)))
            }
            Near::Like { url, .. } => {
                let leader = SeenKey::of(prints, seen.crawl, &PageUrl::from_canonical(url).ok()?);
                Some(Self::Follows(leader.near_member(seen)))
            }
        }
    }
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
        let was = capture_before(txn, seen, before)?;
        self.regroup(txn, seen, was.as_ref(), page.capture.as_ref())
    }

    /// A page that waits is turned away: it leads nobody, and is of no group.
    pub(super) fn ungroup(&self, txn: &mut Txn<'_>, seen: SeenKey, before: Option<LastTime>) -> Result<()> {
        let was = capture_before(txn, seen, before)?;
        self.regroup(txn, seen, was.as_ref(), None).map(drop)
    }

    /// In place of the capture `was` of a page stands `is`. Gives what that is.
    pub(super) fn regroup(
        &self,
        txn: &mut Txn<'_>,
        seen: SeenKey,
        was: Option<&PageRecord>,
        is: Option<&PageRecord>,
    ) -> Result<Option<Near>> {
        let place = |capture: Option<&PageRecord>| NearPlace::of(&self.rules.prints, seen, capture?);
        let (old, new) = (place(was), place(is));
        match old {
            Some(NearPlace::Leads(rows)) if old != new => rows.iter().for_each(|row| txn.delete::<NearRows>(row)),
            Some(NearPlace::Follows(row)) if old != new => txn.delete::<NearMembers>(&row),
            _ => {}
        }
        match new {
            Some(NearPlace::Leads(rows)) => rows.iter().for_each(|row| txn.put::<NearRows>(row, &())),
            Some(NearPlace::Follows(row)) => txn.put::<NearMembers>(&row, &()),
            None => {}
        }
        Ok(is.filter(|_| new.is_some()).and_then(|capture| capture.remarks.near.clone()))
    }
}

/// The capture that a page had before it was queued once more.
pub(super) fn capture_before(txn: &Txn<'_>, seen: SeenKey, before: Option<LastTime>) -> Result<Option<PageRecord>> {
    match before {
        Some(before) => Ok(txn.get::<Pages>(&seen.page(before.captured))?),
        None => Ok(None),
    }
}
