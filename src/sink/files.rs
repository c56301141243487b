//! Files that roll: each has the entries of the feed between two numbers, which its name says. It has its name once it is whole and on the disk,
//! so a file is whole or not there.

use std::fs;
use std::io;
use std::path::PathBuf;

use data_encoding::HEXLOWER;

use super::{SinkError, lines};
use crate::config::SinkKind;
use crate::export::manifest::FeedPart;
use crate::export::run::apart;
use crate::export::{
    Begin, ExportError, FORMATS, Form, Manifest, Options, Output, Owner, Row, Select, Shape, Source, out,
};
use crate::storage::feed::Item;
use crate::storage::values::FeedLog;

/// Digits of a number in a name.
const DIGITS: usize = 12;

/// A folder of such files.
pub struct Folder {
    dir: PathBuf,
    kind: SinkKind,
    /// The feed, hexadecimal.
    log: String,
}

/// What goes into a file.
pub struct Part<'p> {
    /// Behind this entry it begins.
    pub after: u64,
    /// The last one in it.
    pub last: u64,
    /// The entries.
    pub items: &'p [Item],
    /// With the text of each page.
    pub text: bool,
}

impl Folder {
    /// Takes up a folder: it is made, and what a kill left half written is removed.
    ///
    /// # Errors
    /// The system's own.
    pub fn open(dir: PathBuf, kind: SinkKind, log: &FeedLog) -> io::Result<Self> {
        fs::create_dir_all(&dir)?;
        let folder = Self { dir, kind, log: HEXLOWER.encode(&log.id) };
        for name in folder.names()? {
            let bare = [out::PART, PART_MANIFEST].iter().find_map(|end| name.strip_suffix(end));
            if bare.is_some_and(|bare| parsed(bare, kind).is_some()) {
                fs::remove_file(folder.dir.join(&name))?;
            }
        }
        Ok(folder)
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let entries = fs::read_dir(&self.dir)?;
        Ok(entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect())
    }

    /// The last entry that is in files here, of those that follow `after` without a gap: they were written, and a kill came before that
    /// was said.
    ///
    /// # Errors
    /// The system's own.
    pub fn written(&self, after: u64) -> io::Result<u64> {
        let parsed =
            |name: String| parsed(&name, self.kind).filter(|(log, ..)| *log == self.log).map(|(_, a, b)| (a, b));
        let mut parts: Vec<(u64, u64)> = self.names()?.into_iter().filter_map(parsed).collect();
        parts.sort_unstable();
        let reach =
            |end: u64, (first, last): (u64, u64)| if first <= end.saturating_add(1) { end.max(last) } else { end };
        Ok(parts.into_iter().fold(after, reach))
    }

    /// The name of a file.
    pub fn name(&self, after: u64, last: u64) -> String {
        let (log, ending, first) = (&self.log, self.kind.as_str(), after.saturating_add(1));
        format!("{log}-{first:0DIGITS$}-{last:0DIGITS$}.{ending}")
    }

