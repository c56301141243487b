//! Mirrors: the graph of one is that of `wget --mirror -k -E` of the same web, and URLs of every unpleasant form have files of their own.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use lycosa::domain::url::{Canonicaliser, CleanRules};
use serde_json::Value;

use crate::export_derived::{SETTINGS, bytes, export, web};
use crate::sandbox::{Sandbox, left_out, python, scale};
use crate::site::{Site, none, page};

/// wget's copy of a web, which it reaches as a proxy; `None` where there is no wget.
fn wget(sandbox: &Sandbox) -> Option<PathBuf> {
    let to = sandbox.beside("wget");
    let mut command = Command::new("wget");
    // A name, not an address: the pages say where they are.
    command.args(["--quiet", "--mirror", "-k", "-E", "-H", "-D", "test", "-e", "robots=off", "-P"]).arg(&to);
    command.arg(sandbox.web.start_url()).env("http_proxy", format!("http://{}", sandbox.web.addr()));
    command.env("LC_ALL", "C.UTF-8").env_remove("no_proxy").env_remove("NO_PROXY").stdin(Stdio::null());
    let Ok(status) = command.status() else {
        left_out("PATH", "one with wget");
        return None;
    };
    // 8: some answers were errors, as this web has them.
    assert!(matches!(status.code(), Some(0 | 8)), "{status}");
    Some(to)
}

#[test]
fn pages_of_a_mirror_lead_to_each_other_as_those_of_wgets_do() {
    let Some(python) = python() else { return };
    let mut sandbox = Sandbox::new(web(4, 30 * scale()), SETTINGS);
    sandbox.finish();
    let (mirror, manifest) = export(&sandbox, "mirror", "mirror", &[]);
    let Some(wgets) = wget(&sandbox) else { return };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mirror_graph.py");
    let done = Command::new(python).arg(script).arg(mirror).arg(wgets).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let found: Value = serde_json::from_slice(&done.stdout).unwrap();
    eprintln!("as wget has it: {found}");
    assert!(found["pages"].as_u64() > Some(70 * u64::from(scale())), "{found} {manifest}");
    assert!(found["edges"].as_u64() > Some(1_000 * u64::from(scale())), "{found}");
}

/// Paths that differ, each with what makes it hard for a file system.
fn nasty(nth: usize) -> String {
    let (group, kind) = (nth / 20, nth % 20);
    let long = |letter: char, count: usize| letter.to_string().repeat(count);
    match kind {
        0 => format!("case/{group}/Page"),
        1 => format!("case/{group}/pAGE"),
        2 => format!("clash/{group}"),
        3 => format!("clash/{group}/"),
        4 => format!("clash/{group}/index.html"),
        5 => format!("clash/{group}.html"),
        6 => format!("clash/{group}/in/it"),
        7 => format!("up/{group}/..%2f..%2f..%2fetc%2fpasswd"),
        8 => format!("up/{group}/%2e%2e%5c%2e%2e%5c{group}"),
        9 => format!("null/{group}%00.html"),
        10 => format!("long/{group}/{}", long('a', 250 + group)),
        11 => format!("long/{group}/{}", long('字', 60 + group % 80)),
        12 => format!("deep/{group}/{}end", (0..200).map(|n| format!("{n}-{group}-folder/")).collect::<String>()),
        13 => format!("ask/{group}?a=/../../{group}&b=%2f*|<>"),
        14 => format!("ask/{group}@a={group}"),
        15 => format!("ask/{group}?a={group}"),
        16 => format!("device/{group}/con"),
        17 => format!("device/{group}/AUX.html"),
        18 => format!("dots/{group}./ {group} ."),
        _ => format!("accent/{group}/{}", if group % 2 == 0 { "e%CC%81" } else { "%C3%A9" }),
    }
}

