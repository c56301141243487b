//! Reports, read from the database a page at a time, or from the counters.

use crate::admin::ControlError;
use crate::admin::orders::command::range_of;
use crate::admin::paging::{Page, Paging, records};
use crate::admin::reports::{DeadLink, HostLine, SeedLine, StatusLine, TypeLine};
use crate::admin::urls::query::state_of;
use crate::admin::views::json_name;
use crate::crawl::node::Node;
use crate::domain::reason::Failure;
use crate::storage::keys::{HostAt, KeyRange, SeenKey};
use crate::storage::tables::{Failed, HostCounts, HostState, Seeds};
use crate::storage::values::{FailedValue, SeedValue};
use crate::storage::{StorageError, read};

type Result<T> = std::result::Result<T, ControlError>;

fn unread(error: StorageError) -> ControlError {
    ControlError::Unavailable(error.to_string())
}

fn seed(node: &Node, (key, seed): (SeenKey, SeedValue)) -> Result<SeedLine> {
    let (state, reason) = state_of(read::seen_state(&*node.storage, key).map_err(unread)?);
    let SeedValue { url, added, rank, weight, max_depth, tags, cycle, guessed: _ } = seed;
    let (state, reason) = (json_name(state), reason.map(str::to_owned));
    Ok(SeedLine { url, state, reason, added, rank, weight, max_depth, tags, cycle })
}

pub(in crate::admin) fn dead_link(failed: FailedValue) -> DeadLink {
    let FailedValue { url, reason, status, when, attempts, origin, via, seed, .. } = failed;
    let seed = origin.or_else(|| seed.then(|| url.clone()));
    DeadLink { url, reason: reason.as_str().to_owned(), status, when, attempts, page: via, seed }
}

/// URLs given up, in the order of their keys; of one host, or of all.
///
/// # Errors
/// What was asked makes no sense now, or storage does not answer.
pub fn dead_links(node: &Node, host: Option<&str>, paging: &Paging) -> Result<Page<DeadLink>> {
    // What this machine did itself says nothing of a link.
    let is_of_link = |failed: &FailedValue| failed.reason != Failure::Spill;
    let looked = records::<Failed>(node, paging.part(range_of(node, host)?)?, is_of_link).map_err(unread)?;
    let next = looked.next();
    Ok(Page { items: looked.items.into_iter().map(|(_, failed)| dead_link(failed)).collect(), next })
}

/// Seeds.
///
/// # Errors
/// What was asked makes no sense now, or storage does not answer.
pub fn seeds(node: &Node, paging: &Paging) -> Result<Page<SeedLine>> {
    let looked = records::<Seeds>(node, paging.part(KeyRange::all())?, |_| true).map_err(unread)?;
    let next = looked.next();
    Ok(Page { items: looked.items.into_iter().map(|row| seed(node, row)).collect::<Result<_>>()?, next })
}

/// Hosts.
///
/// # Errors
/// What was asked makes no sense now, or storage does not answer.
pub fn hosts(node: &Node, paging: &Paging) -> Result<Page<HostLine>> {
    let looked = records::<HostCounts>(node, paging.part(KeyRange::all())?, |_| true).map_err(unread)?;
    let next = looked.next();
    let hosts: Vec<HostAt> = looked.items.iter().map(|(key, _)| key.host_at()).collect();
    let states = read::get_many::<HostState>(&*node.storage, &hosts).map_err(unread)?;
    let line = |((_, counts), state): ((_, crate::storage::values::HostCounts), Option<_>)| {
        let state: crate::storage::values::HostState = state.unwrap_or_default();
        HostLine {
            host: state.name,
            queued: counts.queued_total(),
            retries: counts.due,
            done: counts.done,
            errors: counts.errors,
            bytes: counts.bytes,
            orders: state.orders.into(),
        }
    };
    Ok(Page { items: looked.items.into_iter().zip(states).map(line).collect(), next })
}

/// Answers by status.
pub fn statuses(node: &Node) -> Vec<StatusLine> {
    let counters = node.crawl.counters();
    counters.statuses.into_iter().map(|(status, captures)| StatusLine { status, captures }).collect()
}

/// Captures by media type.
pub fn types(node: &Node) -> Vec<TypeLine> {
    let line = |(media_type, (captures, bytes))| TypeLine { media_type, captures, bytes };
    let mut lines: Vec<TypeLine> = node.crawl.counters().types.into_iter().map(line).collect();
    lines.retain(|line| line.captures > 0);
    lines.sort_by_key(|line| std::cmp::Reverse(line.captures));
    lines
}
