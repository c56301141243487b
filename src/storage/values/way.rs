//! As what a URL was found, in one byte: bit 0 says that it is a seed, the five above are [`FoundAs::code`], bit 6 says that it
//! was fetched before, bit 7 that it is asked for under another spelling than the canonical one.

use super::ValueError;
use super::wire::{Reader, Wire};
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
