//! What changed: the report of changes, and two captures of a page compared, while the crawl runs and when it is at rest.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex};

use encoding_rs::GBK;
use serde_json::{Value, json};

use crate::admin::Running;
use crate::sandbox::{Daemon, program};
use crate::site::{Site, html, none, page};

type Pages = Arc<Mutex<BTreeMap<&'static str, Vec<u8>>>>;

/// A page of paragraphs with a title.
fn text(title: &str, paragraphs: &[&str]) -> String {
    let paragraphs: String = paragraphs.iter().map(|text| format!("<p>{text}</p>")).collect();
    format!("<html><head><title>{title}</title></head><body>{paragraphs}</body></html>")
}

/// The same in GBK.
fn in_gbk(title: &str, paragraphs: &[&str]) -> Vec<u8> {
    let text = text(title, paragraphs);
    let (body, ..) = GBK.encode(&text);
    let head = format!("Content-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    [&b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=gbk\r\n"[..], head.as_bytes(), &body].concat()
}

/// An HTML page.
fn shown(body: &str) -> Vec<u8> {
    html(body).into_bytes()
}

/// A page that is no text.
fn binary(body: &str) -> Vec<u8> {
    page(200, "application/octet-stream", "", body).into_bytes()
}

fn home(links: &[&str]) -> Vec<u8> {
    shown(&links.iter().map(|link| format!("<a href='{link}'>{link}</a> ")).collect::<String>())
}

const LINKS: [&str; 9] = ["/same", "/edited", "/dying", "/moving", "/chinese", "/bytes", "/clock", "/token", "/boxes"];

/// A long text without digits.
fn many_words() -> String {
    let letter = |n: u32| char::from(b'a' + u8::try_from(n % 26).unwrap());
    (0..800).map(|n| format!("w{}{}{} ", letter(n / 26), letter(n), letter(n * 7))).collect()
}

/// The site as it is first.
fn site() -> (Site, Pages) {
    let pages = Pages::default();
    let served = pages.clone();
    let site =
        Site::http(move |_, path| served.lock().unwrap().get(path).cloned().unwrap_or_else(|| none().into_bytes()));
    let first = [
        ("/", home(&LINKS)),
        ("/same", shown(&text("Same", &["What never changes."]))),
        ("/edited", shown(&text("Before", &["The first.", "The second.", "The third.", "The fourth.", "The fifth."]))),
        ("/dying", shown(&text("Alive", &["It lives."]))),
        ("/moving", shown(&text("Here", &["It is here."]))),
        ("/chinese", in_gbk("歷史", &["山木。", "十石。", "目。"])),
        ("/bytes", binary("\u{1}\u{2}one")),
        ("/clock", shown(&text("时间", &["更新时间 2026年11月28日，浏览 31 次。"]))),
        ("/token", shown("<title>Form</title><p>Sign in.</p><input type=hidden name=csrf value=a1>")),
        ("/boxes", shown(&text("Boxes", &[&many_words(), "Read today: apples."]))),
    ];
    pages.lock().unwrap().extend(first);
    (site, pages)
}

fn change(pages: &Pages) {
    let mut pages = pages.lock().unwrap();
    pages.remove("/dying");
    let fresh = shown(&text("Fresh", &["Newly there."]));
    pages.extend([
        ("/", home(&[&LINKS[..], &["/fresh"]].concat())),
        ("/edited", shown(&text("After", &["The first.", "The second.", "Another.", "The fourth.", "The fifth."]))),
        ("/moving", page(301, "text/html", "Location: /fresh\r\n", "").into_bytes()),
        ("/chinese", in_gbk("歷史", &["山木。", "台上。", "目。"])),
        ("/bytes", binary("\u{1}\u{2}two")),
        ("/fresh", fresh),
        ("/clock", shown(&text("时间", &["更新时间 2026年11月30日，浏览 407 次。"]))),
        ("/token", shown("<title>Form</title><p>Sign in.</p><input type=hidden name=csrf value=b2>")),
        ("/boxes", shown(&text("Boxes", &[&many_words(), "Read today: pears."]))),
    ]);
}

