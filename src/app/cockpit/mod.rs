//! The running node behind the rooms of the admin endpoint.

mod commit;
mod orders;
mod reports;
mod retry;

use std::sync::Arc;

use crate::actors::node::Node;
use crate::admin::{Room, jobs};

pub use orders::Hosts as NodeHosts;
pub use orders::finish as finish_orders;
pub use reports::Reporter;
pub use retry::Retry;

/// The rooms of a node, besides those that every endpoint has.
#[must_use]
pub fn rooms(node: &Arc<Node>) -> Vec<Room> {
    vec![
        jobs::room(node.jobs.clone()),
        crate::admin::orders::room(Arc::new(orders::Hosts(node.clone()))),
        crate::admin::reports::room(Arc::new(reports::Reporter(node.clone()))),
        crate::admin::urls::room(Arc::new(retry::Retry(node.clone()))),
    ]
}
