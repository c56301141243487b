//! The running node behind the rooms of the admin endpoint.

mod settings;

use std::sync::Arc;

use crate::actors::node::Node;
use crate::admin::{self, Room, events, jobs};

/// The rooms of a node, besides those that every endpoint has.
#[must_use]
pub fn rooms(node: &Arc<Node>) -> Vec<Room> {
    vec![
        events::room(node.events.clone()),
        jobs::room(node.jobs.clone()),
        admin::settings::room(Arc::new(settings::NodeSettings(node.clone()))),
    ]
}
