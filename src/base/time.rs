//! Wall time as the domain sees it: milliseconds since 1970, always handed in, never read.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Milliseconds since the Unix epoch. Arithmetic saturates; there is no magic value for "never".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UnixMillis(pub u64);

impl UnixMillis {
    /// This moment and `d` later.
    #[must_use]
    pub fn plus(self, d: Duration) -> Self {
        Self(self.0.saturating_add(millis(d)))
    }

    /// How long from `earlier` to this moment; zero when `earlier` lies after it.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

/// What a machine has counted since it booted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SinceBoot {
    /// Which boot of which machine.
    pub boot: u64,
    /// Milliseconds since then.
    pub ms: u64,
}

impl SinceBoot {
    /// Milliseconds from `earlier` to this moment; none when that was in another boot, or has to have been.
    pub fn after(self, earlier: Self) -> Option<u64> {
        self.ms.checked_sub(earlier.ms).filter(|_| self.boot == earlier.boot)
    }
}

/// A duration in whole milliseconds, rounded up, so that a wait is never cut short.
pub fn millis(d: Duration) -> u64 {
    u64::try_from(d.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_rounded_up_to_the_next_millisecond() {
        assert_eq!(millis(Duration::from_nanos(1)), 1);
        assert_eq!(UnixMillis(10).plus(Duration::from_micros(1500)), UnixMillis(12));
    }

    #[test]
    fn time_saturates_at_both_ends() {
        assert_eq!(UnixMillis(u64::MAX).plus(Duration::from_secs(1)), UnixMillis(u64::MAX));
        assert_eq!(UnixMillis(1).since(UnixMillis(5)), Duration::ZERO);
    }
}
