//! The files of a crawl together: the open WARC with its CDXJ, and `crawl.jsonl`.
//!
//! The one who commits appends pages and lines, takes [`Archive::file_lengths`], and stores these lengths in the same
//! transaction as the pages. At the next start [`Archive::open`] cuts off what no commit knows (invariant I3). Order of
//! the barrier: [`Archive::sync`] first, then the transaction log. Rotation belongs between commits: a page that is
//! appended and not yet committed cannot be rolled back once its file is closed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::append::{AppendFile, sync_dir};
use super::cdxj::sort_into;
use super::error::WarcError;
use super::info::WarcInfo;
use super::jsonl::CrawlLine;
use super::member::Compression;
use super::name::{Series, cdxj_name, open_name};
use super::page::PageRecords;
use super::record::{RecordBuilder, RecordId, SpoolRule};
use super::repair;
use super::writer::{Place, WarcLimits, WarcWriter};
use crate::base::fault::{Faults, Injected};
use crate::base::time::UnixMillis;
use crate::storage::values::{FileLengths, UnsyncedLines};

pub use super::repair::{ArchiveRepair, Strays};

/// How and where the files are written.
#[derive(Clone, Debug)]
pub struct ArchiveSettings {
    /// Folder of WARC and CDXJ files; created when missing.
    pub dir: PathBuf,
    /// The file `crawl.jsonl`.
    pub jsonl: PathBuf,
    /// Parts of the file names.
    pub series: Series,
    /// When a WARC is full.
    pub limits: WarcLimits,
    /// How records of new files are compressed.
    pub compression: Compression,
    /// Content of the `warcinfo` record.
    pub info: WarcInfo,
    /// Fault points.
    pub faults: Faults,
}

/// The files of a crawl.
pub struct Archive {
    settings: ArchiveSettings,
    open: Option<OpenWarc>,
    jsonl: AppendFile,
    serial: u32,
}

/// The WARC being written and its index.
pub(super) struct OpenWarc {
    pub(super) warc: WarcWriter,
    pub(super) cdxj: AppendFile,
}

impl Archive {
    /// Takes up the files where the last commit left them.
    ///
    /// `file_lengths` is that of the last commit. `unsynced_from` is the lowest offset in the open WARC of a page that was
    /// committed after the last barrier: from there on records are read and checked, since a power failure may have lost
    /// them. `strays` says what becomes of open files that `file_lengths` does not name.
    pub fn open(
        settings: ArchiveSettings,
        file_lengths: &FileLengths,
        unsynced_from: Option<u64>,
        strays: Strays,
        now: UnixMillis,
    ) -> Result<(Self, ArchiveRepair), WarcError> {
        fs::create_dir_all(&settings.dir).map_err(WarcError::io("create the folder", &settings.dir))?;
        let mut report = ArchiveRepair::default();
        let mut open = repair::take_up(&settings, file_lengths, unsynced_from, now, &mut report)?;
        if let Some(open) = open.as_mut().filter(|o| o.warc.position() == 0) {
            append_info(&settings, &mut open.warc, now)?; // nothing of it had reached the disk
        }
        let kept = open.as_ref().map(|o| Arc::clone(o.warc.name()));
        let serial = repair::tidy(&settings, kept.as_deref(), strays, &mut report)?;
        let jsonl = repair::take_up_lines(&settings.jsonl, file_lengths.jsonl, &mut report)?;
        settings.jsonl.parent().filter(|p| !p.as_os_str().is_empty()).map_or(Ok(()), sync_dir)?;
        Ok((Self { settings, open, jsonl, serial }, report))
    }

