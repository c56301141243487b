//! The feed of the real daemon: followed while it is killed, put back to a checkpoint, read under a name, kept for whoever holds (I10).

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use lycosa::testweb::TestWebConfig;
use nix::sys::signal::Signal;
use serde_json::Value;

use crate::admin::Running;
use crate::checkpoint::{ask, assert_is_the_truth, larger, on, sandbox, until_requests};
use crate::sandbox::{Sandbox, program, scale, until};
use crate::site::{Site, none, page};

fn json(answer: &(u16, String)) -> Value {
    serde_json::from_str(&answer.1).unwrap_or_else(|e| panic!("{e}: {answer:?}"))
}

/// Somebody who follows the feed: where it is, what it has read, with the number of each.
#[derive(Clone, Default)]
struct Follower {
    log: String,
    after: u64,
    pages: Vec<(u64, String)>,
}

impl Follower {
    /// Takes one page of the feed; true when something came.
    fn read(&mut self, crawl: &Running, wait: u64) -> bool {
        let log = if self.log.is_empty() { String::new() } else { format!("&log={}", self.log) };
        let path = format!("/api/v1/feed?after={}&limit=7&wait={wait}{log}", self.after);
        // Right after a start it is not taken up yet.
        let taken_up = || Some(crawl.get(&path)).filter(|answer| answer.0 != 503);
        let answer = until("the feed", taken_up, || crawl.daemon.log());
        assert_eq!(answer.0, 200, "{answer:?}");
        let page = json(&answer);
        self.log = page["log"].as_str().unwrap().to_owned();
        for item in page["items"].as_array().unwrap() {
            let number = item["seq"].as_u64().unwrap();
            assert!(number > self.pages.last().map_or(0, |(last, _)| *last), "{page}");
            self.pages.push((number, item["url"].as_str().unwrap().to_owned()));
        }
        let before = std::mem::replace(&mut self.after, page["next"].as_u64().unwrap());
        self.after > before
    }

    fn urls(&self) -> BTreeSet<String> {
        self.pages.iter().map(|(_, url)| url.clone()).collect()
    }
}

/// Somebody who follows and dies again and again: what was not noted is read once more.
#[derive(Default)]
struct Mortal {
    now: Follower,
    noted: Follower,
    told: BTreeMap<u64, String>,
    reads: u32,
    deaths: u32,
}

impl Mortal {
    fn read(&mut self, crawl: &Running) {
        self.now.read(crawl, 5);
        for (number, url) in &self.now.pages[self.noted.pages.len()..] {
            let before = self.told.insert(*number, url.clone());
            assert!(before.is_none_or(|before| before == *url), "entry {number} was of another page before: {url}");
        }
        self.reads += 1;
        match self.reads % 3 {
            1 => self.noted = self.now.clone(),
            0 => {
                self.now = self.noted.clone();
                self.deaths += 1;
            }
            _ => {}
        }
    }
}

#[test]
fn who_follows_a_crawl_that_is_killed_again_and_again_reads_every_page_once_and_no_number_is_missing() {
    let mut sandbox = larger(scale(), "");
    let mut reader = Mortal::default();
    for _ in 0..3 * scale() {
        let mut crawl = Running::start(&mut sandbox, &[]);
        let until_there = reader.now.pages.len() + 40;
        while reader.now.pages.len() < until_there {
            reader.read(&crawl);
        }
        crawl.daemon.signal(Signal::SIGKILL);
        crawl.daemon.wait();
    }
    let crawl = Running::start(&mut sandbox, &[]);
    let truth = sandbox.truth();
    while reader.now.urls().len() < truth.len() {
        reader.read(&crawl);
    }
    let (follower, deaths) = (reader.now, reader.deaths);
    assert!(deaths >= 5 * scale(), "{deaths} deaths of the reader");
    println!("{} kills of the daemon, {deaths} deaths of the reader, {} pages", 3 * scale(), truth.len());
    assert_eq!(follower.urls(), truth);
    let numbers: Vec<u64> = follower.pages.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, (1..=truth.len() as u64).collect::<Vec<_>>(), "each page once, no number left out");
    assert_eq!(crawl.ctl(&["stop"]).0, 0);
    crawl.end();
    assert_is_the_truth(&sandbox);
}