fn start(site: &Site, folder: &Path) -> Running {
    let (address, config) = (site.address, folder.join("lycosa.toml"));
    let settings = format!(
        "crawl.seeds = [\"http://a.test/\"]\nadmin.listen = \"127.0.0.1:0\"\nnet.allow = [\"127.0.0.1/32:{}\"]\n\
         dns.overrides = {{ \"*.test\" = \"{address}\" }}\ndisk.pause_below = \"1MB\"\ndisk.reserve = 0\nstore.memory = \"32MiB\"\n\
         politeness.min_delay = \"1ms\"\npoliteness.delay_factor = 0\n",
        address.port()
    );
    std::fs::write(&config, settings).unwrap();
    let mut command = program();
    command.arg("run").arg(&config).arg("--data").arg(folder.join("data")).arg("--no-progress");
    Running::of(Daemon::spawn(command, folder.join("log")))
}

/// Waits until nothing is left to do and the feed shows so many entries.
fn until_fed(crawl: &Running, entries: u64) {
    crawl.until_status("the end of the crawl", |s| s.waiting + s.processing == 0 && s.done > 0);
    let feed = || -> Option<Value> { serde_json::from_str(&crawl.get("/api/v1/feed?limit=1").1).ok() };
    let fed = || feed().filter(|feed| feed["high"].as_u64() >= Some(entries));
    let fed = crate::sandbox::until("the feed", fed, || crawl.daemon.log());
    assert_eq!(fed["high"], entries);
}

/// Kind and path of each change, page by page, each page of so many.
fn changes(crawl: &Running, query: &str, limit: usize) -> Vec<(String, String)> {
    let (mut found, mut cursor) = (Vec::new(), String::new());
    loop {
        let (status, answer) = crawl.get(&format!("/api/v1/reports/changes?limit={limit}{query}{cursor}"));
        assert_eq!(status, 200, "{answer}");
        let page: Value = serde_json::from_str(&answer).unwrap();
        let items = page["items"].as_array().unwrap();
        assert!(items.len() <= limit);
        let text = |item: &Value, field: &str| item[field].as_str().unwrap().to_owned();
        found.extend(items.iter().map(|i| (text(i, "kind"), text(i, "url").replace("http://a.test", ""))));
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return found,
        }
    }
}

fn pairs(all: &[(&str, &str)]) -> BTreeSet<(String, String)> {
    all.iter().map(|(kind, path)| ((*kind).to_owned(), (*path).to_owned())).collect()
}

fn now_ms() -> u128 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis()
}

