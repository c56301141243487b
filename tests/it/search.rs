//! The search of the real program, against a search by brute force: pages of Python's documentation, those of the table of cards, and some
//! in other scripts and encodings.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use encoding_rs::{BIG5, Encoding, GBK, UTF_8};
use lycosa::content::html::{ExtractOptions, PageReader};
use lycosa::content::mime::Kind;
use lycosa::domain::card::Find;
use lycosa::domain::words::{form, is_unspaced};
use nix::sys::signal::Signal;
use serde_json::Value;

use crate::admin::Running;
use crate::checkpoint::run;
use crate::dice::Dice;
use crate::sandbox::{Sandbox, left_out, program, scale, until};
use crate::site::{Site, none};

/// An article in simplified and in traditional characters.
const ARTICLE: [&str; 2] = [
    "<title>网络蜘蛛图鉴</title><p>这本图鉴介绍网络蜘蛛怎样发现网页，后来又怎样在图书馆里保存它们，读者可以慢慢看。",
    "<title>網絡蜘蛛圖鑒</title><p>這本圖鑒介紹網絡蜘蛛怎樣發現網頁，後來又怎樣在圖書館裡保存它們，讀者可以慢慢看。",
];

/// Pages of scripts that the table of cards has none of.
const OTHERS: [&str; 3] = [
    "<html lang=th><title>แมงมุม</title><p>แมงมุมเป็นสัตว์ที่มีแปดขาและชักใยเพื่อจับแมลงเป็นอาหาร มันอาศัยอยู่ในสวนและในป่า",
    "<html lang=ko><title>거미</title><p>거미는 다리가 여덟 개이고 거미줄을 쳐서 곤충을 잡아먹는 동물이다. 정원과 숲에서 살아간다.",
    "<html lang=ja><title>蜘蛛の図鑑</title><p>この図鑑では、庭や森に住むクモがどのように巣を張り、昆虫を捕まえるかを説明します。",
];

/// A page: its path, media type and bytes.
pub type Served = BTreeMap<String, (String, Vec<u8>)>;

