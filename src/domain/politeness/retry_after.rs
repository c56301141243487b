//! The Retry-After header (RFC 9110, section 10.2.3).

use std::time::{Duration, UNIX_EPOCH};

use crate::base::time::UnixMillis;

/// Reads Retry-After and bounds what it may ask for.
#[derive(Clone, Copy, Debug)]
pub struct RetryAfter;

impl RetryAfter {
    /// Longest wait a server may ask for: a day. A later date is taken as a day from now.
    pub const MAX: Duration = Duration::from_secs(24 * 60 * 60);

    /// How long `value` asks to wait from `now`: whole seconds, or an HTTP date in any of its three forms. A date that
    /// has passed asks for no wait. `None` when it is neither; the caller then backs off by itself.
    pub fn parse(value: &str, now: UnixMillis) -> Option<Duration> {
        let value = value.trim_matches([' ', '\t']);
        let wait = if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) {
            // All digits, so the only possible error is a number too large.
            Duration::from_secs(value.parse().unwrap_or(u64::MAX))
        } else {
            let date = httpdate::parse_http_date(value).ok()?.duration_since(UNIX_EPOCH).ok()?;
            UnixMillis(0).plus(date).since(now)
        };
        Some(wait.min(Self::MAX))
    }
}
