//! `lycosa ctl` as people use it: its looks and lists on a running daemon.

use lycosa::testweb::TestWebConfig;
use serde_json::Value;

use crate::admin::Running;
use crate::sandbox::Sandbox;

fn sandbox() -> Sandbox {
    let web = TestWebConfig {
        hosts: 3,
        pages: 60,
        links: 8,
        errors: 0.1,
        error_status: vec![404],
        robots: "disallow-some".parse().unwrap(),
        ..TestWebConfig::default()
    };
    Sandbox::new(web, "politeness.min_delay = \"5ms\"\npoliteness.delay_factor = 0\nstore.memory = \"32MiB\"\n")
}

/// What is told when all is well.
fn told(crawl: &Running, line: &str) -> String {
    let (code, text) = crawl.ctl(&line.split(' ').collect::<Vec<_>>());
    assert_eq!(code, 0, "{line}: {text}");
    text
}

fn json(crawl: &Running, line: &str) -> Value {
    let text = told(crawl, &format!("--json {line}"));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{line}: {e}: {text}"))
}

#[test]
fn every_look_of_ctl_answers_for_people_and_for_machines() {
    let mut sandbox = sandbox();
    let crawl = Running::start(&mut sandbox, &[]);
    crawl.until_status("pages and errors", |s| s.done > 30 && s.errors > 2);

    let text = told(&crawl, "explain h0.test");
    assert!(text.starts_with("Crawled at ") && text.contains("\nscope and filters  accept it: "), "{text}");
    assert!(text.contains("http was taken for its scheme, as the crawl knows it"), "{text}");
    assert!(text.lines().count() < 14 && told(&crawl, "explain --all h0.test").lines().count() > 40, "{text}");
    assert_eq!(json(&crawl, "explain h0.test")["state"], "done");

    let text = told(&crawl, "robots http://h0.test/");
    assert!(text.contains("\nin force  its rules\n") && text.contains("\nverdict   allowed: "), "{text}");
    assert!(told(&crawl, "robots h0.test --text").to_lowercase().contains("\nuser-agent: *"));

    let failed = told(&crawl, "urls failed --reason status --limit 1");
    assert!(
        failed.starts_with("reason") && failed.contains("status_4xx     404") && failed.contains("more: --cursor "),
        "{failed}"
    );
    assert!(json(&crawl, "urls rejected")["items"].is_array());
    assert!(
        told(&crawl, "seeds list").lines().any(|line| line.starts_with("done") && line.ends_with("http://h0.test/"))
    );
    assert!(told(&crawl, "actors restart store").starts_with("store main was restarted: 1 restarts so far"));
    let (code, text) = crawl.ctl(&["actors", "restart", "fetcher"]);
    assert!(code == 2 && text.contains("fetcher/…"), "{text}");
    assert!(told(&crawl, "checkpoints").starts_with("none; "));

    assert!(told(&crawl, "hosts --contains h1.").lines().skip(1).all(|line| line.starts_with("h1.test")));
    let pages = told(&crawl, "pages --status 404 --mime text/ --since 1h --host h0.test");
    assert!(
        pages.lines().skip(1).all(|line| line.trim_start().starts_with("404") && line.contains("//h0.test/")),
        "{pages}"
    );
    let (code, text) = crawl.ctl(&["snapshot", "h0.test", "--at", "2018-01-01T00:00:00Z"]);
    assert!(code == 1 && text.contains("http://h0.test/ of 2018-01-01T00:00:00.000Z or before"), "{text}");

    let file = sandbox.folder().join("page.html");
    let text = told(&crawl, &format!("snapshot h0.test -o {}", file.display()));
    let bytes = std::fs::read(&file).unwrap();
    assert!(text.contains(", status 200, text/html") && bytes.starts_with(b"<!"), "{text}");
    assert_eq!(told(&crawl, "snapshot h0.test --output - --as stored").as_bytes(), bytes);
    let (code, text) = crawl.ctl(&["snapshot", "h0.test", "-o", file.to_str().unwrap()]);
    assert!(code == 2 && text.contains("page.html is there already"), "{text}");
    let told_of = json(&crawl, &format!("snapshot http://h0.test/ -o {}", file.with_file_name("again.html").display()));
    assert_eq!(told_of["bytes"], bytes.len());
    let (code, text) = crawl.ctl(&["snapshot", "http://nowhere.test/", "-o", "/nowhere/x"]);
    assert!(code == 1 && text.contains("there is no capture of http://nowhere.test/"), "{text}");
    crawl.daemon.signal(nix::sys::signal::Signal::SIGTERM);
    crawl.end();
}

#[test]
fn what_a_job_carries_out_is_told_with_its_number_when_it_is_through() {
    let mut sandbox = sandbox();
    let crawl = Running::start(&mut sandbox, &[]);
    let s = crawl.until_status("the end", |s| s.done > 30 && s.waiting + s.processing == 0);
    let looked = format!("({} looked at)\n", s.errors);
    told(&crawl, "pause"); // none of them may fail again before it was counted
    let text = told(&crawl, "urls retry --reason status_4xx");
    assert_eq!(text, format!("{} URLs that were given up are queued again {looked}", s.errors));
    told(&crawl, "resume");
    crawl.until_status("them again", |now| now.errors == s.errors && now.waiting + now.processing == 0);
    let text = told(&crawl, "urls retry --host nowhere.test");
    assert_eq!(text, "no URL fits: 0 that were given up were looked at\n");
    let text = told(&crawl, "set scope.exclude=/p/ --dry-run --all");
    assert!(text.starts_with("scope.exclude: []") && text.contains("\n0 of 0 queued URLs looked at\n"), "{text}");
    let text = told(&crawl, "set log.level=warn --dry-run");
    assert!(text.contains("-> \"warn\"\n") && text.contains("\n  none would be turned away\n"), "{text}");
    assert!(told(&crawl, "urls retry --no-wait").contains("`lycosa ctl jobs show 4`"));
    assert_eq!(json(&crawl, "jobs show 1")["result"]["queued"], s.errors);
    assert!(told(&crawl, "jobs cancel 1").starts_with("job 1 had ended before: done"));
    let shown = told(&crawl, "jobs show 1");
    assert!(shown.lines().any(|line| line.starts_with("ended ") && line.ends_with('Z')), "{shown}");
    told(&crawl, "set log.level=debug");
    let text = told(&crawl, "settings history");
    assert!(text.contains("admin  log.level  as configured  \"debug\""), "{text}");
    assert!(told(&crawl, "set politeness.min_delay=").ends_with("politeness.min_delay = \"1s\" (built in)\n"));
    assert!(told(&crawl, "unset politeness.min_delay").ends_with("politeness.min_delay = \"5ms\" (as configured)\n"));
    assert!(told(&crawl, "statistics").contains("pages/s"));
    crawl.daemon.signal(nix::sys::signal::Signal::SIGTERM);
    crawl.end();
}
