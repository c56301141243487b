//! The cockpit: what the admin endpoint's rooms ask of the running node. Reads only, from storage, registries and the rules
//! in force; no actor is asked, so that an answer comes also while one is down.

mod find;
mod robots;
mod urls;
pub(in crate::app) mod waits;
mod why_idle;

mod settings;

use std::sync::Arc;

use crate::actors::node::Node;
use crate::admin::{self, Room, events, jobs, pipeline, urls as url_room, why_idle as idle_room};

/// The node, for the rooms that only look.
#[derive(Clone)]
struct Cockpit {
    node: Arc<Node>,
}

/// The rooms beyond those of `Control`.
#[must_use]
pub fn rooms(node: &Arc<Node>) -> Vec<Room> {
    let cockpit = Arc::new(Cockpit { node: node.clone() });
    vec![
        events::room(node.events.clone()),
        jobs::room(node.jobs.clone()),
        pipeline::room(node.metrics.clone()),
        admin::settings::room(Arc::new(settings::NodeSettings(node.clone()))),
        url_room::room(cockpit.clone()),
        idle_room::room(cockpit),
    ]
}
