//! The thread that settles link credit: it reads the notes of pages that were fetched and hands the Store what they bring, a piece of a
//! round at a time. It writes nothing and holds no permit but room before the Store: whatever befalls it, the crawl goes on, and a round
//! is gone on with where it stands.

use std::io;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use super::follow::{Ending, Follower, Last, committed, lived};
use crate::base::clock::Stopwatch;
use crate::base::fault::Injected;
use crate::crawl::node::Node;
use crate::crawl::store::Commit;
use crate::storage::credit::{PIECE, Plan};
use crate::storage::ledger::{Change, Settling};
use crate::storage::values::CreditState;
use crate::storage::{StorageError, read};

/// Notes with which a round begins, and the longest that fewer wait.
const NOTES: u64 = 1_000;
const LONGEST: Duration = Duration::from_secs(10);
/// How often it looks.
const LOOK: Duration = Duration::from_millis(100);
/// Rest after a failure.
const REST: Duration = Duration::from_secs(1);

/// The thread; none without credit.
pub(super) struct Creditor(Option<Follower>);

/// What went wrong.
#[derive(Debug, thiserror::Error)]
enum CreditError {
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error(transparent)]
    Injected(#[from] Injected),
}

impl Creditor {
    /// Starts it where credit is on.
    ///
    /// # Errors
    /// A thread that cannot be started.
    pub fn start(node: &Arc<Node>) -> io::Result<Self> {
        if node.crawl.rules.credit().is_none() {
            return Ok(Self(None));
        }
        let node = node.clone();
        Ok(Self(Some(Follower::start("credit", move |ending| work(&node, ending))?)))
    }

    /// Ends it; a round that it does not come to the end of is another run's.
    pub fn finish(self) {
        if let Some(thread) = self.0 {
            thread.tell(Last::Now);
            thread.join();
        }
    }
}

fn work(node: &Node, ending: &Ending) {
    let mut since = None; // what another run has left is settled at once
    while ending.wait(LOOK).is_none() {
        if node.disk.holds() {
            continue;
        }
        match lived(|| look(node, ending, &mut since)) {
            Ok(Ok(())) => {}
            Ok(Err(e)) => failed(ending, &e.to_string()),
            Err(panic) => failed(ending, &panic),
        }
    }
}

fn failed(ending: &Ending, why: &str) {
    log::warn!("a round of link credit waits: again_in_s={} error={why}", REST.as_secs());
    ending.wait(REST);
}

/// Goes through a round when it is time for one.
fn look(node: &Node, ending: &Ending, since: &mut Option<Stopwatch>) -> Result<(), CreditError> {
    let Some(state) = read::meta::<CreditState>(&*node.storage, node.crawl.id)? else { return Ok(()) };
    let waiting = state.next.saturating_sub(state.first);
    let due =
        state.round.is_some() || waiting >= NOTES || since.as_ref().is_none_or(|since| since.elapsed() >= LONGEST);
    if !due {
        return Ok(());
    }
    *since = Some(Stopwatch::start());
    node.faults.check("credit.round")?;
    let Some(mut plan) = Plan::make(&*node.storage, node.crawl.id, &state)? else { return Ok(()) };
    while let Some(piece) = plan.next_piece(PIECE) {
        node.faults.check("credit.piece")?;
        if !hand_in(node, ending, piece) {
            return Ok(()); // lost, or it is over: the round is gone on with
        }
        node.faults.check("credit.settled")?;
    }
    Ok(())
}

/// Waits until a piece is committed; false when it was lost or the run is over.
fn hand_in(node: &Node, ending: &Ending, piece: Settling) -> bool {
    let (tell, told) = mpsc::channel();
    let reply: Box<dyn FnOnce() + Send> = Box::new(move || _ = tell.send(()));
    let commit = Commit { reply: Some(reply), ..Commit::bare(Change::Settle(Box::new(piece))) };
    let permits = commit.permits();
    let room = loop {
        match node.permits.store_room.clone().try_acquire_many_owned(permits) {
            Ok(room) => break room,
            Err(_) if ending.wait(Duration::from_millis(5)).is_some() => return false,
            Err(_) => {}
        }
    };
    node.mailboxes().store.tell(Commit { room: Some(room), ..commit });
    committed(&told, ending)
}
