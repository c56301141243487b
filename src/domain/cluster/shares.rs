//! What each member should have, by weighted rendezvous hashing (Thaler and Ravishankar, 1998): who joins or leaves moves little
//! but its own.

use xxhash_rust::xxh3::xxh3_64;

use super::map::{Map, Member, MemberId};
use crate::domain::partition::{PARTITIONS, Partition, PartitionSet};

impl Map {
    /// Whose each partition should be, by its number. Nobody has more than 1.1 times its part by weight (or one more than that part);
    /// those who leave have none. When all leave, everything stays.
    pub fn shares(&self) -> Vec<MemberId> {
        let stay: Vec<&Member> = self.members.iter().filter(|member| !member.leaving).collect();
        let whole: usize = stay.iter().map(|member| usize::from(member.weight)).sum();
        if whole == 0 {
            return self.owners.clone();
        }
        let mut room: Vec<usize> = stay.iter().map(|member| most(usize::from(member.weight), whole)).collect();
        let mut shares = Vec::with_capacity(usize::from(PARTITIONS));
        for (nth, owner) in (0..PARTITIONS).zip(&self.owners) {
            let open = stay.iter().zip(&mut room).filter(|(_, room)| **room > 0);
            let best = open.max_by_key(|(member, _)| draw(member, nth));
            shares.push(best.map_or(*owner, |(member, room)| {
                *room -= 1;
                member.id
            }));
        }
        shares
    }

    /// What a member should have.
    pub fn wanted(&self, id: MemberId) -> PartitionSet {
        let shares = (0..PARTITIONS).map(Partition).zip(self.shares());
        shares.filter(|(_, share)| *share == id).map(|(partition, _)| partition).collect()
    }
}

/// The most partitions that one of `weight` among `whole` gets.
fn most(weight: usize, whole: usize) -> usize {
    let all = usize::from(PARTITIONS) * weight;
    (11 * all / (10 * whole)).max(all.div_ceil(whole))
}

/// What a member draws for a partition: the highest of as many draws as its weight.
fn draw(member: &Member, partition: u16) -> u64 {
    let (id, partition) = (member.id.0.to_le_bytes(), partition.to_le_bytes());
    let one = |nth: u16| xxh3_64(&[id, partition, nth.to_le_bytes()].concat());
    (0..member.weight).map(one).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(weights: &[u16]) -> Map {
        let mut map = Map::first("n0", 7).unwrap();
        for (nth, weight) in weights.iter().enumerate().skip(1) {
            map = map.joined(&format!("n{nth}"), *weight).unwrap().0;
        }
        map
    }

    fn counts(map: &Map) -> Vec<usize> {
        let shares = map.shares();
        map.members.iter().map(|member| shares.iter().filter(|share| **share == member.id).count()).collect()
    }

    #[test]
    fn everybody_has_its_part_and_at_most_a_tenth_more() {
        for members in [1, 2, 3, 5, 16, 100, 256] {
            let counts = counts(&map(&vec![1; members]));
            let most = (11 * 1024 / (10 * members)).max(1024_usize.div_ceil(members));
            assert_eq!(counts.iter().sum::<usize>(), 1024);
            assert!(counts.iter().all(|count| *count <= most), "{members}: {counts:?}");
        }
    }

    #[test]
    fn who_weighs_more_has_more() {
        let counts = counts(&map(&[1, 3]));
        assert!((1..=281).contains(&counts[0]) && counts[1] <= 844, "{counts:?}");
    }

    #[test]
    fn who_joins_or_leaves_moves_little_else() {
        let (before, after) = (map(&[1; 4]), map(&[1; 5]));
        let (old, new) = (before.shares(), after.shares());
        let others = old.iter().zip(&new).filter(|(a, b)| a != b && b.0 != 4).count();
        assert!(others < 60, "{others} went from one old member to another");
        let gone = after.leaving(MemberId(4)).unwrap();
        assert_eq!(gone.shares(), old);
        assert_eq!(gone.wanted(MemberId(4)).len(), 0);
    }
}
