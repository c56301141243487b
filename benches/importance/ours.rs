//! The order of a crawl with `frontier.credit`: ranks by link credit, settled in rounds, as the ledger does it.

use std::collections::{BTreeMap, HashMap};

use lycosa::domain::credit::{Account, Dividend, PARTS, Pool, Purse, Step, Sums, Tax, Waiting, Way};
use lycosa::domain::rank::{Order as Crawl, Ranker};

use super::graph::{Spot, Web};
use super::order::{Order, Queue};

/// Pages between two rounds.
const ROUND: usize = 1_000;
/// The part of a domain for all that have none of their own.
const OTHERS: u32 = u32::MAX / 2;

/// What is tried.
#[derive(Clone, Copy)]
pub struct Options {
    pub dividend: Dividend,
    /// Pages that were fetched have a part in dividends too.
    pub done_too: bool,
    /// What is given to a fetched page goes to lambda at once.
    pub done_to_lambda: bool,
    /// Pages between two rounds.
    pub round: usize,
    /// The depth weight's root weighs the credit.
    pub depth: bool,
    /// A new page has its first share at once, not in the next round.
    pub at_once: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            dividend: Dividend::Page,
            done_too: false,
            done_to_lambda: false,
            round: ROUND,
            depth: true,
            at_once: true,
        }
    }
}

#[derive(Clone, Copy)]
struct Page {
    account: Account,
    part: u32,
    member: bool,
    waits: bool,
    step: Option<Step>,
    depth: u16,
}

pub struct Ours {
    options: Options,
    ranker: Ranker,
    sums: Sums,
    root: Pool,
    domains: HashMap<u32, Purse>,
    parts: HashMap<(u32, u32), Purse>,
    pages: HashMap<u32, Page>,
    waiting: Waiting,
    queue: Queue,
    notes: Vec<(u128, Vec<u32>)>,
    pub moves: u64,
    share: u128,
    floors: [Step; 7],
}

impl Ours {
    pub fn new(options: Options) -> Self {
        Self {
            options,
            ranker: Ranker::new(Crawl::Best, Vec::new(), 8),
            sums: Sums::default(),
            root: Pool::default(),
            domains: HashMap::new(),
            parts: HashMap::new(),
            pages: HashMap::new(),
            waiting: Waiting::default(),
            queue: Queue::default(),
            notes: Vec::new(),
            moves: 0,
            share: 0,
            floors: Waiting::default().floors(),
        }
    }

    fn factor(&self, depth: u16) -> f64 {
        if self.options.depth { (self.ranker.importance(depth) / 5.0).sqrt() } else { 1.0 }
    }

    /// A page and the pools on its way.
    fn with<T>(
        &mut self,
        page: u32,
        spot: Spot,
        work: impl FnOnce(&mut Page, &mut Way<'_>, &mut Sums) -> T,
    ) -> Option<T> {
        let own = self.pages.get_mut(&page)?;
        if self.options.dividend == Dividend::Page {
            return Some(work(own, &mut Way { root: &mut self.root, purses: None }, &mut self.sums));
        }
        let domain = self.domains.entry(spot.domain).or_default();
        if !own.member {
            let known = self.parts.contains_key(&(spot.domain, spot.part));
            own.part = if known || domain.pool.members + 1 < PARTS { spot.part } else { OTHERS };
        }
        let key = (spot.domain, own.part);
        let part = self.parts.entry(key).or_default();
        let done = work(own, &mut Way { root: &mut self.root, purses: Some((domain, part)) }, &mut self.sums);
        if part.pool.members == 0 {
            self.parts.remove(&key);
        }
        Some(done)
    }

    fn join(&mut self, page: u32, spot: Spot) {
        self.with(page, spot, |own, way, sums| {
            way.join(&mut own.account, sums);
            own.member = true;
        });
    }

    fn settle(&mut self, web: &Web<'_>) {
        let mut shares: BTreeMap<u32, u128> = BTreeMap::new();
        for (share, links) in std::mem::take(&mut self.notes) {
            links.iter().for_each(|to| *shares.entry(*to).or_default() += share);
        }
        let (floors, mut richest) = (self.waiting.floors(), 0);
        self.floors = floors;
        for (page, share) in shares {
            let spot = web.spot(page);
            let lambdas = self.options.done_to_lambda && !self.pages[&page].waits;
            if lambdas {
                self.sums.arrive(None, share);
                continue;
            }
            if !self.pages[&page].member && (self.pages[&page].waits || self.options.done_too) {
                self.join(page, spot);
            }
            self.with(page, spot, |own, way, sums| {
                if own.member {
                    way.take(&mut own.account, sums);
                }
                sums.arrive(Some(&mut own.account), share);
            });
            let Page { account, waits, step, depth, .. } = self.pages[&page];
            if !waits {
                continue;
            }
            richest = richest.max(account.balance);
            let now = Step::of(account.balance, self.factor(depth));
            step.iter().for_each(|step| self.waiting.remove(*step));
            self.waiting.add(now);
            if let Some(own) = self.pages.get_mut(&page) {
                own.step = Some(now);
            }
            self.moves += u64::from(self.queue.raise(page, now.rank(&floors)));
        }
        if self.sums.lambda > richest {
            self.sums.pay_back(&mut self.root);
        }
        assert_eq!(self.sums.difference(), 0, "I11");
    }
}

impl Order for Ours {
    fn found(&mut self, web: &Web<'_>, page: u32, depth: u16) {
        let account = Account::default();
        self.pages.insert(page, Page { account, part: 0, member: false, waits: true, step: None, depth });
        let mut rank = 7;
        if depth == 0 {
            self.join(page, web.spot(page));
            self.with(page, web.spot(page), |own, _, sums| sums.issue(&mut own.account));
            rank = 0;
        } else if let Some((share, _)) = self.notes.last() {
            rank = Step::of(*share, self.factor(depth)).rank(&self.floors);
        }
        if self.options.at_once && depth > 0 {
            self.join(page, web.spot(page));
            let (share, factor) = (self.share, self.factor(depth));
            self.with(page, web.spot(page), |own, _, sums| sums.arrive(Some(&mut own.account), share));
            let step = Step::of(share, factor);
            self.waiting.add(step);
            if let Some(own) = self.pages.get_mut(&page) {
                own.step = Some(step);
            }
            rank = step.rank(&self.floors);
        }
        self.queue.put(page, rank);
    }

    fn next(&mut self, web: &Web<'_>) -> Option<u32> {
        if self.notes.len() >= self.options.round {
            self.settle(web);
        }
        self.queue.take()
    }

    fn fetches(&mut self, web: &Web<'_>, page: u32, links: &[u32]) {
        let (leaves, spot) = (!self.options.done_too, web.spot(page));
        self.with(page, spot, |own, way, sums| {
            own.waits = false;
            if own.member && leaves {
                way.leave(&mut own.account, sums);
                own.member = false;
            } else if own.member {
                way.take(&mut own.account, sums);
            }
        });
        let Some(own) = self.pages.get_mut(&page) else { return };
        if let Some(step) = own.step.take() {
            self.waiting.remove(step);
        }
        let share = self.sums.give(&mut own.account, links.len() as u64, Tax::default());
        self.share = share;
        let to = links.iter().copied().filter(|to| !self.options.at_once || self.pages.contains_key(to)).collect();
        self.notes.push((share, to));
    }
}
