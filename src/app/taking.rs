//! The thread that takes in what other members of the crawl have found: it reads their rows, which lie in the folder, and hands them to the
//! Deduper one after the other. A crawl that is to end by itself does not before that is done. Rows of a crawl that was taken apart by hand
//! are there from the beginning; with an engine they come at any time.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, mpsc};
use std::time::Duration;

use super::follow::{Ending, Follower, Last, committed, lived};
use crate::base::sync::lock;
use crate::crawl::deduper::TakeIn;
use crate::crawl::live::Readmitting;
use crate::crawl::node::Node;
use crate::domain::partition::Partition;
use crate::domain::url::PageUrl;
use crate::storage::keys::{Key, KeyRange, RowKey, after};
use crate::storage::share::Share;
use crate::storage::tables::Outbox;
use crate::storage::values::{HandedLink, HandedLinks, OutboxRow};
use crate::storage::{Storage, StorageError, read};

/// How often it looks whether it is to end.
const LOOK: Duration = Duration::from_millis(100);
/// Rest after a failure, and before a row whose commit was lost is handed in again.
const REST: Duration = Duration::from_secs(1);
const AGAIN: Duration = Duration::from_millis(20);

/// What waits to be taken in, and who is told of more: in a crawl with an engine rows come at any time.
#[derive(Default)]
pub(super) struct Inbox {
    bytes: AtomicU64,
    told: Mutex<u64>,
    changed: Condvar,
}

impl Inbox {
    /// Bytes of rows that wait.
    #[cfg(feature = "cluster")]
    pub fn waiting(&self) -> u64 {
        self.bytes.load(Ordering::Acquire)
    }

    /// Rows came.
    #[cfg(feature = "cluster")]
    pub fn came(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::AcqRel);
        *lock(&self.told) += 1;
        self.changed.notify_all();
    }

    fn taken(&self, bytes: u64) {
        let _ = self.bytes.fetch_update(Ordering::AcqRel, Ordering::Acquire, |all| Some(all.saturating_sub(bytes)));
    }

    /// Waits until rows come, for so long at most. `told`: how often it was told so far.
    fn wait(&self, told: &mut u64, long: Duration) {
        let now = self.changed.wait_timeout_while(lock(&self.told), long, |now| *now == *told);
        *told = *now.unwrap_or_else(PoisonError::into_inner).0;
    }
}

/// The thread; none in a crawl that is whole, or with nothing to take in.
pub(super) struct Taker {
    thread: Option<Follower>,
    #[cfg(feature = "cluster")]
    inbox: Arc<Inbox>,
}

impl Taker {
    /// Starts it where there is something to take in, or something may come.
    ///
    /// # Errors
    /// A thread that cannot be started.
    pub fn start(node: &Arc<Node>) -> io::Result<Self> {
        let inbox = Arc::<Inbox>::default();
        let Some(share) = node.crawl.share.clone() else { return Ok(Self::of(None, inbox)) };
        let (of_thread, told) = (node.clone(), inbox.clone());
        let until_its_end = share.by_hand.then(|| Readmitting::begin(node));
        let work = move |ending: &Ending| {
            work(&of_thread, (&share, &told), ending);
            drop(until_its_end);
        };
        Ok(Self::of(Some(Follower::start("taker", work)?), inbox))
    }

    fn of(thread: Option<Follower>, inbox: Arc<Inbox>) -> Self {
        #[cfg(not(feature = "cluster"))]
        drop(inbox);
        Self {
            thread,
            #[cfg(feature = "cluster")]
            inbox,
        }
    }

    /// Who is told of rows that come.
    #[cfg(feature = "cluster")]
    pub fn inbox(&self) -> &Arc<Inbox> {
        &self.inbox
    }

    /// Ends it; what is left is another run's.
    pub fn finish(self) {
        if let Some(thread) = self.thread {
            thread.tell(Last::Now);
            thread.join();
        }
    }
}

fn work(node: &Arc<Node>, (share, inbox): (&Share, &Inbox), ending: &Ending) {
    let (mut taken, mut told) = (0, 0);
    while ending.told().is_none() {
        let rest = match lived(|| all(node, (share, inbox), ending, &mut taken)) {
            Ok(Ok(())) if share.by_hand => break,
            Ok(Ok(())) => {
                inbox.wait(&mut told, LOOK);
                continue;
            }
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
fn all(
    node: &Arc<Node>,
    (share, inbox): (&Share, &Inbox),
    ending: &Ending,
    taken: &mut u64,
) -> Result<(), StorageError> {
    let (mut from, mut busy) = (Vec::new(), None);
    while let Some((key, row)) = next_to(&*node.storage, share, &from)? {
        if ending.told().is_some() {
            return Ok(());
        }
        if node.disk.holds() {
            ending.wait(LOOK);
            continue;
        }
        busy.get_or_insert_with(|| Readmitting::begin(node));
        let Some(handed) = ready(share, key, &row) else {
            from = after(&RowKey { number: u64::MAX, ..key }.encode()); // and those behind it
            continue;
        };
        if hand_in(node, ending, key, handed) {
            *taken += row.links;
            inbox.taken(row.packed.len() as u64);
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

/// What is in a row; none while a link of it is to a partition that is on its way to this member.
fn ready(share: &Share, key: RowKey, row: &OutboxRow) -> Option<HandedLinks> {
    let handed = row.unpack().unwrap_or_else(|e| {
        log::error!(
            "a row of links of another member cannot be read and is left out: from={} number={} error={e}",
            key.from.0,
            key.number
        );
        Default::default()
    });
    let waits = |link: &HandedLink| {
        PageUrl::from_canonical(&link.url).is_ok_and(|url| share.is_coming(Partition::of_host(url.host())))
    };
    if share.by_hand || !handed.links.iter().any(waits) { Some(handed) } else { None }
}

/// Waits until a row is committed; false when it was lost or the run is over.
fn hand_in(node: &Node, ending: &Ending, key: RowKey, handed: HandedLinks) -> bool {
    let (tell, told) = mpsc::channel();
    let reply: Box<dyn FnOnce() + Send> = Box::new(move || _ = tell.send(()));
    node.mailboxes().deduper.tell(TakeIn { row: key, handed, reply });
    committed(&told, ending)
}
