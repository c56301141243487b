//! The cockpit: what the admin endpoint's rooms ask of the running node. Looks read storage, registries and the rules in
//! force; no actor is asked, so that an answer comes also while one is down. Commands go to the Store as changes.

mod commit;
mod find;
mod orders;
mod reports;
mod retry;
mod robots;
mod urls;
pub(in crate::app) mod waits;
mod why_idle;

use std::sync::Arc;

use crate::actors::node::Node;
use crate::admin::{Room, events, jobs, urls as url_room, why_idle as idle_room};

pub use orders::Hosts as NodeHosts;
pub use orders::finish as finish_orders;
pub use reports::Reporter;
pub use retry::Retry;

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
        url_room::room(cockpit.clone()),
        idle_room::room(cockpit),
        crate::admin::orders::room(Arc::new(orders::Hosts(node.clone()))),
        crate::admin::reports::room(Arc::new(reports::Reporter(node.clone()))),
        crate::admin::retry::room(Arc::new(retry::Retry(node.clone()))),
    ]
}
