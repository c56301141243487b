//! Records copied byte for byte into WARC files of their own, each capture once, in the order of the archive; so files are read from their
//! beginning to their end. Memory is bounded: places are sorted in nameless files, and a file has a hundred thousand captures at most.

use std::fs::File;
use std::io::{self, Write};
use std::iter::Peekable;
use std::os::unix::fs::FileExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Begin, ExportError, Output, Row, Source};
use crate::base::sort::{Sorted, Sorter};
use crate::warc::group::Group;
use crate::warc::info::WarcInfo;
use crate::warc::member::Compression;
use crate::warc::pick::opened_file;
use crate::warc::record::{RecordBuilder, RecordId, SpoolRule};
use crate::warc::writer::Place;

/// Captures of a file at most.
const MOST: usize = 100_000;
/// Bytes copied at a time.
const PIECE: usize = 256 << 10;

/// A capture to be copied.
#[derive(Serialize, Deserialize)]
struct Taken {
    file: String,
    offset: u64,
    group: Group,
    /// It was asked for itself; another refers to it else.
    asked: bool,
}

/// Captures that are to be copied.
pub(super) struct Pack<'a> {
    source: &'a Source<'a>,
    after: u64,
    size: u64,
    places: Sorter,
}

impl<'a> Pack<'a> {
    /// None yet.
    pub fn new(begin: &Begin<'a>, out: &Output<'a>) -> Self {
        let size = begin.options.size.unwrap_or(begin.source.settings.store.warc_max_size);
        Self { source: begin.source, after: begin.after, size, places: Sorter::new(out.scratch()) }
    }

    /// Takes a page with what it refers to; false when its own records cannot be read.
    pub fn take(&mut self, row: &Row<'_>) -> Result<bool, ExportError> {
        let groups = row.groups()?;
        let is_in = !groups.is_empty();
        for (nth, (page, group)) in groups.into_iter().enumerate() {
            let Some(at) = page.warc else { continue };
            let taken = Taken { file: at.file, offset: at.offset, group, asked: nth == 0 };
            // Those of a place stand together, in the order of the archive; what was asked for itself comes first.
            let key = [taken.file.as_bytes(), &[0], &taken.offset.to_be_bytes(), &[u8::from(nth > 0)]].concat();
            let text = serde_json::to_vec(&taken).map_err(io::Error::from)?;
            self.places.push(&[key, text].concat())?;
        }
        Ok(is_in)
    }

    /// The files they make.
    pub fn files(self) -> Result<Plans<'a>, ExportError> {
        let places = Places { sorted: self.places.sorted()?, last: None };
        Ok(Plans { source: self.source, after: self.after, size: self.size, places: places.peekable(), number: 0 })
    }
}

/// Each capture once.
struct Places {
    sorted: Sorted,
    last: Option<(String, u64)>,
}

impl Iterator for Places {
    type Item = io::Result<Taken>;

    fn next(&mut self) -> Option<io::Result<Taken>> {
        loop {
            let row = match self.sorted.next_record().transpose()? {
                Ok(row) => row,
                Err(e) => return Some(Err(e)),
            };
            let text = row.iter().position(|byte| *byte == 0).and_then(|end| row.get(end + 10..)).unwrap_or_default();
            let taken: Taken = match serde_json::from_slice(text) {
                Ok(taken) => taken,
                Err(e) => return Some(Err(e.into())),
            };
            let place = Some((taken.file.clone(), taken.offset));
            if self.last != place {
                self.last = place;
                return Some(Ok(taken));
            }
        }
    }
}

/// The files, one after the other.
pub(super) struct Plans<'a> {
    source: &'a Source<'a>,
    after: u64,
    size: u64,
    places: Peekable<Places>,
    number: u32,
}

/// A WARC file that is to be written.
pub(super) struct Plan<'a> {
    /// Its name.
    pub name: String,
    source: &'a Source<'a>,
    info: Vec<u8>,
    taken: Vec<Taken>,
}