    /// Appends the records of pages and their index lines, all or none; gives the place of each page's response or
    /// revisit, in the same order. Begins a WARC when none is open.
    ///
    /// # Errors
    /// [`WarcError`], with nothing appended.
    pub fn append<'p>(
        &mut self,
        pages: impl IntoIterator<Item = &'p PageRecords>,
        now: UnixMillis,
    ) -> Result<Vec<Place>, WarcError> {
        let pages: Vec<&PageRecords> = pages.into_iter().collect();
        if pages.is_empty() {
            return Ok(Vec::new());
        }
        let faults = self.settings.faults.clone();
        faults.check("archive.append").map_err(|e| self.injected(e))?;
        let open = self.begun(now)?;
        let before = open.warc.position();
        let all = open.warc.append(pages.iter().flat_map(|p| p.records().iter().map(|r| &r.data)))?;
        let indexed = faults.check("archive.appended").map_err(|e| injected(open.cdxj.path(), e));
        let places = first_of_each(&pages, all);
        let lines: String = pages.iter().zip(&places).map(|(page, place)| page.entry().line(place)).collect();
        if let Err(fault) = indexed.and_then(|()| open.cdxj.append(lines.as_bytes())) {
            open.warc.file.roll_back(before)?;
            return Err(fault);
        }
        Ok(places)
    }

    /// Appends lines to `crawl.jsonl`, all or none; gives where they begin and their text.
    pub fn log<'l>(&mut self, lines: impl IntoIterator<Item = &'l CrawlLine<'l>>) -> Result<UnsyncedLines, WarcError> {
        let mut text = Vec::new();
        lines.into_iter().for_each(|line| line.write(&mut text));
        self.settings.faults.check("archive.log").map_err(|e| self.injected(e))?;
        let from = self.jsonl.append(&text)?;
        self.settings.faults.check("archive.logged").map_err(|e| self.injected(e))?;
        Ok(UnsyncedLines { from, text: String::from_utf8_lossy(&text).into_owned() })
    }

    /// Makes `text` what `crawl.jsonl` holds from `from` on: a power failure may have left anything there.
    pub fn log_again(&mut self, from: u64, text: &str) -> Result<(), WarcError> {
        let from = from.min(self.jsonl.len());
        if self.jsonl.end_from(from)? == text.as_bytes() {
            return Ok(());
        }
        self.jsonl.roll_back(from)?;
        self.jsonl.append(text.as_bytes()).map(drop)
    }

    /// The lengths to be stored with the next commit.
    pub fn file_lengths(&self) -> FileLengths {
        let warc = self.open.as_ref().map(|o| (o.warc.name().to_string(), o.warc.position()));
        let cdxj = self.open.as_ref().map(|o| (cdxj_name(o.warc.name()), o.cdxj.len()));
        FileLengths { warc, cdxj, jsonl: self.jsonl.len() }
    }

    /// Writes what lies beyond `synced` a second time: a sync of it failed.
    pub fn write_again(&mut self, synced: &FileLengths) -> Result<(), WarcError> {
        let from = |tail: &Option<(String, u64)>, name: &str| tail.as_ref().filter(|t| t.0 == name).map_or(0, |t| t.1);
        if let Some(open) = &mut self.open {
            let name = Arc::clone(open.warc.name());
            open.warc.file.write_again(from(&synced.warc, &name))?;
            open.cdxj.write_again(from(&synced.cdxj, &cdxj_name(&name)))?;
        }
        self.jsonl.write_again(synced.jsonl)
    }

    /// Brings everything appended to the disk.
    pub fn sync(&mut self) -> Result<(), WarcError> {
        self.settings.faults.check("archive.sync").map_err(|e| self.injected(e))?;
        if let Some(open) = &mut self.open {
            open.warc.file.sync()?;
            open.cdxj.sync()?;
        }
        self.jsonl.sync()?;
        self.settings.faults.check("archive.synced").map_err(|e| self.injected(e))
    }

    /// True when the WARC is full or old enough to be closed, or is of another compression than the next page.
    pub fn rotate_due(&self, now: UnixMillis) -> bool {
        let ending = self.settings.compression.ending();
        self.open.as_ref().is_some_and(|o| o.warc.rotate_due(now) || !o.warc.name().ends_with(ending))
    }

    /// Syncs all files and closes the open WARC; the next page begins another. Call it after a commit and before the next append; then
    /// commit [`file_lengths`](Self::file_lengths) again with the next page. A closed WARC is not looked into any more at a start, so the commits of its
    /// records must be safe before. Its index is sorted, then both get their final names.
    ///
    /// # Errors
    /// [`WarcError`]; the WARC then stays open and usable, and closing may be tried again.
    pub fn close(&mut self) -> Result<Option<Arc<str>>, WarcError> {
        self.sync()?;
        self.settings.faults.check("archive.rotate").map_err(|e| self.injected(e))?;
        let Some(open) = &mut self.open else { return Ok(None) };
        let name = Arc::clone(open.warc.name());
        sort_into(open.cdxj.path(), &self.settings.dir.join(cdxj_name(&name)))?;
        self.settings.faults.check("archive.sorted").map_err(|e| injected(open.warc.path(), e))?;
        open.warc.close()?;
        self.settings.faults.pass("archive.renamed");
        // If this fails, the next start removes it: its WARC and sorted index are closed.
        let _ = fs::remove_file(open.cdxj.path());
        self.open = None;
        Ok(Some(name))
    }

    /// Our error for a fault that was injected.
    fn injected(&self, fault: Injected) -> WarcError {
        injected(&self.settings.dir, fault)
    }

    /// The open WARC as it is named now.
    pub fn open_path(&self) -> Option<&Path> {
        self.open.as_ref().map(|o| o.warc.path())
    }

    fn begun(&mut self, now: UnixMillis) -> Result<&mut OpenWarc, WarcError> {
        let open = match self.open.take() {
            Some(open) => open,
            None => self.begin(now)?,
        };
        Ok(self.open.insert(open))
    }

    /// Begins a WARC with its `warcinfo` record. A number already taken is passed over, as after a failed beginning.
    fn begin(&mut self, now: UnixMillis) -> Result<OpenWarc, WarcError> {
        let s = &self.settings;
        self.serial = self.serial.wrapping_add(1);
        let name = s.series.warc_name(now, self.serial, s.compression);
        let mut warc = WarcWriter::create(&s.dir, &name, now, s.limits)?;
        let begun = begin_with_info(s, &mut warc, now);
        begun.map(|cdxj| OpenWarc { warc, cdxj }).inspect_err(|_| {
            let _ = fs::remove_file(s.dir.join(open_name(&name)));
            let _ = fs::remove_file(s.dir.join(open_name(&cdxj_name(&name))));
        })
    }
}

