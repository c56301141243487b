//! The connection: requests with an end to their patience, and what is known of the other side.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_nats::{Client, Event, HeaderMap, Message, Server, ServerInfo, StatusCode, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt;
use tokio::sync::{Notify, Semaphore, mpsc, oneshot, watch};
use tokio::time::{sleep, timeout};

use super::super::{EngineError, EngineState};
use super::bucket::{self, Seen};
use super::options::{Checked, place};
use crate::base::clock::Clock;
use crate::base::sync::lock;

/// Oldest server: before it, CAS in a cluster is not what it should be.
const OLDEST: (u32, u32) = (2, 12);
/// The least that a server must take as one message: bytes.
const LEAST_PAYLOAD: usize = 1 << 20;
/// Requests under way at most.
const REQUESTS: usize = 32;
/// How often the other side is looked at while all is well, and while it is not.
const LOOK: Duration = Duration::from_secs(5);
/// So long an engine that was never reached is no engine that is away.
const BEGINNING: Duration = Duration::from_secs(2);
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// What a server complained of is told with what failed within this.
const COMPLAINT: Duration = Duration::from_secs(10);
/// Events of the client that may wait.
const EVENTS: usize = 64;

/// How things are called at the other side.
pub(super) struct Names {
    /// The stream of the entries; NATS's own tools know it as the bucket `lycosa-NAME`.
    pub(super) stream: String,
    /// Begins the subject of an entry.
    pub(super) keys: String,
    /// Begins the subject where a change is told. No member's name begins like this or the next.
    pub(super) told: String,
    /// Begins the subjects of answers to this engine.
    pub(super) inbox: String,
    /// Begins all subjects but those of the entries.
    pub(super) base: String,
}

impl Names {
    fn new(name: &str) -> Self {
        let base = format!("lycosa.{name}.");
        Self {
            stream: format!("KV_lycosa-{name}"),
            keys: format!("$KV.lycosa-{name}."),
            told: format!("{base}_kv."),
            inbox: format!("{base}_inbox.{}.", uuid::Uuid::new_v4().simple()),
            base,
        }
    }
}

/// What who follows the entries has to know.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Looked {
    /// Raised when changes may have been missed.
    pub(super) anew: u64,
    /// The latest revision there.
    pub(super) last: u64,
    /// The earliest.
    pub(super) first: u64,
}

/// A connection that is made again whenever it breaks.
pub(super) struct Link {
    pub(super) client: Client,
    pub(super) names: Names,
    pub(super) replicas: usize,
    pub(super) looked: watch::Sender<Looked>,
    pub(super) clock: Clock,
    places: String,
    /// Whether the connection stands.
    up: watch::Sender<bool>,
    /// Why the server is not to be used.
    unfit: Mutex<Option<String>>,
    state: Mutex<EngineState>,
    waiting: Mutex<HashMap<u64, oneshot::Sender<Message>>>,
    numbers: AtomicU64,
    permits: Semaphore,
    look_now: Notify,
    /// Why no server could be connected to.
    tried: Arc<Mutex<Option<String>>>,
    /// What the server said against us last, and when.
    complaint: Mutex<Option<(Duration, String)>>,
}

/// What goes on beside the calls.
pub(super) struct Running {
    events: mpsc::Receiver<Event>,
    inbox: Subscriber,
}

/// Takes a number out of the waiting when its request is over, however that ends.
struct Waits<'a>(&'a Link, u64);

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        lock(&self.0.waiting).remove(&self.1);
    }
}

impl Link {
    /// Begins to connect.
    pub(super) async fn open(name: &str, checked: Checked, clock: Clock) -> Result<(Arc<Self>, Running), EngineError> {
        let Checked { servers, options, replicas, places } = checked;
        let (sender, events) = mpsc::channel(EVENTS);
        let tried = Arc::new(Mutex::new(None));
        let note = tried.clone();
        let options = options
            .name(format!("lycosa {name}"))
            .event_callback(move |event| {
                let sender = sender.clone();
                async move { _ = sender.try_send(event) }
            })
            .reconnect_to_server_callback(move |servers, _| {
                let failed =
                    |server: &Server| Some(format!("{}: {}", place(&server.addr), server.last_error.as_ref()?));
                let failed: Vec<String> = servers.iter().filter_map(failed).collect();
                *lock(&note) = (!failed.is_empty()).then(|| failed.join("; "));
                // Which server comes next is the client's own choice.
                async { None }
            });
        let refused =
            |err: &dyn std::fmt::Display| EngineError::Refused { server: places.clone(), why: err.to_string() };
        let client = options.connect(servers.as_slice()).await.map_err(|err| refused(&err))?;
        let names = Names::new(name);
        let inbox = client.subscribe(format!("{}*", names.inbox)).await.map_err(|err| refused(&err))?;
        let link = Self {
            client,
            names,
            replicas,
            looked: watch::Sender::default(),
            state: Mutex::new(EngineState { since: clock.now(), ..EngineState::default() }),
            clock,
            places,
            up: watch::Sender::default(),
            unfit: Mutex::default(),
            waiting: Mutex::default(),
            numbers: AtomicU64::default(),
            permits: Semaphore::new(REQUESTS),
            look_now: Notify::new(),
            tried,
            complaint: Mutex::default(),
        };
        Ok((Arc::new(link), Running { events, inbox }))
    }

