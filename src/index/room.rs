//! Room for documents on their way into the index, by bytes.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use crate::base::sync::lock;

/// Bytes that documents on their way may take.
#[derive(Debug)]
pub(super) struct Room {
    free: Mutex<usize>,
    more: Condvar,
    all: usize,
}

/// Bytes taken; given back by Drop.
#[derive(Debug)]
pub(super) struct Taken(Arc<Room>, usize);

impl Room {
    pub fn new(all: usize) -> Arc<Self> {
        Arc::new(Self { free: Mutex::new(all), more: Condvar::new(), all })
    }

    /// Waits until there are so many. What is larger than the room has it alone.
    pub fn take(self: &Arc<Self>, bytes: usize) -> Taken {
        let bytes = bytes.min(self.all);
        let mut free = lock(&self.free);
        while *free < bytes {
            free = self.more.wait(free).unwrap_or_else(PoisonError::into_inner);
        }
        *free -= bytes;
        Taken(self.clone(), bytes)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        *lock(&self.0.free) += self.1;
        self.0.more.notify_one();
    }
}
