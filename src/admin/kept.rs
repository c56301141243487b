//! A report as a file: a line that says how it was made, then a line of JSON for each of its items. A new one takes the place of the old one
//! when it is whole.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tempfile::NamedTempFile;

use super::ControlError;
use super::paging::{Paging, cursor};
use crate::base::time::UnixMillis;

/// Folder in the data folder.
const FOLDER: &str = "reports";
/// Longest line taken, bytes.
const LONGEST: u64 = 1 << 20;

/// How a report was made.
pub(super) trait About: Serialize + DeserializeOwned + Default {
    /// Its name in files.
    const NAME: &'static str;
    /// The command that makes it.
    const COMMAND: &'static str;

    /// When.
    fn made(&self) -> UnixMillis;
}

/// A page of a report.
pub(super) struct KeptPage<A, I> {
    /// How it was made; none when there is none.
    pub about: Option<A>,
    pub items: Vec<I>,
    pub next: Option<String>,
}

fn name<A: About>() -> String {
    format!("{}.jsonl", A::NAME)
}

/// Name of one that is not whole.
fn part<A: About>() -> String {
    format!(".part-{}", A::NAME)
}

/// A report being written; dropped unfinished it is gone.
pub(super) struct Writing {
    out: BufWriter<NamedTempFile>,
    path: PathBuf,
}

impl Writing {
    pub fn begin<A: About>(data: &Path, about: &A) -> io::Result<Self> {
        let dir = data.join(FOLDER);
        fs::create_dir_all(&dir)?;
        // What a killed process left; nobody else writes here, for there is one such job at a time.
        let _ = fs::remove_file(dir.join(part::<A>()));
        let file = tempfile::Builder::new().prefix(&part::<A>()).rand_bytes(0).tempfile_in(&dir)?;
        let mut writing = Self { out: BufWriter::new(file), path: dir.join(name::<A>()) };
        writing.line(about)?;
        Ok(writing)
    }

    pub fn line(&mut self, value: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, value)?;
        self.out.write_all(b"\n")
    }

    /// Lines made before, from their beginning.
    pub fn lines(&mut self, lines: &mut (impl Read + Seek)) -> io::Result<()> {
        lines.rewind()?;
        io::copy(lines, &mut self.out).map(drop)
    }

    /// Puts it in its place.
    pub fn end(self) -> io::Result<()> {
        let file = self.out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.as_file().sync_all()?;
        file.persist(self.path).map(drop).map_err(|e| e.error)
    }
}

/// A page of the report; nothing when there is none.
pub(super) fn page<A: About, I: DeserializeOwned>(
    data: &Path,
    paging: &Paging,
) -> Result<KeptPage<A, I>, ControlError> {
    let (limit, from) = (paging.limit()?, paging.after()?);
    let path = data.join(FOLDER).join(name::<A>());
    let unread = |e: io::Error| match e.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::UnexpectedEof if !from.is_empty() => {
            ControlError::Invalid("cursor: it leads to no line".into())
        }
        _ => ControlError::Unavailable(format!("{FOLDER}/{}.jsonl in the data folder cannot be read: {e}", A::NAME)),
    };
    let file = match File::open(&path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound && from.is_empty() => {
            return Ok(KeptPage { about: None, items: Vec::new(), next: None });
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            let why = format!("cursor: there is no report; `lycosa ctl report {}` makes one", A::COMMAND);
            return Err(ControlError::Invalid(why));
        }
        other => other.map_err(unread)?,
    };
    let mut lines = BufReader::new(file);
    let mut at = 0;
    let about: A = next_line(&mut lines, &mut at).map_err(unread)?.unwrap_or_default();
    if !from.is_empty() {
        at = place(&from, &about)?;
        lines.seek(SeekFrom::Start(at)).map_err(unread)?;
    }
    let mut items: Vec<I> = Vec::new();
    while items.len() < limit {
        match next_line(&mut lines, &mut at).map_err(unread)? {
            Some(link) => items.push(link),
            None => return Ok(KeptPage { about: Some(about), items, next: None }),
        }
    }
    let more = !lines.fill_buf().map_err(unread)?.is_empty();
    let next = more.then(|| cursor(&[about.made().0.to_be_bytes(), at.to_be_bytes()].concat()));
    Ok(KeptPage { about: Some(about), items, next })
}