#[test]
fn what_is_new_changed_gone_back_and_moved_is_reported_by_time_kind_and_host_and_a_page_at_a_time() {
    let (site, pages) = site();
    let folder = tempfile::tempdir().unwrap();
    let crawl = start(&site, folder.path());
    until_fed(&crawl, 10);
    let first: BTreeSet<_> = changes(&crawl, "", 1000).into_iter().collect();
    let mut expected = pairs(&LINKS.map(|path| ("new", path)));
    expected.insert(("new".into(), "/".into()));
    assert_eq!(first, expected);
    let between = now_ms();
    change(&pages);
    assert_eq!(crawl.ctl(&["host", "a.test", "recrawl"]).0, 0);
    until_fed(&crawl, 21);
    let since = format!("&since={between}");
    let second = changes(&crawl, &since, 1000);
    let expected = pairs(&[
        ("changed", "/"),
        ("changed", "/edited"),
        ("changed", "/chinese"),
        ("changed", "/bytes"),
        ("gone", "/dying"),
        ("moved", "/moving"),
        ("new", "/fresh"),
        ("numbers", "/clock"),
        ("little", "/boxes"),
    ]);
    assert_eq!(second.iter().cloned().collect::<BTreeSet<_>>(), expected);
    let markup = pairs(&[("markup", "/token")]);
    assert_eq!(changes(&crawl, "&kind=markup", 5).into_iter().collect::<BTreeSet<_>>(), markup, "told when asked for");
    // Fetched again, what is as it was is no change: not the page that redirects either, nor the one that is gone still.
    let later = now_ms();
    pages.lock().unwrap().insert("/dying", shown(&text("Alive", &["It lives again."])));
    assert_eq!(crawl.ctl(&["urls", "retry"]).0, 0);
    until_fed(&crawl, 22);
    assert_eq!(crawl.ctl(&["host", "a.test", "recrawl"]).0, 0);
    until_fed(&crawl, 33);
    let third: BTreeSet<_> = changes(&crawl, &format!("&since={later}"), 1000).into_iter().collect();
    assert_eq!(third, pairs(&[("back", "/dying")]));
    // The same a page at a time, by kind, by host, and before a moment.
    assert_eq!(changes(&crawl, &format!("{since}&until={later}"), 1), second);
    assert_eq!(changes(&crawl, "&kind=gone,moved", 2).len(), 2);
    assert_eq!(changes(&crawl, "&host=b.test", 5), []);
    assert_eq!(changes(&crawl, "&since=0s", 5), [], "nothing came since now");
    assert_eq!(changes(&crawl, "&host=a.test&since=1d", 3).len(), 10 + 9 + 1);
    for (query, why) in [
        ("kind=lost", "kind=lost: expected some of new, changed, little, numbers, markup, gone, back, moved, failed"),
        ("since=yesterday", "since=yesterday: expected milliseconds since 1970"),
        ("until=2026-13-01", "until=2026-13-01: expected"),
        ("limit=0", "expected 1 to 1000"),
    ] {
        let (status, answer) = crawl.get(&format!("/api/v1/reports/changes?{query}"));
        assert!(status == 400 && answer.contains(why), "{query}: {answer}");
    }
    let gone = crawl.ctl(&["--json", "report", "changes", "--kind", "gone"]).1;
    let gone: Value = serde_json::from_str(&gone).unwrap();
    assert_eq!(
        (&gone["status"], &gone["status_before"], &gone["title_before"], &gone["reason"]),
        (&json!(404), &json!(200), &json!("Alive"), &json!("status_4xx"))
    );
    let (code, table) = crawl.ctl(&["report", "changes", "--since", "1h", "--kind", "moved"]);
    assert_eq!(code, 0);
    assert!(
        table.starts_with("when,kind,url,status,title,target,reason,status_before,title_before,when_before\r\n"),
        "{table}"
    );
    assert!(table.contains("Z,moved,http://a.test/moving,301,,http://a.test/fresh,,200,Here,"), "{table}");
    assert_eq!(crawl.ctl(&["report", "seeds", "--since", "1h"]).0, 2);
    assert_eq!(crawl.ctl(&["stop"]).0, 0);
    crawl.end();
}

