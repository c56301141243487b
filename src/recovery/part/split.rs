//! Some partitions of a folder become another folder, which goes on by itself.

use std::path::PathBuf;

use super::rows::{self, Copied, counters_of};
use super::{Choice, Kind, PartError, Result, Side, Tell, Work, begun, files, going, share_of, with_map};
use crate::base::fault::Faults;
use crate::base::time::UnixMillis;
use crate::domain::cluster::map::{Map, MemberId};
use crate::domain::partition::PartitionSet;
use crate::storage::share::may_go_on;
use crate::storage::tables::MetaRecord;
use crate::storage::values::{CardSettings, ClockState, FileLengths, LiveSettings, Membership, RunState};
use crate::storage::{Batch, Storage, read};

/// What is wanted.
pub struct Split<'s> {
    /// The folder that is taken apart.
    pub from: Side<'s>,
    /// The new data folder.
    pub to: PathBuf,
    /// What goes.
    pub choice: Choice,
    /// The name of the folder that is taken apart, where it has none yet.
    pub own_name: String,
    /// The name of the new one; `n` and a number when absent.
    pub name: Option<String>,
    /// The command, to be given again when this does not come to its end.
    pub command: String,
    /// Now.
    pub now: UnixMillis,
    /// Fault points.
    pub faults: Faults,
}

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[expect(missing_docs, reason = "each name says it")]
pub struct SplitUp {
    pub own_name: String,
    pub name: String,
    pub partitions: usize,
    /// URLs of the new folder, and captures.
    pub urls: u64,
    pub captures: u64,
    /// URLs that are left in the other.
    pub left: u64,
    /// Archive files that are in both folders now, and those that stayed where they are.
    pub archive_files: u64,
    pub archive_elsewhere: u64,
}

/// A taking apart that is noted.
pub struct Plan {
    member: Membership,
    set: PartitionSet,
    name: String,
    /// The partitions are the new folder's already.
    pub given: bool,
}

