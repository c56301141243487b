//! The cockpit: what the admin endpoint's rooms ask of the running node. Reads only, from storage, registries and the rules
//! in force; no actor is asked, so that an answer comes also while one is down.

mod actors;
mod find;
mod hosts;
mod pages;
mod robots;
mod settings;
pub(in crate::app) mod statistics;
mod urls;
pub(in crate::app) mod waits;
mod why_idle;

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::actors::node::Node;
use crate::admin::{self, Room, events, jobs};
use crate::admin::{actors as actor_room, host_list, pages as page_room, statistics as series_room};
use crate::admin::{urls as url_room, why_idle as idle_room};

/// The node, for the rooms that only look.
#[derive(Clone)]
struct Cockpit {
    node: Arc<Node>,
    /// Snapshots that are read at a time: each takes some tens of megabytes.
    snapshots: Arc<Semaphore>,
}

/// So many.
const SNAPSHOTS: usize = 2;

/// The rooms beyond those of `Control`.
#[must_use]
pub fn rooms(node: &Arc<Node>) -> Vec<Room> {
    let cockpit = Arc::new(Cockpit { node: node.clone(), snapshots: Arc::new(Semaphore::new(SNAPSHOTS)) });
    vec![
        events::room(node.events.clone()),
        jobs::room(node.jobs.clone()),
        admin::settings::room(Arc::new(settings::NodeSettings(node.clone()))),
        url_room::room(cockpit.clone()),
        idle_room::room(cockpit.clone()),
        host_list::room(cockpit.clone()),
        actor_room::room(cockpit.clone()),
        page_room::room(cockpit.clone()),
        series_room::room(cockpit),
    ]
}
