//! Debian's documentation in six languages: of a thousand pages and more each is found first by its title, where no other has it.
//!
//! `LYCOSA_DOCS` names the folder (`config/setup.sh large`); `make soak-index` sets it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use encoding_rs::{BIG5, Encoding, GBK};
use lycosa::content::html::{ExtractOptions, PageReader};
use lycosa::content::mime::Kind;
use lycosa::domain::card::Find;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use crate::admin::Running;
use crate::sandbox::until;
use crate::search::{Served, sandbox, serve};

const LANGUAGES: [&str; 6] = ["en", "de", "fr", "ja", "zh-cn", "zh-tw"];
/// Every so many pages in Chinese there is one once more, in an encoding of its characters.
const COPIED: usize = 10;

fn pages(docs: &Path) -> Served {
    let mut pages = Served::new();
    for language in LANGUAGES {
        for book in fs::read_dir(docs.join(language)).unwrap() {
            let book = book.unwrap().path();
            for file in fs::read_dir(&book).unwrap() {
                let file = file.unwrap().path();
                let name = file.strip_prefix(docs).unwrap().to_str().unwrap();
                pages.insert(format!("/{name}"), ("text/html; charset=utf-8".into(), fs::read(&file).unwrap()));
            }
        }
    }
    pages
}

fn title((kind, body): &(String, Vec<u8>)) -> String {
    let (url, options) =
        ("http://pages.test/".parse().unwrap(), ExtractOptions { card: true, ..ExtractOptions::default() });
    let mut reader = PageReader::of_kind(Kind::Html, Some(kind), &url, options, 16 << 20);
    reader.push(body);
    reader.finish().facts.card(url.as_str(), Find::Fill).and_then(|card| card.title).unwrap_or_default()
}

/// Copies of some pages in other encodings, by the path of the page.
fn copies(pages: &Served) -> BTreeMap<String, (String, Vec<u8>)> {
    let of = |language: &'static str, encoding: &'static Encoding| {
        let own = pages.iter().filter(move |(path, _)| path.starts_with(language)).step_by(COPIED);
        own.map(move |(path, (_, body))| {
            let text = String::from_utf8_lossy(body);
            let kind = format!("text/html; charset={}", encoding.name());
            (path.clone(), (kind, encoding.encode(&text).0.into_owned()))
        })
    };
    of("/zh-cn/", GBK).chain(of("/zh-tw/", BIG5)).collect()
}

/// Paths of the first ten pages that are found.
fn first_ten(crawl: &Running, query: &str) -> Vec<String> {
    let path = format!("/api/v1/search?limit=10&q={}", utf8_percent_encode(query, NON_ALPHANUMERIC));
    // A machine that is busy with other things may let one wait too long.
    let answer = || Some(crawl.get(&path)).filter(|(code, _)| *code != 503);
    let (code, text) = until("an answer", answer, || format!("{query}\n{}", crawl.daemon.log()));
    let view: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(code, 200, "{query}: {view}");
    let hits = view["hits"].as_array().unwrap().iter();
    hits.map(|hit| hit["url"].as_str().unwrap().strip_prefix("http://pages.test").unwrap().to_owned()).collect()
}

#[test]
#[ignore = "`make soak-index` runs it: LYCOSA_DOCS names a folder with Debian's documentation"]
fn pages_of_debians_documentation_are_found_by_their_titles_in_six_languages() {
    let docs = std::env::var_os("LYCOSA_DOCS").expect("run this with `make soak-index`");
    let mut served = pages(docs.as_ref());
    let titles: BTreeMap<String, String> = served.iter().map(|(path, page)| (path.clone(), title(page))).collect();
    let mut times: BTreeMap<&str, u32> = BTreeMap::new();
    titles.values().for_each(|title| *times.entry(title.as_str()).or_default() += 1);
    let once = titles.iter().filter(|(_, title)| !title.is_empty() && times[title.as_str()] == 1);
    let once: BTreeMap<&String, &String> = once.collect();
    let copies = copies(&served);
    let count = served.len() + copies.len();
    served.extend(copies.iter().map(|(path, page)| (format!("/copies{path}"), page.clone())));

    let site = serve(served);
    let mut sandbox = sandbox(&site);
    sandbox.also("fetch.concurrency = 4\n");
    sandbox.finish();
    let crawl = Running::start(&mut sandbox, &[]);
    let whole = || {
        let view: Value = serde_json::from_str(&crawl.get("/api/v1/search?q=mime:text/").1).ok()?;
        (view["total"].as_u64() >= Some(count as u64)).then_some(())
    };
    until("the index", whole, || crawl.get("/api/v1/search?q=mime:text/").1);

    let (mut first, mut ten, mut asked, mut missed) = (0, 0, 0, Vec::new());
    let mut by_language: BTreeMap<&str, [u32; 2]> = BTreeMap::new();
    for (path, title) in once.iter().filter(|(path, _)| !copies.contains_key(**path)) {
        let hits = first_ten(&crawl, title);
        let is_first = hits.first() == Some(path);
        asked += 1;
        first += usize::from(is_first);
        ten += usize::from(hits.contains(path));
        let counts = by_language.entry(path.split('/').nth(1).unwrap()).or_default();
        counts[0] += u32::from(is_first);
        counts[1] += 1;
        if !is_first {
            missed.push((path, title, hits.first().cloned()));
        }
    }
    println!("{asked} titles: {first} first, {ten} in the first ten; by language first of all {by_language:?}");
    assert!(asked >= 1_000 && by_language.len() == LANGUAGES.len(), "{by_language:?}");
    assert!(first * 100 >= asked * 95, "{first} of {asked}: {missed:#?}");
    assert!(ten * 1_000 >= asked * 995, "{ten} of {asked}: {missed:#?}");

    // A page in GBK, in Big5 and in UTF-8 is found by one query.
    let mut pairs = 0;
    for (path, title) in once.iter().filter(|(path, _)| copies.contains_key(**path)) {
        let hits: BTreeSet<String> = first_ten(&crawl, title).into_iter().collect();
        assert!(hits.contains(*path) && hits.contains(&format!("/copies{path}")), "{title}: {hits:?}");
        pairs += 1;
    }
    println!("{pairs} pages found by their titles beside their copies in GBK or Big5");
    assert!(pairs >= 20, "{pairs}");
    assert_eq!(crawl.ctl(&["stop"]).0, 0);
    crawl.end();
}
