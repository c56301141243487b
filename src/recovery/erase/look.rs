//! Counts what is of a host, and what only names it, in every file of a data folder.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::Field;
use serde::{Deserialize, Serialize};

use super::walk::{What, each_record};
use super::{EraseError, Host, Result, beside, database};
use crate::recovery::checkpoint::{Shelf, uploads};
use crate::recovery::{if_there, names_in};
use crate::storage::RocksStorage;
use crate::warc::jsonl::{CrawlLine, is_erased};
use crate::warc::name::{closed_name, is_warc};

/// Longest line read, bytes.
const MAX_LINE: u64 = 4 << 20;
/// Records between two words of how far it is.
const TOLD: u64 = 1_000;

/// So many, with so many bytes as they stand on the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each name says it")]
pub struct Count {
    pub count: u64,
    pub bytes: u64,
}

impl Count {
    fn add(&mut self, bytes: u64) {
        self.count += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// What there is of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Found {
    /// Records of the archive, by type.
    pub records: BTreeMap<String, Count>,
    /// Lines of the archive's indexes.
    pub index_lines: u64,
    /// Lines of `crawl.jsonl`.
    pub lines: Count,
    /// Records of the database, by family.
    pub database: BTreeMap<String, u64>,
    /// Files of the database's folder that are not the database's, or a log in which its key stands.
    pub stray_tables: Vec<String>,
    /// The index of pages has pages of it, or cannot be read.
    pub index_of_pages: bool,
    /// Checkpoints, and states that a restore set aside, that know the host or cannot be read: they are of a time before.
    pub states_before: Vec<String>,
    /// Archive files with captures of it that are not in the folder any more.
    pub elsewhere: BTreeMap<String, u64>,
    /// What stays: the order that blocks it.
    pub blocked: bool,
    /// What stays: entries of the feed that say that something was erased, by ids only.
    pub feed_erased: u64,
    /// What stays: records of its URLs to which others link, turned away because it is blocked.
    pub turned_away: u64,
    /// What stands in the place of records, and of lines.
    pub fillers: Count,
    /// The same of lines of `crawl.jsonl`.
    pub lines_erased: u64,
    /// Of others: revisits that say their payload is in a record of it.
    pub relying: u64,
    /// Of others: records, lines, database records that name it.
    pub named: BTreeMap<String, u64>,
    /// Other files that name it: exports, reports, settings.
    pub named_files: Vec<String>,
    /// Places of the archive that are damaged, so that nobody can say what they are of.
    pub damaged: u64,
}

impl Found {
    /// True when nothing is left of what was received from the host or is keyed by it, as far as the folder goes.
    pub fn is_nothing(&self) -> bool {
        self.records.is_empty()
            && self.index_lines == 0
            && self.lines.count == 0
            && self.database.is_empty()
            && self.stray_tables.is_empty()
            && !self.index_of_pages
            && self.states_before.is_empty()
    }

    fn name(&mut self, what: &str) {
        *self.named.entry(what.to_owned()).or_default() += 1;
    }
}

/// Where to look.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "each name says it")]
pub struct Look {
    pub data: PathBuf,
    pub warc: PathBuf,
    pub checkpoints: PathBuf,
    /// Whether the index of pages in a data folder has pages of a host.
    pub in_index: fn(&Path, &str) -> bool,
}

/// Told now and then: what is being looked at, and how much of it was.
pub type Tell<'t> = &'t mut dyn FnMut(&'static str, u64);

/// A look under way.
struct Looking<'l> {
    place: &'l Look,
    host: &'l Host,
    stop: &'l AtomicBool,
    tell: Tell<'l>,
    done: u64,
    found: Found,
}

impl Look {
    /// Counts everything.
    ///
    /// # Errors
    /// [`EraseError`]: a file or the database cannot be read.
    pub fn all(&self, storage: &RocksStorage, host: &Host, stop: &AtomicBool, tell: Tell<'_>) -> Result<Found> {
        let mut looking = Looking { place: self, host, stop, tell, done: 0, found: Found::default() };
        looking.archive()?;
        looking.lines()?;
        looking.database(storage)?;
        looking.beside()?;
        Ok(looking.found)
    }
}

impl Looking<'_> {
    fn step(&mut self, what: &'static str) -> Result<()> {
        self.done += 1;
        if self.done == 1 || self.done.is_multiple_of(TOLD) {
            (self.tell)(what, self.done);
            if self.stop.load(Ordering::Acquire) {
                return Err(EraseError::Interrupted);
            }
        }
        Ok(())
    }

