//! A crawl is taken apart in its middle, both parts are crawled on, what they found for each other is carried in files, and they are put
//! together: the set of pages is the truth, and each was asked for once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Output;

use lycosa::domain::credit::SEED;
use lycosa::domain::fingerprint::CrawlId;
use lycosa::storage::values::CreditState;
use lycosa::storage::{RocksOptions, RocksStorage, read};
use lycosa::testweb::TestWebConfig;
use nix::sys::signal::Signal;
use serde_json::Value;

use crate::sandbox::{Sandbox, is_rules, lines_of, program, until};

const SETTINGS: &str = "crawl.max_depth = \"none\"\nfetch.concurrency = 16\npoliteness.min_delay = \"5ms\"\n\
    politeness.delay_factor = 0\nstore.warc_max_size = \"1MB\"\nstore.memory = \"32MiB\"\n";

/// Fault points of a split and of a merge, in their order.
const OF_SPLIT: [&str; 8] = ["noted", "begun", "rows", "files", "built", "given", "released", "cleared"];
const OF_MERGE: [&str; 6] = ["merging", "leaving", "taken", "carried", "accepted", "merged"];

fn web() -> TestWebConfig {
    TestWebConfig { hosts: 12, pages: 40, duplicates: 0.1, redirects: 0.1, latency_ms: 2, ..TestWebConfig::default() }
}

