//! What a node is made of: settings and storage in, the shared part of all actors out.

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use tokio::sync::{Semaphore, watch as channel};

use super::{Parts, Placement, StartError, memory_plan, pause, time};
use crate::base::clock::Clock;
use crate::base::disk::{DiskState, Reserve};
use crate::base::fault::Faults;
use crate::base::fence::Fence;
use crate::base::time::UnixMillis;
use crate::config::Settings;
use crate::content::modules::MimeModules;
use crate::crawl::asking::Asking;
use crate::crawl::lease::LeaseTable;
use crate::crawl::live::{self, Live, LiveCell};
use crate::crawl::node::{Actors, Net, Node, Permits, Telemetry};
use crate::crawl::orders::Orders;
use crate::crawl::politeness::Targets;
use crate::crawl::rules::Rules;
use crate::crawl::seeds::Seeds;
use crate::crawl::slot::Slots;
use crate::crawl::state::{Crawl, Epoch, FilterFacts, Progress, Switches};
use crate::crawl::strikes::Strikes;
use crate::domain::fingerprint::{CrawlId, Fingerprinter};
use crate::net::dns::Resolver;
use crate::sink::Served;
use crate::storage::ledger::counters;
use crate::storage::share::Share;
use crate::storage::txn::Txn;
use crate::storage::values::{CardSettings, ClockState, Format, RunState};
use crate::storage::{Storage, read};

pub(super) fn build(settings: Settings, parts: &Parts) -> Result<Node, StartError> {
    let io = |doing: String| move |source| StartError::Io { doing, source };
    let spill = settings.store.data_dir.join("spill");
    std::fs::create_dir_all(&spill).map_err(io(format!("making the folder {}", spill.display())))?;
    let host_name = nix::unistd::gethostname().ok().and_then(|n| n.into_string().ok()).unwrap_or_default();
    // Files of the archive are told apart by who wrote them: a member by its name.
    let part = Share::load(&*parts.storage)?.map(|share| share.name());
    let host_name = match part {
        _ if settings.is_member() => settings.member(),
        Some(name) => name,
        None if host_name.is_empty() => "localhost".to_owned(),
        None => host_name,
    };
    let rules = Rules::new(settings, host_name).reading(parts.modules.clone()).knowing(&*parts.storage)?;
    time::take_up(&*parts.storage, &parts.clock)?;
    let at_start = live::at_start(&*parts.storage, &rules, parts.clock.date())?;
    let start_sequence = parts.storage.sequence();
    let last_stop = begin_run(&*parts.storage, &parts.clock, &rules, &at_start)?;
    let (strikes, paused) = (Strikes::open(&rules.settings.store.data_dir), paused(&rules.settings));
    made(rules, parts, at_start.live, Begun { start_sequence, last_stop, strikes, paused })
}

/// The node of a crawl that is at rest, or of none: what a crawl left can be looked at with it, by the rules that it had or by others.
/// Nothing is started and nothing is written; `storage` may be one that cannot be written.
///
/// # Errors
/// [`StartError`]: settings or a database that make no node.
pub fn at_rest(settings: Settings, storage: Arc<dyn Storage>) -> Result<Node, StartError> {
    let seed = read::meta::<Format>(&*storage, ())?.map_or(0, |format| format.seed);
    let parts = Parts {
        storage,
        seed,
        clock: Clock::real(),
        faults: Faults::default(),
        fence: Fence::default(),
        placement: Placement::Together,
        modules: MimeModules::default(),
    };
    let rules = Rules::new(settings, String::new()).knowing(&*parts.storage)?;
    let at_start = live::at_start(&*parts.storage, &rules, parts.clock.date())?;
    made(rules, &parts, at_start.live, Begun::default())
}

/// How a run has begun.
#[derive(Default)]
struct Begun {
    start_sequence: u64,
    last_stop: Option<UnixMillis>,
    strikes: Strikes,
    paused: bool,
}

