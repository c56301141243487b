//! Entries: a stream of JetStream with one message a key, spoken to by its API of JSON.
//!
//! The library's own calls are not used for it: what is not answered stays in its memory for ever, and a watch of it begins
//! behind entries that an emptied server does not have any more.

use std::collections::BTreeMap;
use std::time::Duration;

use async_nats::{HeaderMap, Message};
use data_encoding::BASE64;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::super::{Change, ClockGap, EngineError, Entry, KEYS};
use super::link::{Link, Names};
use crate::base::clock::Stopwatch;
use crate::base::time::UnixMillis;

/// A call on an entry is given up after so long.
const PATIENCE: Duration = Duration::from_secs(5);
/// Between two tries of what was certainly not done.
const AGAIN: Duration = Duration::from_millis(100);
/// A server of the group that was silent for so long is counted as away.
const SILENT: Duration = Duration::from_secs(10);
/// Revisions that a life of the entries has for each millisecond: those of the next are higher.
const REVISIONS_A_MS: u64 = 1_000;

/// Headers that the server knows.
const EXPECTED: &str = "Nats-Expected-Last-Subject-Sequence";
const OPERATION: &str = "KV-Operation";

/// Numbers of errors in answers of JetStream.
mod code {
    /// There is no such stream.
    pub(super) const NO_STREAM: u64 = 10_059;
    /// There is one of that name, made otherwise.
    pub(super) const ANOTHER_STREAM: u64 = 10_058;
    /// There is no such message.
    pub(super) const NO_MESSAGE: u64 = 10_037;
    /// The revision is another.
    pub(super) const WRONG_REVISION: [u64; 2] = [10_071, 10_164];
    /// Another write of that key is under way.
    pub(super) const UNDER_WAY: u64 = 10_158;
    /// JetStream is off, here or for the account.
    pub(super) const OFF: u64 = 10_076;
    pub(super) const OFF_FOR_ACCOUNT: u64 = 10_039;
    /// Fewer servers are there than there are to be replicas.
    pub(super) const TOO_FEW: u64 = 10_005;
    /// Replicas are wanted of a server that is in no cluster.
    pub(super) const NO_CLUSTER: u64 = 10_074;
    /// What nobody but the operator can change.
    pub(super) const SETUP: [u64; 3] = [OFF, OFF_FOR_ACCOUNT, NO_CLUSTER];
}

/// What a look tells.
pub(super) struct Seen {
    pub(super) life: UnixMillis,
    pub(super) clock: ClockGap,
    pub(super) last: u64,
    pub(super) first: u64,
}

#[derive(Deserialize)]
struct Failure {
    #[serde(default)]
    err_code: u64,
    #[serde(default)]
    description: String,
}

#[derive(Deserialize)]
struct Info {
    config: Value,
    /// When it was made.
    #[serde(deserialize_with = "moment")]
    created: UnixMillis,
    /// When this was said.
    #[serde(deserialize_with = "moment")]
    ts: UnixMillis,
    state: StreamState,
    #[serde(default)]
    cluster: Group,
}

#[derive(Deserialize)]
struct StreamState {
    last_seq: u64,
    #[serde(default)]
    first_seq: u64,
    #[serde(default)]
    subjects: BTreeMap<String, u64>,
}

#[derive(Default, Deserialize)]
struct Group {
    #[serde(default)]
    replicas: Vec<Replica>,
}

#[derive(Deserialize)]
struct Replica {
    #[serde(default)]
    offline: bool,
    /// Nanoseconds since the leader heard of it.
    #[serde(default)]
    active: u64,
}

#[derive(Deserialize)]
struct Stored {
    message: StoredMessage,
}

#[derive(Deserialize)]
struct StoredMessage {
    seq: u64,
    #[serde(deserialize_with = "moment")]
    time: UnixMillis,
    #[serde(default)]
    data: String,
    #[serde(default)]
    hdrs: String,
}

#[derive(Deserialize)]
struct Ack {
    seq: u64,
}

/// A key's newest message: an entry, or the mark of its removal.
struct Row {
    revision: u64,
    entry: Option<Entry>,
}

/// How an answer of JetStream failed.
enum Failed {
    Said(Failure),
    Error(EngineError),
}

impl Link {
    /// An answer of JetStream to `verb` on our stream.
    async fn api<T: for<'de> Deserialize<'de>>(&self, verb: &str, request: &Value) -> Result<T, Failed> {
        let subject = format!("$JS.API.STREAM.{verb}.{}", self.names.stream);
        let answered = self.request(subject, HeaderMap::new(), request.to_string().into(), PATIENCE).await;
        self.read_answer(&answered.map_err(|err| Failed::Error(self.unanswered(err)))?)
    }

    fn read_answer<T: for<'de> Deserialize<'de>>(&self, message: &Message) -> Result<T, Failed> {
        let odd = |_| Failed::Error(self.away("its answer is none of JetStream's"));
        let mut answer: Value = serde_json::from_slice(&message.payload).map_err(odd)?;
        match answer.get_mut("error").map(Value::take) {
            Some(failure) => Err(Failed::Said(serde_json::from_value(failure).map_err(odd)?)),
            None => serde_json::from_value(answer).map_err(odd),
        }
    }

