//! Several members crawl one web: the real program, a real engine, the web's log of requests as the judge.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::checkpoint::{Said, admin, run};
use crate::sandbox::{Daemon, until};
use crate::standby::{Cluster, ended, nodes, until_said};
use crate::support::audit::{Manners, check_manners};
use crate::support::fsck::fsck;
use lycosa::storage::values::Format;
use lycosa::storage::{RocksOptions, RocksStorage, read};

/// The gap of `Cluster`'s members, less what a move or restart may not shorten it by.
const GAP: Duration = Duration::from_millis(60);

/// How many partitions a member has, and how many are on their way to or from it, as another one sees it.
fn part(seen: &Value, name: &str) -> (u64, u64) {
    let node = seen["nodes"].as_array().unwrap().iter().find(|node| node["name"] == name);
    let of = |key: &str| node.and_then(|node| node[key].as_u64()).unwrap_or_default();
    (of("partitions"), of("going") + of("coming"))
}

/// Waits until nothing moves any more and each of these members has about its part.
fn until_shared(daemon: &Daemon, names: &[&str]) {
    let shared = || {
        let seen = nodes(daemon, &[]);
        let most = 1_024 * 11 / 10 / names.len() as u64;
        names.iter().all(|name| matches!(part(&seen, name), (has, 0) if has > 0 && has <= most)).then_some(())
    };
    until("partitions shared out", shared, || format!("{}\n{}", nodes(daemon, &[]), daemon.log()));
}

/// What is in the database of a folder; what it has of others is nowhere.
fn captured(cluster: &mut Cluster, folder: &str) -> BTreeSet<String> {
    cluster.sandbox.move_to(folder);
    let data = cluster.sandbox.data();
    let storage = RocksStorage::open(&data, RocksOptions { memory: 32 << 20, ..RocksOptions::default() }).unwrap();
    let seed = read::meta::<Format>(&storage, ()).unwrap().unwrap().seed;
    fsck(&storage, seed, None).captured()
}

/// The pages of all folders together are the truth, and none is in two.
fn assert_whole(cluster: &mut Cluster, folders: &[&str]) {
    check_manners(&cluster.sandbox.web.audit(), &Manners::gap(GAP));
    let (mut all, truth) = (BTreeSet::new(), cluster.sandbox.truth());
    for folder in folders {
        for url in captured(cluster, folder) {
            assert!(all.insert(url.clone()), "{url} is in two folders");
        }
    }
    let missing: Vec<_> = truth.difference(&all).take(5).collect();
    assert!(missing.is_empty(), "{} of {} are missing: {missing:?}", truth.len() - all.len(), truth.len());
    assert_eq!(all, truth);
}

/// Pages that were asked for more than once, and were answered.
fn fetched_again(cluster: &Cluster) -> usize {
    let mut asked = BTreeMap::<(String, String), usize>::new();
    for entry in cluster.sandbox.web.audit().iter().filter(|entry| entry.complete && entry.path != "/robots.txt") {
        *asked.entry((entry.host.clone(), entry.path.clone())).or_default() += 1;
    }
    asked.values().filter(|times| **times > 1).count()
}

#[test]
fn three_members_share_a_crawl_and_nothing_is_lost_or_fetched_twice() {
    let Some(mut cluster) = Cluster::new(8, 1) else { return };
    let mut first = cluster.start("one", "n1", &[]);
    until_said(&first, "crawl begins");
    let mut second = cluster.start("two", "n2", &[]);
    let mut third = cluster.start("three", "n3", &[]);
    until_shared(&third, &["n1", "n2", "n3"]);
    let seen = [&first, &second, &third].map(|daemon| nodes(daemon, &[]));
    let parts = |seen: &Value| ["n1", "n2", "n3"].map(|name| part(seen, name).0);
    assert_eq!(parts(&seen[0]).iter().sum::<u64>(), 1_024, "{}", seen[0]);
    assert!(parts(&seen[0]) == parts(&seen[1]) && parts(&seen[1]) == parts(&seen[2]));
    for daemon in [&mut first, &mut second, &mut third] {
        ended(daemon, 0);
    }
    assert_whole(&mut cluster, &["one", "two", "three"]);
    let again = fetched_again(&cluster);
    assert!(again == 0, "{again} pages were fetched twice");
    for folder in ["two", "three"] {
        assert!(captured(&mut cluster, folder).len() > 20, "{folder} had nothing to do");
    }
}

