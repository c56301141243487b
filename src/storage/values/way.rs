//! As what a URL was found, in one byte: bit 0 says that it is a seed, the five above are [`FoundAs::code`], bit 6 says that it
//! was fetched before, bit 7 that it is asked for under another spelling than the canonical one.

use super::wire::{Reader, Wire};
use super::{Value, ValueError, decode, encode};
use crate::domain::found_as::FoundAs;

const AGAIN: u8 = 0x40;
const SPELLED: u8 = 0x80;

/// Writes the byte.
pub(super) fn put_way((seed, found, again, spelled): (bool, FoundAs, bool, bool), out: &mut Vec<u8>) {
    let bit = |is: bool, bit: u8| if is { bit } else { 0 };
    out.push(u8::from(seed) | (found.code() << 1) | bit(again, AGAIN) | bit(spelled, SPELLED));
}

/// Reads what [`put_way`] wrote.
pub(super) fn take_way(from: &mut Reader<'_>) -> Result<(bool, FoundAs, bool, bool), ValueError> {
    let byte = u8::read(from)?;
    let code = (byte & !(AGAIN | SPELLED)) >> 1;
    let found = FoundAs::from_code(code).ok_or(ValueError::Tag("way of being found"))?;
    Ok((byte & 1 == 1, found, byte & AGAIN != 0, byte & SPELLED != 0))
}

/// Values that have this byte. Their version is 1 when all in them was found as a link, 2 when something was not, 3 when something is
/// queued once more, 4 when something is asked for under a spelling of its own: each as older programs wrote it.
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
const LATEST: u8 = 4;

use super::{FailedValue, QueueEntry, Unsynced};

values_with_way! { FailedValue, QueueEntry, Unsynced }

impl HasWay for QueueEntry {
    fn version(&self) -> u8 {
        match (&self.spelling, &self.again) {
            (Some(_), _) => 4,
            (None, Some(_)) => 3,
            (None, None) => of_way(self.found),
        }
    }
}

impl HasWay for FailedValue {
    fn version(&self) -> u8 {
        if self.spelling.is_some() { 4 } else { of_way(self.found) }
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
