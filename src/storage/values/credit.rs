//! Link credit: accounts, purses, notes, and what they all hold together.

use super::ValueError;
use super::wire::{Reader, Wire, fields, variants};
use crate::domain::credit::{Dividend, Pool, Purse, Sums, Waiting};
use crate::domain::fingerprint::{HostKey, UrlKey};
use crate::domain::partition::Partition;
use crate::storage::keys::SeenKey;

/// What stands under a key of `credit`: the key of a purse has the fingerprint of a domain in the host's place, and a URL that begins
/// with eight zero bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreditValue {
    /// The account of a page.
    Account {
        /// Units.
        balance: u128,
        /// Its pool's index when it last took; 0 when it is no member.
        at: u128,
        /// Number of its part of the domain.
        part: u32,
        /// Where it was counted among what waits, while it waits: then it is a member.
        step: Option<u8>,
    },
    /// The purse of a domain, or of a part of one.
    Purse {
        /// Members, and what each was paid.
        members: u64,
        /// The same.
        index: u128,
        /// The index of the pool it is a member of, when it last took.
        at: u128,
        /// What did not divide.
        rest: u128,
    },
}

variants!(CreditValue "kind of account" {
    1 => Account { balance, at, part, step },
    2 => Purse { members, index, at, rest },
});

impl From<Purse> for CreditValue {
    fn from(Purse { pool, at, rest }: Purse) -> Self {
        Self::Purse { members: pool.members, index: pool.index, at, rest }
    }
}

impl CreditValue {
    /// The purse in it.
    pub fn purse(self) -> Option<Purse> {
        match self {
            Self::Purse { members, index, at, rest } => Some(Purse { pool: Pool { members, index }, at, rest }),
            Self::Account { .. } => None,
        }
    }
}

fields! {
    /// Pages of one host that a fetched page leads to.
    NoteHost {
        /// The host.
        partition: Partition,
        /// The host.
        host: HostKey,
        /// Its registrable domain.
        domain: HostKey,
        /// Each page.
        pages: Vec<UrlKey>,
    }
}

fields! {
    /// What a fetched page gave to those it leads to.
    NoteValue {
        /// Units for each.
        share: u128,
        /// To whom.
        to: Vec<NoteHost>,
    }
}

impl NoteValue {
    /// Pages in it.
    pub fn pages(&self) -> u64 {
        self.to.iter().fold(0, |sum, host| sum.saturating_add(host.pages.len() as u64))
    }
}

fields! {
    /// A round under way: all notes up to one number are being settled, in the order of the accounts.
    #[derive(Copy)]
    CreditRound {
        /// The last note of it.
        upto: u64,
        /// The last account that has its share of them all.
        after: Option<SeenKey>,
        /// Most units of an account touched in it.
        richest: u128,
    }
}

/// What all hold together: one record, written in the batch that changes it (I11).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CreditState {
    /// To whom lambda pays back: for good.
    pub dividend: Dividend,
    /// The sums.
    pub sums: Sums,
    /// Those whom lambda pays.
    pub root: Pool,
    /// Number of the first note that is not settled.
    pub first: u64,
    /// Number of the next note.
    pub next: u64,
    /// The round under way.
    pub round: Option<CreditRound>,
    /// Rounds that ended.
    pub rounds: u64,
    /// Accounts of pages.
    pub accounts: u64,
    /// URLs that rose to a better rank.
    pub moved: u64,
    /// What waits.
    pub waiting: Waiting,
}

impl Wire for CreditState {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.dividend == Dividend::Page));
        let Sums { issued, accounts, purses, unpaid, lambda, notes } = self.sums;
        [issued, accounts, purses, unpaid, lambda, notes, self.root.index].iter().for_each(|units| units.put(out));
        [self.root.members, self.first, self.next, self.rounds, self.accounts, self.moved]
            .iter()
            .for_each(|n| n.put(out));
        self.round.put(out);
        self.waiting.steps().to_vec().put(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, ValueError> {
        let dividend = if bool::read(from)? { Dividend::Page } else { Dividend::Group };
        let mut units = || u128::read(from);
        let (issued, accounts, purses) = (units()?, units()?, units()?);
        let sums = Sums { issued, accounts, purses, unpaid: units()?, lambda: units()?, notes: units()? };
        let index = units()?;
        let [members, first, next, rounds, accounts, moved] = <[u64; 6]>::read(from)?;
        let (round, steps) = (Wire::read(from)?, Vec::<u64>::read(from)?);
        let waiting = Waiting::of_steps(&steps);
        if waiting.steps() != steps {
            return Err(ValueError::Number);
        }
        Ok(Self { dividend, sums, root: Pool { members, index }, first, next, round, rounds, accounts, moved, waiting })
    }
}
