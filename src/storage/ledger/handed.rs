//! Links that go from member to member of a crawl in parts (ADR 41, I13).
//!
//! A link to another member's host becomes part of a row for it in the batch that commits the page it was found on. A row that came is
//! taken in by one change, which removes it: its links count once, however often it comes.

use std::collections::{BTreeMap, BTreeSet};

use super::{Done, ForeignUrl, Leased, Ledger, NewUrl, Result, TakenIn};
use crate::base::time::UnixMillis;
use crate::domain::cluster::map::MemberId;
use crate::domain::fingerprint::UrlKey;
use crate::domain::partition::Partition;
use crate::storage::keys::{HostAt, Key as _, KeyRange, RowKey, after};
use crate::storage::tables::{Outbox as Rows, Seeds};
use crate::storage::txn::Txn;
use crate::storage::values::{Handed, HandedLink, HandedLinks, OutboxRow, SeedValue};
use crate::storage::{Storage, read};

/// Rows that are removed, or turned round, in one commit at most.
pub const PIECE: usize = 200;

/// The ledger's part of it; only there in a crawl in parts.
pub(super) struct Outbox {
    handed: Handed,
    /// Of the batch under construction.
    links: BTreeMap<MemberId, HandedLinks>,
    /// When they were found, in milliseconds since 1970.
    now: u64,
    /// Seeds of which is said something in them.
    said: BTreeSet<(MemberId, String)>,
}

impl Outbox {
    pub fn open(storage: &dyn Storage) -> Result<Self> {
        let handed = read::meta::<Handed>(storage, ())?.unwrap_or_default();
        Ok(Self { handed, links: BTreeMap::new(), now: 0, said: BTreeSet::new() })
    }
}

impl Ledger {
    /// Whether a partition is another member's.
    pub(super) fn is_foreign(&self, partition: Partition) -> bool {
        self.rules.share.as_ref().is_some_and(|share| share.foreign(partition).is_some())
    }

    /// The key of a URL that was taken for this folder's own and is of another member's host: it is to be handed over.
    pub(super) fn goes_astray(&self, new: &NewUrl, astray: &mut Vec<ForeignUrl>) -> Option<UrlKey> {
        self.rules.share.as_ref()?;
        let seen = self.seen_key(&new.url);
        if !self.is_foreign(seen.partition) {
            return None;
        }
        astray.push(ForeignUrl { new: new.clone(), refused: None, units: 0 });
        Some(seen.url)
    }

    /// Links to other members' hosts go along with this batch.
    ///
    /// `share`: units of credit that each gets which is to be followed.
    pub(super) fn hand_over(
        &mut self,
        txn: &Txn<'_>,
        foreign: &[ForeignUrl],
        share: u128,
        now: UnixMillis,
    ) -> Result<()> {
        self.outbox.iter_mut().for_each(|outbox| outbox.now = now.0);
        for foreign in foreign {
            let host = HostAt::of(&self.rules.prints, foreign.new.url.host());
            let Some(to) = self.rules.share.as_ref().and_then(|share| share.foreign(host.partition)) else {
                continue;
            };
            let mut link = foreign.handed();
            if link.refused.is_none() {
                link.units += share;
            }
            let said = self.said_of(txn, &link)?;
            let Some(outbox) = &mut self.outbox else { continue };
            let row = outbox.links.entry(to).or_default();
            row.links.push(link);
            row.said.extend(said.filter(|said| outbox.said.insert((to, said.url.clone()))));
        }
        Ok(())
    }

    /// What was said of the seed that a link is or goes back to. That it is a seed is said of it in any case.
    fn said_of(&mut self, txn: &Txn<'_>, link: &HandedLink) -> Result<Option<SeedValue>> {
        match &link.origin {
            Some(origin) => Ok(self.seed(txn, origin)?.map(|said| (*said).clone())),
            None if link.seed => match crate::domain::url::PageUrl::from_canonical(&link.url) {
                Ok(url) => txn.get::<Seeds>(&self.seen_key(&url)),
                Err(_) => Ok(None),
            },
            None => Ok(None),
        }
    }

