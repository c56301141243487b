//! The cockpit: the endpoint's rooms on a node in this process.

mod actors;
mod hosts;
mod idle;
mod lists;
mod pages;
mod urls;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use lycosa::admin::auth::Keys;
use lycosa::admin::{AdminServer, Control, Entrance, Listening};
use lycosa::app::NodeControl;

use lycosa::testweb::TestWebConfig;
use serde_json::Value;

use crate::site::{Site, html, none, page};
use crate::support::{Live, Sandbox};

/// The paths that the endpoint of a node describes.
pub fn described() -> Vec<String> {
    let sandbox = Sandbox::new(TestWebConfig { hosts: 1, pages: 1, ..TestWebConfig::default() });
    let live = sandbox.start_bare();
    let doc = Desk::of(&live).get("/api/openapi.json");
    doc["paths"].as_object().unwrap().keys().cloned().collect()
}

#[test]
fn no_route_takes_a_parameter_that_it_does_not_describe() {
    let sandbox = Sandbox::new(TestWebConfig { hosts: 1, pages: 1, ..TestWebConfig::default() });
    let live = sandbox.start_bare();
    let desk = Desk::of(&live);
    let doc = desk.get("/api/openapi.json");
    let mut asked = 0;
    for (path, methods) in doc["paths"].as_object().unwrap().iter().filter(|(path, _)| path.starts_with("/api/")) {
        for method in methods.as_object().unwrap().keys() {
            let of_one = path.replace("{kind}", "store").replace("{id}", "1").replace(['{', '}'], "");
            let (status, problem) = desk.json(&method.to_uppercase(), &format!("{of_one}?nonsense=1"));
            let told = problem["detail"].as_str().unwrap();
            assert!(status == 400 && told.contains("no parameter \"nonsense\""), "{method} {path}: {status} {told}");
            assert!(methods[method]["responses"]["400"].is_object(), "{method} {path} says so");
            asked += 1;
        }
    }
    assert!(asked > 30, "{asked}");
    assert!(live.node.stop.borrow().is_none(), "nothing was done");
    drop(desk);
    live.close();
}

/// The endpoint of a live node.
pub struct Desk(AdminServer);

impl Desk {
    pub fn of(live: &Live<'_>) -> Self {
        let control = Arc::new(NodeControl(live.node.clone()));
        let node = Some(live.node.clone());
        let listening = Listening::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        Self(AdminServer::serve(listening, Entrance::new(Keys::default()), control, node).unwrap())
    }

    /// Status, head and body of the answer.
    fn ask(&self, method: &str, path: &str, body: &str) -> (u16, String, Vec<u8>) {
        let at = self.0.address();
        let mut stream = TcpStream::connect(at).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let kind = if body.is_empty() { "" } else { "Content-Type: application/json\r\n" };
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n{kind}Content-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|w| w == b"\r\n\r\n").unwrap();
        let head = String::from_utf8(answer[..end].to_vec()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, head.to_lowercase(), answer[end + 4..].to_vec())
    }

    /// Status and JSON of the answer; of a failure it must be a problem.
    fn json(&self, method: &str, path: &str) -> (u16, Value) {
        self.send(method, path, "")
    }

    /// The same, with a body.
    pub fn send(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let (status, head, body) = self.ask(method, path, body);
        let kind =
            if status < 300 { "content-type: application/json" } else { "content-type: application/problem+json" };
        assert!(head.contains(kind), "{path}: {head}\n{}", String::from_utf8_lossy(&body));
        (status, serde_json::from_slice(&body).unwrap())
    }

    /// A good answer.
    pub fn get(&self, path: &str) -> Value {
        let (status, json) = self.json("GET", path);
        assert_eq!(status, 200, "{path}: {json}");
        json
    }

    /// Bad input is answered with 400 and says what is expected.
    fn refuses(&self, paths: &[(&str, &str)]) {
        for (path, part) in paths {
            let (status, problem) = self.json("GET", path);
            let detail = problem["detail"].as_str().unwrap();
            assert!(status == 400 && detail.contains(part), "{path}: {status} {detail}");
        }
    }
}

/// A value for a query.
pub fn escaped(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

/// A node in front of a site that answers for every host below `.test`; hosts of the seeds are in scope, it does not end.
pub fn in_front_of(site: &Site) -> Sandbox {
    let sandbox = Sandbox::new(TestWebConfig { hosts: 1, pages: 1, ..TestWebConfig::default() });
    sandbox
        .set(&format!("dns.overrides={{\"*.test\"=\"{}\"}}", site.address))
        .set("crawl.seeds=[]")
        .set("crawl.until_done=false")
        .set("crawl.order=breadth")
        .set("scope.mode=hosts")
}
