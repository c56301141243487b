//! What a user meets in the first minutes: good and bad seeds, each ends by itself with what happened and what to do.

use std::path::Path;
use std::process::Output;

use crate::sandbox::program;
use crate::site::{Site, html, none, page};

fn respond(host: &str, path: &str) -> String {
    match (host, path) {
        ("disallow.test", "/robots.txt") => page(200, "text/plain", "", "User-agent: *\nDisallow: /\n"),
        ("robots5xx.test", "/robots.txt") => page(503, "text/plain", "", ""),
        (_, "/robots.txt") => none(),
        ("missing.test", _) => none(),
        ("broken.test", _) => page(500, "text/plain", "", "sorry"),
        ("away.test", _) => html("<a href='http://elsewhere.test/x'>x</a>"),
        ("again.test", "/") => html("<a href='/a'>a</a>"),
        _ => html("<title>fine</title>"),
    }
}

/// Crawls until done in a folder of its own; names below `.test` lead to loopback.
fn crawl(folder: &Path, arguments: &[&str]) -> (i32, String) {
    let mut command = program();
    command.current_dir(folder).args(["run", "--until-done", "--allow-net", "127.0.0.1/32"]);
    for set in [
        "dns.overrides={\"*.test\"=\"127.0.0.1\"}",
        "admin.listen=off",
        "politeness.min_delay=10ms",
        "disk.pause_below=1MB",
        "store.memory=32MiB",
    ] {
        command.args(["--set", set]);
    }
    let Output { status, stdout, stderr } = command.args(arguments).output().unwrap();
    let text = [stderr, stdout].map(|t| String::from_utf8(t).unwrap()).concat();
    (status.code().unwrap(), text)
}

fn crawl_seed(seed: &str) -> (i32, String) {
    let folder = tempfile::tempdir().unwrap();
    crawl(folder.path(), &["--seed", seed])
}

#[test]
fn every_seed_that_brings_nothing_ends_soon_with_the_reason_and_what_to_do() {
    let site = Site::http(respond);
    let port = site.port();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let cases = [
        (format!("http://refused.test:{closed}/"), ["connect_refused", "nothing listens"]),
        (format!("http://disallow.test:{port}/"), ["robots at http://disallow.test", "respect_robots"]),
        (format!("http://robots5xx.test:{port}/"), ["robots_unreachable", "status 503"]),
        (format!("http://missing.test:{port}/"), ["status_4xx", "status 404"]),
        (format!("http://broken.test:{port}/"), ["status_5xx", "try again later"]),
        (format!("https://fine.test:{port}/"), ["tls at https://fine.test", "speak https?"]),
    ];
    for (seed, parts) in cases {
        let (code, text) = crawl_seed(&seed);
        assert_eq!(code, 9, "{seed}\n{text}");
        let outcome = text.lines().find(|l| l.starts_with("outcome")).unwrap_or_else(|| panic!("{text}"));
        for part in ["no page fetched", &seed].iter().chain(&parts) {
            assert!(outcome.contains(part.trim_end_matches('/')), "{part} in {outcome}");
        }
        assert!(!text.contains(" error lycosa"), "{text}");
    }
}

#[test]
fn a_name_that_does_not_exist_ends_the_run_with_its_name() {
    // Here there may be no name server at all: then that is what is told.
    let (code, text) = crawl_seed("http://no-such-name.invalid/");
    assert_eq!(code, 9, "{text}");
    assert!(text.contains("dns_not_found at http://no-such-name.invalid/") || text.contains("dns_failed at"), "{text}");
}

#[test]
fn an_address_that_is_not_allowed_says_how_to_allow_it() {
    let (code, text) = crawl_seed("http://10.1.2.3/");
    assert!(code == 9 && text.contains("--allow-net"), "{text}");
}

#[test]
fn links_outside_the_scope_are_remarked_with_how_to_widen_it() {
    let site = Site::http(respond);
    let (code, text) = crawl_seed(&format!("http://away.test:{}/", site.port()));
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("http://elsewhere.test/x") && text.contains("scope.mode=domains"), "{text}");
    assert!(site.asked().iter().all(|asked| asked.starts_with("away.test")));
}

