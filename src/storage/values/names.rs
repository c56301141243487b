//! Lists of hosts: those that joined the scope, those of which orders stand.

use super::ValueError;
use super::wire::{Reader, Wire};

/// A host that joined the scope while crawling, as a seed or by a seed's redirect; whatever `scope.mode` was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinedHost(pub String);

impl Wire for JoinedHost {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, ValueError> {
        String::read(from).map(Self)
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
