//! The running node behind the rooms of the admin endpoint.

use std::sync::Arc;

use crate::actors::node::Node;
use crate::admin::{Room, events, jobs, pipeline};

/// The rooms of a node, besides those that every endpoint has.
#[must_use]
pub fn rooms(node: &Arc<Node>) -> Vec<Room> {
    vec![events::room(node.events.clone()), jobs::room(node.jobs.clone()), pipeline::room(node.metrics.clone())]
}
