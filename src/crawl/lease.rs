//! Leases: a URL handed out for fetching stays in the queue on disk until its page is committed.
//!
//! A lease ends by commit or by Drop, never by a clock. The table of leases lives outside every actor, so that no death
//! loses one: an entry's own state says how it ended, and a new Frontier sweeps what the old one was not told.
//!
//! While an actor works on a page, the lease says so ([`Stage`]). One that comes back like that ended the actor that had it
//! in hands, and a page that does so again and again is poison: it is given up before it spends the actor's restart budget.

use std::pin::pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;

use super::link_room::LinkPlaces;
use crate::base::sync::lock;
use crate::domain::fingerprint::{KeyMap, UrlKey};
use crate::domain::url::PageUrl;
use crate::storage::keys::QueueKey;
use crate::storage::values::QueueEntry;

/// How a lease stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum LeaseState {
    /// Somebody holds it.
    Live = 0,
    /// Dropped without a commit: the URL is to be taken up again.
    Returned = 1,
    /// Its page is committed: the queue entry is gone.
    Committed = 2,
}

/// An actor that has a page in hands: it would be this page that ends it now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Stage {
    /// A Host's lane, up to the hand-over to the Fetcher.
    Host = 1,
    /// The task of its request.
    Fetcher = 2,
    /// A parser thread.
    Parser = 4,
    /// The Deduper, up to its commit.
    Deduper = 8,
    /// The Store, while it is applied to a batch.
    Store = 16,
}

/// What the table and the holder share.
#[derive(Debug)]
pub struct LeaseCore {
    /// Where it stood in the queue when it was leased.
    pub queue_key: QueueKey,
    /// The URL's key.
    pub url_key: UrlKey,
    state: AtomicU8,
    hands: AtomicU8,
}

impl LeaseCore {
    /// How it stands now.
    pub fn state(&self) -> LeaseState {
        match self.state.load(Ordering::Acquire) {
            0 => LeaseState::Live,
            1 => LeaseState::Returned,
            _ => LeaseState::Committed,
        }
    }

    /// A room takes the page in hands, and may die of it.
    pub fn take(&self, hands: Stage) {
        self.hands.fetch_or(hands as u8, Ordering::AcqRel);
    }

    /// The room is done with it: if the page is lost now, that is not the page's fault.
    pub fn let_go(&self, hands: Stage) {
        self.hands.fetch_and(!(hands as u8), Ordering::AcqRel);
    }

    /// True when a room has it in hands: a return then makes the page suspect.
    pub fn in_hands(&self) -> bool {
        self.hands.load(Ordering::Acquire) != 0
    }

    /// Awaits work on the page. It is in hands only while that runs, not while it waits: what is dropped while it waits died
    /// of something else.
    pub async fn held<T>(&self, hands: Stage, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        std::future::poll_fn(|cx| -> Poll<T> {
            self.take(hands);
            let polled = work.as_mut().poll(cx); // a panic leaves it in hands
            self.let_go(hands);
            polled
        })
        .await
    }
}

/// Told when a lease was dropped without a commit; the Frontier's mailbox in the running node.
pub type LeaseEnd = Arc<dyn Fn(&Arc<LeaseCore>) + Send + Sync>;

/// A URL in somebody's hands. Dropping it gives the URL back.
pub struct Lease {
    core: Arc<LeaseCore>,
    /// The queue entry as stored.
    pub entry: QueueEntry,
    /// The URL itself.
    pub url: PageUrl,
    /// Room for the links of its page, until they are committed.
    pub room: Option<LinkPlaces>,
    end: LeaseEnd,
}

impl Lease {
    /// The shared part.
    pub fn core(&self) -> &Arc<LeaseCore> {
        &self.core
    }

    /// The seed that what is found here goes back to.
    pub fn origin(&self) -> Arc<str> {
        Arc::from(self.entry.origin.as_deref().unwrap_or(self.url.as_str()))
    }

    /// Ends it as committed. Only the Store calls this, after its write is visible.
    pub fn committed(self) {
        self.core.state.store(LeaseState::Committed as u8, Ordering::Release);
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let live = LeaseState::Live as u8;
        let returned = LeaseState::Returned as u8;
        if self.core.state.compare_exchange(live, returned, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            (self.end)(&self.core);
        }
    }
}

impl std::fmt::Debug for Lease {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Lease({})", self.url)
    }
}

/// Returns out of a room's hands after which a page is taken for poison.
pub const POISON_AFTER: u8 = 3;

#[derive(Default)]
struct Inner {
    leases: KeyMap<UrlKey, Arc<LeaseCore>>,
    /// Returns of pages that ended the room that had them in hands; an entry goes with its commit.
    suspects: KeyMap<UrlKey, u8>,
}

/// Every lease that may be live. Entries are made and removed by the Frontier's thread alone.
#[derive(Default)]
pub struct LeaseTable(Mutex<Inner>);

impl LeaseTable {
    /// True when `url` is leased (also when its end is not yet swept).
    pub fn contains(&self, url: &UrlKey) -> bool {
        lock(&self.0).leases.contains_key(url)
    }

    /// Leases in the table.
    pub fn len(&self) -> usize {
        lock(&self.0).leases.len()
    }

