//! `lycosa fetch` on the synthetic web and on small servers: what the crawl would see, and where it stops.

use std::process::Output;

use lycosa::testweb::{TestWeb, TestWebConfig};
use serde_json::Value;

use crate::sandbox::program;
use crate::site::{Site, html, none, page};

fn fetch(overrides: &str, arguments: &[&str]) -> (i32, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = program();
    command.current_dir(folder.path()).arg("fetch").args(arguments).args(["--allow-net", "127.0.0.1/32"]);
    let overrides = format!("dns.overrides={{\"*.test\"=\"{overrides}\"}}");
    command.args(["--set", &overrides, "--set", "politeness.min_delay=10ms"]);
    let Output { status, stdout, stderr } = command.output().unwrap();
    (status.code().unwrap(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

#[test]
fn a_page_of_the_synthetic_web_is_shown_with_its_links_and_leaves_no_folder() {
    let web = TestWeb::start(TestWebConfig { hosts: 3, pages: 20, off_host: 0.5, ..TestWebConfig::default() }).unwrap();
    let (code, text, error) = fetch(&web.addr().to_string(), &[&web.start_url(), "--json"]);
    assert_eq!(code, 0, "{error}");
    let report: Value = serde_json::from_str(&text).unwrap();
    let answer = &report["answer"];
    assert_eq!((&report["robots"]["allowed"], &answer["status"]), (&Value::Bool(true), &Value::from(200)));
    assert!(answer["timings_ms"]["connect"].as_f64().unwrap() > 0.0, "{answer}");
    let links = answer["page"]["links"].as_array().unwrap();
    assert!(!links.is_empty());
    let own = web.start_url();
    for link in links {
        let url = link["url"].as_str().unwrap_or("");
        let verdict = link["verdict"].as_str().unwrap();
        assert!(!url.starts_with("http://h1.test") || verdict.starts_with("scope"), "{link}");
        assert!(!url.starts_with(&own) || !verdict.starts_with("scope"), "{link}");
    }
    let asked: Vec<String> = web.audit().into_iter().map(|entry| entry.path).collect();
    assert_eq!(asked[0], "/robots.txt");
    assert_eq!(asked.len(), 2, "{asked:?}");
}

fn hops(host: &str, path: &str) -> String {
    match (host, path) {
        ("forbidden.test", "/robots.txt") => page(200, "text/plain", "", "User-agent: lycosa\nDisallow: /\n"),
        (_, "/robots.txt") => none(),
        ("a.test", "/") => page(302, "text/plain", "Location: /two\r\n", ""),
        ("a.test", "/two") => page(301, "text/plain", "Location: //b.test/\r\n", ""),
        ("a.test", "/loop") => page(302, "text/plain", "Location: /loop\r\n", ""),
        ("a.test", "/forbidden") => page(302, "text/plain", "Location: //forbidden.test/\r\n", ""),
        ("a.test", "/inside") => page(302, "text/plain", "Location: http://10.0.0.1/secret\r\n", ""),
        ("a.test", "/public") => page(302, "text/plain", "Location: https://example.org/\r\n", ""),
        ("a.test", "/bad") => page(302, "text/plain", "Location: mailto:x@y\r\n", ""),
        _ => page(200, "text/html", "X-Robots-Tag: nofollow\r\n", "<title>end</title><a href=/x>x</a>"),
    }
}

#[test]
fn a_redirect_is_shown_and_followed_only_when_asked() {
    let site = Site::http(hops);
    let at = site.address.to_string();
    let (code, text, error) = fetch(&at, &["http://a.test/"]);
    assert!(code == 0 && text.contains("to http://a.test/two (take); --follow"), "{text}{error}");
    assert_eq!(site.asked(), ["a.test /robots.txt", "a.test /"]);
    let (code, text, error) = fetch(&at, &["http://a.test/", "--follow"]);
    assert_eq!(code, 0, "{error}");
    for part in
        ["302 http://a.test/ to http://a.test/two", "301 http://a.test/two to http://b.test/", "title        end"]
    {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    assert!(text.contains("directives   nofollow") && text.contains("[nofollow]"), "{text}");
    assert!(site.asked().contains(&"b.test /robots.txt".to_owned()), "each hop asks the robots.txt of its host");
}

#[test]
fn every_hop_passes_every_check() {
    let site = Site::http(hops);
    let at = site.address.to_string();
    let follow = |path: &str| fetch(&at, &[&format!("http://a.test{path}"), "--follow"]);
    let (code, text, _) = follow("/forbidden");
    assert!(code == 1 && text.contains("Disallow: /") && text.contains("not fetched"), "{text}");
    assert!(!site.asked().contains(&"forbidden.test /".to_owned()));
    let (code, text, error) = follow("/inside");
    assert!(code == 1 && error.contains("10.0.0.1") && error.contains("--allow-net"), "{error}");
    assert!(text.starts_with("redirect     302 http://a.test/inside to http://10.0.0.1/secret\n"), "{text}");
    let (code, _, error) = follow("/public");
    assert!(code == 2 && error.contains("--contact"), "{error}");
    let (code, text, _) = follow("/loop");
    assert!(code == 1 && text.contains("stopped      redirect loop: the answer redirects to itself"), "{text}");
    let (code, text, _) = follow("/bad");
    assert!(code == 0 && text.contains("what is no http(s) URL"), "{text}");
}

#[test]
fn a_certificate_that_is_not_good_is_told() {
    let site = Site::https(|_, path| if path == "/robots.txt" { none() } else { html("x") });
    let seed = format!("https://self.test:{}/", site.port());
    let (code, text, error) = fetch("127.0.0.1", &[&seed]);
    assert!(code == 0 && text.contains("certificate  the certificate is "), "{text}{error}");
    let (code, _, error) = fetch("127.0.0.1", &[&seed, "--set", "tls.verify=strict"]);
    assert!(code == 1 && error.starts_with("lycosa: https://self.test") && error.contains("tls"), "{error}");
}

#[test]
fn no_answer_is_one_line_with_what_to_do() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for arguments in [&["http://a.test/"][..], &["http://a.test/", "--json"], &["http://a.test/", "--body"]] {
        let (code, text, error) = fetch(&closed.to_string(), arguments);
        assert!(code == 1 && error.lines().count() == 1, "{text}{error}");
        match arguments.contains(&"--json") {
            true => {
                let report: Value = serde_json::from_str(&text).unwrap();
                assert_eq!(report["failed"]["reason"], "connect_refused", "{text}");
            }
            false => assert!(text.is_empty(), "{text}"),
        }
        assert!(
            error.starts_with("lycosa: http://a.test/: connect_refused") && error.contains("check the URL"),
            "{error}"
        );
    }
}
