//! NATS JetStream as the engine.
//!
//! | | |
//! |---|---|
//! | [`options`] | settings, and the client's bounds |
//! | [`link`] | the connection: requests, what is known of the other side |
//! | [`bucket`] | entries |
//! | [`follow`] | a watch of them |
//!
//! All of it runs on one thread with a runtime of its own; calls hand it what is to be done and wait.

mod bucket;
mod follow;
mod link;
mod options;

use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use async_nats::{HeaderMap, Message};
use futures_util::StreamExt;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::desk::{Desk, Reply};
use super::watch::watch;
use super::{
    Answering, Engine, EngineError, EngineState, Entry, Handler, MESSAGE_CAP, PATIENCE, VALUE_CAP, Watch, fits, named,
};
use crate::base::clock::Clock;
use link::Link;

pub use options::NatsOptions;

/// Header of an answer that is none.
const NO_ANSWER: &str = "Lycosa-No-Answer";
/// Who answers to one subject shares its requests.
const GROUP: &str = "answer";
/// An answer that cannot be sent within this is dropped.
const SENDING: Duration = Duration::from_secs(5);

/// An engine on NATS servers. It connects by itself, for ever; dropped, it disconnects.
pub struct Nats {
    link: Arc<Link>,
    handle: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Nats {
    /// Begins to connect, and does not wait for it: [`state`](Engine::state) says when it is there, and until then calls are
    /// [`Away`](EngineError::Away).
    ///
    /// # Errors
    /// [`EngineError::Setting`]; [`Refused`](EngineError::Refused) when this machine gives no thread.
    pub fn start(options: &NatsOptions, clock: Clock) -> Result<Self, EngineError> {
        let checked = options.check()?;
        let places = checked.places.clone();
        let refused = |err: std::io::Error| EngineError::Refused { server: places.clone(), why: err.to_string() };
        let runtime = Builder::new_current_thread().enable_all().build().map_err(refused)?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let (sender, opened) = sync_channel(1);
        let name = options.name.clone();
        let open = async move { Link::open(&name, checked, clock).await };
        let run = move || {
            run(&runtime, open, &sender, stopped);
            // Names that are being looked up must not hold the program.
            runtime.shutdown_background();
        };
        let thread = thread::Builder::new().name("lycosa-engine".into()).spawn(run).map_err(refused)?;
        let link = opened.recv().map_err(|_| refused(std::io::Error::other("its thread ended")))??;
        Ok(Self { link, handle, stop: Some(stop), thread: Some(thread) })
    }

    /// Does `call` on the engine's thread and waits for its end, for `limit` at most.
    fn done<T: Send + 'static>(
        &self,
        limit: Duration,
        call: impl Future<Output = Result<T, EngineError>> + Send + 'static,
    ) -> Result<T, EngineError> {
        let (sender, receiver) = sync_channel(1);
        let link = self.link.clone();
        self.handle.spawn(async move {
            let late = |_| Err(link.away(format!("no answer within {} s", limit.as_secs())));
            let _ = sender.send(timeout(limit, call).await.unwrap_or_else(late));
        });
        let done = receiver.recv().unwrap_or_else(|_| Err(self.link.away("this program has closed it")));
        if matches!(done, Err(EngineError::Away { .. })) {
            self.link.look_soon();
        }
        done
    }
}

/// The engine's thread, until it is stopped.
fn run(
    runtime: &Runtime,
    open: impl Future<Output = Result<(Arc<Link>, link::Running), EngineError>>,
    opened: &std::sync::mpsc::SyncSender<Result<Arc<Link>, EngineError>>,
    stopped: oneshot::Receiver<()>,
) {
    runtime.block_on(async {
        match open.await {
            Err(err) => _ = opened.send(Err(err)),
            Ok((link, running)) => {
                let _ = opened.send(Ok(link.clone()));
                tokio::select! {
                    _ = stopped => {}
                    () = link.run(running) => {}
                }
            }
        }
    });
}

impl Drop for Nats {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Engine for Nats {
    fn read(&self, key: &str) -> Result<Option<Entry>, EngineError> {
        let (link, key) = (self.link.clone(), named(key)?.to_owned());
        self.done(PATIENCE, async move { link.read(&key).await })
    }

