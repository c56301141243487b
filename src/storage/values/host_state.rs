//! What is known of a host.

use super::ValueError;
use super::wire::{Blob, Reader, Wire};
use crate::domain::time::UnixMillis;

/// What is known of a host, whatever the crawl.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostState {
    /// Lower-case ASCII name; compared on each load, because keys are hashes.
    pub name: String,
    /// Its pace, as politeness writes it.
    pub pace: Vec<u8>,
    /// Meant for active hosts and always false: the end of the former run says as much (docs/adr/0007).
    pub activated: bool,
    /// No request before this time, whatever the pace says (errors, a firewall's answers, Retry-After).
    pub blocked_until: Option<UnixMillis>,
    /// Since when the operator keeps it from being fetched.
    pub paused_since: Option<UnixMillis>,
}

impl Wire for HostState {
    fn put(&self, out: &mut Vec<u8>) {
        self.name.put(out);
        Blob(self.pace.clone()).put(out);
        self.activated.put(out);
        self.blocked_until.put(out);
        self.paused_since.put(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, ValueError> {
        Ok(Self {
            name: String::read(from)?,
            pace: Blob::read(from)?.0,
            activated: bool::read(from)?,
            blocked_until: Option::read(from)?,
            paused_since: Option::read(from)?,
        })
    }
}
