//! A machine that stands by takes the place of one that is lost: the real program, a real engine.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::checkpoint::{admin, assert_is_the_truth, larger, run, until_requests};
use crate::sandbox::{Daemon, Sandbox, until};
use crate::support::audit::{Manners, check_manners};
use crate::support::nats::Servers;

const LEASE: &str = "20s";

/// A web, an engine, a store, and data folders for members.
pub struct Cluster {
    pub sandbox: Sandbox,
    pub engine: Servers,
    pub store: PathBuf,
}

impl Cluster {
    /// None where no engine is installed.
    pub fn new(times: u32, servers: usize) -> Option<Self> {
        let engine = Servers::start(servers)?;
        let store = tempfile::Builder::new().prefix("lycosa-store-").tempdir().unwrap().keep();
        let settings = format!(
            "cluster.name = \"prod\"\ncluster.servers = [\"{}\"]\ncluster.store = \"{}\"\ncluster.lease = \"{LEASE}\"\n\
             cluster.checkpoint = \"1s\"\n",
            engine.urls().join("\", \""),
            store.display()
        );
        Some(Self { sandbox: larger(times, &settings), engine, store })
    }

    /// Starts a process with a folder of its own.
    pub fn start(&mut self, folder: &str, node: &str, more: &[&str]) -> Daemon {
        self.start_with(folder, node, more, None)
    }

    pub fn start_with(&mut self, folder: &str, node: &str, more: &[&str], faults: Option<&str>) -> Daemon {
        self.sandbox.move_to(folder);
        let node = format!("cluster.node={node}");
        let own = ["--until-done", "--set", &node, "--set", "politeness.min_delay=250ms"];
        self.sandbox.start(&[&own, more].concat(), faults)
    }

    fn spare(&mut self, folder: &str, node: &str) -> Daemon {
        let daemon = self.start(folder, node, &["--set", "cluster.spare=true"]);
        until_said(&daemon, "waiting for a member to be lost");
        daemon
    }

    /// Waits until the member has so many copies, and so many pages more were asked for.
    pub fn until_copied(&self, daemon: &Daemon, copies: usize) {
        let made = || (daemon.log().matches("checkpoint copied").count() >= copies).then_some(());
        until("the copies", made, || daemon.log());
        until_requests(&self.sandbox, daemon, self.sandbox.web.audit_len() + 30);
    }

    /// Everything was fetched, politely, by whoever it was; the archive is brought together.
    fn assert_whole(&mut self, folder: &str) {
        self.sandbox.move_to(folder);
        check_manners(&self.sandbox.web.audit(), &Manners::gap(Duration::from_millis(60)));
        for entry in fs::read_dir(self.store.join("n1/warc")).unwrap() {
            let path = entry.unwrap().path();
            let here = self.sandbox.data().join("warc").join(path.file_name().unwrap());
            if !here.exists() {
                fs::copy(&path, &here).unwrap();
            }
        }
        assert_is_the_truth(&self.sandbox);
    }
}

pub fn until_said(daemon: &Daemon, words: &str) {
    until(words, || daemon.log().contains(words).then_some(()), || daemon.log());
}

pub fn ended(daemon: &mut Daemon, code: i32) -> String {
    assert_eq!(daemon.wait().code(), Some(code), "{}", daemon.log());
    daemon.log()
}

/// `lycosa ctl nodes …`, asked of a process.
pub fn nodes(daemon: &Daemon, more: &[&str]) -> Value {
    let mut words: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"ctl", &"nodes"];
    words.extend(more.iter().map(|word| word as &dyn AsRef<std::ffi::OsStr>));
    let admin = admin(daemon);
    words.extend::<[&dyn AsRef<std::ffi::OsStr>; 3]>([&"--json", &"--admin", &admin]);
    if !more.is_empty() {
        return serde_json::from_str(&run(&words, None).done()).unwrap();
    }
    // Between two lives of a crawl nobody may answer for a moment.
    let answered = || Some(run(&words, None)).filter(|said| said.code == Some(0));
    serde_json::from_str(&until("an answer", answered, || daemon.log()).done()).unwrap()
}

#[test]
fn a_spare_goes_on_where_a_machine_was_lost_and_that_one_sends_nothing_more() {
    let Some(mut cluster) = Cluster::new(6, 1) else { return };
    let mut first = cluster.start("one", "n1", &[]);
    cluster.until_copied(&first, 1);
    let mut spare = cluster.spare("two", "s1");
    let seen = nodes(&spare, &[]);
    assert_eq!((&seen["nodes"][0]["name"], &seen["nodes"][0]["partitions"]), (&"n1".into(), &1024.into()), "{seen}");
    assert_eq!((&seen["nodes"][1]["name"], &seen["nodes"][1]["state"]), (&"s1".into(), &"spare".into()), "{seen}");
    first.signal(Signal::SIGSTOP); // as a machine that sleeps, or is cut off: its connections stand open
    until_said(&spare, "restored: member=n1");
    until_requests(&cluster.sandbox, &spare, cluster.sandbox.web.audit_len() + 20);
    first.signal(Signal::SIGCONT);
    let log = ended(&mut first, 2);
    assert!(log.contains("lease lost: member=n1"), "{log}");
    let log = ended(&mut spare, 0);
    assert!(log.contains("member lost, its place is taken: member=n1"), "{log}");
    cluster.assert_whole("two");
    let mut again = cluster.start("one", "n1", &[]);
    let log = ended(&mut again, 2);
    assert!(log.contains("has taken"), "{log}");
    // Another spare finds nothing to do any more.
    let mut late = cluster.start("three", "s2", &["--set", "cluster.spare=true"]);
    assert!(ended(&mut late, 0).contains("nothing to stand by for"));
}

