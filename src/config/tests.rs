//! Layers, origins and errors.

use std::path::Path;
use std::time::Duration;

use super::*;
use crate::domain::cases::{rows, unescaped};

pub(super) fn settings(sets: &[&str]) -> Settings {
    sets.iter().fold(Layers::new(), |layers, set| layers.set(set).unwrap()).load().unwrap()
}

fn env(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
}

fn file(text: &str) -> Result<Layers, ConfigError> {
    Layers::new().text(Path::new("site.toml"), text)
}

#[test]
fn the_defaults_pass_the_checks_and_are_those_of_the_interface_table() {
    let s = settings(&[]);
    assert_eq!(s.agent.robots_tokens, ["Lycosa"]);
    assert_eq!(s.politeness.min_delay, Duration::from_secs(1));
    assert_eq!(s.max_active_hosts(), 600);
    assert_eq!(s.fetch.max_body, 100 << 20);
    assert_eq!(s.hung_after(), Duration::from_secs(1_950));
    assert_eq!(s.admin_listen, Some("127.0.0.1:7700".parse().unwrap()));
    assert_eq!(s.pages_per_host(), None);
    assert_eq!(settings(&["scope.mode=any"]).pages_per_host(), Some(10_000));
}

#[test]
fn flags_win_over_the_environment_and_that_over_the_file() {
    let from_file = file("[crawl]\nmax_depth = 1\nname = \"a\"\n[fetch]\nconcurrency = 7\n").unwrap();
    let layers = from_file
        .env(env(&[("LYCOSA_CRAWL__MAX_DEPTH", "2"), ("LYCOSA_CRAWL__NAME", "b"), ("LYCOSA_PYTHON", "x")]))
        .unwrap()
        .set("crawl.max_depth=3")
        .unwrap();
    let s = layers.load().unwrap();
    assert_eq!((s.max_depth(), s.crawl.name.as_str(), s.fetch.concurrency), (Some(3), "b", 7));
    assert_eq!(layers.origin("crawl.max_depth").to_string(), "--set");
    assert_eq!(layers.origin("crawl.name").to_string(), "environment variable LYCOSA_CRAWL__NAME");
    assert_eq!(layers.origin("fetch.concurrency").to_string(), "site.toml:5");
    assert_eq!(layers.origin("fetch.retries").to_string(), "default");
}

#[test]
fn lists_of_tables_have_no_variable_and_who_tries_is_told_where_they_stand() {
    for name in ["LYCOSA_SCHEDULE__0__CYCLE", "LYCOSA_HOST__0__MATCH"] {
        let error = Layers::new().env(env(&[(name, "1h")])).unwrap_err().to_string();
        assert!(error.contains("is a list of tables, which variables cannot set; write [["), "{error}");
    }
}

#[test]
fn values_on_the_command_line_may_be_toml_plain_text_or_a_list() {
    let sets = [
        "agent.name=123",
        "crawl.seeds=http://a.test/,http://b.test/",
        "politeness.min_delay=250ms",
        "fetch.max_body=1MiB",
        r#"dns.overrides={"*.test" = "127.0.0.1:8500"}"#,
        r#"dns.overrides."x.example"="[::1]:80""#,
        "durability.sync=commit",
        "frontier.host_quantum.pages=5",
        r#"fetch.timeouts={connect="1s"}"#,
    ];
    let s = settings(&sets);
    assert!(s.agent.user_agent.starts_with("Mozilla/5.0 (compatible; 123/"));
    assert_eq!(s.crawl.seed_urls(), ["http://a.test/", "http://b.test/"]);
    assert_eq!(s.politeness.min_delay, Duration::from_millis(250));
    assert_eq!(s.dns.overrides.len(), 2);
    assert_eq!(s.durability.sync, Sync::Commit);
    assert_eq!((s.frontier.host_quantum.pages, s.frontier.host_quantum.time), (5, Duration::from_secs(60)));
    assert_eq!(s.fetch.timeouts.connect, Duration::from_secs(1));
}

