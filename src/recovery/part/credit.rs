//! The part of link credit that goes along with partitions: to the unit, so that both sides add up (I11).

use std::collections::BTreeMap;

use super::rows::Out;
use super::{CRAWL, Result};
use crate::domain::credit::{Dividend, Pool, Step, Sums, Waiting};
use crate::domain::fingerprint::{Fingerprinter, HostKey};
use crate::domain::partition::PartitionSet;
use crate::storage::keys::{HostAt, Key, KeyRange, NoteKey, SeenKey, after, purse};
use crate::storage::tables::{Credit, HostState, Notes};
use crate::storage::values::{CreditState, CreditValue, Format, NoteHost, NoteValue};
use crate::storage::{Storage, read};

/// Notes read at a time.
const CHUNK: usize = 500;
/// Bytes of a batch.
const BATCH: usize = 4 << 20;

/// What some partitions have of it.
#[derive(Clone, Debug, Default)]
pub(super) struct CreditPart {
    pub sums: Sums,
    pub accounts: u64,
    /// Those of them that lambda pays.
    pub members: u64,
    pub waiting: Waiting,
    /// Domains of hosts met: those of a partition come together.
    domains: BTreeMap<HostAt, HostKey>,
}

impl CreditPart {
    /// Counts an account or purse; gives it as it is where it goes. `root_index`: what it is owed by the pool of all is paid, and from
    /// there on it is a member of that folder's.
    pub fn take(
        &mut self,
        storage: &dyn Storage,
        state: &CreditState,
        (key, value): (SeenKey, CreditValue),
        root_index: Option<u128>,
    ) -> Result<CreditValue> {
        Ok(match value {
            CreditValue::Purse { members, index, mut at, mut rest } => {
                let of_domain = purse(key, key.host, 0);
                if key == of_domain {
                    self.members += 1;
                    let owed = state.root.index.saturating_sub(at);
                    match root_index {
                        Some(index) => (rest, at) = (rest + owed, index),
                        None => self.sums.unpaid += owed,
                    }
                } else {
                    self.sums.unpaid += purse_of(storage, of_domain)?.index.saturating_sub(at);
                }
                self.sums.purses += rest;
                CreditValue::Purse { members, index, at, rest }
            }
            CreditValue::Account { mut balance, mut at, part, step } => {
                self.accounts += 1;
                if let Some(step) = step {
                    self.waiting.add(Step(step));
                    match (state.dividend, root_index) {
                        (Dividend::Page, to) => {
                            self.members += 1;
                            let owed = state.root.index.saturating_sub(at);
                            match to {
                                Some(index) => (balance, at) = (balance + owed, index),
                                None => self.sums.unpaid += owed,
                            }
                        }
                        (Dividend::Group, _) => {
                            let domain = self.domain(storage, key)?;
                            let pool = purse_of(storage, purse(key, domain, part))?;
                            self.sums.unpaid += pool.index.saturating_sub(at);
                        }
                    }
                }
                self.sums.accounts += balance;
                CreditValue::Account { balance, at, part, step }
            }
        })
    }

    fn domain(&mut self, storage: &dyn Storage, key: SeenKey) -> Result<HostKey> {
        let at = key.host_crawl().host_at();
        if let Some(known) = self.domains.get(&at) {
            return Ok(*known);
        }
        let name = read::get::<HostState>(storage, &at)?.map(|state| state.name).unwrap_or_default();
        let seed = read::meta::<Format>(storage, ())?.map_or(0, |format| format.seed);
        self.domains.clear(); // hosts come one after the other
        Ok(*self.domains.entry(at).or_insert(HostAt::domain(&Fingerprinter::new(seed), &name)))
    }

    /// All that it holds.
    fn held(&self) -> u128 {
        let Sums { accounts, purses, unpaid, lambda, notes, .. } = self.sums;
        accounts + purses + unpaid + lambda + notes
    }

    /// The state of a folder that has this part alone. Its accounts are owed by the same index.
    pub fn alone(&self, of: &CreditState) -> CreditState {
        CreditState {
            sums: Sums { issued: self.held(), ..self.sums },
            root: Pool { members: self.members, index: of.root.index },
            accounts: self.accounts,
            moved: 0,
            waiting: self.waiting.clone(),
            ..of.clone()
        }
    }

    /// The state of the folder that it left.
    pub fn left(&self, of: &CreditState) -> CreditState {
        let (was, part) = (of.sums, self.sums);
        let sums = Sums {
            issued: was.issued.saturating_sub(self.held()),
            accounts: was.accounts.saturating_sub(part.accounts),
            purses: was.purses.saturating_sub(part.purses),
            unpaid: was.unpaid.saturating_sub(part.unpaid),
            lambda: was.lambda,
            notes: was.notes.saturating_sub(part.notes),
        };
        CreditState {
            sums,
            root: Pool { members: of.root.members.saturating_sub(self.members), ..of.root },
            accounts: of.accounts.saturating_sub(self.accounts),
            waiting: steps(of, &self.waiting, u64::saturating_sub),
            ..of.clone()
        }
    }

    /// The state of a folder to which it came and that had none, with what lambda had there.
    pub fn first(&self, from: &CreditState) -> CreditState {
        let (mut state, lambda) = (self.alone(from), from.sums.lambda);
        (state.sums.lambda, state.sums.issued) = (lambda, state.sums.issued + lambda);
        state
    }

