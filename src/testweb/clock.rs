//! The clock of the audit log: wall-clock microseconds that never run backwards.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Wall time at the start plus time passed since.
#[derive(Debug, Clone, Copy)]
pub(super) struct AuditClock {
    wall_us: u64,
    start: Instant,
}

impl AuditClock {
    pub(super) fn new() -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { wall_us: u64::try_from(wall.as_micros()).unwrap_or(u64::MAX), start: Instant::now() }
    }

    pub(super) fn now_us(&self) -> u64 {
        let passed = u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.wall_us.saturating_add(passed)
    }
}
