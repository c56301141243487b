//! What is known of a host.

use std::time::Duration;

use super::wire::{Blob, Reader, Wire};
use super::{Value, ValueError};
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

/// Without orders.
const PLAIN: u8 = 1;
/// With orders behind.
const ORDERED: u8 = 2;

/// Version 1 has no orders, and is still written for a host that has none.
impl Value for HostState {
    fn encode(&self) -> Vec<u8> {
        let mut out = vec![if self.orders.is_empty() { PLAIN } else { ORDERED }];
        self.name.put(&mut out);
        Blob(self.pace.clone()).put(&mut out);
        if !self.orders.is_empty() {
            self.orders.put(&mut out);
        }
        out
    }

    fn decode(bytes: &[u8]) -> Result<Self, ValueError> {
        let mut from = Reader::new(bytes);
        let found = from.byte()?;
        if !matches!(found, PLAIN | ORDERED) {
            return Err(ValueError::Version { kind: "HostState", found, known: ORDERED });
        }
        let (name, pace) = (String::read(&mut from)?, Blob::read(&mut from)?.0);
        let orders = if found == ORDERED { HostOrders::read(&mut from)? } else { HostOrders::default() };
        if found == ORDERED && orders.is_empty() {
            return Err(ValueError::Tag("order")); // a host without is written as version 1
        }
        if from.is_empty() { Ok(Self { name, pace, orders }) } else { Err(ValueError::Long) }
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