#[test]
fn a_machine_declared_dead_is_replaced_at_once_also_when_the_spare_alone_can_be_asked() {
    let Some(mut cluster) = Cluster::new(2, 3) else { return };
    let mut first = cluster.start("one", "n1", &[]);
    cluster.until_copied(&first, 1);
    cluster.engine.kill(0); // one of three
    first.signal(Signal::SIGKILL);
    first.wait();
    let mut spare = cluster.spare("two", "s1");
    nodes(&spare, &["dead", "n1"]);
    until_said(&spare, "restored: member=n1");
    ended(&mut spare, 0);
    cluster.assert_whole("two");
}

#[test]
fn a_member_killed_and_started_again_goes_on_at_once_and_one_of_its_name_with_an_empty_disk_waits() {
    let Some(mut cluster) = Cluster::new(3, 1) else { return };
    for step in ["member.enter", "member.entered", "member.enter"] {
        let mut first = cluster.start_with("one", "n1", &[], Some(&format!("{step}=kill@1")));
        assert_eq!(first.wait().code(), None, "{step}: {}", first.log());
    }
    let mut first = cluster.start("one", "n1", &[]);
    cluster.until_copied(&first, 1);
    first.signal(Signal::SIGKILL);
    first.wait();
    let mut first = cluster.start("one", "n1", &[]);
    until_said(&first, "member enters: crawl=prod member=n1");
    assert!(!first.log().contains("waiting for the lease"), "{}", first.log());
    cluster.until_copied(&first, 1);
    first.signal(Signal::SIGKILL);
    first.wait();
    let mut second = cluster.start("two", "other", &["--as", "n1"]);
    let log = ended(&mut second, 0);
    assert!(log.contains("restored: member=n1"), "{log}");
    cluster.assert_whole("two");
}

#[test]
fn without_the_engine_the_crawl_stands_before_the_lease_is_over_and_goes_on_with_an_engine_that_lost_everything() {
    let Some(mut cluster) = Cluster::new(6, 1) else { return };
    let mut first = cluster.start("one", "n1", &[]);
    cluster.until_copied(&first, 1);
    cluster.engine.kill_all();
    let why = || {
        let said = run(&[&"ctl", &"why-idle", &"--json", &"--admin", &admin(&first)], None);
        said.text.contains("lease_over").then_some(())
    };
    until("the end of the lease", why, || first.log());
    let stood = cluster.sandbox.web.audit_len();
    for _ in 0..20 {
        run(&[&"ctl", &"status", &"--admin", &admin(&first)], None).done();
    }
    assert_eq!(cluster.sandbox.web.audit_len(), stood, "requests without a lease");
    cluster.engine.empty();
    let log = ended(&mut first, 0);
    assert!(log.contains("engine answers again"), "{log}");
    cluster.assert_whole("one");
}

/// The steps at which a spare is killed; all of them in `make soak`.
fn steps() -> Vec<&'static str> {
    let all = [
        "import.file",
        "import.piece",
        "member.take",
        "member.taken",
        "restore.staged",
        "restore.noted",
        "restore.placing",
        "restore.placed",
    ];
    let some = ["import.piece", "member.taken", "restore.placing"];
    if std::env::var_os("LYCOSA_COPY_KILLS").is_some() { all.to_vec() } else { some.to_vec() }
}

#[test]
fn a_spare_killed_at_any_step_takes_the_place_at_its_next_start() {
    let Some(mut cluster) = Cluster::new(6, 1) else { return };
    let mut member = cluster.start("first", "n1", &[]);
    for (nth, step) in steps().into_iter().enumerate() {
        cluster.until_copied(&member, 1);
        member.signal(Signal::SIGKILL);
        member.wait();
        let (folder, node) = (format!("spare-{nth}"), format!("s{nth}"));
        let is_spare = ["--set", "cluster.spare=true"];
        let mut spare = cluster.start_with(&folder, &node, &is_spare, Some(&format!("{step}=kill@1")));
        until_said(&spare, "waiting for a member to be lost");
        nodes(&spare, &["dead", "n1"]);
        assert_eq!(spare.wait().code(), None, "{step}: {}", spare.log());
        member = cluster.start(&folder, &node, &is_spare);
        // Killed when the place was its own and the folder was not, it is a spare like any other, and somebody has to say so.
        let has_begun = |log: &str| log.contains("crawl begins");
        until(
            "the place, or a wait for it",
            || (has_begun(&member.log()) || member.log().contains("waiting for a member to be lost")).then_some(()),
            || member.log(),
        );
        if !has_begun(&member.log()) {
            nodes(&member, &["dead", "n1"]);
        }
        until_said(&member, "crawl begins");
    }
    let folder = format!("spare-{}", steps().len() - 1);
    ended(&mut member, 0);
    cluster.assert_whole(&folder);
}
