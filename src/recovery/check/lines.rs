//! `crawl.jsonl`: each line is one, and belongs to a URL that is finished; each finished URL with a capture has one.

use std::cmp::Ordering;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, IntoInnerError, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::files::Files;
use super::judge::mark_of_page;
use super::pass::Pass;
use super::stream::{Row, Stream, TOGETHER};
use super::{CheckError, Fault, Note, Result};
use crate::base::disk::own;
use crate::base::sort::{Sorted, Sorter};
use crate::base::time::UnixMillis;
use crate::domain::reason::Failure;
use crate::domain::url::PageUrl;
use crate::recovery::if_there;
use crate::storage::keys::{Key, SeenKey};
use crate::storage::share::Share;
use crate::storage::tables::{Pages, Seen};
use crate::storage::values::{DoneKind, PageRecord, UnsyncedLines, UrlState};
use crate::storage::{Batch, read};
use crate::warc::digest::WarcDigest;
use crate::warc::jsonl::{CrawlLine, is_erased};

/// Longest line read, bytes.
const MAX_LINE: u64 = 4 << 20;

/// A line as far as it is judged.
struct Line {
    url: String,
    place: Option<(String, u64)>,
}

pub fn lines(pass: &mut Pass<'_>) -> Result<()> {
    let Some(files) = pass.files.take() else { return Ok(()) };
    let (path, end) = (files.lines(), files.lines_limit());
    let pending = pending(pass, &files)?;
    let mut lines = Lines { ready: Vec::new(), bad: Vec::new(), at: 0, lined: Sorter::new(&std::env::temp_dir()) };
    let limit = pending.as_ref().map_or(end, |pending| pending.from.min(end));
    each_line(&path, limit, &mut |bytes| lines.line(pass, bytes))?;
    let left = pending.iter().flat_map(|pending| pending.text.split_inclusive('\n'));
    left.map(str::as_bytes).try_for_each(|bytes| lines.line(pass, bytes))?;
    lines.judge(pass)?;
    let Lines { bad, lined, .. } = lines;
    for at in &bad {
        pass.find(Fault::LineDamaged, "crawl.jsonl", &format!("the line at byte {at}"), |_| {})?;
    }
    let mut lined = Lined::new(lined)?;
    // Lines are appended to a file that is whole.
    let may_append = pass.repairing && bad.is_empty() && pending.is_none();
    let missing =
        unlined(pass, &mut lined, may_append.then(|| Appendix { path: path.clone(), limit: end, out: None }))?;
    pass.files = Some(files);
    match pending {
        _ if !pass.repairing || (bad.is_empty() && missing == 0) => Ok(()),
        Some(pending) => pending.settle(pass, &path),
        None if bad.is_empty() => Ok(()),
        None => without(pass, &path, end, &bad),
    }
}

fn sorting() -> impl FnOnce(io::Error) -> CheckError {
    CheckError::io("sort keys in", &std::env::temp_dir())
}

/// Lines on their way through the pass.
struct Lines {
    ready: Vec<Line>,
    /// Where lines begin that are none.
    bad: Vec<u64>,
    at: u64,
    /// Keys of the URLs that have a line, each with [`NOW`] or [`BEFORE`] behind it.
    lined: Sorter,
}

impl Lines {
    fn line(&mut self, pass: &mut Pass<'_>, bytes: &[u8]) -> Result<()> {
        if let Some(files) = &mut pass.report.files {
            files.lines += 1;
        }
        match serde_json::from_slice::<CrawlLine<'_>>(bytes) {
            _ if is_erased(bytes) => {}
            Ok(line) if bytes.ends_with(b"\n") => {
                let place = line.warc.zip(line.offset).map(|(file, offset)| (file.into_owned(), offset));
                self.ready.push(Line { url: line.url.into_owned(), place });
            }
            _ => self.bad.push(self.at),
        }
        self.at += bytes.len() as u64;
        if self.ready.len() >= TOGETHER { self.judge(pass) } else { Ok(()) }
    }

    fn judge(&mut self, pass: &mut Pass<'_>) -> Result<()> {
        let keys = judge(pass, &std::mem::take(&mut self.ready))?;
        let of = |(key, of): &(SeenKey, u8)| [&key.encode()[..], &[*of]].concat();
        keys.iter().try_for_each(|key| self.lined.push(&of(key))).map_err(sorting())
    }
}

