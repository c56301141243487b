//! Near-duplicates in a whole node: what is marked, what is reported, and that nothing is lost by it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use encoding_rs::GBK;
use lycosa::testweb::TestWebConfig;
use serde_json::{Value, json};

use crate::admin::Running;
use crate::sandbox::{Sandbox, program};
use crate::site::{Site, html, none, page};

/// The N-th word of a language of its own for each seed.
fn word(seed: usize, n: usize) -> String {
    let mut n = (n * 7_919 + seed * 104_729) % 1_000_003;
    let letter = |n: &mut usize| {
        let letter = char::from(b'a' + (*n % 19) as u8);
        *n /= 19;
        letter
    };
    (0..5).map(|_| letter(&mut n)).collect()
}

fn character(seed: usize, n: usize) -> char {
    char::from_u32(0x4e00 + ((n * 7_919 + seed * 5_003) % 20_011) as u32).unwrap()
}

/// A row of `near_pages.txt`.
struct Given {
    url: String,
    group: Option<&'static str>,
    answer: Vec<u8>,
}

fn answer(title: &str, what: &str) -> Vec<u8> {
    let mut parts = what.split(';').map(str::trim);
    let [kind, seed, n] = parts.next().unwrap().split(' ').collect::<Vec<_>>()[..] else { panic!("{what}") };
    let (seed, n): (usize, usize) = (seed.parse().unwrap(), n.parse().unwrap());
    let of = |n| if kind == "han" { character(seed, n).to_string() } else { word(seed, n) };
    let mut words: Vec<String> = (0..n).map(of).collect();
    let (mut before, mut after, mut hidden, mut gbk) = (String::new(), String::new(), "", false);
    for change in parts {
        match change.split_once(' ').unwrap_or((change, "")) {
            ("swap", rest) => {
                let (at, with) = rest.split_once(' ').unwrap();
                words[at.parse::<usize>().unwrap()] = with.to_owned();
            }
            ("nav", _) => before = (0..40).map(|n| word(90, n) + " ").collect(),
            ("frame", _) => before = (0..1_000).map(|n| word(92, n) + " ").collect(),
            ("footer", _) => after = (0..40).map(|n| word(91, n) + " ").collect(),
            ("hidden", _) => hidden = "<!-- 4711 --><script>var t = 'a token';</script>",
            ("gbk", _) => gbk = true,
            other => panic!("no such change: {other:?}"),
        }
    }
    let title = if title == "-" { String::new() } else { format!("<title>{title}</title>") };
    let text = words.join(if kind == "han" { "" } else { " " });
    let body =
        format!("<html><head>{title}</head><body><p>{before}</p>{hidden}<p>{text}</p><p>{after}</p></body></html>");
    if !gbk {
        return page(200, "text/html; charset=utf-8", "", &body).into_bytes();
    }
    let (body, ..) = GBK.encode(&body);
    let head = format!("Content-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    [&b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=gbk\r\n"[..], head.as_bytes(), &body].concat()
}

fn given() -> Vec<Given> {
    let table = include_str!("../data/near_pages.txt").lines().filter(|line| !line.starts_with('#'));
    let row = |line: &'static str| {
        let [path, title, what, group, _] = line.split(" | ").collect::<Vec<_>>()[..] else { panic!("{line}") };
        let url = if path.starts_with("//") { format!("http:{path}") } else { format!("http://a.test{path}") };
        Given { url, group: Some(group).filter(|group| *group != "-"), answer: answer(title, what) }
    };
    table.map(row).collect()
}

type Pages = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

fn serve(pages: &Pages) -> Site {
    let pages = pages.clone();
    Site::http(move |host, path| {
        pages.lock().unwrap().get(&format!("http://{host}{path}")).cloned().unwrap_or_else(|| none().into_bytes())
    })
}

