//! A robots.txt as fetched.

use super::ValueError;
use super::wire::{Reader, Wire, put_blob, take_blob};
use crate::base::time::UnixMillis;

/// Bytes of a robots.txt that are kept (RFC 9309 section 2.5 asks for at least 500 KiB).
pub const ROBOTS_TEXT_CAP: usize = 500 * 1024;

/// Shorter texts are stored as they are.
const PACK_FROM: usize = 512;
const LEVEL: i32 = 3;

/// A robots.txt as fetched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RobotsValue {
    /// HTTP status of the final answer; 0 when none came.
    pub status: u16,
    /// When it was fetched.
    pub fetched: UnixMillis,
    /// The text; what lies beyond [`ROBOTS_TEXT_CAP`] is not stored. Packed with zstd when that pays.
    pub text: Vec<u8>,
    /// Fetches that failed in a row.
    pub failures: u8,
    /// When to try again after a failure.
    pub retry_at: Option<UnixMillis>,
}

impl Wire for RobotsValue {
    fn put(&self, out: &mut Vec<u8>) {
        self.status.put(out);
        self.fetched.put(out);
        self.failures.put(out);
        self.retry_at.put(out);
        let text = self.text.get(..ROBOTS_TEXT_CAP).unwrap_or(&self.text);
        match pack(text) {
            Some(packed) => {
                true.put(out);
                put_blob(&packed, out);
            }
            None => {
                false.put(out);
                put_blob(text, out);
            }
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, ValueError> {
        let status = u16::read(from)?;
        let fetched = UnixMillis::read(from)?;
        let failures = u8::read(from)?;
        let retry_at = Option::read(from)?;
        let packed = bool::read(from)?;
        let stored = take_blob(from)?;
        let text = if packed {
            zstd::bulk::decompress(stored, ROBOTS_TEXT_CAP).map_err(|_| ValueError::Packed)?
        } else {
            stored.to_vec()
        };
        Ok(Self { status, fetched, text, failures, retry_at })
    }
}

/// The packed text, when it is long enough to try and shorter for it.
fn pack(text: &[u8]) -> Option<Vec<u8>> {
    if text.len() < PACK_FROM {
        return None;
    }
    zstd::bulk::compress(text, LEVEL).ok().filter(|packed| packed.len() < text.len())
}
