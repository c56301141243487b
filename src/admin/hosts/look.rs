//! A look at many hosts: from a key on, a bounded number of them.

use crate::admin::ControlError;
use crate::admin::hosts::HostQuery;
use crate::admin::hosts::query::Row;
use crate::admin::paging::{self, Looked};
use crate::admin::views::HostState as Standing;
use crate::base::sync::lock;
use crate::crawl::node::Node;
use crate::storage::keys::{HostAt, Key, KeyRange, ParkedKey, WaitingKey};
use crate::storage::tables::{self, Parked, Waiting};
use crate::storage::values::{HostCounts, HostState};
use crate::storage::{StorageError, read};

/// Longest part of a name, bytes.
const LONGEST_NAME: usize = 253;

/// Which hosts are wanted.
pub(in crate::admin) struct Wanted {
    state: Option<Standing>,
    /// A part of their names.
    part: String,
}

impl Wanted {
    pub fn read(query: &HostQuery) -> Result<Self, ControlError> {
        let part = query.contains.as_deref().unwrap_or_default();
        if query.contains.is_some() && !(1..=LONGEST_NAME).contains(&part.len()) {
            return Err(ControlError::Invalid(format!("contains: expected 1 to {LONGEST_NAME} characters of a name")));
        }
        Ok(Self { state: query.state, part: part.to_ascii_lowercase() })
    }

    fn holds(&self, row: &Row) -> bool {
        self.state.is_none_or(|state| row.standing == state) && row.state.name.contains(&self.part)
    }
}

/// Looks at hosts from a key on until so many fit, at a bounded number of them.
pub(in crate::admin) fn look(
    node: &Node,
    wanted: &Wanted,
    begin: Vec<u8>,
    limit: usize,
) -> Result<Looked<Option<Row>>, StorageError> {
    let read = |from: &[u8], n| read_rows(node, next(node, wanted.state, from, n)?);
    paging::look(begin, limit, read, |row| row.as_ref().is_some_and(|row| wanted.holds(row)))
}

/// A host and its place in the order it was found in; none when its record is gone.
type Placed = (Vec<u8>, Option<Row>);

/// Reads hosts in one go; one whose record is gone meanwhile has none.
fn read_rows(node: &Node, found: Vec<(Vec<u8>, HostAt)>) -> Result<Vec<Placed>, StorageError> {
    let hosts: Vec<HostAt> = found.iter().map(|(_, at)| *at).collect();
    let crawls: Vec<_> = hosts.iter().map(|at| at.crawl(node.crawl.id)).collect();
    let states = read::get_many::<tables::HostState>(&*node.storage, &hosts)?;
    let counts = read::get_many::<tables::HostCounts>(&*node.storage, &crawls)?;
    let row = |at, state: Option<HostState>, counts: Option<HostCounts>| {
        state.map(|state| Row::new(node, at, state, counts.unwrap_or_default()))
    };
    let all = found.into_iter().zip(states).zip(counts);
    Ok(all.map(|(((key, at), state), counts)| (key, row(at, state, counts))).collect())
}

/// The next hosts that stand there, from a key on, each with its place in that order.
fn next(node: &Node, state: Option<Standing>, from: &[u8], n: usize) -> Result<Vec<(Vec<u8>, HostAt)>, StorageError> {
    let range = KeyRange { from: from.to_vec(), until: Vec::new() };
    let storage = &*node.storage;
    Ok(match state {
        Some(Standing::Active) => {
            let names: Vec<_> =
                lock(&node.actors.hosts).values().map(|mailbox| mailbox.meter.stats.instance.clone()).collect();
            let mut hosts: Vec<HostAt> = names.iter().map(|name| HostAt::of(&node.prints, name)).collect();
            hosts.sort_unstable();
            let hosts = hosts.into_iter().map(|at| (at.encode(), at));
            hosts.filter(|(key, _)| key.as_slice() >= from).take(n).collect()
        }
        Some(Standing::Waiting) => {
            let keys = read::scan::<Waiting>(storage, &range, n)?;
            keys.into_iter().map(|(key, ()): (WaitingKey, ())| (key.encode(), key.host_at())).collect()
        }
        Some(Standing::Parked) => {
            let keys = read::scan::<Parked>(storage, &range, n)?;
            keys.into_iter().map(|(key, ()): (ParkedKey, ())| (key.encode(), key.host_at())).collect()
        }
        Some(Standing::Idle | Standing::Held) | None => {
            let found = read::scan::<tables::HostState>(storage, &range, n)?;
            found.into_iter().map(|(at, _)| (at.encode(), at)).collect()
        }
    })
}
