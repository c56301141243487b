//! Lists of hosts: those that joined the scope, those of which orders stand.

use super::ValueError;
use super::wire::{Reader, Wire};

/// Hosts that joined the scope while crawling, as seeds or by a seed's redirect; whatever `scope.mode` was.
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

/// Hosts of which orders of the operator stand; what they are is in their [`HostState`](super::HostState).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OrderedHosts(pub Vec<String>);

impl Wire for OrderedHosts {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, ValueError> {
        Vec::read(from).map(Self)
    }
}
