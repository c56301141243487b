//! Partitions on their way from one member to another. Each step is a new version of the map, written only over the one that it was
//! made of:
//!
//! | step | the map | from then on |
//! |---|---|---|
//! | begun, by the taker | has it as the next owner | the partition is foreign to its giver: nothing new of it is leased, links to it go to the taker |
//! | handed over, by the giver | the taker is owner, of that object | the taker has it, whoever dies |
//! | settled, by the taker | no object | it may be removed: a whole checkpoint of the taker has what it held |
//!
//! Before it hands over, the giver has **a whole checkpoint of its own that is newer than the object**: links of the moved pages lie in
//! its outbox or in its own partitions, and the pages are done where they go to. Without it, a disk lost would take those links.

use std::collections::BTreeMap;

use super::map::{Map, MapError, MemberId, Move};
use crate::domain::partition::{PARTITIONS, Partition, PartitionSet};

/// Most partitions on their way at a time between two members.
pub const AT_A_TIME: usize = 64;

/// More versions than can have been made without any of the members who put the map back having seen one, ...
const LOST_VERSIONS: u64 = 1_000;
/// ... and more members than can have joined in them.
const LOST_MEMBERS: u16 = 16;

/// Where links to a partition go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Into this folder.
    Here,
    /// Into this folder, once it has the partition that is on its way here. Until then they wait: in a row that the member has for
    /// itself, or at their sender.
    Soon,
    /// To that member.
    At(MemberId),
}

impl Map {
    /// Where a partition is on its way to.
    pub fn moving(&self, partition: Partition) -> Option<&Move> {
        self.moves.get(&partition.0)
    }

    /// The object that a partition of a member is to be taken from, or was.
    pub fn object(&self, partition: Partition) -> Option<&str> {
        self.moving(partition)?.object.as_deref()
    }

    /// How many partitions go from a member, and how many come to it.
    pub fn on_their_way(&self, id: MemberId) -> (usize, usize) {
        let going = self.moves.iter().filter(|(nth, going)| going.to != id && self.owner(Partition(**nth)) == Some(id));
        (going.count(), self.moves.values().filter(|going| going.to == id && going.object.is_none()).count())
    }

    /// Whether something is to be taken from an object, or was and is not settled.
    pub fn is_named(&self, object: &str) -> bool {
        self.moves.values().any(|going| going.object.as_deref() == Some(object))
    }

    /// The objects out of which a member has what was handed over to it.
    pub fn objects_of(&self, id: MemberId) -> impl Iterator<Item = (Partition, &str)> {
        let handed = self.moves.iter().filter(move |(_, going)| going.to == id);
        handed.filter_map(|(nth, going)| Some((Partition(*nth), going.object.as_deref()?)))
    }

    /// Whether nothing is on its way, nor may still have to be taken from an object.
    pub fn is_still(&self) -> bool {
        self.moves.is_empty()
    }

    /// Where `me`, who has `owned`, puts links to a partition. A link that comes out of a row, of its own or of another, is never left
    /// out because it is in the cache of links sent: it may have been sent there, and come back.
    pub fn place(&self, me: MemberId, owned: &PartitionSet, partition: Partition) -> Place {
        match (self.owner(partition), self.moving(partition)) {
            (_, Some(Move { to, object: None })) if *to == me => Place::Soon,
            (Some(owner), Some(Move { to, object: None })) if owner == me => Place::At(*to),
            (Some(owner), _) if owner != me => Place::At(owner),
            _ if owned.has(partition) => Place::Here,
            _ => Place::Soon,
        }
    }

    /// What `me`, who has `owned`, may begin to take now from members of whom `lives` is true: at most [`AT_A_TIME`] from each, and
    /// nothing while something that was handed over is not taken in.
    pub fn to_take(&self, me: MemberId, owned: &PartitionSet, lives: impl Fn(MemberId) -> bool) -> PartitionSet {
        let mut from: BTreeMap<MemberId, usize> = BTreeMap::new();
        for (nth, coming) in self.moves.iter().filter(|(_, coming)| coming.to == me) {
            match (&coming.object, self.owner(Partition(*nth))) {
                (None, Some(giver)) => *from.entry(giver).or_default() += 1,
                _ if !owned.has(Partition(*nth)) => return PartitionSet::none(),
                _ => {}
            }
        }
        let mut found = PartitionSet::none();
        for partition in self.wanted(me).iter().filter(|partition| self.moving(*partition).is_none()) {
            let Some(giver) = self.owner(partition).filter(|giver| *giver != me && lives(*giver)) else { continue };
            let under_way = from.entry(giver).or_default();
            if *under_way < AT_A_TIME {
                *under_way += 1;
                found.add(partition);
            }
        }
        found
    }

