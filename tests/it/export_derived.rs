//! Exports that are made of pages, by the real program, read by other people's tools: warcio, duckdb, and Python's HTML parser, which count
//! again what the archive holds (`tests/export_reader.py`).
//!
//! `LYCOSA_PYTHON` names a Python that has `tests/tools/requirements.txt`; `make test` makes one.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use lycosa::testweb::TestWebConfig;
use lycosa::testweb::robots::RobotsMode;
use serde_json::Value;

use crate::admin::Running;
use crate::sandbox::{Sandbox, program, scale, until};
use crate::site::{Site, none, page};

// The name is one that the queries of Common Crawl ask for.
pub const SETTINGS: &str = "crawl.name = \"CC-MAIN-2018-05\"\nfetch.concurrency = 16\npoliteness.min_delay = \"1ms\"\npoliteness.delay_factor = 0\n\
    store.warc_max_size = \"1MB\"\nstore.memory = \"32MiB\"\n";

/// A crawl that has ended: of pages in two charsets and three framings, redirects, errors and pages with the content of others.
/// A web with some of what makes exports differ: charsets, framings, queries, bases, errors.
pub fn web(hosts: u32, pages: u32) -> TestWebConfig {
    TestWebConfig {
        hosts,
        pages,
        redirects: 0.1,
        errors: 0.05,
        error_status: vec![404, 410],
        robots: RobotsMode::Allow,
        gzip: 0.3,
        chunked: 0.3,
        until_eof: 0.1,
        gbk: 0.3,
        queries: 0.2,
        canonical: 0.2,
        base: 0.1,
        kinds: 0.1,
        ..TestWebConfig::default()
    }
}

fn crawled() -> Sandbox {
    let web = TestWebConfig { duplicates: 0.1, unicode: 0.1, ..web(6, 40 * scale()) };
    let mut sandbox = Sandbox::new(web, SETTINGS);
    sandbox.finish();
    sandbox
}

/// Makes an export, and gives its place and its manifest.
pub fn export(sandbox: &Sandbox, format: &str, name: &str, options: &[&str]) -> (PathBuf, Value) {
    let to = sandbox.beside(name);
    let mut command = program();
    command.args(["export", format, "--no-progress", "--data"]).arg(sandbox.data()).arg("--to").arg(&to).args(options);
    command.arg("--config").arg(sandbox.config_file());
    let done = command.output().unwrap();
    assert!(
        done.status.success(),
        "{}{}",
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr)
    );
    let manifest =
        if to.is_dir() { to.join("MANIFEST.json") } else { sandbox.beside(&format!("{name}.MANIFEST.json")) };
    (to, serde_json::from_slice(&fs::read(manifest).unwrap()).unwrap())
}

/// What the reader counts in it.
fn read(sandbox: &Sandbox, form: &str, export: &Path) -> Value {
    let python = std::env::var("LYCOSA_PYTHON").expect("run the tests with `make test`");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/export_reader.py");
    let done =
        Command::new(python).arg(script).arg(form).arg(export).arg(sandbox.data().join("warc")).output().unwrap();
    assert!(done.status.success(), "{form}: {}", String::from_utf8_lossy(&done.stderr));
    serde_json::from_slice(&done.stdout).unwrap()
}

/// Every file of a folder, or the one file, with its bytes.
pub fn bytes(path: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    if path.is_file() {
        return [(PathBuf::new(), fs::read(path).unwrap())].into();
    }
    let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let named = |entry: &Path, below: &Path| Path::new(entry.file_name().unwrap()).join(below);
    entries.flat_map(|entry| bytes(&entry).into_iter().map(move |(below, of)| (named(&entry, &below), of))).collect()
}

#[test]
fn wet_files_have_the_text_of_every_page_and_wat_files_the_links_of_every_response() {
    let sandbox = crawled();
    let (wet, manifest) = export(&sandbox, "wet", "wet", &[]);
    let found = read(&sandbox, "wet", &wet);
    assert_eq!(
        (&found["records"], &manifest["counts"]["pages"]),
        (&manifest["counts"]["of_format"]["records"], &found["records"])
    );
    assert!(found["revisits"].as_u64().unwrap() > 0 && found["records"].as_u64().unwrap() > 150, "{found}");
    let (again, _) = export(&sandbox, "warc-wet", "again", &[]);
    assert!(bytes(&again) == bytes(&wet), "the same folder gives the same bytes");
    assert!(bytes(&wet).len() > 2, "one file a WARC");

    let (wat, manifest) = export(&sandbox, "wat", "wat", &[]);
    let found = read(&sandbox, "wat", &wat);
    assert_eq!(
        (&found["records"], &manifest["counts"]["pages"]),
        (&manifest["counts"]["of_format"]["records"], &found["records"])
    );
    assert!(found["anchors"].as_u64().unwrap() > 500, "{found}");
}

