//! The daemon is killed again and again and goes on each time: nothing lost, next to nothing fetched twice (M6, I1, I3, I8).
//!
//! `LYCOSA_KILLS=1000` kills so often at random moments (20 by itself), `LYCOSA_KILL_SEED=N` repeats a row of moments.

use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpListener;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lycosa::cli::testweb::audit_check::{early_requests, max_in_flight_per_host};
use lycosa::cli::testweb::{AuditEntry, TestWebConfig};
use nix::sys::signal::Signal;

use crate::sandbox::{Daemon, Sandbox, is_rules, judge_archive, program, python, until};

/// Gap between requests to a host: longer than a start takes, so that a restart that forgot it would be seen.
const GAP: Duration = Duration::from_millis(300);
/// Requests in flight; twice as many pages may be between fetch and commit.
const CONCURRENCY: usize = 16;
const HOSTS: u32 = 40;
const READ_LATE_US: u64 = GAP.as_micros() as u64 / 3;

/// No limit of depth: within a host the newest link goes first, so that a late host's pages may be found by long ways.
const SETTINGS: &str = "crawl.max_depth = 10000\nfetch.concurrency = 16\nfetch.threads = 2\npoliteness.min_delay = \"300ms\"\n\
    politeness.delay_factor = 1\ndurability.sync = \"100ms\"\nstore.warc_max_size = \"1MB\"\n\
    store.memory = \"32MiB\"\n";

/// Where the process ends itself: before and after each step of a commit, and in every other room.
const POINTS: &[&str] = &[
    "store.started=kill@1",
    "store.commit=kill@20",
    "store.group=kill@10",
    "store.archived=kill@10",
    "store.applied=kill@25",
    "store.write=kill@10",
    "store.written=kill@10",
    "store.barrier=kill@6",
    "deduper.started=kill@1",
    "deduper.inject=kill@1",
    "deduper.parsed=kill@20",
    "deduper.commit=kill@20",
    "deduper.settled=kill@10",
    "frontier.started=kill@1",
    "frontier.committed=kill@10",
    "frontier.committed.after=kill@10",
    "frontier.want=kill@45",
    "host.visit=kill@50",
    "fetcher.fetched=kill@20",
    "fetcher.hand_over=kill@20",
    "parser.page=kill@20",
];

fn web(pages: u32) -> TestWebConfig {
    let (min_size, max_size) = (8_000, 32_000);
    TestWebConfig { hosts: HOSTS, pages, min_size, max_size, latency_ms: 10, jitter_ms: 30, ..TestWebConfig::rough() }
}

/// xorshift: moments need no more.
struct Dice(u64);

impl Dice {
    fn seeded() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
        let seed = std::env::var("LYCOSA_KILL_SEED").map_or(now, |s| s.parse().unwrap());
        println!("LYCOSA_KILL_SEED={seed}");
        Self(seed | 1)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

fn now_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as u64
}

/// One life of the daemon that did not end by itself.
struct Life {
    /// What ended it.
    how: String,
    /// When, microseconds since 1970.
    end: u64,
    /// Until when its last requests were read. What was sent just before a kill may be read just after it; the next life
    /// asks nothing before its first gap.
    read: u64,
    /// Lines in `crawl.jsonl` afterwards.
    lines: usize,
}

/// Kills at a random moment: some time after the start, or some requests and a little later. Once in a while it is asked
/// to stop instead, so that there are files of a clean stop (the seen filter's) that later kills leave behind.
fn live_and_be_killed(sandbox: &mut Sandbox, dice: &mut Dice) -> Life {
    let before = sandbox.web.audit_len();
    let mut daemon = sandbox.start(&["--until-done"], None);
    let how = if dice.below(2) == 0 {
        let ms = dice.below(1_200);
        std::thread::sleep(Duration::from_millis(ms));
        format!("after {ms} ms")
    } else {
        let (requests, us) = (1 + dice.below(60) as usize, dice.below(8_000));
        let enough = |daemon: &mut Daemon| {
            (sandbox.web.audit_len() >= before + requests || daemon.ended().is_some()).then_some(())
        };
        until("requests", || enough(&mut daemon), String::new);
        std::thread::sleep(Duration::from_micros(us));
        format!("{us} us after {requests} requests")
    };
    assert!(daemon.ended().is_none(), "it ended before it was killed:\n{}", daemon.log());
    let asked = dice.below(6) == 0;
    let so_far = sandbox.web.audit_len();
    daemon.signal(if asked { Signal::SIGTERM } else { Signal::SIGKILL });
    let status = daemon.wait();
    let end = now_us();
    if asked && status.code().is_none() {
        assert_eq!(so_far, before, "a signal ends it at once only before it has begun:\n{}", daemon.log());
    } else if asked {
        assert_eq!(status.code(), Some(11), "{}", daemon.log());
        return Life { how: format!("TERM {how}"), end, read: end, lines: sandbox.lines().len() };
    }
    Life { how, end, read: end + READ_LATE_US, lines: sandbox.lines().len() }
}