#[test]
fn a_certificate_signed_by_itself_is_told_and_accepted_unless_strict() {
    let site = Site::https(respond);
    let seed = format!("https://self.test:{}/", site.port());
    let (code, text) = crawl_seed(&seed);
    assert!(code == 0 && text.contains("tls.verify=strict") && text.contains("self.test"), "{text}");
    let folder = tempfile::tempdir().unwrap();
    let (code, text) = crawl(folder.path(), &["--seed", &seed, "--set", "tls.verify=strict"]);
    assert!(code == 9 && text.contains("tls_self_signed at https://self.test"), "{text}");
}

#[test]
fn a_redirect_to_https_is_followed() {
    let secure = Site::https(respond);
    let location = format!("Location: https://self.test:{}/\r\n", secure.port());
    let plain = Site::http(move |_, path| match path {
        "/robots.txt" => none(),
        _ => page(301, "text/plain", &location, ""),
    });
    let (code, text) = crawl_seed(&format!("http://self.test:{}/", plain.port()));
    assert!(code == 0 && row(&text, "status 200") == "1" && row(&text, "status 301") == "1", "{text}");
    assert_eq!(secure.asked(), ["self.test /robots.txt", "self.test /"]);
}

/// The value of a row of the summary.
fn row<'t>(text: &'t str, name: &str) -> &'t str {
    text.lines().find_map(|l| l.trim().strip_prefix(name)).unwrap_or("").trim()
}

#[test]
fn a_crawl_that_brought_nothing_tries_at_once_when_started_again() {
    let folder = tempfile::tempdir().unwrap();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let seed = format!("http://again.test:{port}/");
    let (code, text) = crawl(folder.path(), &["--seed", &seed]);
    assert_eq!(code, 9, "{text}");
    let (code, text) = crawl(folder.path(), &["--seed", &seed]);
    assert!(code == 9 && text.contains("connect_refused"), "{text}");
    // The server comes up; nobody waits for the quarter of an hour that the next try would have been away.
    let listener = std::net::TcpListener::bind(("127.0.0.1", port)).unwrap();
    let server = std::thread::spawn(move || {
        for _ in 0..3 {
            let (mut stream, _) = listener.accept().unwrap();
            let mut head = [0; 4_096];
            let n = std::io::Read::read(&mut stream, &mut head).unwrap();
            let asked = String::from_utf8_lossy(&head[..n]).into_owned();
            let answer = respond("again.test", asked.split(' ').nth(1).unwrap());
            std::io::Write::write_all(&mut stream, answer.as_bytes()).unwrap();
        }
    });
    let (code, text) = crawl(folder.path(), &["--seed", &seed]);
    assert!(code == 0 && row(&text, "status 200") == "2", "{text}");
    server.join().unwrap();
}

#[test]
fn a_seed_turned_away_is_taken_up_when_what_spoke_against_it_has_changed() {
    let site = Site::http(respond);
    let folder = tempfile::tempdir().unwrap();
    let seed = format!("http://disallow.test:{}/", site.port());
    assert_eq!(crawl(folder.path(), &["--seed", &seed]).0, 9);
    let (code, text) = crawl(folder.path(), &["--seed", &seed, "--set", "politeness.respect_robots=false"]);
    assert!(code == 0 && row(&text, "status 200") == "1" && row(&text, "rejected") == "0", "{text}");

    let folder = tempfile::tempdir().unwrap();
    let seed = format!("http://{}/", site.address);
    let own = |arguments: &[&str]| {
        let mut command = program();
        command.current_dir(folder.path()).args(["run", "--until-done", "--set", "admin.listen=off", "--seed", &seed]);
        let sets = ["--set", "disk.pause_below=1MB", "--set", "politeness.min_delay=10ms"];
        let output = command.args(sets).args(arguments).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, text) = own(&[]);
    assert!(code == 9 && text.contains("--allow-net"), "{text}");
    let (code, text) = own(&["--allow-net", "127.0.0.1/32"]);
    assert!(code == 0 && row(&text, "status 200") == "1", "{text}");
}

