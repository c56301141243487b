//! Importance by depth, ranks, and the order inside a rank: in which order URLs are taken.
//!
//! A rank is a front queue of Mercator (Heydon and Najork 1999): rank 0 is the best. Inside a rank the URL with the
//! smallest `order` comes first.

use serde::{Deserialize, Serialize};

/// Importance by depth when nothing else is said; the last holds for everything deeper.
pub const DEFAULT_DEPTH_WEIGHTS: [f64; 5] = [10.0, 8.0, 5.0, 2.0, 0.5];

/// How many ranks there are when nothing else is said.
pub const DEFAULT_RANKS: u8 = 8;

/// The bits of a sequence number inside a breadth-first order; the depth stands above them.
const SEQ_BITS: u32 = 48;

/// In which order pages are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Near the seeds first.
    Breadth,
    /// What was found last first.
    Depth,
    /// Breadth across hosts, depth within a host.
    #[default]
    Mixed,
    /// The most important first.
    Best,
}

/// Where a URL stands in its host's queue; smaller comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The front queue; 0 is the best.
    pub rank: u8,
    /// The place inside the rank.
    pub order: u64,
}

/// Gives URLs their places.
#[derive(Clone, Debug)]
pub struct Ranker {
    order: Order,
    weights: Vec<f64>,
    ranks: u8,
}

impl Default for Ranker {
    fn default() -> Self {
        Self::new(Order::default(), DEFAULT_DEPTH_WEIGHTS.to_vec(), DEFAULT_RANKS)
    }
}

impl Ranker {
    /// `depth_weights[d]` is the importance at depth `d`, the last one that of everything deeper; no weights stand for
    /// [`DEFAULT_DEPTH_WEIGHTS`]. A weight that is negative or no number counts as 0, no ranks as one.
    #[must_use]
    pub fn new(order: Order, depth_weights: Vec<f64>, ranks: u8) -> Self {
        let sane = |weight: f64| if weight.is_finite() { weight.max(0.0) } else { 0.0 };
        let given = if depth_weights.is_empty() { DEFAULT_DEPTH_WEIGHTS.to_vec() } else { depth_weights };
        Self { order, weights: given.into_iter().map(sane).collect(), ranks: ranks.max(1) }
    }

    /// The order it ranks for.
    #[must_use]
    pub fn order(&self) -> Order {
        self.order
    }

    /// How many ranks there are; every rank given lies below.
    #[must_use]
    pub fn ranks(&self) -> u8 {
        self.ranks
    }

    /// The importance of a page `depth` links away from a seed.
    #[must_use]
    pub fn importance(&self, depth: u16) -> f64 {
        self.weights.get(usize::from(depth)).or(self.weights.last()).copied().unwrap_or_default()
    }

    /// The rank of an importance: the range from the largest weight (rank 0) down to 0 in equal parts, one a rank.
    ///
    /// Equal importances have equal ranks, and a larger one never a worse rank. With the defaults 10, 8, 5, 2, 0.5 give
    /// the ranks 0, 1, 4, 6, 7.
    #[must_use]
    pub fn rank_of(&self, importance: f64) -> u8 {
        let largest = self.weights.iter().copied().fold(0.0, f64::max);
        if largest <= 0.0 || importance.is_nan() {
            return 0;
        }
        let part = (1.0 - importance / largest).clamp(0.0, 1.0) * f64::from(self.ranks);
        (1..self.ranks).take_while(|rank| part >= f64::from(*rank)).count().try_into().unwrap_or(0)
    }

    /// The place of the `seq`-th URL found, `depth` links away from a seed.
    ///
    /// | order | rank | order inside the rank |
    /// |---|---|---|
    /// | breadth | worst rank of any depth up to this one, so that it never improves with depth | depth, then `seq` (its lower 48 bits) |
    /// | depth, mixed | 0 | last found first |
    /// | best | that of its importance | `seq` |
    #[must_use]
    pub fn place(&self, depth: u16, seq: u64) -> Place {
        match self.order {
            Order::Breadth => {
                let seq = seq & ((1 << SEQ_BITS) - 1);
                Place { rank: self.breadth_rank(depth), order: (u64::from(depth) << SEQ_BITS) | seq }
            }
            Order::Depth | Order::Mixed => Place { rank: 0, order: !seq },
            Order::Best => Place { rank: self.rank_of(self.importance(depth)), order: seq },
        }
    }

    fn breadth_rank(&self, depth: u16) -> u8 {
        let upto = usize::from(depth).saturating_add(1).min(self.weights.len());
        self.weights.iter().take(upto).map(|weight| self.rank_of(*weight)).max().unwrap_or(0)
    }
}

/// Chooses among the ranks that have something, the better ones more often, so that none is starved.
///
/// Draw number `n` (1, 2, 3 …) prefers rank 0 when `n` is odd, rank 1 when it is twice an odd number, rank 2 when it is
/// four times one, and so on: each rank half as often as the one before, the last as often as the last but one. With more than
/// eight ranks, eight groups of ranks share like this, and inside a group each has its turn. When the preferred rank has
/// nothing, the nearest better one is taken, or else the nearest worse one.
///
/// A rank that always has something is chosen within [`RankChooser::bound`] draws, whatever the others do.
#[derive(Clone, Debug)]
pub struct RankChooser {
    ranks: u8,
    draws: u64,
}

/// Into how many groups ranks are put.
const GROUPS: u8 = 8;

impl RankChooser {
    /// A chooser among `ranks` ranks (0 counts as 1).
    #[must_use]
    pub fn new(ranks: u8) -> Self {
        Self { ranks: ranks.max(1), draws: 0 }
    }

    /// The rank whose turn it is among those that are `ready`; `None` when none is.
    pub fn choose(&mut self, ready: impl Fn(u8) -> bool) -> Option<u8> {
        self.draws = self.draws.wrapping_add(1);
        Self::chosen(self.ranks, self.draws, ready)
    }

    /// The same without memory: the choice of draw number `draw` (a counter, or a random number for random choice).
    #[must_use]
    pub fn chosen(ranks: u8, draw: u64, ready: impl Fn(u8) -> bool) -> Option<u8> {
        let preferred = preferred(ranks.max(1), draw);
        let better = (0..=preferred).rev().find(|rank| ready(*rank));
        better.or_else(|| (preferred..ranks.max(1)).find(|rank| ready(*rank)))
    }

    /// Within how many draws every rank that always has something is chosen.
    #[must_use]
    pub fn bound(&self) -> u64 {
        (1 << GROUPS) * u64::from(self.ranks.div_ceil(GROUPS))
    }
}

fn preferred(ranks: u8, draw: u64) -> u8 {
    let groups = ranks.min(GROUPS);
    let group = u8::try_from(draw.trailing_zeros()).unwrap_or(u8::MAX).min(groups - 1);
    let start = |group: u8| u16::from(group) * u16::from(ranks) / u16::from(groups);
    let size = start(group + 1) - start(group);
    let turn = (draw >> GROUPS) % u64::from(size.max(1));
    let rank = u64::from(start(group)) + turn;
    u8::try_from(rank).unwrap_or(0).min(ranks - 1)
}