/// Ends by itself at a fault point.
fn live_to_the_point(sandbox: &mut Sandbox, point: &str) -> Life {
    let mut daemon = sandbox.start(&["--until-done"], Some(point));
    let status = daemon.wait();
    let end = now_us();
    assert_eq!(status.code(), None, "{point} was not reached:\n{}", daemon.log());
    Life { how: point.to_owned(), end, read: end + READ_LATE_US, lines: sandbox.lines().len() }
}

/// What became of the requests of each life.
#[derive(Default)]
struct Row {
    requests: usize,
    /// On the wire at the kill.
    on_wire: usize,
    /// Pages asked for in this life and again in a later one.
    again: usize,
    /// The same for robots.txt.
    rules_again: usize,
}

/// Judges the whole row of lives: prints a table, gives the pages fetched more than once.
fn refetches(lives: &[Life], audit: &[AuditEntry]) -> usize {
    let life_of = |entry: &AuditEntry| lives.iter().position(|l| entry.t_request_us <= l.read).unwrap_or(lives.len());
    let mut rows: Vec<Row> = (0..=lives.len()).map(|_| Row::default()).collect();
    let mut asked: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for entry in audit {
        let life = life_of(entry);
        rows[life].requests += 1;
        rows[life].on_wire += usize::from(lives.get(life).is_some_and(|l| entry.t_end_us >= l.end || !entry.complete));
        asked.entry(entry.url()).or_default().push(life);
    }
    for (url, mut at) in asked {
        at.sort_unstable();
        for pair in at.windows(2) {
            assert!(pair[0] < pair[1], "{url} was asked for twice in life {}", pair[0] + 1);
            let row = &mut rows[pair[0]];
            *(if is_rules(&url) { &mut row.rules_again } else { &mut row.again }) += 1;
        }
    }
    println!("life  requests  on wire  pages again  robots again  lines  ended");
    for (n, row) in rows.iter().enumerate() {
        let (lines, how) = lives.get(n).map_or((0, "by itself"), |l| (l.lines, l.how.as_str()));
        let Row { requests, on_wire, again, rules_again } = row;
        println!("{:4}  {requests:8}  {on_wire:7}  {again:11}  {rules_again:12}  {lines:5}  {how}", n + 1);
    }
    for (n, row) in rows.iter().enumerate() {
        assert!(row.again <= 2 * CONCURRENCY, "more pages lost than were between fetch and commit: life {}", n + 1);
        assert!(row.rules_again <= HOSTS as usize, "robots.txt lost that were committed: life {}", n + 1);
    }
    rows.iter().map(|r| r.again).sum()
}

/// Everything that must hold when the crawl is over, however often it was killed. Gives the pages fetched more than once.
fn judge(sandbox: &Sandbox, lives: &[Life]) -> usize {
    let (truth, audit) = (sandbox.truth(), sandbox.web.audit());
    let again = refetches(lives, &audit);
    println!("{} URLs, {} lives, {} requests, {again} pages fetched again", truth.len(), lives.len() + 1, audit.len());
    let fetched: BTreeSet<String> = audit.iter().map(AuditEntry::url).filter(|u| !is_rules(u)).collect();
    for line in
        sandbox.lines().iter().filter(|l| truth.contains(l["url"].as_str().unwrap()) && l.get("status").is_none())
    {
        println!("finished without an answer: {line}");
    }
    assert_same(&fetched, &truth, "asked for");
    let early = early_requests(&audit, |_| GAP);
    assert!(early.is_empty(), "{} requests came early: {:?}", early.len(), &early[..early.len().min(5)]);
    assert!(max_in_flight_per_host(&audit).values().all(|n| *n == 1));
    judge_files(sandbox, &truth);
    again
}

