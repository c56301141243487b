//! URLs turned away, and given up, a page at a time.

use crate::admin::ControlError;
use crate::admin::find::unread;
use crate::admin::orders::command::Named;
use crate::admin::paging::{Paging, cursor};
use crate::admin::reports::DeadLink;
use crate::admin::reports::query::dead_link;
use crate::admin::retry::job::reasons;
use crate::admin::url_lists::{RejectedUrl, UrlPage, Which};
use crate::crawl::node::Node;
use crate::domain::reason::Rejection;
use crate::storage::keys::{Key, KeyRange, after};
use crate::storage::tables::{Failed, Rejected, Table};
use crate::storage::values::RejectedValue;
use crate::storage::{StorageError, read};

/// Records looked at for one answer.
const LOOKED_AT: u64 = 5_000;
/// Records read at a time.
const CHUNK: usize = 500;

/// URLs turned away for this reason, of this host.
///
/// # Errors
/// An unknown reason, a bad host, limit or cursor, or storage that does not answer.
pub fn rejected(node: &Node, which: &Which, paging: &Paging) -> Result<UrlPage<RejectedUrl>, ControlError> {
    let reason = which.reason.as_deref().map(rejection).transpose()?;
    let wanted = |value: &RejectedValue| reason.is_none_or(|reason| value.reason == reason);
    let shown = |value: RejectedValue| RejectedUrl {
        reason: value.reason.as_str().to_owned(),
        url: value.url,
        via: value.via,
        depth: value.depth,
        generation: value.generation,
    };
    list::<Rejected, _>(node, which, paging, wanted, shown)
}

/// URLs given up.
///
/// # Errors
/// As [`rejected`].
pub fn failed(node: &Node, which: &Which, paging: &Paging) -> Result<UrlPage<DeadLink>, ControlError> {
    let reasons = which.reason.as_deref().map(reasons).transpose()?;
    let wanted = |value: &<Failed as Table>::Value| reasons.as_ref().is_none_or(|r| r.contains(&value.reason));
    list::<Failed, _>(node, which, paging, wanted, dead_link)
}

fn list<T: Table, R>(
    node: &Node,
    which: &Which,
    paging: &Paging,
    wanted: impl Fn(&T::Value) -> bool,
    shown: impl Fn(T::Value) -> R,
) -> Result<UrlPage<R>, ControlError> {
    let (limit, begin) = (paging.limit()?, paging.after()?);
    let mut range = match &which.host {
        Some(host) => KeyRange::host_crawl(Named::of(node, host)?.at.crawl(node.crawl.id)),
        None => KeyRange::all(),
    };
    go_on(&mut range, &begin)?;
    let page = walk::<T>(node, range, limit, wanted).map_err(unread)?;
    let UrlPage { items, next, looked_at } = page;
    Ok(UrlPage { items: items.into_iter().map(shown).collect(), next, looked_at })
}

/// Begins a range behind a cursor, which must be of a page of the same range.
pub(in crate::admin) fn go_on(range: &mut KeyRange, begin: &[u8]) -> Result<(), ControlError> {
    if begin.is_empty() {
        return Ok(());
    }
    let next = after(begin);
    if next <= range.from || (!range.until.is_empty() && next >= range.until) {
        return Err(ControlError::Invalid("cursor: expected `next` of a page of the same host".into()));
    }
    range.from = next;
    Ok(())
}

/// The first `limit` records of a range that are wanted, of a bounded number that is looked at.
fn walk<T: Table>(
    node: &Node,
    mut range: KeyRange,
    limit: usize,
    wanted: impl Fn(&T::Value) -> bool,
) -> Result<UrlPage<T::Value>, StorageError> {
    let (mut items, mut looked_at, mut last) = (Vec::new(), 0_u64, Vec::new());
    while looked_at < LOOKED_AT {
        let rows = read::scan::<T>(&*node.storage, &range, CHUNK)?;
        let is_end = rows.len() < CHUNK;
        for (key, value) in rows {
            if items.len() == limit {
                return Ok(UrlPage { items, next: Some(cursor(&last)), looked_at });
            }
            looked_at += 1;
            last = key.encode();
            range.from = after(&last);
            if wanted(&value) {
                items.push(value);
            }
        }
        if is_end {
            return Ok(UrlPage { items, next: None, looked_at });
        }
    }
    Ok(UrlPage { items, next: Some(cursor(&last)), looked_at })
}

fn rejection(name: &str) -> Result<Rejection, ControlError> {
    let found = Rejection::ALL.iter().copied().find(|reason| reason.as_str() == name);
    found.ok_or_else(|| {
        let all: Vec<&str> = Rejection::ALL.iter().map(|reason| reason.as_str()).collect();
        ControlError::Invalid(format!("reason: {name:?} is none of a rejection; there are {}", all.join(", ")))
    })
}
