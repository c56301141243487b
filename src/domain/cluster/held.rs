//! What a folder has of the partitions, and what is to be done so that this is what the map says. It is done while the folder is at rest:
//! at a start, and between two lives of a crawl whenever the map asks for it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::map::{Map, MemberId};
use crate::domain::partition::{Partition, PartitionSet};

/// The partitions of a folder. Changed in the same commit as the rows of which it speaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// Those whose rows count.
    pub owned: PartitionSet,
    /// Out of which object each came. Kept as long as the partition: a folder restored from an older checkpoint may own what it has
    /// given away and got again since, and the bit alone would not tell.
    pub came: BTreeMap<Partition, String>,
    /// Those of which rows may lie there that do not count: given away, or half taken in. To be cleared before one is taken in.
    pub dirty: PartitionSet,
    /// Written out for another member, and into which object: the rows are there and nowhere else. It goes when the map has another owner.
    #[serde(default)]
    pub gone: BTreeMap<Partition, String>,
}

/// What is to be done, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToDo {
    /// No longer its own: to be taken out of `owned` ([`Held::gave`]).
    pub give_up: PartitionSet,
    /// Rows to be removed, then [`Held::cleared`].
    pub clear: PartitionSet,
    /// To be taken in from these objects ([`Held::accepted`]).
    pub fetch: Vec<(Partition, String)>,
    /// To be written out for another member ([`Held::exported`]).
    pub export: PartitionSet,
    /// Its own, and nowhere: a loss, to be told.
    pub missing: PartitionSet,
}

impl Held {
    /// A folder that has all partitions, or none.
    pub fn new(owned: PartitionSet) -> Self {
        Self { owned, came: BTreeMap::new(), dirty: PartitionSet::none(), gone: BTreeMap::new() }
    }

    /// What is to be done by the map, for the folder of `me`. What was written out for somebody who takes it no more is taken in again, with
    /// all that lies in the same object.
    pub fn to_do(&self, map: &Map, me: MemberId) -> ToDo {
        let mine = map.owned_by(me);
        let mut give_up: PartitionSet = self.owned.iter().filter(|partition| !mine.has(*partition)).collect();
        let mut missing: PartitionSet = mine.iter().filter(|partition| !self.owned.has(*partition)).collect();
        let (mut fetch, mut export) = (Vec::new(), PartitionSet::none());
        let stays = self.stays(map, me);
        for partition in mine.iter() {
            match self.gone.get(&partition) {
                _ if self.owned.has(partition) && goes(map, partition) => export.add(partition),
                Some(object) if !stays.contains(object.as_str()) => missing.remove(partition),
                // Where the map names an object that is the newer one.
                Some(object) if map.object(partition).is_none() && !self.owned.has(partition) => {
                    missing.remove(partition);
                    fetch.push((partition, object.clone()));
                }
                _ => {}
            }
        }
        for (partition, object) in map.objects_of(me) {
            missing.remove(partition);
            if !self.owned.has(partition) || self.came.get(&partition).map(String::as_str) != Some(object) {
                if self.owned.has(partition) {
                    give_up.add(partition); // what it has is older than what it gave away
                }
                fetch.push((partition, object.to_owned()));
            }
        }
        let clear = self.dirty.iter().chain(give_up.iter()).collect();
        ToDo { give_up, clear, fetch, export, missing }
    }

    /// What was written out and may be handed over, once a whole checkpoint says so: the map waits for it.
    pub fn hands_over(&self, map: &Map, me: MemberId) -> BTreeMap<Partition, String> {
        let stays = self.stays(map, me);
        let waits = |p: &Partition, object: &str| map.owner(*p) == Some(me) && goes(map, *p) && !stays.contains(object);
        self.gone.iter().filter(|(p, object)| waits(p, object)).map(|(p, object)| (*p, object.clone())).collect()
    }

    /// Objects with something that does not go any more. Each is handed over as a whole or not at all: when the map names it no longer it is
    /// removed, and this folder, or an older copy of it, must not need it then for the rest.
    fn stays(&self, map: &Map, me: MemberId) -> BTreeSet<&str> {
        let stays = |p: &Partition| map.owner(*p) == Some(me) && map.moving(*p).is_none();
        self.gone.iter().filter(|(p, _)| stays(p)).map(|(_, object)| object.as_str()).collect()
    }

    /// What came, and of which the map still has the object: once a whole checkpoint says so the object may go.
    pub fn settles(&self, map: &Map, me: MemberId) -> BTreeMap<Partition, String> {
        let named = |p: &Partition, object: &str| map.owner(*p) == Some(me) && map.object(*p) == Some(object);
        self.came.iter().filter(|(p, object)| named(p, object)).map(|(p, object)| (*p, object.clone())).collect()
    }

    /// Its rows were written out and do not count any more. In the same commit its counts are taken off.
    pub fn exported(&mut self, partition: Partition, object: &str) {
        self.gave(partition);
        self.gone.insert(partition, object.to_owned());
    }

    /// Drops what the map has another owner for by now.
    pub fn forget(&mut self, map: &Map, me: MemberId) {
        self.gone.retain(|partition, _| map.owner(*partition) == Some(me));
    }

    /// Its rows do not count any more. In the same commit its counts are taken off.
    pub fn gave(&mut self, partition: Partition) {
        self.owned.remove(partition);
        self.came.remove(&partition);
        self.dirty.add(partition);
    }

    /// Rows of a partition are about to be taken in: committed before the first of them. Only what is not dirty is begun.
    pub fn begins(&mut self, partition: Partition) -> bool {
        let clean = !self.dirty.has(partition) && !self.owned.has(partition);
        self.dirty.add(partition);
        clean
    }

