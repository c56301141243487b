//! What happens to the files at a start: tails are cut, lost records found, strays dealt with (invariant I3).

use std::fs;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

use super::append::{AppendFile, TailRepair, sync_dir};
use super::archive::{ArchiveSettings, OpenWarc};
use super::cdxj::sort_into;
use super::error::WarcError;
use super::name::{cdxj_name, closed_name, open_name, warc_names};
use super::reader::WarcReader;
use super::scan::scan_next;
use super::writer::{Place, WarcWriter, close_name};
use crate::base::disk::own;
use crate::base::time::UnixMillis;
use crate::storage::values::FileLengths;

/// What becomes of open files of the series that the last commit does not name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strays {
    /// They are removed: no commit knows a record in them. For a database that has committed before.
    Remove,
    /// Their whole records are kept and the files closed. For a database that is new or was lost.
    Keep,
}

/// What was done to the files at a start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArchiveRepair {
    /// Bytes cut off the open WARC and committed bytes it lacks.
    pub warc: TailRepair,
    /// The same of `crawl.jsonl`.
    pub jsonl: TailRepair,
    /// Committed records at or after this offset of this WARC are gone: their pages must be queued again.
    pub lost: Option<(Arc<str>, u64)>,
    /// Records are among them that were on the disk before: more than a power failure takes.
    pub synced_lost: bool,
    /// The open index did not fit its WARC and was made anew from it.
    pub index_rebuilt: bool,
    /// Open files that were removed.
    pub removed: Vec<String>,
    /// WARCs that were closed with the whole records they had.
    pub closed: Vec<String>,
}

impl ArchiveRepair {
    /// True for the place of a committed record that is gone.
    pub fn lacks(&self, file: &str, offset: u64) -> bool {
        self.lost.as_ref().is_some_and(|(lost, from)| **lost == *file && offset >= *from)
    }
}

/// Takes up the WARC that the commit names, with its index.
pub(super) fn take_up(
    settings: &ArchiveSettings,
    file_lengths: &FileLengths,
    unsynced_from: Option<u64>,
    now: UnixMillis,
    report: &mut ArchiveRepair,
) -> Result<Option<OpenWarc>, WarcError> {
    let Some((name, committed)) = &file_lengths.warc else { return Ok(None) };
    let dir = &settings.dir;
    if !dir.join(open_name(name)).exists() {
        if !dir.join(name).exists() {
            report.lost = Some((name.as_str().into(), 0));
        }
        return Ok(None); // closed after that commit, and synced before: whole
    }
    let (mut warc, repair) = WarcWriter::resume(dir, name, *committed, now, settings.limits)?;
    report.warc = repair;
    let from = if repair.missing > 0 { Some(unsynced_from.unwrap_or(0)) } else { unsynced_from };
    let whole = match from {
        Some(from) => whole_until(warc.path(), from.min(warc.position()))?,
        None => warc.position(),
    };
    if whole < *committed {
        warc.file.roll_back(whole)?;
        report.lost = Some((Arc::clone(warc.name()), whole));
        report.synced_lost = whole < unsynced_from.unwrap_or(*committed);
    }
    let committed = file_lengths.cdxj.as_ref().map_or(0, |t| t.1);
    let cdxj = take_up_index(dir, &warc, committed, report)?;
    Ok(Some(OpenWarc { warc, cdxj }))
}

/// Takes up the open index, or makes it anew when it lacks lines, is damaged or names records that are gone.
fn take_up_index(
    dir: &Path,
    warc: &WarcWriter,
    committed: u64,
    report: &mut ArchiveRepair,
) -> Result<AppendFile, WarcError> {
    let path = dir.join(open_name(&cdxj_name(warc.name())));
    let (cdxj, repair) = AppendFile::resume(&path, committed, true)?;
    if repair.missing == 0 && report.lost.is_none() && lines_are_clean(&path)? {
        return Ok(cdxj);
    }
    drop(cdxj);
    report.index_rebuilt = true;
    rebuild_index(warc.path(), warc.name(), &path)?;
    let len = fs::metadata(&path).map_err(WarcError::io("read the length of", &path))?.len();
    AppendFile::resume(&path, len, false).map(|(file, _)| file)
}

