//! Links on the wire: rows of one member for another, asked for and answered through the engine.
//!
//! A request is the length of its head in four bytes, the head as JSON ([`Head`]), then the rows: each its number in eight bytes, its length in
//! four, most significant byte first, and the row as it lies in the database. The answer is JSON ([`Answer`]).

use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};

use crate::base::sync::lock;
use crate::domain::cluster::map::MemberId;
use crate::domain::cluster::receiver::{Judged, judge};
use crate::domain::cluster::sender::{Answer, Ask};
use crate::storage::keys::RowKey;
use crate::storage::share::Share;
use crate::storage::tables::Outbox;
use crate::storage::values::{OutboxRow, Received, Value};
use crate::storage::{Batch, Storage, StorageError, read};

/// Longest head: bytes.
const HEAD: usize = 4 << 10;

/// Begins a request.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Head {
    from: MemberId,
    ask: Ask,
}

/// The subject on which a member's session takes links.
pub fn subject(member: &str, session: &str) -> String {
    format!("links.{member}.{session}")
}

/// A request with these rows, as they lie in the database.
pub fn request(from: MemberId, ask: &Ask, rows: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let head = serde_json::to_vec(&Head { from, ask: *ask }).unwrap_or_default(); // numbers: it cannot fail
    let mut out = Vec::new();
    let length = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX).to_be_bytes();
    out.extend(length(head.len()));
    out.extend(head);
    for (number, row) in rows {
        out.extend(number.to_be_bytes());
        out.extend(length(row.len()));
        out.extend(row);
    }
    out
}

/// What was answered; none for what is no answer.
pub fn answer(text: &[u8]) -> Option<Answer> {
    serde_json::from_slice(text).ok()
}

/// Takes a number of bytes off the front.
fn taken<'b, const N: usize>(from: &mut &'b [u8]) -> Option<&'b [u8; N]> {
    let (front, rest) = from.split_first_chunk::<N>()?;
    *from = rest;
    Some(front)
}

/// A request taken apart: each row unpacks, and their numbers rise. None for what is none.
fn parse(request: &[u8]) -> Option<(Head, Vec<(u64, OutboxRow)>)> {
    let mut rest = request;
    let length = u32::from_be_bytes(*taken(&mut rest)?) as usize;
    let (head, mut rest) = rest.split_at_checked(length.min(HEAD))?;
    let head: Head = serde_json::from_slice(head).ok()?;
    let mut rows = Vec::new();
    while !rest.is_empty() {
        let number = u64::from_be_bytes(*taken(&mut rest)?);
        let length = u32::from_be_bytes(*taken(&mut rest)?) as usize;
        let (row, after) = rest.split_at_checked(length)?;
        let row = OutboxRow::decode(row).ok().filter(|row| row.unpack().is_ok())?;
        if rows.last().is_some_and(|(last, _)| *last >= number) {
            return None;
        }
        rows.push((number, row));
        rest = after;
    }
    let (first, last) = head.ask.rows;
    let ends = rows.first().zip(rows.last()).map(|((from, _), (to, _))| (*from, *to));
    (ends.is_none_or(|ends| ends == (first, last)) && ends.is_some() == (last >= first)).then_some((head, rows))
}

/// Takes rows of others into the database, where they wait to be taken in. It is their only writer.
pub struct Receiver {
    storage: Arc<dyn Storage>,
    share: Arc<Share>,
    /// Whether more may be taken now.
    may_take: Box<dyn Fn() -> bool + Send + Sync>,
    /// Is told of rows that came: how many links and bytes they have.
    came: Box<dyn Fn(u64, u64) + Send + Sync>,
    /// False when nothing is taken any more.
    open: Mutex<bool>,
}

impl Receiver {
    /// Begins to take rows. `may_take` is asked before, `came` told afterwards: links and bytes.
    pub fn new(
        storage: Arc<dyn Storage>,
        share: Arc<Share>,
        may_take: impl Fn() -> bool + Send + Sync + 'static,
        came: impl Fn(u64, u64) + Send + Sync + 'static,
    ) -> Self {
        let (may_take, came) = (Box::new(may_take), Box::new(came));
        Self { storage, share, may_take, came, open: Mutex::new(true) }
    }

    /// Answers a request.
    pub fn hear(&self, request: &[u8]) -> Vec<u8> {
        let Some((head, rows)) = parse(request) else {
            log::error!(
                "links that cannot be read are refused: bytes={} (does each machine run one version?)",
                request.len()
            );
            return Vec::new();
        };
        let answer = self.take(&head, rows).unwrap_or_else(|e| {
            log::warn!(
                "links of another member cannot be stored, it asks again: from={} error={e}",
                self.share.name_of(head.from)
            );
            Answer::Later
        });
        serde_json::to_vec(&answer).unwrap_or_default() // a number: it cannot fail
    }

    /// Nothing is taken any more: the database is about to be closed.
    pub fn close(&self) {
        *lock(&self.open) = false;
    }

    fn take(&self, head: &Head, rows: Vec<(u64, OutboxRow)>) -> Result<Answer, StorageError> {
        let open = lock(&self.open);
        if !*open {
            return Ok(Answer::Later);
        }
        let (way, version) = ((head.from, self.share.own), self.share.by_map(|map| map.version));
        let mut received: Received = read::meta(&*self.storage, ())?.unwrap_or_default();
        let (first, last) = match judge(received.got.get(&way).copied(), &head.ask, version, 0) {
            Judged::Say(answer) => return Ok(answer),
            Judged::Take(..) if !(self.may_take)() => return Ok(Answer::Later),
            Judged::Take(first, last) => (first, last),
        };
        let (mut batch, mut links, mut bytes) = (Batch::new(), 0, 0);
        for (number, row) in rows.iter().filter(|(number, _)| *number >= first) {
            batch.put::<Outbox>(&RowKey { from: head.from, to: self.share.own, number: *number }, row);
            (links, bytes) = (links + row.links, bytes + row.packed.len() as u64);
        }
        received.got.insert(way, last);
        batch.put_meta((), &received);
        self.storage.write(&batch)?;
        (self.came)(links, bytes);
        Ok(Answer::Stands(last))
    }
}