    /// Sends a request and waits for its answer, or until the connection breaks.
    pub(super) async fn request(
        &self,
        subject: String,
        headers: HeaderMap,
        payload: Bytes,
        patience: Duration,
    ) -> Result<Message, EngineError> {
        let late = |_| EngineError::Late { subject: subject.clone(), patience };
        timeout(patience, self.answered(&subject, headers, payload)).await.map_err(late)?
    }

    async fn answered(&self, subject: &str, headers: HeaderMap, payload: Bytes) -> Result<Message, EngineError> {
        self.fit()?;
        let closed = |_| self.away("this program has closed it");
        let _permit = self.permits.acquire().await.map_err(closed)?;
        let mut up = self.up.subscribe();
        // What is sent while there is no connection would be held back by the client and done much later.
        if !*up.borrow_and_update() {
            return Err(self.unreached());
        }
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = oneshot::channel();
        lock(&self.waiting).insert(number, sender);
        let _waits = Waits(self, number);
        let inbox = format!("{}{number}", self.names.inbox);
        let sent = self.client.publish_with_reply_and_headers(subject.to_owned(), inbox, headers, payload).await;
        sent.map_err(|err| self.away(err))?;
        let message = tokio::select! {
            message = receiver => message.map_err(|_| self.away("this program has closed it"))?,
            _ = up.wait_for(|up| !up) => return Err(self.away("the connection broke before the answer came")),
        };
        if message.status == Some(StatusCode::NO_RESPONDERS) {
            return Err(EngineError::NoOne { subject: subject.to_owned() });
        }
        Ok(message)
    }

    /// Refuses what a server must not be used for.
    fn fit(&self) -> Result<(), EngineError> {
        let unfit = lock(&self.unfit).clone();
        unfit.map_or(Ok(()), |why| Err(EngineError::Refused { server: self.server(), why }))
    }

    /// Where it is or was reached, else where it is looked for.
    pub(super) fn server(&self) -> String {
        lock(&self.state).server.clone().unwrap_or_else(|| self.places.clone())
    }

    /// An error of what did not work just now, with what the server may have said about it.
    pub(super) fn away(&self, why: impl std::fmt::Display) -> EngineError {
        let said = lock(&self.complaint).clone();
        let said = said.filter(|(at, _)| self.clock.uptime().saturating_sub(*at) < COMPLAINT);
        let why = said.map_or_else(|| why.to_string(), |(_, said)| format!("{why}; the server said: {said}"));
        EngineError::Away { server: self.server(), why }
    }

    /// An error of a server that is not connected.
    pub(super) fn unreached(&self) -> EngineError {
        let tried = lock(&self.tried).clone();
        let why = tried.unwrap_or_else(|| "not connected yet".to_owned());
        EngineError::Away {
            server: self.places.clone(),
            why: format!(
                "{why}; it is tried again until it is there: see that it runs and that cluster.servers and credentials are right"
            ),
        }
    }

    /// Something failed: has the other side looked at before its time.
    pub(super) fn look_soon(&self) {
        self.look_now.notify_one();
    }

    /// Whether the connection stands.
    pub(super) fn is_up(&self) -> bool {
        *self.up.borrow()
    }

    /// How it stands.
    pub(super) fn state(&self) -> EngineState {
        lock(&self.state).clone()
    }

    /// Goes on until the client ends.
    pub(super) async fn run(self: Arc<Self>, running: Running) {
        let Running { mut events, mut inbox } = running;
        let here = self.clone();
        tokio::spawn(async move {
            while let Some(message) = inbox.next().await {
                here.hand_on(message);
            }
        });
        let looking = tokio::spawn(self.clone().keep_looking());
        while let Some(event) = events.recv().await {
            self.noted(event);
        }
        looking.abort();
    }

    fn hand_on(&self, message: Message) {
        let number = message.subject.strip_prefix(self.names.inbox.as_str()).and_then(|number| number.parse().ok());
        if let Some(sender) = number.and_then(|number: u64| lock(&self.waiting).remove(&number)) {
            let _ = sender.send(message);
        }
    }

