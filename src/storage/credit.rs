//! What a round of link credit brings, read from its notes in the order of the accounts.

use std::collections::BTreeMap;

use super::keys::{KeyRange, NoteKey, SeenKey, after};
use super::ledger::{Arrival, Settling};
use super::tables::Notes;
use super::values::{Counters, CreditState, NoteValue};
use super::{Storage, StorageError, read};
use crate::domain::credit::CreditRules;
use crate::domain::fingerprint::{CrawlId, HostKey};
use crate::storage::keys::Key as _;

/// Accounts of one piece.
pub const PIECE: usize = 1_024;
/// Notes of one round at most.
const NOTES: u64 = 4_096;
/// Pages of their notes from which on no further note is taken in.
const PAGES: u64 = 500_000;

/// A round, or what is left of one.
pub struct Plan {
    upto: u64,
    after: Option<SeenKey>,
    left: std::collections::btree_map::IntoIter<SeenKey, (HostKey, u128)>,
    over: bool,
}

impl Plan {
    /// What is to be done: the round under way, or a new one of the notes that wait. None when none waits.
    ///
    /// # Errors
    /// The storage's own.
    pub fn make(storage: &dyn Storage, crawl: CrawlId, state: &CreditState) -> read::Result<Option<Self>> {
        let most = match state.round {
            Some(round) => round.upto,
            None => state.next.saturating_sub(1).min(state.first.saturating_add(NOTES - 1)),
        };
        let done = state.round.and_then(|round| round.after);
        let (mut shares, mut pages, mut upto) = (BTreeMap::<SeenKey, (HostKey, u128)>::new(), 0, None);
        let mut from = NoteKey { crawl, number: state.first };
        while from.number <= most && (state.round.is_some() || pages < PAGES) {
            let range = KeyRange { from: from.encode(), until: after(&NoteKey { crawl, number: most }.encode()) };
            let Some((key, note)) = read::scan::<Notes>(storage, &range, 1)?.pop() else { break };
            pages += note.pages();
            take_in(&mut shares, crawl, &note, done);
            upto = Some(key.number);
            from.number = key.number.saturating_add(1);
        }
        let upto = match state.round {
            Some(round) => Some(round.upto),
            None => upto,
        };
        Ok(upto.map(|upto| Self { upto, after: done, left: shares.into_iter(), over: false }))
    }

    /// The next piece, of so many accounts at most ([`PIECE`]); the last one may bring nothing.
    pub fn next_piece(&mut self, most: usize) -> Option<Settling> {
        if self.over {
            return None;
        }
        let taken = self.left.by_ref().take(most.max(1));
        let arrivals: Vec<Arrival> = taken.map(|(page, (domain, units))| Arrival { page, domain, units }).collect();
        self.over = self.left.len() == 0;
        let (upto, after) = (self.upto, self.after);
        self.after = arrivals.last().map(|arrival| arrival.page).or(after);
        Some(Settling { upto, after, arrivals, last: self.over })
    }
}

fn take_in(shares: &mut BTreeMap<SeenKey, (HostKey, u128)>, crawl: CrawlId, note: &NoteValue, done: Option<SeenKey>) {
    for host in &note.to {
        let at = super::keys::HostAt { partition: host.partition, host: host.host }.crawl(crawl);
        for page in host.pages.iter().map(|url| at.url(*url)).filter(|page| done.is_none_or(|done| *page > done)) {
            shares.entry(page).or_insert((host.domain, 0)).1 += note.share;
        }
    }
}

/// A crawl that has begun is gone on with by another rule of link credit: no row of what it knows so far would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("frontier.{key}: this crawl began with {was}; set it so, or begin another crawl in a folder of its own")]
pub struct OtherCredit {
    key: &'static str,
    was: String,
}

/// Holds the setting against what the folder has.
///
/// # Errors
/// [`OtherCredit`], or the storage's own.
pub fn as_before(storage: &dyn Storage, rules: Option<CreditRules>) -> Result<(), AsBefore> {
    let state = read::meta::<CreditState>(storage, CrawlId::default())?;
    let begun = read::meta::<Counters>(storage, CrawlId::default())?.is_some_and(|counters| counters.discovered > 0);
    let (key, was) = match (state, rules) {
        (Some(state), Some(rules)) if state.dividend != rules.dividend => {
            ("credit_dividend", state.dividend.to_string())
        }
        (Some(_), None) => ("credit", true.to_string()),
        (None, Some(_)) if begun => ("credit", false.to_string()),
        _ => return Ok(()),
    };
    Err(OtherCredit { key, was }.into())
}

/// Why a crawl's credit could not be held against its folder.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each says what it is")]
pub enum AsBefore {
    #[error(transparent)]
    Other(#[from] OtherCredit),
    #[error(transparent)]
    Storage(#[from] StorageError),
}