#[test]
fn a_seed_is_a_url_or_a_table_with_what_is_said_of_it() {
    let text = "[crawl]\nseeds = [\"http://a.test/\", { url = \"http://b.test/\", rank = 0, max_depth = 3, tags = [\"x\"] }]\n";
    let layers = file(text).unwrap();
    let crawl = layers.load().unwrap().form.crawl;
    assert_eq!(crawl.seed_urls(), ["http://a.test/", "http://b.test/"]);
    assert_eq!((crawl.seeds[1].rank, crawl.seeds[1].max_depth, crawl.seeds[1].tags.len()), (Some(0), Some(3), 1));
    let shown = layers.show().unwrap().into_iter().find(|s| s.key == "crawl.seeds").unwrap();
    assert_eq!(shown.json[0], "http://a.test/");
    assert_eq!(shown.json[1], serde_json::json!({"url": "http://b.test/", "rank": 0, "max_depth": 3, "tags": ["x"]}));
    let again = Layers::new().set(&format!("crawl.seeds={}", shown.value.unwrap())).unwrap();
    assert_eq!(again.load().unwrap().crawl.seeds, crawl.seeds);
}

#[test]
fn an_empty_value_takes_a_key_back_to_its_default() {
    let layers = file("[crawl]\nmax_pages = 9\n").unwrap().set("crawl.max_pages=").unwrap();
    assert_eq!(layers.load().unwrap().crawl.max_pages, None);
    assert_eq!(layers.origin("crawl.max_pages"), Origin::Default);
    assert!(Layers::new().set("crawl.max_page=").is_err());
}

#[test]
fn an_error_names_its_place_the_key_and_what_is_allowed_and_repeats_no_secret() {
    for row in rows(include_str!("../../tests/data/config_errors.txt"), 4) {
        let [kind, text, begin, part] = [0, 1, 2, 3].map(|n| row.cells[n]);
        let text = String::from_utf8(unescaped(text)).unwrap();
        let given = if kind == "file" { file(&text) } else { Layers::new().set(&text) };
        let error = given.and_then(|layers| layers.load()).unwrap_err().to_string();
        assert!(error.starts_with(begin) && error.contains(part), "line {}: {error:?}", row.line);
        assert!(!error.contains('\n') && !error.contains("hidden"), "line {}: {error:?}", row.line);
    }
}

#[test]
fn an_error_in_a_flag_or_variable_names_it() {
    let error = Layers::new().set("fetch.max_body=huge").unwrap_err().to_string();
    assert!(error.starts_with("--set: fetch.max_body: \"huge\" is no size"), "{error}");
    let error = Layers::new().env(env(&[("LYCOSA_FETCH__MAX_BODI", "1")])).unwrap_err().to_string();
    assert!(error.starts_with("environment variable LYCOSA_FETCH__MAX_BODI: fetch.max_bodi: unknown field"), "{error}");
    let error = Layers::new().set("fetch.concurrency=0").unwrap().load().unwrap_err().to_string();
    assert_eq!(error, "--set: fetch.concurrency: 0 is out of range; allowed are 1 to 100000");
    assert!(Layers::new().set("fetch.concurrency").unwrap_err().to_string().contains("key=value"));
    let error = Layers::new().flag("--max-pages", "crawl.max_pages", toml::Value::Integer(-1)).unwrap_err().to_string();
    assert!(error.starts_with("--max-pages: crawl.max_pages: "), "{error}");
}

