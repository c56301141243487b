//! The running node behind the rooms of the admin endpoint.

mod commit;
mod orders;

use std::sync::Arc;

use crate::actors::node::Node;
use crate::admin::{Room, jobs};

pub use orders::Hosts as NodeHosts;
pub use orders::finish as finish_orders;

/// The rooms of a node, besides those that every endpoint has.
#[must_use]
pub fn rooms(node: &Arc<Node>) -> Vec<Room> {
    vec![jobs::room(node.jobs.clone()), crate::admin::orders::room(Arc::new(orders::Hosts(node.clone())))]
}
