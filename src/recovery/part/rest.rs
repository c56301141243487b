//! A member of an engine's crawl while it is at rest: what its map asks for is done, in the order of [`ToDo`]. Each step is committed before
//! the next, so that the same call goes on after a kill, and does nothing when all is as the map says.
//!
//! | fault point | what is so then |
//! |---|---|
//! | `moves.written` | the parcel lies beside the database, and nowhere else |
//! | `moves.sent` | it is in the store too; the partitions are still this folder's own |
//! | `moves.let_go` | they count there and no more here; their rows are still here |
//! | `moves.fetched` | a parcel of the store lies beside the database |
//! | `moves.begun` | it is noted which partitions are half here |
//! | `moves.rows` | their rows are here, and do not count |
//! | `moves.accepted` | they count |

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::parcels::{self, MOVES};
use super::{PartError, Result, Side, Tell, parcel, share_of};
use crate::base::fault::Faults;
use crate::base::time::UnixMillis;
use crate::domain::cluster::held::{Held, ToDo};
use crate::domain::cluster::map::{Map, MemberId};
use crate::domain::cluster::moves::object_name;
use crate::domain::partition::{Partition, PartitionSet};
use crate::recovery::checkpoint::{Place, files};
use crate::storage::Storage;
use crate::storage::share::{Share, may_go_on};
use crate::storage::values::Membership;

/// Opens the database of a parcel, or makes one with the same seed.
pub type OpenParcel<'o> = &'o dyn Fn(&Path) -> Result<Box<dyn Storage>>;

/// What is wanted.
pub struct Rest<'r> {
    /// The member's folder, opened and claimed by the caller.
    pub side: Side<'r>,
    /// Its name.
    pub name: &'r str,
    /// The newest map.
    pub map: &'r Map,
    /// What a folder has that says nothing of it yet: all, where it has the crawl; none, where it was just made to join.
    pub begins_with: &'r PartitionSet,
    /// The store that all members see.
    pub store: &'r dyn Place,
    /// Where the files of its archive lie once they are uploaded.
    pub archive_at: &'r str,
    /// Number of this process among those of the member: objects are never written twice by two of them.
    pub session: u64,
    /// Now.
    pub now: UnixMillis,
    /// Opens parcels.
    pub open: OpenParcel<'r>,
    /// Fault points.
    pub faults: &'r Faults,
}

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[expect(missing_docs, reason = "each name says it")]
pub struct Rested {
    /// Partitions written out for others, and URLs in them.
    pub exported: usize,
    pub urls_exported: u64,
    /// Partitions that were another's already, and URLs in them.
    pub given_up: usize,
    pub urls_given_up: u64,
    /// Partitions taken in, and URLs in them.
    pub taken: usize,
    pub urls_taken: u64,
    /// Bytes to the store, and from there.
    pub bytes_sent: u64,
    pub bytes_fetched: u64,
    /// Partitions that are its own, and nowhere: in no object that the store has.
    pub missing: Vec<Partition>,
}

/// The record as it is changed step by step.
struct Work<'w, 'r> {
    rest: &'w Rest<'r>,
    me: MemberId,
    member: Membership,
    held: Held,
    done: Rested,
}

impl Rest<'_> {
    /// Does what the map asks for. Gives the folder's share, none where one member has all and the folder never was in parts: then nothing is
    /// written.
    ///
    /// # Errors
    /// [`PartError`]; the same call goes on. [`PartError::Store`] when the store is away, [`PartError::Unclean`] when partitions are to go and
    /// the last run has to be put right first: the map is in the folder already then.
    pub fn run(&self, tell: Tell<'_>) -> Result<(Option<Share>, Rested)> {
        files::remove_dir(&self.side.data.join(MOVES))?;
        let Some(mut work) = self.enter()? else { return Ok((None, Rested::default())) };
        let ToDo { give_up, clear, fetch, export, missing } = work.held.to_do(self.map, work.me);
        if !(give_up.is_empty() && export.is_empty()) {
            self.side.is_clean()?;
        }
        work.give_up(&give_up, tell)?;
        work.clear(&clear, tell)?;
        let mut objects: BTreeMap<String, PartitionSet> = BTreeMap::new();
        for (partition, object) in fetch {
            objects.entry(object).or_insert_with(PartitionSet::none).add(partition);
        }
        for (object, set) in &objects {
            work.fetch(object, set, tell)?;
        }
        work.export(&export, tell)?;
        work.miss(&missing, "no object of the map has them");
        files::remove_dir(&self.side.data.join(MOVES))?;
        Ok((Some(share_of(&work.member)?), work.done))
    }

    /// The record with the newest map, which is in the folder before anything is done by it.
    fn enter(&self) -> Result<Option<Work<'_, '_>>> {
        let Side { storage, data, .. } = &self.side;
        if self.side.seed()? != self.map.seed {
            return Err(PartError::OtherSeed(data.clone()));
        }
        let stranger = || PartError::NotMember {
            data: data.clone(),
            name: self.name.to_owned(),
            known: self.map.members.iter().map(|member| member.name.as_str()).collect::<Vec<_>>().join(", "),
        };
        let me = self.map.member(self.name).ok_or_else(stranger)?.id;
        may_go_on(*storage)?;
        let known = self.side.member()?;
        let share = known.as_ref().map(share_of).transpose()?;
        let mut held = match share {
            None if self.map.members.len() == 1 && *self.begins_with == PartitionSet::all() => return Ok(None),
            None => Held::new(self.begins_with.clone()),
            Some(share) if share.own != me => return Err(stranger()),
            Some(share) if share.map.version > self.map.version => {
                let (known, given) = (share.map.version, self.map.version);
                return Err(PartError::OlderMap { data: data.clone(), known, given });
            }
            Some(share) => share.held,
        };
        held.forget(self.map, me);
        let map = String::from_utf8_lossy(&self.map.text()).into_owned();
        let member = match &known {
            Some(known) => Membership { map, ..known.clone() },
            None => Membership { map, own: me, also: Vec::new(), work: None, merged: None, lines: None, held: None },
        };
        let mut work = Work { rest: self, me, member, held, done: Rested::default() };
        work.note();
        if known.as_ref() != Some(&work.member) {
            self.side.put_member(&work.member)?;
        }
        Ok(Some(work))
    }

    fn dir(&self, object: &str) -> PathBuf {
        self.side.data.join(MOVES).join(object)
    }

    fn parcel(&self, object: &str) -> Result<Parcel> {
        let dir = self.dir(object);
        Ok(Parcel { storage: (self.open)(&dir)?, dir })
    }
}

