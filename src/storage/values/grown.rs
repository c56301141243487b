//! Values whose layouts only grew: an older version ends earlier. What it lacks is empty then, in bytes that are all zero.

use super::wire::Wire;
use super::{ValueError, decode, encode};

/// Such a value. It is written in the oldest version that can say it, so that what older programs wrote is written as it was.
pub(super) trait Grown: Wire {
    /// The newest version.
    const LATEST: u8;

    /// The oldest version that can say this.
    fn version(&self) -> u8;

    /// How many bytes, in this place of the end, an older version has not.
    fn missing(version: u8) -> usize;
}

/// Its bytes on disk.
pub(super) fn encode_grown<T: Grown>(value: &T) -> Vec<u8> {
    let version = value.version();
    let mut bytes = encode(version, value);
    bytes.truncate(bytes.len().saturating_sub(T::missing(version)));
    bytes
}

/// Reads what [`encode_grown`] wrote, and nothing that another version would have to say.
pub(super) fn decode_grown<T: Grown>(kind: &'static str, bytes: &[u8]) -> Result<T, ValueError> {
    let older = bytes.first().copied().filter(|version| (1..T::LATEST).contains(version));
    let value: T = match older {
        None => decode(kind, T::LATEST, bytes)?,
        Some(version) => {
            let mut whole = bytes.to_vec();
            whole.splice(..1, [T::LATEST]);
            whole.resize(whole.len() + T::missing(version), 0);
            decode(kind, T::LATEST, &whole)?
        }
    };
    if value.version() == older.unwrap_or(T::LATEST) { Ok(value) } else { Err(ValueError::Tag("field")) }
}
