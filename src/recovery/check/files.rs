//! The files of the archive: which are here, how far their committed bytes go, which are kept elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::pass::Pass;
use super::{CheckError, Fault, Note, Result};
use crate::recovery::checkpoint::uploads;
use crate::recovery::{if_there, names_in};
use crate::storage::keys::PageKey;
use crate::storage::read;
use crate::storage::values::{DoneKind, FileLengths, PageRecord};
use crate::warc::name::{cdxj_name, closed_name, is_warc, open_name};

/// Where the files of a crawl lie.
#[derive(Clone, Debug)]
pub struct ArchivePlace {
    /// The data folder: `crawl.jsonl`, `uploaded.jsonl`.
    pub data: PathBuf,
    /// The folder of WARC and CDXJ files.
    pub warc: PathBuf,
}

#[derive(Clone, Debug)]
pub struct Warc {
    pub path: PathBuf,
    pub index: PathBuf,
    /// It is still written to.
    pub open: bool,
    /// Bytes that count: what is there, as far as it was committed.
    pub limit: u64,
    /// Committed bytes of its index.
    pub index_limit: u64,
    pub pages: u64,
}

/// What is known of the files.
pub struct Files {
    place: ArchivePlace,
    /// Lengths as of the last commit.
    pub file_lengths: Option<FileLengths>,
    /// The WARC files here, by their final names.
    pub warcs: BTreeMap<String, Warc>,
    elsewhere: BTreeSet<String>,
    doubtful: BTreeSet<PageKey>,
}

/// Where the record of a capture is.
pub enum Whereabouts {
    /// Where it should be, or where it was moved.
    There,
    /// Lost, and listed as not yet safe: the next start queues its URL.
    Requeued,
    /// Not there, and why.
    Gone(String),
}

impl Files {
    pub fn look(pass: &mut Pass<'_>, place: &ArchivePlace) -> Result<Self> {
        let file_lengths = read::meta::<FileLengths>(pass.storage, ()).ok().flatten();
        let names = names_in(&place.warc).map_err(CheckError::io("list", &place.warc))?;
        let names: BTreeSet<String> = names.into_iter().collect();
        let mut files = Self {
            elsewhere: uploaded(&place.data.join(uploads::LIST))?,
            place: place.clone(),
            file_lengths,
            warcs: BTreeMap::new(),
            doubtful: BTreeSet::new(),
        };
        for name in &names {
            files.take(pass, name, &names)?;
        }
        files.judge_tails(pass, &names)?;
        Ok(files)
    }

    fn take(&mut self, pass: &mut Pass<'_>, name: &str, names: &BTreeSet<String>) -> Result<()> {
        let open = closed_name(name);
        let closed = open.unwrap_or(name);
        if !is_warc(closed) {
            return Ok(());
        }
        let own = self.file_lengths.as_ref().is_none_or(|t| t.warc.as_ref().is_some_and(|(warc, _)| warc == closed));
        if open.is_some() && !own {
            pass.note(Note::TidiedAtStart, || name.to_owned());
            return Ok(());
        }
        if open.is_none() && names.contains(&open_name(closed)) && own {
            return Ok(()); // the open one is taken up
        }
        let path = self.place.warc.join(name);
        let len = len_of(&path)?;
        let tail = |tail: Option<&(String, u64)>, of: &str| {
            tail.filter(|t| t.0 == of && open.is_some()).map_or(u64::MAX, |t| t.1)
        };
        let committed = self.file_lengths.as_ref();
        let index = cdxj_name(closed);
        let limit = tail(committed.and_then(|t| t.warc.as_ref()), closed).min(len);
        if limit < len {
            pass.note(Note::CutAtStart, || format!("{name}: {} bytes", len - limit));
        }
        let index_limit = tail(committed.and_then(|t| t.cdxj.as_ref()), &index);
        let index = self.place.warc.join(if open.is_some() { open_name(&index) } else { index });
        let warc = Warc { path, index, open: open.is_some(), limit, index_limit, pages: 0 };
        self.warcs.insert(closed.to_owned(), warc);
        Ok(())
    }

