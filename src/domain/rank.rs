//! Importance by depth, ranks, and the order inside a rank: in which order URLs are taken.
//!
//! A rank is a front queue of Mercator (Heydon and Najork 1999): rank 0 is the best. Inside a rank the URL with the
//! smallest `order` comes first.

use serde::{Deserialize, Serialize};

use super::frontier::RANKS;
use super::priority::Factors;

/// Importance by depth when nothing else is said; the last holds for everything deeper.
pub const DEFAULT_DEPTH_WEIGHTS: [f64; 5] = [10.0, 8.0, 5.0, 2.0, 0.5];

/// How many ranks there are when nothing else is said.
pub const DEFAULT_RANKS: u8 = 8;

/// The bits of a sequence number inside a breadth-first order; the depth stands above them.
const SEQ_BITS: u32 = 48;

/// The upper bits of the order of what comes last: deeper than any page.
const LAST: u64 = 0xfffe;
const LAST_RANK: u8 = RANKS as u8 - 1;
/// When the best come first, the upper bits of the order of pages that are visited again, and of new ones.
const VISITED: u16 = 0;
const NEW: u16 = 1;

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
    /// The worst rank of a page that is visited again.
    pub const WORST_OF_VISITS: u8 = 3;

    /// `depth_weights[d]` is the importance at depth `d`, the last one that of everything deeper; no weights stand for
    /// [`DEFAULT_DEPTH_WEIGHTS`]. A weight that is negative or no number counts as 0, no ranks as one.
    pub fn new(order: Order, depth_weights: Vec<f64>, ranks: u8) -> Self {
        let sane = |weight: f64| if weight.is_finite() { weight.max(0.0) } else { 0.0 };
        let given = if depth_weights.is_empty() { DEFAULT_DEPTH_WEIGHTS.to_vec() } else { depth_weights };
        Self { order, weights: given.into_iter().map(sane).collect(), ranks: ranks.max(1) }
    }

    /// The order it ranks for.
    pub fn order(&self) -> Order {
        self.order
    }

    /// How many ranks there are; every rank given lies below.
    pub fn ranks(&self) -> u8 {
        self.ranks
    }

    /// The importance of a page `depth` links away from a seed.
    pub fn importance(&self, depth: u16) -> f64 {
        self.weights.get(usize::from(depth)).or(self.weights.last()).copied().unwrap_or_default()
    }

    /// The rank of an importance: the range from the largest weight (rank 0) down to 0 in equal parts, one a rank.
    ///
    /// Equal importances have equal ranks, and a larger one never a worse rank. With the defaults 10, 8, 5, 2, 0.5 give
    /// the ranks 0, 1, 4, 6, 7.
    pub fn rank_of(&self, importance: f64) -> u8 {
        let largest = self.weights.iter().copied().fold(0.0, f64::max);
        if largest <= 0.0 || importance.is_nan() {
            return 0;
        }
        let part = (1.0 - importance / largest).clamp(0.0, 1.0) * f64::from(self.ranks);
        (1..self.ranks).take_while(|rank| part >= f64::from(*rank)).count().try_into().unwrap_or(0)
    }

    /// The place of the `seq`-th URL found, `depth` links away from a seed; `left`: how many links may be followed from there, when
    /// there is an end.
    ///
    /// | order | rank | order inside the rank |
    /// |---|---|---|
    /// | breadth | worst rank of any depth up to this one, so that it never improves with depth | depth, then `seq` (its lower 48 bits) |
    /// | depth, mixed | 0 | last found first |
    /// | depth, mixed, with an end | 1, behind all that have none | the most links left first, then `seq` (its lower 48 bits) |
    /// | best | that of its importance | `seq`, behind the pages that are visited again |
    ///
    /// Where links are counted, a walk that goes deep first would come to most pages by long ways, and to many once more when a
    /// way that leads further is found ([`Reach`](super::reach::Reach)): what leads furthest first spares that.
    pub fn place(&self, depth: u16, left: Option<u16>, seq: u64) -> Place {
        match (self.order, left) {
            (Order::Breadth, _) => Place { rank: self.breadth_rank(depth), order: counted(depth, seq) },
            (Order::Depth | Order::Mixed, None) => Place { rank: 0, order: last_first(seq) },
            (Order::Depth | Order::Mixed, Some(left)) => {
                Place { rank: u8::from(self.ranks > 1), order: counted((LAST as u16 - 1).saturating_sub(left), seq) }
            }
            (Order::Best, _) => Place { rank: self.rank_of(self.importance(depth)), order: counted(NEW, seq) },
        }
    }

    /// The place of a page that is visited again, as it is the `seq`-th put into a queue: before new ones of its rank. How many come is
    /// bounded elsewhere, so they need not stand behind a long queue.
    pub fn visit_place(&self, depth: u16, seq: u64) -> Place {
        match self.order {
            Order::Breadth => self.place(0, None, seq),
            Order::Depth | Order::Mixed => Place { rank: 0, order: counted(VISITED, seq) },
            Order::Best => {
                let rank = self.rank_of(self.importance(depth)).min(Self::WORST_OF_VISITS);
                Place { rank, order: counted(VISITED, seq) }
            }
        }
    }

    /// The place of the `seq`-th URL found that is to come after all others of its host, in every order.
    pub fn last_place(seq: u64) -> Place {
        Place { rank: LAST_RANK, order: LAST << SEQ_BITS | (seq & ((1 << SEQ_BITS) - 1)) }
    }

    /// Whether an order is one of [`Ranker::last_place`].
    pub fn is_last(order: u64) -> bool {
        order >> SEQ_BITS == LAST
    }

    /// The rank of a page by what its importance is made of, where the best come first; `visit`: it is visited again.
    pub fn rank_by(&self, factors: &Factors, visit: bool) -> u8 {
        let outright = factors.rank.filter(|rank| usize::from(*rank) < RANKS);
        let rank = outright.unwrap_or_else(|| self.rank_of(factors.importance()));
        if visit { rank.min(Self::WORST_OF_VISITS) } else { rank }
    }

    /// A host's order in its front queue, by its sequence number: first come first served, the last found first when the
    /// whole crawl goes depth first.
    pub fn host_order(&self, seq: u64) -> u64 {
        if self.order == Order::Depth { last_first(seq) } else { seq }
    }

    /// The sequence number in an order that [`Ranker::place`] or [`Ranker::host_order`] gave, whichever order the crawl had
    /// then: numbers below 2^48, depths below 65,535.
    pub fn number_of(order: u64) -> u64 {
        let newest_first = order >> SEQ_BITS == u64::from(u16::MAX);
        if newest_first { (!order).saturating_sub(1) } else { order & ((1 << SEQ_BITS) - 1) }
    }

    fn breadth_rank(&self, depth: u16) -> u8 {
        let upto = usize::from(depth).saturating_add(1).min(self.weights.len());
        self.weights.iter().take(upto).map(|weight| self.rank_of(*weight)).max().unwrap_or(0)
    }
}

