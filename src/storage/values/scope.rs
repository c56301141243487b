//! Hosts that joined the scope.

use super::ValueError;
use super::wire::{Reader, Wire};

/// Hosts (or domains) that joined the scope while crawling, by a seed's redirect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScopeJoined(pub Vec<String>);

impl Wire for ScopeJoined {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, ValueError> {
        Vec::read(from).map(Self)
    }
}
