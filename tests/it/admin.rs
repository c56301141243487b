//! The admin endpoint and `lycosa ctl` on a running daemon.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Output;
use std::time::Duration;

use lycosa::telemetry::{State, StatusSnapshot};
use lycosa::testweb::TestWebConfig;
use nix::sys::signal::Signal;
use serde_json::Value;

use crate::sandbox::{Daemon, Sandbox, program, until};

/// A web that takes far longer to crawl than any of these tests.
fn endless() -> Sandbox {
    let web = TestWebConfig { hosts: 20, pages: 20_000, ..TestWebConfig::default() };
    Sandbox::new(web, "politeness.min_delay = \"20ms\"\npoliteness.delay_factor = 0\nstore.memory = \"32MiB\"\n")
}

/// A daemon whose endpoint answers.
pub struct Running {
    pub daemon: Daemon,
    pub at: SocketAddr,
}

impl Running {
    pub fn start(sandbox: &mut Sandbox, arguments: &[&str]) -> Self {
        Self::of(sandbox.start(arguments, None))
    }

    /// Of a daemon that was started.
    pub fn of(daemon: Daemon) -> Self {
        let address = || {
            let log = daemon.log();
            let rest = log.split_once("address=http://")?.1;
            rest.split_once('\n')?.0.trim().parse().ok()
        };
        let at = until("the endpoint", address, || daemon.log());
        Self { daemon, at }
    }

    pub fn get(&self, path: &str) -> (u16, String) {
        self.get_with(path, "")
    }

    pub fn get_with(&self, path: &str, more: &str) -> (u16, String) {
        self.let_in(&format!("GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{more}\r\n", self.at))
    }

    pub fn post(&self, path: &str, more: &str, body: &str) -> (u16, String) {
        let (at, length) = (self.at, body.len());
        let head = format!("POST {path} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\nContent-Length: {length}\r\n");
        self.let_in(&format!("{head}{more}\r\n{body}"))
    }

    pub fn put(&self, path: &str, body: &str) -> (u16, String) {
        let (at, length) = (self.at, body.len());
        let head = format!("PUT {path} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\nContent-Length: {length}\r\n");
        self.let_in(&format!("{head}Content-Type: application/json\r\n\r\n{body}"))
    }

    /// A request as typed, which may get no answer.
    pub fn ask(&self, request: &str) {
        ask(self.at, request);
    }

    /// Asked in a loop on a fast machine, the endpoint says 429 at some time: it is asked again, as it says itself.
    fn let_in(&self, request: &str) -> (u16, String) {
        let answer = || Some(ask(self.at, request)).filter(|answer| answer.0 != 429);
        until("an answer that is no 429", answer, || self.daemon.log())
    }

    pub fn status(&self) -> StatusSnapshot {
        let (code, text) = self.get("/api/v1/status");
        assert_eq!(code, 200, "{text}");
        let status: StatusSnapshot = serde_json::from_str(&text).unwrap();
        assert!(status.adds_up(), "I2: {text}");
        status
    }

    pub fn ctl(&self, arguments: &[&str]) -> (i32, String) {
        let output = program().args(["ctl", "--admin", &self.at.to_string()]).args(arguments).output().unwrap();
        told(&output)
    }

    /// Waits until the status is as wanted.
    pub fn until_status(&self, what: &str, wanted: impl Fn(&StatusSnapshot) -> bool) -> StatusSnapshot {
        let look = || {
            std::thread::sleep(Duration::from_millis(5)); // the endpoint answers so many requests a second
            Some(self.status()).filter(&wanted)
        };
        until(what, look, || format!("{:?}\n{}", self.status(), self.daemon.log()))
    }

    pub fn end(mut self) -> String {
        let status = self.daemon.wait();
        let log = self.daemon.log();
        assert_eq!(status.code(), Some(0), "{log}");
        log
    }
}

fn told(output: &Output) -> (i32, String) {
    let text = [&output.stdout, &output.stderr].map(|t| String::from_utf8_lossy(t).into_owned()).concat();
    (output.status.code().unwrap(), text)
}

/// Status and body of the answer to a request as typed.
fn ask(to: SocketAddr, request: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer); // a refused body may end in a reset
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or(0);
    (status, answer.split_once("\r\n\r\n").map_or(String::new(), |(_, body)| body.to_owned()))
}

