//! Locks.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A lock whose holder may have panicked: the data are still the best there is.
pub fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}
