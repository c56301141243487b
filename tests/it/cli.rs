//! The program as a user meets it: exit codes, one line on stderr, output for machines.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs the program with nothing of this process's `LYCOSA_` variables, in a folder of its own.
fn lycosa(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lycosa"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("LYCOSA_") {
            command.env_remove(name);
        }
    }
    command.current_dir(folder).args(arguments).output().unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn bad_arguments_settings_and_seeds_end_with_2_one_line_and_no_data_folder() {
    let cases: [(&[&str], &str); 13] = [
        (&["rum"], "run"),
        (&["run", "--max-pages", "many"], "--max-pages"),
        (&["run", "missing.toml"], "missing.toml"),
        (&["run", "bad.toml"], "bad.toml:2: crawl.max_depth"),
        (&["run"], "--seed"),
        (&["run", "--until-done"], "--seed"),
        (&["run", "--seed", "example.org"], "https://"),
        (&["run", "--seed", "ftp://example.org/"], "https://"),
        (&["run", "--seeds", "https://u:p@example.org/"], "--seeds https://…@example.org/: expected a file"),
        (&["run", "--seed", "https://example.org/"], "--contact"),
        (&["run", "--seed", "https://example.org/", "--contact", "me"], "agent.email"),
        (&["run", "--seed", "http://h0.test/", "--allow-net", "10.0.0.0/99"], "net.allow"),
        (&["run", "--seed", "http://h0.test/", "--set", "fetch.max_body=huge"], "fetch.max_body"),
    ];
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("bad.toml"), "[crawl]\nmax_depth = \"deep\"\n").unwrap();
    for (arguments, part) in cases {
        let output = lycosa(folder.path(), arguments);
        let error = stderr(&output);
        assert_eq!(code(&output), 2, "{arguments:?}: {error}");
        assert!(error.starts_with("lycosa: ") && error.contains(part), "{arguments:?}: {error}");
        assert_eq!(error.lines().count(), 1, "{arguments:?}: {error}");
        assert!(!folder.path().join("data").exists(), "{arguments:?}");
    }
}

#[test]
fn a_dry_run_contacts_and_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let output = lycosa(folder.path(), &["run", "--seed", "http://h0.test/", "--dry-run"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(stdout(&output).contains("--dry-run"));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_dry_run_tells_what_the_run_would_stumble_over() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("thesis")).unwrap();
    std::fs::write(folder.path().join("thesis/one.txt"), "x").unwrap();
    let webhook = "webhook=[{url=\"http://127.0.0.1/\", secret_file=\"missing\"}]";
    let cases: [(&[&str], i32, &str); 6] = [
        (&["http://h0.test/", "--data", "thesis"], 2, "thesis is not empty"),
        (&["http://h0.test/", "--set", "admin.read_token_file=missing"], 2, "missing"),
        (&["http://h0.test/", "--set", webhook], 2, "secret_file"),
        (&["http://h0.test/", "--set", "fetch.source_address=192.0.2.77"], 2, "192.0.2.77"),
        (&["http://127.0.0.1:9/"], 2, "--allow-net 127.0.0.1/32:9"),
        (&["http://h0.test:99999/"], 2, "port"),
    ];
    for (arguments, exit, part) in cases {
        let output = lycosa(folder.path(), &[&["run", "--dry-run", "--seed"], arguments].concat());
        assert!(code(&output) == exit && stderr(&output).contains(part), "{arguments:?}: {}", stderr(&output));
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// Runs the program with a standard output that nobody reads.
fn unread(folder: &Path, arguments: &[&str]) -> (i32, String) {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = Command::new(env!("CARGO_BIN_EXE_lycosa"));
    let output = command.current_dir(folder).args(arguments).stdout(writer).stderr(Stdio::piped()).output().unwrap();
    (code(&output), stderr(&output))
}

#[test]
fn a_reader_that_goes_away_changes_no_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("page.html"), "<title>T</title>").unwrap();
    let page = ["inspect", "page", "page.html", "--url", "http://a.test/"];
    for arguments in [&page[..], &["inspect", "url", "http://a.test/"], &["config", "show"]] {
        assert_eq!(unread(folder.path(), arguments), (0, String::new()), "{arguments:?}");
    }
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (seed, allow) = (format!("http://{free}/"), format!("127.0.0.1/32:{}", free.port()));
    let run = ["run", "--seed", &seed, "--allow-net", &allow, "--until-done", "--set", "admin.listen=off"];
    let quick = ["--set", "crawl.until_done_patience=1s", "--set", "disk.pause_below=1MiB"];
    let (exit, error) = unread(folder.path(), &[&run[..], &quick].concat());
    assert_eq!(exit, 9, "{error}");
}

