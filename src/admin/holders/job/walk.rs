//! The walk over the archive: each metadata record of a page's newest capture, read once, a file after the other.

use std::collections::{BTreeSet, HashSet};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::fcntl::OFlag;

use super::Dead;
use crate::admin::commit::{chunks, reading};
use crate::admin::holders::HoldersAbout;
use crate::base::sort::Sorter;
use crate::crawl::jobs::{Job, JobError};
use crate::crawl::node::Node;
use crate::domain::url::PageUrl;
use crate::recovery::checkpoint::make::closed_files;
use crate::recovery::checkpoint::uploads::read_list;
use crate::storage::keys::{KeyRange, SeenKey};
use crate::storage::read;
use crate::storage::tables::Pages;
use crate::storage::values::FileLengths;
use crate::warc::date::parse_iso;
use crate::warc::metadata::{MAX_OUTLINK_BYTES, omitted_links, outlinks};
use crate::warc::name::{is_warc, open_name};
use crate::warc::reader::{WarcHeader, WarcReader};

/// Pages listed of one dead URL.
pub(super) const PAGES: u32 = 100;
const LISTED: u64 = 1_000_000;
/// Files that are named as not read.
const NAMED: usize = 100;
/// Records of pages read at a time.
const CHUNK: usize = 1_000;
/// Bytes of an archive file between two rests.
const PIECE: u64 = 4 << 20;
/// A rest, so that the crawl has the disk and the processor before this.
const REST: Duration = Duration::from_millis(20);
/// Longest content read of a metadata record.
const MAX_METADATA: u64 = 2 * MAX_OUTLINK_BYTES as u64;

/// An archive file, and how many bytes of it count.
pub(super) struct Source {
    path: PathBuf,
    committed: Option<u64>,
}

pub(super) struct Walk<'j> {
    pub node: &'j Node,
    pub job: &'j Job,
    pub dead: &'j mut Dead,
    pub about: &'j mut HoldersAbout,
    pub rows: Sorter,
}

/// The archive files here, in the order of their names; those that are kept elsewhere alone are told as not read.
pub(super) fn sources(node: &Node, job: &Job, about: &mut HoldersAbout) -> Result<Vec<Source>, JobError> {
    let failed = |e: &dyn std::fmt::Display| JobError::Failed(e.to_string());
    let dir = node.crawl.rules.settings.warc_dir();
    // Before the list: a file that is closed between the two is then on it, whole.
    let file_lengths: FileLengths = read::meta(&*node.storage, ()).map_err(|e| failed(&e))?.unwrap_or_default();
    let mut names: Vec<String> = closed_files(&dir).map_err(|e| failed(&e))?.into_iter().map(|f| f.file).collect();
    names.retain(|name| is_warc(name));
    let uploaded = read_list(&node.crawl.rules.settings.store.data_dir).map_err(|e| failed(&e))?;
    for name in uploaded.keys().filter(|name| is_warc(name) && !names.contains(name)) {
        not_read(about, format!("{name}: copied elsewhere and removed here"));
    }
    let open = file_lengths.warc.as_ref().map(|(name, _)| name);
    let here =
        |name: &str| names.iter().any(|n| n == name) || open.is_some_and(|n| n == name) || uploaded.contains_key(name);
    for name in named_by_pages(node, job)?.iter().filter(|name| !here(name)) {
        not_read(about, format!("{name}: it is not in the archive folder, though pages are in it"));
    }
    let mut found: Vec<Source> = names.iter().map(|n| Source { path: dir.join(n), committed: None }).collect();
    if let Some((name, length)) = file_lengths.warc.filter(|(name, _)| !names.contains(name)) {
        found.push(Source { path: dir.join(open_name(&name)), committed: Some(length) });
    }
    Ok(found)
}

/// The files that the newest captures are in.
fn named_by_pages(node: &Node, job: &Job) -> Result<BTreeSet<String>, JobError> {
    let (mut names, mut last_url) = (BTreeSet::new(), None);
    for rows in chunks::<Pages>(&*node.storage, job, KeyRange::all(), CHUNK) {
        for (key, page) in rows? {
            let url = key.seen();
            if last_url.replace(url) != Some(url) {
                names.extend(page.warc.map(|place| place.file));
            }
        }
        job.step(0, 0)?;
    }
    Ok(names)
}

fn not_read(about: &mut HoldersAbout, what: String) {
    about.not_read_total += 1;
    if about.not_read.len() < NAMED {
        about.not_read.push(what);
    }
}