/// Reads the links `<a href="…">N</a>` of a start page: the file that each leads to, by N.
fn targets(start: &Path) -> BTreeMap<usize, PathBuf> {
    let text = fs::read_to_string(start).unwrap();
    let links = text.split("<a href=\"").skip(1).map(|rest| rest.split_once("</a>").unwrap().0);
    let one = |link: &str| {
        let (href, nth) = link.split_once("\">").unwrap();
        let href = percent_encoding::percent_decode_str(href).decode_utf8().unwrap().into_owned();
        (nth.parse().unwrap(), start.parent().unwrap().join(href))
    };
    links.map(one).collect()
}

#[test]
fn nasty_urls_have_files_of_their_own_inside_the_folder_and_links_lead_to_them() {
    let count = if scale() == 1 { 300 } else { 2_000 };
    let path = |nth: usize| format!("/{}", nasty(nth)).replace('<', "%3C").replace('>', "%3E");
    let links = (0..count).map(|nth| format!("<a href=\"{}\">{nth}</a>\n", path(nth))).collect::<String>();
    let titled =
        |title: &str, more: &str| page(200, "text/html; charset=utf-8", "", &format!("<title>{title}</title>{more}"));
    // What is asked for is told back, so that no two pages are the same.
    let site = Site::http(move |_, path| match path {
        "/" => titled("start", &links),
        "/robots.txt" => none(),
        _ => titled(&format!("at {path}"), ""),
    });
    let settings = format!(
        "crawl.seeds = [\"http://a.test/\"]\nscope.mode = \"hosts\"\nadmin.listen = \"127.0.0.1:0\"\nlog.level = \"info\"\n\
         net.allow = [\"127.0.0.1/32:{}\"]\ndns.overrides = {{ \"*.test\" = \"{}\" }}\ndisk.pause_below = \"1MB\"\ndisk.reserve = 0\n\
         traps.max_url_length = 8000\n{SETTINGS}",
        site.port(),
        site.address
    );
    let mut sandbox = Sandbox::alone(&settings);
    let log = sandbox.finish();
    let (mirror, manifest) = export(&sandbox, "mirror", "mirror", &[]);
    let (lines, _) = export(&sandbox, "jsonl", "pages.jsonl", &[]);
    let captured: BTreeSet<String> = fs::read_to_string(lines)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["url"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(captured.len(), count + 1, "two spellings are one URL, or some were not fetched: {log}");

    let mut files = bytes(&mirror);
    files.remove(Path::new("MANIFEST.json"));
    assert_eq!(
        (files.len(), &manifest["counts"]["of_format"]["files"]),
        (captured.len(), &captured.len().into()),
        "{manifest}"
    );
    let contents: BTreeSet<&Vec<u8>> = files.values().collect();
    assert_eq!(contents.len(), files.len(), "two files have one page");
    let folded: BTreeSet<String> = files.keys().map(|path| path.to_str().unwrap().to_lowercase()).collect();
    assert_eq!(folded.len(), files.len(), "names that differ in case alone");
    let inside = |path: &PathBuf| path.components().all(|part| matches!(part, Component::Normal(_)));
    assert!(files.keys().all(inside) && files.keys().all(|path| path.starts_with("a.test")));

    let home = fs::canonicalize(&mirror).unwrap();
    let led = targets(&mirror.join("a.test/index.html"));
    assert_eq!(led.len(), count);
    let mut met = BTreeSet::new();
    let canon = Canonicaliser::new(CleanRules { max_url_length: 8_000, ..CleanRules::default() });
    for (nth, file) in led {
        let real = fs::canonicalize(&file).unwrap_or_else(|error| panic!("{}: {file:?}: {error}", path(nth)));
        assert!(real.starts_with(&home), "{real:?}");
        assert!(met.insert(real.clone()), "{} and another lead to {real:?}", path(nth));
        let text = fs::read_to_string(real).unwrap();
        let asked = text.split_once("<title>at ").and_then(|(_, rest)| rest.split_once("</title>")).unwrap().0;
        let [asked, wanted] =
            [asked, &path(nth)].map(|path| canon.parse(&format!("http://a.test{path}")).unwrap().as_str().to_owned());
        assert_eq!(asked, wanted);
    }
}
