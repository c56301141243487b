//! Rules of `[[extract]]` in a crawl: what they find stands in the record, in `crawl.jsonl` and in what `inspect` shows.

use std::process::Command;

use lycosa::testweb::TestWebConfig;
use serde_json::{Value, json};

use crate::sandbox::program;
use crate::site::{Site, html, none, page};
use crate::support::Sandbox;

const RULES: &str = r#"extract=[
  {name="headline", selector="article > h1", urls=["/news/"]},
  {name="price", selector=".price", take="attr:data-value"},
  {name="bold", selector=".price b"},
  {name="tags", selector="a[rel~=tag]", many=true},
]"#;

const NEWS: &str = "<article><h1>Ein  Titel</h1><p class=price data-value=9.50>9,50 €</p>\
                    <a rel=tag href=/t/a>Ä</a><a rel='nofollow tag' href=/t/b>B</a></article><a href=/deep>deep</a>\
                    <a href=/attributes>1</a><a href=/ends>2</a><a href=/value>3</a>";

fn site() -> Site {
    Site::http(|_, path| match path {
        "/robots.txt" => none(),
        "/" => html("<article><h1>not news</h1></article><a href=/news/1>one</a>"),
        "/news/1" => page(200, "text/html; charset=utf-8", "", NEWS),
        "/deep" => html(&"<div>".repeat(5_000)),
        "/attributes" => html(&format!("<p{}>", (0..250_000).map(|n| format!(" a{n:x}")).collect::<String>())),
        "/ends" => html(&format!("<h1>x</h1>{}{}", "<x>".repeat(500), "</y>".repeat(300_000))),
        "/value" => html(&format!("<p class='{}'>{}", "a".repeat(1_200_000), "<b></b>".repeat(60_000))),
        _ => html("nothing here"),
    })
}

#[test]
fn values_of_the_rules_stand_in_record_and_log_and_pages_beyond_the_bounds_say_so() {
    let site = site();
    let ended = Sandbox::new(TestWebConfig { hosts: 1, pages: 1, ..TestWebConfig::default() })
        .set(&format!("dns.overrides={{\"*.test\"=\"{}\"}}", site.address))
        .set("crawl.seeds=[\"http://a.test/\"]")
        .set(&RULES.replace('\n', " "))
        .crawl();
    let of = |path: &str| {
        let url = format!("http://a.test{path}");
        ended.found.pages.values().find(|page| page.url == url).unwrap().remarks.clone()
    };
    let wanted = json!({ "headline": "Ein Titel", "price": "9.50", "tags": ["Ä", "B"] });
    assert_eq!(serde_json::from_str::<Value>(&of("/news/1").extracted.unwrap()).unwrap(), wanted);
    assert_eq!(of("/").extracted, None, "no rule is meant for it or finds anything");
    for path in ["/deep", "/attributes", "/ends", "/value"] {
        let page = of(path);
        let notes: Vec<_> = page.notes.iter().map(|n| n.as_str()).collect();
        assert_eq!((page.extracted, notes), (None, vec!["extract_skipped"]), "{path}");
    }
}

#[test]
fn inspect_shows_what_rules_of_a_file_would_find() {
    let folder = tempfile::tempdir().unwrap();
    let (page, rules) = (folder.path().join("page.html"), folder.path().join("rules.toml"));
    std::fs::write(
        &page,
        format!("<meta charset=utf-8><title>\u{1b}[2J\u{9b}31m\u{202e}</title>{NEWS}<img src=/i.png>"),
    )
    .unwrap();
    let run = |text: &str| {
        std::fs::write(&rules, text).unwrap();
        let mut command: Command = program();
        command.args(["inspect", "page"]).arg(&page).args(["--url", "http://a.test/news/1", "--extract"]).arg(&rules);
        let output = command.output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(!shown.contains(['\u{9b}', '\u{202e}', '\u{1b}']), "it is looked at in terminals: {shown}");
        (output.status.code(), serde_json::from_slice::<Value>(&output.stdout).unwrap_or_default(), error)
    };
    let (code, shown, error) = run("[[extract]]\nname = \"headline\"\nselector = \"h1\"\n");
    assert_eq!((code, &shown["extracted"]), (Some(0), &json!({ "headline": "Ein Titel" })), "{error}");
    let (code, shown, error) = run("[parse]\nassets = true\n[[extract]]\nname = \"headline\"\nselector = \"h1\"\n");
    let kinds: Vec<_> = shown["links"].as_array().unwrap().iter().map(|link| link["kind"].clone()).collect();
    assert!(code == Some(0) && kinds.contains(&json!("asset")), "the rest of the file holds too: {error}{shown}");
    let (code, _, error) = run("[[extract]]\nname = \"headline\"\nselector = \"h1 + p\"\n");
    assert!(code == Some(2) && error.contains("extract[0].selector") && error.contains("character 4"), "{error}");
}
