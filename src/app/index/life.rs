//! From opening the index to closing it, or to what goes wrong.

use std::cell::Cell;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use data_encoding::HEXLOWER;

use super::{LOOK, acknowledge};
use crate::app::follow::{Deaths, Ending, Last, give_way};
use crate::crawl::node::Node;
use crate::index::generations::Plan;
use crate::index::{Doing, Folder, FollowError, Follower, Reader, Source, Writer};
use crate::storage::feed;
use crate::storage::keys::SeenKey;

/// How often it looks whether something new is shown.
const NEWS: Duration = Duration::from_millis(200);

/// Why a life ended.
pub(super) enum End {
    /// The run is over.
    Over,
    /// It is switched off, or a new generation is to be built.
    Again,
}

/// One life.
pub(super) struct Life<'a> {
    pub node: &'a Node,
    pub ending: &'a Ending,
    pub deaths: &'a Deaths<SeenKey>,
    /// The page at work.
    pub in_hand: &'a Cell<Option<SeenKey>>,
    /// Whether something was committed.
    pub committed: &'a mut bool,
}

impl Life<'_> {
    /// Until it is over.
    ///
    /// # Errors
    /// [`FollowError`]: what was not committed is done again.
    pub fn live(mut self) -> Result<End, FollowError> {
        let node = self.node;
        let shown = loop {
            if let Some(shown) = *node.crawl.progress.fed.borrow() {
                break shown;
            }
            // What was shown while it waited counts.
            if self.ending.wait(NEWS).is_some() && node.crawl.progress.fed.borrow().is_none() {
                return Ok(End::Over);
            }
        };
        let rules = &node.crawl.rules;
        let (again, warc) = (rules.again(), rules.settings.warc_dir());
        let making = (&rules.settings.index, &rules.canon, &node.prints);
        let source = Source::of(&*node.storage, making, (&warc, &again), &node.faults);
        let folder = Folder::of(&rules.settings.store.data_dir);
        let log = feed::log(&*node.storage)?;
        let id = HEXLOWER.encode(&log.id);
        node.index.tell(|told| told.doing = Doing::Checking);
        source.faults.check("index.open")?;
        let fresh = node.index.take_rebuild() || !folder.has_keywords(rules.settings.index.keywords);
        let plan = folder.plan(&log, &id, shown, fresh);
        let writer = self.open(&folder, &plan)?;
        let follower = Follower::new(source, writer, plan.stand.clone(), (&id, log.trimmed, shown));
        acknowledge(node, follower.stand().seq);
        self.follow(follower, &folder, plan)
    }

    /// Opens the generation that is written, and the one that answers; what is of no use goes.
    fn open(&self, folder: &Folder, plan: &Plan) -> Result<Writer, FollowError> {
        let node = self.node;
        let dir = folder.generation(plan.writes);
        let io = |doing: String| move |source| FollowError::Io { doing, source };
        fs::create_dir_all(&dir).map_err(io(format!("making the folder {}", dir.display())))?;
        let memory = usize::try_from(node.crawl.rules.settings.index.memory).unwrap_or(usize::MAX);
        let writer = Writer::open(&dir, memory)?;
        if folder.current() != Some(plan.answers) {
            folder.set_current(plan.answers).map_err(io(noting(folder)))?;
        }
        let reader = Arc::new(Reader::open(&folder.generation(plan.answers))?);
        self.tell_answering(&reader, folder)?;
        node.index.answer(Some(reader));
        plan.useless.iter().for_each(|number| folder.remove(*number));
        node.index.tell(|told| {
            (told.answers, told.writes, told.written) = (plan.answers, plan.writes, plan.stand.clone());
            told.error = None;
        });
        let (answers, writes, from) = (plan.answers, plan.writes, plan.stand.seq);
        log::info!("index: answers={answers:04} written={writes:04} from_entry={from}");
        Ok(writer)
    }

    fn follow(&mut self, mut follower: Follower<'_>, folder: &Folder, mut plan: Plan) -> Result<End, FollowError> {
        let node = self.node;
        let mut since = None;
        loop {
            let settings = node.crawl.live().settings.index.clone();
            let last = self.ending.wait(Duration::ZERO);
            if last == Some(Last::Now) || !settings.enabled || node.index.is_to_rebuild() {
                follower.close(last.is_none())?;
                return Ok(if last.is_some() { End::Over } else { End::Again });
            }
            if node.disk.holds() {
                if last.is_some() {
                    return Ok(End::Over);
                }
                node.index.tell(|told| told.doing = Doing::Held);
                self.ending.wait(LOOK);
                continue;
            }
            let shown = node.crawl.progress.fed.borrow().unwrap_or(0);
            let begun = node.clock.uptime();
            let did = follower.step(shown, &|page| self.deaths.is_over(&page), self.in_hand)?;
            if let Some(step) = did {
                node.index.tell(|told| {
                    told.doing = Doing::Following;
                    (told.added, told.unread) = (told.added + step.added, told.unread + step.unread);
                    told.written = follower.stand().clone();
                });
                since.get_or_insert(begun);
            }
            let now = node.clock.uptime();
            let is_due = since.is_some_and(|since| now.saturating_sub(since) >= settings.refresh);
            let caught_up = follower.has(shown);
            if is_due && last.is_some() {
                log::info!("index: takes in what is left: entry={} of={shown}", follower.stand().seq);
            }
            let swaps = caught_up && plan.answers != plan.writes;
            if follower.is_dirty() && (is_due || swaps || caught_up && last.is_some()) {
                self.commit(&mut follower, folder)?;
                since = None;
            }
            if swaps {
                self.swap(folder, &mut plan)?;
            }
            match did {
                None if last.is_some() => {
                    follower.close(false)?;
                    return Ok(End::Over);
                }
                None => {
                    node.index.tell(|told| told.doing = Doing::Waiting);
                    self.ending.wait(NEWS);
                }
                Some(_) => give_way(node, self.ending, now.saturating_sub(begun)),
            }
        }
    }

    fn commit(&mut self, follower: &mut Follower<'_>, folder: &Folder) -> Result<(), FollowError> {
        follower.commit()?;
        *self.committed = true;
        acknowledge(self.node, follower.stand().seq);
        match self.node.index.reader() {
            Some(reader) => self.tell_answering(&reader, folder),
            None => Ok(()),
        }
    }

    /// What answers takes up the last commit.
    fn tell_answering(&self, reader: &Reader, folder: &Folder) -> Result<(), FollowError> {
        reader.reload()?;
        let committed = reader.stand()?.map_or(0, |stand| stand.seq);
        self.node.index.tell(|told| (told.committed, told.bytes) = (committed, folder.bytes()));
        Ok(())
    }

    /// The generation that was built takes the place of the one that answered.
    fn swap(&self, folder: &Folder, plan: &mut Plan) -> Result<(), FollowError> {
        let reader = Arc::new(Reader::open(&folder.generation(plan.writes))?);
        let io = |source| FollowError::Io { doing: noting(folder), source };
        folder.set_current(plan.writes).map_err(io)?;
        let former = std::mem::replace(&mut plan.answers, plan.writes);
        self.node.index.answer(Some(reader.clone()));
        self.node.index.tell(|told| told.answers = plan.writes);
        folder.remove(former); // which nobody asks any more
        self.tell_answering(&reader, folder)?;
        log::info!("index: the new generation answers: generation={:04} former={former:04}", plan.writes);
        Ok(())
    }
}

fn noting(folder: &Folder) -> String {
    format!("noting which index answers, in {}", folder.current_file().display())
}
