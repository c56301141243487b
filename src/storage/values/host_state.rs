//! What is known of a host.

use std::time::Duration;

use super::ValueError;
use super::wire::{Blob, Reader, Wire};
use crate::base::time::millis;
use crate::domain::orders::HostOrders;

/// What is known of a host, whatever the crawl.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostState {
    /// Lower-case ASCII name; compared on each load, because keys are hashes.
    pub name: String,
    /// Its pace, as politeness writes it.
    pub pace: Vec<u8>,
    /// What the operator has said of it.
    pub orders: HostOrders,
}

impl Wire for HostState {
    fn put(&self, out: &mut Vec<u8>) {
        self.name.put(out);
        Blob(self.pace.clone()).put(out);
        self.orders.put(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, ValueError> {
        Ok(Self { name: String::read(from)?, pace: Blob::read(from)?.0, orders: HostOrders::read(from)? })
    }
}

impl Wire for HostOrders {
    fn put(&self, out: &mut Vec<u8>) {
        self.paused.put(out);
        self.blocked.put(out);
        self.dropping.put(out);
        self.recrawling.put(out);
        self.min_delay.map(millis).put(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, ValueError> {
        Ok(Self {
            paused: Option::read(from)?,
            blocked: Option::read(from)?,
            dropping: Option::read(from)?,
            recrawling: Option::read(from)?,
            min_delay: Option::<u64>::read(from)?.map(Duration::from_millis),
        })
    }
}