/// Chooses among the ranks that have something, the better ones more often, so that none is starved.
///
/// Draw number `n` (1, 2, 3 …) prefers rank 0 when `n` is odd, rank 1 when it is twice an odd number, rank 2 when it is
/// four times one, and so on: each rank half as often as the one before, the last as often as the last but one. When the preferred
/// rank has nothing, the nearest better one is taken, or else the nearest worse one.
///
/// A rank that always has something is chosen within 128 draws, whatever the others do.
#[derive(Clone, Debug, Default)]
pub struct RankChooser {
    draws: u64,
}

impl RankChooser {
    /// The rank whose turn it is among those that are `ready`; `None` when none is.
    pub fn choose(&mut self, ready: impl Fn(u8) -> bool) -> Option<u8> {
        self.draws = self.draws.wrapping_add(1);
        let preferred = LAST_RANK.min(u8::try_from(self.draws.trailing_zeros()).unwrap_or(LAST_RANK));
        let better = (0..=preferred).rev().find(|rank| ready(*rank));
        better.or_else(|| (preferred..=LAST_RANK).find(|rank| ready(*rank)))
    }
}

/// An order by a number of 16 bits, then by the lower 48 bits of a sequence number.
fn counted(first: u16, seq: u64) -> u64 {
    (u64::from(first) << SEQ_BITS) | (seq & ((1 << SEQ_BITS) - 1))
}

