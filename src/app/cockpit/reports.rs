//! Reports, read from the database a page at a time, or from the counters.

use std::sync::Arc;

use super::lists::go_on;
use super::orders::Named;
use crate::admin::ControlError;
use crate::admin::paging::{Page, Paging, cursor};
use crate::admin::reports::{DeadLink, HostLine, Reports, SeedLine, StatusLine, TypeLine};
use crate::crawl::node::Node;
use crate::domain::reason::Failure;
use crate::storage::keys::{HostAt, Key, KeyRange, SeenKey};
use crate::storage::tables::{Failed, HostCounts, HostState, Seeds, Table};
use crate::storage::values::{FailedValue, SeedValue, UrlState};
use crate::storage::{StorageError, read};

/// The node behind the room.
pub struct Reporter(pub Arc<Node>);

type Result<T> = std::result::Result<T, ControlError>;

fn unread(e: &StorageError) -> ControlError {
    ControlError::Unavailable(e.to_string())
}

/// Records of a page, and the cursor of the next.
type Rows<T> = (Vec<(<T as Table>::Key, <T as Table>::Value)>, Option<String>);

impl Reporter {
    fn rows<T: Table>(&self, mut range: KeyRange, paging: &Paging) -> Result<Rows<T>> {
        let (limit, from) = (paging.limit()?, paging.after()?);
        go_on(&mut range, &from)?;
        let rows = read::scan::<T>(&*self.0.storage, &range, limit).map_err(|e| unread(&e))?;
        let next = rows.last().filter(|_| rows.len() == limit).map(|(key, _)| cursor(&key.encode()));
        Ok((rows, next))
    }

    fn seed(&self, (key, seed): (SeenKey, SeedValue)) -> Result<SeedLine> {
        let state = read::seen_state(&*self.0.storage, key).map_err(|e| unread(&e))?;
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
}

pub(super) fn dead_link(failed: FailedValue) -> DeadLink {
    let FailedValue { url, reason, status, when, attempts, origin, via, seed, .. } = failed;
    let seed = origin.or_else(|| seed.then(|| url.clone()));
    DeadLink { url, reason: reason.as_str().to_owned(), status, when, attempts, page: via, seed }
}

impl Reports for Reporter {
    fn dead_links(&self, host: Option<&str>, paging: &Paging) -> Result<Page<DeadLink>> {
        let range = match host {
            Some(host) => KeyRange::host_crawl(Named::of(&self.0, host)?.at.crawl(self.0.crawl)),
            None => KeyRange::all(),
        };
        let (rows, next) = self.rows::<Failed>(range, paging)?;
        // What this machine did itself says nothing of a link.
        let links = rows.into_iter().filter(|(_, failed)| failed.reason != Failure::Spill);
        Ok(Page { items: links.map(|(_, failed)| dead_link(failed)).collect(), next })
    }

    fn seeds(&self, paging: &Paging) -> Result<Page<SeedLine>> {
        let (rows, next) = self.rows::<Seeds>(KeyRange::all(), paging)?;
        Ok(Page { items: rows.into_iter().map(|row| self.seed(row)).collect::<Result<_>>()?, next })
    }

    fn hosts(&self, paging: &Paging) -> Result<Page<HostLine>> {
        let (rows, next) = self.rows::<HostCounts>(KeyRange::all(), paging)?;
        let hosts: Vec<HostAt> = rows.iter().map(|(key, _)| key.host_at()).collect();
        let states = read::get_many::<HostState>(&*self.0.storage, &hosts).map_err(|e| unread(&e))?;
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

    fn statuses(&self) -> Vec<StatusLine> {
        let counters = self.0.counters();
        counters.statuses.into_iter().map(|(status, captures)| StatusLine { status, captures }).collect()
    }

    fn types(&self) -> Vec<TypeLine> {
        let line = |(media_type, (captures, bytes))| TypeLine { media_type, captures, bytes };
        let mut lines: Vec<TypeLine> = self.0.counters().types.into_iter().map(line).collect();
        lines.retain(|line| line.captures > 0);
        lines.sort_by_key(|line| std::cmp::Reverse(line.captures));
        lines
    }
}
