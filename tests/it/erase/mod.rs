//! A host is erased, from a data folder at rest and by a running crawl: nothing of it is left by a search with other tools, and nothing else is
//! touched.

mod live;
mod odds;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use lycosa::storage::{Family, RocksOptions, RocksStorage, Storage};
use serde_json::Value;

use crate::dice::Dice;
use crate::sandbox::{Sandbox, judge_archive, program, python};
use crate::site::{Site, page};

/// Stands in every page, path, title, header and robots.txt of the host that is erased, and nowhere else.
const CANARY: &str = "zqcanary";
const HOST: &str = "x.test";
const OTHERS: [&str; 3] = ["a.test", "b.test", "c.test"];
/// Pages that all hosts have alike.
const SAME: usize = 12;

/// Letters that no compressor makes small, the same for the same name.
fn noise(name: &str, length: usize) -> String {
    let seed = name.bytes().fold(7_u64, |seed, byte| seed.wrapping_mul(131).wrapping_add(byte.into()));
    let mut dice = Dice::of(seed);
    (0..length / 8).map(|_| format!("{:07x} ", dice.below(1 << 28))).collect()
}

fn links(hrefs: impl Iterator<Item = String>) -> String {
    hrefs.map(|href| format!("<a href=\"{href}\">{href}</a>\n")).collect()
}

fn victim(path: &str) -> String {
    let head = format!("X-Secret: {CANARY}\r\nSet-Cookie: {CANARY}=1\r\n");
    let html = |text: &str| page(200, "text/html", &head, text);
    let all = || {
        let own = (0..40).map(|n| format!("/{CANARY}-{n}"));
        links(own.chain((0..SAME).map(|n| format!("/same/{n}"))).chain(["/big".into(), "/gone".into()]))
    };
    match path {
        "/robots.txt" => {
            page(200, "text/plain", "", &format!("# {CANARY}\nUser-agent: *\nDisallow: /{CANARY}-secret\n"))
        }
        "/" => html(&format!("<title>{CANARY}</title>{}", all())),
        "/big" => html(&format!("<p>{CANARY} {}", noise("big", 600_000))),
        "/gone" => page(404, "text/html", &head, &format!("{CANARY} is not here")),
        _ if path.starts_with("/same/") => page(200, "text/html", "", &noise(path, 6_000)),
        _ => html(&format!("<title>{CANARY} {path}</title><p>{CANARY} {}", noise(path, 40_000))),
    }
}

fn other(host: &str, path: &str) -> String {
    let html = |text: &str| page(200, "text/html", "", text);
    match path {
        "/robots.txt" => page(200, "text/plain", "", "User-agent: *\nAllow: /\n"),
        "/" => html(&links((0..30).map(|n| format!("/p{n}")).chain((0..SAME).map(|n| format!("/same/{n}"))))),
        _ if path.starts_with("/same/") => page(200, "text/html", "ETag: \"same\"\r\n", &noise(path, 6_000)),
        _ => html(&format!("<p>{}<a href=\"http://{HOST}/same/1\">x</a>", noise(&format!("{host}{path}"), 40_000))),
    }
}

fn serve() -> Site {
    Site::http(|host, path| if host == HOST { victim(path) } else { other(host, path) })
}

/// Settings of a crawl of these seeds.
fn sandbox(site: &Site, seeds: &[String], settings: &str) -> Sandbox {
    Sandbox::alone(&format!(
        "crawl.seeds = {seeds:?}\nadmin.listen = \"127.0.0.1:0\"\nnet.allow = [\"127.0.0.1/32:{}\"]\n\
         dns.overrides = {{ \"*.test\" = \"{}\" }}\ndisk.pause_below = \"1MB\"\ndisk.reserve = 0\nlog.level = \"info\"\n\
         politeness.min_delay = \"1ms\"\npoliteness.delay_factor = 0\nstore.memory = \"32MiB\"\n\
         store.warc_max_size = \"1MB\"\nrefresh.cycle = \"20h\"\n{settings}\n",
        site.port(),
        site.address,
    ))
}

/// A crawl of all hosts, that of [`HOST`] first, so that others rely on its records.
fn crawled(site: &Site, settings: &str) -> Sandbox {
    let mut sandbox = sandbox(site, &[format!("http://{HOST}/")], settings);
    sandbox.finish();
    let seeds: Vec<String> = OTHERS.iter().flat_map(|host| ["--seed".to_owned(), format!("http://{host}/")]).collect();
    let seeds: Vec<&str> = seeds.iter().map(String::as_str).chain(["--until-done"]).collect();
    let mut second = sandbox.start(&seeds, None);
    assert_eq!(second.wait().code(), Some(0), "{}", second.log());
    sandbox
}