impl<'a> Plans<'a> {
    /// The next one; none when all captures are in one.
    pub fn next(&mut self) -> Result<Option<Plan<'a>>, ExportError> {
        let Some(first) = self.places.next().transpose()? else { return Ok(None) };
        let compression = Compression::of(&first.file).unwrap_or_default();
        let (mut length, mut taken) = (first.group.length(), vec![first]);
        while length < self.size && taken.len() < MOST {
            let is_like =
                |next: &io::Result<Taken>| next.as_ref().map_or(true, |next| next.file.ends_with(compression.ending()));
            let Some(next) = self.places.next_if(is_like).transpose()? else { break };
            length += next.group.length();
            taken.push(next);
        }
        self.number += 1;
        let (prefix, ending) = (&self.source.settings.store.warc_prefix, compression.ending());
        let name = format!("{prefix}-export-{:010}-{:05}{ending}", self.after, self.number);
        let info = info(self.source, &name, &taken, compression)?;
        Ok(Some(Plan { name, source: self.source, info, taken }))
    }
}

/// The record that a file begins with; the same each time.
fn info(source: &Source<'_>, name: &str, taken: &[Taken], compression: Compression) -> Result<Vec<u8>, ExportError> {
    let settings = source.settings;
    let info = WarcInfo {
        software: concat!("Lycosa/", env!("CARGO_PKG_VERSION")).to_owned(),
        operator: settings.agent.contact.clone().unwrap_or_default(),
        user_agent: settings.agent.user_agent.clone(),
        robots: if settings.politeness.respect_robots { "obey" } else { "ignore" }.to_owned(),
        is_part_of: settings.crawl.name.clone(),
        description: "Records copied from other WARC files of this crawl".to_owned(),
        ..WarcInfo::default()
    };
    let date = taken.iter().map(|taken| taken.group.entry.date()).max().unwrap_or_default();
    let spool = SpoolRule { dir: source.warc_dir.clone(), memory: usize::MAX }; // it stays in memory
    let id = RecordId::of(name.as_bytes());
    let record = RecordBuilder::new(compression, spool).warcinfo(id, date, name, &info);
    let record = record.map_err(|e| io::Error::other(e.to_string()))?;
    Ok(record.data.to_vec()?)
}

impl Plan<'_> {
    /// Captures in it: those asked for, and those that others refer to.
    pub fn counts(&self) -> [(String, u64); 2] {
        let asked = self.taken.iter().filter(|taken| taken.asked).count();
        [("captures".to_owned(), asked as u64), ("referred_to".to_owned(), (self.taken.len() - asked) as u64)]
    }

    /// Writes the file; `index` gets the line of each capture.
    pub fn write(
        &self,
        out: &mut impl Write,
        mut index: impl FnMut(&str) -> io::Result<()>,
    ) -> Result<(), ExportError> {
        out.write_all(&self.info)?;
        let (mut at, mut open, mut room) = (self.info.len() as u64, None, vec![0; PIECE]);
        for Taken { file, offset, group, .. } in &self.taken {
            let unread = |source| ExportError::Read { path: self.source.warc_dir.join(file), source };
            let from = opened(&self.source.warc_dir, &mut open, file).map_err(unread)?;
            let (mut from_at, mut left) = (*offset, group.length());
            while left > 0 {
                let most = usize::try_from(left).unwrap_or(usize::MAX).min(room.len());
                let piece = room.get_mut(..most).unwrap_or_default();
                from.read_exact_at(piece, from_at).map_err(unread)?;
                out.write_all(piece)?;
                (from_at, left) = (from_at + most as u64, left - most as u64);
            }
            let length = group.lengths.first().copied().unwrap_or_default();
            index(&group.entry.line(&Place { file: self.name.as_str().into(), offset: at, length }))?;
            at += group.length();
        }
        Ok(())
    }
}

/// The file, kept open for those that follow.
fn opened<'o>(dir: &Path, open: &'o mut Option<(String, File)>, name: &str) -> io::Result<&'o File> {
    let known = open.take().filter(|(known, _)| known == name);
    let file = match known {
        Some((_, file)) => file,
        None => opened_file(dir, name)?,
    };
    Ok(&open.insert((name.to_owned(), file)).1)
}