fn sandbox(site: &Site, seeds: &[&str], settings: &str) -> Sandbox {
    Sandbox::alone(&format!(
        "crawl.seeds = {seeds:?}\nadmin.listen = \"127.0.0.1:0\"\nnet.allow = [\"127.0.0.1/32:{}\"]\nscope.mode = \"any\"\n\
         dns.overrides = {{ \"*.test\" = \"{}\" }}\ndisk.pause_below = \"1MB\"\ndisk.reserve = 0\nstore.memory = \"32MiB\"\n\
         politeness.min_delay = \"1ms\"\npoliteness.delay_factor = 0\nlog.level = \"info\"\n{settings}\n",
        site.port(),
        site.address,
    ))
}

fn all_of_the_table() -> (Pages, Site) {
    let pages = Pages::default();
    for given in given() {
        pages.lock().unwrap().insert(given.url, given.answer);
    }
    let links: String = pages.lock().unwrap().keys().map(|url| format!("<a href='{url}'>{url}</a>")).collect();
    pages.lock().unwrap().insert("http://a.test/".into(), html(&links).into_bytes());
    let site = serve(&pages);
    (pages, site)
}

/// `lycosa check --full` finds nothing.
fn is_clean(data: &Path) {
    let told = program().args(["check", "--full", "--data"]).arg(data).output().unwrap();
    assert!(
        told.status.success(),
        "{}{}",
        String::from_utf8_lossy(&told.stdout),
        String::from_utf8_lossy(&told.stderr)
    );
}

fn stopped(crawl: Running) {
    assert_eq!(crawl.ctl(&["stop"]).0, 0);
    crawl.end();
}

/// The last line of each URL.
fn lines(sandbox: &Sandbox) -> BTreeMap<String, Value> {
    sandbox.lines().into_iter().map(|line| (line["url"].as_str().unwrap().to_owned(), line)).collect()
}

fn notes(line: &Value) -> bool {
    line["notes"].as_array().is_some_and(|notes| notes.contains(&json!("near_duplicate")))
}

fn is_in_archive(line: &Value) -> bool {
    line["warc"].is_string()
}

/// What the report says, page by page, each page of so many.
fn report(crawl: &Running, query: &str, limit: usize) -> Vec<Value> {
    listed(crawl, "", query, limit)
}

fn listed(crawl: &Running, what: &str, query: &str, limit: usize) -> Vec<Value> {
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let (status, told) = crawl.get(&format!("/api/v1/reports/near-duplicates{what}?limit={limit}{query}{cursor}"));
        assert_eq!(status, 200, "{told}");
        let mut told: Value = serde_json::from_str(&told).unwrap();
        assert!(told["items"].as_array().unwrap().len() <= limit);
        all.append(told["items"].as_array_mut().unwrap());
        let Some(next) = told["next"].as_str() else { return all };
        cursor = format!("&cursor={next}");
    }
}

