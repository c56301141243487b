//! A fence: until when requests may be sent. One that nobody has put up is never over, and costs a look at nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::clock::since_boot;

/// Until when requests may be sent, by a clock that counts while the machine sleeps and that nobody sets. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Fence(Option<Arc<AtomicU64>>);

impl Fence {
    /// One that is over until it is [moved](Self::set).
    pub fn new() -> Self {
        Self(Some(Arc::default()))
    }

    /// Requests may be sent until this moment since the machine booted.
    pub fn set(&self, until: Duration) {
        if let Some(cell) = &self.0 {
            cell.store(u64::try_from(until.as_millis()).unwrap_or(u64::MAX), Ordering::Release);
        }
    }

    /// How long they still may be; `None` without a fence.
    pub fn left(&self) -> Option<Duration> {
        let cell = self.0.as_ref()?;
        Some(Duration::from_millis(cell.load(Ordering::Acquire)).saturating_sub(since_boot()))
    }

    /// True when none may be sent.
    pub fn is_over(&self) -> bool {
        self.left().is_some_and(|left| left.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_fence_nothing_is_held_back() {
        let none = Fence::default();
        none.set(Duration::ZERO);
        assert_eq!((none.is_over(), none.left()), (false, None));
    }

    #[test]
    fn a_fence_is_over_until_it_is_moved_and_when_its_moment_has_come() {
        let fence = Fence::new();
        let twin = fence.clone();
        assert!(fence.is_over());
        fence.set(since_boot() + Duration::from_secs(3_600));
        assert!(!twin.is_over() && twin.left() > Some(Duration::from_secs(3_500)));
        fence.set(since_boot());
        assert!(twin.is_over());
    }
}
