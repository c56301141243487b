//! A synthetic web and a data folder, on which whole nodes run in this process.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lycosa::app::{Parts, Placement, start};

use lycosa::base::clock::Clock;
use lycosa::base::fault::Faults;
use lycosa::base::fence::Fence;
use lycosa::config::{Layers, Settings};
use lycosa::content::modules::MimeModules;
use lycosa::crawl::node::Stop;
use lycosa::storage::{MemoryStorage, Storage};
use lycosa::testweb::{TestWeb, TestWebConfig, TruthQuery, TruthScope};

use super::ended::Ended;
use super::live::Live;
use super::log;
use super::looker::Looker;

/// No crawl of these tests takes so long, on however busy a machine.
pub(super) const DEADLINE: Duration = Duration::from_secs(180);
pub(super) const SEED: u64 = 7;

/// Every host is in scope, no depth limit.
pub fn truth_any() -> TruthQuery {
    TruthQuery { scope: TruthScope::Any, ..TruthQuery::default() }
}

enum Disk {
    Memory(Arc<MemoryStorage>),
    #[cfg(feature = "rocksdb")]
    Rocks,
}

/// A synthetic web and a data folder on which nodes can be started, one after the other.
pub struct Sandbox {
    pub web: TestWeb,
    pub faults: Faults,
    folder: tempfile::TempDir,
    sets: Vec<String>,
    disk: Disk,
    placement: Placement,
    pub(super) gap: Duration,
    /// What the system's clock is off by, in milliseconds.
    clock_off: i64,
    /// Counts may go back once, at the start: pages are taken out that the archive lost.
    archive_lost: bool,
    /// URLs may be fetched again, because the operator says so: counts may go back.
    pub(super) again: bool,
}

impl Sandbox {
    /// Memory storage, each actor on a thread of its own, hosts of any name in scope, hardly any delays.
    pub fn new(web: TestWebConfig) -> Self {
        log::init();
        let web = TestWeb::start(web).unwrap();
        let folder = tempfile::Builder::new().prefix("lycosa-it-").tempdir().unwrap();
        let sets = [
            format!("dns.overrides={{\"*.test\"=\"{}\"}}", web.addr()),
            format!("store.data_dir={}", folder.path().display()),
            format!("crawl.seeds=[\"{}\"]", web.start_url()),
            "crawl.until_done=true".into(),
            "scope.mode=any".into(),
            "crawl.max_depth=none".into(),
            "politeness.min_delay=2ms".into(),
            "politeness.delay_factor=0".into(),
            "robots.error_retry=[\"1s\"]".into(),
            "fetch.retry_delays=[\"20ms\"]".into(),
            "fetch.concurrency=16".into(),
            "dedup.bloom_urls=10000".into(),
            "parse.threads=2".into(),
            "disk.pause_below=1".into(),
            "disk.reserve=0".into(),
            "admin.listen=off".into(),
        ];
        Self {
            web,
            faults: Faults::default(),
            folder,
            sets: sets.into(),
            disk: Disk::Memory(Arc::new(MemoryStorage::formatted(SEED).unwrap())),
            placement: Placement::Spread,
            gap: Duration::from_millis(2),
            clock_off: 0,
            archive_lost: false,
            again: false,
        }
    }

    /// One more setting, as on the command line.
    pub fn set(mut self, assignment: &str) -> Self {
        self.sets.push(assignment.to_owned());
        self
    }

    /// `politeness.min_delay`, which the web's log is then judged by.
    pub fn gap(mut self, gap: Duration) -> Self {
        self.gap = gap;
        self.set(&format!("politeness.min_delay={}ms", gap.as_millis()))
    }

    /// From the next start on the system's clock is so many milliseconds off.
    pub fn clock_off_by(mut self, ms: i64) -> Self {
        self.clock_off = ms;
        self
    }

    /// The archive's end was lost behind the node's back.
    pub fn archive_lost(mut self) -> Self {
        self.archive_lost = true;
        self
    }

    /// The operator will have URLs fetched again.
    pub fn fetching_again(mut self) -> Self {
        self.again = true;
        self
    }

