//! What a page costs the processor, and how long its host waits for it: a few bytes that make much work (bombs of compression, markup
//! built to be slow) must not take the time of other hosts.

use std::time::Duration;

/// No page is too dear for so much.
const ALLOWANCE: Duration = Duration::from_millis(20);

/// Bytes received that are worth a second of the processor: parsing markup alone needs a tenth of that.
const BYTES_A_SECOND: f64 = 2_000_000.0;

/// The host waits so many times what is above: it has a fiftieth of one processor at most.
const TIMES: u32 = 50;

/// How long a host waits for a page that took the processor so long, of so many bytes received; zero for what is usual. The caller
/// bounds it.
pub fn wait_for_work(took: Duration, bytes: u64) -> Duration {
    let worth = Duration::try_from_secs_f64(bytes as f64 / BYTES_A_SECOND).unwrap_or(Duration::MAX);
    took.saturating_sub(ALLOWANCE).saturating_sub(worth).saturating_mul(TIMES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_work_that_the_bytes_are_not_worth_is_waited_for() {
        for (took, bytes, wait) in [
            (5, 500, 0),
            (20, 0, 0),
            (120, 0, 5_000),
            (120, 100_000, 2_500),
            (120, 200_000, 0),
            (2_000, 20_000_000, 0),
            (300, u64::MAX, 0),
        ] {
            assert_eq!(
                wait_for_work(Duration::from_millis(took), bytes),
                Duration::from_millis(wait),
                "{took} {bytes}"
            );
        }
        assert_eq!(wait_for_work(Duration::MAX, 0), Duration::MAX);
    }
}