/// A line of the capture that a URL has now.
const NOW: u8 = 0;
/// A line of an earlier one.
const BEFORE: u8 = 1;

/// Lines whose URL is not finished now are history, after a power failure or beside a new database. Gives the URLs' keys, and of which
/// capture their line is.
fn judge(pass: &mut Pass<'_>, lines: &[Line]) -> Result<Vec<(SeenKey, u8)>> {
    let urls: Vec<_> = lines.iter().filter_map(|l| Some((l, PageUrl::from_canonical(&l.url).ok()?))).collect();
    let keys: Vec<_> = urls.iter().map(|(_, url)| pass.key_of(url)).collect();
    let states = pass.look::<Seen>(&keys)?;
    let captures: Vec<_> = keys
        .iter()
        .zip(&states)
        .map(|(key, state)| match state {
            Some(UrlState::Done { captured, .. }) => key.page(*captured),
            _ => key.page(UnixMillis(0)),
        })
        .collect();
    let pages = pass.look::<Pages>(&captures)?;
    let mut lined = Vec::with_capacity(keys.len());
    for ((((line, _), key), state), page) in urls.iter().zip(keys).zip(&states).zip(&pages) {
        match state {
            None => pass.note(Note::OldLine, || format!("{}: not known", line.url)),
            Some(UrlState::Waiting { .. }) => pass.note(Note::OldLine, || format!("{}: waiting again", line.url)),
            Some(_) => {}
        }
        let before =
            matches!(state, Some(UrlState::Done { .. } | UrlState::Error { .. })) && !is_at(line, page.as_ref());
        lined.push((key, if before { BEFORE } else { NOW }));
    }
    Ok(lined)
}

/// The lines in the order of their URLs.
struct Lined {
    sorted: Sorted,
    next: Option<Vec<u8>>,
}

impl Lined {
    fn new(lined: Sorter) -> Result<Self> {
        let mut sorted = lined.sorted().map_err(sorting())?;
        let next = sorted.next_record().map_err(sorting())?;
        Ok(Self { sorted, next })
    }

    /// Lines of this URL: whether there is one of its capture of now, and how many there are of earlier ones. Keys are asked in order.
    fn of(&mut self, key: &[u8]) -> Result<(bool, u64)> {
        let (mut now, mut before) = (false, 0);
        while let Some((of, behind)) = self.next.as_deref().and_then(|next| next.split_at_checked(SeenKey::LEN)) {
            match of.cmp(key) {
                Ordering::Greater => break,
                Ordering::Less => {}
                Ordering::Equal if *behind == [BEFORE] => before += 1,
                Ordering::Equal => now = true,
            }
            self.next = self.sorted.next_record().map_err(sorting())?;
        }
        Ok((now, before))
    }
}

/// True unless line and capture name different places.
fn is_at(line: &Line, page: Option<&PageRecord>) -> bool {
    let place = page.and_then(|page| page.warc.as_ref());
    match (&line.place, place) {
        (Some((file, offset)), Some(place)) => *file == place.file && *offset == place.offset,
        _ => true,
    }
}

/// Each line of a file up to `limit` bytes, with its line end when it has one.
pub fn each_line(path: &Path, limit: u64, act: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let Some(file) = if_there(File::open(path)).map_err(CheckError::io("open", path))? else { return Ok(()) };
    let mut from = BufReader::with_capacity(256 * 1024, file.take(limit));
    let mut line = Vec::new();
    loop {
        line.clear();
        let n = from.by_ref().take(MAX_LINE).read_until(b'\n', &mut line).map_err(CheckError::io("read", path))?;
        if n == 0 {
            return Ok(());
        }
        act(&line)?;
    }
}