    /// True when nothing is leased.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Leases an entry; `None` when its URL is leased already.
    pub fn lease(
        &self,
        queue_key: QueueKey,
        url_key: UrlKey,
        url: PageUrl,
        entry: QueueEntry,
        end: &LeaseEnd,
    ) -> Option<Lease> {
        let core = Arc::new(LeaseCore {
            queue_key,
            url_key,
            state: AtomicU8::new(LeaseState::Live as u8),
            hands: AtomicU8::new(0),
        });
        let mut inner = lock(&self.0);
        if inner.leases.contains_key(&url_key) {
            return None;
        }
        inner.leases.insert(url_key, core.clone());
        Some(Lease { core, entry, url, room: None, end: end.clone() })
    }

    /// Removes an ended lease. A suspect that was committed is cleared, one that came back out of hands is counted.
    ///
    /// False when it was removed before: news of an end may come after a sweep, and its URL may be leased anew by then.
    pub fn end(&self, core: &LeaseCore) -> bool {
        let mut inner = lock(&self.0);
        if !inner.leases.get(&core.url_key).is_some_and(|held| std::ptr::eq(Arc::as_ptr(held), core)) {
            return false;
        }
        inner.leases.remove(&core.url_key);
        match core.state() {
            LeaseState::Committed => {
                inner.suspects.remove(&core.url_key);
            }
            LeaseState::Returned if core.in_hands() => {
                let n = inner.suspects.entry(core.url_key).or_insert(0);
                *n = n.saturating_add(1);
            }
            _ => {}
        }
        true
    }

    /// True when `url` ended rooms [`POISON_AFTER`] times.
    pub fn is_poison(&self, url: &UrlKey) -> bool {
        lock(&self.0).suspects.get(url).is_some_and(|n| *n >= POISON_AFTER)
    }

    /// Every lease that ended without the Frontier having been told.
    pub fn ended(&self) -> Vec<Arc<LeaseCore>> {
        lock(&self.0).leases.values().filter(|c| c.state() != LeaseState::Live).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::base::time::UnixMillis;
    use crate::domain::fingerprint::{CrawlId, HostKey};
    use crate::domain::partition::Partition;
    use crate::domain::url::Scheme;
    use crate::storage::keys::HostAt;

    type Told = Arc<Mutex<Vec<Arc<LeaseCore>>>>;

    fn lease(table: &LeaseTable, told: &Told) -> Option<Lease> {
        let host = HostAt { partition: Partition(1), host: HostKey([2; 8]) };
        let url = PageUrl::from_parts(Scheme::Http, "h0.test", 80, "/").unwrap();
        let entry = QueueEntry { seed: true, ..QueueEntry::new(&url, 0, UnixMillis(1)) };
        let told = told.clone();
        let end: LeaseEnd = Arc::new(move |core| lock(&told).push(core.clone()));
        table.lease(host.crawl(CrawlId(1)).queue(0, 7), UrlKey([3; 12]), url, entry, &end)
    }

    #[test]
    fn a_url_is_leased_once_until_its_end_is_swept() {
        let (table, told) = (LeaseTable::default(), Told::default());
        let first = lease(&table, &told).unwrap();
        assert!(lease(&table, &told).is_none());
        drop(first);
        assert!(lease(&table, &told).is_none(), "dropped, but its end is not swept yet");
        let core = lock(&told)[0].clone();
        assert_eq!(core.state(), LeaseState::Returned);
        assert!(table.end(&core));
        lease(&table, &told).unwrap().committed();
        assert_eq!(table.ended().len(), 1);
        assert_eq!(lock(&told).len(), 1, "a committed lease is not returned");
    }

    #[test]
    fn late_news_of_an_old_lease_does_not_end_the_new_one_of_the_same_url() {
        let (table, told) = (LeaseTable::default(), Told::default());
        drop(lease(&table, &told));
        let old = table.ended().pop().unwrap();
        assert!(table.end(&old)); // a sweep
        let new = lease(&table, &told).unwrap();
        assert!(!table.end(&old)); // the message that came late
        assert!(table.contains(&new.core().url_key), "I5: a URL in somebody's hands could be leased twice");
        assert!(lease(&table, &told).is_none());
    }

    #[test]
    fn only_pages_that_end_the_room_that_has_them_in_hands_become_poison() {
        let (table, told) = (LeaseTable::default(), Told::default());
        let key = UrlKey([3; 12]);
        let (parser, store) = (Stage::Parser, Stage::Store);
        for (hands, done) in
            [(parser, true), (store, true), (parser, true), (parser, false), (store, false), (parser, false)]
        {
            assert!(!table.is_poison(&key));
            let held = lease(&table, &told).unwrap();
            held.core().take(hands);
            if done {
                held.core().let_go(hands); // then its commit is lost
            }
            drop(held);
            table.ended().iter().for_each(|core| assert!(table.end(core)));
        }
        assert!(table.is_poison(&key));
    }

    #[test]
    fn work_that_waits_does_not_have_its_page_in_hands_and_work_that_panics_has() {
        let (table, told) = (LeaseTable::default(), Told::default());
        let held = lease(&table, &told).unwrap();
        let core = held.core().clone();
        let mut work = Box::pin(core.held(Stage::Host, async {
            assert!(core.in_hands());
            std::future::pending::<()>().await;
        }));
        assert!(work.as_mut().now_or_never().is_none());
        assert!(!core.in_hands());
        let mut work = Box::pin(core.held(Stage::Host, async { panic!("of this page") }));
        let died = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work.as_mut().now_or_never()));
        assert!(died.is_err() && core.in_hands());
    }
}
