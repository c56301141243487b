//! The map: the members of a crawl, and whose each partition is. One record, of which each change makes a new version.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::partition::{PARTITIONS, Partition, PartitionSet};

/// What members say to each other by. Who speaks another is refused.
pub const PROTOCOL: u16 = 1;
/// Longest name of a member or a crawl: bytes.
const NAME_CAP: usize = 32;
/// Most members.
pub const MEMBERS: usize = 256;
/// Most that a member takes in comparison with another.
pub const HEAVIEST: u16 = 64;

/// Number of a member, never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MemberId(pub u16);

/// A member: a data folder with a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Its number.
    pub id: MemberId,
    /// Its name.
    pub name: String,
    /// How much it takes in comparison with the others, 1 to [`HEAVIEST`].
    pub weight: u16,
    /// It gives all away, and leaves the map when it has nothing any more.
    #[serde(default, skip_serializing_if = "is_false")]
    pub leaving: bool,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// A partition on its way, or just arrived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Move {
    /// Who takes it.
    pub to: MemberId,
    /// Where its rows lie, once its former owner has written them: from then on it is the taker's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
}

/// Members and partitions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Map {
    /// What its members speak.
    pub protocol: u16,
    /// Raised by each change.
    pub version: u64,
    /// Seed of the keys in all their folders.
    pub seed: u64,
    /// The number of the member that comes next.
    pub next: u16,
    /// In the order of their numbers.
    pub members: Vec<Member>,
    /// The owner of each partition, by its number.
    pub(super) owners: Vec<MemberId>,
    /// What is on its way.
    #[serde(default)]
    pub(super) moves: BTreeMap<u16, Move>,
}

/// Why a map, or a change of it, is not one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what its fields are")]
pub enum MapError {
    #[error(
        "the map speaks protocol {found}, this program {PROTOCOL}: stop all members, then start all with one version of lycosa"
    )]
    Protocol { found: u16 },
    #[error("the map is damaged: {0}")]
    Damaged(&'static str),
    #[error("{0:?} is no name: 1 to {NAME_CAP} letters a-z, digits and hyphens")]
    Name(String),
    #[error("there is a member {0:?} already")]
    Taken(String),
    #[error("there are {MEMBERS} members already")]
    Full,
    #[error("the map has changed meanwhile: {0}")]
    Changed(&'static str),
}

impl Map {
    /// The map of a crawl of one member, who has everything.
    ///
    /// # Errors
    /// [`MapError::Name`].
    pub fn first(name: &str, seed: u64) -> Result<Self, MapError> {
        let member = Member { id: MemberId(0), name: named(name)?, weight: 1, leaving: false };
        let owners = vec![member.id; usize::from(PARTITIONS)];
        Ok(Self {
            protocol: PROTOCOL,
            version: 1,
            seed,
            next: 1,
            members: vec![member],
            owners,
            moves: BTreeMap::new(),
        })
    }

    /// Reads one from its JSON text.
    ///
    /// # Errors
    /// [`MapError::Protocol`], [`MapError::Damaged`].
    pub fn read(text: &[u8]) -> Result<Self, MapError> {
        #[derive(Deserialize)]
        struct Spoken {
            protocol: u16,
        }
        let spoken: Spoken =
            serde_json::from_slice(text).map_err(|_| MapError::Damaged("it is not JSON of that form"))?;
        if spoken.protocol != PROTOCOL {
            return Err(MapError::Protocol { found: spoken.protocol });
        }
        let map: Self = serde_json::from_slice(text).map_err(|_| MapError::Damaged("it is not JSON of that form"))?;
        map.check()?;
        Ok(map)
    }

    /// Its JSON text, some 5 KB.
    pub fn text(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default() // numbers and strings: it cannot fail
    }

    /// Whether all it says goes together.
    fn check(&self) -> Result<(), MapError> {
        let is_member = |id: &MemberId| self.members.iter().any(|member| member.id == *id);
        let ascending = self.members.windows(2).all(|pair| matches!(pair, [a, b] if a.id < b.id));
        let below = self.members.last().is_none_or(|last| last.id.0 < self.next);
        if self.owners.len() != usize::from(PARTITIONS) {
            Err(MapError::Damaged("it has not one owner for each partition"))
        } else if !ascending || !below || self.members.len() > MEMBERS {
            Err(MapError::Damaged("its members are not in order"))
        } else if !self.owners.iter().all(is_member) || !self.moves.values().all(|m| is_member(&m.to)) {
            Err(MapError::Damaged("a partition belongs to nobody"))
        } else if self.moves.keys().any(|partition| *partition >= PARTITIONS) {
            Err(MapError::Damaged("a partition moves that there is not"))
        } else if self.moves.iter().any(|(nth, m)| m.object.is_some() != (self.owner(Partition(*nth)) == Some(m.to))) {
            Err(MapError::Damaged("a partition moves to its owner, or was handed over to another"))
        } else {
            Ok(())
        }
    }

    /// The member of that name.
    pub fn member(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.name == name)
    }

    /// The member of that number.
    pub fn numbered(&self, id: MemberId) -> Option<&Member> {
        self.members.iter().find(|member| member.id == id)
    }

    /// Whose a partition is.
    pub fn owner(&self, partition: Partition) -> Option<MemberId> {
        self.owners.get(usize::from(partition.0)).copied()
    }

    /// What belongs to a member.
    pub fn owned_by(&self, id: MemberId) -> PartitionSet {
        (0..PARTITIONS).map(Partition).filter(|partition| self.owner(*partition) == Some(id)).collect()
    }

    /// The map with one more member, who has nothing yet; and its number.
    ///
    /// # Errors
    /// [`MapError::Name`], [`MapError::Taken`], [`MapError::Full`].
    pub fn joined(&self, name: &str, weight: u16) -> Result<(Self, MemberId), MapError> {
        if self.member(name).is_some() {
            return Err(MapError::Taken(name.to_owned()));
        }
        let next = self.next.checked_add(1).filter(|_| self.members.len() < MEMBERS).ok_or(MapError::Full)?;
        let (mut map, id) = (self.clone(), MemberId(self.next));
        map.members.push(Member { id, name: named(name)?, weight: weight.clamp(1, HEAVIEST), leaving: false });
        (map.next, map.version) = (next, map.version + 1);
        Ok((map, id))
    }

    /// The map in which these partitions are another's from now on, without a move: what was at rest was carried over.
    pub fn given(&self, partitions: &PartitionSet, to: MemberId) -> Self {
        let mut map = self.clone();
        for (nth, owner) in (0..PARTITIONS).zip(&mut map.owners) {
            if partitions.has(Partition(nth)) {
                *owner = to;
                map.moves.remove(&nth);
            }
        }
        map.version += 1;
        map
    }
}