#[test]
fn members_that_are_killed_come_back_and_the_end_waits_for_them() {
    let Some(mut cluster) = Cluster::new(8, 1) else { return };
    let mut first = cluster.start("one", "n1", &[]);
    until_said(&first, "crawl begins");
    let mut second = cluster.start("two", "n2", &[]);
    until_shared(&second, &["n1", "n2"]);
    second.signal(Signal::SIGKILL);
    second.wait();
    let waits = || {
        let said = run(&[&"ctl", &"why-idle", &"--json", &"--admin", &admin(&first)], None);
        said.text.contains("waits_for_members").then_some(())
    };
    until("a wait for the other member", waits, || first.log());
    let mut second = cluster.start("two", "n2", &[]);
    until_said(&second, "crawl begins");
    first.signal(Signal::SIGKILL);
    first.wait();
    let mut first = cluster.start("one", "n1", &[]);
    ended(&mut first, 0);
    ended(&mut second, 0);
    assert_whole(&mut cluster, &["one", "two"]);
}

#[test]
fn a_member_that_leaves_gives_everything_away_and_its_process_ends() {
    let Some(mut cluster) = Cluster::new(8, 1) else { return };
    let mut first = cluster.start("one", "n1", &[]);
    until_said(&first, "crawl begins");
    let mut second = cluster.start("two", "n2", &[]);
    until_shared(&second, &["n1", "n2"]);
    nodes(&first, &["leave", "n1"]);
    let log = ended(&mut first, 0);
    assert!(log.contains("member leaves: member=n1"), "{log}");
    assert_eq!(part(&nodes(&second, &[]), "n2"), (1_024, 0));
    ended(&mut second, 0);
    assert_whole(&mut cluster, &["two"]);
}

#[test]
fn a_member_whose_disk_is_lost_is_replaced_and_no_url_is_lost() {
    let Some(mut cluster) = Cluster::new(8, 1) else { return };
    let mut first = cluster.start("one", "n1", &[]);
    until_said(&first, "crawl begins");
    let mut second = cluster.start("two", "n2", &[]);
    until_shared(&second, &["n1", "n2"]);
    cluster.until_copied(&second, 2);
    second.signal(Signal::SIGKILL);
    second.wait();
    nodes(&first, &["dead", "n2"]);
    let mut again = cluster.start("three", "other", &["--as", "n2"]);
    until_said(&again, "restored: member=n2");
    ended(&mut again, 0);
    ended(&mut first, 0);
    assert_whole(&mut cluster, &["one", "three"]);
}

#[test]
fn an_engine_that_loses_everything_gets_the_newest_map_back_and_nothing_is_lost() {
    let Some(mut cluster) = Cluster::new(8, 1) else { return };
    let mut first = cluster.start("one", "n1", &[]);
    until_said(&first, "crawl begins");
    let mut second = cluster.start("two", "n2", &[]);
    until_shared(&second, &["n1", "n2"]);
    cluster.engine.kill_all();
    cluster.engine.empty();
    let back =
        || [&first, &second].iter().any(|daemon| daemon.log().contains("the newest copy is put back")).then_some(());
    until("the map put back", back, || first.log() + &second.log());
    ended(&mut first, 0);
    ended(&mut second, 0);
    assert_whole(&mut cluster, &["one", "two"]);
    assert_eq!(fetched_again(&cluster), 0);
}

/// What a command says at each of these members, which must be the same.
fn said_by_all(members: &[&Daemon], command: &[&str]) -> String {
    let mut said = members.iter().map(|daemon| {
        let at = admin(daemon);
        let mut words: Vec<&dyn AsRef<OsStr>> = vec![&"ctl"];
        words.extend(command.iter().map(|word| word as &dyn AsRef<OsStr>));
        words.extend::<[&dyn AsRef<OsStr>; 2]>([&"--admin", &at]);
        // Between two lives of a crawl nobody may answer for a moment, and the others are answered without it.
        let rests = |said: &Said| {
            said.text.contains("waits for partitions")
                || said.text.contains("not answer")
                || said.text.contains("nobody answers")
        };
        let answered = || Some(run(&words, None)).filter(|said| !rests(said));
        until("an answer", answered, || daemon.log()).done()
    });
    let first = said.next().unwrap();
    said.for_each(|other| assert_eq!(other, first, "{command:?}"));
    first
}

/// The status that a member tells, of all or of the one that is named.
fn status_of(daemon: &Daemon, node: &[&str]) -> Value {
    serde_json::from_str(&said_by_all(&[daemon], &[&["status", "--json"], node].concat())).unwrap()
}