fn injected(path: &Path, fault: Injected) -> WarcError {
    WarcError::io("write", path)(fault.into())
}

/// Appends the `warcinfo` record and makes the index.
fn begin_with_info(s: &ArchiveSettings, warc: &mut WarcWriter, now: UnixMillis) -> Result<AppendFile, WarcError> {
    append_info(s, warc, now)?;
    AppendFile::create(&s.dir.join(open_name(&cdxj_name(warc.name()))))
}

fn append_info(settings: &ArchiveSettings, warc: &mut WarcWriter, now: UnixMillis) -> Result<(), WarcError> {
    let spool = SpoolRule { dir: settings.dir.clone(), memory: usize::MAX };
    let name = Arc::clone(warc.name());
    // The file may be older than the settings.
    let compression = Compression::of(&name).unwrap_or_default();
    let record = RecordBuilder::new(compression, spool).warcinfo(RecordId::random(), now, &name, &settings.info);
    let record = record.map_err(|e| WarcError::io("begin", warc.path())(std::io::Error::other(e)))?;
    warc.append([&record.data]).map(drop)
}

/// The first place of each page's records.
fn first_of_each(pages: &[&PageRecords], all: Vec<Place>) -> Vec<Place> {
    let mut all = all.into_iter();
    let take = |page: &&PageRecords| {
        let mut own = all.by_ref().take(page.records().len());
        let first = own.next();
        own.for_each(drop);
        first
    };
    pages.iter().filter_map(take).collect()
}
