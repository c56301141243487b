//! Orders in which pages are taken: those that this is measured against.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, VecDeque};
use std::rc::Rc;

use lycosa::domain::rank::{Order as Crawl, Ranker};

use super::graph::Web;

/// An order. Pages are told when they are found, and again each time a link to them is.
pub trait Order {
    /// A page that nobody knew, so many links from a seed.
    fn found(&mut self, web: &Web<'_>, page: u32, depth: u16);

    /// A page was fetched and leads to these, of which those that nobody knew are not yet told.
    fn fetches(&mut self, _: &Web<'_>, _page: u32, _links: &[u32]) {}

    /// The same, after they were told.
    fn fetched(&mut self, _: &Web<'_>, _page: u32, _links: &[u32]) {}

    /// The page to fetch next.
    fn next(&mut self, web: &Web<'_>) -> Option<u32>;
}

/// First found first.
#[derive(Default)]
pub struct Breadth(VecDeque<u32>);

impl Order for Breadth {
    fn found(&mut self, _: &Web<'_>, page: u32, _: u16) {
        self.0.push_back(page);
    }

    fn next(&mut self, _: &Web<'_>) -> Option<u32> {
        self.0.pop_front()
    }
}

/// Last found first.
#[derive(Default)]
pub struct Depth(Vec<u32>);

impl Order for Depth {
    fn found(&mut self, _: &Web<'_>, page: u32, _: u16) {
        self.0.push(page);
    }

    fn next(&mut self, _: &Web<'_>) -> Option<u32> {
        self.0.pop()
    }
}

/// Hosts in turn, the last found of each first.
#[derive(Default)]
pub struct Mixed {
    hosts: VecDeque<u32>,
    pages: HashMap<u32, Vec<u32>>,
}

impl Order for Mixed {
    fn found(&mut self, web: &Web<'_>, page: u32, _: u16) {
        let host = web.spot(page).host;
        let pages = self.pages.entry(host).or_default();
        if pages.is_empty() {
            self.hosts.push_back(host);
        }
        pages.push(page);
    }

    fn next(&mut self, _: &Web<'_>) -> Option<u32> {
        let host = self.hosts.pop_front()?;
        let pages = self.pages.get_mut(&host)?;
        let page = pages.pop();
        if !pages.is_empty() {
            self.hosts.push_back(host);
        }
        page
    }
}

/// The page first to which most links were found; of equal ones the first found.
#[derive(Default)]
pub struct InDegree {
    waiting: HashMap<u32, (u32, u32)>,
    heap: BinaryHeap<(u32, std::cmp::Reverse<u32>, u32)>,
}

impl Order for InDegree {
    fn found(&mut self, _: &Web<'_>, page: u32, _: u16) {
        self.waiting.insert(page, (0, self.waiting.len() as u32));
        self.heap.push((0, std::cmp::Reverse(0), page));
    }

    fn fetched(&mut self, _: &Web<'_>, _: u32, links: &[u32]) {
        for to in links {
            if let Some((links, nth)) = self.waiting.get_mut(to) {
                *links += 1;
                self.heap.push((*links, std::cmp::Reverse(*nth), *to));
            }
        }
    }

    fn next(&mut self, _: &Web<'_>) -> Option<u32> {
        loop {
            let (links, _, page) = self.heap.pop()?;
            if self.waiting.get(&page).is_some_and(|(now, _)| *now == links) {
                self.waiting.remove(&page);
                return Some(page);
            }
        }
    }
}

/// The page first that has most credit, exactly and at once; pages give all they have, and nothing is paid back (OPIC).
#[derive(Default)]
pub struct ExactOpic {
    /// Credit of each page.
    credit: HashMap<u32, f64>,
    waiting: HashMap<u32, u32>,
    heap: BinaryHeap<(u64, std::cmp::Reverse<u32>, u32)>,
}

impl ExactOpic {
    fn put(&mut self, page: u32, credit: f64) {
        let now = self.credit.entry(page).or_default();
        *now += credit;
        if let Some(nth) = self.waiting.get(&page) {
            self.heap.push((now.to_bits(), std::cmp::Reverse(*nth), page)); // bits of numbers above 0 sort as they do
        }
    }
}

impl Order for ExactOpic {
    fn found(&mut self, _: &Web<'_>, page: u32, depth: u16) {
        self.waiting.insert(page, self.credit.len() as u32);
        self.put(page, if depth == 0 { 1.0 } else { 0.0 });
    }

    fn fetched(&mut self, _: &Web<'_>, page: u32, links: &[u32]) {
        let credit = self.credit.insert(page, 0.0).unwrap_or_default();
        links.iter().for_each(|to| self.put(*to, credit / links.len() as f64));
    }

    fn next(&mut self, _: &Web<'_>) -> Option<u32> {
        loop {
            let (bits, _, page) = self.heap.pop()?;
            if self.waiting.contains_key(&page) && self.credit.get(&page).is_some_and(|now| now.to_bits() == bits) {
                self.waiting.remove(&page);
                return Some(page);
            }
        }
    }
}

/// The most important of the pages that are known first: what an order could do that knew all importance, and not the way to it.
pub struct Oracle {
    importance: Rc<Vec<f64>>,
    heap: BinaryHeap<(u64, std::cmp::Reverse<u32>, u32)>,
}

impl Oracle {
    pub fn new(importance: Rc<Vec<f64>>) -> Self {
        Self { importance, heap: BinaryHeap::new() }
    }
}

impl Order for Oracle {
    fn found(&mut self, _: &Web<'_>, page: u32, _: u16) {
        let importance = self.importance.get(page as usize).copied().unwrap_or_default();
        self.heap.push((importance.to_bits(), std::cmp::Reverse(page), page));
    }

    fn next(&mut self, _: &Web<'_>) -> Option<u32> {
        self.heap.pop().map(|(_, _, page)| page)
    }
}

/// Pages by rank and number; every eighth comes from the lower ranks in turn, as in the queue of a host.
#[derive(Default)]
pub struct Queue {
    ranks: BTreeMap<u8, BTreeSet<u32>>,
    places: HashMap<u32, (u8, u32)>,
    pages: HashMap<u32, u32>,
    numbers: u32,
    taken: u32,
    lower: u8,
}

impl Queue {
    pub fn put(&mut self, page: u32, rank: u8) {
        self.numbers += 1;
        self.pages.insert(self.numbers, page);
        self.places.insert(page, (rank, self.numbers));
        self.ranks.entry(rank).or_default().insert(self.numbers);
    }

    /// Moves a page that waits to a better rank; it keeps its number. True when it moves.
    pub fn raise(&mut self, page: u32, rank: u8) -> bool {
        let Some((old, number)) = self.places.get_mut(&page) else { return false };
        if rank >= *old {
            return false;
        }
        self.ranks.entry(*old).or_default().remove(number);
        self.ranks.entry(rank).or_default().insert(*number);
        *old = rank;
        true
    }

    pub fn take(&mut self) -> Option<u32> {
        let ready: Vec<u8> = self.ranks.iter().filter(|(_, pages)| !pages.is_empty()).map(|(rank, _)| *rank).collect();
        let best = *ready.first()?;
        self.taken += 1;
        let mut rank = best;
        if self.taken.is_multiple_of(8) && ready.len() > 1 {
            rank = ready.iter().copied().find(|rank| *rank > best && *rank > self.lower).unwrap_or(ready[1]);
            self.lower = rank;
        }
        let number = self.ranks.get_mut(&rank)?.pop_first()?;
        let page = self.pages.remove(&number)?;
        self.places.remove(&page);
        Some(page)
    }
}

/// Ranks by depth alone: order `best` without credit.
pub struct Best {
    ranker: Ranker,
    queue: Queue,
}

impl Default for Best {
    fn default() -> Self {
        Self { ranker: Ranker::new(Crawl::Best, Vec::new(), 8), queue: Queue::default() }
    }
}

impl Order for Best {
    fn found(&mut self, _: &Web<'_>, page: u32, depth: u16) {
        self.queue.put(page, self.ranker.place(depth, None, 0).rank);
    }

    fn next(&mut self, _: &Web<'_>) -> Option<u32> {
        self.queue.take()
    }
}