    /// The map in which these partitions begin to go to a member.
    ///
    /// # Errors
    /// [`MapError::Changed`]: one of them is its own, or on its way already; or it leaves.
    pub fn begun(&self, partitions: &PartitionSet, to: MemberId) -> Result<Self, MapError> {
        if self.numbered(to).is_none_or(|member| member.leaving) {
            return Err(MapError::Changed("who was to take is no member, or leaves"));
        }
        let mut map = self.clone();
        for partition in partitions.iter() {
            if self.owner(partition) == Some(to) || self.moving(partition).is_some() {
                return Err(MapError::Changed("a partition moves already"));
            }
            map.moves.insert(partition.0, Move { to, object: None });
        }
        Ok(map.risen())
    }

    /// The map in which these partitions of `giver` are their takers', each out of its object.
    ///
    /// # Errors
    /// [`MapError::Changed`]: one of them is not on its way from there.
    pub fn handed_over(&self, giver: MemberId, objects: &BTreeMap<Partition, String>) -> Result<Self, MapError> {
        let mut map = self.clone();
        for (partition, object) in objects {
            let (Some(owner), Some(going)) =
                (map.owners.get_mut(usize::from(partition.0)), map.moves.get_mut(&partition.0))
            else {
                return Err(MapError::Changed("a partition was to move, and is not any more"));
            };
            if *owner != giver || going.object.is_some() {
                return Err(MapError::Changed("a partition is another's"));
            }
            *owner = going.to;
            going.object = Some(object.clone());
        }
        Ok(map.risen())
    }

    /// The map without the objects that a whole checkpoint of `taker` makes needless, and these objects; none when there are none.
    /// `came` says of the checkpoint from which object each partition in it came.
    pub fn settled(
        &self,
        taker: MemberId,
        came: &BTreeMap<Partition, String>,
    ) -> Option<(Self, BTreeMap<Partition, String>)> {
        let (mut map, mut objects) = (self.clone(), BTreeMap::new());
        for (partition, object) in came {
            if self.owner(*partition) == Some(taker) && self.object(*partition) == Some(object) {
                map.moves.remove(&partition.0);
                objects.insert(*partition, object.clone());
            }
        }
        if objects.is_empty() { None } else { Some((map.risen(), objects)) }
    }

    /// The map in which a member leaves: others take what it has. What is on its way to it and was not handed over stays where it is.
    ///
    /// # Errors
    /// [`MapError::Changed`]: it is no member, or leaves already.
    pub fn leaving(&self, id: MemberId) -> Result<Self, MapError> {
        let mut map = self.clone();
        let member = map.members.iter_mut().find(|member| member.id == id && !member.leaving);
        member.ok_or(MapError::Changed("who was to leave is no member, or leaves already"))?.leaving = true;
        map.moves.retain(|_, going| going.to != id || going.object.is_some());
        Ok(map.risen())
    }

    /// Whether rows are kept for a member. Those for one that is no member any more, or leaves and has nothing left, go where their links
    /// belong now, answered or not: it takes none, and two who leave would wait for each other.
    pub fn takes_links(&self, id: MemberId) -> bool {
        let comes = || self.moves.values().any(|going| going.to == id);
        self.numbered(id).is_some_and(|member| !member.leaving || self.owners.contains(&id) || comes())
    }

    /// The map without a member who has nothing any more. Its outbox has to be empty before: of what it received, every checkpoint of
    /// others has to have its part, for nobody will restore it.
    ///
    /// # Errors
    /// [`MapError::Changed`]: it does not leave, or something is its own.
    pub fn left(&self, id: MemberId) -> Result<Self, MapError> {
        if self.numbered(id).is_none_or(|member| !member.leaving) {
            return Err(MapError::Changed("who was to leave is no member, or stays"));
        }
        if self.owners.contains(&id) || self.moves.values().any(|going| going.to == id) {
            return Err(MapError::Changed("who was to leave has partitions"));
        }
        let mut map = self.clone();
        map.members.retain(|member| member.id != id);
        Ok(map.risen())
    }

    /// Whether this copy of the map is the one to put back into an engine that lost its own: each of its members has said, since the
    /// engine lost it, which version it has (in `said`), and none has a newer one. One that the copy does not know, and whose
    /// record has stood still for a whole lease, is not to be in `said`: it had nothing, for a giver would know it.
    pub fn is_newest(&self, said: &BTreeMap<MemberId, u64>) -> bool {
        let knows = |id: &MemberId| said.get(id).is_some_and(|version| *version <= self.version);
        self.members.iter().all(|member| knows(&member.id)) && said.values().all(|version| *version <= self.version)
    }

    /// The map to put back. Its version and the number of the next member lie far beyond what may have been lost with the engine, and what
    /// somebody who was not asked may still have: a member who joined in it, and whom nobody knows, has to join anew.
    pub fn put_back(&self) -> Self {
        let mut map = self.clone();
        (map.version, map.next) = (self.version + LOST_VERSIONS, self.next.saturating_add(LOST_MEMBERS));
        map
    }

    fn risen(mut self) -> Self {
        self.version += 1;
        self
    }
}

