//! The files beside the database: open WARC, its index, `crawl.jsonl`; all three grow and are cut back together (I3).

use std::path::PathBuf;
use std::sync::Arc;

use super::files::{line_of, warcinfo};
use super::messages::Commit;
use crate::actors::node::Node;
use crate::domain::time::UnixMillis;
use crate::storage::ledger::Change;
use crate::storage::values::{Tails, WarcPlace};
use crate::storage::read;
use crate::warc::WarcError;
use crate::warc::append::AppendFile;
use crate::warc::cdxj::{CdxjEntry, sort_into};
use crate::warc::name::{Series, cdxj_name, open_name};
use crate::warc::spool::RecordData;
use crate::warc::writer::{Place, WarcLimits, WarcWriter};

/// A WARC being written, with its index.
struct Current {
    warc: WarcWriter,
    cdxj: AppendFile,
}

/// See the module's text.
pub(super) struct Archive {
    dir: PathBuf,
    series: Series,
    limits: WarcLimits,
    current: Option<Current>,
    jsonl: AppendFile,
    committed: Tails,
    serial: u32,
}

impl Archive {
    /// Takes the files up where the last commit left them; what lies beyond is cut off.
    pub fn open(node: &Arc<Node>) -> Result<Self, super::StoreError> {
        let settings = &node.rules.settings;
        let dir = settings.warc_dir();
        std::fs::create_dir_all(&dir).map_err(WarcError::io("create", &dir))?;
        let series = Series::new(&settings.store.prefix, &node.rules.host_name)?;
        let limits = WarcLimits { max_size: settings.store.warc_max_size, max_age: settings.store.warc_max_age };
        let committed: Tails = read::meta(&*node.storage, ())?.unwrap_or_default();
        let (jsonl, repair) =
            AppendFile::resume(&settings.store.data_dir.join("crawl.jsonl"), committed.jsonl, true)?;
        if repair.cut > 0 {
            log::info!("crawl.jsonl cut back to what is committed: bytes={}", repair.cut);
        }
        let now = node.clock.now();
        let current = resume(&dir, &committed, now, limits)?;
        super::files::sweep(&dir, current.as_ref().map(|c| &**c.warc.name()));
        let serial = super::files::next_serial(&dir, &series);
        Ok(Self { dir, series, limits, current, jsonl, committed, serial })
    }

    /// Appends the records and lines of a group and notes in each page where it stands.
    pub fn append(&mut self, node: &Node, group: &mut [Commit], now: UnixMillis) -> Result<(), WarcError> {
        if self.current.as_ref().is_some_and(|c| c.warc.rotate_due(now)) {
            self.close_current()?;
        }
        let mut lines = Vec::new();
        let mut index = Vec::new();
        for commit in group.iter_mut() {
            let place = match &commit.payload {
                Some(payload) => {
                    let records: Vec<&RecordData> =
                        std::iter::once(&payload.response).chain(&payload.others).map(|r| &r.data).collect();
                    let current = self.current(node, now)?;
                    let places = current.warc.append(records)?;
                    let entry = CdxjEntry::new(
                        &payload.url,
                        payload.date,
                        &payload.head,
                        Some(payload.digest),
                        payload.revisit,
                    );
                    let place = places.into_iter().next();
                    index.extend(place.iter().flat_map(|p| entry.line(p).into_bytes()));
                    place
                }
                None => None,
            };
            note_place(commit, place.as_ref());
            line_of(commit, place.as_ref(), now, &mut lines);
        }
        if !index.is_empty() {
            self.current(node, now)?.cdxj.append(&index)?;
        }
        if !lines.is_empty() {
            self.jsonl.append(&lines)?;
        }
        Ok(())
    }

    fn current(&mut self, node: &Node, now: UnixMillis) -> Result<&mut Current, WarcError> {
        let current = match self.current.take() {
            Some(current) => current,
            None => {
                let mut warc = WarcWriter::create(&self.dir, &self.series, self.serial, now, self.limits)?;
                self.serial += 1;
                let info = warcinfo(node, warc.name(), now)?;
                warc.append([&info.data])?;
                let cdxj = AppendFile::create(&self.dir.join(open_name(&cdxj_name(warc.name()))))?;
                Current { warc, cdxj }
            }
        };
        Ok(self.current.insert(current))
    }