    /// All actors on one thread.
    pub fn together(mut self) -> Self {
        self.placement = Placement::Together;
        self
    }

    /// On disk.
    #[cfg(feature = "rocksdb")]
    pub fn on_rocks(mut self) -> Self {
        self.disk = Disk::Rocks;
        self
    }

    /// The storage in memory.
    pub fn memory(&self) -> &Arc<MemoryStorage> {
        match &self.disk {
            Disk::Memory(memory) => memory,
            #[cfg(feature = "rocksdb")]
            Disk::Rocks => panic!("this sandbox is on disk"),
        }
    }

    /// Goes on with what another process would find after a kill at this moment: a copy of storage and files.
    ///
    /// The storage is copied first, so that the files hold what it knows of and more, as after a kill.
    pub fn fork(&self) -> Fork {
        let memory = self.memory().snapshot();
        let folder = tempfile::Builder::new().prefix("lycosa-it-").tempdir().unwrap();
        copy(self.folder.path(), folder.path());
        Fork { memory, folder }
    }

    /// Takes up a fork in place of its own state.
    pub fn resume(mut self, fork: Fork) -> Self {
        let data = format!("store.data_dir={}", fork.folder.path().display());
        self.disk = Disk::Memory(Arc::new(fork.memory));
        self.folder = fork.folder;
        self.set(&data)
    }

    pub fn data(&self) -> &Path {
        self.folder.path()
    }

    fn settings(&self) -> Settings {
        let layers = self.sets.iter().fold(Layers::new(), |l, s| l.set(s).unwrap_or_else(|e| panic!("{s}: {e}")));
        layers.load().unwrap()
    }

    /// Starts a node without handing in the seeds.
    pub fn start_bare(&self) -> Live<'_> {
        let storage: Arc<dyn Storage> = match &self.disk {
            Disk::Memory(memory) => memory.clone(),
            #[cfg(feature = "rocksdb")]
            Disk::Rocks => Arc::new(open_rocks(self.folder.path(), &self.faults)),
        };
        let (faults, placement) = (self.faults.clone(), self.placement);
        let (clock, modules) = (Clock::real().off_by(self.clock_off), MimeModules::default());
        let fence = Fence::default();
        let parts = Parts { storage: storage.clone(), seed: SEED, clock, faults, fence, placement, modules };
        let running = start(self.settings(), parts).unwrap();
        let node = running.node.clone();
        let looker = Looker::start(node.clone(), self.archive_lost, self.again);
        Live { sandbox: self, node, storage, looker, running: Some(running), began: Instant::now(), forked: false }
    }

    /// Starts a node and hands in the seeds.
    pub fn start(&self) -> Live<'_> {
        let live = self.start_bare();
        let report = live.seed(&live.node.crawl.rules.settings.crawl.seeds.clone());
        assert!(report.rejected.is_empty(), "{report:?}");
        live
    }

    /// A whole crawl: to its end, closed, checked.
    pub fn crawl(&self) -> Ended {
        let live = self.start();
        let stop = live.until_stop();
        let ended = live.end();
        assert_eq!(stop, Stop::Done, "{}", ended.report());
        ended
    }
}

/// What a kill left.
pub struct Fork {
    memory: MemoryStorage,
    folder: tempfile::TempDir,
}

impl Fork {
    pub fn storage(&self) -> &MemoryStorage {
        &self.memory
    }

    pub fn data(&self) -> &Path {
        self.folder.path()
    }
}

#[cfg(feature = "rocksdb")]
fn open_rocks(folder: &Path, faults: &Faults) -> lycosa::storage::RocksStorage {
    let options = lycosa::storage::RocksOptions {
        memory: 32 << 20,
        seed: Some(SEED),
        faults: faults.clone(),
        ..Default::default()
    };
    lycosa::storage::RocksStorage::open(folder, options).unwrap()
}

fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            std::fs::create_dir_all(&target).unwrap();
            copy(&entry.path(), &target);
        } else {
            // A temporary file may be gone by now, as it would be for whoever comes after a kill.
            let _ = std::fs::copy(entry.path(), target);
        }
    }
}
