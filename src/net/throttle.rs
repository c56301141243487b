//! The bandwidth that all fetches of a node share (`fetch.max_bandwidth`): who has received bytes waits until they are paid
//! for, and TCP makes the server wait meanwhile.

use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use crate::base::sync::lock;

/// Time that was not used is kept so long: a sleep that lasts a little longer than asked for costs nothing.
const CREDIT: Duration = Duration::from_millis(50);

/// Bytes that a throttled connection takes at a time: nobody gets far ahead of what is paid for.
pub const PIECE: usize = 16 * 1024;

/// No single piece costs more.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// A budget of bytes a second.
#[derive(Debug)]
pub struct Throttle {
    rate: u64,
    /// Until when everything that came is paid for.
    paid_until: Mutex<Option<Instant>>,
}

impl Throttle {
    /// So many bytes a second; at least one.
    pub fn new(rate: u64) -> Self {
        Self { rate: rate.max(1), paid_until: Mutex::default() }
    }

    /// How long whoever has received `bytes` must wait, at this moment.
    pub fn charge(&self, now: Instant, bytes: u64) -> Duration {
        let mut paid = lock(&self.paid_until);
        let earliest = now.checked_sub(CREDIT).unwrap_or(now);
        let from = paid.map_or(earliest, |until| until.max(earliest));
        let price = Duration::try_from_secs_f64(bytes as f64 / self.rate as f64).unwrap_or(LONGEST).min(LONGEST);
        let until = from.checked_add(price).unwrap_or(from);
        *paid = Some(until);
        until.saturating_duration_since(now)
    }

    /// Waits until `bytes` that came are paid for; tells how long it took.
    pub async fn pause(&self, bytes: u64) -> Duration {
        let now = Instant::now();
        let wait = self.charge(now, bytes);
        if wait.is_zero() {
            return Duration::ZERO;
        }
        tokio::time::sleep(wait).await;
        now.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn all_together_get_the_rate_and_no_more() {
        let (throttle, start) = (Throttle::new(1_000), Instant::now());
        let waits: Vec<Duration> = (0..10).map(|_| throttle.charge(start, 500)).collect();
        assert_eq!(waits[0] + CREDIT, SECOND / 2);
        assert_eq!(waits[9] + CREDIT, 5 * SECOND);
    }

    #[test]
    fn time_that_nobody_used_is_not_saved_up() {
        let (throttle, start) = (Throttle::new(1_000), Instant::now());
        throttle.charge(start, 1);
        let later = start + 100 * SECOND;
        assert_eq!(throttle.charge(later, 1_000) + CREDIT, SECOND);
    }

    #[test]
    fn no_number_of_bytes_is_too_many() {
        let throttle = Throttle::new(0);
        assert!(throttle.charge(Instant::now(), u64::MAX) > SECOND);
        let _ = throttle.charge(Instant::now(), u64::MAX);
    }
}
