//! What happens in a crawl, for whoever listens: a bounded broadcast that never slows the crawl. While nobody listens
//! nothing is built; who is too slow is told how many events went by.

mod news;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio::sync::broadcast::{self, error::RecvError};

pub use news::{Event, EventKind, News, StateChange};

/// Events that a listener may lag behind.
const KEPT: usize = 1_024;
/// Listeners at a time.
pub const LISTENERS: usize = 16;

/// The events of one node.
#[derive(Debug)]
pub struct Events {
    to: broadcast::Sender<Arc<Event>>,
    last: AtomicU64,
    listening: Arc<AtomicUsize>,
    missed: Arc<AtomicU64>,
}

impl Default for Events {
    fn default() -> Self {
        let (last, listening, missed) = Default::default();
        Self { to: broadcast::Sender::new(KEPT), last, listening, missed }
    }
}

impl Events {
    /// Something happened at `now` (milliseconds since 1970). `news` is called only when somebody listens.
    pub fn tell(&self, now: u64, news: impl FnOnce() -> News) {
        let id = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        if self.listeners() > 0 {
            // Nobody there any more is no fault.
            let _ = self.to.send(Arc::new(Event { id, ts_ms: now, news: news() }));
        }
    }

    /// The number of the latest event, told or not.
    pub fn last(&self) -> u64 {
        self.last.load(Ordering::Relaxed)
    }

    /// How many listen.
    pub fn listeners(&self) -> usize {
        self.listening.load(Ordering::Relaxed)
    }

    /// Events that went by listeners that were too slow.
    pub fn missed(&self) -> u64 {
        self.missed.load(Ordering::Relaxed)
    }

    /// Listens from now on; `None` when [`LISTENERS`] do.
    pub fn listen(&self) -> Option<Listener> {
        let room = |n| (n < LISTENERS).then_some(n + 1);
        self.listening.fetch_update(Ordering::AcqRel, Ordering::Acquire, room).ok()?;
        let place = Place(self.listening.clone());
        Some(Listener { from: self.to.subscribe(), missed: self.missed.clone(), _place: place })
    }
}

/// A place among the listeners; free again by Drop.
#[derive(Debug)]
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// One who listens.
#[derive(Debug)]
pub struct Listener {
    from: broadcast::Receiver<Arc<Event>>,
    missed: Arc<AtomicU64>,
    _place: Place,
}

/// What a listener gets.
#[derive(Clone, Debug, PartialEq)]
pub enum Heard {
    /// An event.
    Event(Arc<Event>),
    /// It was too slow for so many.
    Missed(u64),
}

impl Listener {
    /// The next event, or how many went by before it; `None` when there will be no more. Nothing is lost when the future
    /// is dropped.
    pub async fn next(&mut self) -> Option<Heard> {
        match self.from.recv().await {
            Ok(event) => Some(Heard::Event(event)),
            Err(RecvError::Lagged(n)) => {
                self.missed.fetch_add(n, Ordering::Relaxed);
                Some(Heard::Missed(n))
            }
            Err(RecvError::Closed) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paused() -> News {
        News::state(StateChange::Paused, "by the operator".into())
    }

    fn hear(listener: &mut Listener) -> Option<Heard> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(listener.next())
    }

    #[test]
    fn nothing_is_built_while_nobody_listens() {
        let events = Events::default();
        events.tell(1, || panic!("built for nobody"));
        let mut listener = events.listen().unwrap();
        events.tell(2, paused);
        let Some(Heard::Event(event)) = hear(&mut listener) else { panic!("no event") };
        assert_eq!((event.id, event.ts_ms, event.news.clone()), (2, 2, paused()));
        drop(listener);
        events.tell(3, || panic!("built for nobody"));
        assert_eq!((events.last(), events.listeners()), (3, 0));
    }

    #[test]
    fn a_slow_listener_is_told_how_many_went_by_and_goes_on_with_the_rest() {
        let events = Events::default();
        let mut listener = events.listen().unwrap();
        let many = KEPT as u64 + 100;
        (1..=many).for_each(|n| events.tell(n, paused));
        assert_eq!(hear(&mut listener), Some(Heard::Missed(100)));
        assert!(matches!(hear(&mut listener), Some(Heard::Event(e)) if e.id == 101));
        assert_eq!(events.missed(), 100);
        drop(events);
        let rest = std::iter::from_fn(|| hear(&mut listener)).count();
        assert_eq!(rest, KEPT - 1);
    }

    #[test]
    fn only_so_many_may_listen_and_a_place_is_free_again_by_drop() {
        let events = Events::default();
        let all: Vec<_> = std::iter::from_fn(|| events.listen()).take(LISTENERS + 5).collect();
        assert_eq!(all.len(), LISTENERS);
        assert!(events.listen().is_none());
        drop(all);
        assert!(events.listen().is_some());
    }
}