    fn all(&self) -> Result<Vec<Entry>, EngineError> {
        let link = self.link.clone();
        self.done(PATIENCE, async move { Ok(link.all().await?.0) })
    }

    fn write_if(&self, key: &str, value: &[u8], revision: Option<u64>) -> Result<u64, EngineError> {
        fits("the value", value.len(), VALUE_CAP)?;
        let (link, key, value) = (self.link.clone(), named(key)?.to_owned(), value.to_vec());
        self.done(PATIENCE, async move { link.write(&key, Some(value), revision).await })
    }

    fn remove_if(&self, key: &str, revision: u64) -> Result<u64, EngineError> {
        let (link, key) = (self.link.clone(), named(key)?.to_owned());
        self.done(PATIENCE, async move { link.write(&key, None, Some(revision)).await })
    }

    fn watch(&self) -> Result<Watch, EngineError> {
        let (teller, watch) = watch();
        let task = self.handle.spawn(follow::follow(self.link.clone(), teller));
        Ok(watch.ended_by(move || task.abort()))
    }

    fn ask(&self, subject: &str, request: &[u8], patience: Duration) -> Result<Vec<u8>, EngineError> {
        fits("the request", request.len(), MESSAGE_CAP)?;
        let (link, subject, request) = (self.link.clone(), named(subject)?.to_owned(), request.to_vec());
        // The request has its own end, a little before.
        self.done(patience.saturating_add(SENDING), async move {
            let at = format!("{}{subject}", link.names.base);
            let answer = link.request(at, HeaderMap::new(), request.into(), patience).await;
            // Subjects are told as they were asked.
            let answer = answer.map_err(|err| match err {
                EngineError::NoOne { .. } => EngineError::NoOne { subject: subject.clone() },
                EngineError::Late { .. } => EngineError::Late { subject: subject.clone(), patience },
                err => err,
            })?;
            reply(&answer).told(&subject)
        })
    }

    fn answer(&self, subject: &str, handler: Handler) -> Result<Answering, EngineError> {
        let subject = named(subject)?;
        let refused = |err: std::io::Error| EngineError::Refused { server: self.link.server(), why: err.to_string() };
        let desk = Desk::open(subject, &handler).map_err(refused)?;
        let at = format!("{}{subject}", self.link.names.base);
        let task = self.handle.spawn(answer(self.link.clone(), at, desk));
        Ok(Answering::until(move || task.abort()))
    }

    fn state(&self) -> EngineState {
        self.link.state()
    }
}

/// Lays what is asked down at a desk, until the client ends.
async fn answer(link: Arc<Link>, subject: String, desk: Desk) {
    let Ok(mut asked) = link.client.queue_subscribe(subject, GROUP.to_owned()).await else {
        return;
    };
    let handle = Handle::current();
    while let Some(message) = asked.next().await {
        let Some(to) = message.reply else { continue };
        let (link, handle) = (link.clone(), handle.clone());
        desk.ask(message.payload.to_vec(), move |reply| {
            let mut headers = HeaderMap::new();
            let payload = match reply {
                Reply::Answer(answer) => answer,
                Reply::Busy => no_answer(&mut headers, "busy"),
                Reply::Failed => no_answer(&mut headers, "failed"),
                Reply::TooLarge(bytes) => no_answer(&mut headers, &bytes.to_string()),
            };
            // Over another connection than it was asked by an answer finds nobody.
            if link.is_up() {
                handle.spawn(async move {
                    timeout(SENDING, link.client.publish_with_headers(to, headers, payload.into())).await
                });
            }
        });
    }
}

fn no_answer(headers: &mut HeaderMap, why: &str) -> Vec<u8> {
    headers.insert(NO_ANSWER, why);
    vec![]
}

fn reply(message: &Message) -> Reply {
    match message.headers.as_ref().and_then(|headers| headers.get(NO_ANSWER)).map(|why| why.as_str()) {
        None => Reply::Answer(message.payload.to_vec()),
        Some("busy") => Reply::Busy,
        Some(bytes) => bytes.parse().map_or(Reply::Failed, Reply::TooLarge),
    }
}