    /// Writes a file; its manifest lies beside it. `takes` is asked before each entry whether it goes in.
    ///
    /// # Errors
    /// [`SinkError`]; then it is not there.
    pub fn write(
        &self,
        source: &Source<'_>,
        part: &Part<'_>,
        takes: &dyn Fn(u64) -> Result<bool, SinkError>,
        owner: &dyn Owner,
    ) -> Result<Manifest, SinkError> {
        let to = self.dir.join(self.name(part.after, part.last));
        apart(source, &to)?;
        let form = self.form()?;
        let options = Options { text: part.text, ..Options::default() };
        let mut manifest = Manifest {
            software: format!("Lycosa/{}", env!("CARGO_PKG_VERSION")),
            format: form.name.to_owned(),
            options: options.clone(),
            select: Select { after: Some(part.after), all: true, ..Select::default() },
            feed: FeedPart { log: self.log.clone(), after: part.after, first: None, last: part.last },
            ..Manifest::default()
        };
        manifest.counts.entries = part.items.len() as u64;
        let mut out = Output::begin(Shape::File, &to, true, owner)?;
        match self.kind {
            SinkKind::Parquet => {
                let begin = Begin { options: &options, source, after: part.after };
                let mut format = (form.begin)(&begin, &mut out)?;
                for item in part.items {
                    out.goes_on()?;
                    match &item.page {
                        Some(page) if takes(item.number)? => {
                            let row = Row::new(source, item.number, item.entry.clone(), page.clone());
                            let taken = format.page(&row, &mut out)?;
                            manifest.note(&row, taken);
                        }
                        Some(_) => {}
                        None => manifest.counts.without_capture += 1,
                    }
                }
                manifest.counts.of_format = format.end(&mut out)?;
            }
            _ => {
                let mut file = out.file("")?;
                for item in part.items {
                    out.goes_on()?;
                    if takes(item.number)? {
                        match lines::write(source, item, part.text, &mut file)? {
                            Some(row) => manifest.note(&row, true),
                            None => manifest.counts.without_capture += 1,
                        }
                    }
                }
                out.keep(file)?;
            }
        }
        Ok(out.end(manifest)?)
    }

    fn form(&self) -> Result<&'static Form, ExportError> {
        let unknown = || ExportError::Asked(format!("there are no files of kind {}", self.kind));
        FORMATS.iter().find(|form| form.name == self.kind.as_str()).ok_or_else(unknown)
    }
}

/// What the manifest of a file that is being written ends with.
const PART_MANIFEST: &str = ".lycosa-part.json";

/// What a name says: feed, first and last entry.
fn parsed(name: &str, kind: SinkKind) -> Option<(String, u64, u64)> {
    let mut parts = name.strip_suffix(kind.as_str())?.strip_suffix('.')?.split('-');
    let (log, first, last) = (parts.next()?, parts.next()?, parts.next()?);
    let number =
        |text: &str| text.parse().ok().filter(|_| text.len() >= DIGITS && text.bytes().all(|b| b.is_ascii_digit()));
    let is_log = log.len() == 16 && log.bytes().all(|b| b.is_ascii_hexdigit());
    (is_log && parts.next().is_none()).then_some((log.to_owned(), number(first)?, number(last)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_goes_on_behind_the_files_that_follow_without_a_gap_and_removes_what_is_half_written() {
        let dir = tempfile::tempdir().unwrap();
        let log = FeedLog { id: [0xab; 8], ..FeedLog::default() };
        let open = || Folder::open(dir.path().join("a/b"), SinkKind::Jsonl, &log).unwrap();
        let folder = open();
        assert_eq!(folder.name(0, 7), "abababababababab-000000000001-000000000007.jsonl");
        assert_eq!(folder.written(3).unwrap(), 3);
        let others = FeedLog { id: [1; 8], ..FeedLog::default() };
        let other = Folder { log: HEXLOWER.encode(&others.id), dir: folder.dir.clone(), kind: SinkKind::Jsonl };
        let half = format!("{}{}", folder.name(20, 30), out::PART);
        let mine = ["notes.lycosa-part".to_owned(), format!("{}x", folder.name(20, 25))];
        let made = [folder.name(0, 7), folder.name(7, 9), folder.name(9, 20), folder.name(30, 40), other.name(20, 30)];
        for name in made.iter().chain([&half]).chain(&mine) {
            fs::write(folder.dir.join(name), "").unwrap();
        }
        let folder = open();
        assert!(!folder.dir.join(half).exists() && mine.iter().all(|name| folder.dir.join(name).exists()));
        for (after, written) in [(0, 20), (7, 20), (8, 20), (20, 20), (25, 25), (29, 29), (30, 40), (99, 99)] {
            assert_eq!(folder.written(after).unwrap(), written, "{after}");
        }
        fs::remove_file(folder.dir.join(folder.name(0, 7))).unwrap();
        assert_eq!((folder.written(0).unwrap(), folder.written(7).unwrap()), (0, 20), "who takes files away has them");
    }
}