#[test]
fn a_bad_url_is_named_and_costs_the_exit_code_only() {
    let folder = tempfile::tempdir().unwrap();
    let output = lycosa(folder.path(), &["inspect", "url", "http://a.test:0/", "http://b.test"]);
    let answer = stdout(&output);
    assert!(code(&output) == 1 && answer.starts_with("error: http://a.test:0/: "), "{answer}");
    assert!(answer.ends_with("\nhttp://b.test/\n"), "{answer}");
}

#[test]
fn config_init_check_and_show_fit_together() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(code(&lycosa(folder.path(), &["config", "init"])), 0);
    assert_eq!(code(&lycosa(folder.path(), &["config", "init"])), 2, "an existing file is left as it is");
    let checked = lycosa(folder.path(), &["check-config", "lycosa.toml"]);
    assert!(code(&checked) == 0 && stdout(&checked).starts_with("lycosa.toml: ok"), "{}", stderr(&checked));
    let write = |text: &str| std::fs::write(folder.path().join("own.toml"), text).unwrap();
    for (text, told) in [
        (
            "[[credentials]]\nurl = \"http://a.test/\"\ntoken = \"a\\u001bb\"\n",
            "own.toml:1: credentials[0]: what it says",
        ),
        ("[memory]\nmax = \"64MiB\"\n", "own.toml:2: memory.max: "),
        ("[checkpoint]\ndir = \"db\"\n[store]\ndata_dir = \".\"\n", "checkpoint.dir"),
    ] {
        write(text);
        let checked = lycosa(folder.path(), &["config", "check", "own.toml"]);
        assert!(code(&checked) == 2 && stderr(&checked).contains(told), "{}", stderr(&checked));
    }
    write("crawl.seeds = [\"http://127.0.0.1/\"]\n[[credentials]]\nurl = \"http://a.test/\"\ntoken_file = \"gone\"\n");
    let checked = lycosa(folder.path(), &["config", "check", "own.toml"]);
    let told = "own.toml: a run on this machine would not start: credentials[0]: cannot read gone";
    assert!(code(&checked) == 1 && stderr(&checked).contains(told), "{}", stderr(&checked));
    assert_eq!(stdout(&checked), "", "one verdict");
    let mut with_environment = Command::new(env!("CARGO_BIN_EXE_lycosa"));
    with_environment.current_dir(folder.path()).args(["check-config", "lycosa.toml"]);
    let wrong = with_environment.env("LYCOSA_FETCH__CONCURRENCY", "none").output().unwrap();
    assert!(code(&wrong) == 2 && stderr(&wrong).contains("LYCOSA_FETCH__CONCURRENCY"), "{}", stderr(&wrong));
    let shown = lycosa(folder.path(), &["config", "show", "--origin", "lycosa.toml"]);
    assert!(
        stdout(&shown).lines().any(|l| l.starts_with("fetch.concurrency = 200  # lycosa.toml:")),
        "{}",
        stdout(&shown)
    );
}

#[test]
fn inspect_speaks_the_form_that_scripts_read() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("robots.txt"), "User-agent: *\nDisallow: /private\n").unwrap();
    let robots = [
        "inspect",
        "robots",
        "--agent",
        "Lycosa",
        "--robots",
        "robots.txt",
        "http://a.test/private/x",
        "http://a.test/",
    ];
    let answer = stdout(&lycosa(folder.path(), &robots));
    let lines: Vec<&str> = answer.lines().collect();
    assert_eq!((lines.len(), lines[2]), (3, "group\tfor everybody (*)"), "{answer}");
    assert!(
        lines[0].starts_with("disallow http://a.test/private/x\t") && lines[0].contains("Disallow: /private"),
        "{answer}"
    );
    assert!(lines[1].starts_with("allow http://a.test/\t"), "{answer}");

    let url = lycosa(folder.path(), &["inspect", "url", "--base", "http://a.test/x/", "../y?utm_source=z#f"]);
    assert_eq!(stdout(&url), "http://a.test/y\n");

    std::fs::write(folder.path().join("page.html"), "<title>T</title><a href=/x rel=nofollow>l</a>").unwrap();
    let page = lycosa(folder.path(), &["inspect", "page", "page.html", "--url", "http://a.test/"]);
    let page: serde_json::Value = serde_json::from_str(&stdout(&page)).unwrap();
    assert_eq!(page["title"], "T");
    assert_eq!(page["links"][0]["url"], "http://a.test/x");
    assert_eq!(page["links"][0]["nofollow"], true);
    for key in ["charset", "description", "keywords", "robots", "canonical", "base", "text"] {
        assert!(page.get(key).is_some(), "{key}");
    }
}