/// The order in which the last found comes first; never the largest number, so that there is always one behind it.
fn last_first(seq: u64) -> u64 {
    !seq.saturating_add(1)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::domain::frontier::Turns;
    use crate::domain::priority::{Page, Priorities};

    fn ranker(order: Order) -> Ranker {
        Ranker::new(order, Vec::new(), DEFAULT_RANKS)
    }

    #[test]
    fn the_default_importance_falls_with_depth() {
        let importance: Vec<f64> = (0..6).map(|depth| Ranker::default().importance(depth)).collect();
        assert_eq!(importance, [10.0, 8.0, 5.0, 2.0, 0.5, 0.5]);
    }

    #[test]
    fn with_the_defaults_the_first_five_depths_have_five_ranks() {
        let ranks: Vec<u8> = (0..6).map(|depth| ranker(Order::Best).place(depth, None, 0).rank).collect();
        assert_eq!(ranks, [0, 1, 4, 6, 7, 7]);
    }

    #[test]
    fn the_word_of_a_site_moves_its_pages_among_the_ranks_when_the_best_come_first() {
        let best = ranker(Order::Best);
        let factors = |priority| {
            let (quality, tags) = (1.0, &[][..]);
            let page = Page { depth: 1, host: "", url: &|| None, quality, seed: None, tags, priority };
            Priorities::default().factors(&best, &page)
        };
        let ranks = [0, 20, 50, 80, 100, 255].map(|p| best.rank_by(&factors(Some(p)), false));
        assert_eq!(ranks, [4, 3, 1, 0, 0, 0]);
        assert_eq!(best.rank_by(&factors(Some(50)), false), best.place(1, None, 0).rank);
        assert_eq!(best.rank_by(&factors(None), false), best.place(1, None, 0).rank);
        let outright = Factors { rank: Some(6), ..factors(None) };
        assert_eq!([false, true].map(|visit| best.rank_by(&outright, visit)), [6, Ranker::WORST_OF_VISITS]);
    }

    #[test]
    fn equal_weights_have_equal_ranks_and_odd_weights_do_no_harm() {
        let equal = Ranker::new(Order::Best, vec![3.0, 3.0, 3.0], 8);
        assert_eq!((equal.place(0, None, 0).rank, equal.place(2, None, 0).rank), (0, 0));
        let odd = Ranker::new(Order::Best, vec![f64::NAN, -1.0, f64::INFINITY, 1.0], 8);
        assert_eq!([0, 1, 2, 3].map(|depth| odd.place(depth, None, 0).rank), [7, 7, 7, 0]);
        let zero = Ranker::new(Order::Best, vec![0.0], 0);
        assert_eq!((zero.place(0, None, 0).rank, zero.ranks()), (0, 1));
    }

    #[test]
    fn depth_and_mixed_take_what_was_found_last_best_equally_important_ones_in_the_order_they_were_found() {
        for order in [Order::Depth, Order::Mixed] {
            assert!(ranker(order).place(9, None, 2) < ranker(order).place(0, None, 1));
        }
        assert!(ranker(Order::Best).place(1, None, 9) < ranker(Order::Best).place(2, None, 1));
        assert!(ranker(Order::Best).place(1, None, 1) < ranker(Order::Best).place(1, None, 2));
    }

    #[test]
    fn where_links_are_counted_what_leads_furthest_comes_first_and_what_leads_on_without_end_before_it() {
        for order in [Order::Depth, Order::Mixed] {
            let place = |left, seq| ranker(order).place(9, left, seq);
            assert!(place(None, 1) < place(Some(u16::MAX), 0));
            assert!(place(Some(4), 9) < place(Some(3), 1) && place(Some(3), 1) < place(Some(3), 2));
            for (left, seq) in [(Some(0), 7), (Some(u16::MAX), 7), (None, 7)] {
                assert_eq!(Ranker::number_of(place(left, seq).order), seq, "{left:?}");
            }
        }
    }

    #[test]
    fn what_comes_last_comes_behind_all_that_have_a_place_of_their_own_in_every_order() {
        let last = Ranker::last_place(3);
        assert!(Ranker::is_last(last.order) && last < Ranker::last_place(4));
        assert_eq!(Ranker::number_of(last.order), 3);
        for order in [Order::Breadth, Order::Depth, Order::Mixed, Order::Best] {
            for (depth, seq) in [(0, 0), (0, 1 << 40), (9_000, 7), (u16::MAX - 2, 1 << 40)] {
                for left in [None, Some(0), Some(u16::MAX)] {
                    let place = ranker(order).place(depth, left, seq);
                    assert!(place < last && !Ranker::is_last(place.order), "{order:?} {depth} {left:?} {seq}");
                }
            }
        }
    }

    #[test]
    fn a_page_that_is_visited_again_comes_before_all_new_ones_of_its_rank_in_every_order() {
        for order in [Order::Breadth, Order::Depth, Order::Mixed, Order::Best] {
            for (depth, seq) in [(1, 0), (1, 1 << 40), (9, 7)] {
                for left in [None, Some(3)] {
                    let visit = ranker(order).visit_place(depth, 1 << 41);
                    let new = ranker(order).place(depth, left, seq);
                    assert!(visit < new, "{order:?} {depth} {left:?} {seq}: {visit:?} {new:?}");
                    assert_eq!(Ranker::number_of(visit.order), 1 << 41);
                }
            }
        }
    }

    #[test]
    fn a_url_of_each_order_is_read_from_its_lower_case_name() {
        for (name, order) in
            [("breadth", Order::Breadth), ("depth", Order::Depth), ("mixed", Order::Mixed), ("best", Order::Best)]
        {
            assert_eq!(serde_json::from_str::<Order>(&format!("\"{name}\"")).unwrap(), order);
        }
    }

    #[test]
    fn with_all_ranks_ready_each_is_chosen_half_as_often_as_the_one_before() {
        let mut chooser = RankChooser::default();
        let mut counts = [0; 8];
        for _ in 0..256 {
            counts[usize::from(chooser.choose(|_| true).unwrap())] += 1;
        }
        assert_eq!(counts, [128, 64, 32, 16, 8, 4, 2, 2]);
    }

    #[test]
    fn nothing_ready_gives_nothing_and_a_single_ready_rank_is_always_chosen() {
        let mut chooser = RankChooser::default();
        assert_eq!(chooser.choose(|_| false), None);
        assert!((0..500).all(|_| chooser.choose(|rank| rank == 5) == Some(5)));
    }

    /// Three hosts with their queues, as the Frontier has them.
    struct Web {
        chooser: RankChooser,
        turns: [Turns; 3],
        /// (rank, number in the rank) of what waits, and how many came.
        queues: [BTreeSet<(u8, u64)>; 3],
        came: [[u64; RANKS]; 3],
        /// Where each stands in the row of its best rank.
        orders: [u64; 3],
    }

    impl Web {
        fn new(draws: u64, served: u64) -> Self {
            let turns = [Turns::after(served); 3];
            Self {
                chooser: RankChooser { draws },
                turns,
                queues: Default::default(),
                came: Default::default(),
                orders: [0, 1, 2],
            }
        }

        fn put(&mut self, host: usize, rank: u8) {
            let number = &mut self.came[host][usize::from(rank)];
            self.queues[host].insert((rank, *number));
            *number += 1;
        }

        fn best(&self, host: usize) -> Option<u8> {
            self.queues[host].first().map(|(rank, _)| *rank)
        }

        fn next_host(&mut self) -> Option<usize> {
            let best: Vec<_> = (0..3).map(|host| self.best(host)).collect();
            let rank = self.chooser.choose(|rank| best.contains(&Some(rank)))?;
            (0..3).filter(|host| best[*host] == Some(rank)).min_by_key(|host| self.orders[*host])
        }

        fn lease(&mut self, host: usize) -> Option<(u8, u64)> {
            let (queue, turns) = (&mut self.queues[host], &mut self.turns[host]);
            let queued: [u64; RANKS] =
                std::array::from_fn(|rank| queue.iter().filter(|(of, _)| usize::from(*of) == rank).count() as u64);
            let turn = if turns.until_turn() == 0 { turns.ranks(&queued) } else { Vec::new() };
            let taken = match turn.first() {
                Some(rank) => queue.range((*rank, 0)..).next().copied(),
                None => queue.first().copied(),
            };
            turn.first().inspect(|rank| turns.given(**rank));
            turns.count(u64::from(taken.is_some()));
            taken.inspect(|taken| _ = queue.remove(taken))
        }

        fn yields(&mut self, host: usize) {
            self.orders[host] = self.orders.iter().max().unwrap_or(&0) + 1;
        }
    }

    proptest! {
        #[test]
        fn breadth_never_takes_a_deeper_one_first(
            weights in proptest::collection::vec(0.0..20.0_f64, 0..8), ranks in 0_u8..20,
            (d1, s1) in (0_u16..12, 0_u64..1_000), (d2, s2) in (0_u16..12, 0_u64..1_000),
        ) {
            let ranker = Ranker::new(Order::Breadth, weights, ranks);
            let (one, other) = (ranker.place(d1, None, s1), ranker.place(d2, Some(1), s2));
            prop_assert_eq!(one.cmp(&other), (d1, s1).cmp(&(d2, s2)));
        }

        #[test]
        fn a_more_important_page_never_has_a_worse_rank(a in 0.0..20.0_f64, b in 0.0..20.0_f64, ranks in any::<u8>()) {
            let ranker = Ranker::new(Order::Best, Vec::new(), ranks);
            let (low, high) = (a.min(b), a.max(b));
            prop_assert!(ranker.rank_of(high) <= ranker.rank_of(low));
            prop_assert!(ranker.rank_of(low) < ranker.ranks());
        }

        #[test]
        fn a_rank_that_is_always_ready_is_chosen_within_the_bound(
            always in 0_u8..=LAST_RANK, draws in any::<u64>(), noise in any::<u64>(),
        ) {
            let (mut chooser, mut others) = (RankChooser { draws }, noise | 1);
            let chosen = (0..128).any(|_| {
                others = others.rotate_left(7).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ noise;
                chooser.choose(|rank| rank == always || others >> rank & 1 == 1) == Some(always)
            });
            prop_assert!(chosen, "rank {} is not chosen", always);
        }

        /// The starvation bound: hosts are chosen among the ranks and give up their place after some pages, URLs of a host by turns of the
        /// ranks. What comes meanwhile is better than what waits, or not, as it comes. A URL with `n` before it in its rank is taken
        /// within 56 (n + 1) leases of its host, and its host within 128 draws for each that stands before it.
        #[test]
        fn no_url_starves_whatever_comes_meanwhile(
            rank in 0_u8..=LAST_RANK, before in 0_u64..4, quantum in 1_usize..9, draws in any::<u64>(), served in any::<u32>(),
            arrivals in prop::collection::vec((0_usize..3, 0.0..10.0_f64, 0.01..100.0_f64), 1..60),
        ) {
            let (ranker, mut web) = (ranker(Order::Best), Web::new(draws, served.into()));
            (0..=before).for_each(|_| web.put(0, rank));
            let target = (rank, before);
            let (mut leases, mut idle, mut coming) = (0, 0, arrivals.iter().cycle());
            while let Some(host) = web.next_host() {
                idle = if host == 0 { 0 } else { idle + 1 };
                prop_assert!(idle <= 128 * 3, "its host is passed over");
                for _ in 0..quantum {
                    for (host, depth, weight) in coming.by_ref().take(2) {
                        let factors = Factors { rule: *weight, ..Factors::of_depth(*depth) };
                        web.put(*host, ranker.rank_by(&factors, false));
                    }
                    let taken = web.lease(host);
                    leases += u64::from(host == 0);
                    if host == 0 && taken == Some(target) {
                        return Ok(());
                    }
                    prop_assert!(leases < 56 * (before + 1), "not among the first {} leases of its host", leases);
                }
                web.yields(host);
            }
            prop_assert!(false, "it is gone");
        }

        #[test]
        fn what_is_chosen_is_ready(draws in any::<u64>(), ready in any::<u8>()) {
            let is_ready = |rank: u8| ready >> rank & 1 == 1;
            match (RankChooser { draws }).choose(is_ready) {
                Some(rank) => prop_assert!(is_ready(rank)),
                None => prop_assert_eq!(ready, 0),
            }
        }
    }
}