#[test]
fn the_graph_of_links_is_what_another_parser_counts_in_the_archive() {
    let sandbox = crawled();
    for level in ["page", "host", "domain"] {
        let (to, manifest) = export(&sandbox, "links", level, &["--level", level, "--anchors"]);
        let found = read(&sandbox, &format!("links-{level}"), &to);
        let counts = &manifest["counts"]["of_format"];
        assert_eq!((&found["vertices"], &found["edges"]), (&counts["vertices"], &counts["edges"]));
        assert!(found["edges"].as_u64().unwrap() > if level == "page" { 500 } else { 5 }, "{level}: {found}");
        assert!(found["anchors"].as_u64().unwrap() > 500, "{level}: {found}");
    }
}

#[test]
fn every_link_of_a_mirror_leads_to_one_of_its_files_or_out_of_what_was_captured() {
    let sandbox = crawled();
    let (to, manifest) = export(&sandbox, "mirror", "mirror", &[]);
    let found = read(&sandbox, "mirror", &to);
    let counts = &manifest["counts"]["of_format"];
    assert_eq!((&found["files"], counts["unwritten"].as_u64()), (&counts["files"], Some(0)));
    assert!(found["resolved"].as_u64().unwrap() > 500 && found["files"].as_u64().unwrap() > 200, "{found}");
    let (again, _) = export(&sandbox, "mirror", "again", &[]);
    assert!(bytes(&again) == bytes(&to), "the same folder gives the same bytes");
}

/// A page that leads to another, and says something else each time it is asked for.
fn changing() -> (Sandbox, Site) {
    let asked = AtomicU32::new(0);
    let site = Site::http(move |_, path| match path {
        "/" => {
            let nth = asked.fetch_add(1, Ordering::AcqRel);
            page(200, "text/html", "", &format!("<title>Visit {nth}</title><a href=/b.html>b</a>"))
        }
        "/b.html" => page(200, "text/html", "", "<title>b</title>"),
        _ => none(),
    });
    let settings = format!(
        "crawl.seeds = [\"http://a.test/\"]\nscope.mode = \"hosts\"\nadmin.listen = \"127.0.0.1:0\"\nlog.level = \"info\"\n\
         net.allow = [\"127.0.0.1/32:{}\"]\ndns.overrides = {{ \"*.test\" = \"{}\" }}\ndisk.pause_below = \"1MB\"\ndisk.reserve = 0\n\
         politeness.min_delay = \"1ms\"\npoliteness.delay_factor = 0\nstore.memory = \"32MiB\"\n",
        site.port(),
        site.address
    );
    (Sandbox::alone(&settings), site)
}

#[test]
fn a_mirror_of_all_captures_has_the_newest_of_each_page_and_names_pages_that_it_cannot_read() {
    let (mut sandbox, _site) = changing();
    let crawl = Running::start(&mut sandbox, &[]);
    let captures = |count: usize| {
        let all = || {
            let (_, lines) = crawl.get("/api/v1/feed?format=ndjson");
            let of_status_200 = lines.lines().filter(|line| line.contains("\"status\":200"));
            let found: Vec<Value> = of_status_200.map(|line| serde_json::from_str(line).unwrap()).collect();
            (found.len() >= count).then_some(found)
        };
        until("the captures", all, || crawl.daemon.log())
    };
    captures(2);
    assert_eq!(crawl.ctl(&["host", "a.test", "recrawl"]).0, 0);
    let all = captures(4);
    assert_eq!(crawl.ctl(&["stop"]).0, 0);
    crawl.end();

    let (to, manifest) = export(&sandbox, "mirror", "mirror", &["--all"]);
    assert_eq!((&manifest["counts"]["pages"], &manifest["counts"]["of_format"]["files"]), (&2.into(), &2.into()));
    let home = fs::read_to_string(to.join("a.test/index.html")).unwrap();
    assert!(home.contains("<title>Visit 1</title>") && home.contains("b.html") && !home.contains("/b.html"), "{home}");
    let (newest, _) = export(&sandbox, "mirror", "newest", &[]);
    let files =
        |of: &Path| bytes(of).into_iter().filter(|(path, _)| !path.ends_with("MANIFEST.json")).collect::<Vec<_>>();
    assert!(files(&newest) == files(&to), "the newest alone are the same");

    // No link leads to the file of a page whose record is damaged.
    let other = all.iter().rfind(|item| item["url"] == "http://a.test/b.html").unwrap();
    let first = all.iter().find(|item| item["url"] == "http://a.test/b.html").unwrap();
    for item in [first, other] {
        let place = &item["capture"]["warc"];
        let path = sandbox.data().join("warc").join(place["file"].as_str().unwrap());
        let mut file = fs::read(&path).unwrap();
        let middle = place["offset"].as_u64().unwrap() + place["length"].as_u64().unwrap() / 2;
        file[middle as usize] ^= 0x55;
        fs::write(&path, file).unwrap();
    }
    let (to, manifest) = export(&sandbox, "mirror", "damaged", &[]);
    let unread = &manifest["unread"][0];
    assert_eq!(
        (&manifest["counts"]["unread"], &unread["url"]),
        (&1.into(), &"http://a.test/b.html".into()),
        "{manifest}"
    );
    assert_eq!(manifest["counts"]["of_format"]["unwritten"], 0, "{manifest}");
    let home = fs::read_to_string(to.join("a.test/index.html")).unwrap();
    assert!(home.contains("http://a.test/b.html") && !to.join("a.test/b.html").exists(), "{home}");
}

