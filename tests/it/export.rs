//! Exports of a folder at rest, as a user makes them: each format read by the tool it is for, and compared with the feed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use lycosa::testweb::TestWebConfig;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::admin::Running;
use crate::checkpoint::until_requests;
use crate::sandbox::{Sandbox, program, scale, until};
use crate::site::{Site, page};
use crate::warc_tools::{check, python};

const SETTINGS: &str = "politeness.min_delay = \"1ms\"\npoliteness.delay_factor = 0\nstore.memory = \"32MiB\"\n\
                        store.warc_max_size = \"1MB\"\n";

fn web(pages: u32) -> TestWebConfig {
    TestWebConfig {
        hosts: 3,
        pages,
        min_size: 40_000,
        max_size: 60_000,
        duplicates: 0.2,
        redirects: 0.1,
        gzip: 0.3,
        chunked: 0.3,
        errors: 0.05,
        error_status: vec![404, 410],
        ..TestWebConfig::default()
    }
}

/// A crawl that came to its end, had one of its hosts fetched once more, and was stopped; and its feed.
fn crawled(pages: u32) -> (Sandbox, Vec<Value>) {
    let mut sandbox = Sandbox::new(web(pages), SETTINGS);
    sandbox.finish();
    let crawl = Running::start(&mut sandbox, &[]);
    let high = || {
        let answer = Some(crawl.get("/api/v1/feed?limit=1")).filter(|answer| answer.0 == 200)?;
        serde_json::from_str::<Value>(&answer.1).unwrap()["high"].as_u64()
    };
    let before = until("the feed", high, || crawl.daemon.log());
    let (code, told) = crawl.ctl(&["host", "h1.test", "recrawl"]);
    assert_eq!(code, 0, "{told}");
    let all_again =
        || (high()? > before && crawl.status().waiting == 0 && crawl.status().processing == 0).then_some(());
    until("pages fetched again", all_again, || crawl.daemon.log());
    until(
        "the end of the job",
        || crawl.get("/api/v1/jobs").1.contains("\"done\"").then_some(()),
        || crawl.daemon.log(),
    );
    let (_, lines) = crawl.get("/api/v1/feed?format=ndjson");
    let feed: Vec<Value> =
        lines.lines().filter(|l| l.starts_with('{')).map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(crawl.ctl(&["stop"]).0, 0);
    crawl.end();
    (sandbox, feed)
}

fn export(data: &Path, format: &str, to: &Path, more: &[&str]) -> Output {
    let mut command = program();
    command.arg("export").arg(format).arg("--data").arg(data).arg("--to").arg(to).arg("--no-progress");
    command.args(more).output().unwrap()
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// What its report says.
fn made(data: &Path, format: &str, to: &Path, more: &[&str]) -> Value {
    let output = export(data, format, to, &[more, &["--json"]].concat());
    assert!(output.status.success(), "{}", text(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["counts"]["unread"], 0, "{report}");
    report
}

fn read(python: &std::ffi::OsStr, what: &str, path: &Path) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/export_tools.py");
    let done = Command::new(python).arg(script).arg(what).arg(path).output().unwrap();
    assert!(done.status.success(), "{}", text(&done));
    serde_json::from_slice(&done.stdout).unwrap()
}

fn url(item: &Value) -> &str {
    item["url"].as_str().unwrap()
}

fn seqs<'v>(items: impl IntoIterator<Item = &'v Value>) -> Vec<u64> {
    items.into_iter().map(|item| item["seq"].as_u64().unwrap()).collect()
}

/// The entries with a capture; and of these the newest of each page.
fn captures(feed: &[Value]) -> (Vec<Value>, Vec<Value>) {
    let all: Vec<Value> = feed.iter().filter(|item| item["capture"].is_object()).cloned().collect();
    let last: BTreeMap<&str, u64> = all.iter().map(|item| (url(item), item["seq"].as_u64().unwrap())).collect();
    let newest = all.iter().filter(|item| last[url(item)] == item["seq"].as_u64().unwrap()).cloned().collect();
    (all, newest)
}

/// File and place of a record, and its bytes.
fn place(dir: &Path, of: &Value) -> ((String, u64), Vec<u8>) {
    let number = |name: &str| of[name].as_u64().or_else(|| of[name].as_str()?.parse().ok()).unwrap();
    let file = of["file"].as_str().or(of["filename"].as_str()).unwrap();
    let (offset, length) = (number("offset") as usize, number("length") as usize);
    let bytes = fs::read(dir.join(file)).unwrap();
    ((file.to_owned(), offset as u64), bytes[offset..offset + length].to_vec())
}

