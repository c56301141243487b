//! As what a URL was found, in one byte with whether it is a seed: bit 0 is the seed's, the five above are [`FoundAs::code`].

use super::wire::{Reader, Wire};
use super::{Value, ValueError, decode, encode};
use crate::domain::found_as::FoundAs;

/// The byte of values whose version 1 has nothing but seeds and links.
pub(super) fn put_way(seed: bool, found: FoundAs, out: &mut Vec<u8>) {
    out.push(u8::from(seed) | (found.code() << 1));
}

/// Reads what [`put_way`] wrote.
pub(super) fn take_way(from: &mut Reader<'_>) -> Result<(bool, FoundAs), ValueError> {
    let byte = u8::read(from)?;
    let found = FoundAs::from_code(byte >> 1).ok_or(ValueError::Tag("way of being found"))?;
    Ok((byte & 1 == 1, found))
}

/// Values that are version 2 when they hold a URL that was not found as a link; as version 1 they are as they always were.
pub(super) trait HasWay: Wire {
    /// True when everything in it was found as a link.
    fn is_of_links(&self) -> bool;
}

/// Gives them their versions.
macro_rules! values_with_way {
    ($($name:ident),* $(,)?) => {$(
        impl Value for $name {
            fn encode(&self) -> Vec<u8> { encode(if self.is_of_links() { 1 } else { 2 }, self) }
            fn decode(bytes: &[u8]) -> Result<Self, ValueError> {
                let version = if bytes.first() == Some(&1) { 1 } else { 2 };
                let value: Self = decode(stringify!($name), version, bytes)?;
                let right = value.is_of_links() == (version == 1);
                if right { Ok(value) } else { Err(ValueError::Tag("way of being found")) }
            }
        }
    )*};
}

use super::{FailedValue, QueueEntry, Unsynced};

values_with_way! { FailedValue, QueueEntry, Unsynced }

impl HasWay for QueueEntry {
    fn is_of_links(&self) -> bool {
        self.found == FoundAs::Link
    }
}

impl HasWay for FailedValue {
    fn is_of_links(&self) -> bool {
        self.found == FoundAs::Link
    }
}

impl HasWay for Unsynced {
    fn is_of_links(&self) -> bool {
        self.0.iter().all(|page| page.entry.is_of_links())
    }
}