    /// How long each file is now.
    pub fn tails(&self) -> Tails {
        let tail = |c: &Current| (c.warc.name().to_string(), c.warc.position());
        let index = |c: &Current| (cdxj_name(c.warc.name()), c.cdxj.len());
        Tails {
            warc: self.current.as_ref().map(tail),
            cdxj: self.current.as_ref().map(index),
            jsonl: self.jsonl.len(),
        }
    }

    /// The batch that says so was written.
    pub fn commit(&mut self) {
        self.committed = self.tails();
    }

    /// The batch was not written: the files are cut back to the last commit.
    pub fn revert(&mut self) -> Result<(), WarcError> {
        self.jsonl.roll_back(self.committed.jsonl)?;
        let Some(mut current) = self.current.take() else { return Ok(()) };
        match (&self.committed.warc, &self.committed.cdxj) {
            (Some((name, len)), Some((_, index))) if **name == **current.warc.name() => {
                current.warc.roll_back(*len)?;
                current.cdxj.roll_back(*index)?;
                self.current = Some(current);
            }
            _ => {
                // Begun by the lost batch: nothing in it is committed.
                let (warc, cdxj) = (current.warc.path().to_owned(), current.cdxj.path().to_owned());
                drop(current);
                for path in [warc, cdxj] {
                    std::fs::remove_file(&path).map_err(WarcError::io("remove", &path))?;
                }
            }
        }
        Ok(())
    }

    /// Brings all three to the disk.
    pub fn sync(&mut self) -> Result<(), WarcError> {
        if let Some(current) = &mut self.current {
            current.warc.sync()?;
            current.cdxj.sync()?;
        }
        self.jsonl.sync()
    }

    /// Closes the WARC and sorts its index.
    pub fn close(&mut self, _: &Node) -> Result<(), WarcError> {
        self.close_current()?;
        self.jsonl.sync()
    }

    fn close_current(&mut self) -> Result<(), WarcError> {
        let Some(current) = self.current.take() else { return Ok(()) };
        let Current { warc, mut cdxj } = current;
        cdxj.sync()?;
        let index = self.dir.join(cdxj_name(warc.name()));
        let open = cdxj.path().to_owned();
        sort_into(&open, &index)?;
        let closed = warc.close()?;
        std::fs::remove_file(&open).map_err(WarcError::io("remove", &open))?;
        log::info!("warc closed: file={}", closed.display());
        Ok(())
    }
}

fn resume(
    dir: &std::path::Path,
    committed: &Tails,
    now: UnixMillis,
    limits: WarcLimits,
) -> Result<Option<Current>, WarcError> {
    let (Some((name, len)), Some((index, index_len))) = (&committed.warc, &committed.cdxj) else { return Ok(None) };
    let (open, open_index) = (dir.join(open_name(name)), dir.join(open_name(index)));
    if !open.exists() {
        // Closed after the last commit: all that it holds is committed. Its index may be still to be finished.
        if open_index.exists() {
            if !dir.join(index).exists() {
                sort_into(&open_index, &dir.join(index))?;
            }
            std::fs::remove_file(&open_index).map_err(WarcError::io("remove", &open_index))?;
        }
        return Ok(None);
    }
    let (warc, repair) = WarcWriter::resume(dir, name, *len, now, limits)?;
    let (cdxj, _) = AppendFile::resume(&open_index, *index_len, true)?;
    if repair.cut > 0 || repair.missing > 0 {
        log::info!("warc taken up again: file={name} cut={} missing={}", repair.cut, repair.missing);
    }
    Ok(Some(Current { warc, cdxj }))
}

fn note_place(commit: &mut Commit, place: Option<&Place>) {
    if let (Change::Page(page), Some(place)) = (&mut commit.change, place) {
        if let Some(capture) = &mut page.capture {
            let Place { file, offset, length } = place;
            capture.warc = Some(WarcPlace { file: file.to_string(), offset: *offset, length: *length });
        }
    }
}
