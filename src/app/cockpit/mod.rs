//! The cockpit: what the admin endpoint's rooms ask of the running node. Looks read storage, registries and the rules in
//! force; no actor is asked, so that an answer comes also while one is down. Commands go to the Store as changes.

mod actors;
mod commit;
mod find;
mod holders;
mod host_look;
mod hosts;
mod lists;
mod orders;
mod pages;
mod reports;
mod retry;
mod robots;
mod settings;
pub(in crate::app) mod statistics;
mod urls;
pub(in crate::app) mod waits;
mod why_idle;

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::admin::{self, Room, events, jobs, pipeline};
use crate::admin::{actors as actor_room, host_list, pages as page_room, statistics as series_room};
use crate::admin::{urls as url_room, why_idle as idle_room};
use crate::crawl::node::Node;

pub use holders::NodeHolders;
pub use orders::Hosts as NodeHosts;
pub use orders::finish as finish_orders;
pub use reports::Reporter;
pub use retry::Retry;

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
        pipeline::room(node.metrics.clone()),
        admin::settings::room(Arc::new(settings::NodeSettings(node.clone()))),
        url_room::room(cockpit.clone()),
        url_room::lists::room(cockpit.clone()),
        idle_room::room(cockpit.clone()),
        host_list::room(cockpit.clone()),
        actor_room::room(cockpit.clone()),
        page_room::room(cockpit.clone()),
        series_room::room(cockpit),
        admin::orders::room(Arc::new(orders::Hosts(node.clone()))),
        admin::reports::room(Arc::new(reports::Reporter(node.clone()))),
        admin::reports::holders::room(Arc::new(holders::NodeHolders(node.clone()))),
        admin::retry::room(Arc::new(retry::Retry(node.clone()))),
    ]
}
