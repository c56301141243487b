//! Records of one family in key order, a chunk at a time; what does not decode is a finding and is passed over.

use std::collections::VecDeque;

use super::pass::Pass;
use super::{Fault, Result};
use crate::domain::fingerprint::CrawlId;
use crate::storage::error::hex;
use crate::storage::keys::{Key, after, successor};
use crate::storage::tables::Table;
use crate::storage::values::Value;
use crate::storage::{Family, Pair};

/// Records read at a time, of families whose values are small, and of the others.
const CHUNK: usize = 1024;
const CHUNK_LARGE: usize = 16;
/// Records looked up at a time.
pub const TOGETHER: usize = 256;

pub struct Row<T: Table> {
    pub raw: Vec<u8>,
    pub key: T::Key,
    pub value: T::Value,
}

/// The records of a family.
pub struct Stream<T: Table> {
    from: Vec<u8>,
    until: Vec<u8>,
    ready: VecDeque<Row<T>>,
    over: bool,
    quiet: bool,
}

impl<T: Table> Default for Stream<T> {
    /// All of them.
    fn default() -> Self {
        Self { from: Vec::new(), until: Vec::new(), ready: VecDeque::new(), over: false, quiet: false }
    }
}

impl<T: Table> Stream<T> {
    /// All of them, read a second time: nothing is counted or found.
    pub fn quiet() -> Self {
        Self { quiet: true, ..Self::default() }
    }

    /// Those whose keys begin with `prefix`, read a second time.
    pub fn quiet_in(prefix: &[u8]) -> Self {
        Self { from: prefix.to_vec(), until: successor(prefix), ..Self::quiet() }
    }

    /// The next, which stays.
    pub fn peek(&mut self, pass: &mut Pass<'_>) -> Result<Option<&Row<T>>> {
        while self.ready.is_empty() && !self.over {
            self.fill(pass)?;
        }
        Ok(self.ready.front())
    }

    /// The first bytes of the key of the next.
    pub fn head(&mut self, pass: &mut Pass<'_>, len: usize) -> Result<Option<Vec<u8>>> {
        Ok(self.peek(pass)?.and_then(|row| row.raw.get(..len)).map(<[u8]>::to_vec))
    }

    /// The next, when its key begins with `prefix`.
    pub fn next_in(&mut self, pass: &mut Pass<'_>, prefix: &[u8]) -> Result<Option<Row<T>>> {
        let fits = self.peek(pass)?.is_some_and(|row| row.raw.starts_with(prefix));
        Ok(if fits { self.ready.pop_front() } else { None })
    }

    /// Up to `limit` of those whose keys begin with `prefix`.
    pub fn chunk_in(&mut self, pass: &mut Pass<'_>, prefix: &[u8], limit: usize) -> Result<Vec<Row<T>>> {
        let mut rows = Vec::new();
        while rows.len() < limit
            && let Some(row) = self.next_in(pass, prefix)?
        {
            rows.push(row);
        }
        Ok(rows)
    }

    fn fill(&mut self, pass: &mut Pass<'_>) -> Result<()> {
        let limit = if matches!(T::FAMILY, Family::Robots | Family::Meta) { CHUNK_LARGE } else { CHUNK };
        let pairs = pass.storage.scan(T::FAMILY, &self.from, &self.until, limit)?;
        self.over = pairs.len() < limit;
        if let Some((last, _)) = pairs.last() {
            self.from = after(last);
        }
        if !self.quiet {
            pass.read(T::FAMILY, pairs.len() as u64);
        }
        for pair in pairs {
            match decode::<T>(pair) {
                Ok(row) => self.ready.push_back(row),
                Err(_) if self.quiet => {}
                Err((key, why)) => damaged(pass, T::FAMILY, key, &why)?,
            }
        }
        Ok(())
    }
}

/// A record that does not decode is found, and removed by a repair.
pub fn damaged(pass: &mut Pass<'_>, family: Family, key: Vec<u8>, why: &str) -> Result<()> {
    let subject = format!("{family} {}", hex(&key));
    pass.find(Fault::Damaged, &subject, why, |batch| batch.delete_raw(family, key))
}

fn decode<T: Table>((raw, bytes): Pair) -> std::result::Result<Row<T>, (Vec<u8>, String)> {
    let decoded = T::Key::decode(&raw).map_err(|e| e.to_string());
    match decoded.and_then(|key| Ok((key, T::Value::decode(&bytes).map_err(|e| e.to_string())?))) {
        Ok((key, value)) if of_the_crawl(T::FAMILY, &raw) => Ok(Row { raw, key, value }),
        Ok(_) => Err((raw, "a crawl that does not exist".into())),
        Err(why) => Err((raw, why)),
    }
}

/// There is one crawl in a folder today: a record of another is nobody's, and would never be read.
fn of_the_crawl(family: Family, key: &[u8]) -> bool {
    let at = match family {
        Family::Queue | Family::HostCounts | Family::Seen | Family::Pages | Family::Rejected => 10,
        Family::Failed | Family::Nearer | Family::NearMembers | Family::Seeds | Family::Visits | Family::Credit => 10,
        Family::Notes => 0,
        Family::Due | Family::Sitemaps => 18,
        Family::HostState | Family::Waiting | Family::Parked | Family::Content | Family::Robots => return true,
        Family::VisitHosts | Family::Near | Family::Feed | Family::Outbox | Family::Meta => return true,
    };
    key.get(at..).is_some_and(|rest| rest.starts_with(&CrawlId::default().0.to_be_bytes()))
}

impl Pass<'_> {
    /// The records of many keys, in the keys' order; one that does not decode counts as absent, for it is found elsewhere.
    pub fn look<T: Table>(&self, keys: &[T::Key]) -> Result<Vec<Option<T::Value>>> {
        let mut sorted: Vec<(Vec<u8>, usize)> = keys.iter().map(Key::encode).zip(0..).collect();
        sorted.sort_unstable();
        let (encoded, places): (Vec<_>, Vec<_>) = sorted.into_iter().unzip();
        let mut out: Vec<Option<T::Value>> = keys.iter().map(|_| None).collect();
        for (bytes, place) in self.storage.multi_get(T::FAMILY, &encoded)?.into_iter().zip(places) {
            if let (Some(bytes), Some(slot)) = (bytes, out.get_mut(place)) {
                *slot = T::Value::decode(&bytes).ok();
            }
        }
        Ok(out)
    }

    /// The record of one key; one that does not decode counts as absent.
    pub fn look_one<T: Table>(&self, key: &T::Key) -> Result<Option<T::Value>> {
        Ok(self.storage.get(T::FAMILY, &key.encode())?.and_then(|bytes| T::Value::decode(&bytes).ok()))
    }
}

/// Every record of a family that decodes, read a second time.
pub fn each<T: Table>(pass: &mut Pass<'_>, mut act: impl FnMut(&mut Pass<'_>, Row<T>) -> Result<()>) -> Result<()> {
    let mut rows = Stream::<T>::quiet();
    while let Some(row) = rows.next_in(pass, &[])? {
        act(pass, row)?;
    }
    Ok(())
}

/// All records of a family, some at a time, to be judged together.
pub fn each_chunk<T: Table>(
    pass: &mut Pass<'_>,
    mut act: impl FnMut(&mut Pass<'_>, &[Row<T>]) -> Result<()>,
) -> Result<()> {
    let mut rows = Stream::<T>::default();
    loop {
        let chunk = rows.chunk_in(pass, &[], TOGETHER)?;
        if chunk.is_empty() {
            return Ok(());
        }
        act(pass, &chunk)?;
    }
}
