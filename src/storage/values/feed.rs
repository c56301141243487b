//! The feed: what became of each page, in the order of the commits, and who reads it (I10).

use super::wire::fields;
use crate::base::time::UnixMillis;
use crate::domain::visit::Visit;
use crate::storage::keys::SeenKey;

fields! {
    /// One entry.
    FeedEntry {
        /// What became of it.
        kind: Visit,
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
/// Name of the consumer that the index is: nobody else speaks for it.
pub const INDEX: &str = "index";
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
        /// The last entry that it has in common with the feed which keeps this.
        common: u64,
        /// Behind this number the feed went on that came after it: from `common` to there nobody's entries are. 0: that is not known.
        began: u64,
    }
}

/// What was shown of a feed, as was noted beside the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Which, and what it goes back to.
    pub log: FeedLog,
    /// The last entry that was shown.
    pub high: u64,
}

impl FeedLog {
    /// The feed that goes on from this one, of which it has the entries up to `own`, with numbers above `began`. `shown`: what was shown
    /// here last, which may be of yet another feed.
    pub fn continued(mut self, id: [u8; 8], own: u64, began: u64, shown: Option<&Shown>) -> Self {
        let with_shown = shown.map_or(0, |shown| self.common_with_shown(own, shown));
        self.former.iter_mut().for_each(|former| former.common = former.common.min(own));
        self.former.push(FormerFeed { id: std::mem::replace(&mut self.id, id), common: own, began });
        if let Some(Shown { log, high }) = shown {
            let all = log.former.iter().map(|former| (former.id, former.common)).chain([(log.id, *high)]);
            let unknown: Vec<_> = all.filter(|(id, _)| self.common_with(id).is_none()).collect();
            let former = |(id, common): ([u8; 8], u64)| FormerFeed { id, common: common.min(with_shown), began: 0 };
            self.former.extend(unknown.into_iter().map(former));
        }
        let surplus = self.former.len().saturating_sub(FORMER);
        self.former.drain(..surplus);
        self
    }

    /// The last entry that a database with this feed up to `own` has in common with what was shown.
    fn common_with_shown(&self, own: u64, Shown { log, high }: &Shown) -> u64 {
        let common = if log.id == self.id { Some(own) } else { log.common_with(&self.id) };
        common.or_else(|| self.common_with(&log.id)).map_or(0, |common| common.min(own).min(*high))
    }

    /// The last entry that this feed has in common with another one; none when it does not go back to it.
    pub fn common_with(&self, id: &[u8; 8]) -> Option<u64> {
        self.former.iter().rfind(|former| former.id == *id).map(|former| former.common)
    }

    /// The entry behind which nothing of this feed has a number up to and including `number`, if that lies in such a gap.
    pub fn before_gap(&self, number: u64) -> Option<u64> {
        self.former.iter().filter(|f| f.common < number && number < f.began).map(|f| f.common).min()
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
        let next = |log: FeedLog, id, own| log.continued([id; 8], own, own + 100, None);
        let log = next(next(next(log, 2, 70), 3, 40), 4, 90);
        for (id, common) in [([1; 8], Some(40)), ([2; 8], Some(40)), ([3; 8], Some(90)), ([9; 8], None)] {
            assert_eq!(log.common_with(&id), common, "{id:?}");
        }
        let many = (5..=200).fold(log, |log, n| next(log, n, u64::from(n)));
        assert_eq!(
            (many.former.len(), many.common_with(&[1; 8]), many.common_with(&[199; 8])),
            (FORMER, None, Some(200))
        );
    }

    #[test]
    fn a_checkpoint_put_back_twice_knows_what_it_has_in_common_with_the_feed_between() {
        let first = FeedLog { id: [1; 8], ..FeedLog::default() };
        let shown = |log: &FeedLog, high| Shown { log: log.clone(), high };
        // Put back to entry 246 when 496 were shown, and once more to the same when the second feed was at 746.
        let second = first.clone().continued([2; 8], 246, 496, Some(&shown(&first, 496)));
        let third = first.clone().continued([3; 8], 246, 746, Some(&shown(&second, 746)));
        assert_eq!((third.common_with(&[1; 8]), third.common_with(&[2; 8])), (Some(246), Some(246)));
        // The second restore is undone: the database of the second feed, up to 700 of its entries.
        let fourth = second.continued([4; 8], 700, 900, Some(&shown(&third, 900)));
        let common: Vec<_> = (1..4).map(|n| fourth.common_with(&[n; 8])).collect();
        assert_eq!(common, [Some(246), Some(700), Some(246)]);
        assert_eq!(
            [246, 247, 495, 496, 701, 899, 900].map(|n| fourth.before_gap(n)),
            [None, Some(246), Some(246), None, Some(700), Some(700), None]
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