impl Work<'_, '_> {
    /// What is held, in the record that is written next.
    fn note(&mut self) {
        self.member.held = serde_json::to_string(&self.held).ok(); // numbers and names: it cannot fail
    }

    /// Writes what is held.
    fn put(&mut self) -> Result<()> {
        self.note();
        self.rest.side.put_member(&self.member)
    }

    fn give_up(&mut self, set: &PartitionSet, tell: Tell<'_>) -> Result<()> {
        if set.is_empty() {
            return Ok(());
        }
        set.iter().for_each(|partition| self.held.gave(partition));
        self.note();
        let urls = parcel::let_go(&self.rest.side, set, &self.member, tell)?;
        (self.done.given_up, self.done.urls_given_up) = (set.len(), urls);
        log::info!("partitions given up, the map has another owner: partitions={} urls={urls}", set.len());
        Ok(())
    }

    fn clear(&mut self, set: &PartitionSet, tell: Tell<'_>) -> Result<()> {
        if set.is_empty() {
            return Ok(());
        }
        parcel::clear(&self.rest.side, set, tell)?;
        set.iter().for_each(|partition| self.held.cleared(partition));
        self.put()
    }

    fn fetch(&mut self, object: &str, set: &PartitionSet, tell: Tell<'_>) -> Result<()> {
        let rest = self.rest;
        let Some(bytes) = parcels::fetch(rest.store, object, &rest.dir(object))? else {
            self.miss(set, &format!("the store has no {MOVES}/{object}"));
            return Ok(());
        };
        rest.faults.check("moves.fetched")?;
        let parcel = rest.parcel(object)?;
        if parcel.side().seed()? != rest.map.seed {
            let problem = "its keys are of another crawl".to_owned();
            return Err(PartError::Parcel { name: object.to_owned(), problem });
        }
        let begun: PartitionSet = set.iter().filter(|partition| self.held.begins(*partition)).collect();
        self.put()?;
        rest.faults.check("moves.begun")?;
        begun.iter().for_each(|partition| self.held.accepted(partition, object));
        self.note();
        let urls = parcel::take_in(&rest.side, &parcel.side(), &begun, &self.member, rest.faults, tell)?;
        rest.faults.check("moves.accepted")?;
        drop(parcel);
        files::remove_dir(&rest.dir(object))?;
        self.done.taken += begun.len();
        self.done.urls_taken += urls;
        self.done.bytes_fetched += bytes;
        log::info!("partitions taken in: object={object} partitions={} urls={urls} bytes={bytes}", begun.len());
        Ok(())
    }

    fn export(&mut self, set: &PartitionSet, tell: Tell<'_>) -> Result<()> {
        let (rest, Some(first)) = (self.rest, set.iter().next()) else { return Ok(()) };
        let object = object_name(first, rest.map.version, rest.session);
        let parcel = rest.parcel(&object)?;
        let urls = parcel::write_out(&rest.side, set, &parcel.side(), rest.archive_at, rest.now, tell)?;
        drop(parcel);
        rest.faults.check("moves.written")?;
        let bytes = parcels::send(rest.store, &object, &rest.dir(&object))?;
        rest.faults.check("moves.sent")?;
        set.iter().for_each(|partition| self.held.exported(partition, &object));
        self.note();
        parcel::let_go(&rest.side, set, &self.member, tell)?;
        rest.faults.check("moves.let_go")?;
        self.clear(set, tell)?;
        (self.done.exported, self.done.urls_exported, self.done.bytes_sent) = (set.len(), urls, bytes);
        log::info!("partitions written out: object={object} partitions={} urls={urls} bytes={bytes}", set.len());
        Ok(())
    }

    fn miss(&mut self, set: &PartitionSet, why: &str) {
        if let Some(first) = set.iter().next() {
            self.done.missing.extend(set.iter());
            log::error!("partitions of this member are nowhere, {why}: partitions={} first={first}", set.len());
        }
    }
}

/// A parcel that is open; closed by Drop.
struct Parcel {
    storage: Box<dyn Storage>,
    dir: PathBuf,
}

impl Parcel {
    fn side(&self) -> Side<'_> {
        Side { storage: &*self.storage, data: self.dir.clone(), warc: self.dir.clone() }
    }
}

impl Drop for Parcel {
    fn drop(&mut self) {
        self.storage.close();
    }
}