    /// An error of a request to JetStream.
    fn unanswered(&self, err: EngineError) -> EngineError {
        match err {
            EngineError::NoOne { .. } => {
                self.away("JetStream is not there, or not for this account: start nats-server with jetstream in its configuration")
            }
            EngineError::Late { patience, .. } => self.away(format!(
                "JetStream gave no answer within {} s: do most of its servers run, and may this user ask it?",
                patience.as_secs()
            )),
            err => err,
        }
    }

    fn failed(&self, failed: Failed) -> EngineError {
        match failed {
            Failed::Error(err) => err,
            Failed::Said(failure) => {
                let hint = match failure.err_code {
                    code::NO_CLUSTER => ": cluster.servers names several, which are not one cluster of NATS",
                    code::TOO_FEW => ": start the others of its servers",
                    code::OFF | code::OFF_FOR_ACCOUNT => ": switch it on in the configuration of nats-server",
                    _ => "",
                };
                let why = format!("JetStream says {:?} ({}){hint}", failure.description, failure.err_code);
                // All else is worth another try: servers that start or choose a leader say much that is over soon.
                if code::SETUP.contains(&failure.err_code) || failure.description.contains("maximum") {
                    EngineError::Refused { server: self.server(), why }
                } else {
                    self.away(why)
                }
            }
        }
    }

    /// How the stream is to be.
    fn wanted(&self) -> Value {
        let Names { stream, keys, told, .. } = &self.names;
        json!({
            "name": stream, "subjects": [format!("{keys}>")], "storage": "file", "num_replicas": self.replicas,
            "retention": "limits", "discard": "new", "max_msgs_per_subject": 1, "max_msgs": KEYS,
            "max_bytes": -1, "max_age": 0, "max_consumers": -1, "max_msg_size": 1 << 20,
            "allow_rollup_hdrs": true, "deny_delete": true,
            // Reads go to the leader. Each change is told once it is kept.
            "allow_direct": false, "republish": { "src": format!("{keys}>"), "dest": format!("{told}>") },
            // So that no revision of a former life comes again.
            "first_seq": self.clock.date().0.saturating_mul(REVISIONS_A_MS),
        })
    }

    /// The stream, which is made when it is missing: that decides whether it was there at all.
    async fn ensured(&self, filter: Option<&str>) -> Result<(Info, ClockGap), EngineError> {
        loop {
            let (watch, sent) = (Stopwatch::start(), self.clock.date());
            match self
                .api::<Info>("INFO", &filter.map_or(json!({}), |filter| json!({ "subjects_filter": filter })))
                .await
            {
                Ok(info) => {
                    let half = u64::try_from(watch.elapsed().as_millis() / 2).unwrap_or(u64::MAX);
                    let ours = sent.0.saturating_add(half).cast_signed();
                    let clock = ClockGap { ahead: info.ts.0.cast_signed().saturating_sub(ours), within: half + 1 };
                    return Ok((info, clock));
                }
                Err(Failed::Said(failure)) if failure.err_code == code::NO_STREAM => self.made().await?,
                Err(failed) => return Err(self.failed(failed)),
            }
        }
    }

    async fn made(&self) -> Result<(), EngineError> {
        match self.api::<Value>("CREATE", &self.wanted()).await {
            Ok(_) => Ok(()),
            Err(Failed::Said(failure)) if failure.err_code == code::ANOTHER_STREAM => Ok(()),
            Err(failed) => Err(self.failed(failed)),
        }
    }

    /// Makes the stream what it is to be, where it was made otherwise: by hand, or while there were fewer servers.
    async fn amended(&self, found: &Value) -> Result<(), EngineError> {
        let mut config = found.clone();
        let wanted = self.wanted();
        for field in ["num_replicas", "republish", "allow_direct", "max_msgs_per_subject", "max_msgs", "discard"] {
            let fewer = field == "num_replicas" && config.get(field).and_then(Value::as_u64) > wanted[field].as_u64();
            if !fewer {
                config[field] = wanted[field].clone();
            }
        }
        if config == *found {
            return Ok(());
        }
        self.api::<Value>("UPDATE", &config).await.map(|_| ()).map_err(|failed| self.failed(failed))
    }

    /// The newest message of a key.
    async fn row(&self, key: &str) -> Result<Option<Row>, EngineError> {
        let wanted = json!({ "last_by_subj": format!("{}{key}", self.names.keys) });
        loop {
            match self.api::<Stored>("MSG.GET", &wanted).await {
                Ok(stored) => {
                    return Ok(Some(row(key, stored.message).ok_or_else(|| self.away("its answer is damaged"))?));
                }
                Err(Failed::Said(failure)) if failure.err_code == code::NO_MESSAGE => return Ok(None),
                // It was emptied, or does not know yet that it was not.
                Err(Failed::Said(failure)) if failure.err_code == code::NO_STREAM => _ = self.ensured(None).await?,
                Err(failed) => return Err(self.failed(failed)),
            }
        }
    }

