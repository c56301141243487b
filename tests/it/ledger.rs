//! The ledger against a small reference model: after every commit of random changes the storage fits together (I2, I9) and
//! each URL is in the state the model says.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lycosa::base::time::UnixMillis;
use lycosa::domain::credit::CreditRules;
use lycosa::domain::fingerprint::{ContentDigest, CrawlId, Fingerprinter, UrlKey};
use lycosa::domain::orders::{HostOrder, HostOrders};
use lycosa::domain::rank::{Order, Ranker};
use lycosa::domain::reach::Reach;
use lycosa::domain::reason::{Failure, Rejection};
use lycosa::domain::refresh::Refresh;
use lycosa::domain::robots::RobotsCopy;
use lycosa::domain::url::{Canonicaliser, CleanRules, PageUrl};
use lycosa::storage::credit::Plan;
use lycosa::storage::keys::HostAt;
use lycosa::storage::ledger::{
    Change, Ending, Ledger, LedgerRules, LinkChange, NewUrl, PageChange, RejectedUrl, Settling,
};
use lycosa::storage::txn::Txn;
use lycosa::storage::values::{
    ContentValue, CreditState, DoneKind, NoteHost, PageRecord, RobotsValue, SeedValue, UrlState,
};
use lycosa::storage::{MemoryStorage, Storage, read};
use proptest::prelude::*;

use crate::support::checked;

const SEED: u64 = 11;
const HOSTS: u16 = 3;
const PAGES: u16 = 8;
const ORDERS: [HostOrder; 10] = [
    HostOrder::Pause,
    HostOrder::Resume,
    HostOrder::Block,
    HostOrder::Unblock,
    HostOrder::Unblock,
    HostOrder::Drop,
    HostOrder::Dropped,
    HostOrder::Recrawl,
    HostOrder::Recrawled,
    HostOrder::MinDelay(None),
];

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Waiting { depth: u16, due: Option<UnixMillis> },
    Done(UnixMillis),
    Error(Failure, u16),
    Rejected(Rejection),
}

/// A change in numbers: which kind, of which URL, and what else it needs. Interpreted by the model's state, so that only
/// changes come about that the other rooms may send.
type Op = (u8, u16, u16, u8);

#[derive(Clone, Default)]
struct Model {
    states: BTreeMap<String, State>,
    contents: BTreeSet<u8>,
    orders: BTreeMap<String, HostOrders>,
}

impl Model {
    /// Why nothing of the URL's host may be queued.
    fn refusal(&self, url: &PageUrl) -> Option<Rejection> {
        self.orders.get(url.host()).and_then(HostOrders::refusal)
    }
}

struct Bench {
    storage: MemoryStorage,
    order: Order,
    ledger: Ledger,
    prints: Fingerprinter,
    model: Model,
    now: UnixMillis,
}

fn url(n: u16) -> PageUrl {
    let (host, page) = (n / PAGES % HOSTS, n % PAGES);
    Canonicaliser::new(CleanRules::default()).parse(&format!("http://h{host}.test/p/{page}")).unwrap()
}

fn found(n: u16, depth: u16) -> NewUrl {
    NewUrl { seed: depth == 0, ..NewUrl::link(url(n), depth) }
}

fn rules(order: Order) -> LedgerRules {
    LedgerRules {
        crawl: CrawlId::default(),
        prints: Fingerprinter::new(SEED),
        ranker: Ranker::new(order, vec![10.0, 8.0, 5.0, 2.0, 0.5], 8),
        keep_rejected: true,
        generation: 1,
        max_depth: None,
        refresh: Refresh { cycle: "1h".parse().unwrap(), ..Refresh::default() }, // each done page has its row, never due here
        priorities: Arc::default(),
        credit: (order == Order::Best).then(CreditRules::default),
        share: None,
    }
}

impl Bench {
    fn new(order: Order) -> Self {
        let storage = MemoryStorage::formatted(SEED).unwrap();
        let ledger = Ledger::open(&storage, rules(order)).unwrap();
        Self {
            storage,
            order,
            ledger,
            prints: Fingerprinter::new(SEED),
            model: Model::default(),
            now: UnixMillis(1_000_000),
        }
    }