/// True when the text is lines of printable characters; a power failure can leave zeros.
fn lines_are_clean(path: &Path) -> Result<bool, WarcError> {
    let mut file = BufReader::new(fs::File::open(path).map_err(WarcError::io("open", path))?);
    let mut last = b'\n';
    loop {
        let piece = file.fill_buf().map_err(WarcError::io("read", path))?;
        let Some(end) = piece.last() else { return Ok(last == b'\n') };
        last = *end;
        if piece.iter().any(|b| *b < b' ' && *b != b'\n') {
            return Ok(false);
        }
        let n = piece.len();
        file.consume(n);
    }
}

/// The end of the last record from `from` on that is whole and has the digests it says.
fn whole_until(warc: &Path, from: u64) -> Result<u64, WarcError> {
    let whole = whole_from(warc, from)?;
    // Nothing whole at `from` may also mean that no record begins there.
    if whole == from && from > 0 { whole_from(warc, 0) } else { Ok(whole) }
}

fn whole_from(warc: &Path, from: u64) -> Result<u64, WarcError> {
    let mut reader = WarcReader::open(warc, from).map_err(WarcError::io("open", warc))?;
    let mut whole = from;
    while let Ok(Some(record)) = scan_next(&mut reader) {
        if record.check_digests().is_err() {
            break;
        }
        whole = record.header.offset + record.length;
    }
    Ok(whole)
}

/// Writes the index lines of a WARC, in its order, to `to`, which appears whole or not at all.
///
/// # Errors
/// [`WarcError::Io`]. A damaged record ends the index.
pub fn rebuild_index(warc: &Path, name: &Arc<str>, to: &Path) -> Result<(), WarcError> {
    let temporary = to.with_extension("tmp");
    let write = || -> io::Result<()> {
        let mut reader = WarcReader::open(warc, 0)?;
        let mut out = BufWriter::new(own::create(&temporary)?);
        while let Ok(Some(record)) = scan_next(&mut reader) {
            if let Some(entry) = record.cdxj_entry() {
                let place = Place { file: Arc::clone(name), offset: record.header.offset, length: record.length };
                out.write_all(entry.line(&place).as_bytes())?;
            }
        }
        out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
    };
    write().map_err(WarcError::io("write", &temporary))?;
    fs::rename(&temporary, to).map_err(WarcError::io("rename to", to))
}

/// Deals with the series' other files and gives the highest serial number in use.
pub(super) fn tidy(
    settings: &ArchiveSettings,
    kept: Option<&str>,
    strays: Strays,
    report: &mut ArchiveRepair,
) -> Result<u32, WarcError> {
    let dir = &settings.dir;
    let mut serial = 0;
    let mut names = Vec::new();
    for entry in fs::read_dir(dir).map_err(WarcError::io("list", dir))? {
        let name = entry.map_err(WarcError::io("list", dir))?.file_name();
        let Some(name) = name.to_str() else { continue };
        if let Some(number) = settings.series.serial_of(name) {
            serial = serial.max(number);
            names.push(name.to_owned());
        } else if name.strip_suffix(".tmp").is_some_and(|n| settings.series.serial_of(n).is_some()) {
            let _ = fs::remove_file(dir.join(name)); // half an index, made anew when it is needed
        }
    }
    names.sort_unstable_by_key(|n| (n.contains(".cdxj"), n.clone())); // WARCs before indexes
    for open in &names {
        let own = |closed: &str| kept.is_some_and(|k| closed == k || closed == cdxj_name(k));
        let Some(closed) = closed_name(open).filter(|closed| !own(closed)) else { continue };
        if closed.ends_with(".cdxj") {
            tidy_index(dir, open, closed, report)?;
        } else if strays == Strays::Keep && keep_whole(dir, open, closed)? {
            report.closed.push(closed.to_owned());
        } else {
            remove(dir, open, report)?;
        }
    }
    sync_dir(dir)?;
    Ok(serial)
}