#[test]
fn pages_are_marked_as_the_table_says_and_reported_by_group_and_nothing_is_lost() {
    let (_pages, site) = all_of_the_table();
    let mut sandbox = sandbox(&site, &["http://a.test/"], "");
    sandbox.finish();
    let lines = lines(&sandbox);
    let mut groups: BTreeMap<&str, Vec<(String, Option<String>)>> = BTreeMap::new();
    for Given { url, group, .. } in given() {
        let line = &lines[&url];
        assert!(is_in_archive(line), "{line:#}");
        let near = line["near"].as_str().map(str::to_owned);
        assert_eq!(notes(line), near.is_some(), "{line:#}");
        match group {
            Some(group) => groups.entry(group).or_default().push((url, near)),
            None => assert_eq!(near, None, "{line:#}"),
        }
    }
    let mut wanted = BTreeSet::new();
    for (group, pages) in &groups {
        let [(leader, _)] = &pages.iter().filter(|(_, near)| near.is_none()).collect::<Vec<_>>()[..] else {
            panic!("{group} has not one leader: {pages:?}");
        };
        for (page, near) in pages.iter().filter(|(page, _)| page != leader) {
            assert_eq!(near.as_ref(), Some(leader), "{group}: {page}");
            wanted.insert((leader.clone(), page.clone()));
        }
    }
    assert_eq!((groups.len(), wanted.len()), (4, 8));
    is_clean(&sandbox.data());

    let crawl = Running::start(&mut sandbox, &[]);
    for limit in [1, 50] {
        let told = report(&crawl, "", limit);
        let pair = |item: &Value| ["group", "url"].map(|name| item[name].as_str().unwrap().to_owned());
        let pairs: Vec<_> = told.iter().map(pair).collect();
        assert_eq!(pairs.iter().map(|[group, url]| (group.clone(), url.clone())).collect::<BTreeSet<_>>(), wanted);
        let mut turns: Vec<&String> = pairs.iter().map(|[group, _]| group).collect();
        turns.dedup();
        assert_eq!(turns.len(), groups.len(), "pages of a group follow each other");
        for item in &told {
            assert_eq!((&item["still"], &item["stored"]), (&json!(true), &json!(true)), "{item:#}");
            assert_eq!(item["same_title"], json!(item["title"] == item["group_title"]), "{item:#}");
        }
    }
    assert_eq!(report(&crawl, "&host=b.test", 50), Vec::<Value>::new());
    for limit in [1, 50] {
        let told = listed(&crawl, "/groups", "", limit);
        let leaders: BTreeSet<&str> = told.iter().map(|group| group["leader"].as_str().unwrap()).collect();
        assert_eq!(leaders, wanted.iter().map(|(leader, _)| leader.as_str()).collect(), "{told:#?}");
        for group in &told {
            let own = wanted.iter().filter(|(leader, _)| group["leader"] == **leader).map(|(_, url)| url.as_str());
            let shown = group["pages"].as_array().unwrap().iter().map(|page| page["url"].as_str().unwrap());
            assert_eq!(shown.collect::<BTreeSet<_>>(), own.collect::<BTreeSet<_>>(), "{group:#}");
            assert_eq!(group["members"], json!(group["pages"].as_array().unwrap().len()), "{group:#}");
            assert_eq!(group["more"], json!(false), "{group:#}");
        }
    }
    let (code, told) = crawl.ctl(&["report", "near-duplicates", "--across", "--json"]);
    assert_eq!(code, 0, "{told}");
    let across: Vec<Value> = told.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let [line] = &across[..] else { panic!("{told}") };
    let pair = ["group", "url"].map(|name| line[name].as_str().unwrap().to_owned());
    let [(leader_of_a, _)] = &groups["a"].iter().filter(|(_, near)| near.is_none()).collect::<Vec<_>>()[..] else {
        panic!()
    };
    assert_eq!(BTreeSet::from(pair), BTreeSet::from([leader_of_a.clone(), "http://b.test/story".to_owned()]));
    assert_eq!(crawl.ctl(&["report", "near-duplicates", "--across", "--again"]).0, 0);
    assert_eq!(crawl.ctl(&["report", "seeds", "--across"]).0, 2);
    let (code, told) = crawl.ctl(&["report", "near-duplicates"]);
    assert_eq!((code, told.lines().count()), (0, 1 + wanted.len()), "{told}");
    assert!(told.starts_with("group,group_title,url,title,distance,same_title,still,stored\r\n"), "{told}");
    let (leader, member) = wanted.first().unwrap();
    let told: Value = serde_json::from_str(&crawl.get(&format!("/api/v1/explain?url={member}")).1).unwrap();
    assert_eq!(told["page"]["near"].as_str(), Some(leader.as_str()));
    let fact = told["facts"].as_array().unwrap().iter().find(|fact| fact["name"] == "near-duplicate").unwrap();
    assert!(fact["text"].as_str().unwrap().contains(leader), "{fact}");
    let feed: Value = serde_json::from_str(&crawl.get("/api/v1/feed?limit=1000").1).unwrap();
    let marked = feed["items"].as_array().unwrap().iter().filter(|item| item["capture"]["near"].is_string()).count();
    assert_eq!(marked, wanted.len());
    stopped(crawl);
}

