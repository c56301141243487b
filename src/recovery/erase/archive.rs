//! Records of the host are overwritten where they stand, each by a filler of exactly its length; their lines leave the indexes.

use std::collections::HashSet;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;

use serde::Deserialize;

use super::look::{each_line, index_line_owned};
use super::note::Fill;
use super::walk::{What, each_record};
use super::{ARCHIVE, EraseError, Result, Work, database};
use crate::base::disk::own;
use crate::recovery::checkpoint::{files, uploads};
use crate::recovery::names_in;
use crate::warc::filler::Filler;
use crate::warc::jsonl::erased;
use crate::warc::member::Compression;
use crate::warc::name::{cdxj_name, is_warc};

/// Ranges that are noted together.
pub(super) const TOGETHER: usize = 5_000;
/// A shorter record is overwritten together with its neighbour.
const SHORT: u64 = 300;

/// What is to be done in one file.
#[derive(Default)]
struct Plan {
    /// Records that go: where they begin, and their bytes.
    ranges: Vec<(u64, u64)>,
    /// Where captures begin that stay.
    kept: HashSet<u64>,
    /// There are places that cannot be read: captures there stay in the index, but the host's.
    damaged: bool,
}

impl Work<'_> {
    /// All files of the archive.
    pub(super) fn archive(&mut self) -> Result<()> {
        let dir = &self.erase.look.warc;
        let names = names_in(dir).map_err(EraseError::io("list", dir))?;
        for (nth, name) in names.iter().filter(|name| is_warc(name) && !name.starts_with('.')).enumerate() {
            self.tell(ARCHIVE, "archive files", nth as u64);
            self.file(name)?;
        }
        // An index whose file is not here any more: others' lines stay.
        let of_files: HashSet<String> = names.iter().filter(|name| is_warc(name)).map(|name| cdxj_name(name)).collect();
        for index in names.iter().filter(|name| name.ends_with(".cdxj") && !of_files.contains(*name)) {
            let mut own = false;
            each_line(&self.in_archive(index), &mut |line| {
                own |= index_line_owned(self.host, line);
                Ok(())
            })?;
            if own {
                self.changes(index)?;
                self.index_without(index, &Plan { damaged: true, ..Plan::default() })?;
            }
        }
        Ok(())
    }

    fn file(&mut self, name: &str) -> Result<()> {
        let mut plan = self.plan(name)?;
        if plan.ranges.is_empty() && !self.note.files.contains_key(name) {
            return Ok(()); // nothing of it is in here, and nothing was
        }
        plan.ranges = joined(&plan.ranges);
        self.changes(name)?;
        self.changes(&cdxj_name(name))?;
        for ranges in plan.ranges.chunks(TOGETHER) {
            self.fill(Fill { file: Some(name.to_owned()), ranges: ranges.to_vec() })?;
        }
        self.index_without(&cdxj_name(name), &plan)?;
        self.erase.faults.check("erase.indexed")?;
        Ok(())
    }

    /// What of a file goes: all that is of the host, and of others what was written once more elsewhere.
    fn plan(&mut self, name: &str) -> Result<Plan> {
        let (mut plan, mut going) = (Plan::default(), None);
        let (storage, host) = (self.storage, self.host);
        let damaged = each_record(&self.in_archive(name), host, false, &mut |record| {
            self.may_go_on()?;
            let (offset, header) = (record.header.offset, &record.header);
            let id = header.get("WARC-Record-ID").map(str::to_owned);
            let goes = match record.what {
                What::Own => true,
                What::Relying => {
                    let target = header.target().unwrap_or_default();
                    let moved = !database::is_captured(storage, host, target, (name, offset))?;
                    going = id.filter(|_| moved);
                    moved
                }
                What::Other(_) => going.is_some() && header.get("WARC-Concurrent-To") == going.as_deref(),
                What::Filler => false,
            };
            if goes {
                plan.ranges.push((offset, record.length));
            } else if record.is_indexed() {
                plan.kept.insert(offset);
            }
            Ok(())
        })?;
        plan.damaged = !damaged.is_empty();
        self.damaged(name, &damaged, &mut plan)?;
        Ok(plan)
    }

    /// A record that cannot be read, and of which the index says that it is the host's, goes too.
    fn damaged(&self, name: &str, places: &[Range<u64>], plan: &mut Plan) -> Result<()> {
        if places.is_empty() {
            return Ok(());
        }
        each_line(&self.in_archive(&cdxj_name(name)), &mut |line| {
            let Some((offset, length)) = place_of(line).filter(|_| index_line_owned(self.host, line)) else {
                return Ok(());
            };
            let left = places.iter().find(|place| place.contains(&offset)).map_or(0, |place| place.end - offset);
            if left >= SHORT {
                plan.ranges.push((offset, length.min(left)));
            }
            Ok(())
        })?;
        plan.ranges.sort_unstable();
        plan.ranges.dedup();
        Ok(())
    }

    /// A file is about to be changed: its digest is noted, and copies of it are to be made anew.
    fn changes(&mut self, name: &str) -> Result<()> {
        let path = self.in_archive(name);
        if self.note.files.contains_key(name) || !path.exists() {
            return Ok(());
        }
        let (_, sha256) = files::digest(&path, u64::MAX)?;
        self.note.files.insert(name.to_owned(), sha256);
        let copy = uploads::read_list(self.erase.data())?.remove(name).map(|line| line.to);
        if let Some(copy) = copy.filter(|copy| !self.note.copies.contains(copy)) {
            self.note.copies.push(copy);
        }
        self.note.write(self.erase.data())
    }

    /// Overwrites bytes, after a note that says which.
    pub(super) fn fill(&mut self, fill: Fill) -> Result<()> {
        self.may_go_on()?;
        self.note.fill = fill;
        self.note.write(self.erase.data())?;
        self.erase.faults.check("erase.noted_bytes")?;
        self.finish_fill()
    }

    /// Overwrites what the note says, be it for the second time.
    pub(super) fn finish_fill(&mut self) -> Result<()> {
        if self.note.fill.ranges.is_empty() {
            return Ok(());
        }
        let Fill { file, ranges } = std::mem::take(&mut self.note.fill);
        let path = match &file {
            Some(name) => self.in_archive(name),
            None => self.erase.data().join(uploads::JSONL),
        };
        self.overwrite(&path, file.as_deref(), &ranges).map_err(EraseError::io("overwrite records in", &path))?;
        self.erase.faults.check("erase.overwritten")?;
        self.note.write(self.erase.data())
    }

    fn overwrite(&self, path: &Path, warc: Option<&str>, ranges: &[(u64, u64)]) -> io::Result<()> {
        let file = own::open(path, |how| how.write(true))?;
        let mut out = BufWriter::with_capacity(256 << 10, file);
        for (offset, length) in ranges {
            out.seek(SeekFrom::Start(*offset))?;
            match warc {
                Some(name) => {
                    let filler = Filler { file: name, offset: *offset, date: self.note.began() };
                    filler.write(Compression::of(name).unwrap_or_default(), *length, &mut out)?;
                }
                None => out.write_all(&erased(usize::try_from(*length).map_err(io::Error::other)?))?,
            }
            self.erase.faults.check("erase.member")?;
        }
        out.flush()?;
        out.get_ref().sync_all()
    }

    /// Writes an index anew without the lines of what went.
    fn index_without(&self, name: &str, plan: &Plan) -> Result<()> {
        let path = self.in_archive(name);
        if !path.exists() {
            return Ok(());
        }
        let new = path.with_extension("cdxj.tmp");
        let write = || EraseError::io("write", &new);
        let mut out = BufWriter::new(own::create(&new).map_err(write())?);
        let mut gone = 0_u64;
        each_line(&path, &mut |line| {
            let there = place_of(line).is_none_or(|(offset, _)| plan.damaged || plan.kept.contains(&offset));
            if there && !index_line_owned(self.host, line) {
                return out.write_all(line).map_err(write());
            }
            gone += 1;
            Ok(())
        })?;
        let written = out.into_inner().map_err(io::IntoInnerError::into_error).and_then(|file| file.sync_all());
        written.map_err(write())?;
        if gone == 0 {
            return std::fs::remove_file(&new).map_err(EraseError::io("remove", &new));
        }
        Ok(files::rename(&new, &path)?)
    }
}

