//! The first capture of a content.

use super::ValueError;
use super::wire::{Blob, Reader, Wire};
use crate::base::time::UnixMillis;
use crate::storage::keys::{Key, PageKey};

/// The first capture of a content: what a revisit record refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentValue {
    /// Its key in `pages`.
    pub first: PageKey,
    /// Its URL (`WARC-Refers-To-Target-URI`).
    pub url: String,
    /// Its date (`WARC-Refers-To-Date`).
    pub date: UnixMillis,
    /// Its payload digest. The same content may come in another coding: then the payload differs, and a record that says
    /// "identical payload" would be wrong.
    pub payload: [u8; 20],
}

impl Wire for ContentValue {
    fn put(&self, out: &mut Vec<u8>) {
        Blob(self.first.encode()).put(out);
        self.url.put(out);
        self.date.put(out);
        self.payload.put(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, ValueError> {
        Ok(Self {
            first: take_key(from)?,
            url: String::read(from)?,
            date: UnixMillis::read(from)?,
            payload: Wire::read(from)?,
        })
    }
}

/// Reads a key inside a value.
pub(super) fn take_key<K: Key>(from: &mut Reader<'_>) -> Result<K, ValueError> {
    K::decode(&Blob::read(from)?.0).map_err(|_| ValueError::Tag("key"))
}