    pub(super) async fn read(&self, key: &str) -> Result<Option<Entry>, EngineError> {
        Ok(self.row(key).await?.and_then(|row| row.entry))
    }

    /// All entries by key, and the latest revision there was before they were read.
    pub(super) async fn all(&self) -> Result<(Vec<Entry>, u64), EngineError> {
        let (info, _) = self.ensured(Some(&format!("{}>", self.names.keys))).await?;
        let mut entries = vec![];
        for subject in info.state.subjects.keys() {
            if let Some(key) = subject.strip_prefix(&self.names.keys) {
                entries.extend(self.read(key).await?);
            }
        }
        Ok((entries, info.state.last_seq))
    }

    /// Writes a key, or removes it, if its revision is still `revision`.
    pub(super) async fn write(
        &self,
        key: &str,
        value: Option<Vec<u8>>,
        revision: Option<u64>,
    ) -> Result<u64, EngineError> {
        let value = value.map(bytes::Bytes::from);
        let began = Stopwatch::start();
        let mut expected = revision.unwrap_or(0);
        loop {
            let mut headers = HeaderMap::new();
            headers.insert(EXPECTED, expected.to_string());
            if value.is_none() {
                headers.insert(OPERATION, "DEL");
            }
            let subject = format!("{}{key}", self.names.keys);
            let payload = value.clone().unwrap_or_default();
            let answered = self.request(subject, headers, payload, PATIENCE).await;
            let failed = match answered.map_err(Failed::Error).and_then(|answer| self.read_answer::<Ack>(&answer)) {
                Ok(ack) => return Ok(ack.seq),
                Err(failed) => failed,
            };
            match failed {
                // Nobody takes what is written: the stream is gone, or its servers are choosing another leader.
                Failed::Error(EngineError::NoOne { .. }) if began.elapsed() < PATIENCE => {
                    self.ensured(None).await?;
                    sleep(AGAIN).await;
                }
                Failed::Said(failure) if failure.err_code == code::UNDER_WAY && began.elapsed() < PATIENCE => {
                    sleep(AGAIN).await;
                }
                Failed::Said(failure) if code::WRONG_REVISION.contains(&failure.err_code) => {
                    let there = if revision.is_none() { self.row(key).await? } else { None };
                    match there {
                        // Removed: the mark of that has a revision of its own.
                        Some(row) if row.entry.is_none() && row.revision != expected => expected = row.revision,
                        _ => return Err(EngineError::Conflict { key: key.to_owned() }),
                    }
                }
                Failed::Error(err) => return Err(self.unanswered(err)),
                said => return Err(self.failed(said)),
            }
        }
    }
}

fn time(text: &str) -> Option<UnixMillis> {
    let at: jiff::Timestamp = text.parse().ok()?;
    u64::try_from(at.as_millisecond()).ok().map(UnixMillis)
}

fn moment<'de, D: Deserializer<'de>>(from: D) -> Result<UnixMillis, D::Error> {
    time(&String::deserialize(from)?).ok_or_else(|| D::Error::custom("no moment after 1970 as of RFC 3339"))
}

/// Looks how it stands: makes the stream when it is missing, and says whether it can be written to.
pub(super) async fn look(link: &Link) -> Result<Seen, EngineError> {
    let (info, clock) = link.ensured(None).await?;
    link.amended(&info.config).await?;
    let servers = info.cluster.replicas.len() + 1;
    let silent = |replica: &&Replica| replica.offline || Duration::from_nanos(replica.active) > SILENT;
    let there = servers - info.cluster.replicas.iter().filter(silent).count();
    if there * 2 <= servers {
        return Err(link.away(format!("of its {servers} servers {there} is there: start the others")));
    }
    Ok(Seen { life: info.created, clock, last: info.state.last_seq, first: info.state.first_seq })
}

fn row(key: &str, message: StoredMessage) -> Option<Row> {
    let StoredMessage { seq: revision, time: written, data, hdrs } = message;
    let headers = String::from_utf8(BASE64.decode(hdrs.as_bytes()).ok()?).ok()?;
    let removed = headers.lines().any(|line| line.starts_with("KV-Operation:"));
    if removed {
        return Some(Row { revision, entry: None });
    }
    let (key, value) = (key.to_owned(), BASE64.decode(data.as_bytes()).ok()?);
    Some(Row { revision, entry: Some(Entry { key, value, revision, written }) })
}

/// A change as it is told once it is kept, and its revision.
pub(super) fn change(names: &Names, message: &Message) -> Option<(u64, Change)> {
    let key = message.subject.strip_prefix(names.told.as_str())?.to_owned();
    let headers = message.headers.as_ref()?;
    let header = |name: &str| headers.get(name).map(|value| value.as_str());
    let revision = header("Nats-Sequence")?.parse().ok()?;
    if header(OPERATION).is_some() {
        return Some((revision, Change::Removed { key, revision }));
    }
    let written = time(header("Nats-Time-Stamp")?)?;
    Some((revision, Change::Written(Entry { key, value: message.payload.to_vec(), revision, written })))
}