fn json_of(line: &str) -> Value {
    serde_json::from_str(&line[line.find('{').unwrap()..]).unwrap()
}

/// The lines of all indexes of a folder.
fn index_lines(dir: &Path) -> Vec<String> {
    let files = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let texts =
        files.filter(|path| path.extension().is_some_and(|e| e == "cdxj")).map(|p| fs::read_to_string(p).unwrap());
    texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect()
}

#[test]
fn each_format_holds_what_the_feed_tells_is_read_by_other_tools_and_has_the_same_bytes_again() {
    let Some(python) = python() else { return };
    let (sandbox, feed) = crawled(30 * scale());
    let (data, out) = (sandbox.data(), sandbox.beside("out"));
    let (all, newest) = captures(&feed);
    assert!(all.len() > newest.len() && newest.len() < feed.len(), "{} {} {}", feed.len(), all.len(), newest.len());
    let twice = |format: &str, name: &str, more: &[&str]| -> (Value, PathBuf) {
        let [first, second] = ["one", "two"].map(|folder| {
            let to = out.join(folder).join(name);
            let mut report = made(&data, format, &to, more);
            report["to"].take();
            (report, to)
        });
        assert_eq!(first.0, second.0, "{format} says another thing of the same");
        let same =
            Command::new("diff").arg("-r").arg(first.1.parent().unwrap()).arg(second.1.parent().unwrap()).output();
        assert_eq!(text(&same.unwrap()), "", "{format} is not the same again");
        first
    };
    jsonl(&python, &twice, (&all, &newest));
    rights(&twice, &data.join("warc"), &all);
    cdxj(&twice, &data.join("warc"), &all);
    warc(&python, &twice, &data.join("warc"), &newest);
    wacz(&python, &twice, &newest);
    sitemap(&python, &twice, &newest);
    let split = seqs(&all)[all.len() / 2];
    let split_at = split.to_string();
    let rest = made(&data, "jsonl", &out.join("rest.jsonl"), &["--all", "--after", &split_at]);
    let lines = read(&python, "jsonl", &out.join("rest.jsonl"));
    assert_eq!(seqs(lines.as_array().unwrap()), seqs(all.iter().filter(|item| item["seq"].as_u64() > Some(split))));
    assert_eq!(rest["feed"]["last"], feed.last().unwrap()["seq"]);
    // What goes on has other names, so that both fit into one folder.
    let names = |of: &Value| -> BTreeSet<String> {
        of["files"].as_array().unwrap().iter().map(|file| file["name"].as_str().unwrap().to_owned()).collect()
    };
    let parts = [vec!["--all"], vec!["--all", "--after", split_at.as_str()]];
    let parts = parts.map(|more| made(&data, "warc", &out.join(format!("part{}", more.len())), &more));
    assert!(names(&parts[0]).is_disjoint(&names(&parts[1])), "{parts:?}");
}

type Twice<'a> = &'a dyn Fn(&str, &str, &[&str]) -> (Value, PathBuf);

fn jsonl(python: &std::ffi::OsStr, twice: Twice<'_>, (all, newest): (&[Value], &[Value])) {
    for (name, more, expected) in
        [("pages.jsonl.zst", &["--links", "--text"][..], newest), ("all.jsonl.gz", &["--all"], all)]
    {
        let (report, path) = twice("jsonl", name, more);
        let lines = read(python, "jsonl", &path);
        let lines = lines.as_array().unwrap();
        assert_eq!(seqs(lines), seqs(expected), "{name}");
        assert_eq!(report["counts"]["pages"], expected.len());
        for (line, item) in lines.iter().zip(expected) {
            let (mut own, is_page) = (line.clone(), item["kind"] == "first" && item["capture"]["status"] == 200);
            let card = own["card"].take();
            assert_eq!(card["title"], if is_page { item["capture"]["title"].clone() } else { card["title"].clone() });
            assert!(!is_page || card["keywords"].as_array().unwrap().len() == 10, "{line}");
            if name.starts_with("pages") && is_page {
                assert!(own["text"].as_str().unwrap().len() > 1_000, "{line}");
                let links = own["links"].as_array().unwrap();
                let targets: BTreeSet<&str> = links.iter().map(|link| link["url"].as_str().unwrap()).collect();
                assert_eq!(item["capture"]["out_links"].as_u64(), Some(targets.len() as u64), "{line}");
                assert!(links.iter().any(|link| link["text"] != "" && link["kind"] == "L"), "{line}");
            }
            let own = own.as_object_mut().unwrap();
            own.retain(|name, _| item.get(name).is_some());
            assert_eq!(Value::from(own.clone()), *item);
        }
    }
}

