//! The thread that follows the feed into the index of pages. It holds no permit and no lease: whatever befalls it, the crawl goes on. What
//! fails is done again from the last commit, after a rest; a page of which it dies three times is taken in without its text.

mod life;

use std::cell::Cell;
use std::collections::HashMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

use data_encoding::HEXLOWER;

use self::life::{End, Life};
use crate::crawl::node::Node;
use crate::crawl::store::Commit;
use crate::crawl::supervise::panic_text;
use crate::index::{Doing, FollowError, newest};
use crate::storage::keys::SeenKey;
use crate::storage::ledger::Change;
use crate::storage::read;
use crate::storage::values::{Consumer, Consumers, INDEX};
use crate::telemetry::trouble;

/// How often it looks whether it is switched on.
const LOOK: Duration = Duration::from_secs(1);
/// Rest after a failure, doubled each time up to the longest.
const FIRST_REST: Duration = Duration::from_secs(1);
const LONGEST_REST: Duration = Duration::from_secs(300);
/// Deaths of one page, and failures in a row of the index itself, that are borne.
const BORNE: u32 = 3;
/// Pages without their text that are listed.
const LISTED: usize = 100;

/// How it is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    /// What is committed is enough.
    Now,
    /// All that is shown is taken in first.
    CaughtUp,
}

/// The thread. Dropped, it is left to itself: what it has not committed is taken in by another run.
pub(super) struct Indexer {
    end: mpsc::Sender<Last>,
    thread: JoinHandle<()>,
}

impl Indexer {
    /// Starts it; while the index is switched off it does nothing.
    ///
    /// # Errors
    /// A thread that cannot be started.
    pub fn start(node: &Arc<Node>) -> io::Result<Self> {
        let (end, ended) = mpsc::channel();
        let node = node.clone();
        let thread =
            std::thread::Builder::new().name("index".into()).spawn(move || work(&node, &Ending::new(ended)))?;
        Ok(Self { end, thread })
    }

    /// Ends it once it has committed what it has in hand; `all`: once it has taken in all that is shown.
    pub fn finish(self, all: bool) {
        let _ = self.end.send(if all { Last::CaughtUp } else { Last::Now });
        if self.thread.join().is_err() {
            log::error!("the thread of the index panicked; another run takes in what is left");
        }
    }
}

/// Whether it is to end.
struct Ending {
    told: Receiver<Last>,
    last: Cell<Option<Last>>,
}

impl Ending {
    fn new(told: Receiver<Last>) -> Self {
        Self { told, last: Cell::new(None) }
    }

    /// Waits so long, or until it is told to end; how, once it was told.
    fn wait(&self, so_long: Duration) -> Option<Last> {
        if self.last.get().is_none() {
            match self.told.recv_timeout(so_long) {
                Ok(last) => self.last.set(Some(last)),
                Err(RecvTimeoutError::Disconnected) => self.last.set(Some(Last::Now)),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
        self.last.get()
    }
}

/// What went wrong so far.
#[derive(Default)]
struct Deaths {
    of: HashMap<SeenKey, u32>,
    /// Failures in a row that no page had a part in.
    of_index: u32,
}

impl Deaths {
    /// A page that is taken in without its text.
    fn is_bare(&self, page: SeenKey) -> bool {
        self.of.get(&page).is_some_and(|deaths| *deaths >= BORNE)
    }

    fn note(&mut self, node: &Node, page: SeenKey) {
        let deaths = self.of.entry(page).or_default();
        *deaths += 1;
        if *deaths == BORNE {
            let id = HEXLOWER.encode(&newest::id(page));
            log::error!(
                "a page is taken into the index without its text, for the index died of it {BORNE} times: id={id}"
            );
            node.index.tell(|told| {
                if told.bare.len() < LISTED {
                    told.bare.push(id);
                }
            });
        }
    }
}

fn work(node: &Node, ending: &Ending) {
    let mut deaths = Deaths::default();
    let (mut rest, mut forgotten) = (FIRST_REST, false);
    loop {
        if !node.crawl.live().settings.index.enabled {
            node.index.tell(|told| told.doing = Doing::Off);
            node.index.answer(None);
            if !forgotten && node.crawl.progress.fed.borrow().is_some() {
                forget(node);
                forgotten = true;
            }
            if ending.wait(LOOK).is_some() {
                return;
            }
            continue;
        }
        forgotten = false;
        let in_hand = Cell::new(None);
        let mut committed = false;
        let lived = catch_unwind(AssertUnwindSafe(|| {
            Life { node, ending, deaths: &deaths, in_hand: &in_hand, committed: &mut committed }.live()
        }));
        if committed {
            (rest, deaths.of_index) = (FIRST_REST, 0);
        }
        match lived {
            Ok(Ok(End::Over)) => return,
            Ok(Ok(End::Again)) => continue,
            Ok(Err(e)) => {
                match e {
                    FollowError::Index(_) => deaths.of_index += 1,
                    FollowError::Injected(_) => in_hand.take().into_iter().for_each(|page| deaths.note(node, page)),
                    FollowError::Storage(_) | FollowError::Io { .. } => {}
                }
                failure(node, &e.to_string(), rest);
            }
            Err(panic) => {
                match in_hand.take() {
                    Some(page) => deaths.note(node, page),
                    None => deaths.of_index += 1,
                }
                failure(node, &format!("panic: {}", panic_text(&*panic)), rest);
            }
        }
        if deaths.of_index >= BORNE {
            deaths.of_index = 0;
            node.index.rebuild();
        }
        if ending.wait(rest).is_some() {
            return;
        }
        rest = (rest * 2).min(LONGEST_REST);
    }
}

fn failure(node: &Node, why: &str, rest: Duration) {
    node.index.tell(|told| {
        told.doing = Doing::Resting;
        told.failures += 1;
        told.error = Some(why.to_owned());
    });
    node.telemetry.troubles.note(node.clock.now(), trouble::INDEX, why.to_owned());
    node.telemetry.metrics.index_failed();
    log::warn!("the index waits: again_in_s={} error={why}", rest.as_secs());
}

/// Says how far the index is, so that what it has not read is kept for it.
fn acknowledge(node: &Node, after: u64) {
    let consumer = Consumer { name: INDEX.into(), after, hold: true, at: node.clock.date() };
    tell(node, Some(consumer));
}

/// It is switched off: nothing is kept for it any more.
fn forget(node: &Node) {
    let known = read::meta::<Consumers>(&*node.storage, ()).ok().flatten().unwrap_or_default();
    if known.0.iter().any(|consumer| consumer.name == INDEX) {
        tell(node, None);
    }
}

/// Nobody waits for the answer: what is lost is said again.
fn tell(node: &Node, at: Option<Consumer>) {
    node.mailboxes().store.tell(Commit::bare(Change::Consumer { name: INDEX.into(), at }));
}
