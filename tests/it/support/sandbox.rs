//! A whole node in this process, on a synthetic web, and everything that must hold at its end.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use lycosa::actors::node::{Node, Stop};
use lycosa::admin::jobs::{JobState, JobView};
use lycosa::admin::orders::{HostCommand, HostOrdered, OrderHosts as _};
use lycosa::admin::{ControlError, SeedReport};
use lycosa::app::{NodeControl, NodeHosts, Parts, Placement, Running, start, status, watch};
use lycosa::cli::testweb::audit_check::fetch_counts;
use lycosa::cli::testweb::{AuditEntry, TestWeb, TestWebConfig, TruthQuery, TruthScope};
use lycosa::clock::Clock;
use lycosa::config::{Layers, Settings};
use lycosa::fault::Faults;
use lycosa::parse::MimeModules;
use lycosa::storage::{MemoryStorage, Storage};
use lycosa::telemetry::StatusSnapshot;

use super::audit::{Manners, check_manners};
use super::check::checked_as;
use super::fsck::Found;
use super::log;

/// No crawl of these tests takes so long, on however busy a machine.
const DEADLINE: Duration = Duration::from_secs(180);
const SEED: u64 = 7;

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
    gap: Duration,
    /// Counts may go back once, at the start: pages are taken out that the archive lost.
    archive_lost: bool,
    /// URLs may be fetched again, because the operator says so: counts may go back.
    again: bool,
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
            "crawl.max_depth=1000".into(),
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
        let (clock, modules) = (Clock::real(), MimeModules::default());
        let parts = Parts { storage: storage.clone(), seed: SEED, clock, faults, placement, modules };
        let running = start(self.settings(), parts).unwrap();
        let node = running.node.clone();
        let looker = Looker::start(node.clone(), self.archive_lost, self.again);
        Live { sandbox: self, node, storage, looker, running: Some(running), began: Instant::now(), forked: false }
    }

    /// Starts a node and hands in the seeds.
    pub fn start(&self) -> Live<'_> {
        let live = self.start_bare();
        let report = live.seed(&live.node.rules.settings.crawl.seeds.clone());
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

/// Looks at the counts all the time (I2).
struct Looker {
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<Result<u64, String>>>,
}

impl Looker {
    fn start(node: Arc<Node>, mut may_go_back: bool, again: bool) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let over = stop.clone();
        let look = move || {
            let mut looks = 0;
            let (mut discovered, mut finished) = (0, 0);
            loop {
                let last = over.load(Ordering::Acquire);
                let Some(s) = look_at(&node) else { continue };
                looks += 1;
                if !s.adds_up() {
                    return Err(format!("I2: a look at which the states do not add up: {s:?}"));
                }
                let back = s.discovered < discovered || s.done + s.errors < finished;
                if back && !again && !std::mem::take(&mut may_go_back) {
                    return Err(format!(
                        "I2: counts went back, discovered was {discovered}, finished {finished}: {s:?}"
                    ));
                }
                (discovered, finished) = (s.discovered, s.done + s.errors);
                if last {
                    return Ok(looks);
                }
                std::thread::sleep(Duration::from_millis(2));
            }
        };
        Self { stop, thread: Some(std::thread::spawn(look)) }
    }

    fn end(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            let said = |panic: Box<dyn std::any::Any + Send>| {
                let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
                format!("a look at the status died: {}", text.unwrap_or("without a word"))
            };
            thread.join().map_err(said).unwrap().unwrap();
        }
    }
}

/// A look at the counts; none when it met a fault that was injected into the database, which was not meant for it.
fn look_at(node: &Node) -> Option<StatusSnapshot> {
    let looked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| status(node)));
    let is_injected = |panic: &Box<dyn std::any::Any + Send>| {
        panic.downcast_ref::<String>().is_some_and(|text| text.starts_with("fault point"))
    };
    match looked {
        Ok(status) => Some(status),
        Err(panic) if is_injected(&panic) => None,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

impl Drop for Looker {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
    }
}

/// A running node.
pub struct Live<'s> {
    sandbox: &'s Sandbox,
    pub node: Arc<Node>,
    pub storage: Arc<dyn Storage>,
    looker: Looker,
    running: Option<Running>,
    began: Instant,
    forked: bool,
}