fn pages() -> Option<Served> {
    let docs = std::env::var_os("LYCOSA_PAGES").map(std::path::PathBuf::from).filter(|p| p.join("complete").exists());
    let Some(docs) = docs else {
        left_out("LYCOSA_PAGES", "a folder with python3-doc");
        return None;
    };
    let mut pages = Served::new();
    let html = |charset: &str| format!("text/html; charset={charset}");
    for folder in ["library", "tutorial"] {
        let mut files: Vec<_> =
            fs::read_dir(docs.join("python3-doc").join(folder)).unwrap().map(|file| file.unwrap().path()).collect();
        files.retain(|file| file.extension().is_some_and(|e| e == "html"));
        files.sort();
        for file in files.iter().take(40 * scale() as usize) {
            let name = file.file_name().unwrap().to_str().unwrap();
            pages.insert(format!("/{folder}/{name}"), (html("utf-8"), fs::read(file).unwrap()));
        }
    }
    for (nth, table) in ["text", "title", "meta", "abstract"].into_iter().enumerate() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/card/{table}.toml"));
        let table: toml::Table = fs::read_to_string(file).unwrap().parse().unwrap();
        for (row, page) in table["page"].as_array().unwrap().iter().enumerate() {
            if let Some(text) = page.get("html").and_then(|html| html.as_str()) {
                pages.insert(format!("/card/{nth}/{row}"), (html("utf-8"), text.as_bytes().to_vec()));
            }
        }
    }
    for (nth, text) in OTHERS.into_iter().enumerate() {
        pages.insert(format!("/other/{nth}"), (html("utf-8"), text.as_bytes().to_vec()));
    }
    let encoded: [(&str, &'static Encoding, &str); 3] =
        [("utf8", UTF_8, ARTICLE[0]), ("gbk", GBK, ARTICLE[0]), ("big5", BIG5, ARTICLE[1])];
    for (name, encoding, text) in encoded {
        // A text of its own, or the second would be the first again.
        let text = format!("{text} {name}");
        pages.insert(format!("/{name}"), (html(encoding.name()), encoding.encode(&text).0.into_owned()));
    }
    pages.insert("/".into(), (html("utf-8"), links(&pages).into_bytes()));
    Some(pages)
}

/// A page that leads to all.
fn links(pages: &Served) -> String {
    pages.keys().map(|path| format!("<a href=\"{path}\">x</a> ")).collect()
}

pub fn serve(pages: Served) -> Site {
    Site::http(move |_, path| -> Vec<u8> {
        let (kind, body) = match pages.get(path) {
            Some((kind, body)) => (kind.clone(), body.clone()),
            None if path == "/" => ("text/html".into(), links(&pages).into_bytes()),
            None => return none().into(),
        };
        let length = body.len();
        let head =
            format!("HTTP/1.1 200 X\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
        [head.into_bytes(), body].concat()
    })
}

/// A crawl of a site, with its index.
pub fn sandbox(site: &Site) -> Sandbox {
    Sandbox::alone(&format!(
        "crawl.seeds = [\"http://pages.test/\"]\ncrawl.max_depth = 1\nadmin.listen = \"127.0.0.1:0\"\nnet.allow = [\"127.0.0.1/32:{}\"]\n\
         dns.overrides = {{ \"*.test\" = \"{}\" }}\ndisk.pause_below = \"1MB\"\ndisk.reserve = 0\nlog.level = \"info\"\n\
         politeness.min_delay = \"5ms\"\npoliteness.delay_factor = 0\nstore.memory = \"32MiB\"\ncheckpoint.every = \"0s\"\n\
         index.enabled = true\nindex.memory = \"16MiB\"\nindex.refresh = \"1s\"\n",
        site.port(),
        site.address,
    ))
}

/// What `lycosa search` finds, all of it.
fn found(sandbox: &Sandbox, query: &str, more: &[&str]) -> Value {
    let (config, data) = (sandbox.config_file(), sandbox.data());
    let mut all: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"search", &"--json", &"--limit", &"100"];
    all.extend(more.iter().map(|argument| argument as &dyn AsRef<std::ffi::OsStr>));
    all.extend([&"--data" as &dyn AsRef<std::ffi::OsStr>, &data, &"--config", &config, &"--", &query]);
    serde_json::from_str(&run(&all, None).done()).unwrap()
}

fn paths(found: &Value) -> Vec<String> {
    let hits = found["hits"].as_array().unwrap().iter();
    hits.map(|hit| hit["url"].as_str().unwrap().strip_prefix("http://pages.test").unwrap().to_owned()).collect()
}

/// What each page says: its blocks, what its card has of title, description and keywords, its URL; all in their form.
fn blocks(pages: &Served) -> BTreeMap<String, Vec<String>> {
    let read = |path: &str, (kind, body): &(String, Vec<u8>)| {
        let address = format!("http://pages.test{path}");
        let options = ExtractOptions { card: true, ..ExtractOptions::default() };
        let url = url::Url::parse(&address).unwrap();
        let mut reader = PageReader::of_kind(Kind::Html, Some(kind), &url, options, 16 << 20);
        reader.push(body);
        let facts = reader.finish().facts;
        let card = facts.card(&address, Find::Fill).unwrap();
        let blocks = facts.for_card.as_deref().unwrap().blocks.iter().map(|block| block.text.clone());
        let said = card.title.into_iter().chain(card.description).chain(card.keywords.into_iter().map(|key| key.word));
        blocks.chain(said).chain([format!("pages.test{path}")]).map(|text| apart(&form(&text))).collect::<Vec<String>>()
    };
    pages.iter().map(|(path, page)| (path.clone(), read(path, page))).collect()
}

/// Words, each a space apart, whatever stands between them. White space between characters that are written without it is none.
fn apart(text: &str) -> String {
    let is_word = |c: char| c.is_alphanumeric() || is_unspaced(c);
    let joins = |c: Option<char>| c.is_some_and(|c| is_unspaced(c) && !has_spaces(c));
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| is_word(c) != is_word(first)).unwrap_or(rest.len());
        let (piece, behind) = rest.split_at(end);
        rest = behind;
        if is_word(first) {
            out += piece;
        } else if !(piece.trim().is_empty() && joins(out.chars().next_back()) && joins(rest.chars().next())) {
            out.push(' ');
        }
    }
    out.trim().to_owned()
}

/// Korean and Thai, whose spaces part their runs.
fn has_spaces(c: char) -> bool {
    matches!(c, '\u{ac00}'..='\u{d7a3}' | '\u{e01}'..='\u{e4e}')
}

/// Whether a text holds a piece: of scripts with spaces as whole words.
fn holds(text: &str, piece: &str) -> bool {
    let spaced = |c: Option<char>| c.is_some_and(|c| !is_unspaced(c) && c != ' ');
    let whole = |at: usize| {
        let before = text[..at].chars().next_back();
        let behind = text[at + piece.len()..].chars().next();
        let cut = |inner, outer| spaced(inner) && spaced(outer);
        !cut(piece.chars().next(), before) && !cut(piece.chars().next_back(), behind)
    };
    text.match_indices(piece).any(|(at, _)| whole(at))
}