#[test]
fn a_value_that_begins_as_toml_and_is_none_is_refused_with_the_way_out() {
    let bad = [r#"["/p/1\d\d$"]"#, "[/p/]", "{a", r#""/p/\d""#, "'/p", r#""a","b""#, r#"["a"] x"#, r#"["a", 1]"#];
    for text in bad {
        let set = Layers::new().set(&format!("scope.exclude={text}"));
        let of_env = Layers::new().env(env(&[("LYCOSA_SCOPE__EXCLUDE", text)]));
        for (read, place) in [(set, "--set"), (of_env, "environment variable LYCOSA_SCOPE__EXCLUDE")] {
            let error = read.map(|layers| layers.form().unwrap().scope.exclude).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{place}: scope.exclude: ")), "{error}");
            assert!(!error.contains('\n'), "{error:?}");
        }
    }
    let error = Layers::new().set(r#"scope.exclude=["/p/1\d\d$"]"#).unwrap_err().to_string();
    assert!(
        error.contains("escape") && error.contains(r#"'/p/\d+' or "/p/\\d+""#),
        "TOML's complaint and the way out: {error}"
    );
}

#[test]
fn a_pattern_with_a_backslash_is_taken_as_it_is_meant() {
    let good = [r"['/p/\d$']", r#"["/p/\\d$"]"#, r"'/p/\d$'", r#""/p/\\d$""#, r"/p/\d$"];
    for text in good {
        let read = Layers::new().set(&format!("scope.exclude={text}")).unwrap();
        assert_eq!(read.form().unwrap().scope.exclude, [r"/p/\d$"], "{text}");
    }
    assert_eq!(settings(&["admin.listen=[::1]:7700"]).admin_listen.unwrap().to_string(), "[::1]:7700");
}

#[test]
fn a_variable_with_one_underscore_too_few_is_remarked_upon() {
    let layers =
        Layers::new().env(env(&[("LYCOSA_FETCH_MAX_BODY", "1"), ("LYCOSA_PORT_8080_TCP", "x"), ("LYCOSA_", "")]));
    let notices = layers.unwrap().notices().to_vec();
    assert_eq!(notices.len(), 1);
    assert!(notices[0].contains("LYCOSA_FETCH__MAX_BODY"), "{notices:?}");
}

#[test]
fn the_user_agent_shows_name_version_and_page() {
    let s = settings(&["agent.url=https://example.org/bot", "agent.version=9"]);
    assert_eq!(s.agent.user_agent, "Mozilla/5.0 (compatible; Lycosa/9; +https://example.org/bot)");
    assert_eq!(s.agent.from, None);
}

#[test]
fn every_section_is_shown_and_every_shown_value_is_read_back() {
    let layers = Layers::new().set("crawl.max_pages=5").unwrap();
    let shown = layers.show().unwrap();
    let json = serde_json::to_value(FileForm::default()).unwrap();
    for section in json.as_object().unwrap().keys() {
        assert!(shown.iter().any(|s| s.key == *section || s.key.starts_with(&format!("{section}."))), "{section}");
    }
    let again = shown
        .iter()
        .filter_map(|s| Some(format!("{}={}", s.key, s.value.as_ref()?)))
        .fold(Layers::new(), |l, set| l.set(&set).unwrap());
    assert_eq!(again.form().unwrap(), layers.form().unwrap());
}

#[test]
fn a_missing_file_is_named_and_the_error_says_what_to_do() {
    let error = Layers::new().file(Path::new("/nonexistent/lycosa.toml")).unwrap_err().to_string();
    assert!(error.contains("/nonexistent/lycosa.toml") && error.contains("lycosa config init"), "{error}");
}

proptest::proptest! {
    #[test]
    fn no_text_of_a_file_flag_or_variable_panics(text in "\\PC{0,200}", key in "[a-z_.\"=]{0,30}") {
        let _ = file(&text);
        let _ = Layers::new().set(&text);
        let _ = Layers::new().set(&format!("{key}={text}"));
        let _ = Layers::new().env(env(&[(&format!("LYCOSA_{key}__A"), &text)]));
    }
}

/// The shipped files, at test time, so that a new one cannot be forgotten.
fn shipped() -> Vec<std::path::PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("config");
    let files = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path());
    files.filter(|p| p.extension().is_some_and(|e| e == "toml")).collect()
}

#[test]
fn every_shipped_file_passes_the_check() {
    let files = shipped();
    assert!(files.len() >= 3, "{files:?}");
    for path in files {
        Layers::new().file(&path).and_then(|l| l.load()).unwrap_or_else(|e| panic!("{e}"));
    }
}

const TEMPLATE: &str = include_str!("../../config/lycosa.toml");

/// The template with its commented keys switched on.
fn switched_on() -> String {
    let is_key = |l: &str| {
        let name = l.split(" = ").next().unwrap_or_default();
        l.contains(" = ") && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
            || l.starts_with("[[")
    };
    let on = |l: &str| l.strip_prefix("# ").filter(|rest| is_key(rest)).map_or(l.to_owned(), str::to_owned);
    TEMPLATE.lines().map(on).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_template_says_what_the_defaults_are() {
    let form = file(TEMPLATE).unwrap().form().unwrap();
    assert_eq!(form, FileForm::default());
}

#[test]
fn the_template_names_every_key_and_its_commented_examples_are_good() {
    let layers = file(&switched_on()).unwrap();
    layers.load().unwrap();
    let shown = layers.show().unwrap();
    let missing: Vec<_> = shown.iter().filter(|s| s.origin == Origin::Default).map(|s| &s.key).collect();
    assert!(missing.is_empty(), "not in config/lycosa.toml: {missing:?}");
    assert!(shown.iter().all(|s| s.value.is_some()));
    assert_eq!(layers.load().unwrap().host[0].max_connections, Some(4));
}
