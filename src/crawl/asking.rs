//! Every robots.txt that is being asked for now, for whoever wants to know what its host is doing.

use std::collections::HashMap;
use std::sync::Mutex;

use crate::base::sync::lock;
use crate::base::time::UnixMillis;
use crate::storage::keys::RobotsKey;

/// Those under way, with their beginning: at most one for each lane.
#[derive(Default)]
pub struct Asking(Mutex<HashMap<RobotsKey, UnixMillis>>);

/// One of them; over when dropped.
pub struct Asked<'a> {
    asking: &'a Asking,
    key: RobotsKey,
}

impl Asking {
    /// It is asked for from now on.
    pub fn begin(&self, key: RobotsKey, now: UnixMillis) -> Asked<'_> {
        lock(&self.0).insert(key, now);
        Asked { asking: self, key }
    }

    /// Since when it is being asked for, waiting for its turn included.
    pub fn since(&self, key: RobotsKey) -> Option<UnixMillis> {
        lock(&self.0).get(&key).copied()
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        lock(&self.asking.0).remove(&self.key);
    }
}