/// Where a cursor goes on, in the report that it is of.
fn place(key: &[u8], about: &impl About) -> Result<u64, ControlError> {
    let wrong = || ControlError::Invalid("cursor: expected `next` of the page before".into());
    let (made, at) = key.split_first_chunk().ok_or_else(wrong)?;
    let at = at.try_into().map_err(|_| wrong())?;
    if u64::from_be_bytes(*made) != about.made().0 {
        return Err(ControlError::Invalid("cursor: the report was made anew; begin at its first page".into()));
    }
    Ok(u64::from_be_bytes(at))
}

fn next_line<T: DeserializeOwned>(lines: &mut impl BufRead, at: &mut u64) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    let n = lines.by_ref().take(LONGEST).read_until(b'\n', &mut line)?;
    *at += n as u64;
    if n == 0 { Ok(None) } else { Ok(Some(serde_json::from_slice(&line)?)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admin::holders::{HeldLink, HoldersAbout, HoldersPage};

    fn link(n: u64) -> HeldLink {
        let page = Some(format!("http://h.test/{n}"));
        HeldLink {
            url: "http://h.test/gone".into(),
            reason: "status_4xx".into(),
            status: Some(404),
            page,
            context: None,
            pages: 5,
        }
    }

    fn written(data: &Path, made: u64) {
        let about = HoldersAbout { made: UnixMillis(made), ..HoldersAbout::default() };
        let mut writing = Writing::begin(data, &about).unwrap();
        (0..5).for_each(|n| writing.line(&link(n)).unwrap());
        writing.end().unwrap();
    }

    fn at(data: &Path, cursor: Option<String>) -> Result<HoldersPage, ControlError> {
        let KeptPage { about, items, next } = page(data, &Paging { limit: Some(2), cursor })?;
        Ok(HoldersPage { about, items, next })
    }

    #[test]
    fn a_report_comes_page_by_page_and_a_cursor_is_of_one_report_only() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(at(dir.path(), None), Ok(HoldersPage::default()));
        assert!(matches!(at(dir.path(), Some("00".into())), Err(ControlError::Invalid(_))), "there is no report");
        fs::create_dir(dir.path().join(FOLDER)).unwrap();
        fs::write(dir.path().join(FOLDER).join(part::<HoldersAbout>()), "left by a kill").unwrap();
        written(dir.path(), 7);
        let (mut found, mut next) = (Vec::new(), None);
        loop {
            let page = at(dir.path(), next).unwrap();
            found.extend(page.items);
            next = page.next;
            if next.is_none() {
                break;
            }
        }
        assert_eq!(found, (0..5).map(link).collect::<Vec<_>>());
        let next = at(dir.path(), None).unwrap().next;
        written(dir.path(), 8);
        assert!(matches!(at(dir.path(), next), Err(ControlError::Invalid(why)) if why.contains("anew")));
        for bad in [Some("00".repeat(16)), Some("00".into()), Some(cursor(&[[0; 7], [8; 7]].concat()))] {
            assert!(matches!(at(dir.path(), bad), Err(ControlError::Invalid(_))));
        }
        assert_eq!(fs::read_dir(dir.path().join(FOLDER)).unwrap().count(), 1);
    }

    #[test]
    fn a_cursor_into_the_middle_of_a_line_is_an_error_and_not_a_panic() {
        let dir = tempfile::tempdir().unwrap();
        written(dir.path(), 7);
        let length = fs::metadata(dir.path().join(FOLDER).join(name::<HoldersAbout>())).unwrap().len();
        for place in [1_u64, 3, length - 1] {
            let key = cursor(&[7_u64.to_be_bytes(), place.to_be_bytes()].concat());
            assert!(matches!(at(dir.path(), Some(key)), Err(ControlError::Invalid(_))), "{place}");
        }
        for place in [length, u64::MAX >> 1] {
            let key = cursor(&[7_u64.to_be_bytes(), place.to_be_bytes()].concat());
            let page = at(dir.path(), Some(key));
            assert!(
                page.as_ref().map_or_else(|e| matches!(e, ControlError::Invalid(_)), |p| p.items.is_empty()),
                "{page:?}"
            );
        }
    }
}