    /// One group of changes in one batch. With `fails` the write does, and nothing may have happened.
    fn group(&mut self, ops: &[Op], fails: bool) {
        self.now = UnixMillis(self.now.0 + 1_000);
        let mut model = self.model.clone();
        let mut txn = Txn::new(&self.storage);
        let leased: BTreeSet<UrlKey> = ops.iter().map(|op| self.prints.url(&url(op.2))).collect();
        let mut done = Vec::new();
        if let Some(piece) = ops.first().and_then(|op| self.piece(*op)) {
            let piece = Change::Settle(Box::new(piece));
            let done = self.ledger.apply(&mut txn, &piece, self.now, &|key| leased.contains(key)).unwrap();
            assert!(!done.void, "{piece:?}");
            assert!(self.ledger.apply(&mut txn, &piece, self.now, &|_| false).unwrap().void, "each piece arrives once");
        }
        for (moment, op) in (self.now.0..).zip(ops) {
            let moment = UnixMillis(moment); // no URL is captured twice at one
            if let Some(change) = change(&mut model, *op, &leased, &self.ledger, moment, &self.prints) {
                let applied = self.ledger.apply(&mut txn, &change, self.now, &|key| leased.contains(key)).unwrap();
                assert!(!applied.void, "{change:?}");
                done.push(change);
            }
        }
        self.ledger.seal(&mut txn).unwrap();
        if fails {
            self.storage.fail_next_writes(1);
            assert!(self.storage.write(&txn.into_batch()).is_err());
            self.ledger = Ledger::open(&self.storage, rules(self.order)).unwrap(); // as the Store does
        } else {
            self.storage.write(&txn.into_batch()).unwrap();
            self.ledger.commit();
            self.model = model;
        }
        self.check(&done);
    }

    /// The next piece of a round of link credit, where there is any: some accounts of it, so that others come in between.
    fn piece(&self, (kind, _, _, c): Op) -> Option<Settling> {
        let state = read::meta::<CreditState>(&self.storage, CrawlId::default()).unwrap()?;
        let plan = Plan::make(&self.storage, CrawlId::default(), &state).unwrap();
        plan.filter(|_| kind % 3 > 0)?.next_piece(usize::from(c % 4))
    }

    fn check(&self, done: &[Change]) {
        let found = checked(&self.storage, SEED, None);
        assert_eq!(found.seen.len(), self.model.states.len(), "{done:#?}");
        for (text, state) in &self.model.states {
            let url = Canonicaliser::new(CleanRules::default()).parse(text).unwrap();
            let stored = match found.seen.get(&found.key(&url)).copied() {
                Some(UrlState::Waiting { reach, due, .. }) => State::Waiting { depth: reach.depth, due },
                Some(UrlState::Done { captured, .. }) => State::Done(captured),
                Some(UrlState::Error { reason }) => match state {
                    State::Error(_, depth) => State::Error(reason, *depth), // the depth is kept elsewhere
                    _ => State::Error(reason, u16::MAX),
                },
                Some(UrlState::Rejected { reason, .. }) => State::Rejected(reason),
                None => panic!("{text} is lost after {done:#?}"),
            };
            assert_eq!(stored, *state, "{text} after {done:#?}");
        }
    }
}