impl Live<'_> {
    pub fn control(&self) -> NodeControl {
        NodeControl(self.node.clone())
    }

    /// Hands in seeds and waits for their commit.
    pub fn seed<S: AsRef<str>>(&self, urls: &[S]) -> SeedReport {
        let urls = urls.iter().map(|u| u.as_ref().to_owned()).collect();
        self.block(NodeControl::add_seeds(self.node.clone(), urls), "seeds to be committed").unwrap()
    }

    /// Waits until the node has a reason to end.
    pub fn until_stop(&self) -> Stop {
        self.block(watch(&self.node), "the end of the crawl")
    }

    /// Does something while limits and disk are watched.
    pub fn during_watch(&self, doing: impl FnOnce()) {
        /// Ends the watch also when what is done meanwhile fails, which else would hang.
        struct Ends<'n>(&'n Node);
        impl Drop for Ends<'_> {
            fn drop(&mut self) {
                self.0.stop_with(Stop::Asked);
            }
        }
        let node = self.node.clone();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                runtime.block_on(watch(&node));
            });
            let _ends = Ends(&self.node);
            doing();
        });
    }

    /// Waits for commits until `done` holds.
    pub fn until(&self, what: &str, done: impl Fn(&StatusSnapshot) -> bool) {
        let mut committed = self.node.committed.subscribe();
        let wait = async {
            while !done(&status(&self.node)) {
                let again = Duration::from_millis(5); // not everything that is waited for comes with a commit
                let _ = tokio::time::timeout(again, committed.changed()).await;
            }
        };
        self.block(wait, what);
    }

    /// Gives a command to a host, and waits for its commit.
    pub fn order(&self, host: &str, command: HostCommand) -> Result<HostOrdered, ControlError> {
        self.block(NodeHosts(self.node.clone()).order(host.to_owned(), command), "an order to be committed")
    }

    /// Waits for the end of a job.
    pub fn until_job(&self, id: u64) -> JobView {
        let ended = async {
            loop {
                match self.node.jobs.get(id).unwrap() {
                    job if job.state != JobState::Running => return job,
                    _ => tokio::time::sleep(Duration::from_millis(2)).await,
                }
            }
        };
        self.block(ended, "the end of a job")
    }

    pub fn block<T>(&self, future: impl Future<Output = T>, what: &str) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        match runtime.block_on(async { tokio::time::timeout(DEADLINE, future).await }) {
            Ok(out) => out,
            Err(_) => panic!("waited {DEADLINE:?} for {what}\n{}", self.report()),
        }
    }

    /// Everything about it, for a failure.
    fn report(&self) -> String {
        let n = &self.node;
        let s = status(n);
        format!(
            "status: {s:?}\nidle: {}\nleases: {} pages free: {}/{} fetches free: {}\nran {:?}\nlog:\n{}",
            s.idle_reason,
            n.leases.len(),
            n.pages.available_permits(),
            n.pages_total,
            n.fetches.available_permits(),
            self.began.elapsed(),
            log::latest()
        )
    }

    /// I5: everything lent came back, though not in the same instant.
    pub fn until_all_is_back(&self) {
        let n = &self.node;
        let concurrency = n.rules.settings.fetch.concurrency;
        let began = Instant::now();
        while !(n.is_quiet()
            && n.fetches.available_permits() == concurrency
            && n.leases.is_empty()
            && n.parsing.load(Ordering::Relaxed) == 0)
        {
            assert!(began.elapsed() < DEADLINE, "I5: permits or leases are missing\n{}", self.report());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Ends a node that has nothing in flight, and checks all that must hold then.
    pub fn end(self) -> Ended {
        self.until_all_is_back();
        self.close()
    }

    /// As [`end`](Self::end), where the web's log has requests of a node that went on beyond what this one began with.
    pub fn end_after_fork(mut self) -> Ended {
        self.forked = true;
        self.end()
    }

    /// Ends it cleanly whatever is in flight, and checks all that must hold then.
    pub fn close(mut self) -> Ended {
        let clean = self.running.take().unwrap().shutdown(Duration::from_secs(60));
        assert!(clean, "not closed cleanly\n{}", self.report());
        self.ended()
    }

    /// Ends it without waiting for what is in flight, as a program that embeds it may.
    pub fn drop_at_once(mut self) -> Ended {
        drop(self.running.take());
        self.ended()
    }

    fn ended(mut self) -> Ended {
        self.looker.end();
        let found = checked_as(&*self.storage, SEED, Some(self.sandbox.data()), self.sandbox.again);
        let ended = Ended {
            entries: self.sandbox.web.audit(),
            status: status(&self.node),
            found,
            folder: self.sandbox.data().to_owned(),
            gap: self.sandbox.gap,
        };
        if !self.forked && !self.sandbox.again {
            ended.assert_nothing_committed_is_fetched_again();
        }
        self.all_actors_are_gone();
        log::assert_no_unexpected_errors();
        ended
    }

    /// Every actor and thread held the node; when it is gone, so are they.
    fn all_actors_are_gone(self) {
        let Self { node, storage, looker, running, .. } = self;
        drop((looker, running));
        let weak: Weak<Node> = Arc::downgrade(&node);
        drop(node);
        let began = Instant::now();
        while weak.strong_count() > 0 {
            assert!(began.elapsed() < Duration::from_secs(30), "{} holders of the node are left", weak.strong_count());
            std::thread::sleep(Duration::from_millis(2));
        }
        storage.close(); // here and now, so that the next node finds the folder free
    }
}

/// A node that has ended.
pub struct Ended {
    /// The web's log since its start.
    pub entries: Vec<AuditEntry>,
    pub status: StatusSnapshot,
    pub found: Found,
    folder: PathBuf,
    gap: Duration,
}

impl Ended {
    pub fn report(&self) -> String {
        format!("status: {:?}\nlog:\n{}", self.status, log::latest())
    }

    /// The URLs asked for, robots.txt apart.
    pub fn asked(&self) -> BTreeSet<String> {
        fetch_counts(&self.entries).into_keys().collect()
    }

    /// URLs asked for more than once.
    pub fn refetched(&self) -> Vec<(String, u32)> {
        fetch_counts(&self.entries).into_iter().filter(|(_, n)| *n > 1).collect()
    }

    /// The crawled set is the truth: asked for, stored, and nothing else.
    pub fn assert_is(&self, truth: &BTreeSet<String>) {
        let difference =
            |a: &BTreeSet<String>, b: &BTreeSet<String>| a.difference(b).take(10).cloned().collect::<Vec<_>>();
        let asked = self.asked();
        let (missing, extra) = (difference(truth, &asked), difference(&asked, truth));
        assert!(
            missing.is_empty() && extra.is_empty(),
            "not asked for: {missing:?}; not wanted: {extra:?}\n{}",
            self.report()
        );
        let stored = self.found.captured();
        let (missing, extra) = (difference(truth, &stored), difference(&stored, truth));
        assert!(
            missing.is_empty() && extra.is_empty(),
            "not stored: {missing:?}; stored: {extra:?}\n{}",
            self.report()
        );
        assert_eq!(self.status.waiting + self.status.processing, 0, "{}", self.report());
    }

    /// No URL was asked for twice.
    pub fn assert_none_twice(&self) {
        let twice = self.refetched();
        assert!(twice.is_empty(), "asked for more than once: {twice:?}\n{}", self.report());
    }

    /// I8: what was committed was not asked for again.
    fn assert_nothing_committed_is_fetched_again(&self) {
        let committed: HashMap<&str, u64> = self.found.lines.iter().map(|(at, url)| (url.as_str(), at.0)).collect();
        for entry in &self.entries {
            let late = committed.get(entry.url().as_str()).filter(|at| entry.t_request_us / 1_000 > **at + 1);
            assert!(late.is_none(), "{} was asked for after its commit\n{}", entry.url(), self.report());
        }
    }

    /// I1 with the sandbox's own gap.
    pub fn assert_polite(&self) {
        check_manners(&self.entries, &Manners::gap(self.gap));
    }

    /// Names of the files in a folder below the data folder, sorted.
    pub fn files_of(&self, folder: &str) -> Vec<String> {
        let names = std::fs::read_dir(self.folder.join(folder)).unwrap();
        let mut names: Vec<String> = names.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The file's bytes.
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.folder.join(name)).unwrap()
    }

    /// The file's text.
    pub fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.join(name)).unwrap()
    }
}