fn lycosa(arguments: &[&str], data: &Path, faults: Option<&str>) -> Output {
    let mut command = program();
    command.args(arguments).arg("--data").arg(data).arg("--no-progress");
    if let Some(faults) = faults {
        command.env("LYCOSA_FAULTS", faults);
    }
    command.output().unwrap()
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Does it, and expects this exit code.
fn does(arguments: &[&str], data: &Path, code: i32) -> String {
    let done = lycosa(arguments, data, None);
    assert_eq!(done.status.code(), Some(code), "{arguments:?}: {}", text(&done));
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// The captures of others, by URL and file: place and bytes of the record.
fn captures(sandbox: &Sandbox) -> BTreeMap<(String, String, String), String> {
    let all = sandbox.entries().into_iter().filter(|entry| !entry["url"].as_str().unwrap().contains(HOST));
    let word = |entry: &Value, name: &str| entry[name].as_str().unwrap().to_owned();
    let key = |e: &Value| (word(e, "url"), word(e, "filename"), word(e, "offset"));
    all.map(|entry| (key(&entry), sandbox.record(&entry))).collect()
}

/// Nothing of it is in any file (Python), nor in any record of the database.
fn nothing_is_left(data: &Path) {
    let storage = RocksStorage::open(data, RocksOptions { memory: 32 << 20, ..RocksOptions::default() }).unwrap();
    for family in Family::ALL {
        for (key, value) in storage.scan(*family, &[], &[], usize::MAX).unwrap() {
            let has = |bytes: &[u8]| bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes());
            assert!(!has(&key) && !has(&value), "{family}: {}", String::from_utf8_lossy(&value));
        }
    }
    drop(storage);
    let Some(found) = searched(data) else { return };
    assert!(found.status.success(), "{}", text(&found));
}

/// What a search by Python says.
fn searched(data: &Path) -> Option<Output> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/erased.py");
    Some(Command::new(python()?).arg(script).arg(data).arg(CANARY).output().unwrap())
}

/// What holds of a folder from which the host was erased.
fn is_erased(sandbox: &mut Sandbox, site: &Site, before: &BTreeMap<(String, String, String), String>) {
    let data = sandbox.data();
    does(&["check", "--erased", HOST], &data, 0);
    nothing_is_left(&data);
    does(&["check", "--full"], &data, 0);
    if let Some(python) = python() {
        judge_archive(&python, &data.join("warc"), None);
    }
    let after = captures(sandbox);
    let (mut moved, mut kept) = (0, 0);
    for ((url, file, offset), record) in before {
        if record.contains(&format!("WARC-Refers-To-Target-URI: http://{HOST}/")) {
            let own: Vec<_> = after.iter().filter(|((other, ..), _)| other == url).collect();
            assert_eq!(own.len(), 1, "{url} has one record");
            let path = url.splitn(4, '/').nth(3).unwrap();
            assert!(own[0].1.contains(&noise(&format!("/{path}"), 6_000)), "{url} has its payload: {}", own[0].1);
            moved += 1;
        } else {
            let same = after.get(&(url.clone(), file.clone(), offset.clone()));
            assert!(same == Some(record), "{url} in {file} at {offset} is not what it was");
            kept += 1;
        }
    }
    assert_eq!((moved, after.len()), (OTHERS.len() * SAME, before.len()), "{kept} kept");
    let asked = site.asked().len();
    let log = sandbox.finish();
    assert_eq!(site.asked()[asked..], [""; 0], "{log}");
    let pages =
        sandbox.lines().iter().filter(|line| line["url"].as_str().is_some_and(|url| url.contains("/p"))).count();
    assert_eq!(pages, OTHERS.len() * 30, "every page of the others is there");
}

