//! The thread that takes in what other members of the crawl have found: it reads their rows, which lie in the folder, and hands them to the
//! Deduper one after the other. A crawl that is to end by itself does not before that is done.

use std::io;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use super::follow::{Ending, Follower, Last, committed, lived};
use crate::crawl::deduper::TakeIn;
use crate::crawl::live::Readmitting;
use crate::crawl::node::Node;
use crate::storage::keys::{Key, KeyRange, RowKey, after};
use crate::storage::share::Share;
use crate::storage::tables::Outbox;
use crate::storage::values::OutboxRow;
use crate::storage::{Storage, StorageError, read};

/// How often it looks whether it is to end.
const LOOK: Duration = Duration::from_millis(100);
/// Rest after a failure, and before a row whose commit was lost is handed in again.
const REST: Duration = Duration::from_secs(1);
const AGAIN: Duration = Duration::from_millis(20);

/// The thread; none in a crawl that is whole, or with nothing to take in.
pub(super) struct Taker(Option<Follower>);

impl Taker {
    /// Starts it where there is something to take in.
    ///
    /// # Errors
    /// A thread that cannot be started.
    pub fn start(node: &Arc<Node>) -> io::Result<Self> {
        let Some(share) = node.crawl.share.clone() else { return Ok(Self(None)) };
        let (of_thread, until_its_end) = (node.clone(), Readmitting::begin(node));
        let work = move |ending: &Ending| {
            work(&of_thread, &share, ending);
            drop(until_its_end);
        };
        Ok(Self(Some(Follower::start("taker", work)?)))
    }

    /// Ends it; what is left is another run's.
    pub fn finish(self) {
        if let Some(thread) = self.0 {
            thread.tell(Last::Now);
            thread.join();
        }
    }
}

fn work(node: &Node, share: &Share, ending: &Ending) {
    let mut taken = 0;
    while ending.told().is_none() {
        let rest = match lived(|| all(node, share, ending, &mut taken)) {
            Ok(Ok(())) => break,
            Ok(Err(e)) => e.to_string(),
            Err(panic) => panic,
        };
        log::warn!("links of other members wait: again_in_s={} error={rest}", REST.as_secs());
        ending.wait(REST);
    }
    if taken > 0 {
        log::info!("links of other members were taken in: links={taken}");
    }
}

/// Takes in every row that is addressed to this member.
fn all(node: &Node, share: &Share, ending: &Ending, taken: &mut u64) -> Result<(), StorageError> {
    let mut from = Vec::new();
    while let Some((key, row)) = next_to(&*node.storage, share, &from)? {
        if ending.told().is_some() {
            return Ok(());
        }
        if node.disk.holds() {
            ending.wait(LOOK);
            continue;
        }
        if hand_in(node, ending, key, &row) {
            *taken += row.links;
            from = after(&key.encode());
        } else {
            ending.wait(AGAIN);
        }
    }
    Ok(())
}

/// The first row from a key on that is addressed to this member.
pub(super) fn next_to(
    storage: &dyn Storage,
    share: &Share,
    from: &[u8],
) -> Result<Option<(RowKey, OutboxRow)>, StorageError> {
    let mut range = KeyRange { from: from.to_vec(), until: Vec::new() };
    loop {
        let Some((key, row)) = read::scan::<Outbox>(storage, &range, 1)?.pop() else { return Ok(None) };
        if share.is_me(key.to) {
            return Ok(Some((key, row)));
        }
        // Behind all that there is for that one.
        range.from = after(&RowKey { number: u64::MAX, ..key }.encode());
    }
}

/// Waits until a row is committed; false when it was lost or the run is over.
fn hand_in(node: &Node, ending: &Ending, key: RowKey, row: &OutboxRow) -> bool {
    let handed = row.unpack().unwrap_or_else(|e| {
        log::error!(
            "a row of links of another member cannot be read and is left out: from={} number={} error={e}",
            key.from.0,
            key.number
        );
        Default::default()
    });
    let (tell, told) = mpsc::channel();
    let reply: Box<dyn FnOnce() + Send> = Box::new(move || _ = tell.send(()));
    node.mailboxes().deduper.tell(TakeIn { row: key, handed, reply });
    committed(&told, ending)
}