#[test]
fn two_captures_are_compared_by_their_blocks_while_the_crawl_runs_and_at_rest_or_it_is_said_why_not() {
    let (site, pages) = site();
    let folder = tempfile::tempdir().unwrap();
    let crawl = start(&site, folder.path());
    until_fed(&crawl, 10);
    let between = now_ms();
    change(&pages);
    assert_eq!(crawl.ctl(&["host", "a.test", "recrawl"]).0, 0);
    until_fed(&crawl, 21);
    let diff = |path: &str| {
        let (status, answer) = crawl.get(&format!("/api/v1/diff?url=http://a.test{path}"));
        (status, serde_json::from_str::<Value>(&answer).unwrap())
    };
    let line = |sign: &str, text: &str| json!({ "sign": sign, "text": text });
    let (status, edited) = diff("/edited");
    assert_eq!(status, 200, "{edited}");
    let lines = [
        line("…", "1"),
        line(" ", "The second."),
        line("-", "The third."),
        line("+", "Another."),
        line(" ", "The fourth."),
        line("…", "1"),
    ];
    assert_eq!(edited["lines"], Value::from(lines.to_vec()));
    assert_eq!((&edited["from"]["title"], &edited["to"]["title"]), (&json!("Before"), &json!("After")));
    assert_eq!(
        (&edited["removed"], &edited["added"], &edited["same"], &edited["cut"]),
        (&json!(1), &json!(1), &json!(4), &json!(false))
    );
    let (_, chinese) = diff("/chinese");
    assert_eq!(
        chinese["lines"],
        Value::from(vec![line(" ", "山木。"), line("-", "十石。"), line("+", "台上。"), line(" ", "目。")])
    );
    assert_eq!(chinese["to"]["title"], "歷史");
    let (_, dying) = diff("/dying");
    assert_eq!((&dying["from"]["status"], &dying["to"]["status"]), (&json!(200), &json!(404)));
    assert_eq!(dying["lines"], Value::from(vec![line("-", "It lives."), line("+", "none")]));
    let (_, moving) = diff("/moving");
    assert_eq!((&moving["to"]["status"], &moving["to"]["target"]), (&json!(301), &json!("http://a.test/fresh")));
    for (path, status, why) in [
        ("/fresh", 404, "there is one capture of http://a.test/fresh only"),
        ("/same", 404, "the content of http://a.test/same is the same"),
        ("/bytes", 415, "there is no text in the capture of"),
        ("/nothing", 404, "there is no capture of http://a.test/nothing"),
        (
            "/edited&from=1970-01-02",
            404,
            "there is no capture of http://a.test/edited of 1970-01-02T00:00:00.000Z or before",
        ),
        ("/edited&from=x", 400, "from=x: expected milliseconds since 1970"),
    ] {
        let (found, problem) = diff(path);
        assert!(found == status && problem["detail"].as_str().unwrap().contains(why), "{path}: {problem}");
    }
    // Captures named by a moment: two of them, the older one first.
    let (_, named) = diff(&format!("/edited&from={between}"));
    assert_eq!((&named["from"], &named["lines"]), (&edited["from"], &edited["lines"]));
    for (moments, why) in [
        (format!("to={between}&from={between}"), "both moments name one capture"),
        (format!("to={between}&from=0s"), "turn them round"),
    ] {
        let (status, problem) = diff(&format!("/edited&{moments}"));
        assert!(status == 400 && problem["detail"].as_str().unwrap().contains(why), "{moments}: {problem}");
    }
    let (code, told) = crawl.ctl(&["diff", "a.test/edited"]);
    assert_eq!(code, 0);
    assert!(told.contains("\n… 1 block\n  The second.\n- The third.\n+ Another.\n  The fourth.\n… 1 block\n1 block removed, 1 added, 4 as before\n"), "{told}");
    let told: Value = serde_json::from_str(&crawl.ctl(&["--json", "diff", "a.test/edited"]).1).unwrap();
    assert_eq!(told, edited);

    let data = folder.path().join("data");
    let at_rest = |arguments: &[&str]| {
        let output = program().arg("diff").args(arguments).arg("--data").arg(&data).output().unwrap();
        let text = [&output.stdout, &output.stderr].map(|t| String::from_utf8_lossy(t).into_owned()).concat();
        (output.status.code().unwrap(), text)
    };
    let (code, told) = at_rest(&["http://a.test/edited"]);
    assert!(code == 2 && told.contains("lycosa ctl diff"), "{told}");
    assert_eq!(crawl.ctl(&["stop"]).0, 0);
    crawl.end();
    let (code, told) = at_rest(&["a.test/edited", "--json"]);
    assert_eq!((code, serde_json::from_str::<Value>(&told).unwrap()), (0, edited), "{told}");
    let (code, told) = at_rest(&["a.test/chinese"]);
    assert!(code == 0 && told.contains("\n- 十石。\n+ 台上。\n"), "{told}");
    assert!(!told.contains('\u{1b}'), "no colours where there is no terminal: {told}");
    assert_eq!(at_rest(&["a.test/fresh"]).0, 1);
    let (code, told) = at_rest(&["a.test/never"]);
    assert!(code == 1 && told.contains("crawl.jsonl of the data folder") && !told.contains("ctl"), "{told}");
    assert_eq!(at_rest(&["a.test/edited", "--from", "x"]).0, 2);
    for file in std::fs::read_dir(data.join("warc")).unwrap() {
        let file = file.unwrap().path();
        if file.extension().is_some_and(|ending| ending == "gz") {
            std::fs::remove_file(file).unwrap();
        }
    }
    let (code, told) = at_rest(&["a.test/edited"]);
    assert!(code == 1 && told.contains("is not in the folder any more: it was moved, or copied elsewhere"), "{told}");
}
