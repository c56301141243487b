//! The thread that follows the feed into the index of pages. It holds no permit and no lease: whatever befalls it, the crawl goes on. What
//! fails is done again from the last commit, after a rest; a page of which it dies three times is taken in without its text.

mod life;

use std::cell::Cell;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use data_encoding::HEXLOWER;

use self::life::{End, Life};
use super::follow::{BORNE, Deaths, Ending, Follower, Last, Rest, acknowledge_as, forget_as, lived};
use crate::crawl::node::Node;
use crate::index::{Doing, FollowError};
use crate::storage::keys::SeenKey;
use crate::storage::newest;
use crate::storage::read;
use crate::storage::values::{Consumers, INDEX};
use crate::telemetry::trouble;

/// How often it looks whether it is switched on.
const LOOK: Duration = Duration::from_secs(1);
/// Pages without their text that are listed.
const LISTED: usize = 100;

/// The thread. Dropped, it is left to itself: what it has not committed is taken in by another run.
pub(super) struct Indexer(Follower);

impl Indexer {
    /// Starts it; while the index is switched off it does nothing.
    ///
    /// # Errors
    /// A thread that cannot be started.
    pub fn start(node: &Arc<Node>) -> io::Result<Self> {
        let node = node.clone();
        Ok(Self(Follower::start("index", move |ending| work(&node, ending))?))
    }

    /// Ends it once it has committed what it has in hand; `all`: once it has taken in all that is shown.
    pub fn finish(self, all: bool) {
        self.0.tell(if all { Last::CaughtUp } else { Last::Now });
        self.0.join();
    }
}

/// What went wrong so far.
#[derive(Default)]
struct Failures {
    of: Deaths<SeenKey>,
    /// Failures in a row that no page had a part in.
    of_index: u32,
}

impl Failures {
    fn note(&mut self, node: &Node, page: SeenKey) {
        if self.of.note(page) {
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
    let (mut failures, mut rest, mut forgotten) = (Failures::default(), Rest::default(), false);
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
        let deaths = &failures.of;
        let lived = lived(|| Life { node, ending, deaths, in_hand: &in_hand, committed: &mut committed }.live());
        if committed {
            (rest, failures.of_index) = (Rest::default(), 0);
        }
        match lived {
            Ok(Ok(End::Over)) => return,
            Ok(Ok(End::Again)) => continue,
            Ok(Err(e)) => {
                match e {
                    FollowError::Index(_) => failures.of_index += 1,
                    FollowError::Injected(_) => in_hand.take().into_iter().for_each(|page| failures.note(node, page)),
                    FollowError::Storage(_) | FollowError::Io { .. } => {}
                }
                failure(node, &e.to_string(), rest.next());
            }
            Err(panic) => {
                match in_hand.take() {
                    Some(page) => failures.note(node, page),
                    None => failures.of_index += 1,
                }
                failure(node, &panic, rest.next());
            }
        }
        if failures.of_index >= BORNE {
            failures.of_index = 0;
            node.index.rebuild();
        }
        if ending.wait(rest.take()).is_some() {
            return;
        }
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
    acknowledge_as(node, INDEX, after);
}

/// It is switched off: nothing is kept for it any more.
fn forget(node: &Node) {
    let known = read::meta::<Consumers>(&*node.storage, ()).ok().flatten().unwrap_or_default();
    if known.0.iter().any(|consumer| consumer.name == INDEX) {
        forget_as(node, INDEX);
    }
}