#[test]
fn the_crawled_set_is_the_truth_with_every_default_and_page_for_page_what_it_is_without_the_index() {
    let web = || TestWebConfig {
        hosts: 3,
        pages: 40,
        links: 8,
        min_size: 3_000,
        max_size: 9_000,
        duplicates: 0.2,
        ..TestWebConfig::default()
    };
    let settings = "politeness.min_delay = \"1ms\"\npoliteness.delay_factor = 0\nstore.memory = \"32MiB\"\n";
    let crawled = |more: &str| {
        let mut sandbox = Sandbox::new(web(), &format!("{settings}{more}"));
        sandbox.finish();
        is_clean(&sandbox.data());
        let done: BTreeSet<String> = sandbox.index().into_keys().collect();
        let digest = |line: &Value| (line["digest"].clone(), line["bytes"].clone(), line["reason"].clone());
        let bodies: BTreeMap<String, _> =
            lines(&sandbox).iter().map(|(url, line)| (url.clone(), digest(line))).collect();
        (sandbox.truth().len(), done, bodies.len(), bodies)
    };
    let (marked, off) = (crawled(""), crawled("dedup.near = \"off\"\n"));
    assert_eq!((marked.0, &marked.1, marked.2), (off.0, &off.1, off.2));
    let bodies = |all: &BTreeMap<String, (Value, Value, Value)>| -> BTreeMap<String, (Value, Value)> {
        all.iter().map(|(url, (digest, bytes, _))| (url.clone(), (digest.clone(), bytes.clone()))).collect()
    };
    let ports = |all: BTreeMap<String, (Value, Value)>| all.into_values().map(|(d, b)| (d.to_string(), b.to_string()));
    assert_eq!(ports(bodies(&marked.3)).collect::<Vec<_>>(), ports(bodies(&off.3)).collect::<Vec<_>>());
}

/// A story that leads to others like it, one after the other, so that it leads the group.
fn chain() -> (Pages, Site) {
    let pages = Pages::default();
    let story = |title: &str, swapped: &str, links: &str| {
        let mut words: Vec<String> = (0..2_000).map(|n| word(1, n)).collect();
        words[40] = swapped.to_owned();
        html(&format!("<title>{title}</title><p>{}</p>{links}", words.join(" "))).into_bytes()
    };
    let short = |text: &str| html(text).into_bytes();
    pages.lock().unwrap().extend([
        ("http://w.a.test/story".into(), story("A story", "first", "<a href='http://a.test/again'></a>")),
        (
            "http://a.test/again".into(),
            story("A story", "second", "<a href='/only'></a><a href='http://a.test/print'></a>"),
        ),
        ("http://a.test/print".into(), story("A story to print", "third", "<a href='/kept'></a>")),
        ("http://a.test/only".into(), short("only one page leads here")),
        ("http://a.test/kept".into(), short("a page of another title leads here")),
    ]);
    let site = serve(&pages);
    (pages, site)
}

#[test]
fn on_wish_a_page_of_the_same_text_and_title_is_not_stored_nor_followed_and_its_links_can_be_had_back() {
    let (pages, site) = chain();
    // The page of the same title leads on to the one to print from elsewhere too.
    pages.lock().unwrap().insert("http://a.test/".into(), html("<a href='/print'>x</a>").into_bytes());
    let seeds = ["http://w.a.test/story"];
    let mut sandbox = sandbox(&site, &seeds, "dedup.near_store = false\ndedup.near_follow = false\n");
    sandbox.finish();
    let mut second = sandbox.start(&["--seed", "http://a.test/", "--until-done"], None);
    assert_eq!(second.wait().code(), Some(0), "{}", second.log());
    let told = lines(&sandbox);
    let (again, print) = (&told["http://a.test/again"], &told["http://a.test/print"]);
    assert_eq!((&again["near"], &again["reason"]), (&json!("http://w.a.test/story"), &json!("unstored")), "{again:#}");
    assert!(!is_in_archive(again));
    assert!(is_in_archive(print) && print["near"] == "http://w.a.test/story", "another title: {print:#}");
    assert!(is_in_archive(&told["http://a.test/kept"]));
    assert!(!told.contains_key("http://a.test/only"));
    is_clean(&sandbox.data());

    let crawl = Running::start(&mut sandbox, &[]);
    let answer = crawl.get("/api/v1/explain?url=http://a.test/only").1;
    let told: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!((&told["state"], &told["reason"]), (&json!("rejected"), &json!("near_duplicate")), "{told:#}");
    let (code, told) = crawl.ctl(&["urls", "readmit"]);
    assert_eq!(code, 0, "{told}");
    crawl.until_status("the end of the job", |s| s.waiting + s.processing == 0);
    let state = || {
        serde_json::from_str::<Value>(&crawl.get("/api/v1/explain?url=http://a.test/only").1).unwrap()["state"].clone()
    };
    assert_eq!(state(), "rejected", "not unless it is named");
    let (code, told) = crawl.ctl(&["urls", "readmit", "--reason", "near_duplicate"]);
    assert_eq!(code, 0, "{told}");
    crate::sandbox::until("the page", || (state() == "done").then_some(()), || crawl.daemon.log());
    stopped(crawl);
    is_clean(&sandbox.data());
}

