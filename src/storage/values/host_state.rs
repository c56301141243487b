//! What is known of a host.

use super::ValueError;
use super::wire::{Blob, Reader, Wire};

/// What is known of a host, whatever the crawl.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostState {
    /// Lower-case ASCII name; compared on each load, because keys are hashes.
    pub name: String,
    /// Its pace, as politeness writes it.
    pub pace: Vec<u8>,
}

impl Wire for HostState {
    fn put(&self, out: &mut Vec<u8>) {
        self.name.put(out);
        Blob(self.pace.clone()).put(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, ValueError> {
        Ok(Self { name: String::read(from)?, pace: Blob::read(from)?.0 })
    }
}