/// Each page has the newest robots.txt of its host that was there when it was fetched, as the indexes tell.
fn rights(twice: Twice<'_>, archive: &Path, all: &[Value]) {
    let (_, path) = twice("jsonl", "rights.jsonl", &["--all", "--rights"]);
    let time = |line: &str| line.split(' ').nth(1).unwrap().to_owned();
    let mut lines = index_lines(archive);
    lines.retain(|line| line.contains("/robots.txt\""));
    lines.sort_by_key(|line| time(line));
    for (line, item) in fs::read_to_string(path).unwrap().lines().map(json_of).zip(all) {
        let captured = item["capture"]["captured_ms"].as_i64().unwrap();
        let at = jiff::Timestamp::from_millisecond(captured).unwrap().strftime("%Y%m%d%H%M%S").to_string();
        let of = format!("http://{}/robots.txt", url(item).split('/').nth(2).unwrap());
        let newest = lines.iter().rfind(|line| time(line) <= at && url(&json_of(line)) == of).unwrap();
        let found = &line["rights"]["robots"];
        let found = (found["file"].as_str().unwrap().to_owned(), found["offset"].as_u64().unwrap());
        assert_eq!(found, place(archive, &json_of(newest)).0, "{line}");
    }
}

/// The lines are those of the archive itself; robots.txt is no page.
fn cdxj(twice: Twice<'_>, archive: &Path, all: &[Value]) {
    let (report, path) = twice("cdxj", "index.cdxj", &["--all"]);
    let places: BTreeSet<_> = all.iter().map(|item| place(archive, &item["capture"]["warc"]).0).collect();
    let mut expected = index_lines(archive);
    expected.retain(|line| places.contains(&place(archive, &json_of(line)).0));
    expected.sort();
    assert_eq!(fs::read_to_string(path).unwrap().lines().collect::<Vec<_>>(), expected);
    assert_eq!(report["counts"]["of_format"]["lines"], expected.len());
    assert!(expected.iter().any(|line| line.contains("warc/revisit")), "no revisit was crawled");
}

/// Members as they are, with those that revisits refer to.
fn warc(python: &std::ffi::OsStr, twice: Twice<'_>, archive: &Path, newest: &[Value]) {
    let (report, dir) = twice("warc", "warcs", &["--size", "100KB"]);
    let (passed, told) = check(python, &dir, None);
    assert!(passed, "{told}");
    let lines = index_lines(&dir);
    let members: BTreeSet<Vec<u8>> = lines.iter().map(|line| place(&dir, &json_of(line)).1).collect();
    assert_eq!(members.len(), lines.len());
    for item in newest {
        assert!(members.contains(&place(archive, &item["capture"]["warc"]).1), "{item}");
    }
    let counts = &report["counts"]["of_format"];
    let referred = counts["referred_to"].as_u64().unwrap();
    assert_eq!(
        (counts["captures"].as_u64(), lines.len() as u64),
        (Some(newest.len() as u64), newest.len() as u64 + referred)
    );
    assert!(referred > 0 && report["files"].as_array().unwrap().len() > 4, "{report}");
    let of = |kind: bool| lines.iter().map(|l| json_of(l)).filter(move |l| (l["mime"] == "warc/revisit") == kind);
    let digests: BTreeSet<String> = of(false).map(|line| line["digest"].to_string()).collect();
    assert!(of(true).all(|line| digests.contains(&line["digest"].to_string())), "a revisit leads nowhere");
}

