//! Politeness: when a host may be asked again. One [`Pace`] a host, kept across restarts.
//!
//! The gap runs from the end of one response to the start of the next request and is the largest of the configured
//! minimum, the Crawl-delay of robots.txt and a multiple of the time the last response took. Trouble stretches it:
//! throttling answers, server errors and network faults double it each time, answers that go well bring it back.
//! A row of refusals pauses the host altogether. Nothing here reads a clock: `now` is always handed in.

mod pace;
mod record;
mod retry_after;
mod rules;
mod work;

pub use pace::{Pace, PaceSignal, PaceWhy};
pub use record::{PACE_RECORD_LEN, PaceRecordError};
pub use retry_after::RetryAfter;
pub use rules::PaceRules;
pub use work::wait_for_work;

#[cfg(test)]
mod tests;
