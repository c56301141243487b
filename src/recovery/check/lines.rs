//! `crawl.jsonl`: each line is one, and belongs to a URL that is finished; each finished URL with a capture has one.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;

use super::context::Context;
use super::error::{CheckError, Result};
use super::fault::{Fault, Note};
use super::findings::Findings;
use super::pending::pending;
use super::stream::look;
use super::unlined::{Appendix, unlined};
use crate::base::disk::own;
use crate::base::sort::Sorter;
use crate::domain::url::PageUrl;
use crate::storage::keys::{Key, SeenKey};
use crate::storage::tables::{Pages, Seen};
use crate::storage::values::{FileLengths, PageRecord, UrlState};
use crate::storage::{Batch, read};
use crate::warc::jsonl::CrawlLine;

/// Lines judged at a time.
const CHUNK: usize = 256;
/// Longest line read, bytes.
const MAX_LINE: u64 = 4 << 20;

/// A line as far as it is judged.
struct Line {
    url: String,
    place: Option<(String, u64)>,
}

/// The pass.
pub fn lines(context: &Context<'_>, findings: &mut Findings<'_>) -> Result<()> {
    let Some(files) = &context.files else { return Ok(()) };
    let path = files.lines();
    let pending = pending(findings, files)?;
    let limit = pending.as_ref().map_or(u64::MAX, |pending| pending.from).min(files.lines_limit());
    let mut pass =
        Pass { context, ready: Vec::new(), bad: Vec::new(), at: 0, lined: Sorter::new(&std::env::temp_dir()) };
    each_line(&path, limit, &mut |bytes| pass.line(findings, bytes))?;
    let left = pending.iter().flat_map(|pending| pending.text.split_inclusive('\n'));
    left.map(str::as_bytes).try_for_each(|bytes| pass.line(findings, bytes))?;
    pass.judge(findings)?;
    let Pass { bad, lined, .. } = pass;
    for at in &bad {
        findings.find(Fault::LineDamaged, "crawl.jsonl", &format!("the line at byte {at}"), |_| {})?;
    }
    let mut lined = lined.sorted().map_err(sorting())?;
    // Lines are appended to a file that is whole.
    let may_append = findings.repairing() && bad.is_empty() && pending.is_none();
    let missing = unlined(context, findings, &mut lined, may_append.then(|| Appendix::new(files)))?;
    match pending {
        _ if !findings.repairing() || (bad.is_empty() && missing == 0) => Ok(()),
        Some(pending) => pending.settle(findings, files),
        None if bad.is_empty() => Ok(()),
        None => without(context, findings, &path, &bad),
    }
}

fn sorting() -> impl FnOnce(std::io::Error) -> CheckError {
    CheckError::io("sort keys in", &std::env::temp_dir())
}

/// Lines on their way through the pass.
struct Pass<'d> {
    context: &'d Context<'d>,
    ready: Vec<Line>,
    /// Where lines begin that are none.
    bad: Vec<u64>,
    at: u64,
    /// Keys of the URLs that have a line.
    lined: Sorter,
}

impl Pass<'_> {
    fn line(&mut self, findings: &mut Findings<'_>, bytes: &[u8]) -> Result<()> {
        if let Some(files) = &mut findings.report.files {
            files.lines += 1;
        }
        match serde_json::from_slice::<CrawlLine<'_>>(bytes) {
            Ok(line) if bytes.ends_with(b"\n") => {
                let place = line.warc.zip(line.offset).map(|(file, offset)| (file.into_owned(), offset));
                self.ready.push(Line { url: line.url.into_owned(), place });
            }
            _ => self.bad.push(self.at),
        }
        self.at += bytes.len() as u64;
        if self.ready.len() >= CHUNK { self.judge(findings) } else { Ok(()) }
    }

    fn judge(&mut self, findings: &mut Findings<'_>) -> Result<()> {
        let keys = judge(self.context, findings, &std::mem::take(&mut self.ready))?;
        keys.iter().try_for_each(|key| self.lined.push(&key.encode())).map_err(sorting())
    }
}

/// Lines whose URL is not finished now are history, after a power failure or beside a new database. Gives the URLs' keys.
fn judge(context: &Context<'_>, findings: &mut Findings<'_>, lines: &[Line]) -> Result<Vec<SeenKey>> {
    let urls: Vec<_> = lines.iter().filter_map(|l| Some((l, PageUrl::from_canonical(&l.url).ok()?))).collect();
    let keys: Vec<_> = urls.iter().map(|(_, url)| context.key_of(url)).collect();
    let states = look::<Seen>(findings.storage, &keys)?;
    let captures: Vec<_> = keys
        .iter()
        .zip(&states)
        .map(|(key, state)| match state {
            Some(UrlState::Done { captured, .. }) => key.page(*captured),
            _ => key.page(crate::base::time::UnixMillis(0)),
        })
        .collect();
    let pages = look::<Pages>(findings.storage, &captures)?;
    for (((line, _), state), page) in urls.iter().zip(&states).zip(&pages) {
        match state {
            None => findings.note(Note::OldLine, || format!("{}: not known", line.url)),
            Some(UrlState::Waiting { .. }) => findings.note(Note::OldLine, || format!("{}: waiting again", line.url)),
            Some(_) if !is_at(line, page.as_ref()) => {
                findings.note(Note::OldLine, || format!("{}: its capture is elsewhere now", line.url));
            }
            Some(_) => {}
        }
    }
    Ok(keys)
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
    let file = match File::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(CheckError::io("open", path)(e)),
    };
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
fn without(context: &Context<'_>, findings: &mut Findings<'_>, path: &Path, bad: &[u64]) -> Result<()> {
    let Some(files) = &context.files else { return Ok(()) };
    let temporary = path.with_extension("jsonl.tmp");
    let fault = || CheckError::io("write", &temporary);
    let mut out = BufWriter::new(own::create(&temporary).map_err(fault())?);
    let (mut at, mut kept) = (0_u64, 0_u64);
    each_line(path, files.lines_limit(), &mut |line| {
        if bad.binary_search(&at).is_err() {
            out.write_all(line).map_err(fault())?;
            kept += line.len() as u64;
        }
        at += line.len() as u64;
        Ok(())
    })?;
    out.into_inner().map_err(std::io::IntoInnerError::into_error).and_then(|f| f.sync_all()).map_err(fault())?;
    std::fs::rename(&temporary, path).map_err(CheckError::io("replace", path))?;
    if let Some(file_lengths) = read::meta::<FileLengths>(findings.storage, ())? {
        let mut batch = Batch::new();
        batch.put_meta((), &FileLengths { jsonl: kept, ..file_lengths });
        findings.storage.write(&batch)?;
    }
    bad.iter().for_each(|at| findings.mended(Fault::LineDamaged, "crawl.jsonl", &format!("the line at byte {at}")));
    Ok(())
}