/// Each URL has one line and one record, and other people's tools read them all.
fn judge_files(sandbox: &Sandbox, truth: &BTreeSet<String>) {
    let mut done = BTreeSet::new();
    for line in sandbox.lines() {
        let url = line["url"].as_str().unwrap().to_owned();
        let fetched = line.get("status").is_some();
        assert!(!fetched || truth.contains(&url), "{line}");
        assert!(done.insert((url, fetched)), "a second line: {line}");
    }
    let done: BTreeSet<String> = done.into_iter().filter(|(_, fetched)| *fetched).map(|(url, _)| url).collect();
    assert_same(&done, truth, "in crawl.jsonl");
    judge_archive_of(sandbox, truth);
}

/// Each URL has one record, each revisit its response, and other people's tools read them all.
fn judge_archive_of(sandbox: &Sandbox, truth: &BTreeSet<String>) {
    sandbox.revisits_have_responses();
    assert_eq!(sandbox.open_files(), [""; 0]);
    let index = sandbox.index();
    let twice: Vec<_> = index.iter().filter(|(url, n)| **n > 1 && !is_rules(url)).collect();
    assert!(twice.is_empty(), "recorded twice: {twice:?}");
    assert_same(&index.into_keys().filter(|u| !is_rules(u)).collect(), truth, "in the index");
    if let Some(python) = python() {
        println!("{}", judge_archive(&python, &sandbox.data().join("warc"), None));
    }
}

fn assert_same(found: &BTreeSet<String>, truth: &BTreeSet<String>, what: &str) {
    let missing: Vec<_> = truth.difference(found).take(5).collect();
    let extra: Vec<_> = found.difference(truth).take(5).collect();
    let (n, of) = (found.len(), truth.len());
    assert!(missing.is_empty() && extra.is_empty(), "{what}: {n} of {of}, missing {missing:?}, too many {extra:?}");
}

#[test]
fn killed_at_random_moments_it_loses_nothing_and_is_never_early() {
    let kills: u32 = std::env::var("LYCOSA_KILLS").map_or(20, |n| n.parse().unwrap());
    let mut dice = Dice::seeded();
    let mut sandbox = Sandbox::new(web((kills * 3 / 4).max(25)), SETTINGS);
    let lives: Vec<Life> = (0..kills).map(|_| live_and_be_killed(&mut sandbox, &mut dice)).collect();
    println!("{}", sandbox.finish());
    judge(&sandbox, &lives);
}

#[test]
fn killed_at_every_step_of_a_commit_it_loses_nothing() {
    if !cfg!(feature = "faults") {
        eprintln!("skipped: built without the feature `faults`");
        return;
    }
    let mut sandbox = Sandbox::new(web(30), SETTINGS);
    let lives: Vec<Life> = POINTS.iter().map(|point| live_to_the_point(&mut sandbox, point)).collect();
    sandbox.finish();
    judge(&sandbox, &lives);
}

/// Takes from the open WARC and its index what a loss of power may take: a random part of what was not synced.
fn lose_power(sandbox: &Sandbox, dice: &mut Dice, synced: &mut u64) -> u64 {
    let dir = sandbox.data().join("warc");
    let mut lost = 0;
    for name in sandbox.open_files() {
        let path = dir.join(&name);
        let len = path.metadata().unwrap().len();
        let floor = if name.contains(".warc.gz") { *synced } else { 0 };
        let kept = floor.min(len) + dice.below(len.saturating_sub(floor) + 1);
        std::fs::File::options().write(true).open(&path).unwrap().set_len(kept).unwrap();
        if name.contains(".warc.gz") {
            (*synced, lost) = (kept, len - kept);
        }
    }
    lost
}