/// The change of an op, and what the model makes of it.
fn change(
    model: &mut Model,
    (kind, a, b, c): Op,
    leased: &BTreeSet<UrlKey>,
    ledger: &Ledger,
    now: UnixMillis,
    prints: &Fingerprinter,
) -> Option<Change> {
    let at = ledger.seen_key(&url(a)).host_crawl().host_at();
    match kind % 14 {
        0 | 1 => Some(Change::Links(Box::new(links(model, a, b, c)))),
        2..=6 => page(model, a, b, c, now, ledger),
        7 => {
            let until = (c % 2 == 0).then(|| UnixMillis(now.0 + u64::from(b)));
            Some(Change::Yield { at, until, pace: Some(vec![c; 3]) })
        }
        8 => Some(Change::Unpark(at)),
        10 => {
            let host = url(a).host().to_owned();
            let order = ORDERS[usize::from(c) % ORDERS.len()];
            model.orders.entry(host.clone()).or_default().take(order, now);
            Some(Change::Order { host, order })
        }
        11 => {
            let urls = [a, b, a ^ b].map(url);
            let reason = model.refusal(&urls[0]).unwrap_or(Rejection::Dropped);
            for url in urls.iter().filter(|url| !leased.contains(&prints.url(url))) {
                let refused = model.refusal(url).is_some();
                if let Some(state @ State::Waiting { .. }) = model.states.get_mut(url.as_str()).filter(|_| refused) {
                    *state = State::Rejected(reason);
                }
            }
            Some(Change::DropUrls { urls: urls.iter().map(|url| ledger.seen_key(url)).collect(), reason })
        }
        13 => {
            let urls = [a, b, a ^ b].map(url);
            for url in &urls {
                let refused = model.refusal(url).is_some();
                if let Some(state @ State::Error(..)) = model.states.get_mut(url.as_str()).filter(|_| !refused) {
                    let State::Error(_, depth) = *state else { continue };
                    *state = State::Waiting { depth, due: None };
                }
            }
            Some(Change::TryAgain(urls.iter().map(|url| ledger.seen_key(url)).collect()))
        }
        12 => {
            let mut pages = Vec::new();
            for url in [a, b, a.wrapping_add(b)].map(url) {
                let refused = model.refusal(&url).is_some();
                let Some(state) = model.states.get_mut(url.as_str()) else { continue };
                let State::Done(captured) = *state else { continue };
                pages.push(ledger.seen_key(&url).page(captured));
                if !refused {
                    *state = State::Waiting { depth: 0, due: None };
                }
            }
            Some(Change::FetchAgain(pages))
        }
        _ if c % 4 == 0 => {
            let copy = RobotsCopy { status: 200, fetched: now, failures: 0, retry_at: None };
            let value = RobotsValue { copy, text: vec![] };
            let key = at.robots(url(a).scheme(), url(a).port());
            Some(Change::Robots {
                key,
                host: url(a).host().to_owned(),
                value: Box::new(value),
                pace: None,
                sitemaps: Box::default(),
            })
        }
        _ => {
            let due = model.states.iter_mut().filter_map(|(text, state)| match state {
                State::Waiting { due: due @ Some(_), .. } => {
                    let time = due.take()?;
                    let url = Canonicaliser::new(CleanRules::default()).parse(text).unwrap();
                    Some(ledger.seen_key(&url).due(time))
                }
                _ => None,
            });
            let mut keys: Vec<_> = due.collect();
            keys.extend(keys.first().copied()); // told twice
            Some(Change::Promote(keys))
        }
    }
}

fn links(model: &mut Model, a: u16, b: u16, c: u8) -> LinkChange {
    let mut out = LinkChange::default();
    let turned = |model: &Model, new: &NewUrl| model.refusal(&new.url).map(State::Rejected);
    for (i, n) in [a, b, a ^ b, a.wrapping_add(b)].into_iter().enumerate() {
        let depth = u16::from(c >> i & 3) + u16::from(c % 5);
        let new = found(n, depth);
        let key = new.url.as_str().to_owned();
        note(&mut out, &new);
        let turned_away = (c >> (i + 4)) & 1 == 1;
        match model.states.get(&key).copied() {
            None if turned_away => {
                model.states.insert(key, State::Rejected(Rejection::TooDeep));
                out.turned.push(RejectedUrl { new, reason: Rejection::TooDeep });
            }
            None => {
                let state = turned(model, &new).unwrap_or(State::Waiting { depth, due: None });
                model.states.insert(key, state);
                out.new.push(new);
            }
            Some(State::Rejected(_)) => {
                let state = turned(model, &new).unwrap_or(State::Waiting { depth, due: None });
                model.states.insert(key, state);
                out.readmitted.push(new);
            }
            Some(State::Waiting { depth: known, due }) => {
                if depth < known {
                    model.states.insert(key, State::Waiting { depth, due });
                }
                out.nearer.push(new);
            }
            Some(State::Done(_) | State::Error(..)) => out.nearer.push(new),
        }
    }
    // The ledger takes them in the order new, turned, readmitted, nearer: of one URL, the order in which they came.
    out
}

/// A link that is admitted, and a seed that is told.
fn note(links: &mut LinkChange, new: &NewUrl) {
    let prints = Fingerprinter::new(SEED);
    let (at, page) = (HostAt::of(&prints, new.url.host()), prints.url(&new.url));
    let domain = HostAt::domain(&prints, new.url.host());
    let own = |host: &&mut NoteHost| (host.partition, host.host) == (at.partition, at.host);
    match links.linked.iter_mut().find(own) {
        Some(host) if host.pages.contains(&page) => {}
        Some(host) => host.pages.push(page),
        None => {
            links.linked.push(NoteHost { partition: at.partition, host: at.host, domain, pages: vec![page] });
        }
    }
    if new.seed {
        let url = new.url.as_str().to_owned();
        links.seeds.push(SeedValue {
            url,
            added: UnixMillis(0),
            rank: None,
            max_depth: None,
            tags: Vec::new(),
            weight: None,
            cycle: None,
            guessed: false,
        });
    }
}

