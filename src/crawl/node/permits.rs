//! Bounds of what is in hand, and how far fetching may run ahead of what is committed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use crate::config::FetchSection;
use crate::crawl::link_room::LinkRoom;
use crate::crawl::store::room;
use crate::document::SpillBudget;
use crate::domain::memory::MemoryPlan;

/// Pages in hand for each parser thread that the window has always room for, those from which on it grows no more, and those from which
/// on it shrinks.
const EACH: usize = 24;
const BUSY: usize = 8;
const CROWDED: usize = 16;

/// Bounds of what is in hand.
pub struct Permits {
    /// Pages from fetch to commit.
    pub pages: Arc<Semaphore>,
    /// How many page permits there are.
    pub pages_total: usize,
    /// How many of them are withheld because memory is short.
    pub withheld: AtomicUsize,
    /// Requests on the wire.
    pub fetches: Arc<Semaphore>,
    requests: usize,
    window: Arc<Window>,
    /// Pages being parsed now.
    pub parsing: AtomicU64,
    /// Room for links that wait for their commit.
    pub links: Arc<LinkRoom>,
    /// Room before the Store, for what the Deduper sends.
    pub store_room: Arc<Semaphore>,
    /// The room for temporary files of bodies.
    pub spill: SpillBudget,
    /// The room in memory that large bodies share.
    pub bodies: SpillBudget,
    /// Who gets how much memory.
    pub memory: MemoryPlan,
}

/// A page from fetch to commit. Dropped with the message that carries it.
#[derive(Debug)]
pub struct PagePermit {
    place: Option<OwnedSemaphorePermit>,
    window: Arc<Window>,
}

impl Drop for PagePermit {
    fn drop(&mut self) {
        drop(self.place.take()); // whoever is told must find the place free
        self.window.leave();
    }
}

impl Permits {
    /// For so many requests at a time, so much of their bodies in memory and on disk, so many parser threads, and this share-out of memory.
    pub fn new(fetch: &FetchSection, parsers: usize, memory: MemoryPlan) -> Self {
        let requests = fetch.concurrency;
        let pages_total = requests.saturating_mul(2).max(4);
        Self {
            pages: Arc::new(Semaphore::new(pages_total)),
            pages_total,
            withheld: AtomicUsize::new(0),
            fetches: Arc::new(Semaphore::new(requests)),
            requests,
            window: Arc::new(Window::new(parsers, pages_total)),
            parsing: AtomicU64::new(0),
            links: Arc::default(),
            store_room: room(),
            spill: SpillBudget::new(fetch.max_spill),
            bodies: SpillBudget::new(fetch.body_memory),
            memory,
        }
    }

    /// A place for a page that needs no request, whatever the window; none when the node ends.
    pub async fn page(&self) -> Option<PagePermit> {
        self.window.held.fetch_add(1, Ordering::AcqRel);
        self.placed().await
    }

    /// What a request needs: room in the window, a page permit, then a place on the wire, always in this order.
    pub async fn request(&self) -> Option<(PagePermit, OwnedSemaphorePermit)> {
        while !self.window.enter() {
            self.window.freed.notified().await;
        }
        if self.window.room() > 0 {
            self.window.freed.notify_one(); // one word may stand for several places
        }
        let page = self.placed().await?;
        let wire = self.fetches.clone().acquire_owned().await.ok()?;
        Some((page, wire))
    }

    /// How many requests more may go out now.
    pub fn free(&self) -> usize {
        self.pages.available_permits().min(self.window.room())
    }

    /// A request has its answer, and has left the wire.
    pub fn answered(&self) {
        let on_wire = self.requests.saturating_sub(self.fetches.available_permits());
        let held = self.window.held.load(Ordering::Acquire);
        self.window.answered(held.saturating_sub(on_wire));
    }

    /// Whether more pages wait for the parsers than keep them at work.
    pub fn pages_wait(&self) -> bool {
        let on_wire = self.requests.saturating_sub(self.fetches.available_permits());
        let held = self.window.held.load(Ordering::Acquire);
        held.saturating_sub(on_wire) > self.window.parsers
    }

    /// The permit of a page that is in the window; dropped before it has its place, it leaves the window.
    async fn placed(&self) -> Option<PagePermit> {
        let mut page = PagePermit { place: None, window: self.window.clone() };
        page.place = Some(self.pages.clone().acquire_owned().await.ok()?);
        Some(page)
    }
}