impl Walk<'_> {
    pub fn all(&mut self, sources: &[Source]) -> Result<(), JobError> {
        for source in sources {
            match self.file(source) {
                Ok(()) => self.about.files += 1,
                Err(Stopped::Job(e)) => return Err(e),
                Err(Stopped::File(why)) => {
                    let name = source.path.file_name().unwrap_or_default().to_string_lossy();
                    not_read(self.about, format!("{name}: {why}"));
                }
            }
        }
        Ok(())
    }

    fn file(&mut self, source: &Source) -> Result<(), Stopped> {
        let file = open(source).map_err(|e| Stopped::File(e.to_string()))?;
        let file = file.take(source.committed.unwrap_or(u64::MAX));
        let mut reader = WarcReader::new(BufReader::with_capacity(64 << 10, file), 0);
        let mut rest_at = PIECE;
        while let Some(header) = reader.next_record().map_err(|e| Stopped::File(e.to_string()))? {
            if header.kind() == "metadata" {
                let mut text = Vec::new();
                let content = reader.content().take(MAX_METADATA).read_to_end(&mut text);
                content.map_err(|e| Stopped::File(format!("the record at {}: {e}", header.offset)))?;
                self.record(&header, &String::from_utf8_lossy(&text))?;
            }
            self.job.step(0, 0)?;
            if header.offset >= rest_at {
                rest_at = header.offset.saturating_add(PIECE);
                std::thread::sleep(REST);
            }
        }
        Ok(())
    }

    /// The links of one page.
    fn record(&mut self, header: &WarcHeader, text: &str) -> Result<(), JobError> {
        let Some(page) = header.target() else { return Ok(()) };
        self.about.records += 1;
        let (mut newest, mut canonical, mut told) = (None, None, HashSet::new());
        for link in outlinks(text) {
            let Some(number) = self.dead_one(&link.url) else { continue };
            if !told.insert(number) {
                continue; // a page may link to it in several places
            }
            let is_newest = match newest {
                Some(known) => known,
                None => *newest.insert(self.is_newest(page, header)?),
            };
            if !is_newest {
                break; // the page was fetched again, or this capture was undone
            }
            let page = canonical.get_or_insert_with(|| self.canonical(page));
            self.hold(number, page, link.context)?;
        }
        self.about.links_omitted += omitted_links(text);
        self.job.step(1, 0)
    }

    /// A dead URL, as it is written, or as the rules in force write it.
    fn dead_one(&self, link: &str) -> Option<usize> {
        let written = PageUrl::from_canonical(link).ok().and_then(|url| self.dead.find(&self.key(&url)));
        written.or_else(|| {
            let url = self.node.crawl.live().canon.parse(link).ok()?;
            self.dead.find(&self.key(&url))
        })
    }

    /// A page by its key, whatever it was asked for as.
    fn canonical(&self, page: &str) -> String {
        let url = self.node.crawl.live().canon.parse(page);
        url.map_or_else(|_| page.to_owned(), |url| url.as_str().to_owned())
    }

    fn key(&self, url: &PageUrl) -> SeenKey {
        SeenKey::of(&self.node.prints, self.node.crawl.id, url)
    }

    /// Whether the record is of the newest capture of its page.
    fn is_newest(&self, page: &str, header: &WarcHeader) -> Result<bool, JobError> {
        let date = header.get("WARC-Date").and_then(parse_iso);
        let itself = PageUrl::from_canonical(page).ok();
        for url in itself.into_iter().chain(self.node.crawl.live().canon.parse(page)) {
            let key = self.key(&url);
            let newest = reading(self.job, || read::latest_page(&*self.node.storage, key))?;
            if newest.is_some_and(|(_, capture)| Some(capture.fetched) == date) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn hold(&mut self, number: usize, page: &str, context: &str) -> Result<(), JobError> {
        self.job.step(0, 1)?;
        if self.dead.hold(number) > PAGES {
            return Ok(());
        }
        self.about.listed_cut = self.about.listed >= LISTED;
        if self.about.listed_cut {
            return Ok(());
        }
        self.about.listed += 1;
        let row = row(number, page, context);
        self.rows.push(&row).map_err(|e| JobError::Failed(format!("a temporary file cannot be written: {e}")))
    }
}

/// A row to be sorted: the number of the dead URL, then the page and the context.
fn row(number: usize, page: &str, context: &str) -> Vec<u8> {
    let number = u32::try_from(number).unwrap_or(u32::MAX).to_be_bytes();
    [&number[..], page.as_bytes(), b"\n", context.as_bytes()].concat()
}

/// Whether a row is of this dead URL.
pub(super) fn is_of(row: &[u8], number: u32) -> bool {
    row.starts_with(&number.to_be_bytes())
}

/// The page and context of a row.
pub(super) fn page_of(row: &[u8]) -> Option<(String, String)> {
    let (page, context) = std::str::from_utf8(row.get(4..)?).ok()?.split_once('\n')?;
    Some((page.to_owned(), context.to_owned()))
}

/// The file; one that was closed meanwhile has another name.
fn open(source: &Source) -> io::Result<File> {
    match regular(&source.path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound && source.committed.is_some() => {
            regular(&source.path.with_extension(""))
        }
        other => other,
    }
}

/// Opens a file and nothing else: a pipe in its place would be waited for without an end.
fn regular(path: &Path) -> io::Result<File> {
    let file = File::options().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is no regular file")) }
}

/// Why a file was not read to its end.
#[derive(Debug, thiserror::Error)]
enum Stopped {
    #[error(transparent)]
    Job(#[from] JobError),
    #[error("{0}")]
    File(String),
}