/// The name of the object into which `session` of the giver writes a partition: never used twice, for an old process may still be
/// writing into the one it had begun.
pub fn object_name(partition: Partition, version: u64, session: u64) -> String {
    format!("{:04}-{version}-{session:x}", partition.0.min(PARTITIONS))
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: MemberId = MemberId(0);
    const B: MemberId = MemberId(1);

    fn two() -> Map {
        Map::first("a", 7).unwrap().joined("b", 1).unwrap().0
    }

    fn set(partitions: &[u16]) -> PartitionSet {
        partitions.iter().copied().map(Partition).collect()
    }

    fn object(partition: u16) -> BTreeMap<Partition, String> {
        [(Partition(partition), object_name(Partition(partition), 3, 17))].into()
    }

    #[test]
    fn a_partition_goes_in_three_steps_and_is_always_somebodys() {
        let (p, all, none) = (Partition(5), PartitionSet::all(), PartitionSet::none());
        let map = two();
        assert_eq!((map.place(A, &all, p), map.place(B, &none, p)), (Place::Here, Place::At(A)));
        let begun = map.begun(&set(&[5]), B).unwrap();
        assert_eq!((begun.place(A, &all, p), begun.place(B, &none, p)), (Place::At(B), Place::Soon));
        let over = begun.handed_over(A, &object(5)).unwrap();
        assert_eq!((over.place(A, &all, p), over.place(B, &none, p)), (Place::At(B), Place::Soon));
        assert_eq!((over.place(B, &set(&[5]), p), over.owner(p)), (Place::Here, Some(B)));
        assert_eq!(Map::read(&over.text()).unwrap(), over);
        assert_eq!(over.settled(B, &object(6)), None);
        let (settled, objects) = over.settled(B, &object(5)).unwrap();
        assert_eq!((objects, settled.version, settled.is_still()), (object(5), 5, true));
        assert_eq!(object(5)[&p], "0005-3-11");
    }

    #[test]
    fn a_step_that_does_not_follow_is_refused() {
        let map = two();
        let begun = map.begun(&set(&[5]), B).unwrap();
        let refused =
            |result: Result<Map, MapError>| assert!(matches!(result, Err(MapError::Changed(_))), "{result:?}");
        refused(map.begun(&set(&[5]), A)); // its own
        refused(begun.begun(&set(&[5]), B)); // under way
        refused(map.handed_over(A, &object(5))); // not begun
        refused(begun.handed_over(B, &object(5))); // not the giver
        refused(begun.handed_over(A, &object(5)).unwrap().handed_over(A, &object(5)));
        refused(map.left(B));
        refused(map.leaving(MemberId(9)));
        refused(map.leaving(A).unwrap().left(A)); // has all
    }

    #[test]
    fn at_most_so_many_are_under_way_and_only_from_the_living() {
        let map = two();
        let none = PartitionSet::none();
        let first = map.to_take(B, &none, |_| true);
        assert_eq!((first.len(), map.to_take(B, &none, |_| false).len()), (AT_A_TIME, 0));
        let map = map.begun(&first, B).unwrap();
        assert_eq!(map.to_take(B, &none, |_| true).len(), 0);
        let objects: BTreeMap<_, _> = first.iter().map(|p| (p, object_name(p, 3, 1))).collect();
        let map = map.handed_over(A, &objects).unwrap();
        assert_eq!(map.to_take(B, &none, |_| true).len(), 0, "it has not taken in what it was given");
        let next = map.to_take(B, &first, |_| true);
        assert!(next.len() == AT_A_TIME && next.iter().all(|p| !first.has(p)));
    }

    #[test]
    fn who_leaves_gets_nothing_more_and_gives_all_away() {
        let map = two().given(&set(&[1, 2]), B).begun(&set(&[5]), B).unwrap();
        let map = map.leaving(B).unwrap();
        assert!(map.moving(Partition(5)).is_none() && map.begun(&set(&[6]), B).is_err());
        assert_eq!(map.to_take(A, &PartitionSet::all(), |_| true), set(&[1, 2]));
        assert!(map.takes_links(B));
        let map = map.given(&set(&[1, 2]), A);
        assert!(!map.takes_links(B) && map.takes_links(A));
        let map = map.left(B).unwrap();
        assert_eq!((map.members.len(), map.next), (1, 2), "its number is not used again");
    }

    #[test]
    fn the_newest_map_is_put_back_when_every_member_has_said_what_it_has() {
        let map = two();
        let v = map.version;
        assert!(!map.is_newest(&[(A, v)].into()), "b has not answered");
        assert!(map.is_newest(&[(A, v), (B, 1)].into()));
        assert!(!map.is_newest(&[(A, v), (B, v + 1)].into()));
        assert!(!map.is_newest(&[(A, v), (B, v), (MemberId(2), v + 1)].into()), "one that it does not know knows more");
        let (back, id) = map.put_back().joined("c", 1).unwrap();
        assert!(back.version > v + 900 && id.0 > 9, "numbers that were given in a lost version are not given again");
    }
}