#[test]
fn a_leader_that_changes_leaves_its_group_and_one_that_does_not_stays_with_all_its_members() {
    let (pages, site) = chain();
    let mut sandbox = sandbox(&site, &["http://w.a.test/story"], "");
    let crawl = Running::start(&mut sandbox, &[]);
    let rest = |done: u64| {
        crawl.until_status("the end of the crawl", |s| s.waiting + s.processing == 0 && s.pages_stored >= done)
    };
    rest(5);
    let told = |crawl: &Running| -> BTreeMap<String, (String, bool)> {
        let text = |item: &Value, name: &str| item[name].as_str().unwrap().to_owned();
        let row = |item: &Value| (text(item, "url"), (text(item, "group"), item["still"] == true));
        report(crawl, "", 50).iter().map(row).collect()
    };
    let of_story = |still| -> BTreeMap<String, (String, bool)> {
        let row = |path: &str| (format!("http://a.test/{path}"), ("http://w.a.test/story".to_owned(), still));
        ["again", "print"].map(row).into()
    };
    assert_eq!(told(&crawl), of_story(true));
    for (host, done) in [("w.a.test", 6), ("a.test", 10)] {
        assert_eq!(crawl.ctl(&["host", host, "recrawl"]).0, 0);
        rest(done);
    }
    assert_eq!(told(&crawl), of_story(true), "all is as it was");
    let other: String = (0..2_000).map(|n| word(2, n) + " ").collect();
    pages.lock().unwrap().insert("http://w.a.test/story".into(), html(&other).into_bytes());
    assert_eq!(crawl.ctl(&["host", "w.a.test", "recrawl"]).0, 0);
    rest(11);
    assert_eq!(told(&crawl), of_story(false), "its members say what was found then");
    // Who comes now with the first text leads a group of its own.
    let new = pages.lock().unwrap()["http://a.test/again"].clone();
    let new = String::from_utf8(new).unwrap().replace("second", "fourth");
    pages.lock().unwrap().insert("http://a.test/new".into(), new.into_bytes());
    assert_eq!(crawl.ctl(&["seeds", "add", "http://a.test/new"]).0, 0);
    rest(12);
    assert_eq!(told(&crawl), of_story(false));
    stopped(crawl);
    is_clean(&sandbox.data());
}

#[test]
fn an_erased_host_leaves_no_rows_and_nobody_is_said_to_be_near_to_it() {
    let (_pages, site) = chain();
    let mut sandbox = sandbox(&site, &["http://w.a.test/story"], "");
    sandbox.finish();
    let does = |arguments: &[&str]| {
        let mut command: Command = program();
        let told = command.args(arguments).arg("--data").arg(sandbox.data()).arg("--no-progress").output().unwrap();
        assert!(
            told.status.success(),
            "{arguments:?}: {}{}",
            String::from_utf8_lossy(&told.stdout),
            String::from_utf8_lossy(&told.stderr)
        );
    };
    does(&["erase", "w.a.test"]);
    does(&["check", "--erased", "w.a.test"]);
    does(&["check", "--full"]);
    let crawl = Running::start(&mut sandbox, &[]);
    assert_eq!(report(&crawl, "", 50), Vec::<Value>::new());
    let told: Value = serde_json::from_str(&crawl.get("/api/v1/explain?url=http://a.test/again").1).unwrap();
    assert_eq!((&told["page"]["near"], &told["page"]["notes"]), (&Value::Null, &json!([])), "{told:#}");
    stopped(crawl);
}