#[test]
fn what_strangers_wrote_cannot_steer_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let hostile = "\u{1b}[2J\u{9b}\u{202e}\u{7f}";
    let write = |name: &str, text: String| std::fs::write(folder.path().join(name), text).unwrap();
    write("robots.txt", format!("User-agent: *\nDisallow: /x # {hostile}\nSitemap: /{hostile}\n"));
    write("map.xml", format!("<urlset><url><loc>ftp://a/{hostile}</loc></url></urlset>"));
    write("feed.xml", format!("<rss><channel><item><title>{hostile}</title><link>/y</link></item></channel></rss>"));
    write("page.html", format!("<meta charset=utf-8><title>T{hostile}</title>"));
    let at = ["--url", "http://a.test/"];
    let robots = ["inspect", "robots", "--agent", "Lycosa", "--robots", "robots.txt", "/x", hostile];
    for arguments in [
        &robots[..],
        &["inspect", "sitemap", "map.xml", at[0], at[1]],
        &["inspect", "sitemap", "feed.xml", at[0], at[1]],
        &["inspect", "sitemap", "feed.xml", "--json", at[0], at[1]],
        &["inspect", "page", "page.html", at[0], at[1]],
        &["inspect", "url", hostile],
        &["config", "show", "--set", &format!("crawl.seeds=http://a.test/{hostile}")],
    ] {
        let output = lycosa(folder.path(), arguments);
        let shown = stdout(&output) + &stderr(&output);
        let steers = |c: char| c != '\n' && c != '\t' && (c.is_control() || c == '\u{202e}');
        assert!(!shown.is_empty() && !shown.contains(steers), "{arguments:?}: {shown:?}");
    }
    let page = lycosa(folder.path(), &["inspect", "page", "page.html", at[0], at[1]]);
    let page: serde_json::Value = serde_json::from_str(&stdout(&page)).unwrap();
    assert_eq!(page["title"], format!("T{hostile}"), "it is the same JSON");
}

#[test]
fn ctl_without_a_crawl_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let output = lycosa(folder.path(), &["ctl", "--admin", &free, "status"]);
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).contains(&free) && stderr(&output).contains("lycosa run"), "{}", stderr(&output));
}

#[test]
fn help_and_version_are_no_errors() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [&["--help"][..], &["--version"], &["run", "--help"]] {
        let output = lycosa(folder.path(), arguments);
        assert!(code(&output) == 0 && !output.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn completions_are_scripts_that_the_shell_takes() {
    let output = crate::sandbox::program().args(["completions", "bash"]).output().unwrap();
    let script = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && script.contains("checkpoint"), "{script}");
    let file = tempfile::NamedTempFile::new().unwrap(); // it is too long for an argument
    std::fs::write(file.path(), &script).unwrap();
    let checked = std::process::Command::new("bash").arg("-n").arg(file.path()).status().unwrap();
    assert!(checked.success());
}

#[test]
fn a_mistyped_command_that_asks_for_json_is_told_in_json_too() {
    let dir = tempfile::tempdir().unwrap();
    for arguments in [&["ctl", "--json", "bogus"][..], &["checkpoint", "verfy", "--json"]] {
        let output = lycosa(dir.path(), arguments);
        let error: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        assert_eq!((code(&output), &error["exit"]), (2, &2.into()));
        assert_eq!(stderr(&output), format!("lycosa: {}\n", error["detail"].as_str().unwrap()));
    }
    assert_eq!(stdout(&lycosa(dir.path(), &["ctl", "bogus"])), "");
}