fn lycosa(sandbox: &Sandbox, arguments: &[&str], faults: Option<&str>) -> Output {
    let mut command = program();
    command.args(arguments).arg("--config").arg(sandbox.config_file()).arg("--no-progress");
    if let Some(faults) = faults {
        command.env("LYCOSA_FAULTS", faults);
    }
    command.output().unwrap()
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Does it, and expects this exit code.
fn does(sandbox: &Sandbox, arguments: &[&str], code: i32) -> String {
    let done = lycosa(sandbox, arguments, None);
    assert_eq!(done.status.code(), Some(code), "{arguments:?}: {}", text(&done));
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// Killed at each of these points in turn, and then let through.
fn does_over_kills(sandbox: &Sandbox, arguments: &[&str], points: &[&str]) -> String {
    for point in points {
        let killed = lycosa(sandbox, arguments, Some(&format!("part.{point}=kill@1")));
        assert_eq!(killed.status.code(), None, "{point}: {}", text(&killed));
    }
    does(sandbox, arguments, 0)
}

/// A crawl that was ended cleanly when about a third of it was done.
fn a_third(settings: &str) -> Sandbox {
    let mut sandbox = Sandbox::new(web(), &format!("{SETTINGS}{settings}"));
    let mut daemon = sandbox.start(&["--until-done"], None);
    let enough = sandbox.truth().len() / 3;
    until("a third", || (sandbox.web.audit_len() >= enough).then_some(()), || daemon.log());
    daemon.signal(Signal::SIGTERM);
    daemon.wait();
    sandbox
}

/// A part is crawled until nothing is left in it.
fn crawl(sandbox: &mut Sandbox, data: &str) -> String {
    sandbox.move_to(data);
    let mut daemon = sandbox.start(&["--until-done"], None);
    let status = daemon.wait();
    assert!(matches!(status.code(), Some(0 | 9)), "{data}: {status} {}", daemon.log());
    daemon.log()
}

fn of(sandbox: &Sandbox, data: &str) -> (PathBuf, String) {
    let path = sandbox.disk().join(data);
    (path.clone(), path.display().to_string())
}

fn is_clean(sandbox: &Sandbox, data: &str) {
    let (_, path) = of(sandbox, data);
    let done = program().args(["check", "--full", "--no-progress", "--data", &path]).output().unwrap();
    assert_eq!(done.status.code(), Some(0), "{data}: {}", text(&done));
}

/// What a part found for the other is carried over; gives the links in rows that were news.
fn carry(sandbox: &Sandbox, from: &str, to: &str) -> u64 {
    let ((_, from), (_, to), dir) = (of(sandbox, from), of(sandbox, to), sandbox.beside("carried"));
    let dir = dir.display().to_string();
    let written: Value =
        serde_json::from_str(&does(sandbox, &["links", "export", &from, "--to", &dir, "--json"], 0)).unwrap();
    let files: Vec<&str> = written.as_array().unwrap().iter().map(|file| file["file"].as_str().unwrap()).collect();
    let mut arguments = vec!["links", "import", &to, "--json"];
    arguments.extend(files);
    let brought: Value = serde_json::from_str(&does(sandbox, &arguments, 0)).unwrap();
    brought.as_array().unwrap().iter().map(|file| file["links"].as_u64().unwrap()).sum()
}

/// How often each page was asked for.
fn asked(sandbox: &Sandbox) -> BTreeMap<String, u32> {
    let mut asked = BTreeMap::new();
    for url in sandbox.web.audit().iter().map(|entry| entry.url()).filter(|url| !is_rules(url)) {
        *asked.entry(url).or_default() += 1;
    }
    asked
}

fn is_the_truth(sandbox: &Sandbox) {
    let asked = asked(sandbox);
    let twice: Vec<_> = asked.iter().filter(|(_, n)| **n > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
    assert_eq!(asked.into_keys().collect::<BTreeSet<_>>(), sandbox.truth());
}

fn hosts(data: &Path) -> BTreeSet<String> {
    let host = |line: &Value| line["url"].as_str().unwrap().split('/').nth(2).unwrap().to_owned();
    lines_of(data).iter().map(host).collect()
}

/// Both are crawled on, and what they found is carried to and fro, until nothing new comes.
fn apart(sandbox: &mut Sandbox) {
    for round in 0.. {
        crawl(sandbox, "data");
        crawl(sandbox, "b");
        let brought = carry(sandbox, "data", "b") + carry(sandbox, "b", "data");
        if brought == 0 {
            assert!(round > 0, "the parts found nothing for each other");
            return;
        }
        assert!(round < 20, "new links without an end");
    }
}

#[test]
fn a_crawl_taken_apart_in_its_middle_and_put_together_at_its_end_has_asked_for_each_page_once() {
    let mut sandbox = a_third("");
    let ((_, a), (b_folder, b)) = (of(&sandbox, "data"), of(&sandbox, "b"));
    let told = does(&sandbox, &["split", &a, &b], 0);
    assert!(told.contains(" is n2: ") && told.contains(" is n1: "), "{told}");
    is_clean(&sandbox, "data");
    is_clean(&sandbox, "b");
    apart(&mut sandbox);
    is_the_truth(&sandbox);
    is_clean(&sandbox, "data");
    is_clean(&sandbox, "b");
    let warcs: Vec<String> = std::fs::read_dir(b_folder.join("warc"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains(".warc"))
        .collect();
    assert!(warcs.iter().any(|name| name.contains("-n2.warc")), "{warcs:?}");
    let told = does(&sandbox, &["merge", &a, &b], 0);
    assert!(told.contains("has all of n2 now"), "{told}");
    is_clean(&sandbox, "data");
    crawl(&mut sandbox, "data");
    is_the_truth(&sandbox);
    is_clean(&sandbox, "data");
    sandbox.move_to("data");
    let done: BTreeSet<String> = sandbox.index().into_keys().filter(|url| !is_rules(url)).collect();
    assert_eq!(done, sandbox.truth(), "the archive has them all");
    sandbox.move_to("b");
    let mut refused = sandbox.start(&["--until-done"], None);
    assert_eq!(refused.wait().code(), Some(2), "{}", refused.log());
    assert!(refused.log().contains("was merged into member n1"), "{}", refused.log());
}

#[test]
fn a_split_and_a_merge_that_are_killed_at_every_step_lose_nothing_and_ask_for_nothing_twice() {
    let mut sandbox = a_third("");
    let ((_, a), (_, b)) = (of(&sandbox, "data"), of(&sandbox, "b"));
    does_over_kills(&sandbox, &["split", &a, &b], &OF_SPLIT);
    is_clean(&sandbox, "data");
    is_clean(&sandbox, "b");
    crawl(&mut sandbox, "data");
    crawl(&mut sandbox, "b");
    // What was not carried over is handed over by the merge.
    does_over_kills(&sandbox, &["merge", &a, &b], &OF_MERGE);
    is_clean(&sandbox, "data");
    let log = crawl(&mut sandbox, "data");
    assert!(log.contains("links of other members were taken in"), "{log}");
    is_the_truth(&sandbox);
    is_clean(&sandbox, "data");
}

#[test]
fn between_a_kill_and_its_repetition_neither_folder_runs() {
    let mut sandbox = a_third("");
    let ((_, a), (_, b)) = (of(&sandbox, "data"), of(&sandbox, "b"));
    let killed = lycosa(&sandbox, &["split", &a, &b], Some("part.given=kill@1"));
    assert_eq!(killed.status.code(), None);
    for data in ["data", "b"] {
        sandbox.move_to(data);
        let mut refused = sandbox.start(&["--until-done"], None);
        assert_eq!(refused.wait().code(), Some(2), "{}", refused.log());
        assert!(refused.log().contains("lycosa split"), "{}", refused.log());
    }
    let other = sandbox.disk().join("c").display().to_string();
    let elsewhere = lycosa(&sandbox, &["split", &a, &other], None);
    assert_eq!(elsewhere.status.code(), Some(2), "{}", text(&elsewhere));
    does(&sandbox, &["split", &a, &b], 0);
    assert!(hosts(&sandbox.disk().join("b")).iter().all(|host| !host.is_empty()));
}

#[test]
fn a_crawl_by_link_credit_is_taken_apart_and_put_together_to_the_unit() {
    let mut sandbox = a_third("crawl.order = \"best\"\nfrontier.credit = true\n");
    let ((_, a), (_, b)) = (of(&sandbox, "data"), of(&sandbox, "b"));
    does(&sandbox, &["split", &a, &b], 0);
    is_clean(&sandbox, "data");
    is_clean(&sandbox, "b");
    apart_with_credit(&mut sandbox);
    is_clean(&sandbox, "data");
    is_clean(&sandbox, "b");
    does(&sandbox, &["merge", &a, &b], 0);
    is_clean(&sandbox, "data");
    crawl(&mut sandbox, "data");
    is_clean(&sandbox, "data");
    is_the_truth(&sandbox);
    let storage = RocksStorage::find(&sandbox.disk().join("data"), RocksOptions::default()).unwrap().unwrap();
    let credit: CreditState = read::meta(&storage, CrawlId::default()).unwrap().unwrap();
    assert_eq!(credit.sums.issued, SEED, "what went along with links came in once");
}

/// With link credit each link is handed over, for each brings some.
fn apart_with_credit(sandbox: &mut Sandbox) {
    for _ in 0..2 {
        crawl(sandbox, "data");
        crawl(sandbox, "b");
        carry(sandbox, "data", "b");
        carry(sandbox, "b", "data");
    }
}
