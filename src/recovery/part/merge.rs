//! A folder takes over all that another one has.

use std::path::Path;

use super::rows::{self, Out, counters_of};
use super::{Kind, PartError, Result, Side, Tell, Work, coming, files, share_of, with_map};
use crate::base::fault::Faults;
use crate::domain::cluster::map::{Map, MemberId};
use crate::domain::partition::PartitionSet;
use crate::storage::keys::{Key, KeyRange, RowKey};
use crate::storage::share::{Share, may_go_on};
use crate::storage::values::{FileLengths, Handed, Membership, OutTo, Received};
use crate::storage::{Batch, Family, read};

/// What is wanted.
pub struct Merge<'s> {
    /// The folder that takes over.
    pub into: Side<'s>,
    /// The one that is no crawl of its own afterwards.
    pub from: Side<'s>,
    /// The command, to be given again when this does not come to its end.
    pub command: String,
    /// Fault points.
    pub faults: Faults,
}

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[expect(missing_docs, reason = "each name says it")]
pub struct Merged {
    pub name: String,
    pub from: String,
    pub partitions: usize,
    /// URLs of the folder, and captures.
    pub urls: u64,
    pub captures: u64,
    /// Links that are to be taken in when it runs next.
    pub rows_to_take_in: u64,
    pub archive_files: u64,
    pub archive_elsewhere: u64,
}

/// Both, and what goes over.
struct Sides {
    into: Membership,
    from: Membership,
    /// The newer of their maps.
    map: Map,
    set: PartitionSet,
}