#[test]
fn after_a_loss_of_power_what_had_not_reached_the_disk_is_fetched_again() {
    let mut dice = Dice::seeded();
    let mut sandbox = Sandbox::new(web(12), &SETTINGS.replace("100ms", "1h"));
    let mut synced = 0;
    for life in 1..=4 {
        let before = sandbox.web.audit_len();
        let mut daemon = sandbox.start(&["--until-done"], None);
        let mut enough = || (sandbox.web.audit_len() >= before + 80 || daemon.ended().is_some()).then_some(());
        until("requests", &mut enough, String::new);
        daemon.signal(Signal::SIGKILL);
        daemon.wait();
        println!("life {life}: {} bytes of the WARC lost", lose_power(&sandbox, &mut dice, &mut synced));
    }
    sandbox.finish();
    let audit = sandbox.web.audit();
    let early = early_requests(&audit, |_| GAP);
    assert!(early.is_empty(), "{} requests came early: {:?}", early.len(), &early[..early.len().min(5)]);
    judge_archive_of(&sandbox, &sandbox.truth());
}

/// Runs until so many requests were answered, then sends the signal; gives exit code, life and log.
fn run_and_signal(sandbox: &mut Sandbox, arguments: &[&str], signal: Signal) -> (Option<i32>, Life, String) {
    let before = sandbox.web.audit_len();
    let mut daemon = sandbox.start(arguments, None);
    until(
        "requests",
        || (sandbox.web.audit_len() >= before + 60 || daemon.ended().is_some()).then_some(()),
        String::new,
    );
    daemon.signal(signal);
    let status = daemon.wait();
    let end = now_us();
    let life = Life { how: signal.to_string(), end, read: end, lines: sandbox.lines().len() };
    (status.code(), life, daemon.log())
}

#[test]
fn a_signal_drains_it_and_another_run_goes_on() {
    let mut sandbox = Sandbox::new(web(12), SETTINGS);
    let mut lives = Vec::new();
    for (arguments, signal, code) in [
        (&["--until-done"][..], Signal::SIGTERM, 11),
        (&[], Signal::SIGTERM, 0),
        (&["--until-done"], Signal::SIGINT, 11),
    ] {
        let (ended, life, log) = run_and_signal(&mut sandbox, arguments, signal);
        lives.push(life);
        assert_eq!(ended, Some(code), "{log}");
        assert_eq!(sandbox.open_files(), [""; 0], "{log}");
        assert!(!log.contains(" ERROR ") && !log.contains(" WARN "), "{log}");
        let fetched = sandbox.web.audit().iter().filter(|e| !is_rules(&e.path)).count();
        let lines = sandbox.lines().iter().filter(|l| l.get("status").is_some()).count();
        assert_eq!(fetched, lines, "what was in flight was finished");
    }
    sandbox.finish();
    assert_eq!(judge(&sandbox, &lives), 0, "pages fetched again");
}

#[test]
fn a_second_daemon_on_the_same_folder_is_refused_and_disturbs_nothing() {
    let mut sandbox = Sandbox::new(web(5), SETTINGS);
    let mut first = sandbox.start(&["--until-done"], None);
    until("requests", || (sandbox.web.audit_len() > 10).then_some(()), || first.log());
    let mut second = sandbox.start(&["--until-done"], None);
    assert_eq!(second.wait().code(), Some(1));
    let said = second.log();
    let line = said.lines().find(|l| l.starts_with("lycosa: ")).unwrap_or_else(|| panic!("{said}"));
    assert!(line.contains(&*sandbox.data().to_string_lossy()) && line.contains("another"), "{line}");
    assert_eq!(first.wait().code(), Some(0), "{}", first.log());
    judge(&sandbox, &[]);
}

#[test]
fn a_port_in_use_is_said_so_and_the_folder_is_good_afterwards() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let mut sandbox = Sandbox::new(web(3), SETTINGS);
    let mut refused = sandbox.start(&["--until-done", "--set", &format!("admin.listen={address}")], None);
    assert_eq!(refused.wait().code(), Some(1));
    let said = refused.log();
    let line = said.lines().find(|l| l.starts_with("lycosa: ")).unwrap_or_else(|| panic!("{said}"));
    assert!(line.contains(&address) && line.contains("admin.listen"), "{line}");
    sandbox.finish();
    judge(&sandbox, &[]);
}

#[test]
fn a_folder_that_is_no_data_folder_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("thesis.txt"), "x").unwrap();
    let mut command = program();
    command.args(["run", "--seed", "http://h0.test/", "--data"]).arg(folder.path());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains(&*folder.path().to_string_lossy()));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
