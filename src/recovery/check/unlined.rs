//! Captures against the lines of `crawl.jsonl`: each finished URL that has one has a line.

use std::fs::File;
use std::io::{BufWriter, IntoInnerError, Seek, SeekFrom, Write};
use std::path::PathBuf;

use super::context::Context;
use super::error::{CheckError, Result};
use super::fault::Fault;
use super::files::Files;
use super::findings::Findings;
use super::judge::mark_of_page;
use super::stream::{Row, Stream, look_one};
use crate::base::disk::own;
use crate::base::sort::Sorted;
use crate::domain::reason::Failure;
use crate::storage::keys::SeenKey;
use crate::storage::tables::{Pages, Seen};
use crate::storage::values::{DoneKind, FileLengths, PageRecord, UrlState};
use crate::storage::{Batch, read};
use crate::warc::digest::WarcDigest;
use crate::warc::jsonl::CrawlLine;

/// Goes through all captures; `lined` are the keys of the URLs that have a line, in order. Gives how many have none. With an
/// appendix, those get one.
pub fn unlined(
    context: &Context<'_>,
    findings: &mut Findings<'_>,
    lined: &mut Sorted,
    mut to: Option<Appendix>,
) -> Result<u64> {
    let mut pages = Stream::<Pages>::quiet();
    let mut line = next(lined)?;
    let (mut told, mut missing) = (Vec::new(), 0);
    while let Some(row) = pages.next_in(findings, &[])? {
        let Some(key) = row.raw.get(..SeenKey::LEN) else { continue };
        while line.as_deref().is_some_and(|line| line < key) {
            line = next(lined)?;
        }
        if line.as_deref() == Some(key) || told == key || !is_finished(context, findings, &row)? {
            continue;
        }
        told = key.to_vec();
        missing += 1;
        findings.find(Fault::LineMissing, &row.value.url, "is not in crawl.jsonl", |_| {})?;
        if let Some(to) = &mut to {
            to.add(&row.value)?;
            findings.mended(Fault::LineMissing, &row.value.url, "its line was made from the capture");
        }
    }
    to.map_or(Ok(()), |to| to.end(findings))?;
    Ok(missing)
}

fn next(lined: &mut Sorted) -> Result<Option<Vec<u8>>> {
    lined.next_record().map_err(CheckError::io("sort keys in", &std::env::temp_dir()))
}

/// A URL that is waiting has been captured without being finished, and has no line yet.
fn is_finished(context: &Context<'_>, findings: &Findings<'_>, row: &Row<Pages>) -> Result<bool> {
    let seen = row.key.seen();
    if context.url_at(&row.value.url, seen).is_none() {
        return Ok(false);
    }
    let state = look_one::<Seen>(findings.storage, &seen)?;
    Ok(matches!(state, Some(UrlState::Done { .. } | UrlState::Error { .. })))
}

/// Lines that are appended. The committed length is raised last: until then a start cuts them off again.
pub struct Appendix {
    path: PathBuf,
    limit: u64,
    out: Option<(BufWriter<File>, u64)>,
}

impl Appendix {
    pub fn new(files: &Files) -> Self {
        Self { path: files.lines(), limit: files.lines_limit(), out: None }
    }

    fn add(&mut self, page: &PageRecord) -> Result<()> {
        let mut line = Vec::new();
        line_of(page).write(&mut line);
        let mut write = || -> std::io::Result<()> {
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

    fn end(self, findings: &mut Findings<'_>) -> Result<()> {
        let Some((out, end)) = self.out else { return Ok(()) };
        let synced = out.into_inner().map_err(IntoInnerError::into_error).and_then(|file| file.sync_all());
        synced.map_err(CheckError::io("sync", &self.path))?;
        if let Some(file_lengths) = read::meta::<FileLengths>(findings.storage, ())? {
            let mut batch = Batch::new();
            batch.put_meta((), &FileLengths { jsonl: end, ..file_lengths });
            findings.storage.write(&batch)?;
        }
        Ok(())
    }
}

/// What the capture knows of it.
fn line_of(page: &PageRecord) -> CrawlLine<'_> {
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
    line
}