    fn noted(&self, event: Event) {
        match event {
            Event::Connected => {
                let info = self.client.server_info();
                *lock(&self.unfit) = unfit(&info);
                lock(&self.state).server = Some(of_server(&info, &self.places));
                *lock(&self.tried) = None;
                self.up.send_replace(true);
                self.missed();
                self.look_now.notify_one();
            }
            Event::Disconnected | Event::Closed => {
                self.up.send_replace(false);
                self.told(Err(self.away("the connection broke")));
            }
            Event::SlowConsumer(_) => self.missed(),
            Event::ServerError(err) => *lock(&self.complaint) = Some((self.clock.uptime(), err.to_string())),
            _ => {}
        }
    }

    /// Changes may have been missed.
    fn missed(&self) {
        self.looked.send_modify(|looked| looked.anew += 1);
    }

    async fn keep_looking(self: Arc<Self>) {
        loop {
            let seen = if self.is_up() { bucket::look(&self).await } else { Err(self.unreached()) };
            let wait = if seen.is_ok() { LOOK } else { LOOK_AGAIN };
            self.told(seen);
            let _ = timeout(wait, self.look_now.notified()).await;
            // Never in a tight loop, however often it is called for.
            sleep(LOOK_AGAIN / 10).await;
        }
    }

    /// Takes in how it stands.
    fn told(&self, seen: Result<Seen, EngineError>) {
        let now = self.clock.now();
        let mut state = lock(&self.state);
        let connected = seen.is_ok();
        if state.connected != connected {
            state.connected = connected;
            state.since = now;
        }
        let seen = match seen {
            Ok(seen) => seen,
            Err(err) => {
                // The first moment is no absence.
                let is_beginning =
                    state.life.is_none() && lock(&self.tried).is_none() && now.since(state.since) < BEGINNING;
                if !is_beginning {
                    if state.why.is_none() {
                        log::warn!("{err}");
                    }
                    state.why = Some(err.to_string());
                }
                return;
            }
        };
        if state.why.take().is_some() || state.life.is_none() {
            log::info!("the engine at {} is reached", state.server.as_ref().unwrap_or(&self.places));
        }
        let emptied = state.life.is_some_and(|life| life != seen.life);
        if emptied {
            log::warn!("the engine at {} was emptied", state.server.as_ref().unwrap_or(&self.places));
        }
        state.clock = Some(seen.clock);
        state.life = Some(seen.life);
        drop(state);
        self.looked.send_modify(|looked| {
            looked.anew += u64::from(emptied);
            looked.last = seen.last;
            looked.first = seen.first;
        });
    }
}

fn of_server(info: &ServerInfo, places: &str) -> String {
    let any = info.host.is_empty() || info.host == "0.0.0.0" || info.host == "::";
    let is_named = info.server_name != info.server_id;
    let place = if any && is_named {
        info.server_name.clone()
    } else if any {
        places.to_owned()
    } else {
        format!("{}:{}", info.host, info.port)
    };
    format!("{place} (nats-server {})", info.version)
}

/// Why a server is not to be used.
fn unfit(info: &ServerInfo) -> Option<String> {
    let mut numbers = info.version.split(['.', '-']).map(str::parse::<u32>);
    let version = numbers.next().and_then(Result::ok).zip(numbers.next().and_then(Result::ok));
    let (major, minor) = OLDEST;
    if version.is_none_or(|version| version < OLDEST) {
        let found = &info.version;
        return Some(format!("it is nats-server {found}; at least {major}.{minor} is needed: upgrade it"));
    }
    (info.max_payload < LEAST_PAYLOAD).then(|| {
        let found = info.max_payload;
        format!("it takes messages of {found} bytes at most; set max_payload to {LEAST_PAYLOAD} at least in its configuration")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(version: &str, max_payload: usize) -> ServerInfo {
        serde_json::from_value(serde_json::json!({
            "server_id": "", "server_name": "s1", "host": "0.0.0.0", "port": 4222, "version": version, "proto": 1,
            "max_payload": max_payload, "client_id": 1, "go": "", "headers": true,
        }))
        .unwrap()
    }

    #[test]
    fn an_old_server_and_one_of_small_messages_are_not_used() {
        for (version, payload, part) in [
            ("2.12.0", LEAST_PAYLOAD, None),
            ("2.15.1", 8 * LEAST_PAYLOAD, None),
            ("3.0.0-beta.1", LEAST_PAYLOAD, None),
            ("2.11.9", LEAST_PAYLOAD, Some("2.11.9; at least 2.12")),
            ("2.9.10", LEAST_PAYLOAD, Some("2.9.10; at least 2.12")),
            ("", LEAST_PAYLOAD, Some("at least 2.12")),
            ("2.15.1", LEAST_PAYLOAD - 1, Some("max_payload")),
        ] {
            let found = unfit(&info(version, payload));
            assert_eq!(found.is_some(), part.is_some(), "{version}: {found:?}");
            assert!(found.unwrap_or_default().contains(part.unwrap_or_default()));
        }
    }
}
