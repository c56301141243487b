//! The admin endpoint of a node in this process, and who asks it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lycosa::admin::auth::Keys;
use lycosa::admin::{AdminServer, Entrance, Listening};
use lycosa::app::NodeControl;

use serde_json::Value;

use crate::support::Live;

/// No answer takes so long, on however busy a machine.
const DEADLINE: Duration = Duration::from_secs(120);

/// The endpoint of a node; to be dropped before its node ends.
pub struct Admin(AdminServer);

impl Admin {
    pub fn of(live: &Live<'_>) -> Self {
        let listening = Listening::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let control = Arc::new(NodeControl(live.node.clone()));
        let entrance = Entrance::new(Keys::default());
        Self(AdminServer::serve(listening, entrance, control, Some(live.node.clone())).unwrap())
    }

    /// Asks and gives status and body.
    pub fn ask(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let (to, length) = (self.0.address(), body.len());
        let mut stream = TcpStream::connect(to).unwrap();
        let head = format!("{method} {path} HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\n");
        write!(stream, "{head}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or(0);
        let body = answer.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default();
        (status, serde_json::from_str(body).unwrap_or(Value::String(body.to_owned())))
    }

    /// Asks for what must be granted.
    pub fn told(&self, method: &str, path: &str, body: &Value) -> Value {
        let (status, answer) = self.ask(method, path, &if body.is_null() { String::new() } else { body.to_string() });
        assert!((200..300).contains(&status), "{method} {path}: {status} {answer}");
        answer
    }

    /// Changes settings.
    pub fn set(&self, changes: &Value) -> Value {
        self.told("PATCH", "/api/v1/settings", changes)
    }

    /// The same, whatever it does to the crawl and its queue.
    pub fn force(&self, changes: &Value) -> Value {
        self.told("PATCH", "/api/v1/settings?force=true", changes)
    }

    /// The value in force of a key, and who set it.
    pub fn get(&self, key: &str) -> (Value, String) {
        let all = self.told("GET", "/api/v1/settings", &Value::Null);
        let found = all["settings"].as_array().unwrap().iter().find(|s| s["key"] == key).cloned();
        let found = found.unwrap_or_else(|| panic!("no {key} in {all}"));
        (found["value"].clone(), found["origin"].as_str().unwrap().to_owned())
    }

    /// Waits for the end of a job and gives it.
    pub fn until_done(&self, job: &Value) -> Value {
        let began = Instant::now();
        loop {
            let now = self.told("GET", &format!("/api/v1/jobs/{}", job["id"]), &Value::Null);
            if now["state"] != "running" {
                assert_eq!(now["state"], "done", "{now}");
                return now;
            }
            assert!(began.elapsed() < DEADLINE, "{now}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits for the end of the job of this kind that the node started by itself.
    pub fn until_done_of_kind(&self, kind: &str) -> Value {
        let jobs = self.told("GET", "/api/v1/jobs", &Value::Null);
        let job = jobs.as_array().unwrap().iter().find(|job| job["kind"] == kind).cloned();
        self.until_done(&job.unwrap_or_else(|| panic!("no job {kind}: {jobs}")))
    }
}