/// Closes a stray WARC with the whole records it has. False when it holds no page.
fn keep_whole(dir: &Path, open: &str, closed: &str) -> Result<bool, WarcError> {
    let path = dir.join(open);
    let whole = whole_until(&path, 0)?;
    let (mut file, _) = AppendFile::resume(&path, whole, false)?;
    let index = dir.join(cdxj_name(closed));
    let unsorted = dir.join(open_name(&cdxj_name(closed)));
    rebuild_index(&path, &closed.into(), &unsorted)?;
    let pages = fs::metadata(&unsorted).map_err(WarcError::io("read the length of", &unsorted))?.len() > 0;
    if pages {
        file.sync()?;
        sort_into(&unsorted, &index)?;
        close_name(dir, closed)?;
    }
    fs::remove_file(&unsorted).map_err(WarcError::io("remove", &unsorted))?;
    Ok(pages)
}

/// Closes an open WARC that no commit knows, with the whole records it has, and removes its open index; one without a page
/// is removed. May be repeated.
pub fn close_stray(path: &Path) -> Result<(), WarcError> {
    let parts = path.parent().zip(path.file_name().and_then(|n| n.to_str()));
    let Some((dir, open)) = parts else { return Ok(()) };
    let Some(closed) = closed_name(open) else { return Ok(()) };
    let mut report = ArchiveRepair::default();
    if !keep_whole(dir, open, closed)? {
        remove(dir, open, &mut report)?;
    }
    remove(dir, &open_name(&cdxj_name(closed)), &mut report)?;
    sync_dir(dir)
}

/// An open index whose WARC is closed was only left behind; without its sorted form it is sorted now.
fn tidy_index(dir: &Path, open: &str, closed: &str, report: &mut ArchiveRepair) -> Result<(), WarcError> {
    let is_closed = warc_names(closed).iter().any(|warc| dir.join(warc).exists());
    if is_closed && !dir.join(closed).exists() {
        sort_into(&dir.join(open), &dir.join(closed))?;
    }
    remove(dir, open, report)
}

fn remove(dir: &Path, name: &str, report: &mut ArchiveRepair) -> Result<(), WarcError> {
    let path = dir.join(name);
    match fs::remove_file(&path) {
        Ok(()) => report.removed.push(name.to_owned()),
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => return Err(WarcError::io("remove", &path)(e)),
    }
    Ok(())
}

/// Takes up a file of lines; a torn last line is cut off too.
pub(super) fn take_up_lines(path: &Path, committed: u64, report: &mut ArchiveRepair) -> Result<AppendFile, WarcError> {
    let (mut file, repair) = AppendFile::resume(path, committed, true)?;
    report.jsonl = repair;
    if repair.missing > 0 {
        let end = last_line_end(path, file.len()).map_err(WarcError::io("read", path))?;
        file.roll_back(end)?;
    }
    Ok(file)
}

/// Where the last line that has an end ends.
fn last_line_end(path: &Path, len: u64) -> io::Result<u64> {
    const STEP: u64 = 64 * 1024;
    let mut file = fs::File::open(path)?;
    let mut end = len;
    while end > 0 {
        let begin = end.saturating_sub(STEP);
        let mut piece = Vec::new();
        file.seek(SeekFrom::Start(begin))?;
        (&file).take(end - begin).read_to_end(&mut piece)?;
        if let Some(at) = piece.iter().rposition(|b| *b == b'\n') {
            return Ok(begin + at as u64 + 1);
        }
        end = begin;
    }
    Ok(0)
}