/// Writes the file anew without the lines at these bytes. Its committed length is lowered last: until then a start finds
/// the file too short, and takes it as it is.
fn without(pass: &mut Pass<'_>, path: &Path, limit: u64, bad: &[u64]) -> Result<()> {
    let temporary = path.with_extension("jsonl.tmp");
    let fault = || CheckError::io("write", &temporary);
    let mut out = BufWriter::new(own::create(&temporary).map_err(fault())?);
    let (mut at, mut kept) = (0_u64, 0_u64);
    each_line(path, limit, &mut |line| {
        if bad.binary_search(&at).is_err() {
            out.write_all(line).map_err(fault())?;
            kept += line.len() as u64;
        }
        at += line.len() as u64;
        Ok(())
    })?;
    out.into_inner().map_err(IntoInnerError::into_error).and_then(|f| f.sync_all()).map_err(fault())?;
    std::fs::rename(&temporary, path).map_err(CheckError::io("replace", path))?;
    pass.commit_lines(kept)?;
    bad.iter().for_each(|at| pass.mended(Fault::LineDamaged, "crawl.jsonl", &format!("the line at byte {at}")));
    Ok(())
}

/// The lines since the last barrier: until the next start they stand in the database too, and the end of the file is written anew
/// from there, whatever has become of it.
struct Pending {
    from: u64,
    text: String,
    numbers: Vec<u64>,
}

/// What is pending, when it is the end of the file; else it is found, and a repair takes it off the lists.
fn pending(pass: &mut Pass<'_>, files: &Files) -> Result<Option<Pending>> {
    let lists = read::unsynced_lines(pass.storage, usize::MAX).unwrap_or_default();
    let Some((_, first)) = lists.first() else { return Ok(None) };
    let mut pending = Pending { from: first.from, text: String::new(), numbers: Vec::new() };
    for (number, list) in &lists {
        if pending.from.checked_add(pending.text.len() as u64) != Some(list.from) {
            break;
        }
        pending.text.push_str(&list.text);
        pending.numbers.push(*number);
    }
    let end = pending.from.saturating_add(pending.text.len() as u64);
    if pending.numbers.len() == lists.len()
        && files.file_lengths.as_ref().is_none_or(|file_lengths| file_lengths.jsonl == end)
    {
        return Ok(Some(pending));
    }
    for (number, _) in &lists {
        let subject = format!("lines/{number}");
        pass.find(Fault::UnsyncedStray, &subject, "lines that are not the end of crawl.jsonl", |batch| {
            batch.delete_meta::<UnsyncedLines>(*number);
        })?;
    }
    Ok(None)
}

impl Pending {
    /// Does what the next start would: afterwards the file alone counts.
    fn settle(&self, pass: &mut Pass<'_>, path: &Path) -> Result<()> {
        let write = || -> io::Result<()> {
            let mut file = own::open(path, |how| how.create(true).truncate(false).write(true))?;
            let from = self.from.min(file.metadata()?.len());
            file.set_len(from)?;
            file.seek(SeekFrom::Start(from))?;
            file.write_all(self.text.as_bytes())?;
            file.sync_all()
        };
        write().map_err(CheckError::io("write", path))?;
        let mut batch = Batch::new();
        self.numbers.iter().for_each(|number| batch.delete_meta::<UnsyncedLines>(*number));
        pass.storage.write(&batch)?;
        pass.changes += 1; // the next round reads the file
        Ok(())
    }
}

