//! The feed: what became of each page, in the order of the commits, and who reads it (I10).

use super::wire::fields;
use crate::base::time::UnixMillis;
use crate::domain::coded::codes;
use crate::storage::keys::SeenKey;

codes! {
    /// What became of a page.
    FeedKind {
        /// Its content was fetched, and it was new to the crawl or had been given up.
        First = 1, "first";
        /// Its content is another than before.
        Changed = 2, "changed";
        /// It was fetched again, and its content is what it was.
        Unchanged = 3, "unchanged";
        /// It redirects elsewhere.
        Redirect = 4, "redirect";
        /// It is not there any more, or never was: 404, 410 or 451.
        Gone = 5, "gone";
        /// It was given up.
        Failed = 6, "failed";
        /// It was turned away after all.
        Rejected = 7, "rejected";
    }
}

fields! {
    /// One entry.
    FeedEntry {
        /// What became of it.
        kind: FeedKind,
        /// When that was committed.
        at: UnixMillis,
        /// Which page.
        page: SeenKey,
        /// When it was captured, which with its key makes that in `pages`; none for what left no capture.
        captured: Option<UnixMillis>,
        /// Why: code of the [`Failure`](crate::domain::reason::Failure) or [`Rejection`](crate::domain::reason::Rejection).
        why: Option<u8>,
    }
}

/// Former feeds that are remembered.
const FORMER: usize = 32;
/// Most consumers with a name.
pub const CONSUMERS: usize = 64;

fields! {
    /// Which feed this is. A folder put back to a former state is another: numbers may mean other pages from there on.
    #[derive(Default)]
    FeedLog {
        /// Bits nobody can guess.
        id: [u8; 8],
        /// Entries up to this one were let go (`feed.keep`).
        trimmed: u64,
        /// The feeds that this one goes back to, oldest first.
        former: Vec<FormerFeed>,
    }
}

fields! {
    /// A feed that another one continues.
    FormerFeed {
        /// Which.
        id: [u8; 8],
        /// The last entry that both have.
        common: u64,
    }
}

impl FeedLog {
    /// The feed that goes on from this one, which it has in common up to an entry.
    pub fn continued(mut self, id: [u8; 8], common: u64) -> Self {
        self.former.push(FormerFeed { id: std::mem::replace(&mut self.id, id), common });
        let surplus = self.former.len().saturating_sub(FORMER);
        self.former.drain(..surplus);
        self
    }

    /// The last entry that this feed has in common with another one; none when it does not go back to it.
    pub fn common_with(&self, id: &[u8; 8]) -> Option<u64> {
        let from = self.former.iter().position(|former| former.id == *id)?;
        self.former.iter().skip(from).map(|former| former.common).min()
    }
}

fields! {
    /// Somebody who reads the feed.
    Consumer {
        /// Its name.
        name: String,
        /// The last entry that it is done with.
        after: u64,
        /// What it has not read is kept for it.
        hold: bool,
        /// When it said so.
        at: UnixMillis,
    }
}

/// All of them, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Consumers(pub Vec<Consumer>);

impl Consumers {
    /// The last entry that nobody who holds still needs; none when nobody holds.
    pub fn held_after(&self) -> Option<u64> {
        self.0.iter().filter(|consumer| consumer.hold).map(|consumer| consumer.after).min()
    }

    /// Sets one; false when there are too many.
    pub fn set(&mut self, consumer: Consumer) -> bool {
        match self.0.binary_search_by(|known| known.name.cmp(&consumer.name)) {
            Ok(place) => self.0[place] = consumer,
            Err(_) if self.0.len() >= CONSUMERS => return false,
            Err(place) => self.0.insert(place, consumer),
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feed_has_in_common_with_a_former_one_what_all_between_have() {
        let log = FeedLog { id: [1; 8], ..FeedLog::default() };
        assert_eq!(log.common_with(&[1; 8]), None, "its own id is nobody else's");
        let log = log.continued([2; 8], 70).continued([3; 8], 40).continued([4; 8], 90);
        for (id, common) in [([1; 8], Some(40)), ([2; 8], Some(40)), ([3; 8], Some(90)), ([9; 8], None)] {
            assert_eq!(log.common_with(&id), common, "{id:?}");
        }
        let many = (5..=200).fold(log, |log, n| log.continued([n; 8], u64::from(n)));
        assert_eq!(
            (many.former.len(), many.common_with(&[1; 8]), many.common_with(&[199; 8])),
            (FORMER, None, Some(200))
        );
    }

    #[test]
    fn consumers_stand_by_name_are_bounded_and_hold_back_to_the_slowest() {
        let one = |name: &str, after, hold| Consumer { name: name.into(), after, hold, at: UnixMillis(1) };
        let mut all = Consumers::default();
        assert!(all.set(one("b", 7, true)) && all.set(one("a", 3, false)) && all.set(one("c", 5, true)));
        assert_eq!(all.held_after(), Some(5));
        assert!(all.set(one("c", 9, true)));
        assert_eq!(
            all.0.iter().map(|c| (c.name.as_str(), c.after)).collect::<Vec<_>>(),
            [("a", 3), ("b", 7), ("c", 9)]
        );
        let taken = (0..100).filter(|n| all.set(one(&format!("n{n}"), 0, false))).count();
        assert_eq!((taken, all.0.len(), all.set(one("a", 4, false))), (CONSUMERS - 3, CONSUMERS, true));
        assert_eq!(Consumers::default().held_after(), None);
    }
}