    fn archive(&mut self) -> Result<()> {
        let (dir, host) = (&self.place.warc, self.host);
        for name in names_in(dir).map_err(EraseError::io("list", dir))? {
            let (path, closed) = (dir.join(&name), closed_name(&name).unwrap_or(&name));
            if is_warc(closed) {
                let damaged = each_record(&path, host, true, &mut |record| {
                    let found = &mut self.found;
                    match record.what {
                        What::Own => {
                            found.records.entry(record.header.kind().to_owned()).or_default().add(record.length)
                        }
                        What::Relying => found.relying += 1,
                        What::Filler => found.fillers.add(record.length),
                        What::Other(true) => found.name("records"),
                        What::Other(false) => {}
                    }
                    self.step("records searched")
                })?;
                self.found.damaged += damaged.len() as u64;
            } else if closed.ends_with(".cdxj") {
                each_line(&path, &mut |line| {
                    if index_line_owned(host, line) {
                        self.found.index_lines += 1;
                    } else if host.is_named_in(line) {
                        self.found.name("index lines");
                    }
                    self.step("index lines searched")
                })?;
            } else if path.is_file() {
                self.other(&path, &name)?;
            }
        }
        Ok(())
    }

    fn lines(&mut self) -> Result<()> {
        let (path, host) = (self.place.data.join(uploads::JSONL), self.host);
        each_line(&path, &mut |line| {
            if is_erased(line) {
                self.found.lines_erased += 1;
            } else if line_owned(host, line) {
                self.found.lines.add(line.len() as u64);
            } else if host.is_named_in(line) {
                self.found.name("lines of crawl.jsonl");
            }
            self.step("lines searched")
        })
    }

    fn database(&mut self, storage: &RocksStorage) -> Result<()> {
        let host = self.host;
        database::each(storage, &mut |family, key, value| {
            use database::Is;
            match database::what_is(host, family, key, value) {
                Is::Own => *self.found.database.entry(family.name().to_owned()).or_default() += 1,
                Is::Order => self.found.blocked = true,
                Is::Erased => self.found.feed_erased += 1,
                Is::TurnedAway => self.found.turned_away += 1,
                Is::Other(true) => self.found.name("records of the database"),
                Is::Other(false) => {}
            }
            self.step("records of the database searched")
        })?;
        for (file, captures) in database::files_of(storage, host)? {
            if !self.place.warc.join(&file).exists() {
                self.found.elsewhere.insert(file, captures);
            }
        }
        let dir = self.place.data.join("db");
        let live = storage.tables()?;
        for name in names_in(&dir).map_err(EraseError::io("list", &dir))? {
            let stray = name.ends_with(".sst") && !live.contains(&name);
            if stray || (name.ends_with(".log") && contains(&dir.join(&name), &host.prefix)?) {
                self.found.stray_tables.push(name);
            }
        }
        Ok(())
    }

    /// What is beside: the index of pages, states of a time before, and every other file, searched for its name.
    fn beside(&mut self) -> Result<()> {
        let data = &self.place.data;
        let shelf = Shelf::new(self.place.checkpoints.clone());
        let mut states: Vec<_> =
            shelf.names()?.into_iter().map(|name| (shelf.path(&name), format!("checkpoint {name}"))).collect();
        for name in names_in(data).map_err(EraseError::io("list", data))? {
            let path = data.join(&name);
            if name.starts_with("replaced-") {
                states.push((path, name));
            } else if name == beside::INDEX {
                self.found.index_of_pages = (self.place.in_index)(data, &self.host.name);
            } else if path != self.place.warc
                && path != self.place.checkpoints
                && name != "db"
                && name != uploads::JSONL
            {
                self.other(&path, &name)?;
            }
        }
        let of_it = states.into_iter().filter(|(path, _)| database::has(&path.join("db"), self.host));
        self.found.states_before.extend(of_it.map(|(_, name)| name));
        Ok(())
    }

    /// A file or folder of another kind.
    fn other(&mut self, path: &Path, name: &str) -> Result<()> {
        if path.is_dir() {
            for inner in names_in(path).map_err(EraseError::io("list", path))? {
                self.other(&path.join(&inner), &format!("{name}/{inner}"))?;
            }
        } else if path.is_file() && names_it(path, self.host).map_err(EraseError::io("read", path))? {
            self.found.named_files.push(name.to_owned());
        }
        self.step("files searched")
    }
}

