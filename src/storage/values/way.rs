//! As what a URL was found, in one byte: bit 0 says that it is a seed, the five above are [`FoundAs::code`], bit 6 says that it
//! was fetched before.

use super::wire::{Reader, Wire};
use super::{Value, ValueError, decode, encode};
use crate::domain::found_as::FoundAs;

const AGAIN: u8 = 0x40;

/// Writes the byte.
pub(super) fn put_way(seed: bool, found: FoundAs, again: bool, out: &mut Vec<u8>) {
    out.push(u8::from(seed) | (found.code() << 1) | if again { AGAIN } else { 0 });
}

/// Reads what [`put_way`] wrote.
pub(super) fn take_way(from: &mut Reader<'_>) -> Result<(bool, FoundAs, bool), ValueError> {
    let byte = u8::read(from)?;
    let found = FoundAs::from_code((byte & !AGAIN) >> 1).ok_or(ValueError::Tag("way of being found"))?;
    Ok((byte & 1 == 1, found, byte & AGAIN != 0))
}

/// Values that have this byte. Their version is 1 when all in them was found as a link, 2 when something was not, 3 when something is
/// queued once more: each as older programs wrote it.
pub(super) trait HasWay: Wire {
    /// The oldest version that can say it.
    fn version(&self) -> u8;
}

/// Gives them their versions.
macro_rules! values_with_way {
    ($($name:ident),* $(,)?) => {$(
        impl Value for $name {
            fn encode(&self) -> Vec<u8> { encode(self.version(), self) }
            fn decode(bytes: &[u8]) -> Result<Self, ValueError> {
                let version = bytes.first().copied().filter(|version| (1..LATEST).contains(version)).unwrap_or(LATEST);
                let value: Self = decode(stringify!($name), version, bytes)?;
                if value.version() == version { Ok(value) } else { Err(ValueError::Tag("way of being found")) }
            }
        }
    )*};
}

/// The newest version of these values.
const LATEST: u8 = 3;

use super::{FailedValue, QueueEntry, Unsynced};

values_with_way! { FailedValue, QueueEntry, Unsynced }

impl HasWay for QueueEntry {
    fn version(&self) -> u8 {
        if self.again.is_some() { 3 } else { of_way(self.found) }
    }
}

impl HasWay for FailedValue {
    fn version(&self) -> u8 {
        of_way(self.found)
    }
}

fn of_way(found: FoundAs) -> u8 {
    if found == FoundAs::Link { 1 } else { 2 }
}

impl HasWay for Unsynced {
    fn version(&self) -> u8 {
        self.0.iter().map(|page| page.entry.version()).max().unwrap_or(1)
    }
}