#[test]
fn a_seed_file_may_hold_comments_and_bad_lines() {
    let site = Site::http(respond);
    let folder = tempfile::tempdir().unwrap();
    let text = format!("# mine\n\nno url\nhttp://fine.test:{}/ # fine\nftp://x/\n", site.port());
    std::fs::write(folder.path().join("seeds.txt"), text).unwrap();
    let (code, text) = crawl(folder.path(), &["--seeds", "seeds.txt"]);
    assert_eq!(code, 0, "{text}");
    for part in ["seeds.txt:3: \"no url\"", "seeds.txt:5: \"ftp://x/\"", "https://example.org/"] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
}

#[test]
fn seeds_that_the_rules_turn_away_end_the_crawl_at_once_with_seed_and_rule() {
    let site = Site::http(respond);
    let at = |path: &str| format!("http://fine.test:{}{path}", site.port());
    for (seed, set, parts) in [
        (at("/"), "scope.include=[\"/news/\"]", ["no include pattern matches", "scope.include"]),
        (at("/"), "scope.exclude=[\"fine\"]", ["exclude pattern fine matches", "scope.exclude"]),
        (at("/a.zip"), "scope.mode=hosts", ["skip_extensions names zip", "scope.skip_extensions"]),
        (at("/a/a/a/a"), "traps.max_repeats=2", ["repeats", "max_repeats"]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        // With the default patience it would wait for half a minute, or for an hour, if it waited.
        let (code, text) =
            crawl(folder.path(), &["--seed", &seed, "--set", set, "--set", "crawl.until_done_patience=10h"]);
        let outcome = text.lines().find(|l| l.starts_with("outcome")).unwrap_or_else(|| panic!("{text}"));
        assert!(code == 9 && outcome.contains(&format!("the seed {seed} was not taken")), "{text}");
        assert!(parts.iter().all(|part| outcome.contains(part)), "{parts:?} in {outcome}");
    }
    assert!(site.asked().is_empty());
}

#[test]
fn no_patience_means_that_retries_are_not_waited_for_and_what_is_left_is_told() {
    let site = Site::http(|_, path| match path {
        "/robots.txt" => none(),
        // The busy one comes last: a host that says 503 is left alone for a while.
        "/" => html("<a href=/1>1</a>"),
        "/1" => html("<a href=/2>2</a>"),
        "/2" => html("<a href=/busy>3</a>"),
        "/busy" => page(503, "text/plain", "", "busy"),
        _ => html("fine"),
    });
    let folder = tempfile::tempdir().unwrap();
    let seed = format!("http://fine.test:{}/", site.port());
    let arguments = ["--seed", &seed, "--set", "crawl.until_done_patience=0s", "--set", "fetch.retry_delays=[\"10h\"]"];
    let (code, text) = crawl(folder.path(), &arguments);
    assert!(code == 0 && row(&text, "status 200") == "3", "{text}");
    assert_eq!(row(&text, "outcome"), "done, but for 1 URL");
    let note = text.lines().find(|l| l.starts_with("note: 1 URL is left")).unwrap_or_else(|| panic!("{text}"));
    for part in [
        "1 URL waits for its next try",
        "the next in",
        "status_5xx",
        "/busy",
        "; the next try at 2",
        "go on with: lycosa run --until-done",
    ] {
        assert!(note.contains(part), "{part} in {note}");
    }
}

#[test]
fn a_gap_is_no_retry_and_is_waited_for_however_short_the_patience() {
    let site = Site::http(|_, path| match path {
        "/robots.txt" => page(200, "text/plain", "", "User-agent: *\nCrawl-delay: 3\n"),
        "/" => html("<a href=/1>1</a>"),
        _ => html("fine"),
    });
    let folder = tempfile::tempdir().unwrap();
    let seed = format!("http://fine.test:{}/", site.port());
    let (code, text) = crawl(folder.path(), &["--seed", &seed, "--set", "crawl.until_done_patience=0s"]);
    assert!(code == 0 && row(&text, "status 200") == "2" && row(&text, "outcome") == "done", "{text}");
}

#[test]
fn what_was_never_tried_is_told_when_the_patience_is_too_short_for_it() {
    let site = Site::http(|_, path| match path {
        "/robots.txt" => none(),
        "/" => html("<a href=/busy>1</a><a href=/2>2</a><a href=/3>3</a>"),
        "/busy" => page(503, "text/plain", "Retry-After: 600\r\n", "busy"),
        _ => html("fine"),
    });
    let folder = tempfile::tempdir().unwrap();
    let seed = format!("http://fine.test:{}/", site.port());
    let sets = ["--set", "crawl.until_done_patience=1s", "--set", "crawl.order=breadth"];
    let (code, text) = crawl(folder.path(), &[&["--seed", &seed][..], &sets].concat());
    assert_eq!((code, row(&text, "outcome")), (0, "done, but for 3 URLs, 2 of them never tried"), "{text}");
}

#[test]
fn a_seed_without_a_scheme_means_https_and_http_when_https_does_not_answer() {
    let (plain, secure) = (Site::http(respond), Site::https(respond));
    for (port, url, status) in [(secure.port(), "https://self.test", 0), (plain.port(), "http://self.test", 0)] {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("seeds"), format!("# one\rself.test:{port}/x\r")).unwrap();
        let (code, text) = crawl(folder.path(), &["--seeds", "seeds"]);
        assert!(
            code == status
                && text.contains(&format!("a seed without a scheme is asked for as https://self.test:{port}/x")),
            "{text}"
        );
        let lines = std::fs::read_to_string(folder.path().join("data/crawl.jsonl")).unwrap();
        let good =
            |line: &&str| line.contains("\"status\":200") && line.contains(&format!("\"url\":\"{url}:{port}/x\""));
        assert!(lines.lines().any(|line| good(&line)), "{lines}\n{text}");
        assert_eq!(text.contains("http is asked"), url.starts_with("http:"), "{text}");
    }
    let folder = tempfile::tempdir().unwrap();
    let seed = format!("self.test:{}", plain.port());
    let bare = ["--set", "politeness.respect_robots=false", "--set", "crawl.until_done_patience=0s"];
    let (code, text) = crawl(folder.path(), &[&["--seed", &seed][..], &bare].concat());
    assert!(code == 0 && row(&text, "status 200") == "1", "also where no robots.txt is asked for: {text}");
}

