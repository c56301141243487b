//! The index of pages of the real program: what is in it, whatever befalls the program or the index's files.

mod damage;
mod outcomes;
mod tools;

use std::collections::{BTreeMap, BTreeSet};

use lycosa::domain::fingerprint::Fingerprinter;
use lycosa::domain::url::{Canonicaliser, CleanRules};
use lycosa::index::{Folder, Reader, link_key};
use lycosa::testweb::TestWebConfig;
use serde_json::Value;

use crate::admin::Running;
use crate::checkpoint::{Said, run};
use crate::sandbox::{Sandbox, indexable, scale, until};

/// A web with what makes pages come and go, so many times as large.
fn web(times: u32) -> TestWebConfig {
    TestWebConfig {
        hosts: 5,
        pages: 30 * times,
        links: 8,
        min_size: 2_000,
        max_size: 8_000,
        duplicates: 0.15,
        redirects: 0.1,
        errors: 0.1,
        nofollow: 0.1,
        gbk: 0.2,
        ..TestWebConfig::default()
    }
}

fn sandbox(more: &str) -> Sandbox {
    asking_every("5ms", 1, more)
}

/// A host is asked so often; a web so many times as large.
fn asking_every(delay: &str, times: u32, more: &str) -> Sandbox {
    let settings = "politeness.delay_factor = 0\nstore.memory = \"32MiB\"\nfetch.retries = 0\ncrawl.max_depth = \"none\"\n\
                    checkpoint.every = \"0s\"\nindex.enabled = true\nindex.memory = \"16MiB\"\nindex.refresh = \"1s\"\n";
    Sandbox::new(web(times), &format!("{settings}politeness.min_delay = \"{delay}\"\n{more}"))
}

/// `lycosa index … --data DATA`.
fn index(sandbox: &Sandbox, arguments: &[&str]) -> Said {
    let (config, data) = (sandbox.config_file(), sandbox.data());
    let mut all: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"index"];
    all.extend(arguments.iter().map(|argument| argument as &dyn AsRef<std::ffi::OsStr>));
    all.extend([&"--data" as &dyn AsRef<std::ffi::OsStr>, &data, &"--config", &config, &"--no-progress"]);
    run(&all, None)
}

/// The index is what its own comparison with the database says, and has so many documents.
fn verified(sandbox: &Sandbox) -> Value {
    let told = index(sandbox, &["verify", "--json"]).done();
    serde_json::from_str(&told).unwrap()
}

/// The cards of the documents in the generation that answers, by URL; each URL once.
fn documents(sandbox: &Sandbox) -> BTreeMap<String, Value> {
    let mut cards = BTreeMap::new();
    reader(sandbox)
        .each_card(|card| {
            let card: Value = serde_json::from_str(card).unwrap();
            let url = card["url"].as_str().unwrap().to_owned();
            assert!(cards.insert(url, card).is_none());
        })
        .unwrap();
    cards
}

fn reader(sandbox: &Sandbox) -> Reader {
    let folder = Folder::of(&sandbox.data());
    Reader::open(&folder.generation(folder.current().unwrap())).unwrap()
}

fn same(found: &BTreeMap<String, Value>, expected: &BTreeSet<String>) {
    let found: BTreeSet<String> = found.keys().cloned().collect();
    let (missing, stray): (Vec<_>, Vec<_>) =
        (expected.difference(&found).collect(), found.difference(expected).collect());
    assert!(missing.is_empty() && stray.is_empty(), "missing {missing:?}\nstray {stray:?}");
}

/// How many documents link to each of these URLs.
fn in_links(sandbox: &Sandbox, urls: impl IntoIterator<Item = String>) -> BTreeMap<String, usize> {
    let (reader, prints) = (reader(sandbox), Fingerprinter::new(seed(sandbox)));
    let canon = Canonicaliser::new(CleanRules::default());
    let linking = |url: &str| {
        let key = link_key(prints.url(&canon.parse(url).unwrap()));
        reader.linking_to(key, &[], 0, 0).unwrap().total as usize
    };
    urls.into_iter().map(|url| (url.clone(), linking(&url))).collect()
}

fn seed(sandbox: &Sandbox) -> u64 {
    use lycosa::storage::values::Format;
    use lycosa::storage::{RocksOptions, RocksStorage, folder, read};
    let database = folder::find(&sandbox.data()).unwrap().unwrap();
    let storage = RocksStorage::look(&database, RocksOptions { memory: 16 << 20, ..RocksOptions::default() }).unwrap();
    read::meta::<Format>(&storage, ()).unwrap().unwrap().seed
}

/// What the endpoint says of the index, once it is as wanted.
fn until_index(crawl: &Running, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let look = || {
        let (code, text) = crawl.get("/api/v1/index");
        assert_eq!(code, 200, "{text}");
        let view: Value = serde_json::from_str(&text).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(5)); // the endpoint answers so many requests a second
        wanted(&view).then_some(view)
    };
    until(what, look, || format!("{:?}\n{}", crawl.get("/api/v1/index"), crawl.daemon.log()))
}

/// It has taken in all that is shown and committed it.
fn caught_up(view: &Value) -> bool {
    view["doing"] == "waiting" && view["behind"] == 0 && view["building"].is_null()
}