fn made(rules: Rules, parts: &Parts, live: Live, begun: Begun) -> Result<Node, StartError> {
    let (id, prints) = (CrawlId::default(), Fingerprinter::new(parts.seed));
    let joined = read::joined_hosts(&*parts.storage, id)?;
    let scope = rules.scope(&live.settings, &rules.seeds(), joined.iter().map(String::as_str))?;
    let s = &rules.settings;
    s.learn_words()?;
    let net = Net {
        resolver: Resolver::new(s.dns.clone())?,
        guard: s.address_policy(s.admin_listen.into_iter().collect())?,
        asking: Asking::default(),
        targets: Targets::default(),
    };
    let permits = Permits::new(&s.fetch, s.parse_threads(), memory_plan(s)?);
    let reserve = Reserve::of(&s.store.data_dir, s.disk.reserve);
    let Begun { start_sequence, last_stop, strikes, paused } = begun;
    let sinks = s.sink.iter().map(|section| Served::of(section, &s.store.data_dir)).collect();
    let crawl = Crawl {
        id,
        orders: Orders::load(&*parts.storage, id, &prints)?,
        share: Share::load(&*parts.storage)?.map(Arc::new),
        seeds: Seeds::default(),
        leases: LeaseTable::default(),
        strikes,
        shapes: Mutex::default(),
        epoch: Epoch::default(),
        progress: Progress::new(counters(&*parts.storage, id)?, &parts.clock),
        together: Default::default(),
        switches: Switches { paused: AtomicBool::new(paused), ..Switches::default() },
        filter: FilterFacts { bytes: AtomicU64::new(0), opened: AtomicBool::new(false), start_sequence },
        last_stop,
        live: LiveCell::new(live),
        scope: RwLock::new(scope),
        rules,
    };
    Ok(Node {
        clock: parts.clock.clone(),
        storage: parts.storage.clone(),
        prints,
        faults: parts.faults.clone(),
        net,
        slots: Slots::default(),
        fence: parts.fence.clone(),
        permits,
        disk: DiskState::default(),
        reserve,
        telemetry: Telemetry::new(&parts.clock),
        actors: Actors::default(),
        jobs: Arc::default(),
        #[cfg(feature = "cluster")]
        member: std::sync::OnceLock::new(),
        #[cfg(feature = "search")]
        index: crate::index::Served::default(),
        sinks,
        checkpoints: Arc::new(Semaphore::new(1)),
        stop: channel::Sender::new(None),
        crawl,
    })
}

/// After a kill its servers may be busy for so much longer with what the process had on the wire: the next start follows at
/// once, and a gap counts from the end of an answer at its server.
const LINGER: Duration = Duration::from_millis(250);

/// Marks the run as begun; gives by when the former run had surely ended.
fn begin_run(
    storage: &dyn Storage,
    clock: &Clock,
    rules: &Rules,
    at_start: &live::AtStart,
) -> Result<Option<UnixMillis>, StartError> {
    let former: Option<RunState> = read::meta(storage, ())?;
    let now = clock.now();
    let unclean = former.as_ref().is_some_and(|r| !r.clean);
    let said = former.as_ref().and_then(|r| r.last_stop).map(|stop| stop.min(now)); // a clock may have gone back
    let last_stop = if unclean { Some(now.plus(LINGER)) } else { said };
    let runs = former.as_ref().map_or(0, |r| r.runs).saturating_add(1);
    let run = RunState {
        clean: false,
        started: clock.date(),
        last_stop,
        node: rules.host_name.clone(),
        runs,
        rules: at_start.live.generation,
        rules_digest: at_start.digest,
    };
    let mut txn = Txn::new(storage);
    txn.put_meta((), &run);
    txn.put_meta((), &ClockState { crawl: now, date: clock.date(), boot: clock.since_boot() });
    if let Some(record) = &at_start.record {
        txn.put_meta((), record);
    }
    let cards = CardSettings {
        keywords: rules.settings.index.keywords.as_str().to_owned(),
        dictionary: rules.settings.dictionary()?.unwrap_or_default(),
    };
    if read::meta::<CardSettings>(storage, ())?.as_ref() != Some(&cards) {
        txn.put_meta((), &cards);
    }
    storage.write(&txn.into_batch())?;
    storage.sync()?; // or a power failure would bring the clean stop of an earlier run back
    if unclean {
        log::warn!("the former run did not end cleanly; every host first waits one full delay");
    }
    Ok(last_stop)
}

/// Whether the operator's pause of a former run stands.
fn paused(settings: &Settings) -> bool {
    let paused = pause::stands(&settings.store.data_dir);
    if paused {
        log::warn!("paused by the operator before this start; go on with `lycosa ctl resume`");
    }
    paused
}