    /// The state of a folder to which it came, with what lambda had there. `notes`: how many came along.
    pub fn joined(&self, to: &CreditState, from: &CreditState, notes: u64) -> CreditState {
        let (is, part) = (to.sums, self.sums);
        let sums = Sums {
            issued: is.issued + self.held() + from.sums.lambda,
            accounts: is.accounts + part.accounts,
            purses: is.purses + part.purses,
            unpaid: is.unpaid + part.unpaid,
            lambda: is.lambda + from.sums.lambda,
            notes: is.notes + part.notes,
        };
        CreditState {
            sums,
            root: Pool { members: to.root.members + self.members, ..to.root },
            next: to.next + notes,
            accounts: to.accounts + self.accounts,
            waiting: steps(to, &self.waiting, u64::saturating_add),
            ..to.clone()
        }
    }
}

fn steps(state: &CreditState, by: &Waiting, each: fn(u64, u64) -> u64) -> Waiting {
    let all: Vec<u64> = state.waiting.steps().iter().zip(by.steps()).map(|(is, by)| each(*is, *by)).collect();
    Waiting::of_steps(&all)
}

fn purse_of(storage: &dyn Storage, key: SeenKey) -> Result<Pool> {
    let found = read::get::<Credit>(storage, &key)?.and_then(CreditValue::purse);
    Ok(found.map(|purse| purse.pool).unwrap_or_default())
}

/// A note that is not settled.
struct Open {
    number: u64,
    note: NoteValue,
    /// Its last page that had its share.
    done: Option<SeenKey>,
}

fn each_open(storage: &dyn Storage, state: &CreditState, act: &mut dyn FnMut(Open) -> Result<()>) -> Result<()> {
    let at = |number| NoteKey { crawl: CRAWL, number }.encode();
    let mut range = KeyRange { from: at(state.first), until: at(state.next) };
    loop {
        let notes = read::scan::<Notes>(storage, &range, CHUNK)?;
        let next = notes.last().filter(|_| notes.len() == CHUNK).map(|(key, _)| after(&key.encode()));
        for (key, note) in notes {
            let round = state.round.filter(|round| key.number <= round.upto);
            act(Open { number: key.number, note, done: round.and_then(|round| round.after) })?;
        }
        match next {
            Some(next) => range.from = next,
            None => return Ok(()),
        }
    }
}

impl Open {
    /// Shares that are still to be brought to pages of these hosts.
    fn units(&self, to: &[NoteHost]) -> u128 {
        let open = to.iter().map(|host| open_pages(host, self.done).count() as u128).sum::<u128>();
        open * self.note.share
    }
}

fn open_pages(host: &NoteHost, done: Option<SeenKey>) -> impl Iterator<Item = &crate::domain::fingerprint::UrlKey> {
    let at = HostAt { partition: host.partition, host: host.host }.crawl(CRAWL);
    host.pages.iter().filter(move |url| done.is_none_or(|done| at.url(**url) > done))
}

/// Notes part: what they have for pages of these partitions is counted, and written to the other folder under the same numbers.
pub(super) fn give_notes(
    from: &dyn Storage,
    to: Option<&dyn Storage>,
    state: &CreditState,
    set: &PartitionSet,
    part: &mut CreditPart,
) -> Result<()> {
    let mut out = Out::new(to);
    each_open(from, state, &mut |open| {
        let gone: Vec<NoteHost> = open.note.to.iter().filter(|host| set.has(host.partition)).cloned().collect();
        part.sums.notes += open.units(&gone);
        if !gone.is_empty() {
            let note = NoteValue { share: open.note.share, to: gone };
            out.batch.put::<Notes>(&NoteKey { crawl: CRAWL, number: open.number }, &note);
        }
        out.flush(BATCH)
    })?;
    out.flush(0)
}

/// The notes that are left, in the batch that gives the others away.
pub(super) fn keep_notes(
    storage: &dyn Storage,
    state: &CreditState,
    set: &PartitionSet,
    batch: &mut crate::storage::Batch,
) -> Result<()> {
    each_open(storage, state, &mut |open| {
        let left: Vec<NoteHost> = open.note.to.iter().filter(|host| !set.has(host.partition)).cloned().collect();
        let key = NoteKey { crawl: CRAWL, number: open.number };
        match left.is_empty() {
            true => batch.delete::<Notes>(&key),
            false if left.len() < open.note.to.len() => {
                batch.put::<Notes>(&key, &NoteValue { share: open.note.share, to: left });
            }
            false => {}
        }
        Ok(())
    })
}

/// What open notes of another folder have for pages of these partitions, without what they have brought already, under the numbers that
/// come next here. Gives how many.
pub(super) fn take_notes(
    from: (&dyn Storage, &CreditState),
    to: (&dyn Storage, &CreditState),
    set: &PartitionSet,
    part: &mut CreditPart,
) -> Result<u64> {
    let (mut out, mut taken) = (Out::new(Some(to.0)), 0);
    each_open(from.0, from.1, &mut |open| {
        let left = |host: &NoteHost| NoteHost { pages: open_pages(host, open.done).copied().collect(), ..host.clone() };
        let meant = open.note.to.iter().filter(|host| set.has(host.partition));
        let hosts: Vec<NoteHost> = meant.map(left).filter(|host| !host.pages.is_empty()).collect();
        part.sums.notes += open.units(&hosts);
        if !hosts.is_empty() {
            let key = NoteKey { crawl: CRAWL, number: to.1.next + taken };
            out.batch.put::<Notes>(&key, &NoteValue { share: open.note.share, to: hosts });
            taken += 1;
        }
        out.flush(BATCH)
    })?;
    out.flush(0)?;
    Ok(taken)
}