#[test]
fn nothing_of_an_erased_host_is_left_and_nothing_else_has_moved() {
    let site = serve();
    let mut sandbox = crawled(&site, "index.enabled = true\nindex.memory = \"16MiB\"");
    let data = sandbox.data();
    let made = program().args(["checkpoint", "create", "--data"]).arg(&data).output().unwrap();
    assert!(made.status.success(), "{}", text(&made));
    let before = captures(&sandbox);
    let table = data.join("exports/table.parquet");
    fs::create_dir(data.join("exports")).unwrap();
    does(&["export", "parquet", "--to", table.to_str().unwrap(), "--host", HOST], &data, 0);
    let told = does(&["check", "--erased", "never.test"], &data, 0);
    assert!(told.starts_with("nothing of never.test is left\n"), "of others there is much, and a checkpoint: {told}");
    let told = text(&lycosa(&["erase", "never.test"], &data, None));
    assert!(told.contains("nothing of never.test is in ") && !data.join("erasures").exists(), "{told}");
    let told = does(&["erase", HOST, "--dry-run", "--json"], &data, 0);
    let found: Value = serde_json::from_str(&told).unwrap();
    assert!(found["records"]["response"]["count"].as_u64().unwrap() >= 50, "{found}");
    assert_eq!((found["relying"].as_u64(), &found["index_of_pages"]), (Some(36), &true.into()), "{found}");
    assert_eq!(captures(&sandbox), before, "a dry run changes nothing");
    does(&["check", "--erased", HOST], &data, 1);
    assert!(searched(&data).is_none_or(|found| found.status.code() == Some(1)), "the search finds what there is");

    let told = does(&["erase", "X.test.", "--json"], &data, 0);
    let certificate: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(certificate["before"], found, "what was told before");
    assert_eq!((&certificate["erased"], &certificate["after"]["relying"]), (&true.into(), &0.into()), "{certificate}");
    assert!(certificate["checkpoints_removed"].as_array().unwrap().len() == 1, "{certificate}");
    let kept = fs::read_to_string(data.join(format!("erasures/{}.json", certificate["id"].as_str().unwrap()))).unwrap();
    assert!(!kept.contains(HOST), "the certificate names the host: {kept}");
    let named: Vec<&str> =
        certificate["after"]["named_files"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    assert!(named.contains(&"exports/table.parquet"), "{named:?}");
    fs::remove_dir_all(data.join("exports")).unwrap();
    is_erased(&mut sandbox, &site, &before);
    // An index that was made anew, and a checkpoint of a time since, have nothing of it.
    assert!(data.join("index").exists());
    let made = program().args(["checkpoint", "create", "--data"]).arg(&data).output().unwrap();
    assert!(made.status.success(), "{}", text(&made));
    does(&["check", "--erased", HOST], &data, 0);
    assert!(does(&["erase", HOST, "--dry-run"], &data, 0).starts_with("nothing of x.test is here\n"));
    assert!(
        does(&["erase", HOST], &sandbox.data(), 0).contains("certificate: "),
        "a second time there is nothing to do"
    );
}

/// Killed at each step, one after the other, the same command goes on, and so does the start of a crawl.
fn killed_at_each_step(settings: &str) {
    let site = serve();
    let mut sandbox = crawled(&site, settings);
    let (data, before) = (sandbox.data(), captures(&sandbox));
    let kills = [
        "noted=kill@1",
        "batch=kill@1",
        "carried=kill@1",
        "carried=kill@20",
        "noted_bytes=kill@1",
        "member=kill@3",
        "member=kill@11",
        "overwritten=kill@1",
        "indexed=kill@1",
        "lines=kill@1",
        "contents=kill@1",
        "batch=kill@3",
        "keys=kill@1",
        "rewritten=kill@1",
        "beside=kill@1",
        "certified=kill@1",
    ];
    for (nth, kill) in kills.iter().enumerate() {
        let fault = format!("erase.{kill}");
        if nth % 2 == 1 {
            let mut killed = sandbox.start(&["--until-done"], Some(&fault));
            assert_eq!(killed.wait().code(), None, "{kill}: {}", killed.log());
            continue;
        }
        let killed = lycosa(&["erase", HOST], &data, Some(&fault));
        assert_eq!(killed.status.code(), None, "{kill}: {}", text(&killed));
        if nth % 4 == 0 {
            let other = lycosa(&["erase", "a.test"], &data, None);
            assert!(other.status.code() == Some(2) && text(&other).contains("another host"), "{}", text(&other));
        }
    }
    does(&["erase", HOST], &data, 0);
    is_erased(&mut sandbox, &site, &before);
}

#[test]
fn killed_at_each_step_the_same_command_goes_on_to_the_same_end() {
    killed_at_each_step("");
}

#[test]
fn an_archive_of_zstd_and_exact_bodies_is_erased_as_well() {
    killed_at_each_step("store.compression = \"zstd\"\nstore.http_body = \"exact\"");
}

#[test]
fn where_the_payload_is_not_here_any_more_the_pages_of_others_are_fetched_again() {
    let site = serve();
    let mut sandbox = crawled(&site, "");
    let data = sandbox.data();
    // The files with the host's pages were copied elsewhere and removed.
    let mut files: BTreeMap<String, bool> = BTreeMap::new();
    for entry in sandbox.entries() {
        let own = entry["url"].as_str().unwrap().starts_with(&format!("http://{HOST}/"));
        *files.entry(entry["filename"].as_str().unwrap().to_owned()).or_insert(true) &= own;
    }
    let gone: Vec<String> = files.into_iter().filter(|(_, own)| *own).map(|(file, _)| file).collect();
    let mut list = String::new();
    let index_kept = gone[0].replace(".warc.gz", ".cdxj");
    for file in gone.iter().flat_map(|file| [file.clone(), file.replace(".warc.gz", ".cdxj")]) {
        let path = data.join("warc").join(&file);
        let bytes = fs::metadata(&path).unwrap().len();
        list += &format!(
            "{{\"file\":\"{file}\",\"bytes\":{bytes},\"sha256\":\"\",\"to\":\"s3://b/{file}\",\"ts\":\"\"}}\n"
        );
        if file != index_kept {
            fs::remove_file(path).unwrap();
        }
    }
    fs::write(data.join("uploaded.jsonl"), &list).unwrap();
    // An index of others whose file is not here either.
    let (alone, line) = (data.join("warc/alone.cdxj"), "test,a)/x 20260101000000 {\"url\":\"http://a.test/x\"}\n");
    fs::write(&alone, line).unwrap();
    let told = does(&["erase", HOST, "--json"], &data, 0);
    let certificate: Value = serde_json::from_str(&told).unwrap();
    let elsewhere: Vec<&String> = certificate["before"]["elsewhere"].as_object().unwrap().keys().collect();
    assert!(!gone.is_empty() && elsewhere == gone.iter().collect::<Vec<_>>(), "{certificate}");
    let copies = certificate["copies_to_replace"].as_array().unwrap();
    assert_eq!(copies.len(), list.lines().count(), "each copy that holds it is named: {certificate}");
    assert_eq!(fs::read_to_string(data.join("warc").join(&index_kept)).unwrap(), "", "an index without its file");
    fs::remove_file(data.join("warc").join(&index_kept)).unwrap();
    let changed: Vec<&Value> = certificate["files"].as_array().unwrap().iter().map(|file| &file["file"]).collect();
    assert_eq!((changed, fs::read_to_string(&alone).unwrap().as_str()), (vec![&Value::from(index_kept)], line));
    fs::remove_file(alone).unwrap();
    does(&["check", "--full"], &data, 0);
    let asked = site.asked().len();
    sandbox.finish();
    let mut again = site.asked().split_off(asked);
    again.retain(|asked| !asked.ends_with("/robots.txt"));
    again.sort();
    let mut wanted: Vec<String> =
        OTHERS.iter().flat_map(|host| (0..SAME).map(move |n| format!("{host} /same/{n}"))).collect();
    wanted.sort();
    assert_eq!(again, wanted);
    nothing_is_left(&data);
    does(&["check", "--full"], &data, 0);
}

#[test]
fn a_damaged_record_of_the_host_goes_where_the_index_says_that_it_is() {
    let site = serve();
    let sandbox = crawled(&site, "");
    let data = sandbox.data();
    let own = |entry: &Value| entry["url"].as_str().unwrap().contains(&format!("{CANARY}-7"));
    let entry = sandbox.entries().into_iter().find(own).unwrap();
    let number = |name: &str| entry[name].as_str().unwrap().parse::<usize>().unwrap();
    let (offset, length) = (number("offset"), number("length"));
    let path = data.join("warc").join(entry["filename"].as_str().unwrap());
    let mut bytes = fs::read(&path).unwrap();
    bytes[offset + length / 2..][..14].copy_from_slice(b"#damaged bytes");
    fs::write(&path, bytes).unwrap();
    let told = does(&["erase", HOST, "--json"], &data, 0);
    let certificate: Value = serde_json::from_str(&told).unwrap();
    let damaged = |when: &str| certificate[when]["damaged"].as_u64();
    assert_eq!((damaged("before"), damaged("after")), (Some(1), Some(0)), "{certificate}");
    nothing_is_left(&data);
}