/// How many pages may be on the wire and wait for their commit, together.
///
/// What is fetched and not committed takes memory, and is fetched again after a kill. So there is room for as much as keeps the parsers at
/// work, and for more only where the network needs it. How much that is shows as in TCP's congestion avoidance (RFC 5681): an
/// answer that finds the parsers with little left widens the window by one, an answer that finds many pages waiting narrows it by one.
#[derive(Debug)]
struct Window {
    parsers: usize,
    most: usize,
    width: AtomicUsize,
    held: AtomicUsize,
    /// A page left, or the window grew.
    freed: Notify,
}

impl Window {
    fn new(parsers: usize, most: usize) -> Self {
        let parsers = parsers.max(1);
        let width = AtomicUsize::new(parsers.saturating_mul(EACH).min(most));
        Self { parsers, most, width, held: AtomicUsize::new(0), freed: Notify::new() }
    }

    /// Takes a place, if there is one.
    fn enter(&self) -> bool {
        let width = self.width.load(Ordering::Acquire);
        let taken = |held: usize| (held < width).then_some(held + 1);
        self.held.fetch_update(Ordering::AcqRel, Ordering::Acquire, taken).is_ok()
    }

    fn room(&self) -> usize {
        self.width.load(Ordering::Acquire).saturating_sub(self.held.load(Ordering::Acquire))
    }

    fn leave(&self) {
        self.held.fetch_sub(1, Ordering::AcqRel);
        self.freed.notify_one();
    }

    /// An answer came and found so many pages waiting.
    fn answered(&self, waiting: usize) {
        let least = self.parsers.saturating_mul(EACH).min(self.most);
        let next = |width: usize| match waiting {
            n if n <= self.parsers * BUSY => Some((width + 1).min(self.most)),
            n if n > self.parsers * CROWDED => Some(width.saturating_sub(1).max(least)),
            _ => None,
        };
        let _ = self.width.fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
        if waiting <= self.parsers * BUSY {
            self.freed.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many requests go out at a time where there is room, are answered together, and so many pages are committed before the next
    /// go out: the most that were in hand, and the width at the end.
    fn after(rounds: usize, requests: usize, committed: usize) -> (usize, usize) {
        let window = Window::new(2, 400);
        let (mut waiting, mut most) = (0, 0);
        for _ in 0..rounds {
            let sent = (0..requests).take_while(|_| window.enter()).count();
            for _ in 0..sent {
                waiting += 1;
                window.answered(waiting);
            }
            most = most.max(waiting);
            let done = waiting.min(committed);
            (0..done).for_each(|_| window.leave());
            waiting -= done;
        }
        (most, window.width.load(Ordering::Acquire))
    }

    #[test]
    fn a_network_that_is_quicker_than_the_parsers_fills_no_more_than_keeps_them_at_work() {
        for committed in [1, 2, 5] {
            let (most, width) = after(10_000, 200, committed);
            assert!(most <= 64 && width == 2 * EACH, "{committed}: {most} {width}");
        }
    }

    #[test]
    fn a_slow_network_gets_all_the_requests_that_it_can_carry() {
        let window = Window::new(2, 400);
        for _ in 0..1_000 {
            window.answered(1); // each page is parsed before the next comes
        }
        assert_eq!((0..1_000).take_while(|_| window.enter()).count(), 400);
    }

    #[test]
    fn a_window_that_grew_on_a_slow_network_shrinks_when_pages_begin_to_wait() {
        let window = Window::new(1, 400);
        for waiting in [0, CROWDED + 1] {
            (0..1_000).for_each(|_| window.answered(waiting));
        }
        assert_eq!((0..1_000).take_while(|_| window.enter()).count(), EACH);
    }

    #[actix_rt::test]
    async fn who_waits_for_room_is_told_when_a_page_is_committed() {
        let permits =
            Arc::new(Permits::new(&FetchSection::default(), 1, MemoryPlan { max: 1 << 30, database: 0, filter: 0 }));
        let mut held = Vec::new();
        while permits.free() > 0 {
            held.push(permits.request().await.unwrap().0);
        }
        assert_eq!(held.len(), EACH);
        let waiter = actix_rt::spawn({
            let permits = permits.clone();
            async move { permits.request().await.is_some() }
        });
        tokio::task::yield_now().await;
        assert!(!waiter.is_finished());
        held.pop();
        assert!(waiter.await.unwrap());
    }
}