#[test]
fn whichever_member_is_asked_answers_for_all_of_them() {
    let Some(mut cluster) = Cluster::new(8, 1) else { return };
    let mut first = cluster.start("one", "n1", &[]);
    until_said(&first, "crawl begins");
    let mut second = cluster.start("two", "n2", &[]);
    let mut third = cluster.start("three", "n3", &[]);
    until_shared(&third, &["n1", "n2", "n3"]);
    let all = [&first, &second, &third];
    // An order for all, whoever is asked: nothing changes any more.
    said_by_all(&[&second], &["pause"]);
    let still = || all.iter().all(|daemon| status_of(daemon, &[])["in_flight"] == 0).then_some(());
    until("no request in flight", still, || status_of(&first, &[]).to_string());
    let own = |daemon: &Daemon, name: &str| status_of(daemon, &["--node", name]);
    let of_all = status_of(&third, &[]);
    for field in ["discovered", "waiting", "done", "pages_stored"] {
        let parts: u64 = ["n1", "n2", "n3"].iter().map(|name| own(&first, name)[field].as_u64().unwrap()).sum();
        assert_eq!(of_all[field].as_u64().unwrap(), parts, "{field}");
    }
    assert_eq!(of_all["state"], "paused");
    let mut members: Vec<&str> = of_all["members"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    members.sort_unstable(); // the one that is asked is named first
    assert_eq!(members, ["n1", "n2", "n3"]);
    // Lists, member after member, a page at a time. Where a host stands changes still.
    let names = |text: &str| -> BTreeSet<String> {
        let page: Value = serde_json::from_str(text).unwrap();
        page["items"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
    };
    let hosts = said_by_all(&[&first], &["hosts", "--json"]);
    assert!(names(&hosts).len() > 4, "{hosts}");
    for daemon in &all {
        assert_eq!(names(&said_by_all(&[daemon], &["hosts", "--json"])), names(&hosts));
    }
    let (mut paged, mut cursor) = (BTreeSet::new(), None::<String>);
    loop {
        let mut command = vec!["hosts", "--limit", "1", "--json"];
        command.extend(cursor.iter().flat_map(|cursor| ["--cursor", cursor.as_str()]));
        let page = said_by_all(&[&third], &command);
        assert!(names(&page).iter().all(|name| paged.insert(name.clone())), "{page} again");
        let page: Value = serde_json::from_str(&page).unwrap();
        let Some(next) = page["next"].as_str() else { break };
        cursor = Some(next.to_owned());
    }
    assert_eq!(paged, names(&hosts));
    for command in [
        &["report", "statuses"][..],
        &["report", "types"],
        &["report", "seeds"],
        &["urls", "rejected", "--json"],
        &["urls", "failed", "--json"],
    ] {
        said_by_all(&all, command);
    }
    // What is of a host, by its owner; an order to it as well.
    for host in names(&hosts).iter().take(4) {
        said_by_all(&[&first], &["host", host, "pause"]);
        for daemon in &all {
            let told = said_by_all(&[daemon], &["host", host]);
            assert!(told.contains("paused"), "{told}");
            let why = said_by_all(&[daemon], &["explain", &format!("http://{host}/")]);
            assert!(why.contains(host.as_str()) && !why.contains("belongs to member"), "{why}");
        }
        said_by_all(&[&second], &["host", host, "resume"]);
    }
    // Settings hold for all, also for one that was away.
    third.signal(Signal::SIGKILL);
    third.wait();
    let set = run(&[&"ctl", &"set", &"crawl.max_pages=100000", &"--admin", &admin(&second)], None).done();
    assert!(set.contains("note: n3 did not answer"), "{set}");
    let setting = |daemon: &Daemon| {
        let all: Value = serde_json::from_str(&said_by_all(&[daemon], &["settings", "--json"])).unwrap();
        all["settings"].as_array().unwrap().iter().find(|row| row["key"] == "crawl.max_pages").unwrap()["value"].clone()
    };
    assert_eq!([setting(&first), setting(&second)], [100_000, 100_000]);
    let third_again = cluster.start("three", "n3", &[]);
    let has = || (setting(&third_again) == 100_000).then_some(());
    until("the setting at the one that was away", has, || third_again.log());
    said_by_all(&[&first], &["undo"]);
    assert_ne!(setting(&second), 100_000);
    assert_ne!(setting(&third_again), 100_000);
    let mut third = third_again;
    said_by_all(&[&third], &["resume"]);
    for daemon in [&mut first, &mut second, &mut third] {
        ended(daemon, 0);
    }
    assert_whole(&mut cluster, &["one", "two", "three"]);
}