/// Whether the line of an index is of a URL of the host.
pub fn index_line_owned(host: &Host, line: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Json {
        url: String,
    }
    let json = std::str::from_utf8(line).ok().and_then(|line| line.splitn(3, ' ').nth(2));
    json.and_then(|json| serde_json::from_str::<Json>(json).ok()).is_some_and(|json| host.owns(&json.url))
}

/// Whether a line of `crawl.jsonl` is of a URL of the host.
pub fn line_owned(host: &Host, line: &[u8]) -> bool {
    match serde_json::from_slice::<CrawlLine<'_>>(line) {
        Ok(line) => host.owns(&line.url),
        Err(_) => false,
    }
}

/// Each line of a file, with its end; a file that is not there has none.
pub fn each_line(path: &Path, act: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let read = || EraseError::io("read", path);
    let Some(file) = if_there(File::open(path)).map_err(read())? else { return Ok(()) };
    let mut from = BufReader::with_capacity(256 * 1024, file);
    let mut line = Vec::new();
    while from.by_ref().take(MAX_LINE).read_until(b'\n', &mut line).map_err(read())? > 0 {
        act(&line)?;
        line.clear();
    }
    Ok(())
}

/// Whether a file names the host; what is packed by gzip or zstd is unpacked.
fn names_it(path: &Path, host: &Host) -> io::Result<bool> {
    let file = BufReader::with_capacity(256 * 1024, File::open(path)?);
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let raw = || -> io::Result<bool> { stream_names(fs::File::open(path)?, host) };
    Ok(match ending {
        "gz" => stream_names(flate2::bufread::MultiGzDecoder::new(file), host).or_else(|_| raw())?,
        "zst" => zstd::stream::read::Decoder::new(file).and_then(|file| stream_names(file, host)).or_else(|_| raw())?,
        "parquet" => table_names(path, host).unwrap_or(true),
        _ => stream_names(file, host)?,
    })
}

/// Whether a text of a Parquet table names the host.
fn table_names(path: &Path, host: &Host) -> parquet::errors::Result<bool> {
    let table = SerializedFileReader::new(File::open(path)?)?;
    for row in table.get_row_iter(None)? {
        let names = |field: &Field| matches!(field, Field::Str(text) if host.is_named_in(text.as_bytes()));
        if row?.get_column_iter().any(|(_, field)| names(field)) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn stream_names(mut from: impl Read, host: &Host) -> io::Result<bool> {
    search(&mut from, host.overlap(), &mut |text| host.is_named_in(text))
}

/// Whether bytes stand in a file.
fn contains(path: &Path, bytes: &[u8]) -> Result<bool> {
    let read = || {
        let finder = memchr::memmem::Finder::new(bytes);
        search(&mut File::open(path)?, bytes.len(), &mut |text| finder.find(text).is_some())
    };
    read().map_err(EraseError::io("read", path))
}

/// Looks at pieces, each with the end of the one before.
fn search(from: &mut dyn Read, overlap: usize, is_there: &mut dyn FnMut(&[u8]) -> bool) -> io::Result<bool> {
    let (mut piece, mut held) = (vec![0; (256 << 10) + overlap], 0);
    loop {
        let n = from.read(piece.get_mut(held..).unwrap_or_default())?;
        let filled = held + n;
        if is_there(piece.get(..filled).unwrap_or_default()) {
            return Ok(true);
        }
        if n == 0 {
            return Ok(false);
        }
        held = filled.min(overlap);
        piece.copy_within(filled - held..filled, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fingerprint::Fingerprinter;

    /// Gives its bytes so few at a time.
    struct Slow<'b>(&'b [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            let n = self.1.min(to.len());
            self.0.read(&mut to[..n])
        }
    }

    #[test]
    fn a_name_is_found_wherever_the_pieces_are_cut() {
        let host = Host::named("a.test", &Fingerprinter::new(1)).unwrap();
        let text = [&[b'x'; 50][..], b"http://a.test/", &[b'y'; 50]].concat();
        for piece in 1..text.len() {
            assert!(stream_names(Slow(&text, piece), &host).unwrap(), "{piece}");
        }
        assert!(!stream_names(Slow(b"http://b.test/ a.test", 5), &host).unwrap());
    }
}
