//! The node and the system's clock: where the crawl's time goes on, and what is told when that clock was set.

use super::StartError;
use crate::base::clock::{Clock, Jump};
use crate::crawl::node::Node;
use crate::storage::values::ClockState;
use crate::storage::{Storage, read};
use crate::telemetry::StateChange;
use crate::telemetry::trouble::{CLOCK, CLOCK_ADVICE};
use crate::warc::date::iso;

/// Goes on from the last commit. Before anything is reckoned by the clock.
pub(super) fn take_up(storage: &dyn Storage, clock: &Clock) -> Result<(), StartError> {
    if let Some(last) = read::meta::<ClockState>(storage, ())? {
        clock.take_up(last.crawl, last.date, last.boot);
    }
    Ok(())
}

/// Tells what [`take_up`] found.
pub(super) fn tell_start(node: &Node) {
    node.clock.last_jump().into_iter().for_each(|jump| tell(node, jump));
}

/// Follows the system's clock.
pub(super) fn follow(node: &Node) {
    node.clock.follow().into_iter().for_each(|jump| tell(node, jump));
}

fn tell(node: &Node, jump: Jump) {
    node.telemetry.metrics.clock_jumped();
    node.telemetry.troubles.note(node.clock.now(), CLOCK, jump.to_string());
    let date = iso(node.clock.date());
    node.changed(StateChange::ClockJumped, format!("{jump}: {CLOCK_ADVICE}: by_ms={} date_now={date}", jump.by));
}
