//! How far a way to a URL leads: links walked from its seed, against links that may be walked.

/// A way to a URL. Of two ways to one URL the better is the one by which more links may still be followed; of two that lead as
/// far, the shorter one. So a page belongs to the seed that lets it go deepest.
///
/// Following a link makes any way worse by the same, so the best way to a page goes over the best ways to the pages before it:
/// whoever follows the links of a page again when a way that leads further is found comes to every page that a walk by breadth
/// from each seed comes to, whatever the order (Bellman 1958; Ford 1956: correcting labels). As long as nothing was too deep every link was
/// followed: then it is enough to remember the better ways, and to follow those links again as soon as a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reach {
    /// Links from the seed.
    pub depth: u16,
    /// Links that are followed from that seed, as was said of it.
    pub limit: Option<u16>,
}

impl Reach {
    /// No way is better.
    pub const BEST: Self = Self { depth: 0, limit: None };

    /// Links that may still be followed when the crawl follows `most` from any seed; `None` when there is no end.
    pub fn left(self, most: Option<u16>) -> Option<u16> {
        let limit = match (self.limit, most) {
            (Some(limit), Some(most)) => limit.min(most),
            (limit, most) => limit.or(most)?,
        };
        Some(limit.saturating_sub(self.depth))
    }

    /// Whether more links may be followed this way than the other way.
    pub fn leads_further(self, other: Self, most: Option<u16>) -> bool {
        ends_later(self.left(most), other.left(most))
    }

    /// Whether it leads further, or as far by fewer links.
    pub fn beats(self, other: Self, most: Option<u16>) -> bool {
        let (own, others) = (self.left(most), other.left(most));
        ends_later(own, others) || own == others && self.depth < other.depth
    }

    /// The better of two ways.
    #[must_use]
    pub fn or_better(self, other: Self, most: Option<u16>) -> Self {
        if other.beats(self, most) { other } else { self }
    }
}

