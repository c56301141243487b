//! A node without threads, for tests of one actor: storage in memory, a clock that stands still, and mailboxes that nobody empties. What
//! the actor tells the others is there to be looked at.

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, RwLock};

use tokio::sync::{Semaphore, watch};

use super::lease::Lease;
use super::live::{self, LiveCell};
use super::mailbox::Mailbox;
use super::mailbox::probe::Told;
use super::node::{Actors, Mailboxes, Net, Node, Permits, Telemetry, lease_end};
use super::orders::Orders;
use super::rules::Rules;
use super::seeds::Seeds;
use super::state::{Crawl, Epoch, FilterFacts, Progress, Switches};
use super::strikes::Strikes;
use super::worker::{Behavior, Ctx};
use crate::base::clock::Clock;
use crate::base::disk::{DiskState, Reserve};
use crate::base::fault::Faults;
use crate::base::time::UnixMillis;
use crate::config::Layers;
use crate::domain::fingerprint::{CrawlId, Fingerprinter};
use crate::domain::memory::MemoryPlan;
use crate::domain::url::PageUrl;
use crate::net::dns::Resolver;
use crate::storage::keys::{HostAt, KeyRange, SeenKey};
use crate::storage::ledger::{Change, Ledger, LinkChange, NewUrl};
use crate::storage::tables::Queue;
use crate::storage::txn::Txn;
use crate::storage::{MemoryStorage, Storage as _, read};
use crate::telemetry::metrics::Metrics;

/// When the clock stands still.
pub const NOW: UnixMillis = UnixMillis(1_800_000_000_000);

/// The node, and what the other actors are told.
pub struct Bench {
    pub node: Arc<Node>,
    pub storage: Arc<MemoryStorage>,
    pub frontier: Told,
    pub fetcher: Told,
    pub deduper: Told,
    pub store: Told,
    _folder: tempfile::TempDir,
}

impl Bench {
    /// With these settings besides those of any crawl, as `key=value`.
    pub fn new(set: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data = format!("store.data_dir={}", folder.path().display());
        let all = [data.as_str(), "agent.email=me@example.org", "scope.mode=any", "crawl.seeds=['http://h.test/']"];
        let layers = all.iter().chain(set).fold(Layers::new(), |layers, set| layers.set(set).unwrap());
        let settings = layers.load().unwrap();
        let (storage, clock, prints) =
            (Arc::new(MemoryStorage::formatted(7).unwrap()), Clock::manual(NOW), Fingerprinter::new(7));
        let rules = Rules::new(settings, "bench".into());
        let at_start = live::at_start(&*storage, &rules, NOW).unwrap();
        let s = &rules.settings;
        let id = CrawlId::default();
        let scope = rules.scope(&at_start.live.settings, &rules.seeds(), []).unwrap();
        let memory = MemoryPlan::of(2 << 30, 256 << 20, 64 << 20).unwrap();
        let telemetry = Telemetry::new(&clock);
        let net = Net {
            resolver: Resolver::new(s.dns.clone()).unwrap(),
            guard: s.address_policy(Vec::new()).unwrap(),
            asking: Default::default(),
            targets: Default::default(),
        };
        let permits = Permits::new(&s.fetch, s.parse_threads(), memory);
        let reserve = Reserve::of(&s.store.data_dir, 0);
        let crawl = Crawl {
            share: None,
            id,
            orders: Orders::load(&*storage, id, &prints).unwrap(),
            seeds: Seeds::default(),
            leases: Default::default(),
            strikes: Strikes::open(&s.store.data_dir),
            shapes: Mutex::default(),
            epoch: Epoch::default(),
            progress: Progress::new(Default::default(), &clock),
            together: Default::default(),
            switches: Switches::default(),
            filter: FilterFacts { bytes: AtomicU64::new(0), opened: AtomicBool::new(false), start_sequence: 0 },
            last_stop: None,
            live: LiveCell::new(at_start.live),
            scope: RwLock::new(scope),
            rules,
        };
        let (mailboxes, [frontier, fetcher, deduper, store]) = probes(&telemetry.metrics);
        let actors = Actors { mailboxes: mailboxes.into(), ..Actors::default() };
        let node = Node {
            clock,
            storage: storage.clone(),
            prints,
            faults: Faults::default(),
            net,
            slots: Default::default(),
            fence: Default::default(),
            permits,
            disk: DiskState::default(),
            reserve,
            telemetry,
            actors,
            jobs: Arc::default(),
            #[cfg(feature = "cluster")]
            member: Default::default(),
            sinks: Vec::new(),
            #[cfg(feature = "search")]
            index: Default::default(),
            checkpoints: Arc::new(Semaphore::new(1)),
            stop: watch::Sender::new(None),
            crawl,
        };
        Self { node: Arc::new(node), storage, frontier, fetcher, deduper, store, _folder: folder }
    }

