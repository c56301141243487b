//! A server that stands in for OpenSearch: `_bulk` with versions (`external_gte`), and every way to misbehave, by dice with a seed.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// How it behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mood {
    /// As it should.
    Calm,
    /// By dice: 429, 502, 503, 413, cuts before and after, items that are refused.
    Wild,
    /// It takes a request and never answers.
    Silent,
    /// This status, whatever comes.
    Only(u16),
}

/// A document: its version, and what it says.
pub type Documents = BTreeMap<String, (u64, Value)>;

struct State {
    mood: Mood,
    dice: u64,
    documents: Documents,
    /// Also of those that were taken away.
    versions: BTreeMap<String, u64>,
    /// Heads and bodies of requests that were read.
    requests: Vec<(Vec<String>, String)>,
    /// What it has answered, by what it was.
    moods: BTreeMap<&'static str, u32>,
    held: Vec<TcpStream>,
    /// Documents and lines with this in them are never taken.
    refuses: &'static str,
}

/// The server.
#[derive(Clone)]
pub struct StandIn {
    pub address: SocketAddr,
    state: Arc<Mutex<State>>,
}

impl StandIn {
    pub fn start(mood: Mood, refuses: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (documents, versions, requests, moods, held) = Default::default();
        let state = State { mood, dice: 0x9e37_79b9_7f4a_7c15, documents, versions, requests, moods, held, refuses };
        let server = Self { address, state: Arc::new(Mutex::new(state)) };
        let of_thread = server.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let server = of_thread.clone();
                // Whoever is killed while it sends is no fault of this one.
                std::thread::spawn(move || server.serve(stream.unwrap()));
            }
        });
        server
    }

    pub fn mood(&self, mood: Mood) {
        self.state.lock().unwrap().mood = mood;
    }

    pub fn documents(&self) -> Documents {
        self.state.lock().unwrap().documents.clone()
    }

    /// Requests so far: their heads and bodies.
    pub fn requests(&self) -> Vec<(Vec<String>, String)> {
        self.state.lock().unwrap().requests.clone()
    }

    /// How often it was in each way bad.
    pub fn moods(&self) -> BTreeMap<&'static str, u32> {
        self.state.lock().unwrap().moods.clone()
    }

    fn serve(&self, stream: TcpStream) -> Option<()> {
        let mut reader = BufReader::new(stream.try_clone().ok()?);
        let lines = reader.by_ref().lines().map_while(Result::ok);
        let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
        let length = head.iter().find_map(|h| h.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok())?;
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let body = String::from_utf8(body).unwrap();
        let mut state = self.state.lock().unwrap();
        let answer = state.answer(&head, &body);
        state.requests.push((head, body));
        match answer {
            Answer::Silence => state.held.push(stream),
            Answer::Cut => {}
            Answer::Of(status, body) => {
                drop(state);
                let mut stream = stream;
                let length = body.len();
                let head = format!(
                    "HTTP/1.1 {status} X\r\nRetry-After: 0\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
                );
                let _ = stream.write_all(format!("{head}{body}").as_bytes());
            }
        }
        Some(())
    }
}

enum Answer {
    Of(u16, String),
    Cut,
    Silence,
}

impl State {
    fn roll(&mut self, faces: u64) -> u64 {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        self.dice % faces
    }

    fn answer(&mut self, head: &[String], body: &str) -> Answer {
        let is_bulk = head[0].contains("/_bulk ");
        let rolled = match self.mood {
            Mood::Calm => 99,
            Mood::Wild => self.roll(16),
            Mood::Silent => return Answer::Silence,
            Mood::Only(status) => return Answer::Of(status, "{\"error\":\"so it is\"}".into()),
        };
        let lines = body.lines().count();
        let (what, answer) = match rolled {
            0 => ("429", Answer::Of(429, String::new())),
            1 => ("503", Answer::Of(503, "<html>".into())),
            2 => ("502", Answer::Of(502, String::new())),
            3 => ("cut before", Answer::Cut),
            4 | 5 if lines > 6 => ("413", Answer::Of(413, String::new())),
            6 => {
                self.take(is_bulk, body, false);
                ("cut after", Answer::Cut)
            }
            7 | 8 if is_bulk => ("items refused", self.take(is_bulk, body, true)),
            _ => ("taken", self.take(is_bulk, body, false)),
        };
        *self.moods.entry(what).or_default() += 1;
        answer
    }

    /// Takes what it is sent; `half`: every other one is put off.
    fn take(&mut self, is_bulk: bool, body: &str, half: bool) -> Answer {
        if !is_bulk {
            let is_refused = !self.refuses.is_empty() && body.contains(self.refuses);
            return if is_refused { Answer::Of(400, "no such line".into()) } else { Answer::Of(204, String::new()) };
        }
        let mut lines = body.lines();
        let (mut items, mut nth) = (Vec::new(), 0);
        while let Some(line) = lines.next() {
            nth += 1;
            let action: Value = serde_json::from_str(line).unwrap();
            let (name, of) = action.as_object().unwrap().iter().next().unwrap();
            assert_eq!(of["version_type"], "external_gte", "{line}");
            let (id, version) = (of["_id"].as_str().unwrap().to_owned(), of["version"].as_u64().unwrap());
            assert_eq!(id.len(), 40, "{line}");
            let document: Option<Value> =
                (name == "index").then(|| serde_json::from_str(lines.next().unwrap()).unwrap());
            let is_refused = document
                .as_ref()
                .is_some_and(|d| !self.refuses.is_empty() && d["url"].as_str().unwrap().contains(self.refuses));
            let error = |status: u16, kind: &str| json!({ "_id": id, "status": status, "error": { "type": kind, "reason": "so it is" } });
            let said = if half && nth % 2 == 0 {
                error([429, 503][nth / 2 % 2], "rejected_execution_exception")
            } else if is_refused {
                error(400, "mapper_parsing_exception")
            } else if self.versions.get(&id).is_some_and(|known| *known > version) {
                error(409, "version_conflict_engine_exception")
            } else {
                self.versions.insert(id.clone(), version);
                let was = match document {
                    Some(document) => self.documents.insert(id.clone(), (version, document)).is_some(),
                    None => self.documents.remove(&id).is_some(),
                };
                json!({ "_id": id, "status": if name == "delete" && !was { 404 } else { 200 } })
            };
            items.push(json!({ name: said }));
        }
        Answer::Of(200, json!({ "took": 1, "errors": true, "items": items }).to_string())
    }
}