#[test]
fn a_pause_stops_requests_resume_goes_on_and_stop_drains() {
    let mut sandbox = endless();
    let crawl = Running::start(&mut sandbox, &[]);
    crawl.until_status("the first pages", |s| s.done > 20);
    assert_eq!(crawl.ctl(&["health"]), (0, "ready\n".into()));
    assert_eq!(crawl.ctl(&["pause"]), (0, "pause: done\n".into()));
    let paused = crawl.until_status("the end of what was in flight", |s| s.in_flight == 0);
    assert_eq!(paused.state, State::Paused);
    assert!(paused.idle_reason.contains("lycosa ctl resume"), "{}", paused.idle_reason);
    let asked = sandbox.web.audit_len();
    // Many looks of every actor later (they look at most every 50 ms) nothing more has been asked for.
    let looks_begin = crawl.status().uptime_seconds;
    let paused = crawl.until_status("time to pass", |s| s.uptime_seconds > looks_begin + 1.0);
    assert_eq!(sandbox.web.audit_len(), asked);
    assert!(crawl.ctl(&["status"]).1.contains("paused by the operator"));
    assert_eq!(crawl.ctl(&["resume"]), (0, "resume: done\n".into()));
    crawl.until_status("more pages", |s| s.done > paused.done + 20);
    assert!(sandbox.web.audit_len() > asked);
    assert_eq!(crawl.ctl(&["--json", "stop"]), (0, "{\"done\":\"stop\"}\n".into()));
    let log = crawl.end();
    assert!(!log.contains("drain ended by its time") && !log.contains(" error "), "{log}");
    // What was asked for was also committed.
    let lines: BTreeSet<String> = sandbox.lines().iter().map(|l| l["url"].as_str().unwrap().to_owned()).collect();
    let pages = sandbox.web.audit().into_iter().filter(|e| e.path != "/robots.txt").map(|e| e.url());
    let lost: Vec<String> = pages.filter(|url| !lines.contains(url)).collect();
    assert!(lost.is_empty(), "{lost:?}");
}

#[test]
fn the_crawl_never_asks_its_own_endpoint_though_the_system_chose_its_port() {
    let mut sandbox = endless();
    let crawl = Running::start(&mut sandbox, &["--allow-net", "127.0.0.1/32"]);
    let own = format!("http://{}/healthz", crawl.at);
    assert_eq!(crawl.ctl(&["seeds", "add", &own]).0, 0);
    crawl.until_status("a refusal", |s| s.rejected_by_reason.get("address") == Some(&1));
    assert_eq!(crawl.ctl(&["stop"]).0, 0);
    crawl.end();
}

#[test]
fn a_pause_outlives_a_restart_and_a_kill() {
    let mut sandbox = endless();
    let crawl = Running::start(&mut sandbox, &[]);
    crawl.until_status("the first pages", |s| s.done > 5);
    assert_eq!(crawl.ctl(&["pause"]), (0, "pause: done\n".into()));
    crawl.until_status("the end of what was in flight", |s| s.in_flight == 0);
    let asked = sandbox.web.audit_len();
    let Running { mut daemon, .. } = crawl;
    daemon.signal_if_there(Signal::SIGKILL);
    daemon.wait();
    let again = Running::start(&mut sandbox, &[]);
    let paused = again.until_status("a while", |s| s.uptime_seconds > 1.0);
    assert!(paused.state == State::Paused && paused.idle_reason.contains("ctl resume"), "{paused:?}");
    assert_eq!(sandbox.web.audit_len(), asked);
    assert_eq!(again.ctl(&["resume"]), (0, "resume: done\n".into()));
    again.until_status("more pages", |s| s.done > paused.done + 5);
    assert_eq!(again.ctl(&["stop"]), (0, "stop: done\n".into()));
    again.end();
}

#[test]
fn a_drain_waits_for_what_a_stop_would_cut_off() {
    let web = TestWebConfig { hosts: 1, pages: 5, latency_ms: 11_000, ..TestWebConfig::default() }; // a stop waits 10 s
    let mut sandbox = Sandbox::new(web, "politeness.respect_robots = false\nstore.memory = \"32MiB\"\n");
    let crawl = Running::start(&mut sandbox, &[]);
    crawl.until_status("the request", |s| s.in_flight == 1);
    assert_eq!(crawl.ctl(&["drain"]), (0, "drain: done\n".into()));
    let log = crawl.end();
    assert!(!log.contains("drain ended by its time"), "{log}");
    assert_eq!((sandbox.lines().len(), sandbox.web.audit_len()), (1, 1));
}