#[test]
fn what_another_start_does_not_cure_ends_with_2_and_leaves_nothing_behind() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::create_dir(path("thesis")).unwrap();
    std::fs::write(path("thesis/chapter.txt"), "x").unwrap();
    std::fs::create_dir(path("archive")).unwrap();
    std::fs::write(path("archive/.lycosa-owner"), "0123456789abcdef\n").unwrap();
    std::fs::write(path("file"), "x").unwrap();
    let here = || -> Vec<_> {
        let mut names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = here();
    let (port, archive) =
        (format!("admin.listen={}", taken.local_addr().unwrap()), path("archive").display().to_string());
    let archive = format!("store.warc_dir={archive}");
    let cases: [(&[&str], &str); 6] = [
        (&["--data", "new", "--set", &port], "cannot listen"),
        (&["--data", "thesis"], "thesis"),
        (&["--data", "file"], "file"),
        (&["--data", "file/new"], "file"),
        (&["--data", "new", "--set", &archive], "another"),
        (&["--data", "new", "--set", "tls.roots=[\"gone.pem\"]"], "gone.pem"),
    ];
    for (arguments, part) in cases {
        let (code, text) = crawl(folder.path(), &[&["--seed", "http://fine.test/"], arguments].concat());
        assert!(code == 2 && text.contains(part), "{arguments:?}: {code}\n{text}");
        assert_eq!(here(), before, "{arguments:?} left something behind");
    }
    assert_eq!(std::fs::read_dir(path("thesis")).unwrap().count(), 1);
}