fn wacz(python: &std::ffi::OsStr, twice: Twice<'_>, newest: &[Value]) {
    let (report, path) = twice("wacz", "site.wacz", &["--text", "--size", "100KB"]);
    let found = read(python, "wacz", &path);
    let referred = report["counts"]["of_format"]["referred_to"].as_u64().unwrap();
    assert_eq!(found["lines"].as_array().unwrap().len() as u64, newest.len() as u64 + referred);
    assert!(found["warcs"].as_u64() > Some(2) && found["package"]["wacz_version"] == "1.1.1", "{}", found["package"]);
    let is_page = |item: &&Value| item["capture"]["status"] == 200 && item["capture"]["mime"] == "text/html";
    let expected: Vec<&str> = newest.iter().filter(is_page).map(url).collect();
    let pages = found["pages"].as_array().unwrap();
    assert_eq!(pages.iter().map(url).collect::<Vec<_>>(), expected);
    assert!(pages.iter().all(|page| page["text"].as_str().unwrap().len() > 1_000), "{}", pages[0]);
    assert_eq!((&found["head"]["hasText"], &found["package"]["mainPageUrl"]), (&true.into(), &pages[0]["url"]));
}

fn sitemap(python: &std::ffi::OsStr, twice: Twice<'_>, newest: &[Value]) {
    let (_, dir) = twice("sitemap", "maps", &["--base", "https://h0.test/maps/"]);
    let found = read(python, "sitemap", &dir);
    let is_there = |item: &&Value| item["capture"]["status"] == 200;
    let expected: BTreeSet<&str> = newest.iter().filter(is_there).map(url).collect();
    let urls = found["urls"].as_object().unwrap();
    assert_eq!(urls.keys().map(String::as_str).collect::<BTreeSet<_>>(), expected);
    assert_eq!(found["named"], serde_json::json!(["https://h0.test/maps/sitemap-00001.xml"]));
    // What was fetched again had not changed since it was fetched first.
    let again = newest.iter().find(|item| item["kind"] == "unchanged").unwrap();
    let captured = again["capture"]["captured_ms"].as_i64().unwrap();
    let changed: jiff::Timestamp = urls[url(again)].as_str().unwrap().parse().unwrap();
    assert!(changed.as_millisecond() < captured, "{again} {changed}");
}