/// Pieces of the pages to look for: 2 to 8 characters of scripts without spaces, 1 to 4 words of letters.
fn pieces(blocks: &BTreeMap<String, Vec<String>>, dice: &mut Dice, count: usize) -> BTreeSet<String> {
    let texts: Vec<&String> = blocks.values().flatten().collect();
    let parted = texts.iter().flat_map(|text| text.split(|c: char| !is_unspaced(c)));
    let runs: Vec<&str> = parted.filter(|run| run.chars().count() > 1).collect();
    let mut pieces = BTreeSet::new();
    while pieces.len() < count {
        let text = texts[dice.below(texts.len() as u64) as usize];
        if pieces.len() % 2 == 0 {
            let run: Vec<char> = runs[dice.below(runs.len() as u64) as usize].chars().collect();
            let length = (2 + dice.below(7) as usize).min(run.len());
            let from = dice.below((run.len() - length + 1) as u64) as usize;
            pieces.insert(run[from..from + length].iter().collect());
        } else {
            // Words of one letter are left out: C++ is none of C.
            let words: Vec<&str> = text.split(' ').collect();
            let length = (1 + dice.below(4) as usize).min(words.len());
            let from = dice.below((words.len() - length + 1) as u64) as usize;
            let plain = |word: &&str| (2..40).contains(&word.len()) && word.chars().all(|c| c.is_ascii_alphabetic());
            if words[from..from + length].iter().all(plain) {
                pieces.insert(words[from..from + length].join(" "));
            }
        }
    }
    pieces
}

#[test]
fn what_is_quoted_is_found_on_every_page_that_has_it_and_on_no_other_and_words_on_more() {
    let Some(served) = pages() else { return };
    let blocks = blocks(&served);
    let site = serve(served);
    let mut sandbox = sandbox(&site);
    sandbox.finish();
    let all: BTreeSet<&String> = blocks.keys().collect();
    let mut counts = [0, 0];
    for piece in pieces(&blocks, &mut Dice::of(27), 60 * scale() as usize) {
        let truth: BTreeSet<&String> =
            all.iter().copied().filter(|path| blocks[*path].iter().any(|block| holds(block, &piece))).collect();
        assert!(!truth.is_empty(), "{piece}");
        let quoted = found(&sandbox, &format!("\"{piece}\""), &[]);
        assert_eq!(quoted["total"].as_u64().unwrap() as usize, truth.len(), "{piece}: {truth:?}\n{quoted}");
        let hits: BTreeSet<String> = paths(&quoted).into_iter().collect();
        assert!(hits.iter().all(|path| truth.contains(path)), "{piece}: {hits:?}");
        let words = found(&sandbox, &piece, &[]);
        assert!(words["total"].as_u64() >= quoted["total"].as_u64(), "{piece}\n{words}");
        counts[usize::from(piece.is_ascii())] += 1;
    }
    assert!(counts.iter().all(|count| *count > 15), "{counts:?}");
    println!("{counts:?} pieces of scripts without spaces and with, {} pages", all.len());
    titles_lead_to_their_pages(&sandbox);
    encodings_and_characters_make_no_difference(&sandbox);
}

