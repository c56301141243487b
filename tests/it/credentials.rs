//! Credentials and cookies of a whole program: they reach the servers they are for and are found nowhere else, whatever
//! redirects say.

use std::io::Read;
use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use lycosa::testweb::TestWebConfig;

use crate::rules::client::Admin;
use crate::sandbox::program;
use crate::site::{Site, html, none, page};
use crate::support::Sandbox;

/// What must not be found: the secrets, and how they stand in headers.
const SECRETS: [&str; 8] = [
    "hidden-key",
    "hidden-token",
    "hidden-password",
    "hidden-proxy",
    "hidden-cookie",
    "bWU6aGlkZGVu", // "me:hidden" in Base64
    "aGlkZGVuLX",
    "hidden-file",
];

/// Every file below a folder, unpacked where it is packed.
fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(contents(&path));
            continue;
        }
        let mut bytes = std::fs::read(&path).unwrap();
        if path.to_string_lossy().contains(".warc.gz") {
            let packed = std::mem::take(&mut bytes);
            flate2::read::MultiGzDecoder::new(&*packed).read_to_end(&mut bytes).unwrap();
        }
        all.push((path.display().to_string(), bytes));
    }
    all
}

fn assert_no_secret(what: &str, text: &str) {
    for secret in SECRETS {
        assert!(!text.contains(secret), "{secret} in {what}: {text}");
    }
}

/// Whether a request had credentials, and whether it had the cookie. The key of a host has come to it and to no other.
fn told(head: &str) -> (bool, bool) {
    assert_eq!(head.contains("\r\nX-Api-Key: hidden-key\r\n"), head.contains("\r\nHost: a.test"), "{head}");
    (head.contains("\r\nAuthorization: "), head.contains("\r\nCookie: sid=hidden-cookie\r\n"))
}

#[test]
fn secrets_stay_with_the_server_they_are_for_over_every_redirect() {
    // What each of these must never see: credentials or cookies of the first site.
    let see_nothing = |_: &str, path: &str| if path == "/robots.txt" { none() } else { html("elsewhere") };
    let (other_port, secure, other_host) = (Site::http(see_nothing), Site::https(see_nothing), Site::http(see_nothing));
    let (port, secure_port, b_port) = (other_port.port(), secure.port(), other_host.port());
    let first = Site::http(move |host, path| match (host, path) {
        (_, "/robots.txt") => none(),
        ("a.test", "/in/") => page(
            200,
            "text/html",
            "Set-Cookie: sid=hidden-cookie; Path=/\r\n",
            "<a href=/in/port>1</a><a href=/in/host>2</a><a href=/in/scheme>3</a><a href=/in/own>4</a><a href=/open>5</a>",
        ),
        ("a.test", "/in/port") => page(302, "text/html", &format!("Location: http://a.test:{port}/in/x\r\n"), ""),
        ("a.test", "/in/host") => page(302, "text/html", &format!("Location: //b.test:{b_port}/in/y\r\n"), ""),
        ("a.test", "/in/scheme") => {
            page(302, "text/html", &format!("Location: https://a.test:{secure_port}/in/x\r\n"), "")
        }
        ("a.test", "/in/own") => page(302, "text/html", "Location: /in/target\r\n", ""),
        _ => html("here"),
    });
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("password"), "hidden-password\n").unwrap();
    let config = format!(
        "crawl.seeds = [\"http://a.test:{0}/in/\", \"http://b.test:{0}/in/x\"]\ncrawl.until_done = true\nscope.mode = \"any\"\n\
         admin.listen = \"off\"\npoliteness.min_delay = \"10ms\"\npoliteness.delay_factor = 0\ndisk.pause_below = \"1MB\"\n\
         dns.overrides = {{ \"*.test\" = \"127.0.0.1\" }}\nlog.level = \"debug\"\ncookies.enabled = true\n\
         [[credentials]]\nurl = \"http://a.test:{0}/in\"\nuser = \"me\"\npassword_file = \"password\"\n\
         [[credentials]]\nurl = \"http://a.test:{0}/unused\"\ntoken = \"hidden-token\"\n\
         [[host]]\nmatch = \"a.test\"\nheaders = {{ \"X-Api-Key\" = \"hidden-key\", \"X-Plain\" = \"plain\" }}\n",
        first.port()
    );
    std::fs::write(folder.path().join("lycosa.toml"), config).unwrap();
    let mut command = program();
    let Output { status, stdout, stderr } =
        command.current_dir(folder.path()).args(["run", "lycosa.toml", "--data", "data"]).output().unwrap();
    let said = [stderr, stdout].map(|t| String::from_utf8(t).unwrap()).concat();
    assert_eq!(status.code(), Some(0), "{said}");
    let mut with_both = 0;
    for head in first.heads() {
        let (of_a, below) = (head.contains("\r\nHost: a.test"), head.starts_with("GET /in/"));
        let (credentials, cookie) = told(&head);
        assert_eq!(credentials, of_a && below, "{head}");
        assert!(!cookie || of_a, "{head}");
        with_both += usize::from(credentials && cookie);
    }
    assert!(with_both >= 5, "the pages below and the redirect's own target: {:?}", first.asked());
    assert!(first.asked().contains(&"b.test /in/x".to_owned()) && first.asked().contains(&"a.test /open".to_owned()));
    assert!(other_port.asked().contains(&"a.test /in/x".to_owned()), "{:?}", other_port.asked());
    assert!(secure.asked().contains(&"a.test /in/x".to_owned()), "{:?}", secure.asked());
    assert!(other_host.asked().contains(&"b.test /in/y".to_owned()), "{:?}", other_host.asked());
    for head in secure.heads().iter().chain(&other_host.heads()) {
        assert_eq!(told(head), (false, false), "{head}");
    }
    // A cookie knows no ports (RFC 6265 section 8.5), credentials do.
    assert!(other_port.heads().iter().all(|head| !told(head).0), "{:?}", other_port.heads());
    assert_no_secret("the log", &said);
    for (name, bytes) in contents(&folder.path().join("data")) {
        let text = String::from_utf8_lossy(&bytes);
        // The archive keeps answers as they came, with the cookies they set; requests are redacted.
        assert_no_secret(&name, &text.replace("Set-Cookie: sid=hidden-cookie", ""));
        if name.contains(".warc.gz") {
            assert!(text.contains("\r\nAuthorization: [redacted]\r\n") && text.contains("\r\nCookie: [redacted]\r\n"));
            assert!(text.contains("\r\nX-Api-Key: [redacted]\r\n") && text.contains("\r\nX-Plain: plain\r\n"));
        }
    }
    let shown = program().current_dir(folder.path()).args(["config", "show", "lycosa.toml"]).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("user = \"me\"") && shown.contains("X-Plain = \"plain\""), "{shown}");
    assert_no_secret("config show", &shown);
}