#[test]
fn log_lines_may_be_json_objects_and_the_summary_follows() {
    let site = Site::http(respond);
    let folder = tempfile::tempdir().unwrap();
    let seed = format!("http://broken.test:{}/", site.port());
    let (_, text) = crawl(folder.path(), &["--log-format", "json", "--seed", &seed]);
    let lines: Vec<serde_json::Value> = text.lines().map_while(|l| serde_json::from_str(l).ok()).collect();
    assert!(lines.len() >= 3 && lines.iter().all(|l| l["level"].is_string() && l["msg"].is_string()), "{text}");
    assert!(lines.iter().any(|l| l["reason"] == "status_5xx" && l["url"] == seed), "{text}");
    assert!(lines.iter().any(|l| l["msg"] == "crawl begins" && l["new_seeds"] == 1), "{text}");
    assert!(text.lines().nth(lines.len()).unwrap().starts_with("outcome "), "{text}");
}

#[test]
fn a_disk_without_room_ends_a_crawl_that_should_end() {
    let site = Site::http(respond);
    let folder = tempfile::tempdir().unwrap();
    let seed = format!("http://fine.test:{}/", site.port());
    let sets = ["--set", "disk.pause_below=1000TB", "--set", "crawl.until_done_first_patience=1s"];
    let (code, text) = crawl(folder.path(), &[&["--seed", &seed][..], &sets].concat());
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("disk.pause_below") && text.contains("free_bytes="), "{text}");
    assert!(site.asked().is_empty(), "nothing is fetched that could not be stored");
}

#[test]
fn limits_end_a_crawl_with_their_exit_codes_and_say_what_is_left() {
    fn endless(_: &str, path: &str) -> String {
        match path {
            "/robots.txt" => none(),
            p if p.starts_with("/bad") => page(410, "text/plain", "", "gone"),
            p => {
                let n: u32 = p.trim_start_matches('/').parse().unwrap_or(0);
                html(&format!("<title>{n}</title><a href='/{}'>on</a><a href='/bad{n}'>bad</a>", n + 1))
            }
        }
    }
    let site = Site::http(endless);
    let seed = format!("http://endless.test:{}/", site.port());
    for (flag, value, expected) in
        [("--max-pages", "5", 0), ("--max-bytes", "1KB", 14), ("--max-time", "1s", 15), ("--max-failures", "2", 12)]
    {
        let folder = tempfile::tempdir().unwrap();
        let (code, text) = crawl(folder.path(), &["--seed", &seed, flag, value, "--set", "crawl.max_depth=none"]);
        let way = if flag == "--max-time" { "go on with: lycosa run" } else { "a higher limit on the command line" };
        assert!(code == expected && text.contains(way), "{flag}: {code}\n{text}");
    }
}

#[test]
fn what_is_held_back_at_the_end_is_taken_up_by_the_command_that_the_note_names() {
    let site = Site::http(|_, path| match path.strip_prefix("/list/").and_then(|n| n.parse::<u32>().ok()) {
        Some(n) => html(&format!("<p>Nothing here<a href=/list/{}>on</a>", n + 1)),
        None if path == "/" => html("<p>All of it<a href=/list/1>on</a>"),
        None => none(),
    });
    let folder = tempfile::tempdir().unwrap();
    let seed = format!("http://fine.test:{}/", site.port());
    let arguments = ["--seed", &seed, "--set", "traps.barren_pages=10"];
    let (code, text) = crawl(folder.path(), &arguments);
    let first = site.asked().len();
    assert_eq!(code, 0, "{text}");
    let note =
        text.lines().find(|line| line.starts_with("note: 1 URL is held back")).unwrap_or_else(|| panic!("{text}"));
    assert!(note.contains("whatever lies behind it") && note.contains("take them up with: lycosa run "), "{note}");
    assert!(note.ends_with(" --readmit-held-back"), "{note}");
    let (code, text) = crawl(folder.path(), &[&arguments[..], &["--readmit-held-back"]].concat());
    assert_eq!(code, 0, "{text}");
    assert!(site.asked().len() >= first + 10, "{first} {:?}", site.asked());
    let note =
        text.lines().find(|line| line.starts_with("note: 1 URL is held back")).unwrap_or_else(|| panic!("{text}"));
    assert_eq!(note.matches("--readmit-held-back").count(), 1, "{note}");
}