#[test]
fn seeds_are_added_while_running_and_each_bad_one_has_its_reason() {
    let web = TestWebConfig { hosts: 3, pages: 3, ..TestWebConfig::default() };
    let mut sandbox = Sandbox::new(web, "politeness.min_delay = \"10ms\"\nstore.memory = \"32MiB\"\n");
    let crawl = Running::start(&mut sandbox, &[]);
    let idle = crawl.until_status("an empty frontier", |s| s.done > 0 && s.waiting + s.processing == 0);
    assert!(idle.idle_reason.contains("lycosa ctl seeds add"), "{}", idle.idle_reason);
    let long = format!("http://h0.test/{}", "x".repeat(3_000));
    let body = format!("# mine\nhttp://h0.test/\nnonsense\nftp://h0.test/\n{long}\nhttp://h0.test/new-seed\n");
    let (code, text) = crawl.post("/api/v1/seeds", "", &body);
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, &report["accepted"], &report["known"]), (200, &Value::from(1), &Value::from(1)), "{text}");
    let rejected: BTreeMap<&str, &str> = report["rejected"].as_array().unwrap().iter().map(rejection).collect();
    assert_eq!(rejected.len(), 3, "{text}");
    assert!(rejected["nonsense"].contains("not a complete URL"), "{text}");
    assert!(rejected["ftp://h0.test/"].contains("neither http nor https"), "{text}");
    assert!(rejected[long.as_str()].contains("longer than"), "{text}");
    let (code, text) = crawl.ctl(&["seeds", "add", "http://h1.test/other", "http://h0.test/", "rubbish"]);
    assert!(
        code == 0 && text.contains("1 accepted, 1 known already, 1 rejected") && text.contains("rubbish"),
        "{text}"
    );
    let (code, text) = crawl.ctl(&["seeds", "add", "rubbish"]);
    assert!(code == 1 && text.contains("1 rejected") && text.contains("no seed was taken"), "{text}");
    // A public one needs a contact, here as on the command line; it alone is turned away.
    let (code, text) = crawl.ctl(&["seeds", "add", "https://example.org/", "http://h0.test/"]);
    assert!(code == 0 && text.contains("0 accepted, 1 known already, 1 rejected"), "{text}");
    assert!(text.contains("restart the daemon with --contact"), "{text}");
    assert_eq!(crawl.ctl(&["seeds", "add", "https://example.org/"]).0, 1);
    crawl.until_status("the new seeds' end", |s| s.discovered >= idle.discovered + 2 && s.waiting + s.processing == 0);
    crawl.daemon.signal(Signal::SIGTERM);
    crawl.end();
}

fn rejection(value: &Value) -> (&str, &str) {
    (value["url"].as_str().unwrap(), value["reason"].as_str().unwrap())
}

#[test]
fn health_readiness_and_metrics_are_as_promised() {
    let mut sandbox = endless();
    let crawl = Running::start(&mut sandbox, &[]);
    crawl.until_status("pages", |s| s.done > 20);
    assert_eq!(crawl.get("/healthz"), (200, "ok\n".into()));
    assert_eq!(crawl.get("/readyz"), (200, "ready\n".into()));
    let (code, text) = crawl.get_with("/metrics", "Accept: application/openmetrics-text\r\n");
    assert_eq!(code, 200);
    let families = families(&text);
    let promised = [
        ("lycosa_urls", "gauge"),
        ("lycosa_rejected", "counter"),
        ("lycosa_responses", "counter"),
        ("lycosa_fetch_phase_seconds", "histogram"),
        ("lycosa_politeness_lateness_seconds", "histogram"),
        ("lycosa_commit_lag_seconds", "histogram"),
        ("lycosa_actor_handled", "counter"),
        ("lycosa_actor_queue", "gauge"),
        ("lycosa_actor_restarts", "counter"),
        ("lycosa_actor_handle_seconds", "histogram"),
        ("lycosa_permits", "gauge"),
        ("lycosa_disk_free_bytes", "gauge"),
        ("lycosa_paused", "gauge"),
        ("lycosa_commit_failures", "counter"),
        ("lycosa_storage_reopens", "counter"),
        ("lycosa_build", "info"),
        ("process_cpu_seconds", "counter"),
        ("process_resident_memory_bytes", "gauge"),
        ("process_open_fds", "gauge"),
        ("process_start_time_seconds", "gauge"),
    ];
    for (name, kind) in promised {
        assert_eq!(families.get(name).map(String::as_str), Some(kind), "{name} in\n{text}");
    }
    let value = |start: &str| {
        let line = text.lines().find(|l| l.starts_with(start)).unwrap_or_else(|| panic!("{start} in\n{text}"));
        line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap()
    };
    assert!(value("lycosa_urls{crawl=\"default\",state=\"done\"}") > 20.0);
    assert!(value("lycosa_responses_total{class=\"2xx\"}") > 20.0);
    assert!(value("lycosa_disk_free_bytes{folder=\"warc\"}") > 0.0);
    assert!(value("lycosa_actor_handled_total{actor=\"store\"}") > 0.0);
    assert!(value("lycosa_commit_lag_seconds_count") > 0.0, "commits are timed");
    assert!(value("lycosa_fetch_phase_seconds_count{phase=\"first_byte\"}") > 20.0);
    assert!(!text.contains("h0.test"), "no host names as labels");
    crawl.daemon.signal(Signal::SIGTERM);
    crawl.end();
}