fn ends_later(one: Option<u16>, other: Option<u16>) -> bool {
    match (one, other) {
        (None, other) => other.is_some(),
        (Some(one), Some(other)) => one > other,
        (Some(_), None) => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn reach(depth: u16, limit: Option<u16>) -> Reach {
        Reach { depth, limit }
    }

    #[test]
    fn of_two_ways_the_one_that_leads_further_is_the_better_then_the_shorter_one() {
        let cases = [
            // depth and limit of one way and of the other, what the crawl follows: does the one beat the other, or lead further?
            ((3, None), (5, None), None, true, false),
            ((5, None), (3, None), None, false, false),
            ((3, None), (5, None), Some(20), true, true),
            ((9, None), (1, Some(2)), None, true, true),
            ((9, None), (1, Some(2)), Some(20), true, true),
            ((18, None), (2, Some(10)), Some(20), false, false), // 2 links more against 8
            ((2, Some(10)), (18, None), Some(20), true, true),
            ((1, Some(3)), (2, Some(4)), None, true, false),
            ((2, Some(2)), (7, Some(7)), None, true, false),
            ((4, Some(2)), (4, Some(2)), None, false, false),
        ];
        for (one, other, most, beats, further) in cases {
            let (a, b) = (reach(one.0, one.1), reach(other.0, other.1));
            assert_eq!((a.beats(b, most), a.leads_further(b, most)), (beats, further), "{one:?} {other:?} {most:?}");
        }
    }

    fn any_reach() -> impl Strategy<Value = Reach> {
        (0_u16..9, proptest::option::of(0_u16..9)).prop_map(|(depth, limit)| reach(depth, limit))
    }

    const PAGES: usize = 12;

    /// The pages that a walk by breadth comes to from a seed within its limit; a link of length 0 is a redirect.
    fn ball(links: &[(usize, usize, u16)], seed: usize, limit: u16, found: &mut [bool]) {
        let mut depth = [u16::MAX; PAGES];
        depth[seed] = 0;
        for _ in 0..PAGES {
            for (from, to, length) in
                links.iter().filter(|(from, ..)| depth[*from] < u16::MAX).copied().collect::<Vec<_>>()
            {
                depth[to] = depth[to].min(depth[from] + length);
            }
        }
        depth.iter().enumerate().filter(|(_, depth)| **depth <= limit).for_each(|(page, _)| found[page] = true);
    }

    /// A crawl that takes what is queued in any order.
    #[derive(Default)]
    struct Crawl {
        most: Option<u16>,
        /// The best way known to a page that was fetched.
        done: [Option<Reach>; PAGES],
        queue: Vec<(usize, Reach)>,
        /// Pages to which a way that leads further waits.
        nearer: Vec<usize>,
        /// A page that is neither queued nor done was too deep.
        too_deep: bool,
        fetches: usize,
    }

    impl Crawl {
        fn offer(&mut self, page: usize, way: Reach) {
            let queued = self.queue.iter_mut().find(|(queued, _)| *queued == page);
            if self.most.is_some_and(|most| way.depth > most) || way.limit.is_some_and(|limit| way.depth > limit) {
                self.too_deep |= queued.is_none() && self.done[page].is_none();
                return;
            }
            match (queued, self.done[page]) {
                (Some((_, known)), _) => *known = known.or_better(way, self.most),
                (None, Some(known)) if !way.leads_further(known, self.most) => {}
                (None, Some(_)) if !self.too_deep => {
                    self.done[page] = Some(way);
                    self.nearer.push(page);
                }
                (None, _) => {
                    self.nearer.retain(|waits| *waits != page);
                    self.queue.push((page, way));
                }
            }
        }

        /// One of the better ways that wait is followed.
        fn follow(&mut self, nth: usize) {
            let page = self.nearer.swap_remove(nth);
            self.nearer.retain(|waits| *waits != page);
            self.queue.extend(self.done[page].map(|way| (page, way)));
        }

        fn fetch(&mut self, nth: usize, links: &[(usize, usize, u16)]) {
            let (page, way) = self.queue.swap_remove(nth);
            self.done[page] = Some(way);
            self.fetches += 1;
            for (_, to, length) in links.iter().filter(|(from, ..)| *from == page) {
                self.offer(*to, Reach { depth: way.depth + length, ..way });
            }
        }

        /// To its end; what waits is followed at any time once a page was too deep.
        fn run(&mut self, links: &[(usize, usize, u16)], pick: &mut impl FnMut(usize) -> usize) {
            loop {
                let waiting = if self.too_deep { self.nearer.len() } else { 0 };
                match self.queue.len() + waiting {
                    0 => return,
                    all => match pick(all).checked_sub(self.queue.len()) {
                        Some(nth) => self.follow(nth),
                        None => self.fetch(pick(self.queue.len()), links),
                    },
                }
            }
        }
    }

    proptest! {
        #[test]
        fn in_any_order_a_crawl_comes_to_what_a_walk_by_breadth_from_each_seed_comes_to(
            links in proptest::collection::vec((0..PAGES, 0..PAGES, 0_u16..4), 0..40),
            seeds in proptest::collection::vec((0..PAGES, proptest::option::of(0_u16..5)), 1..4),
            most in proptest::option::of(0_u16..7),
            picks in proptest::collection::vec(any::<usize>(), 1..20),
        ) {
            let links: Vec<_> = links.into_iter().map(|(from, to, length)| (from, to, length.min(1))).collect();
            let mut wanted = [false; PAGES];
            for (seed, limit) in &seeds {
                let limit = limit.unwrap_or(u16::MAX).min(most.unwrap_or(u16::MAX));
                ball(&links, *seed, limit.min(u16::MAX - 1), &mut wanted);
            }
            let mut crawl = Crawl { most, ..Crawl::default() };
            seeds.iter().for_each(|(page, limit)| crawl.offer(*page, reach(0, *limit)));
            let mut taken = 0;
            crawl.run(&links, &mut |queued| {
                taken += 1;
                picks[taken % picks.len()] % queued
            });
            let found = crawl.done.map(|way| way.is_some());
            prop_assert_eq!(found, wanted);
            let pages = found.iter().filter(|found| **found).count();
            prop_assert!(crawl.too_deep || crawl.fetches == pages, "{} fetches of {} pages", crawl.fetches, pages);
        }

        #[test]
        fn ways_are_in_one_order_and_a_link_more_keeps_it(
            a in any_reach(), b in any_reach(), c in any_reach(), most in proptest::option::of(0_u16..9),
        ) {
            prop_assert!(!a.beats(a, most));
            prop_assert!(!a.beats(b, most) || !b.beats(a, most));
            prop_assert!(!(a.beats(b, most) && b.beats(c, most)) || a.beats(c, most));
            prop_assert!(!a.leads_further(b, most) || a.beats(b, most));
            let link = |way: Reach| Reach { depth: way.depth + 1, ..way };
            if !a.beats(b, most) && b.left(most) != Some(0) {
                prop_assert!(!link(a).leads_further(link(b), most));
            }
            let best = a.or_better(b, most);
            prop_assert!(!a.beats(best, most) && !b.beats(best, most));
        }
    }
}