#[test]
fn pages_whose_record_is_gone_or_damaged_are_counted_and_named_and_the_others_are_exported() {
    let mut sandbox = Sandbox::new(web(30), SETTINGS);
    sandbox.finish();
    let (data, out) = (sandbox.data(), sandbox.beside("out"));
    let whole = made(&data, "jsonl", &out.join("whole.jsonl"), &[]);
    let text_of = |path: &Path| fs::read_to_string(path).unwrap();
    let lines: Vec<Value> = text_of(&out.join("whole.jsonl")).lines().map(json_of).collect();
    // An ordinary page of the first file is damaged; the second file is moved away.
    let is_page = |line: &&Value| line["capture"]["how"] == "stored" && line["capture"]["status"] == 200;
    let files: BTreeSet<&str> = lines.iter().map(|line| line["capture"]["warc"]["file"].as_str().unwrap()).collect();
    let [first, gone] = [0, 1].map(|nth| *files.iter().nth(nth).unwrap());
    let of =
        |file: &str| lines.iter().filter(|line| line["capture"]["warc"]["file"] == *file).cloned().collect::<Vec<_>>();
    let damaged = of(first).into_iter().rfind(|line| is_page(&line)).unwrap();
    let warc = &damaged["capture"]["warc"];
    let path = data.join("warc").join(first);
    let mut bytes = fs::read(&path).unwrap();
    let middle = (warc["offset"].as_u64().unwrap() + warc["length"].as_u64().unwrap() / 2) as usize;
    bytes[middle] ^= 0x55;
    fs::write(&path, bytes).unwrap();
    fs::rename(data.join("warc").join(gone), sandbox.beside("moved.warc.gz")).unwrap();

    let report = |format: &str, name: &str| -> Value {
        let output = export(&data, format, &out.join(name), &["--json"]);
        assert!(output.status.success(), "{}", text(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let told = report("warc", "warcs");
    let missing = of(gone).len() as u64;
    let unread = told["unread"].as_array().unwrap();
    let named = |url: &Value, why: &str| {
        unread.iter().any(|page| page["url"] == *url && page["why"].as_str().unwrap().contains(why))
    };
    assert!(named(&damaged["url"], "cannot be read"), "{told}");
    assert!(of(gone).iter().all(|line| named(&line["url"], "is not in the folder any more")), "{told}");
    let number = |told: &Value, name: &str| told["counts"][name].as_u64().unwrap();
    assert_eq!(number(&told, "pages"), lines.len() as u64 - missing - 1);
    assert!(number(&told, "unread") > missing && told["counts"]["of_format"]["captures"] == number(&told, "pages"));
    // A line of jsonl has what is known without the record, and says what is missing.
    let told = report("jsonl", "pages.jsonl");
    assert_eq!((number(&told, "pages"), &told["feed"]), (lines.len() as u64, &whole["feed"]));
    let again: Vec<Value> = text_of(&out.join("pages.jsonl")).lines().map(json_of).collect();
    let line = again.iter().find(|line| line["url"] == damaged["url"]).unwrap();
    assert!(line["card"].is_null() && line["unread"].as_str().unwrap().contains(first), "{line}");
    assert_eq!(line["capture"], damaged["capture"]);
    let said: Value = json_of(&text_of(&out.join("pages.jsonl.MANIFEST.json")));
    assert_eq!((&said["counts"], &said["unread"]), (&told["counts"], &told["unread"]));
}

#[test]
fn a_running_crawl_makes_exports_beside_its_work_and_hands_them_out_as_they_would_be_at_rest() {
    let Some(python) = python() else { return };
    let mut sandbox = Sandbox::new(web(30), SETTINGS);
    let crawl = Running::start(&mut sandbox, &[]);
    let out = sandbox.beside("out");
    fs::create_dir(&out).unwrap();
    until_requests(&sandbox, &crawl.daemon, 40);
    let (code, told) = crawl.ctl(&["export", "jsonl", "--name", "early.jsonl.zst", "--all"]);
    assert!(code == 0 && told.contains("early.jsonl.zst: ") && told.contains("goes on with: --after "), "{told}");
    let early = out.join("early.jsonl.zst");
    let (code, told) = crawl.ctl(&["exports", "early.jsonl.zst", "-o", early.to_str().unwrap()]);
    assert!(code == 0 && early.exists(), "{told}");
    let last = serde_json::from_str::<Value>(&crawl.get("/api/v1/exports").1).unwrap()[0]["last"].as_u64().unwrap();
    let lines = read(&python, "jsonl", &early);
    let feed = |crawl: &Running| -> Vec<Value> {
        let lines = crawl.get("/api/v1/feed?format=ndjson").1;
        lines.lines().filter(|l| l.starts_with('{')).map(json_of).collect()
    };
    let until_last = feed(&crawl).into_iter().filter(|item| item["seq"].as_u64() <= Some(last)).collect::<Vec<_>>();
    assert_eq!(seqs(lines.as_array().unwrap()), seqs(&captures(&until_last).0), "up to what was shown when it began");
    for (arguments, code, words) in [
        (&["export", "jsonl", "--name", "early.jsonl.zst"][..], 1, "is there already"),
        (&["export", "jsonl", "--name", "../x"], 2, "is no name of an export"),
        (&["export", "cdxj", "--text"], 2, "has no option --text"),
        (&["exports", "nothing", "-o", "x"], 1, "there is no export nothing"),
        (&["exports", "early.jsonl.zst", "-o", early.to_str().unwrap()], 2, "is there already"),
    ] {
        let told = crawl.ctl(arguments);
        assert!(told.0 == code && told.1.contains(words), "{arguments:?}: {told:?}");
    }
    // All that is to be crawled is there: then a crawl makes what is made at rest.
    let all = sandbox.truth().len();
    let is_end = || (feed(&crawl).len() >= all && crawl.status().waiting == 0).then_some(());
    until("the end of the crawl", is_end, || crawl.daemon.log());
    assert_eq!(crawl.ctl(&["export", "warc", "--name", "warcs"]).0, 0);
    let (code, told) = crawl.ctl(&["exports"]);
    assert!(code == 0 && told.contains("\nwarcs ") && told.contains("early.jsonl.zst"), "{told}");
    let (folder, named) = (out.join("of-ctl"), out.join("named.json"));
    assert_eq!(crawl.ctl(&["exports", "warcs", "-o", folder.to_str().unwrap()]).0, 0);
    let manifest = ["exports", "early.jsonl.zst", "--file", "MANIFEST.json", "-o", named.to_str().unwrap()];
    assert_eq!(crawl.ctl(&manifest).0, 0);
    assert_eq!(json_of(&fs::read_to_string(named).unwrap())["format"], "jsonl");
    let (code, begun) = crawl.ctl(&["export", "wacz", "--name", "site.wacz", "--no-wait", "--json"]);
    assert_eq!(code, 0, "{begun}");
    let id = json_of(&begun)["id"].as_u64().unwrap();
    let cancelled: Value = serde_json::from_str(&crawl.ctl(&["jobs", "cancel", &id.to_string(), "--json"]).1).unwrap();
    assert_ne!(cancelled["state"], "running", "{cancelled}");
    let exports = sandbox.data().join("exports");
    assert_eq!(exports.join("site.wacz").exists(), cancelled["state"] == "done", "{cancelled}");
    assert_eq!(crawl.ctl(&["stop"]).0, 0);
    crawl.end();
    let names = fs::read_dir(&exports).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.filter(|name| name.contains(".lycosa-part")).count(), 0);
    let config = sandbox.config_file();
    made(&sandbox.data(), "warc", &out.join("warcs"), &["--config", config.to_str().unwrap()]);
    for copy in [out.join("warcs"), folder] {
        assert_eq!(text(&Command::new("diff").arg("-r").arg(exports.join("warcs")).arg(copy).output().unwrap()), "");
    }
}

#[test]
fn what_has_not_changed_is_exported_with_what_it_confirms() {
    let Some(python) = python() else { return };
    let site = Site::of_heads(|head, _, path| match path {
        "/robots.txt" => page(200, "text/plain", "", "Sitemap: http://a.test/map.xml"),
        "/map.xml" if head.to_ascii_lowercase().contains("if-none-match") => {
            "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\nConnection: close\r\n\r\n".to_owned()
        }
        "/map.xml" => page(200, "text/xml", "ETag: \"1\"\r\n", "<urlset><url><loc>http://a.test/</loc></url></urlset>"),
        _ => page(200, "text/html", "X-Robots-Tag: noai\r\nX-Robots-Tag: noimageai\r\n", "<title>Wolf spiders</title>"),
    });
    let mut sandbox = Sandbox::new(web(1), &format!("{SETTINGS}sitemaps.revisit = \"1s\"\n"));
    let overrides = format!("dns.overrides={{ 'a.test' = '{}' }}", site.address);
    let allowed = format!("net.allow=['127.0.0.1/32:{}']", site.port());
    let crawl = Running::start(
        &mut sandbox,
        &["--set", &overrides, "--set", &allowed, "--set", "crawl.seeds=['http://a.test/']"],
    );
    let again = || crawl.get("/api/v1/feed?kind=unchanged").1.contains("not_modified").then_some(());
    until("the sitemap again", again, || crawl.daemon.log());
    assert_eq!(crawl.ctl(&["stop"]).0, 0);
    crawl.end();
    let (data, out) = (sandbox.data(), sandbox.beside("out"));
    let of_maps = ["--status", "2xx", "--mime", "text/xml"];
    made(&data, "jsonl", &out.join("maps.jsonl"), &of_maps);
    let lines = read(&python, "jsonl", &out.join("maps.jsonl"));
    assert_eq!((lines.as_array().unwrap().len(), url(&lines[0])), (1, "http://a.test/map.xml"), "{lines}");
    assert_eq!((&lines[0]["capture"]["status"], &lines[0]["capture"]["how"]), (&304.into(), &"not_modified".into()));
    made(&data, "jsonl", &out.join("page.jsonl"), &["--mime", "text/html", "--rights"]);
    let line = json_of(&fs::read_to_string(out.join("page.jsonl")).unwrap());
    assert_eq!(
        (&line["rights"]["robots_tag"], &line["rights"]["robots"]["status"]),
        (&"noai, noimageai".into(), &200.into())
    );
    let report = made(&data, "warc", &out.join("warcs"), &of_maps);
    assert_eq!(report["counts"]["of_format"], serde_json::json!({ "captures": 1, "referred_to": 1 }));
    let (passed, told) = check(&python, &out.join("warcs"), None);
    assert!(passed && told.contains("'revisit': 1") && told.contains("'response': 1"), "{told}");
}

#[test]
fn what_cannot_be_exported_is_refused_in_words_and_nothing_is_left_behind() {
    let mut sandbox = Sandbox::new(web(40), SETTINGS);
    let daemon = sandbox.start(&[], None);
    until_requests(&sandbox, &daemon, 20);
    let (data, out) = (sandbox.data(), sandbox.beside("out"));
    let refused = |format: &str, to: &Path, more: &[&str], code: i32, words: &str| {
        let output = export(&data, format, to, more);
        assert_eq!(output.status.code(), Some(code), "{}", text(&output));
        assert!(text(&output).contains(words), "{words:?} is not in {}", text(&output));
    };
    let at = out.join("a.jsonl");
    refused("jsonl", &at, &[], 2, "have it make the export with `lycosa ctl export`");
    daemon.signal(Signal::SIGKILL);
    drop(daemon);
    sandbox.finish();
    refused("parquets", &at, &[], 2, "possible values: ");
    refused("cdxj", &at, &["--text"], 2, "the format cdxj has no option --text; it has: none");
    refused("jsonl", &at, &["--site", "www.h0.test"], 2, "is a host of the site");
    refused("jsonl", &at, &["--status", "20"], 2, "\"20\" is no status");
    refused("jsonl", &at, &["--since", "2026-02-01", "--until", "2026-01-01"], 2, "must be the earlier one");
    refused("jsonl", Path::new("-"), &[], 2, "not standard output");
    refused("warc", &out.join("w"), &["--size", "0"], 2, "expected the bytes of a file");
    for base in ["notaurl", "https://h0.test/maps", "https://h0.test/?x/", "ftp://h0.test/"] {
        refused("sitemap", &out.join("maps"), &["--base", base], 2, "expected the URL of the folder");
    }
    refused("jsonl", &at, &["--after", "9999999"], 2, "is of another feed than this one");
    refused("jsonl", &at, &["--after", "1", "--log", "00000000000000ff"], 2, "go on with --after 0");
    refused("jsonl", &data.join("pages.jsonl"), &[], 2, "is among the files of the crawl");
    refused("warc", &data.join("warc/more"), &[], 2, "is among the files of the crawl");
    let size_of = |path: &Path| fs::metadata(path).unwrap().len();
    let whole = made(&data, "jsonl", &at, &[]);
    refused("jsonl", &at, &[], 2, "is there already");
    let less = made(&data, "jsonl", &at, &["--host", "h1.test", "--force"]);
    assert!(less["counts"]["pages"].as_u64() < whole["counts"]["pages"].as_u64() && size_of(&at) > 0, "{less}");
    let folder = out.join("warcs");
    made(&data, "warc", &folder, &[]);
    made(&data, "warc", &folder, &["--force", "--host", "h2.test"]);
    assert!(fs::read_dir(&folder).unwrap().count() >= 3);

    // A file may have 30 blocks of 512 bytes.
    let command = format!(
        "ulimit -f 30; exec {} export jsonl --no-progress --data {} --to {}",
        env!("CARGO_BIN_EXE_lycosa"),
        data.display(),
        out.join("full.jsonl").display()
    );
    let full = Command::new("sh").arg("-c").arg(command).output().unwrap();
    assert_eq!(full.status.code(), Some(3), "{}", text(&full));
    assert!(text(&full).contains("free space, narrow it with filters"), "{}", text(&full));

    let mut command = program();
    command.arg("export").arg("jsonl").arg("--data").arg(&data).arg("--to").arg(out.join("stopped.jsonl"));
    let mut child = command.arg("--no-progress").stderr(std::process::Stdio::piped()).spawn().unwrap();
    let begun =
        || (out.join("stopped.jsonl.lycosa-part").exists() || child.try_wait().unwrap().is_some()).then_some(());
    until("the export", begun, String::new);
    let _ = kill(Pid::from_raw(child.id() as i32), Signal::SIGINT);
    let ended = child.wait_with_output().unwrap();
    let is_whole = out.join("stopped.jsonl").exists();
    assert_eq!(ended.status.code(), Some(if is_whole { 0 } else { 11 }), "{}", text(&ended));

    let names: BTreeSet<String> =
        fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let of_stopped = |name: &&String| !name.starts_with("stopped.jsonl") || name.contains(".lycosa-part");
    let expected = ["a.jsonl", "a.jsonl.MANIFEST.json", "warcs"].map(str::to_owned);
    assert_eq!(names.iter().filter(of_stopped).cloned().collect::<Vec<_>>(), expected, "{names:?}");
}