/// Reads the OpenMetrics text as `promtool check metrics` would: every sample after the TYPE and HELP of its family, names
/// and suffixes fitting the kind, numbers that are numbers, no sample twice, an end mark. Gives the families and kinds.
fn families(text: &str) -> BTreeMap<String, String> {
    assert!(text.ends_with("# EOF\n"));
    let name_ok = |n: &str| n.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    let (mut families, mut helped, mut samples) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
    let mut family = String::new();
    for line in text.lines().filter(|l| *l != "# EOF") {
        assert!(!line.is_empty() && !line.contains('\t'), "{line:?}");
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap();
            assert!(help.len() > 5 && helped.insert(name.to_owned()), "{line}");
            name.clone_into(&mut family);
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(name_ok(name) && families.insert(name.to_owned(), kind.to_owned()).is_none(), "{line}");
            assert!(!name.ends_with("_total"), "the suffix is the sample's: {line}");
            assert!(
                ["_ms", "_millis", "_minutes", "_kib", "_mib"].iter().all(|u| !name.ends_with(u)),
                "base units: {line}"
            );
            name.clone_into(&mut family);
        } else if let Some(rest) = line.strip_prefix("# UNIT ") {
            let (name, unit) = rest.split_once(' ').unwrap();
            assert!(name.ends_with(unit) && ["seconds", "bytes"].contains(&unit), "{line}");
        } else {
            let (series, number) = line.rsplit_once(' ').unwrap();
            assert!(number.parse::<f64>().is_ok() && samples.insert(series.to_owned()), "{line}");
            let name = series.split('{').next().unwrap();
            let suffix = name.strip_prefix(family.as_str()).unwrap_or_else(|| panic!("{line} is not of {family}"));
            let allowed: &[&str] = match families.get(&family).map(String::as_str) {
                Some("counter") => &["_total"],
                Some("gauge") => &[""],
                Some("histogram") => &["_bucket", "_sum", "_count"],
                Some("info") => &["_info"],
                kind => panic!("{line}: {kind:?}"),
            };
            assert!(allowed.contains(&suffix) && helped.contains(&family), "{line}");
        }
    }
    families
}

#[test]
fn other_names_other_pages_and_large_bodies_change_nothing() {
    let mut sandbox = endless();
    let crawl = Running::start(&mut sandbox, &[]);
    let rebound =
        format!("GET /api/v1/status HTTP/1.1\r\nHost: evil.test:{}\r\nConnection: close\r\n\r\n", crawl.at.port());
    assert_eq!(ask(crawl.at, &rebound).0, 403);
    for header in ["Origin: http://evil.test\r\n", "Origin: null\r\n", "Sec-Fetch-Site: cross-site\r\n"] {
        assert_eq!(crawl.post("/api/v1/stop", header, "").0, 403, "{header}");
    }
    assert_eq!(crawl.get("/api/v1/stop").0, 405);
    assert_eq!(crawl.post("/api/v1/seeds", "", &"http://h0.test/big\n".repeat(70_000)).0, 413);
    assert_eq!(crawl.post("/api/v1/seeds", "", "").0, 400);
    assert_eq!(crawl.status().state, State::Running);
    crawl.daemon.signal(Signal::SIGTERM);
    crawl.end();
}