impl Merge<'_> {
    /// Takes over, or goes on with it.
    ///
    /// # Errors
    /// [`PartError`]; the same command goes on.
    pub fn run(&self, tell: Tell<'_>) -> Result<Merged> {
        let mut sides = self.sides()?;
        let mut archived = files::Archived::default();
        if !sides.is_accepted() {
            self.into.is_clean()?;
            self.from.is_clean()?;
            files::names_are_free(&self.from, &self.into)?;
            self.note(&mut sides)?;
            archived = self.take(&sides, tell)?;
        }
        let (name, from) = (share_of(&sides.into)?.name(), share_of(&sides.from)?.name());
        self.from.put_member(&Membership { work: None, merged: Some(name.clone()), ..sides.from.clone() })?;
        self.faults.check("part.merged")?;
        let into = self.into.member()?.ok_or_else(|| PartError::Note { data: self.into.data.clone() })?;
        self.into.put_member(&Membership { work: None, ..into.clone() })?;
        let (counters, share) = (counters_of(&self.into)?, share_of(&into)?);
        Ok(Merged {
            name,
            from,
            partitions: sides.set.len(),
            urls: counters.discovered,
            captures: counters.pages_stored,
            rows_to_take_in: rows_to(&self.into, &share)?,
            archive_files: archived.here,
            archive_elsewhere: archived.elsewhere,
        })
    }

    /// Both, if they belong together and nothing else is under way with them.
    fn sides(&self) -> Result<Sides> {
        let (into, from) = (&self.into, &self.from);
        into.is_apart()?;
        from.is_apart()?;
        let of = |side: &Side<'_>| side.member()?.ok_or_else(|| PartError::Whole(side.data.clone()));
        if into.seed()? != from.seed()? {
            return Err(PartError::OtherCrawl(into.data.clone(), from.data.clone()));
        }
        let (of_into, of_from) = (of(into)?, of(from)?);
        let work = into.work()?.filter(|work| work.kind == Kind::Merging && is_folder(&work.other, &from.data));
        if work.is_none() {
            may_go_on(into.storage)?;
            may_go_on(from.storage)?;
        }
        let (a, b) = (share_of(&of_into)?, share_of(&of_from)?);
        let set = work.map_or_else(|| b.mine().clone(), |work| work.partitions);
        if a.own == b.own {
            return Err(PartError::OtherCrawl(into.data.clone(), from.data.clone()));
        }
        let version = a.map.version;
        let accepted = of_into.also.contains(&b.own);
        if !accepted && version == b.map.version && a.map != b.map {
            return Err(PartError::Maps { one: into.data.clone(), two: from.data.clone(), version });
        }
        let map = if accepted || version >= b.map.version { a.map.clone() } else { b.map.clone() };
        let agrees = |share: &Share| map.owned_by(share.own) == *share.mine();
        let agreed = agrees(&a) && agrees(&b);
        if !accepted && !agreed {
            return Err(PartError::Maps { one: into.data.clone(), two: from.data.clone(), version: map.version });
        }
        Ok(Sides { into: of_into, from: of_from, map, set })
    }

    fn note(&self, sides: &mut Sides) -> Result<()> {
        let note = |side: &Side<'_>, kind, other: &Path, member: &mut Membership, name| -> Result<()> {
            let other = std::path::absolute(other).map_err(PartError::io("find", other))?;
            let work = Work { command: self.command.clone(), kind, other, partitions: sides.set.clone(), name };
            member.work = Some(work.text());
            side.put_member(member)
        };
        let (name, of_from) = (share_of(&sides.into)?.name(), share_of(&sides.from)?.name());
        note(&self.into, Kind::Merging, &self.from.data, &mut sides.into, of_from)?;
        self.faults.check("part.merging")?;
        note(&self.from, Kind::Leaving, &self.into.data, &mut sides.from, name)?;
        Ok(self.faults.check("part.leaving")?)
    }

    /// Copies everything, and accepts it in one commit.
    fn take(&self, sides: &Sides, tell: Tell<'_>) -> Result<files::Archived> {
        let (into, from, set) = (&self.into, &self.from, &sides.set);
        rows::clear(into, set, tell)?; // of an earlier try
        let came = coming::copy(from, into, set, tell)?;
        self.faults.check("part.taken")?;
        let archived = files::take_all(from, into, tell)?;
        let jsonl = self.lines(sides)?;
        self.faults.check("part.carried")?;
        let mut batch = Batch::new();
        self.hand_over(sides, &mut batch)?;
        coming::accept(from, into, &PartitionSet::all(), &came, &mut batch)?;
        let lengths = read::meta::<FileLengths>(into.storage, ())?.unwrap_or_default();
        batch.put_meta((), &FileLengths { jsonl, ..lengths });
        batch.put_meta((), &self.together(sides)?);
        into.storage.write(&batch)?;
        into.storage.sync()?;
        into.storage.flush()?;
        self.faults.check("part.accepted")?;
        Ok(archived)
    }

    /// Lines that this folder does not have: those that the other was given when it was split off are here already.
    fn lines(&self, sides: &Sides) -> Result<u64> {
        let lengths = read::meta::<FileLengths>(self.into.storage, ())?.unwrap_or_default();
        let known = |member: MemberId| sides.into.own == member || sides.into.also.contains(&member);
        let begin = sides.from.lines.filter(|(of, _)| known(*of)).map_or(0, |(_, bytes)| bytes);
        files::copy_lines(&self.from.data, begin, &self.into.data, lengths.jsonl, &|_| true)
    }

    /// Rows that the other has for anybody, and rows for it from anybody: it is one with this member now. Which rows came is known of both.
    fn hand_over(&self, sides: &Sides, batch: &mut Batch) -> Result<()> {
        let (into, from) = (&self.into, &self.from);
        let mut own = read::meta::<Handed>(into.storage, ())?.unwrap_or_default();
        let theirs = read::meta::<Handed>(from.storage, ())?.unwrap_or_default();
        let mut received = read::meta::<Received>(into.storage, ())?.unwrap_or_default();
        let there = read::meta::<Received>(from.storage, ())?.unwrap_or_default();
        let is_both = |member: &MemberId| {
            [&sides.into, &sides.from].iter().any(|side| side.own == *member || side.also.contains(member))
        };
        let mut out = Out::new(Some(into.storage));
        rows::each(from.storage, Family::Outbox, &KeyRange::all(), &mut |key, value| {
            let row = RowKey::decode(key).map_err(|_| rows::damaged(&from.data, Family::Outbox, key))?;
            let came = received.got.get(&(row.from, row.to)).is_some_and(|last| row.number <= *last);
            if !came {
                out.batch.put_raw(Family::Outbox, key.to_vec(), value);
            }
            out.flush(4 << 20)
        })?;
        out.flush(0)?;
        self.taken_in_there(sides, &there, batch)?;
        for (way, last) in &there.got {
            let known = received.got.entry(*way).or_default();
            *known = (*known).max(*last);
        }
        for (to, of) in &theirs.out {
            let (next, known) = (of.next, own.out.entry(*to).or_default());
            (known.rows, known.bytes, known.links) =
                (known.rows + of.rows, known.bytes + of.bytes, known.links + of.links);
            if is_both(to) {
                let known = received.got.entry((sides.from.own, *to)).or_default();
                *known = (*known).max(next.saturating_sub(1)); // they are all here
            }
        }
        for (to, of) in &mut own.out {
            if is_both(to) {
                *of = OutTo { next: of.next, ..OutTo::default() }; // to be taken in, not to be sent
            }
        }
        own.out.retain(|_, of| *of != OutTo::default());
        batch.put_meta((), &own);
        batch.put_meta((), &received);
        Ok(())
    }

    /// Rows for the other that it had, and has taken in: they are done with here too.
    fn taken_in_there(&self, sides: &Sides, there: &Received, batch: &mut Batch) -> Result<()> {
        let is_there = |to: MemberId| sides.from.own == to || sides.from.also.contains(&to);
        rows::each(self.into.storage, Family::Outbox, &KeyRange::all(), &mut |key, _| {
            let row = RowKey::decode(key).map_err(|_| rows::damaged(&self.into.data, Family::Outbox, key))?;
            let came = there.got.get(&(row.from, row.to)).is_some_and(|last| row.number <= *last);
            if is_there(row.to) && came && self.from.storage.get(Family::Outbox, key)?.is_none() {
                batch.delete_raw(Family::Outbox, key.to_vec());
            }
            Ok(())
        })
    }

    /// What this folder is afterwards.
    fn together(&self, sides: &Sides) -> Result<Membership> {
        let map = sides.map.given(&sides.set, sides.into.own);
        let mut member = with_map(&sides.into, &map);
        member.also.push(sides.from.own);
        member.also.extend(&sides.from.also);
        Ok(member)
    }
}

impl Sides {
    fn is_accepted(&self) -> bool {
        self.into.also.contains(&self.from.own)
    }
}

fn is_folder(noted: &Path, given: &Path) -> bool {
    std::path::absolute(given).is_ok_and(|given| given == noted)
}

/// Rows that wait to be taken in.
fn rows_to(side: &Side<'_>, share: &Share) -> Result<u64> {
    let mut waiting = 0;
    rows::each(side.storage, Family::Outbox, &KeyRange::all(), &mut |key, _| {
        let row = RowKey::decode(key).map_err(|_| rows::damaged(&side.data, Family::Outbox, key))?;
        waiting += u64::from(share.is_me(row.to));
        Ok(())
    })?;
    Ok(waiting)
}