fn page(model: &mut Model, a: u16, b: u16, c: u8, now: UnixMillis, ledger: &Ledger) -> Option<Change> {
    let waiting: Vec<String> = model
        .states
        .iter()
        .filter(|(_, s)| matches!(s, State::Waiting { due: None, .. }))
        .map(|(u, _)| u.clone())
        .collect();
    let text = waiting.get(usize::from(a) % waiting.len().max(1))?.clone();
    let url = Canonicaliser::new(CleanRules::default()).parse(&text).unwrap();
    let State::Waiting { depth, .. } = model.states[&text] else { return None };
    let at = UnixMillis(now.0 + 50 + u64::from(c));
    let (ending, state) = match c % 8 {
        4 if c % 16 == 12 => {
            let waiting = State::Waiting { depth, due: Some(at) };
            (Ending::Wait { at, reason: Failure::Reset }, model.refusal(&url).map_or(waiting, State::Rejected))
        }
        0..=2 => (Ending::Done(DoneKind::Stored), State::Done(now)),
        3 => (Ending::Done(DoneKind::Redirect), State::Done(now)),
        4 => {
            let waiting = State::Waiting { depth, due: Some(at) };
            (Ending::Retry { at, reason: Failure::Reset }, model.refusal(&url).map_or(waiting, State::Rejected))
        }
        5 => (Ending::Error(Failure::Status5xx), State::Error(Failure::Status5xx, depth)),
        6 => (Ending::Error(Failure::DnsNotFound), State::Error(Failure::DnsNotFound, depth)),
        _ => (Ending::Rejected(Rejection::Robots), State::Rejected(Rejection::Robots)),
    };
    model.states.insert(text, state);
    let capture = (c % 8 < 4 || c % 8 == 5).then(|| record(&url, &ending, now, c));
    let mut first_with = None;
    if capture.is_some() && model.contents.insert(c) {
        let first = ledger.seen_key(&url).page(now);
        first_with =
            Some((ContentDigest([c; 16]), ContentValue { first, url: url.to_string(), date: now, payload: [0; 20] }));
    }
    let links = if matches!(ending, Ending::Done(_)) { links(model, b, a, c) } else { LinkChange::default() };
    Some(Change::Page(Box::new(PageChange {
        url,
        ending,
        taken: Reach { depth, limit: None },
        reach: Reach { depth, limit: None },
        status: None,
        capture,
        first_with,
        links,
        pace: Some(vec![c]),
    })))
}

fn record(url: &PageUrl, ending: &Ending, now: UnixMillis, c: u8) -> PageRecord {
    let how = if *ending == Ending::Done(DoneKind::Redirect) { DoneKind::Redirect } else { DoneKind::Stored };
    PageRecord {
        status: if matches!(ending, Ending::Error(_)) { 503 } else { 200 },
        took_ms: 5,
        mime: (!c.is_multiple_of(3)).then(|| format!("text/{}", c % 50)),
        bytes: u64::from(c) * 10,
        payload_digest: [c; 20],
        content: Some(ContentDigest([c; 16])),
        ..PageRecord::new(url, now, how)
    }
}

fn orders() -> impl Strategy<Value = Order> {
    prop_oneof![Just(Order::Breadth), Just(Order::Depth), Just(Order::Mixed), Just(Order::Best)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn after_every_commit_counts_equal_recounts_and_states_are_those_of_the_model(
        order in orders(),
        groups in prop::collection::vec((prop::collection::vec(any::<Op>(), 1..5), prop::bool::weighted(0.15)), 1..25),
    ) {
        let mut bench = Bench::new(order);
        for (ops, fails) in &groups {
            bench.group(ops, *fails);
        }
        // Another ledger on the same storage goes on with the same counts.
        bench.ledger = Ledger::open(&bench.storage, rules(order)).unwrap();
        bench.group(&[(0, 3, 9, 0), (2, 1, 1, 0)], false);
    }
}