#[test]
fn after_a_checkpoint_is_put_back_it_is_another_feed_and_who_goes_on_where_both_agree_misses_nothing() {
    let mut sandbox = sandbox("");
    let mut crawl = Running::start(&mut sandbox, &[]);
    let mut follower = Follower::default();
    until_requests(&sandbox, &crawl.daemon, 60);
    let name = ask(&crawl.daemon);
    until_requests(&sandbox, &crawl.daemon, sandbox.web.audit_len() + 60);
    while follower.pages.len() < 90 {
        follower.read(&crawl, 5);
    }
    crawl.daemon.signal(Signal::SIGKILL);
    crawl.daemon.wait();
    on(&sandbox.data(), &[&"restore", &name, &"--force"]).done();

    let crawl = Running::start(&mut sandbox, &[]);
    let path = format!("/api/v1/feed?after={}&log={}", follower.after, follower.log);
    let refused = until("the feed", || Some(crawl.get(&path)).filter(|answer| answer.0 != 503), || crawl.daemon.log());
    let told = json(&refused);
    let common = told["common"].as_u64().unwrap();
    assert!(refused.0 == 409 && common > 0 && common < follower.after, "{refused:?}");
    assert_ne!(told["log"], follower.log);
    let known = follower.after;
    let mut again = Follower { log: told["log"].as_str().unwrap().to_owned(), after: common, pages: Vec::new() };
    let kept = follower.pages.iter().filter(|(number, _)| *number <= common).map(|(_, url)| url.clone());
    let kept: BTreeSet<String> = kept.collect();
    let truth = sandbox.truth();
    while kept.union(&again.urls()).count() < truth.len() {
        again.read(&crawl, 5);
    }
    assert_eq!(kept.union(&again.urls()).cloned().collect::<BTreeSet<_>>(), truth);
    assert_eq!(kept.intersection(&again.urls()).count(), 0, "nothing is told twice of what both have");
    let least = again.pages.first().unwrap().0;
    assert!(least > known, "the number {least} was somebody else's: {known} were shown");
    assert_eq!(crawl.ctl(&["stop"]).0, 0);
    crawl.end();
}

#[test]
fn a_reader_has_a_name_says_how_far_it_is_over_kills_and_is_told_what_is_wrong() {
    let mut sandbox = sandbox("");
    let mut crawl = Running::start(&mut sandbox, &[]);
    let mut follower = Follower::default();
    while follower.pages.len() < 30 {
        follower.read(&crawl, 5);
    }
    let (code, told) = crawl.ctl(&["feed", "acknowledge", "backup", "30", "--log", &follower.log, "--hold"]);
    assert!(code == 0 && told.starts_with("backup has read up to 30; "), "{told}");
    crawl.daemon.signal(Signal::SIGKILL);
    crawl.daemon.wait();

    let crawl = Running::start(&mut sandbox, &[]);
    let taken_up = || Some(crawl.ctl(&["feed", "consumers"])).filter(|(code, _)| *code == 0);
    let (_, listed) = until("the feed", taken_up, || crawl.daemon.log());
    assert!(listed.contains(&format!("feed {}, entries 1 to ", follower.log)), "{listed}");
    assert!(listed.contains("\nbackup          30 "), "{listed}");
    let at = "/api/v1/feed/consumers/backup";
    let said = json(&crawl.get(at));
    assert_eq!((said["after"].as_u64(), said["hold"].as_bool()), (Some(30), Some(true)), "{said}");
    for (path, status, why) in [
        ("/api/v1/feed?after=1&log=00000000000000ff", 409, "go on with after=0"),
        ("/api/v1/feed?after=999999", 409, "is of another: the crawl was put back"),
        ("/api/v1/feed?log=x", 400, "expected `log` of a page of the feed"),
        ("/api/v1/feed?kind=first,last", 400, "kind=last: expected some of first, changed,"),
        ("/api/v1/feed?limit=1001", 400, "expected 1 to 1000"),
        ("/api/v1/feed?wait=61", 400, "expected 0 to 60"),
        ("/api/v1/feed/consumers/nobody", 404, "there are: backup"),
    ] {
        let answer = crawl.get(path);
        assert!(answer.0 == status && answer.1.contains(why), "{path}: {answer:?}");
    }
    let (code, told) = crawl.ctl(&["feed", "acknowledge", "Bad name", "1"]);
    assert!(code == 2 && told.contains("\"Bad name\" is no name: expected 1 to 64 of a-z"), "{told}");
    let (code, told) = crawl.ctl(&["feed", "acknowledge", "backup", "99999"]);
    assert!(code == 1 && told.contains("whose entries end at"), "{told}");
    assert_eq!(crawl.ctl(&["feed", "forget", "backup"]).0, 0);
    assert_eq!(crawl.get(at).0, 404);
    assert_eq!(crawl.ctl(&["stop"]).0, 0);
    crawl.end();
}

