//! Room for links between a parser and their commit: whatever pages hold, and however many come at a time, no more links than this
//! wait in memory. A parser thread that finds no room waits; its pages wait as documents, on disk where they are large.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Links that wait for their commit at a time, some 300 bytes each; a page with more has all the room for itself.
const ROOM: usize = 250_000;
/// Nobody waits longer: the room is a brake, and a Store that stands still is seen by others.
const PATIENCE: Duration = Duration::from_secs(30);

/// The room.
#[derive(Debug)]
pub struct LinkRoom {
    free: Mutex<usize>,
    freed: Condvar,
}

/// Places in the room. Dropping them gives them back.
#[derive(Debug)]
pub struct LinkPlaces {
    room: Arc<LinkRoom>,
    places: usize,
}

impl Default for LinkRoom {
    fn default() -> Self {
        Self { free: Mutex::new(ROOM), freed: Condvar::new() }
    }
}

impl LinkRoom {
    /// Places for so many links; waits until they are free.
    #[must_use]
    pub fn take(self: &Arc<Self>, links: usize) -> LinkPlaces {
        let wanted = links.min(ROOM);
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.freed.wait_timeout_while(free, PATIENCE, |free| *free < wanted);
        let (mut free, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let places = wanted.min(*free);
        *free -= places;
        LinkPlaces { room: self.clone(), places }
    }
}

impl Drop for LinkPlaces {
    fn drop(&mut self) {
        *self.room.free.lock().unwrap_or_else(PoisonError::into_inner) += self.places;
        self.room.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_finds_no_room_waits_until_others_are_done() {
        let room = Arc::new(LinkRoom::default());
        let (many, few) = (room.take(ROOM - 1), room.take(1));
        let (told, heard) = std::sync::mpsc::channel();
        let other = std::thread::spawn({
            let room = room.clone();
            move || {
                let places = room.take(10 * ROOM).places;
                told.send(places).unwrap();
            }
        });
        drop(few);
        assert!(heard.try_recv().is_err());
        drop(many);
        assert_eq!(heard.recv().unwrap(), ROOM);
        other.join().unwrap();
        assert_eq!(room.take(0).places, 0);
    }
}
