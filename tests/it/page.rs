//! The live page in a real Chromium (`tests/page.py`), which `make test` installs. Skipped, with a line that says so, only where
//! there is none.

use std::process::Command;

use lycosa::testweb::TestWebConfig;
use nix::sys::signal::Signal;

use crate::admin::Running;
use crate::sandbox::Sandbox;
use crate::site::{Site, html};

const CHROMIUM: &str = "/usr/bin/chromium";

/// A page of markup that must stay text, and links to more of them, so that there is always a fresh one.
const TITLE: &str = "&lt;script&gt;document.title='taken'&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;";

fn evil() -> Site {
    Site::http(|_, path| {
        if path == "/robots.txt" {
            return crate::site::none();
        }
        let n: u32 = path.trim_start_matches("/p").split('?').next().and_then(|n| n.parse().ok()).unwrap_or(0);
        let link = |n: u32| format!("<a href=\"/p{n}?%3Cscript%3E=%22%3E%3Cimg%20src=x%20onerror=alert(1)%3E\">x</a>");
        // A text of its own, or it would be a space without end.
        let own: String = n.to_string().bytes().map(|digit| char::from(digit - b'0' + b'k')).collect();
        html(&format!("<title>{TITLE}</title><p>{own}</p>{}", link(n + 1)))
    })
}

/// Runs the script; false when there is no browser.
fn browse(url: &str, more: &[&str]) -> bool {
    if !std::path::Path::new(CHROMIUM).exists() {
        eprintln!(
            "SKIPPED: {CHROMIUM} is not installed, so the live page is not tested (config/setup.sh test installs it)"
        );
        return false;
    }
    let python = std::env::var("LYCOSA_PYTHON").expect("run the tests with `make test`");
    let script = format!("{}/tests/page.py", env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new(python);
    command.arg(script).arg(url).args(more);
    if let Ok(folder) = std::env::var("LYCOSA_SHOTS") {
        command.args(["--shots", &folder]);
    }
    let output = command.output().unwrap();
    let told = [&output.stdout, &output.stderr].map(|t| String::from_utf8_lossy(t).into_owned()).concat();
    assert!(output.status.success(), "{told}");
    true
}

fn web() -> TestWebConfig {
    TestWebConfig { hosts: 20, pages: 2_000, errors: 0.05, error_status: vec![404], ..TestWebConfig::default() }
}

const SLOW: &str = "politeness.min_delay = \"150ms\"\npoliteness.delay_factor = 0\nstore.memory = \"32MiB\"\n";

#[test]
fn the_live_page_shows_the_crawl_steers_it_and_keeps_markup_text() {
    let evil = evil();
    let mut sandbox = Sandbox::new(web(), SLOW);
    let (test, bad) = (sandbox.web.addr(), evil.address);
    let overrides = format!("dns.overrides={{\"*.test\"=\"{test}\",\"evil.test\"=\"{bad}\"}}");
    let allow = format!("net.allow=[\"127.0.0.1/32:{}\",\"127.0.0.1/32:{}\"]", test.port(), bad.port());
    let deep = "crawl.max_depth=none"; // the pages of markup are one long chain
    let soon = "index.refresh=1s";
    let sets = ["--set", &overrides, "--set", &allow, "--set", deep, "--set", soon, "--index"];
    let crawl = Running::start(&mut sandbox, &sets);
    assert_eq!(crawl.post("/api/v1/seeds", "", "http://evil.test/\n").0, 200);
    assert_eq!(crawl.ctl(&["feed", "acknowledge", "backup", "0"]).0, 0);
    if !browse(&format!("http://{}/", crawl.at), &[]) {
        crawl.daemon.signal(Signal::SIGTERM);
    }
    crawl.end(); // stopped from the page
}

#[test]
fn the_live_page_shows_who_is_rich_what_is_near_and_how_fresh_the_pages_are() {
    let web = TestWebConfig { hosts: 3, pages: 400, near: 0.3, ..TestWebConfig::default() };
    let more = "crawl.order = \"best\"\nfrontier.credit = true\nrefresh.cycle = \"adapt\"\nrefresh.pace = \"2s\"\n\
                refresh.min_interval = \"5s\"\n";
    let mut sandbox = Sandbox::new(web, &format!("{SLOW}{more}"));
    let crawl = Running::start(&mut sandbox, &[]);
    browse(&format!("http://{}/", crawl.at), &["--fresh"]);
    crawl.daemon.signal(Signal::SIGTERM);
    crawl.end();
}

#[test]
fn the_live_page_asks_for_the_token_and_one_for_looking_cannot_command() {
    let mut sandbox = Sandbox::new(web(), SLOW);
    let tokens = [("token", "correct-horse-battery-staple"), ("read_token", "only-for-looking-at-it")];
    let sets = tokens.map(|(key, token)| {
        let file = sandbox.beside(key);
        std::fs::write(&file, format!("{token}\n")).unwrap();
        format!("admin.{key}_file={}", file.display())
    });
    let crawl = Running::start(&mut sandbox, &["--set", &sets[0], "--set", &sets[1]]);
    let [(_, full), (_, read)] = tokens;
    browse(&format!("http://{}/", crawl.at), &["--token", full, "--read-token", read]);
    crawl.daemon.signal(Signal::SIGTERM);
    crawl.end();
}