    /// The rows of the batch, and what there is for each. Their numbers are times, so that a folder that is put back to a checkpoint does not
    /// give again those that it gave after it: whoever had these would pass other rows over.
    pub(super) fn seal_outbox(&mut self, txn: &mut Txn<'_>) -> Result<()> {
        let (Some(outbox), Some(share)) = (&mut self.outbox, &self.rules.share) else { return Ok(()) };
        outbox.said.clear();
        if outbox.links.is_empty() {
            return Ok(());
        }
        for (to, links) in std::mem::take(&mut outbox.links) {
            let of = outbox.handed.out.entry(to).or_default();
            for row in links.into_rows() {
                let key = RowKey { from: share.own, to, number: of.next.max(outbox.now).max(1) };
                of.next = key.number + 1;
                if !share.is_me(to) {
                    (of.rows, of.links) = (of.rows + 1, of.links + row.links);
                    of.bytes += row.packed.len() as u64;
                }
                txn.put::<Rows>(&key, &row);
            }
        }
        txn.put_meta((), &outbox.handed);
        Ok(())
    }

    /// The first rows for a member that are not above a number.
    fn rows_for(&self, txn: &Txn<'_>, to: MemberId, upto: u64) -> Result<Vec<(RowKey, OutboxRow)>> {
        let Some(share) = &self.rules.share else { return Ok(Vec::new()) };
        let key = |number| RowKey { from: share.own, to, number }.encode();
        let until = upto.checked_add(1).map_or_else(|| after(&key(u64::MAX)), key);
        read::scan::<Rows>(txn.storage(), &KeyRange { from: key(0), until }, PIECE)
    }

    /// Rows that a whole checkpoint of their receiver has go.
    pub(super) fn covered(&mut self, txn: &mut Txn<'_>, to: MemberId, upto: u64) -> Result<Done> {
        let rows = self.rows_for(txn, to, upto)?;
        let Some(outbox) = &mut self.outbox else { return Ok(Done::default()) };
        let of = outbox.handed.out.entry(to).or_default();
        for (key, row) in &rows {
            of.less(row);
            of.theirs = of.theirs.max(key.number);
            txn.delete::<Rows>(key);
        }
        txn.put_meta((), &outbox.handed);
        Ok(Done::default())
    }

    /// Rows become rows for this member itself: taken in here, their links go where they belong.
    pub(super) fn turn_round(&mut self, txn: &mut Txn<'_>, to: MemberId, now: UnixMillis) -> Result<Done> {
        let rows = self.rows_for(txn, to, u64::MAX)?;
        let (Some(outbox), Some(share)) = (&mut self.outbox, &self.rules.share) else { return Ok(Done::default()) };
        for (key, row) in &rows {
            outbox.handed.out.entry(to).or_default().less(row);
            let own = outbox.handed.out.entry(share.own).or_default();
            let number = own.next.max(now.0).max(1);
            own.next = number + 1;
            txn.delete::<Rows>(key);
            txn.put::<Rows>(&RowKey { from: share.own, to: share.own, number }, row);
        }
        txn.put_meta((), &outbox.handed);
        Ok(Done::default())
    }

    /// A row that another member has sent.
    pub(super) fn take_in(
        &mut self,
        txn: &mut Txn<'_>,
        taken: &TakenIn,
        now: UnixMillis,
        leased: Leased<'_>,
    ) -> Result<Done> {
        if txn.get::<Rows>(&taken.row)?.is_none() {
            return Ok(Done { void: true, ..Done::default() }); // it was taken in before
        }
        txn.delete::<Rows>(&taken.row);
        let done = self.links(txn, &taken.links, now, leased)?;
        self.come_in(txn, &taken.credit);
        Ok(done)
    }
}