/// A page whose title no other has is the first to be found by it.
fn titles_lead_to_their_pages(sandbox: &Sandbox) {
    let known = found(sandbox, "python documentation", &[]);
    let titles: Vec<(String, String)> = known["hits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| (hit["title"].as_str().unwrap().to_owned(), hit["url"].as_str().unwrap().to_owned()))
        .collect();
    let once: Vec<_> =
        titles.iter().filter(|(title, _)| titles.iter().filter(|(t, _)| t == title).count() == 1).collect();
    assert!(once.len() > 40, "{known}");
    // "3. Title — Python 3.12 documentation": what somebody remembers of it.
    let remembered = |title: &str| title.split(" — ").next().unwrap().replace(['"', '-'], " ");
    let first = once
        .iter()
        .filter(|(title, url)| found(sandbox, &remembered(title), &[])["hits"][0]["url"].as_str() == Some(url));
    let first = first.count();
    assert!(first * 100 >= 95 * once.len(), "{first} of {}", once.len());
}

/// Pages in UTF-8, GBK and Big5, in simplified and traditional characters, are found by the same query.
fn encodings_and_characters_make_no_difference(sandbox: &Sandbox) {
    for query in ["图书馆", "圖書館", "\"后来又怎样\"", "\"後來又怎樣\"", "网络蜘蛛图鉴 读者"] {
        let hits: BTreeSet<String> = paths(&found(sandbox, query, &[])).into_iter().collect();
        for path in ["/utf8", "/gbk", "/big5"] {
            assert!(hits.contains(path), "{query}: {hits:?}");
        }
    }
    let hit = found(sandbox, "\"图书馆里保存\" big5", &[]);
    let marked: Vec<&str> = hit["hits"][0]["snippet"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|piece| piece["marked"] == true)
        .map(|piece| piece["text"].as_str().unwrap())
        .collect();
    assert_eq!(marked, ["圖書館裡保存", "big5"], "{hit}");
}

#[test]
fn the_endpoint_searches_while_it_crawls_after_a_kill_too_and_says_what_is_missing() {
    let pages: Served = (0..12)
        .map(|n| {
            let next = (n + 1) % 12;
            let text = format!("<title>Page {n}</title><p>The spider number{n} spins. <a href=\"/{next}\">next</a>");
            (format!("/{n}"), ("text/html".to_owned(), text.into_bytes()))
        })
        .collect();
    let site = serve(pages);
    let mut sandbox = sandbox(&site);
    let mut crawl = Running::start(&mut sandbox, &[]);
    let search = |crawl: &Running, query: &str, wanted: u64| {
        let path = format!("/api/v1/search?q={query}");
        let look = || {
            std::thread::sleep(std::time::Duration::from_millis(20)); // the endpoint answers so many requests a second
            let (code, text) = crawl.get(&path);
            let view: Value = serde_json::from_str(&text).unwrap();
            (code == 200 && view["total"] == wanted).then_some(view)
        };
        until("hits", look, || format!("{:?}\n{}", crawl.get(&path), crawl.daemon.log()))
    };
    let view = search(&crawl, "spider&limit=5", 12);
    assert_eq!(view["hits"].as_array().unwrap().len(), 5);
    let next = view["next"].as_str().unwrap().to_owned();
    let more = search(&crawl, &format!("spider&limit=50&cursor={next}"), 12);
    assert_eq!((more["hits"].as_array().unwrap().len(), &more["next"]), (7, &Value::Null));
    for (path, code, part) in [
        ("search?q=nofield:x", 400, "fields are title"),
        ("search?q=x&sort=best", 400, "expected one of relevance"),
        ("search?q=x&limit=101", 400, "expected 1 to 100"),
        ("search?q=x&cursor=zz", 400, "cursor"),
        ("search?q=x&limit=0", 400, "expected 1 to 100"),
        ("links?url=http://pages.test/3&limit=101", 400, "expected 1 to 100"),
        ("links?url=http://pages.test/3&direction=both", 400, "in or out"),
        ("links?url=http://pages.test/3&direction=in", 200, "http://pages.test/2"),
        ("links?url=pages.test/3&direction=out", 200, "http://pages.test/4"),
    ] {
        let (found, text) = crawl.get(&format!("/api/v1/{path}"));
        assert!(found == code && text.contains(part), "{path}: {found} {text}");
    }
    let (code, told) = crawl.ctl(&["search", "number7"]);
    assert!(code == 0 && told.contains("1. Page 7") && told.contains("The spider [number7] spins."), "{told}");
    let (code, told) = crawl.ctl(&["links", "http://pages.test/3"]);
    assert!(
        code == 0 && told.contains("http://pages.test/2  \"next\"") && told.contains("linked from 2 pages"),
        "{told}"
    );
    let (code, told) = crawl.ctl(&["links", "http://pages.test/3", "--limit", "1"]);
    let next = told.lines().find_map(|line| line.strip_prefix("more: --cursor ")).unwrap_or_else(|| panic!("{told}"));
    assert!(code == 0 && told.lines().count() == 3, "{told}");
    let (code, rest) = crawl.ctl(&["links", "http://pages.test/3", "--cursor", next]);
    assert!(code == 0 && !rest.contains("more: ") && rest.lines().next() != told.lines().next(), "{rest}");
    // The card of a page says of its links what a hit does.
    let view = search(&crawl, "number7", 1);
    let page: Value = serde_json::from_str(&crawl.get("/api/v1/page?url=pages.test/7&include=card").1).unwrap();
    for field in ["in_links", "in_external", "priority"] {
        assert_eq!(page["linked"][field], view["hits"][0][field], "{field}: {page}");
    }
    assert_eq!(page["linked"]["in_links"], 2);

    let data = sandbox.data();
    for (command, words) in [
        (&["search", "spider"][..], "ask it with `lycosa ctl search`"),
        (&["index", "status"], "ask it with `lycosa ctl index`"),
        (&["index", "build"], "`lycosa ctl set index.enabled=true`"),
        (&["replay", "--what", "links"], "can be replayed with --warc FILE"),
    ] {
        let refused = program().args(command).arg("--data").arg(&data).output().unwrap();
        let told = String::from_utf8_lossy(&refused.stderr);
        assert!(refused.status.code() == Some(2) && told.contains(words), "{command:?}: {told}");
    }

    assert_eq!(crawl.post("/api/v1/hosts/pages.test/block", "", "").0, 200);
    search(&crawl, "spider", 0);
    for direction in ["in", "out"] {
        let (_, text) = crawl.get(&format!("/api/v1/links?url=http://pages.test/3&direction={direction}"));
        let view: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&view["total"], &view["items"]), (&0.into(), &serde_json::json!([])), "{view}");
    }
    assert_eq!(crawl.post("/api/v1/hosts/pages.test/unblock", "", "").0, 200);
    crawl.daemon.signal(Signal::SIGKILL);
    crawl.daemon.wait();
    crawl = Running::start(&mut sandbox, &[]);
    let view = search(&crawl, "spider&sort=in_links&explain=1", 12);
    assert!(view["hits"][0]["why"].as_array().unwrap().len() > 3, "{view}");
    crawl.daemon.signal(Signal::SIGTERM);
    crawl.end();
}

