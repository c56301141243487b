//! Webhooks on a running daemon: what is called, when, how it is signed, and that a fault of theirs is no fault of the crawl.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};

use hmac::{Hmac, KeyInit, Mac};
use lycosa::testweb::TestWebConfig;
use serde_json::Value;
use sha2::Sha256;

use crate::sandbox::Sandbox;

const SECRET: &str = "correct-horse-battery-staple";

/// One call as it came in.
struct Called {
    headers: Vec<String>,
    body: String,
}

impl Called {
    fn header(&self, name: &str) -> &str {
        let line = self.headers.iter().find(|line| line.to_ascii_lowercase().starts_with(&format!("{name}: ")));
        line.unwrap_or_else(|| panic!("no {name} in {:?}", self.headers)).split_once(": ").unwrap().1
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    fn is_signed(&self) -> bool {
        let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
        mac.update(format!("{}.{}", self.header("x-lycosa-timestamp"), self.body).as_bytes());
        let digest: String = mac.finalize().into_bytes().iter().map(|b| format!("{b:02x}")).collect();
        self.header("x-lycosa-signature") == format!("sha256={digest}")
    }
}

/// A server on loopback that answers these statuses, then 204 for ever.
fn server(statuses: &'static [u16]) -> (SocketAddr, Arc<Mutex<Vec<Called>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let calls: Arc<Mutex<Vec<Called>>> = Arc::default();
    let kept = calls.clone();
    std::thread::spawn(move || {
        for (n, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let lines = reader.by_ref().lines().map(Result::unwrap);
            let headers: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            let length =
                headers.iter().find_map(|h| h.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
            let mut body = vec![0; length.unwrap()];
            reader.read_exact(&mut body).unwrap();
            kept.lock().unwrap().push(Called { headers, body: String::from_utf8(body).unwrap() });
            let status = statuses.get(n).unwrap_or(&204);
            let _ = write!(
                stream,
                "HTTP/1.1 {status} X\r\nLocation: /elsewhere\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            );
        }
    });
    (address, calls)
}

fn settings(at: SocketAddr, secret: &std::path::Path, on: &str) -> String {
    let secret = secret.display();
    format!(
        "politeness.min_delay = \"5ms\"\npoliteness.delay_factor = 0\nstore.memory = \"32MiB\"\nfetch.waf_brake = 3\n\
         crawl.until_done_patience = \"1s\"\n[[webhook]]\nurl = \"http://{at}/hook?key=hidden\"\non = [{on}]\nsecret_file = \"{secret}\"\n"
    )
}

#[test]
fn a_blocked_host_and_the_end_are_told_signed_and_a_call_that_failed_is_made_again() {
    let (at, calls) = server(&[503]);
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    std::fs::write(&secret, format!("{SECRET}\n")).unwrap();
    let web = TestWebConfig { hosts: 1, pages: 40, errors: 0.9, error_status: vec![403], ..TestWebConfig::default() };
    let mut sandbox = Sandbox::new(web, &settings(at, &secret, "\"finished\", \"host_blocked\""));
    let log = sandbox.finish();
    let calls = calls.lock().unwrap();
    let told: Vec<(String, String)> = calls
        .iter()
        .map(|call| (call.json()["event"].as_str().unwrap().into(), call.json()["reason"].as_str().unwrap().into()))
        .collect();
    let expected = [("host_blocked", "refusals"), ("host_blocked", "refusals"), ("finished", "done")];
    assert_eq!(told, expected.map(|(event, reason)| (event.to_owned(), reason.to_owned())), "{log}");
    assert_eq!(calls[0].body, calls[1].body, "the first was answered with 503");
    assert!(calls.iter().all(Called::is_signed));
    let last = calls[2].json();
    assert!(last["status"]["done"].as_u64().is_some() && last["crawl"] == "default", "{last}");
    assert_eq!(
        (calls[0].json()["host"].as_str(), calls[0].header("x-lycosa-event")),
        (Some("h0.test"), "host_blocked")
    );
    assert!(calls[0].headers[0].starts_with("POST /hook?key=hidden HTTP/1.1"), "{:?}", calls[0].headers);
    assert!(log.contains("a webhook is called again") && !log.contains("hidden") && !log.contains(SECRET), "{log}");
}

#[test]
fn memory_that_is_short_is_told_once_and_a_webhook_that_refuses_changes_nothing() {
    let (at, calls) = server(&[302, 302]);
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    std::fs::write(&secret, SECRET).unwrap();
    let web = TestWebConfig { hosts: 10, pages: 500, ..TestWebConfig::default() };
    let mut sandbox = Sandbox::new(web, &settings(at, &secret, "\"degraded\""));
    let mut daemon = sandbox.start(&["--until-done"], Some("node.memory=error@1"));
    let status = daemon.wait();
    let log = daemon.log();
    assert_eq!(status.code(), Some(0), "{log}");
    let calls = calls.lock().unwrap();
    assert_eq!(calls.len(), 1, "no redirect is followed, no refusal repeated\n{log}");
    assert_eq!((&calls[0].json()["event"], &calls[0].json()["reason"]), (&"degraded".into(), &"memory_short".into()));
    assert!(log.contains("a webhook was not called"), "{log}");
}

#[test]
fn a_secret_that_cannot_be_read_keeps_the_crawl_from_starting() {
    let missing = std::path::Path::new("/nonexistent/secret");
    let mut sandbox =
        Sandbox::new(TestWebConfig::default(), &settings("127.0.0.1:9".parse().unwrap(), missing, "\"finished\""));
    let mut daemon = sandbox.start(&["--until-done"], None);
    let status = daemon.wait();
    assert!(
        status.code() == Some(2) && !sandbox.data().exists() && daemon.log().contains("[[webhook]] secret_file"),
        "{}",
        daemon.log()
    );
}

#[test]
fn a_disk_that_is_low_at_the_start_is_told_and_a_resume_says_what_holds_the_crawl() {
    let (at, calls) = server(&[]);
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    std::fs::write(&secret, SECRET).unwrap();
    let settings = settings(at, &secret, "\"degraded\"");
    let mut sandbox = Sandbox::with(TestWebConfig::default(), &format!("disk.pause_below = \"1000TB\"\n{settings}"));
    let crawl = crate::admin::Running::start(&mut sandbox, &[]);
    crate::sandbox::until("the call", || calls.lock().unwrap().first().map(Called::json), || crawl.daemon.log());
    let told = calls.lock().unwrap()[0].json();
    assert_eq!((&told["event"], &told["reason"]), (&"degraded".into(), &"disk_low".into()), "{told}");
    let (code, text) = crawl.ctl(&["resume"]);
    assert!(code == 0 && text.contains("the crawl waits all the same") && text.contains("is low on space"), "{text}");
    crawl.daemon.signal(nix::sys::signal::Signal::SIGTERM);
    crawl.end();
}
