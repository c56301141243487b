//! The settings a pace is kept by.

use std::time::Duration;

/// How long to wait between two requests to one host, and how trouble stretches that. Checked by the config room:
/// factors finite and not negative, maxima not below their minima; a bad factor counts as zero here.
#[derive(Clone, Debug, PartialEq)]
pub struct PaceRules {
    /// The least gap between the end of a response and the next request.
    pub min_delay: Duration,
    /// The gap is at least this many times what the last response took.
    pub delay_factor: f64,
    /// Most that `delay_factor` may ask for. It does not shorten `min_delay` or a Crawl-delay.
    pub max_delay: Duration,
    /// First wait after 429 or 503 without Retry-After; doubled each time.
    pub backoff_base: Duration,
    /// Most that back-off may ask for.
    pub backoff_max: Duration,
    /// So many 403, 429, 503 or challenge answers in a row pause the host; zero switches the brake off.
    pub waf_brake: u32,
    /// How long such a pause lasts.
    pub waf_pause: Duration,
}

impl Default for PaceRules {
    fn default() -> Self {
        Self {
            min_delay: Duration::from_secs(1),
            delay_factor: 5.0,
            max_delay: Duration::from_secs(30),
            backoff_base: Duration::from_secs(30),
            backoff_max: Duration::from_secs(3600),
            waf_brake: 20,
            waf_pause: Duration::from_secs(3600),
        }
    }
}

impl PaceRules {
    /// The same with another least gap, which also caps the multiple of the answer's time.
    pub fn with_min_delay(&self, delay: Duration) -> Self {
        Self { min_delay: delay, max_delay: delay, ..self.clone() }
    }

    /// The part of the gap that the last response's time asks for.
    pub(super) fn adaptive(&self, took: Duration) -> Duration {
        let seconds = took.as_secs_f64() * self.delay_factor;
        match Duration::try_from_secs_f64(seconds) {
            Ok(wanted) => wanted.min(self.max_delay),
            Err(_) if seconds > 0.0 => self.max_delay,
            Err(_) => Duration::ZERO,
        }
    }
}