#[test]
fn kinds_of_a_language_ruby_and_the_words_of_a_crawl_are_found_without_its_configuration() {
    let page = |path: &str, text: &str| (path.to_owned(), ("text/html".to_owned(), text.as_bytes().to_vec()));
    let spiders = "狼蛛科动物不结网。狼蛛科动物在地上跑。人们看见狼蛛科动物，狼蛛科动物也看见人们。";
    let ruby = "<html lang=ja><meta charset=utf-8><p><ruby>蜘<rp>(</rp><rt>く</rt><rp>)</rp>蛛<rp>(</rp><rt>も</rt><rp>)</rp></ruby>の\
                <ruby>図鑑<rt>ずかん</ruby>を髙﨑さんが読む。";
    let site = serve(Served::from([
        page("/tw", &format!("<html lang=zh-Hant-TW><meta charset=utf-8><title>台灣</title><p>{spiders}")),
        page("/cn", &format!("<html lang=zh_cn><meta charset=utf-8><p>{spiders}二")),
        page("/zh", &format!("<html lang=zh><meta charset=utf-8><p>{spiders}三")),
        page("/ruby", ruby),
    ]));
    let words = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(words.path(), "# spiders\n狼蛛科动物\n").unwrap();
    let mut sandbox = sandbox(&site);
    sandbox.also(&format!("index.dictionary = {:?}\nindex.keywords = \"first\"\n", words.path()));
    sandbox.finish();
    for (query, wanted) in [
        ("lang:zh", &["/cn", "/tw", "/zh"][..]),
        ("lang:zh-TW", &["/tw"]),
        ("lang:zh-hant", &["/tw"]),
        ("lang:zh-Hant-TW", &["/tw"]),
        ("lang:zh-CN", &["/cn"]),
        ("lang:zh-HK", &[]),
        ("lang:ja", &["/ruby"]),
        ("\"蜘蛛の図鑑を\"", &["/ruby"]),
        ("ずかん", &["/ruby"]),
        ("\"くも\"", &["/ruby"]),
        ("\"高崎さん\"", &["/ruby"]),
    ] {
        let mut hits = paths(&found(&sandbox, query, &[]));
        hits.sort();
        assert_eq!(hits, wanted, "{query}");
    }
    // Words and keywords are those of the crawl, without and with its file.
    let data = sandbox.data();
    let searched = run(&[&"search" as &dyn AsRef<std::ffi::OsStr>, &"狼蛛科动物", &"--data", &data], None).done();
    assert!(searched.contains("3 pages"), "{searched}");
    let (config, to) = (sandbox.config_file(), sandbox.beside("cards.jsonl"));
    let exported = |more: &[&dyn AsRef<std::ffi::OsStr>]| {
        let of: [&dyn AsRef<std::ffi::OsStr>; 7] = [&"export", &"jsonl", &"--force", &"--data", &data, &"--to", &to];
        run(&[&of[..], more].concat(), None).done();
        std::fs::read_to_string(&to).unwrap()
    };
    let (without, with) = (exported(&[]), exported(&[&"--config", &config]));
    assert_eq!(without, with);
    let lines: Vec<Value> = without.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let card = |path: &str| &lines.iter().find(|line| line["url"].as_str().unwrap().ends_with(path)).unwrap()["card"];
    assert_eq!(card("/zh")["keywords"][0]["word"], "狼蛛科动物", "{without}");
    assert_eq!(card("/tw")["keywords"].as_array().unwrap().len(), 1, "the title's alone: {without}");
}