#[test]
fn lines_and_pages_say_the_same_of_each_page_and_both_can_be_narrowed() {
    let mut sandbox = sandbox("");
    let crawl = Running::start(&mut sandbox, &[]);
    let truth = sandbox.truth();
    let high = || json(&crawl.get("/api/v1/feed?limit=1"))["high"].as_u64();
    until("the end of the crawl", || (high() >= Some(truth.len() as u64)).then_some(()), || crawl.daemon.log());
    let (_, lines) = crawl.get("/api/v1/feed?format=ndjson");
    let lines: Vec<Value> =
        lines.lines().filter(|l| l.starts_with('{')).map(|l| serde_json::from_str(l).unwrap()).collect();
    let page = json(&crawl.get("/api/v1/feed?limit=1000"));
    assert_eq!(page["items"].as_array().unwrap(), &lines);
    assert_eq!(lines.len(), truth.len());
    let host = lines[0]["url"].as_str().unwrap().split('/').nth(2).unwrap().to_owned();
    let of_host = |item: &&Value| item["url"].as_str().unwrap().split('/').nth(2) == Some(&host);
    let name = host.split(':').next().unwrap();
    let narrowed = json(&crawl.get(&format!("/api/v1/feed?limit=1000&host={name}&kind=first")));
    let expected: Vec<Value> = lines.iter().filter(of_host).filter(|item| item["kind"] == "first").cloned().collect();
    assert!(!expected.is_empty() && expected.len() < lines.len(), "{expected:?}");
    assert_eq!(narrowed["items"], Value::Array(expected));
    let (code, told) = crawl.ctl(&["feed", "--after", "5", "--limit", "3", "--json"]);
    assert_eq!((code, told.lines().filter(|line| line.starts_with('{')).count()), (0, 3), "{told}");
    assert!(
        told.ends_with(
            "go on with: lycosa ctl feed --after 8 --log ID\n".replace("ID", page["log"].as_str().unwrap()).as_str()
        ),
        "{told}"
    );
    let (code, told) = crawl.ctl(&["feed", "--limit", "2"]);
    assert!(
        code == 0
            && told.contains("1 first 200 http://")
            && told.contains("go on with: lycosa ctl feed --after 2 --log"),
        "{told}"
    );
    what_is_read_again_is_what_an_export_has(&sandbox, &crawl, lines.len());
    let metrics = crawl.get("/metrics").1;
    assert!(metrics.contains(&format!("\nlycosa_feed_entries {}\n", truth.len())), "{metrics}");
    let entry = |line: &str| -> Value { serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")) };
    // Whoever follows is left with entries alone, and told how to go on.
    let mut follow = program();
    follow.args(["ctl", "--admin", &crawl.at.to_string(), "--json", "feed", "--follow"]);
    let mut follow = follow.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(follow.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut shown: Vec<Value> = lines.by_ref().take(truth.len()).map(|line| entry(&line)).collect();
    assert_eq!(crawl.ctl(&["stop"]).0, 0);
    crawl.end();
    shown.extend(lines.map(|line| entry(&line)));
    assert!(shown.len() == truth.len() && shown.iter().all(|line| line["seq"].is_u64()), "{:?}", shown.last());
    let ended = follow.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&ended.stderr);
    let next = format!("go on with: lycosa ctl feed --after {} --log ", truth.len());
    assert!(ended.status.code() == Some(1) && told.contains(&next), "{told}");
}

/// Lines and pages with all that can be included are the lines of the export.
fn what_is_read_again_is_what_an_export_has(sandbox: &Sandbox, crawl: &Running, entries: usize) {
    let parsed = |text: &str| -> Vec<Value> {
        text.lines().filter(|l| l.starts_with('{')).map(|l| serde_json::from_str(l).unwrap()).collect()
    };
    let all = ["export", "jsonl", "--name", "all.jsonl", "--all", "--text", "--links", "--rights"];
    assert_eq!(crawl.ctl(&all).0, 0);
    let exported = parsed(&std::fs::read_to_string(sandbox.data().join("exports/all.jsonl")).unwrap());
    let captured = |items: Vec<Value>| -> Vec<Value> {
        assert_eq!(items.len(), entries);
        items.into_iter().filter(|item| item["capture"].is_object()).collect()
    };
    let include = "include=card,text,links,rights";
    assert_eq!(captured(parsed(&crawl.get(&format!("/api/v1/feed?format=ndjson&{include}")).1)), exported);
    let (mut items, mut after) = (Vec::new(), 0);
    while items.len() < entries {
        let page = json(&crawl.get(&format!("/api/v1/feed?after={after}&{include}")));
        let some = page["items"].as_array().unwrap();
        assert!((1..=100).contains(&some.len()), "{page}");
        items.extend(some.iter().cloned());
        after = page["next"].as_u64().unwrap();
    }
    assert_eq!(captured(items), exported);
    assert!(
        exported.iter().any(|line| line["links"][0]["text"].is_string() && line["text"].is_string()),
        "{}",
        exported[0]
    );
    for (query, why) in [
        ("include=card&limit=101", "expected 1 to 100 with include"),
        ("include=cards", "expected some of card, text, links, rights"),
        ("limit=0", "expected 1 to 1000"),
    ] {
        let (code, told) = crawl.get(&format!("/api/v1/feed?{query}"));
        assert!(code == 400 && told.contains(why), "{query}: {told}");
    }
    let told = crawl.ctl(&["--json", "feed", "--limit", "2", "--include", "card"]);
    assert!(told.0 == 0 && parsed(&told.1).iter().all(|item| item.get("card").is_some()), "{told:?}");
    assert_eq!(crawl.ctl(&["feed", "--limit", "2", "--include", "card"]).0, 2);
}

#[test]
fn a_page_of_the_feed_with_texts_ends_behind_eight_mebibytes_and_the_next_one_goes_on() {
    let site = Site::http(|_, path| -> Vec<u8> {
        let body = match path {
            "/robots.txt" => return none().into(),
            "/" => (0..12).map(|n| format!("<a href=/{n}>{n}</a>")).collect(),
            page => format!("<title>{page}</title><p>{}", format!("{page} spider ").repeat(100_000)),
        };
        page(200, "text/html", "", &body).into()
    });
    let mut sandbox =
        Sandbox::new(TestWebConfig::default(), "politeness.min_delay = \"1ms\"\nstore.memory = \"32MiB\"\n");
    let overrides = format!("dns.overrides={{ 'a.test' = '{}' }}", site.address);
    let allowed = format!("net.allow=['127.0.0.1/32:{}']", site.port());
    let crawl = Running::start(
        &mut sandbox,
        &["--set", &overrides, "--set", &allowed, "--set", "crawl.seeds=['http://a.test/']"],
    );
    let high = || json(&crawl.get("/api/v1/feed?limit=1"))["high"].as_u64();
    until("the pages", || (high() >= Some(13)).then_some(()), || crawl.daemon.log());
    let (mut after, mut pages, mut urls) = (0, 0, BTreeSet::new());
    while urls.len() < 13 {
        let page = json(&crawl.get(&format!("/api/v1/feed?after={after}&include=text")));
        let items = page["items"].as_array().unwrap();
        let bytes: usize = items.iter().map(|item| item["text"].as_str().unwrap().len()).sum();
        assert!((1..9 << 20).contains(&bytes), "{bytes}");
        assert!(items.iter().all(|item| urls.insert(item["url"].as_str().unwrap().to_owned())));
        (after, pages) = (page["next"].as_u64().unwrap(), pages + 1);
    }
    assert_eq!(pages, 2);
    assert_eq!(crawl.ctl(&["stop"]).0, 0);
    crawl.end();
}

#[test]
fn archive_files_that_are_copied_elsewhere_stay_for_whoever_holds_and_go_when_it_is_done() {
    let web = TestWebConfig { hosts: 4, pages: 40, min_size: 60_000, max_size: 90_000, ..TestWebConfig::default() };
    let settings = "politeness.min_delay = \"1ms\"\npoliteness.delay_factor = 0\nstore.memory = \"32MiB\"\n\
                    store.warc_max_size = \"1MB\"\nstore.upload = \"copies\"\nstore.delete_uploaded = true\n";
    let folder = tempfile::tempdir().unwrap();
    let copies = folder.path().join("copies");
    let mut sandbox = Sandbox::new(web, &settings.replace("copies", copies.to_str().unwrap()));
    let crawl = Running::start(&mut sandbox, &[]);
    assert_eq!(crawl.ctl(&["feed", "acknowledge", "slow", "0", "--hold"]).0, 0);
    let files = |dir: &std::path::Path| -> BTreeSet<String> {
        let names = std::fs::read_dir(dir).into_iter().flatten().map(|e| e.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.ends_with(".warc.gz") || name.ends_with(".cdxj")).collect()
    };
    let here = sandbox.data().join("warc");
    let copied =
        until("three files copied", || Some(files(&copies)).filter(|all| all.len() >= 6), || crawl.daemon.log());
    let held = files(&here);
    assert!(copied.is_subset(&held), "{copied:?} {held:?}");
    let high = || json(&crawl.get("/api/v1/feed?limit=1"))["high"].as_u64();
    let all = sandbox.truth().len() as u64;
    until("the end of the crawl", || (high() >= Some(all)).then_some(()), || crawl.daemon.log());
    assert_eq!(crawl.ctl(&["feed", "acknowledge", "slow", &high().unwrap().to_string()]).0, 0);
    until("all closed files gone", || files(&here).is_empty().then_some(()), || crawl.daemon.log());
    let copied = files(&copies);
    // One more page, so that there is a file that is being written.
    assert_eq!(crawl.ctl(&["seeds", "add", "http://h0.test/one/more"]).0, 0);
    until("one more page", || (high() > Some(all)).then_some(()), || crawl.daemon.log());
    assert_eq!(crawl.ctl(&["feed", "acknowledge", "slow", &high().unwrap().to_string()]).0, 0);
    // Somebody who comes later, from the beginning, holds what is still here: the file that is being written.
    assert_eq!(crawl.ctl(&["feed", "acknowledge", "late", "0", "--hold"]).0, 0);
    assert_eq!(crawl.ctl(&["checkpoint"]).0, 0);
    let closed = || Some(files(&copies)).filter(|all| all.len() > copied.len());
    let closed = until("the last file copied", closed, || crawl.daemon.log());
    assert_eq!(crawl.ctl(&["stop"]).0, 0);
    crawl.end();
    let kept = files(&here);
    assert!(closed.difference(&copied).all(|name| kept.contains(name)), "{closed:?} {kept:?}");
}
