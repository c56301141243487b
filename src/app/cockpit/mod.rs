//! What the admin endpoint shows of a node and may do to it beyond the crawl as a whole: one line a room.

use std::sync::Arc;

use crate::actors::node::Node;
use crate::admin::{Room, events};

/// The rooms of a running node.
#[must_use]
pub fn rooms(node: &Arc<Node>) -> Vec<Room> {
    vec![events::room(node.events.clone())]
}