/// Where the capture of an index line begins, and its bytes.
fn place_of(line: &[u8]) -> Option<(u64, u64)> {
    #[derive(Deserialize)]
    struct Json {
        offset: String,
        length: String,
    }
    let json = std::str::from_utf8(line).ok()?.splitn(3, ' ').nth(2)?;
    let Json { offset, length } = serde_json::from_str(json).ok()?;
    Some((offset.parse().ok()?, length.parse().ok()?))
}

/// The same bytes in ranges that have room for a filler: a short one is one with its neighbour.
fn joined(ranges: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut out: Vec<(u64, u64)> = Vec::with_capacity(ranges.len());
    for (offset, length) in ranges {
        match out.last_mut().filter(|(begin, bytes)| begin + *bytes == *offset && (*bytes < SHORT || *length < SHORT)) {
            Some((_, bytes)) => *bytes += length,
            None => out.push((*offset, *length)),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_record_is_overwritten_with_its_neighbour_and_no_byte_is_left_out() {
        let ranges = [(0, 1_000), (1_000, 20), (1_020, 900), (5_000, 20), (6_000, 500)];
        assert_eq!(joined(&ranges), [(0, 1_020), (1_020, 900), (5_000, 20), (6_000, 500)]);
        assert_eq!(joined(&[(3, 7), (10, 400)]), [(3, 407)]);
    }
}