/// Whether `name` may be that of a member or a crawl: it is a part of keys and subjects.
///
/// # Errors
/// [`MapError::Name`].
pub fn named(name: &str) -> Result<String, MapError> {
    let is_good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let good = !name.is_empty() && name.len() <= NAME_CAP && name.chars().all(is_good);
    if good { Ok(name.to_owned()) } else { Err(MapError::Name(name.chars().take(2 * NAME_CAP).collect())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_member_has_everything_and_its_map_reads_back() {
        let map = Map::first("n1", 7).unwrap();
        assert_eq!(map.owned_by(MemberId(0)), PartitionSet::all());
        assert_eq!(Map::read(&map.text()).unwrap(), map);
        assert!(map.text().len() < 10_000);
    }

    #[test]
    fn who_joins_has_nothing_until_it_is_given() {
        let (map, id) = Map::first("n1", 7).unwrap().joined("n2", 0).unwrap();
        assert_eq!((id, map.version, map.owned_by(id).len()), (MemberId(1), 2, 0));
        assert_eq!(map.joined("n2", 1), Err(MapError::Taken("n2".into())));
        let some: PartitionSet = (0..512).map(Partition).collect();
        let map = map.given(&some, id);
        assert_eq!((map.owned_by(id), map.owned_by(MemberId(0)).len(), map.version), (some, 512, 3));
    }

    #[test]
    fn maps_that_say_what_cannot_be_are_refused() {
        let text = String::from_utf8(Map::first("n1", 7).unwrap().text()).unwrap();
        for (from, to) in
            [("[0,", "[1,"), ("[0,", "["), ("\"next\":1", "\"next\":0"), ("\"seed\":7", "\"seed\":7,\"x\":1")]
        {
            let changed = text.replacen(from, to, 1);
            assert_ne!(changed, text, "{from}");
            assert!(matches!(Map::read(changed.as_bytes()), Err(MapError::Damaged(_))), "{to}");
        }
        let other = text.replacen("\"protocol\":1", "\"protocol\":9,\"new\":[]", 1);
        assert_eq!(Map::read(other.as_bytes()), Err(MapError::Protocol { found: 9 }));
    }

    #[test]
    fn names_are_what_a_key_and_a_subject_may_hold() {
        for name in ["", "N1", "a.b", "a b", "a*", "ä", &"a".repeat(33)] {
            assert!(named(name).is_err(), "{name}");
        }
        assert!(named("n-1").is_ok());
    }
}