    /// All its rows are taken in. The same commit adds its counts and raises `next_seq` to the giver's.
    pub fn accepted(&mut self, partition: Partition, object: &str) {
        self.owned.add(partition);
        self.came.insert(partition, object.to_owned());
        self.dirty.remove(partition);
        self.gone.remove(&partition);
    }

    /// Nothing of it lies there any more.
    pub fn cleared(&mut self, partition: Partition) {
        self.dirty.remove(partition);
    }
}

/// Whether a partition is on its way from its owner.
fn goes(map: &Map, partition: Partition) -> bool {
    map.moving(partition).is_some_and(|going| going.object.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: MemberId = MemberId(0);
    const B: MemberId = MemberId(1);
    const P: Partition = Partition(5);

    fn over(object: &str) -> Map {
        let map = Map::first("a", 7).unwrap().joined("b", 1).unwrap().0;
        let map = map.begun(&[P].into_iter().collect(), B).unwrap();
        map.handed_over(A, &[(P, object.to_owned())].into()).unwrap()
    }

    fn numbers(set: &PartitionSet) -> Vec<u16> {
        set.iter().map(|partition| partition.0).collect()
    }

    #[test]
    fn a_giver_clears_what_it_handed_over_and_the_taker_takes_it_in() {
        let (map, mut giver, mut taker) = (over("o1"), Held::new(PartitionSet::all()), Held::new(PartitionSet::none()));
        let to_do = giver.to_do(&map, A);
        assert_eq!((numbers(&to_do.give_up), numbers(&to_do.clear), to_do.fetch.len()), (vec![5], vec![5], 0));
        giver.gave(P);
        assert_eq!((numbers(&giver.to_do(&map, A).give_up), numbers(&giver.to_do(&map, A).clear)), (vec![], vec![5]));
        giver.cleared(P);
        assert!(giver.to_do(&map, A).clear.is_empty());

        assert_eq!(taker.to_do(&map, B).fetch, [(P, "o1".to_owned())]);
        assert!(taker.begins(P));
        assert_eq!(numbers(&taker.to_do(&map, B).clear), [5], "half taken in, it is cleared and begun again");
        assert!(!taker.begins(P));
        taker.accepted(P, "o1");
        let to_do = taker.to_do(&map, B);
        assert!(to_do.clear.is_empty() && to_do.fetch.is_empty() && to_do.missing.is_empty());
    }

    #[test]
    fn what_a_restored_folder_owned_before_it_gave_it_away_is_not_what_it_got_again() {
        let mut old = Held::new([P].into_iter().collect());
        for came in [None, Some("o0")] {
            came.map(|came| old.came.insert(P, came.to_owned()));
            let to_do = old.to_do(&over("o1"), B);
            assert_eq!((numbers(&to_do.give_up), numbers(&to_do.clear)), (vec![5], vec![5]));
            assert_eq!(to_do.fetch, [(P, "o1".to_owned())]);
        }
    }

    #[test]
    fn what_was_written_out_waits_for_its_taker_and_comes_back_when_that_leaves() {
        let map = Map::first("a", 7).unwrap().joined("b", 1).unwrap().0;
        let (begun, mut giver) = (map.begun(&[P].into_iter().collect(), B).unwrap(), Held::new(PartitionSet::all()));
        assert_eq!(numbers(&giver.to_do(&begun, A).export), [5]);
        giver.exported(P, "o1");
        let to_do = giver.to_do(&begun, A);
        assert!(to_do.export.is_empty() && to_do.fetch.is_empty() && to_do.missing.is_empty());
        assert_eq!((numbers(&to_do.clear), giver.hands_over(&begun, A)), (vec![5], [(P, "o1".to_owned())].into()));
        let over = begun.handed_over(A, &giver.hands_over(&begun, A)).unwrap();
        assert!(giver.hands_over(&over, A).is_empty());
        let mut handed = giver.clone();
        handed.forget(&over, A);
        assert!(handed.gone.is_empty() && handed.to_do(&over, A).give_up.is_empty());

        giver.forget(&begun, A);
        let back = begun.leaving(B).unwrap();
        assert_eq!(giver.to_do(&back, A).fetch, [(P, "o1".to_owned())]);
        giver.cleared(P);
        assert!(giver.begins(P));
        giver.accepted(P, "o1");
        assert!(giver.gone.is_empty() && giver.to_do(&back, A).fetch.is_empty());
    }

    #[test]
    fn an_object_is_handed_over_or_taken_in_again_as_a_whole() {
        let (q, c) = (Partition(6), MemberId(2));
        let map = Map::first("a", 7).unwrap().joined("b", 1).unwrap().0.joined("c", 1).unwrap().0;
        let begun = map.begun(&[P].into_iter().collect(), B).unwrap().begun(&[q].into_iter().collect(), c).unwrap();
        let mut giver = Held::new(PartitionSet::all());
        giver.exported(P, "o1");
        giver.exported(q, "o1");
        assert_eq!((giver.hands_over(&begun, A).len(), giver.to_do(&begun, A).fetch.len()), (2, 0));
        let back = begun.leaving(c).unwrap();
        assert!(giver.hands_over(&back, A).is_empty());
        let to_do = giver.to_do(&back, A);
        assert_eq!(to_do.fetch, [(P, "o1".to_owned()), (q, "o1".to_owned())]);
        for partition in [P, q] {
            giver.cleared(partition);
            giver.accepted(partition, "o1");
        }
        assert_eq!(numbers(&giver.to_do(&back, A).export), [5], "into an object of its own this time");
    }

    #[test]
    fn what_is_its_own_and_nowhere_is_told() {
        let map = Map::first("a", 7).unwrap();
        let mut held = Held::new(PartitionSet::all());
        held.owned.remove(P);
        assert_eq!(numbers(&held.to_do(&map, A).missing), [5]);
    }
}