impl Split<'_> {
    /// Notes what is to be done, or finds the note of it. Until then nothing is changed.
    ///
    /// # Errors
    /// What speaks against it.
    pub fn plan(&self) -> Result<Plan> {
        self.from.is_apart()?;
        self.from.is_clean()?;
        if let Some(work) = self.from.work()? {
            return self.go_on(work);
        }
        may_go_on(self.from.storage)?;
        let member = match self.from.member()? {
            Some(member) => member,
            None => {
                let map = Map::first(&self.own_name, self.from.seed()?)?;
                let map = String::from_utf8_lossy(&map.text()).into_owned();
                Membership {
                    map,
                    own: MemberId(0),
                    also: Vec::new(),
                    work: None,
                    merged: None,
                    lines: None,
                    held: None,
                }
            }
        };
        let share = share_of(&member)?;
        if share.own != MemberId(0) {
            return Err(PartError::NotFirst { own: share.name(), first: share.name_of(MemberId(0)) });
        }
        let name = self.name.clone().unwrap_or_else(|| format!("n{}", u32::from(share.map.next) + 1));
        share.map.joined(&name, 1)?;
        let set = self.choice.of(self.from.storage, share.mine())?;
        if set == *share.mine() {
            return Err(PartError::All(self.from.data.clone()));
        }
        begun::make(&self.from.data, &self.to)?;
        let other = std::path::absolute(&self.to).map_err(PartError::io("find", &self.to))?;
        let work = Work {
            command: self.command.clone(),
            kind: Kind::Giving,
            other,
            partitions: set.clone(),
            name: name.clone(),
        };
        let member = Membership { work: Some(work.text()), ..member };
        self.from.put_member(&member)?;
        self.faults.check("part.noted")?;
        Ok(Plan { member, set, name, given: false })
    }

    fn go_on(&self, work: Work) -> Result<Plan> {
        let given = std::path::absolute(&self.to).map_err(PartError::io("find", &self.to))?;
        let data = self.from.data.clone();
        if work.kind != Kind::Giving {
            return Err(PartError::Another { data, command: work.command });
        }
        let Some(member) = self.from.member()? else { return Err(PartError::Note { data }) };
        let is_given = share_of(&member)?.map.member(&work.name).is_some();
        if work.other != given {
            return Err(PartError::Elsewhere { data, noted: work.other, given, back: !is_given });
        }
        if !is_given {
            begun::clear(&self.from, &self.to)?;
        }
        Ok(Plan { member, set: work.partitions, name: work.name, given: is_given })
    }

    /// Makes the new folder, and gives it its partitions. `to`: its database, new but for its seed.
    ///
    /// # Errors
    /// [`PartError`]; the same command goes on.
    pub fn run(&self, plan: Plan, to: &Side<'_>, tell: Tell<'_>) -> Result<SplitUp> {
        let Plan { member, set, name, given } = plan;
        let share = share_of(&member)?;
        let mut done = files::Archived::default();
        if !given {
            let (map, id) = share.map.joined(&name, 1)?;
            let map = map.given(&set, id);
            let (copied, archived) = self.build(&member, (&map, id), &set, to, tell)?;
            done = archived;
            self.give(&member, &map, &set, &copied)?;
        }
        let released = to.member()?.ok_or_else(|| PartError::Note { data: to.data.clone() })?;
        if released.work.is_some() {
            to.put_member(&Membership { work: None, ..released })?;
        }
        self.faults.check("part.released")?;
        rows::clear(&self.from, &set, tell)?;
        self.faults.check("part.cleared")?;
        let member = self.from.member()?.ok_or_else(|| PartError::Note { data: self.from.data.clone() })?;
        self.from.put_member(&Membership { work: None, ..member })?;
        let (of_new, left) = (counters_of(to)?, counters_of(&self.from)?);
        Ok(SplitUp {
            own_name: share.name(),
            name,
            partitions: set.len(),
            urls: of_new.discovered,
            captures: of_new.pages_stored,
            left: left.discovered,
            archive_files: done.here,
            archive_elsewhere: done.elsewhere,
        })
    }

    /// Everything that the new folder is to have. It is complete at the end, and may not be crawled on yet.
    fn build(
        &self,
        member: &Membership,
        (map, id): (&Map, MemberId),
        set: &PartitionSet,
        to: &Side<'_>,
        tell: Tell<'_>,
    ) -> Result<(Copied, files::Archived)> {
        let from = &self.from;
        let other = std::path::absolute(&from.data).map_err(PartError::io("find", &from.data))?;
        let name = share_of(member)?.name();
        let work = Work { command: self.command.clone(), kind: Kind::Receiving, other, partitions: set.clone(), name };
        let new = Membership {
            own: id,
            also: Vec::new(),
            work: Some(work.text()),
            merged: None,
            lines: None,
            held: None,
            ..with_map(member, map)
        };
        to.put_member(&new)?;
        self.faults.check("part.begun")?;
        let copied = going::copy(from, Some(to.storage), set, Some(0), tell)?;
        self.faults.check("part.rows")?;
        let archived = files::share_out(from, to, &copied.files, self.now, tell)?;
        let jsonl = files::copy_lines(&from.data, 0, &to.data, 0, &|partition| set.has(partition))?;
        self.faults.check("part.files")?;
        let mut batch = Batch::new();
        going::alone(from, set, &copied, &mut batch)?;
        batch.put_meta((), &FileLengths { jsonl, ..FileLengths::default() });
        same::<RunState>(from.storage, &mut batch)?;
        same::<LiveSettings>(from.storage, &mut batch)?;
        same::<CardSettings>(from.storage, &mut batch)?;
        same::<ClockState>(from.storage, &mut batch)?;
        batch.put_meta((), &Membership { lines: Some((member.own, jsonl)), ..new });
        to.storage.write(&batch)?;
        to.storage.sync()?;
        to.storage.flush()?;
        self.faults.check("part.built")?;
        Ok((copied, archived))
    }

    /// The step that counts: from here on the partitions are the new folder's.
    fn give(&self, member: &Membership, map: &Map, set: &PartitionSet, copied: &Copied) -> Result<()> {
        let from = &self.from;
        let mut batch = Batch::new();
        going::less(from, set, copied, &mut batch)?;
        batch.put_meta((), &with_map(member, map));
        from.storage.write(&batch)?;
        from.storage.sync()?;
        Ok(self.faults.check("part.given")?)
    }
}

/// Takes back a taking apart that has not come to the step that counts. What was made of the new folder is left, to be removed.
///
/// # Errors
/// [`PartError::TooLate`].
pub fn abandon(from: &Side<'_>) -> Result<Option<PathBuf>> {
    let Some(work) = from.work()?.filter(|work| work.kind == Kind::Giving) else { return Ok(None) };
    let Some(member) = from.member()? else { return Ok(None) };
    let share = share_of(&member)?;
    if share.map.member(&work.name).is_some() {
        return Err(PartError::TooLate);
    }
    if share.map.members.len() > 1 {
        from.put_member(&Membership { work: None, ..member })?;
    } else {
        let mut batch = Batch::new(); // it was whole before
        batch.delete_meta::<Membership>(());
        from.storage.write(&batch)?;
        from.storage.sync()?;
    }
    Ok(Some(work.other))
}

/// A record of the whole folder is the same in the other.
fn same<M: MetaRecord<Of = ()>>(from: &dyn Storage, batch: &mut Batch) -> Result<()> {
    read::meta::<M>(from, ())?.iter().for_each(|record| batch.put_meta((), record));
    Ok(())
}