#[test]
fn duckdb_reads_the_table_and_each_row_leads_to_its_record() {
    let sandbox = crawled();
    let (to, manifest) = export(&sandbox, "parquet", "pages.parquet", &[]);
    let found = read(&sandbox, "parquet", &to);
    assert_eq!(found["rows"], manifest["counts"]["of_format"]["rows"]);
    assert!(found["rows"].as_u64().unwrap() > 200, "{found}");
    let (again, _) = export(&sandbox, "parquet", "again.parquet", &[]);
    assert!(bytes(&again) == bytes(&to), "the same folder gives the same bytes");
    let (rights, _) = export(&sandbox, "parquet", "rights.parquet", &["--rights"]);
    let found = read(&sandbox, "parquet", &rights);
    assert_eq!((&found["columns"], &found["robots"]), (&41.into(), &6.into()), "a robots.txt for each host: {found}");
}

#[test]
#[ignore = "`make soak-index` runs it: LYCOSA_READERS names a Python with tests/tools/readers.txt"]
fn each_format_is_read_without_a_fault_by_the_programs_that_it_is_for() {
    let sandbox = crawled();
    let folder = sandbox.beside("out");
    fs::create_dir(&folder).unwrap();
    let made = |format: &str, name: &str, options: &[&str]| {
        let (_, manifest) = export(&sandbox, format, &format!("out/{name}"), options);
        assert_eq!(manifest["counts"]["unread"], 0, "{manifest}");
        manifest["counts"].clone()
    };
    let all = made("jsonl", "pages.jsonl.gz", &["--all", "--text", "--links", "--rights"]);
    let lines = made("cdxj", "index.cdxj", &["--all"]);
    let copied = made("warc", "warcs", &["--all"]);
    made("wacz", "site.wacz", &["--text"]);
    let (wet, wat) = (made("wet", "wet", &[]), made("wat", "wat", &[]));
    let rows = made("parquet", "pages.parquet", &["--rights"]);
    let (graph, maps) = (made("links", "host", &[]), made("sitemap", "maps", &[]));
    let files = made("mirror", "mirror", &[]);

    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/export_programs.py");
    let readers = std::env::var("LYCOSA_READERS").expect("run this with `make soak-index`");
    let done = Command::new(readers).arg(script).arg(&folder).arg(sandbox.data().join("warc")).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let found: Value = serde_json::from_slice(&done.stdout).unwrap();
    eprintln!("read by other programs: {found}");
    for (program, count) in [
        ("/jq", &all["pages"]),
        ("/pyarrow", &rows["of_format"]["rows"]),
        ("/wacz", &true.into()),
        ("/fastwarc/wet/conversion", &wet["of_format"]["records"]),
        ("/fastwarc/wat/metadata", &wat["of_format"]["records"]),
        ("/fastwarc/warcs/metadata", &copied["pages"]),
        ("/pywb_indexes", &copied["pages"]),
        ("/pywb_replays", &copied["pages"]),
        ("/archive_replays", &lines["of_format"]["lines"]),
        ("/xmllint", &maps["pages"]),
        ("/networkx", &graph["of_format"]["edges"]),
    ] {
        assert_eq!(found.pointer(program), Some(count), "{program} of {found}");
    }
    assert!(found["linkchecker"].as_u64() >= files["of_format"]["files"].as_u64(), "{found} {files}");
    assert!(found["fastwarc"]["warcs"]["revisit"].as_u64() > Some(0), "{found}");
}
