//! The node and the system's clock: where the crawl's time goes on, and what is told when that clock was set.

use super::StartError;
use crate::base::clock::{Clock, Jump};
use crate::crawl::node::Node;
use crate::storage::values::ClockState;
use crate::storage::{Storage, read};
use crate::telemetry::StateChange;
use crate::telemetry::trouble::{CLOCK, CLOCK_ADVICE};

/// Goes on from the last commit. Before anything is reckoned by the clock.
pub(super) fn take_up(storage: &dyn Storage, clock: &Clock) -> Result<(), StartError> {
    if let Some(last) = read::meta::<ClockState>(storage, ())? {
        clock.take_up(last.crawl, last.date, last.boot);
    }
    Ok(())
}

/// Tells what [`take_up`] found.
pub(super) fn tell_start(node: &Node) {
    if let Some(jump) = node.clock.last_jump() {
        tell(node, jump);
    }
}

/// Follows the system's clock.
pub(super) fn follow(node: &Node) {
    if let Some(jump) = node.clock.follow() {
        tell(node, jump);
    }
}

fn tell(node: &Node, jump: Jump) {
    node.telemetry.metrics.clock_jumped();
    node.telemetry.troubles.note(node.clock.now(), CLOCK, jump.to_string());
    node.changed(StateChange::ClockJumped, format!("{jump}: {CLOCK_ADVICE}: by_ms={} date_now={}", jump.by, iso(node)));
}

fn iso(node: &Node) -> String {
    crate::warc::date::iso(node.clock.date())
}