/// Goes through all captures. Gives how many URLs have no line; with an appendix, those get one. Lines of earlier captures are counted, and
/// named only where there is none of the capture of now. Lines of partitions that came from another member may be in that one's file.
fn unlined(pass: &mut Pass<'_>, lined: &mut Lined, mut to: Option<Appendix>) -> Result<u64> {
    let mut pages = Stream::<Pages>::quiet();
    let share = Share::load(pass.storage).ok().flatten();
    let came = |partition| share.as_ref().is_some_and(|share| share.held.came.contains_key(&partition));
    let (mut told, mut missing) = (Vec::new(), 0);
    let (mut looked, mut has_line) = (Vec::new(), false);
    while let Some(row) = pages.next_in(pass, &[])? {
        let Some(key) = row.raw.get(..SeenKey::LEN) else { continue };
        if looked != key {
            let (now, before) = lined.of(key)?;
            let elsewhere = || format!("{}: its capture is elsewhere now", row.value.url);
            (0..before).for_each(|_| if now { pass.count(Note::OldLine) } else { pass.note(Note::OldLine, elsewhere) });
            (looked, has_line) = (key.to_vec(), now || before > 0);
        }
        if has_line || told == key || came(row.key.partition) || !is_finished(pass, &row)? {
            continue;
        }
        told = key.to_vec();
        missing += 1;
        pass.find(Fault::LineMissing, &row.value.url, "is not in crawl.jsonl", |_| {})?;
        if let Some(to) = &mut to {
            to.add(&row.value)?;
            pass.mended(Fault::LineMissing, &row.value.url, "its line was made from the capture");
        }
    }
    to.map_or(Ok(()), |to| to.end(pass))?;
    Ok(missing)
}

/// A URL that is waiting has been captured without being finished, and has no line yet.
fn is_finished(pass: &Pass<'_>, row: &Row<Pages>) -> Result<bool> {
    let seen = row.key.seen();
    if pass.url_at(&row.value.url, seen).is_none() {
        return Ok(false);
    }
    let state = pass.look_one::<Seen>(&seen)?;
    Ok(matches!(state, Some(UrlState::Done { .. } | UrlState::Error { .. })))
}

/// Lines that are appended. The committed length is raised last: until then a start cuts them off again.
struct Appendix {
    path: PathBuf,
    limit: u64,
    out: Option<(BufWriter<File>, u64)>,
}

impl Appendix {
    fn add(&mut self, page: &PageRecord) -> Result<()> {
        let mut line = Vec::new();
        line_of(page).write(&mut line);
        let mut write = || -> io::Result<()> {
            if self.out.is_none() {
                let mut file = own::open(&self.path, |how| how.create(true).truncate(false).write(true))?;
                let end = self.limit.min(file.metadata()?.len());
                file.set_len(end)?;
                file.seek(SeekFrom::Start(end))?;
                self.out = Some((BufWriter::new(file), end));
            }
            let Some((out, end)) = &mut self.out else { return Ok(()) };
            *end += line.len() as u64;
            out.write_all(&line)
        };
        write().map_err(CheckError::io("append to", &self.path))
    }

    fn end(self, pass: &mut Pass<'_>) -> Result<()> {
        let Some((out, end)) = self.out else { return Ok(()) };
        let synced = out.into_inner().map_err(IntoInnerError::into_error).and_then(|file| file.sync_all());
        synced.map_err(CheckError::io("sync", &self.path))?;
        pass.commit_lines(end)
    }
}

/// What the capture knows of it.
pub fn line_of(page: &PageRecord) -> CrawlLine<'_> {
    let mut line = CrawlLine::new(page.fetched, &page.url);
    line.reason = match mark_of_page(page) {
        UrlState::Done { how: DoneKind::Duplicate, .. } => Some("revisit".into()),
        UrlState::Done { how: DoneKind::NotModified, .. } => Some("not_modified".into()),
        UrlState::Done { how: DoneKind::Unstored, .. } => Some("unstored".into()),
        UrlState::Error { reason } => Some(Failure::as_str(reason).into()),
        _ => None,
    };
    line.asked = page.spelling.as_ref().map(|_| page.asked());
    line.status = Some(page.status);
    line.bytes = page.bytes;
    line.mime = page.mime.as_deref().map(Into::into);
    line.hop_path = ("L".repeat(usize::from(page.depth).min(64)) + &"R".repeat(usize::from(page.hops).min(64))).into();
    line.digest = Some(WarcDigest(page.payload_digest));
    line.ms = u64::from(page.took_ms);
    line.warc = page.warc.as_ref().map(|place| place.file.as_str().into());
    line.offset = page.warc.as_ref().map(|place| place.offset);
    line.remark(&page.remarks);
    line.restored = true;
    line.visited(Some(page.visit))
}