#[test]
fn slow_and_half_open_clients_neither_hang_the_endpoint_nor_the_end() {
    let mut sandbox = endless();
    let crawl = Running::start(&mut sandbox, &[]);
    let host = format!("Host: {}\r\n", crawl.at);
    let starts = [
        String::new(),
        "GET /api/v1/st".into(),
        format!("GET /api/v1/status HTTP/1.1\r\n{host}"),
        format!("POST /api/v1/seeds HTTP/1.1\r\n{host}Content-Length: 1000\r\n\r\nhttp://h0"),
    ];
    let mut held: Vec<TcpStream> = Vec::new();
    for start in starts.iter().cycle().take(40) {
        let mut stream = TcpStream::connect(crawl.at).unwrap();
        stream.write_all(start.as_bytes()).unwrap();
        held.push(stream);
    }
    assert!(crawl.status().adds_up());
    assert_eq!(crawl.get("/healthz").0, 200);
    assert_eq!(crawl.ctl(&["stop"]).0, 0);
    crawl.end(); // while all of them are still open
    drop(held);
}

#[test]
fn a_token_is_asked_for_and_never_shown() {
    let mut sandbox = endless();
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    std::fs::write(&token, "correct-horse-battery-staple\n").unwrap();
    let set = format!("admin.token_file={}", token.display());
    let crawl = Running::start(&mut sandbox, &["--set", &set, "--set", "log.level=trace"]);
    let (code, text) = crawl.ctl(&["status"]);
    assert!(code == 1 && text.contains("token"), "{text}");
    let path = token.display().to_string();
    let (code, text) = crawl.ctl(&["--token-file", &path, "status"]);
    assert!(code == 0 && text.contains("URLs discovered"), "{text}");
    assert_eq!(crawl.ctl(&["--token-file", &path, "stop"]).0, 0);
    let log = crawl.end();
    assert!(!log.contains("correct-horse"), "a secret in the log");
}

#[test]
fn signals_reload_tell_the_state_and_end() {
    let mut sandbox = endless();
    let mut crawl = Running::start(&mut sandbox, &["--set", "crawl.name=first"]);
    crawl.until_status("pages", |s| s.done > 5);
    crawl.daemon.signal(Signal::SIGUSR1);
    let log = |part: &'static str| {
        until(part, || crawl.daemon.log().contains(part).then_some(()), || crawl.daemon.log());
    };
    log("state: discovered=");
    crawl.daemon.signal(Signal::SIGHUP);
    log("settings read again: log_level=\"info\"");
    let file = sandbox.beside("lycosa.toml");
    let settings = std::fs::read_to_string(&file).unwrap();
    let changed = settings.replace("log.level = \"info\"", "log.level = \"debug\"").replace("= \"20ms\"", "= \"30ms\"");
    let changed =
        changed.replace("politeness.delay_factor = 0", "politeness.delay_factor = 0\nfetch.max_redirects = 3");
    std::fs::write(&file, changed).unwrap();
    crawl.daemon.signal(Signal::SIGHUP);
    log("settings read again: log_level=\"debug\"");
    log("take effect at the next start: keys=fetch.max_redirects");
    log("settings changed: generation=2 by=reload keys=politeness.min_delay,log.level");
    std::fs::write(&file, "log.level = \"loud\"").unwrap();
    crawl.daemon.signal(Signal::SIGHUP);
    log("settings not taken up");
    // Every line is one line with time, level, target; lower-case.
    for line in crawl.daemon.log().lines() {
        let mut words = line.split_whitespace();
        assert!(words.next().is_some_and(|t| t.ends_with('Z')), "{line}");
        assert!(["info", "warn", "debug", "error"].contains(&words.next().unwrap_or("")), "{line}");
        assert!(words.next().is_some_and(|t| t.starts_with("lycosa")), "{line}");
        let first = words.next().and_then(|w| w.chars().next());
        assert!(first.is_some_and(|c| !c.is_uppercase()), "{line}");
    }
    crawl.daemon.signal(Signal::SIGINT);
    assert_eq!(crawl.daemon.wait().code(), Some(0), "{}", crawl.daemon.log());
}

#[test]
fn interrupted_while_until_done_is_an_exit_code_of_its_own() {
    let mut sandbox = endless();
    let mut crawl = Running::start(&mut sandbox, &["--until-done"]);
    crawl.until_status("pages", |s| s.done > 5);
    crawl.daemon.signal(Signal::SIGTERM);
    assert_eq!(crawl.daemon.wait().code(), Some(11), "{}", crawl.daemon.log());
    assert!(crawl.daemon.log().contains("outcome"), "{}", crawl.daemon.log());
}
