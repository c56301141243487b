//! Room for links between a parser and their commit: whatever pages hold, and however many come at a time, no more links than this
//! wait in memory. A parser thread that finds no room waits; its pages wait as documents, on disk where they are large.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::base::sync::lock;

/// Links that wait for their commit at a time, some 300 bytes each; a page with more has all the room for itself.
const ROOM: usize = 250_000;
/// Who waits looks up so often.
const LOOK: Duration = Duration::from_secs(1);

/// The room.
#[derive(Debug)]
pub struct LinkRoom {
    free: Mutex<usize>,
    freed: Condvar,
    waiting: AtomicUsize,
}

/// Places in the room. Dropping them gives them back.
#[derive(Debug)]
pub struct LinkPlaces {
    room: Arc<LinkRoom>,
    places: usize,
}

impl Default for LinkRoom {
    fn default() -> Self {
        Self { free: Mutex::new(ROOM), freed: Condvar::new(), waiting: AtomicUsize::new(0) }
    }
}

impl LinkRoom {
    /// Places for so many links. Waits until they are free, as long as `waits` says, which is asked each second.
    #[must_use]
    pub fn take(self: &Arc<Self>, links: usize, waits: impl Fn() -> bool) -> LinkPlaces {
        let wanted = links.min(ROOM);
        let mut free = lock(&self.free);
        self.waiting.fetch_add(1, Ordering::Relaxed);
        while *free < wanted && waits() {
            let waited = self.freed.wait_timeout_while(free, LOOK, |free| *free < wanted);
            (free, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        let places = wanted.min(*free);
        *free -= places;
        LinkPlaces { room: self.clone(), places }
    }

    /// True while somebody waits.
    pub fn is_short(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }
}

impl Drop for LinkPlaces {
    fn drop(&mut self) {
        *lock(&self.room.free) += self.places;
        self.room.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_finds_no_room_waits_until_others_are_done() {
        let room = Arc::new(LinkRoom::default());
        let (many, few) = (room.take(ROOM - 1, || true), room.take(1, || true));
        let (told, heard) = std::sync::mpsc::channel();
        let other = std::thread::spawn({
            let room = room.clone();
            move || {
                let places = room.take(10 * ROOM, || true).places;
                told.send(places).unwrap();
            }
        });
        drop(few);
        assert!(heard.try_recv().is_err());
        drop(many);
        assert_eq!(heard.recv().unwrap(), ROOM);
        other.join().unwrap();
        assert_eq!(room.take(0, || true).places, 0);
    }

    #[test]
    fn nobody_waits_for_what_ends() {
        let room = Arc::new(LinkRoom::default());
        let _many = room.take(ROOM - 5, || true);
        assert_eq!(room.take(10, || false).places, 5);
    }
}