    pub fn url(&self, text: &str) -> PageUrl {
        self.node.crawl.rules.canon.parse(text).unwrap()
    }

    pub fn host(&self, name: &str) -> HostAt {
        HostAt::of(&self.node.prints, name)
    }

    pub fn key(&self, url: &PageUrl) -> SeenKey {
        SeenKey::of(&self.node.prints, self.node.crawl.id, url)
    }

    /// Queues links, as a commit would: each with its depth.
    pub fn queue(&self, links: &[(&str, u16)]) {
        let new = links.iter().map(|(url, depth)| NewUrl::link(self.url(url), *depth)).collect();
        let change = Change::Links(Box::new(LinkChange { new, ..LinkChange::default() }));
        let mut ledger = Ledger::open(&*self.storage, self.node.crawl.rules.ledger(&self.node)).unwrap();
        let mut txn = Txn::new(&*self.storage);
        ledger.apply(&mut txn, &change, NOW, &|_| false).unwrap();
        ledger.seal(&mut txn).unwrap();
        self.storage.write(&txn.into_batch()).unwrap();
    }

    /// Leases of all that is queued, in the order of the queue.
    pub fn leases(&self) -> Vec<Lease> {
        let end = lease_end(&self.node);
        let rows = read::scan::<Queue>(&*self.storage, &KeyRange::all(), 100).unwrap();
        let lease = |(key, entry): (crate::storage::keys::QueueKey, crate::storage::values::QueueEntry)| {
            let name = read::host_state(&*self.storage, key.host_crawl().host_at()).unwrap().unwrap().name;
            let url = entry.url(&name).unwrap();
            self.node.crawl.leases.lease(key, self.node.prints.url(&url), url, entry, &end)
        };
        rows.into_iter().filter_map(lease).collect()
    }
}

/// A test with an actor that was started, in a runtime as it has one.
pub fn started<A: Behavior>(mut actor: A, test: impl FnOnce(&mut A, &mut Ctx<A>)) {
    actix::System::new().block_on(async {
        let mut ctx = Ctx::new();
        actor.started(&mut ctx);
        test(&mut actor, &mut ctx);
    });
}

/// Mailboxes that nobody empties, and what Frontier, Fetcher, Deduper and Store would be told.
fn probes(metrics: &Metrics) -> (Mailboxes, [Told; 4]) {
    let (supervisor, parser) = (Mailbox::probe(metrics).0, Mailbox::probe(metrics).0);
    let (frontier, to_frontier) = Mailbox::probe(metrics);
    let (fetcher, to_fetcher) = Mailbox::probe(metrics);
    let (deduper, to_deduper) = Mailbox::probe(metrics);
    let (store, to_store) = Mailbox::probe(metrics);
    let mailboxes = Mailboxes { supervisor, frontier, fetchers: vec![fetcher], parser, deduper, store };
    (mailboxes, [to_frontier, to_fetcher, to_deduper, to_store])
}
