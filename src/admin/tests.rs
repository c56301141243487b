//! The endpoint over real sockets on loopback.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::*;
use crate::recovery::checkpoint::manifest::Summary;
use crate::recovery::checkpoint::shelf::Listing;
use crate::telemetry::StatusSnapshot;

/// A crawl that only notes what it is told.
#[derive(Default)]
pub(crate) struct Recorder {
    calls: Mutex<Vec<String>>,
    unready: bool,
}

impl Recorder {
    fn note(&self, call: impl Into<String>) {
        self.calls.lock().unwrap().push(call.into());
    }

    pub(crate) fn calls(&self) -> Vec<String> {
        self.calls.lock().unwrap().clone()
    }
}

impl Control for Recorder {
    fn status(&self) -> StatusSnapshot {
        StatusSnapshot { waiting: 3, discovered: 3, ..StatusSnapshot::default() }
    }
    fn ready(&self) -> Result<(), String> {
        if self.unready { Err("storage is opening".into()) } else { Ok(()) }
    }
    fn seeds(&self, seeds: Vec<NewSeed>) -> Reply<SeedReport> {
        let urls: Vec<String> = seeds.into_iter().map(|seed| seed.url).collect();
        self.note(format!("seeds {}", urls.join(" ")));
        Box::pin(async move { Ok(SeedReport { accepted: urls.len() as u64, ..SeedReport::default() }) })
    }
    fn pause(&self) -> Result<(), ControlError> {
        self.note("pause");
        Ok(())
    }
    fn resume(&self) -> Result<(), ControlError> {
        Err(ControlError::Refused("the disk is full".into()))
    }
    fn drain(&self) -> Result<(), ControlError> {
        self.note("drain");
        Ok(())
    }
    fn stop(&self) -> Result<(), ControlError> {
        self.note("stop");
        Ok(())
    }
    fn checkpoint(&self, _: Option<std::path::PathBuf>) -> Reply<Summary> {
        self.note("checkpoint");
        Box::pin(async { Err(ControlError::Refused("this crawl lives in memory".into())) })
    }
    fn checkpoints(&self) -> Result<Listing, ControlError> {
        Ok(Listing { held_bytes: 7, ..Listing::default() })
    }
    fn metrics_text(&self) -> String {
        "# EOF\n".into()
    }
}

pub(crate) fn start(token: Option<&std::path::Path>) -> (AdminServer, Arc<Recorder>) {
    start_with(Entrance::new(auth::Keys::load(token, None).unwrap()))
}

fn start_with(entrance: Entrance) -> (AdminServer, Arc<Recorder>) {
    let recorder = Arc::new(Recorder::default());
    let server = serve("127.0.0.1:0".parse().unwrap(), entrance, recorder.clone()).unwrap();
    (server, recorder)
}

fn serve(at: SocketAddr, entrance: Entrance, recorder: Arc<Recorder>) -> Result<AdminServer, AdminError> {
    AdminServer::serve(Listening::bind(at)?, entrance, recorder, None)
}

fn open() -> Entrance {
    Entrance::new(auth::Keys::default())
}

/// Sends a request as typed and gives the status with the whole answer.
fn ask(to: SocketAddr, request: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or(0);
    (status, answer)
}

fn get(to: SocketAddr, path: &str, more: &str) -> (u16, String) {
    ask(to, &format!("GET {path} HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\n{more}\r\n"))
}

fn post(to: SocketAddr, path: &str, more: &str, body: &str) -> (u16, String) {
    let length = body.len();
    ask(
        to,
        &format!(
            "POST {path} HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\nContent-Length: {length}\r\n{more}\r\n{body}"
        ),
    )
}