    /// The files that the last commit names are there.
    fn judge_tails(&mut self, pass: &mut Pass<'_>, names: &BTreeSet<String>) -> Result<()> {
        let Some(file_lengths) = self.file_lengths.clone() else { return Ok(()) };
        if let Some((name, _)) = &file_lengths.warc
            && !names.contains(name)
            && !names.contains(&open_name(name))
            && !self.elsewhere.contains(name)
        {
            let left = FileLengths { warc: None, cdxj: None, ..file_lengths.clone() };
            pass.find(Fault::TailMissing, name, "is neither open nor closed there", |batch| batch.put_meta((), &left))?;
        }
        let lines = len_of(&self.lines())?;
        if lines > file_lengths.jsonl {
            pass.note(Note::CutAtStart, || format!("crawl.jsonl: {} bytes", lines - file_lengths.jsonl));
        }
        Ok(())
    }

    /// Captures that may not have reached the disk.
    pub fn doubt(&mut self, pages: impl Iterator<Item = PageKey>) {
        self.doubtful.extend(pages);
    }

    /// The data folder.
    pub fn data(&self) -> &Path {
        &self.place.data
    }

    pub fn lines(&self) -> PathBuf {
        self.place.data.join("crawl.jsonl")
    }

    /// Committed bytes of `crawl.jsonl`.
    pub fn lines_limit(&self) -> u64 {
        self.file_lengths.as_ref().map_or(u64::MAX, |t| t.jsonl)
    }

    /// Where the record of a capture is; counts it.
    pub fn whereabouts(&mut self, key: &PageKey, page: &PageRecord) -> Whereabouts {
        let Some(place) = &page.warc else {
            let left_out = page.how == DoneKind::Unstored;
            return if left_out { Whereabouts::There } else { Whereabouts::Gone("has no place in the archive".into()) };
        };
        let Some(warc) = self.warcs.get_mut(&place.file) else {
            return match self.elsewhere.contains(&place.file) {
                true => Whereabouts::There,
                false => Whereabouts::Gone(format!("{} is not there", place.file)),
            };
        };
        if place.offset.checked_add(place.length).is_some_and(|end| end <= warc.limit) {
            warc.pages += 1;
            return Whereabouts::There;
        }
        if warc.open && self.doubtful.contains(key) {
            return Whereabouts::Requeued;
        }
        Whereabouts::Gone(format!("{} ends at {}, before {} + {}", place.file, warc.limit, place.offset, place.length))
    }

    /// Tells of what is kept elsewhere, and counts the files.
    pub fn tell(&self, pass: &mut Pass<'_>) {
        let absent: Vec<_> =
            self.elsewhere.iter().filter(|name| is_warc(name) && !self.warcs.contains_key(*name)).collect();
        for name in &absent {
            pass.note(Note::KeptElsewhere, || (*name).clone());
        }
        let files = pass.report.files.get_or_insert_default();
        files.warcs = self.warcs.len() as u64;
        files.elsewhere = absent.len() as u64;
    }
}

/// A file's length; 0 when it is not there.
fn len_of(path: &Path) -> Result<u64> {
    let found = if_there(std::fs::metadata(path)).map_err(CheckError::io("look at", path))?;
    Ok(found.map_or(0, |found| found.len()))
}

/// Names of WARC files that were uploaded. A line that is none is passed over: the file it names is then missed.
fn uploaded(path: &Path) -> Result<BTreeSet<String>> {
    let text = if_there(std::fs::read(path)).map_err(CheckError::io("read", path))?.unwrap_or_default();
    let files = uploads::parse_list(&text).into_keys();
    Ok(files.filter_map(|file| Some(Path::new(&file).file_name()?.to_str()?.to_owned())).collect())
}
