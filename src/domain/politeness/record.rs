//! A pace as bytes, for the host's record.
//!
//! Version 1, 40 bytes, integers big-endian: version 1 · flags 1 (bit 0 last end known, bit 1 Crawl-delay known) · why 1
//! · back-off 1 · earliest 8 · last end 8 · last took 8 · Crawl-delay 8 · refusals in a row 4. Times and durations in
//! milliseconds; what is not known is zero.

use std::time::Duration;

use super::pace::{MAX_BACKOFF_STEP, Pace, PaceWhy};
use crate::base::time::{UnixMillis, millis};

/// Length of a record of version 1, in bytes.
pub const PACE_RECORD_LEN: usize = 40;

const VERSION: u8 = 1;
const HAS_LAST_END: u8 = 1;
const HAS_CRAWL_DELAY: u8 = 2;

/// Why a pace record could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PaceRecordError {
    /// Written by another version of the program.
    #[error("pace record has version {0}; this program reads version 1")]
    Version(u8),
    /// Not the length its version has.
    #[error("pace record has {0} bytes, must have 40; the host's record is damaged")]
    Length(usize),
    /// A field holds what is never written.
    #[error("pace record has a bad field `{0}`; the host's record is damaged")]
    Field(&'static str),
}

impl Pace {
    /// This pace as [`PACE_RECORD_LEN`] bytes.
    pub fn encode(&self) -> Vec<u8> {
        let last_end = if self.last_end.is_some() { HAS_LAST_END } else { 0 };
        let crawl_delay = if self.crawl_delay.is_some() { HAS_CRAWL_DELAY } else { 0 };
        let mut out = Vec::with_capacity(PACE_RECORD_LEN);
        out.extend_from_slice(&[VERSION, last_end | crawl_delay, self.why.code(), self.backoff]);
        out.extend_from_slice(&self.earliest.0.to_be_bytes());
        out.extend_from_slice(&self.last_end.unwrap_or_default().0.to_be_bytes());
        out.extend_from_slice(&millis(self.last_took).to_be_bytes());
        out.extend_from_slice(&millis(self.crawl_delay.unwrap_or_default()).to_be_bytes());
        out.extend_from_slice(&self.hostile_run.to_be_bytes());
        out
    }

    /// The pace in `bytes`.
    ///
    /// # Errors
    /// Another version, a wrong length, or a field that `encode` never writes.
    pub fn decode(bytes: &[u8]) -> Result<Self, PaceRecordError> {
        match bytes.first() {
            Some(&VERSION) => {}
            Some(&other) => return Err(PaceRecordError::Version(other)),
            None => return Err(PaceRecordError::Length(0)),
        }
        let record: &[u8; PACE_RECORD_LEN] = bytes.try_into().map_err(|_| PaceRecordError::Length(bytes.len()))?;
        let [_, flags, why, backoff, rest @ ..] = record;
        if flags & !(HAS_LAST_END | HAS_CRAWL_DELAY) != 0 {
            return Err(PaceRecordError::Field("flags"));
        }
        let why = PaceWhy::from_code(*why).ok_or(PaceRecordError::Field("why"))?;
        if *backoff > MAX_BACKOFF_STEP {
            return Err(PaceRecordError::Field("back-off"));
        }
        let mut fields = rest.chunks(8).map(|chunk| chunk.iter().fold(0_u64, |n, b| n << 8 | u64::from(*b)));
        let mut next = || fields.next().unwrap_or_default();
        let (earliest, last_end, last_took, crawl_delay) = (next(), next(), next(), next());
        let hostile_run = u32::try_from(next()).unwrap_or(u32::MAX);
        Ok(Self {
            earliest: UnixMillis(earliest),
            why,
            last_end: known(flags & HAS_LAST_END, last_end, "last end")?.map(UnixMillis),
            last_took: Duration::from_millis(last_took),
            crawl_delay: known(flags & HAS_CRAWL_DELAY, crawl_delay, "Crawl-delay")?.map(Duration::from_millis),
            backoff: *backoff,
            hostile_run,
        })
    }
}

fn known(flag: u8, value: u64, name: &'static str) -> Result<Option<u64>, PaceRecordError> {
    match (flag != 0, value) {
        (true, value) => Ok(Some(value)),
        (false, 0) => Ok(None),
        (false, _) => Err(PaceRecordError::Field(name)),
    }
}