#[test]
fn health_readiness_metrics_and_status_are_answered() {
    let (server, _) = start(None);
    let to = server.address();
    assert_eq!(get(to, "/healthz", "").0, 200);
    assert_eq!(get(to, "/readyz", "").0, 200);
    let head = ask(to, &format!("HEAD /metrics HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\n\r\n"));
    assert!(head.0 == 200 && head.1.ends_with("\r\n\r\n"), "{}", head.1);
    let (status, text) = get(to, "/metrics", "Accept: application/openmetrics-text\r\n");
    assert!(status == 200 && text.contains("openmetrics-text") && text.ends_with("# EOF\n"), "{text}");
    let (status, text) = get(to, "/metrics", "");
    assert!(status == 200 && text.contains("text/plain; version=0.0.4") && !text.contains("# EOF"), "{text}");
    let (status, text) = get(to, "/api/v1/status", "");
    assert!(status == 200 && text.contains("\"waiting\":3") && text.contains("no-store"), "{text}");
    assert!(text.contains(r#""role":"full""#), "where no token is asked for everybody may command: {text}");
}

#[test]
fn unreadiness_is_a_503_with_the_reason() {
    let control = Arc::new(Recorder { unready: true, ..Recorder::default() });
    let server = serve("127.0.0.1:0".parse().unwrap(), open(), control).unwrap();
    let (status, text) = get(server.address(), "/readyz", "");
    assert!(status == 503 && text.contains("storage is opening"), "{text}");
}

#[test]
fn commands_reach_the_crawl_and_a_refusal_is_a_problem() {
    let (server, recorder) = start(None);
    let to = server.address();
    let (status, text) = post(to, "/api/v1/seeds", "", "http://a.test/\n\nhttp://b.test/\n");
    assert!(status == 200 && text.contains("\"accepted\":2"), "{text}");
    let (status, _) = post(to, "/api/v1/seeds", "Content-Type: application/json\r\n", r#"{"urls":["http://c.test/"]}"#);
    assert_eq!(status, 200);
    assert_eq!(post(to, "/api/v1/pause", "", "").0, 200);
    assert_eq!(post(to, "/api/v1/stop", "", "").0, 200);
    assert_eq!(recorder.calls(), ["seeds http://a.test/ http://b.test/", "seeds http://c.test/", "pause", "stop"]);
    let (status, text) = post(to, "/api/v1/resume", "", "");
    assert!(status == 409 && text.contains("problem+json") && text.contains("the disk is full"), "{text}");
}

#[test]
fn bad_requests_are_problems_and_reach_nothing() {
    let (server, recorder) = start(None);
    let to = server.address();
    let large = "http://a.test/\n".repeat(100_000);
    let json = "Content-Type: application/json\r\n";
    let cases = [
        (post(to, "/api/v1/seeds", "", ""), 400, "one a line"),
        (post(to, "/api/v1/seeds", json, "{"), 400, "urls"),
        (post(to, "/api/v1/seeds", "", &large), 413, "1048576"),
        (get(to, "/api/v1/pause", ""), 405, "use POST"),
        (post(to, "/metrics", "", ""), 405, "use GET"),
        (get(to, "/nothing", ""), 404, "/api/v1/status"),
        (get(to, "/api/v1/status?x=1", ""), 400, "takes none"),
        (post(to, "/api/v1/pause?for=2h", "", ""), 400, "takes none"),
    ];
    for ((status, text), expected, part) in cases {
        assert_eq!(status, expected, "{text}");
        assert!(text.contains("application/problem+json") && text.contains(part), "{text}");
    }
    assert_eq!(recorder.calls(), Vec::<String>::new());
    assert!(get(to, "/api/v1/pause", "").1.to_lowercase().contains("\r\nallow: post\r\n"));
    for path in ["/metrics?x=1", "/healthz?x=1", "/?x=1"] {
        assert_eq!(get(to, path, "").0, 200, "a probe may have parameters of its own: {path}");
    }
}

#[test]
fn a_body_that_does_not_arrive_in_time_is_answered_408() {
    let (server, recorder) = start(None);
    let to = server.address();
    let head = format!("POST /api/v1/seeds HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\nContent-Length: 100\r\n\r\n");
    let (status, text) = ask(to, &format!("{head}http://a.test/"));
    assert!(status == 408 && text.contains("problem+json") && text.contains("within 10 s"), "{text}");
    assert_eq!(recorder.calls(), Vec::<String>::new());
}

#[test]
fn other_names_and_other_pages_are_refused() {
    let (server, recorder) = start(None);
    let to = server.address();
    let rebound =
        format!("GET /api/v1/status HTTP/1.1\r\nHost: evil.example:{}\r\nConnection: close\r\n\r\n", to.port());
    for request in [&rebound, "GET /metrics HTTP/1.0\r\n\r\n"] {
        assert_eq!(ask(to, request).0, 403, "{request}");
    }
    for from in ["Origin: http://evil.example\r\n", "Origin: null\r\n", "Sec-Fetch-Site: cross-site\r\n"] {
        assert_eq!(post(to, "/api/v1/stop", from, "").0, 403, "{from}");
    }
    assert_eq!(recorder.calls(), Vec::<String>::new());
    assert_eq!(post(to, "/api/v1/stop", &format!("Origin: http://{to}\r\n"), "").0, 200);
}

#[test]
fn with_a_token_only_health_is_open() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("token");
    std::fs::write(&path, "correct-horse-battery\n").unwrap();
    let (server, recorder) = start(Some(&path));
    let to = server.address();
    assert_eq!(get(to, "/healthz", "").0, 200);
    assert_eq!(get(to, "/readyz", "").0, 200);
    for more in ["", "Authorization: Bearer wrong-horse-battery\r\n"] {
        let (status, text) = get(to, "/metrics", more);
        assert!(status == 401 && text.to_lowercase().contains("www-authenticate: bearer"), "{text}");
        assert_eq!(post(to, "/api/v1/stop", more, "").0, 401);
    }
    assert_eq!(recorder.calls(), Vec::<String>::new());
    assert_eq!(post(to, "/api/v1/stop", "Authorization: Bearer correct-horse-battery\r\n", "").0, 200);
}

#[test]
fn a_taken_port_and_an_open_address_are_clear_errors() {
    let (server, recorder) = start(None);
    let error = serve(server.address(), open(), recorder.clone()).unwrap_err().to_string();
    assert!(error.contains(&server.address().to_string()) && error.contains("admin.listen="), "{error}");
    let error = serve("0.0.0.0:0".parse().unwrap(), open(), recorder).unwrap_err().to_string();
    assert!(error.contains("admin.token_file"), "{error}");
}

#[test]
fn after_stop_the_port_is_free_again() {
    let (server, recorder) = start(None);
    let address = server.address();
    drop(server);
    assert!(serve(address, open(), recorder).is_ok());
}

#[test]
fn a_token_for_looking_cannot_command() {
    let mut keys = auth::Keys::default();
    keys.add(auth::Role::Read, "only-for-looking-1");
    let (server, recorder) = start_with(Entrance::new(keys));
    let (to, more) = (server.address(), "Authorization: Bearer only-for-looking-1\r\n");
    let (status, text) = get(to, "/api/v1/status", more);
    assert!(status == 200 && text.contains(r#""role":"read""#), "{text}");
    let (status, text) = post(to, "/api/v1/stop", more, "");
    assert!(status == 403 && text.contains("for looking"), "{text}");
    assert_eq!(recorder.calls(), Vec::<String>::new());
}

#[test]
fn too_many_requests_are_told_to_wait_and_wrong_tokens_are_counted_apart() {
    let rare =
        |n: u32| governor::Quota::with_period(Duration::from_secs(3_600)).unwrap().allow_burst(n.try_into().unwrap());
    let mut keys = auth::Keys::default();
    keys.add(auth::Role::Full, "correct-horse-battery");
    let (server, _) = start_with(Entrance { keys, calls: rare(2), refusals: rare(1) });
    let (to, right) = (server.address(), "Authorization: Bearer correct-horse-battery\r\n");
    let asked = |more: &str| get(to, "/api/v1/status", more).0;
    assert_eq!([asked(""), asked(""), asked("")], [401, 429, 429]);
    assert_eq!([asked(right), asked(right), asked(right)], [200, 200, 429]);
    assert!(get(to, "/api/v1/status", right).1.to_lowercase().contains("retry-after: 1"));
    assert_eq!(get(to, "/healthz", "").0, 200);
}
