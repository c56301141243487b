//! Reports, read from the database a page at a time, or from the counters.

use crate::admin::ControlError;
use crate::admin::orders::command::Named;
use crate::admin::paging::{Page, Paging, cursor};
use crate::admin::reports::{DeadLink, HostLine, SeedLine, StatusLine, TypeLine};
use crate::admin::url_lists::query::go_on;
use crate::crawl::node::Node;
use crate::domain::reason::Failure;
use crate::storage::keys::{HostAt, Key, KeyRange, SeenKey};
use crate::storage::tables::{Failed, HostCounts, HostState, Seeds, Table};
use crate::storage::values::{FailedValue, SeedValue, UrlState};
use crate::storage::{StorageError, read};

type Result<T> = std::result::Result<T, ControlError>;

fn unread(e: &StorageError) -> ControlError {
    ControlError::Unavailable(e.to_string())
}

/// Records of a page, and the cursor of the next.
type Rows<T> = (Vec<(<T as Table>::Key, <T as Table>::Value)>, Option<String>);

fn rows<T: Table>(node: &Node, mut range: KeyRange, paging: &Paging) -> Result<Rows<T>> {
    let (limit, from) = (paging.limit()?, paging.after()?);
    go_on(&mut range, &from)?;
    let rows = read::scan::<T>(&*node.storage, &range, limit).map_err(|e| unread(&e))?;
    let next = rows.last().filter(|_| rows.len() == limit).map(|(key, _)| cursor(&key.encode()));
    Ok((rows, next))
}

fn seed(node: &Node, (key, seed): (SeenKey, SeedValue)) -> Result<SeedLine> {
    let state = read::seen_state(&*node.storage, key).map_err(|e| unread(&e))?;
    let (state, reason) = match state {
        None => ("unknown", None),
        Some(UrlState::Waiting { .. }) => ("waiting", None),
        Some(UrlState::Done { how, .. }) => ("done", Some(how.as_str())),
        Some(UrlState::Error { reason }) => ("error", Some(reason.as_str())),
        Some(UrlState::Rejected { reason, .. }) => ("rejected", Some(reason.as_str())),
    };
    let SeedValue { url, added, rank, max_depth, tags, guessed: _ } = seed;
    Ok(SeedLine { url, state: state.into(), reason: reason.map(str::to_owned), added, rank, max_depth, tags })
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
    let range = match host {
        Some(host) => KeyRange::host_crawl(Named::of(node, host)?.at.crawl(node.crawl.id)),
        None => KeyRange::all(),
    };
    let (rows, next) = rows::<Failed>(node, range, paging)?;
    // What this machine did itself says nothing of a link.
    let links = rows.into_iter().filter(|(_, failed)| failed.reason != Failure::Spill);
    Ok(Page { items: links.map(|(_, failed)| dead_link(failed)).collect(), next })
}

/// Seeds.
///
/// # Errors
/// What was asked makes no sense now, or storage does not answer.
pub fn seeds(node: &Node, paging: &Paging) -> Result<Page<SeedLine>> {
    let (rows, next) = rows::<Seeds>(node, KeyRange::all(), paging)?;
    Ok(Page { items: rows.into_iter().map(|row| seed(node, row)).collect::<Result<_>>()?, next })
}

/// Hosts.
///
/// # Errors
/// What was asked makes no sense now, or storage does not answer.
pub fn hosts(node: &Node, paging: &Paging) -> Result<Page<HostLine>> {
    let (rows, next) = rows::<HostCounts>(node, KeyRange::all(), paging)?;
    let hosts: Vec<HostAt> = rows.iter().map(|(key, _)| key.host_at()).collect();
    let states = read::get_many::<HostState>(&*node.storage, &hosts).map_err(|e| unread(&e))?;
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
    Ok(Page { items: rows.into_iter().zip(states).map(line).collect(), next })
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
