//! The same over HTTP and with `lycosa ctl`, on the real program.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use lycosa::testweb::TestWebConfig;
use nix::sys::signal::Signal;
use serde_json::Value;

use super::{requests_to, web};
use crate::sandbox::{Daemon, Sandbox, program, until};

fn endpoint(daemon: &Daemon) -> SocketAddr {
    let address = || {
        let log = daemon.log();
        let rest = log.split_once("address=http://")?.1;
        rest.split_once('\n')?.0.trim().parse().ok()
    };
    until("the endpoint", address, || daemon.log())
}

fn ask(at: SocketAddr, method: &str, path: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(at).unwrap();
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or(0);
    (status, answer)
}

fn ctl(at: SocketAddr, arguments: &[&str]) -> (i32, String) {
    let output = program().args(["ctl", "--admin", &at.to_string()]).args(arguments).output().unwrap();
    let text = [&output.stdout, &output.stderr].map(|t| String::from_utf8_lossy(t).into_owned()).concat();
    (output.status.code().unwrap(), text)
}

#[test]
fn orders_are_given_by_hand_outlive_a_kill_and_make_sense_or_are_refused() {
    let web = TestWebConfig { pages: 200, errors: 0.2, error_status: vec![404], ..web() };
    let settings = "politeness.min_delay = \"5ms\"\npoliteness.delay_factor = 0\nstore.memory = \"32MiB\"\n";
    let mut sandbox = Sandbox::new(web, settings);
    let mut daemon = sandbox.start(&[], None);
    let at = endpoint(&daemon);
    until("requests", || (requests_to(&sandbox.web, "h1.test").len() > 5).then_some(()), || daemon.log());
    assert!(ctl(at, &["host", "h1.test", "pause"]).1.starts_with("h1.test: paused since 20"));
    let (code, text) = ctl(at, &["--json", "host", "h2.test", "block"]);
    let blocked: Value = serde_json::from_str(&text).unwrap();
    assert!(code == 0 && blocked["orders"]["blocked"].is_u64() && blocked["job"]["kind"] == "block", "{text}");
    let (code, text) = ctl(at, &["seeds", "add", "http://h2.test/new"]);
    let why = "rejected http://h2.test/new: blocked: its host is blocked by the operator's order; `lycosa ctl host h2.test unblock`";
    assert!(code == 1 && text.contains(why), "{text}");
    let (code, text) = ctl(at, &["host", "h0.test", "delay", "7ms"]);
    assert!(code == 0 && text.contains("at least 7ms between two requests"), "{text}");
    let asked = ["h1.test", "h2.test"].map(|host| requests_to(&sandbox.web, host).len());
    daemon.signal(Signal::SIGKILL);
    daemon.wait();

    let mut daemon = sandbox.start(&[], None);
    let at = endpoint(&daemon);
    let before = sandbox.web.audit_len();
    until("requests", || (sandbox.web.audit_len() > before + 20).then_some(()), || daemon.log());
    assert_eq!(["h1.test", "h2.test"].map(|host| requests_to(&sandbox.web, host).len()), asked);
    let (code, text) = ctl(at, &["report", "dead-links"]);
    assert!(code == 0 && text.starts_with("url,reason,status,when,attempts,page,seed\r\n"), "{text}");
    assert!(text.contains(",status_4xx,404,"), "{text}");
    let dead = text.lines().nth(1).unwrap().split(',').next().unwrap();
    for (url, part) in [
        ("http://h0.test/nobody-knows-it", "nothing is known of http://h0.test/nobody-knows-it"),
        (dead, "0 of 1 pages are visited now"),
    ] {
        let (code, text) = ctl(at, &["urls", "visit", url]);
        assert!(code == 1 && text.contains(part), "{code} {text}");
    }
    let (code, text) = ctl(at, &["report", "dead", "--holders"]);
    assert!(code == 0 && text.contains("url,reason,status,page,context,pages\r\n"), "{text}");
    assert!(text.contains(",status_4xx,404,http://") && text.contains(",a/@href,"), "{text}");
    let (code, text) = ctl(at, &["--json", "report", "dead-links", "--holders", "--host", "h0.test"]);
    let rows: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert!(code == 0 && rows.iter().all(|row| row["url"].as_str().unwrap().starts_with("http://h0.test/")), "{text}");
    assert!(!rows.is_empty() && text.contains("--again makes it anew"), "{text}");
    let (code, text) = ctl(at, &["--json", "report", "hosts"]);
    let hosts: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(code == 0 && hosts.iter().any(|h| h["host"] == "h1.test" && h["orders"]["paused"].is_u64()), "{text}");
    let (code, text) = ctl(at, &["urls", "retry", "--reason", "status", "--host", "h0.test"]);
    assert!(code == 0 && text.contains("given up") && text.contains("looked at"), "{text}");
    let (code, text) = ctl(at, &["--json", "urls", "retry", "--reason", "weather"]);
    let error: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert!(code == 2 && error["exit"] == 2 && error["detail"].as_str().unwrap().contains("is no reason"), "{text}");
    let (code, text) =
        ctl(at, &["seeds", "add", "--rank", "0", "--max-depth", "1", "--tag", "x", "http://h0.test/new"]);
    assert!(code == 0 && text.contains("1 accepted"), "{text}");
    for (method, path, body, wanted) in [
        ("POST", "/api/v1/hosts/a%20b/pause", "", 400),
        ("POST", "/api/v1/hosts/nowhere.test/drop", "", 404),
        ("POST", "/api/v1/hosts/h2.test/recrawl", "", 409),
        ("GET", "/api/v1/hosts/h1.test/pause", "", 405),
        ("PUT", "/api/v1/hosts/h1.test/delay", "", 400),
        ("PUT", "/api/v1/hosts/h1.test/delay", "{}", 400),
        ("PUT", "/api/v1/hosts/h1.test/delay", "{\"min_delay\": null}", 200),
        ("POST", "/api/v1/hosts/h1.test/pause", "{\"for\": \"2h\"}", 400),
        ("POST", "/api/v1/hosts/h1%2531.test/pause", "", 400),
        ("POST", "/api/v1/hosts/%0ah1.test/pause", "", 400),
        ("GET", "/api/v1/hosts/%0ah1.test", "", 400),
        ("GET", "/api/v1/hosts/h1.test", "", 200),
        ("GET", "/api/v1/hosts?limit=%2B5", "", 400),
        ("GET", "/api/v1/pages?since=2m", "", 400),
        ("GET", "/api/v1/statistics?since=9223372036854775808", "", 400),
        ("POST", "/api/v1/urls/retry", "", 400),
        ("PUT", "/api/v1/hosts/h1.test/delay", "{\"min_delay\": 5}", 400),
        ("PUT", "/api/v1/hosts/h1.test/delay", "{\"min_delay\": \"30d\"}", 400),
        ("POST", "/api/v1/urls/retry", "{\"reason\": \"weather\"}", 400),
        ("POST", "/api/v1/urls/retry", "nonsense", 400),
        ("POST", "/api/v1/urls/retry", "[]", 400),
        ("POST", "/api/v1/seeds", "{\"seeds\": [{\"url\": \"http://h0.test/\", \"rank\": 9}]}", 400),
        ("GET", "/api/v1/reports/dead-links?limit=0", "", 400),
        ("GET", "/api/v1/reports/dead-links?cursor=x", "", 400),
        ("GET", "/api/v1/reports/dead-links?host=a%20b", "", 400),
        ("GET", "/api/v1/reports/dead-links/holders?limit=2&format=csv", "", 200),
        ("GET", "/api/v1/reports/dead-links/holders?cursor=00", "", 400),
        ("GET", "/api/v1/reports/dead-links/holders?cursor=x", "", 400),
        ("POST", "/api/v1/reports/dead-links/holders", "[]", 400),
        ("POST", "/api/v1/reports/dead-links/holders", "{\"hosts\": 1}", 400),
        ("POST", "/api/v1/reports/dead-links/holders", "{\"host\": \"a b\"}", 400),
        ("DELETE", "/api/v1/reports/dead-links/holders", "", 405),
        ("GET", "/api/v1/reports/hosts?format=xml", "", 400),
        ("GET", "/api/v1/reports/types?format=csv", "", 200),
        ("GET", "/api/v1/reports/statuses", "", 200),
    ] {
        let (code, text) = ask(at, method, path, body);
        assert_eq!(code, wanted, "{method} {path} {body}: {text}");
        assert!(code == 200 || text.contains("application/problem+json"), "{path}: {text}");
    }
    let (_, text) = ask(at, "GET", "/api/v1/reports/dead-links?limit=1&format=csv", "");
    assert!(text.to_ascii_lowercase().contains("x-next-cursor: ") && text.contains("text/csv"), "{text}");
    assert!(ctl(at, &["host", "h1.test", "resume"]).1.contains("no order stands"));
    until("the host again", || (requests_to(&sandbox.web, "h1.test").len() > asked[0]).then_some(()), || daemon.log());
    daemon.signal(Signal::SIGTERM);
    assert_eq!(daemon.wait().code(), Some(0), "{}", daemon.log());
    let checked = program().arg("check").arg(sandbox.config_file()).arg("--data").arg(sandbox.data()).output().unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
}