#[test]
fn no_answer_of_the_admin_endpoint_tells_a_secret() {
    let sandbox = Sandbox::new(TestWebConfig { hosts: 1, pages: 3, ..TestWebConfig::default() })
        .set("proxy.https=http://me:hidden-proxy@127.0.0.1:1")
        .set(r#"credentials=[{url="https://a.test/", user="me", password="hidden-password"}, {url="https://b.test/", token="hidden-token"}]"#)
        .set(r#"host=[{match="c.test", proxy="http://me:hidden-proxy@127.0.0.1:1"}]"#);
    let live = sandbox.start();
    let admin = Admin::of(&live);
    let headers = json!({"X-Api-Key": "hidden-key", "X-Plain": "plain"});
    admin.set(&json!({"host.d.test": {"proxy": "http://me:hidden-proxy@127.0.0.1:2", "headers": headers}}));
    for path in ["/api/v1/settings", "/api/v1/settings/history", "/api/v1/status", "/metrics"] {
        let (status, answer) = admin.ask("GET", path, "");
        assert_eq!(status, 200, "{path}: {answer}");
        assert_no_secret(path, &answer.to_string());
    }
    let (host, _) = admin.get("host.d.test");
    assert_eq!(host["proxy"], "http://…@127.0.0.1:2");
    assert_eq!(host["headers"], json!({"X-Api-Key": "…", "X-Plain": "plain"}));
    let (credentials, _) = admin.get("credentials");
    assert_eq!(credentials[0]["user"], "me", "{credentials}");
    assert!(credentials[0]["password"] != Value::Null, "{credentials}");
    drop(admin);
    live.until_stop();
    live.end();
}

#[test]
fn a_seed_with_user_and_password_is_refused_with_the_section_to_write_and_shown_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let seed = "http://me:hidden-password@127.0.0.1:9/in/";
    std::fs::write(folder.path().join("seeds"), format!("http://127.0.0.1:9/\n{seed}\n")).unwrap();
    std::fs::write(folder.path().join("bad.toml"), format!("[crawl]\nseeds = [\"{seed}\"]\n")).unwrap();
    for (args, code) in [
        (vec!["run", "--seed", seed, "--data", "data"], 2),
        (vec!["run", "bad.toml", "--data", "data"], 2),
        (vec!["config", "check", "bad.toml"], 2),
        (vec!["fetch", seed], 2),
        (vec!["run", "--seeds", "seeds", "--dry-run", "--data", "data", "--allow-net", "127.0.0.1/32"], 0),
    ] {
        let Output { status, stdout, stderr } = program().current_dir(folder.path()).args(&args).output().unwrap();
        let said = [stderr, stdout].map(|t| String::from_utf8(t).unwrap()).concat();
        assert_eq!(status.code(), Some(code), "{args:?}: {said}");
        assert!(said.contains("[[credentials]]") && said.contains("url = \"http://127.0.0.1:9/\""), "{args:?}: {said}");
        assert_no_secret(&format!("{args:?}"), &said);
    }
    assert!(!folder.path().join("data").exists(), "nothing was begun");
}

#[test]
fn a_seed_with_user_and_password_that_is_handed_in_is_refused_with_the_section_to_write() {
    let sandbox = Sandbox::new(TestWebConfig { hosts: 1, pages: 3, ..TestWebConfig::default() });
    let live = sandbox.start();
    let admin = Admin::of(&live);
    let (status, answer) =
        admin.ask("POST", "/api/v1/seeds", r#"{"urls": ["http://me:hidden-password@h0.test/", "http://h0.test/x"]}"#);
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["rejected"][0]["url"], "http://…@h0.test/", "{answer}");
    assert!(answer["rejected"][0]["reason"].as_str().unwrap().contains("[[credentials]]"), "{answer}");
    assert_no_secret("the report", &answer.to_string());
    drop(admin);
    live.until_stop();
    live.end();
}
