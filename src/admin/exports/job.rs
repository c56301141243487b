//! The job that makes an export, and the exports that are there.

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::{ExportView, WantedExport};
use crate::admin::ControlError;
use crate::admin::commit::rest;
use crate::admin::jobs::JobView;
use crate::base::clock::Stopwatch;
use crate::base::disk::own;
use crate::crawl::jobs::{Job, JobError};
use crate::crawl::node::Node;
use crate::export::{self, Asked, ExportError, Far, Manifest, Owner, Shape, Source, out};

const KIND: &str = "export";
/// Exports listed.
const LISTED: usize = 1_000;
/// Longest manifest read, bytes: a mirror names each of its files, with some 150 bytes.
const MANIFEST: u64 = 64 << 20;
/// Files listed of an export; its manifest names all.
const FILES: usize = 1_000;
/// Bytes of a file sent at a time.
const PIECE: u64 = 256 << 10;
/// Longest rest at a time.
const REST: Duration = Duration::from_millis(250);
/// Rests for so many times the work, while pages wait for the parsers.
const SHARE: u32 = 3;

/// Starts the job.
///
/// # Errors
/// What is asked for makes no sense; one of this name is there; another one is being made; no room for it.
pub(super) fn start(node: &Arc<Node>, wanted: WantedExport) -> Result<JobView, ControlError> {
    let invalid = |e: ExportError| ControlError::Invalid(e.to_string());
    let names = || export::FORMATS.iter().map(|form| form.name).collect::<Vec<_>>().join(", ");
    let unknown = || ControlError::Invalid(format!("format={}: expected one of {}", wanted.format, names()));
    let form = export::form(&wanted.format).ok_or_else(unknown)?;
    wanted.options.check(form).map_err(invalid)?;
    let select = wanted.select.checked().map_err(invalid)?;
    let why = "the feed is not taken up yet, or cannot be shown (the log says why): ask again";
    let shown = (*node.crawl.progress.fed.borrow()).ok_or_else(|| ControlError::Unavailable(why.into()))?;
    let name = wanted.name.unwrap_or_else(|| match form.shape {
        Shape::File => format!("{}-{shown}.{0}", form.name),
        Shape::Folder => format!("{}-{shown}", form.name),
    });
    let to = node.crawl.rules.settings.export_dir().join(checked(&name)?);
    if to.exists() && !wanted.replace {
        let why = format!("an export {name} is there already: give this one another name, or have it replaced");
        return Err(ControlError::Refused(why));
    }
    if let Some((job, _)) = node.jobs.at_work(KIND, |_| true) {
        let why = format!("job {} makes another export ({}): wait for it, or cancel it", job.id, job.about);
        return Err(ControlError::Refused(why));
    }
    if node.disk.holds() {
        return Err(ControlError::Refused("the disk is low or broken: an export would need room".into()));
    }
    let asked = Asked { form, select, options: wanted.options, to, replace: wanted.replace };
    let about = format!("export {name}: format={}", form.name);
    let of_job = node.clone();
    let job = node.jobs.start(&node.clock, KIND, about, move |job| work(&of_job, job, &asked, shown, &name));
    job.map_err(|e| ControlError::Refused(e.to_string()))
}

/// A name that is one file in the folder, and no manifest or part of another.
fn checked(name: &str) -> Result<&str, ControlError> {
    let good = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let is_other =
        [out::PART, ".lycosa-part.json", ".lycosa-replaced", out::MANIFEST].iter().any(|end| name.ends_with(end));
    if matches!(name.len(), 1..=128) && name.chars().all(good) && !name.starts_with('.') && !is_other {
        return Ok(name);
    }
    Err(ControlError::Invalid(format!(
        "{name:?} is no name of an export: expected 1 to 128 of letters, digits, '.', '_' and '-', such as pages.jsonl.zst"
    )))
}

fn work(node: &Node, job: &Job, asked: &Asked, shown: u64, name: &str) -> Result<Value, JobError> {
    let rules = &node.crawl.rules;
    let source = Source::new(&*node.storage, &rules.settings, shown).reading(rules.modules.clone());
    loop {
        let (looked, pages) = Default::default();
        let owner = Daemon { node, job, looked, pages, low: Cell::new(false), worked: Cell::new(Stopwatch::start()) };
        match export::run(&source, asked, &owner) {
            Ok(manifest) => {
                let mut result = json!(manifest);
                result["name"] = name.into();
                return Ok(result);
            }
            // The database is being opened again: what was written is removed.
            Err(ExportError::Storage(e)) if e.is_latched() => rest(job)?,
            Err(ExportError::Stopped) if owner.low.get() => {
                return Err(JobError::Failed("the disk is low or broken: what was written is removed".into()));
            }
            Err(ExportError::Stopped) => return Err(JobError::Cancelled),
            Err(e) => return Err(JobError::Failed(e.to_string())),
        }
    }
}

/// A crawl that makes an export beside its work.
struct Daemon<'j> {
    node: &'j Node,
    job: &'j Job,
    looked: Cell<u64>,
    pages: Cell<u64>,
    /// The disk was low.
    low: Cell<bool>,
    /// Since the last rest.
    worked: Cell<Stopwatch>,
}

impl Owner for Daemon<'_> {
    /// While pages wait for the parsers the export has a quarter of the time.
    fn goes_on(&self) -> bool {
        self.low.set(self.node.disk.holds());
        if self.node.permits.pages_wait() {
            std::thread::sleep((self.worked.get().elapsed() * SHARE).min(REST));
        }
        self.worked.set(Stopwatch::start());
        !self.low.get() && self.job.step(0, 0).is_ok()
    }

    fn far(&self, Far { looked, pages, .. }: Far) {
        let (more, new) = (looked - self.looked.replace(looked), pages - self.pages.replace(pages));
        // Whether it is to stop is asked elsewhere.
        let _ = self.job.step(more, new);
    }
}

/// The exports that are there.
pub(super) fn list(node: &Node) -> Result<Vec<ExportView>, ControlError> {
    let dir = node.crawl.rules.settings.export_dir();
    let entries = match fs::read_dir(&dir) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|e| unread(&dir, &e))?,
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| checked(name).is_ok()).collect();
    names.sort();
    Ok(names.into_iter().filter_map(|name| view(&dir, name)).take(LISTED).collect())
}

fn view(dir: &Path, name: String) -> Option<ExportView> {
    let Manifest { format, feed, counts, mut files, .. } = manifest(dir, &name)?;
    let (bytes, file_count) = (files.iter().map(|file| file.bytes).sum(), files.len() as u64);
    files.truncate(FILES);
    Some(ExportView {
        name,
        format,
        pages: counts.pages,
        unread: counts.unread,
        bytes,
        log: feed.log,
        last: feed.last,
        file_count,
        files,
    })
}

/// Where its manifest lies.
fn manifest_of(dir: &Path, name: &str) -> PathBuf {
    match dir.join(name) {
        path if path.is_dir() => path.join(out::MANIFEST),
        _ => dir.join(format!("{name}.{}", out::MANIFEST)),
    }
}

/// What it holds; none of what is no export.
fn manifest(dir: &Path, name: &str) -> Option<Manifest> {
    let mut text = Vec::new();
    own::open(&manifest_of(dir, name), |how| how.read(true)).ok()?.take(MANIFEST).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

fn unread(path: &Path, error: &io::Error) -> ControlError {
    ControlError::Unavailable(format!("{} cannot be read: {error}", path.display()))
}

/// A file that is sent.
pub(super) struct Opened {
    file: File,
    path: PathBuf,
    /// Its length when it was opened.
    pub length: u64,
}

/// A file of an export.
///
/// # Errors
/// There is none of this name; an export has several files, and none was named.
pub(super) fn open(node: &Node, name: &str, file: Option<&str>) -> Result<Opened, ControlError> {
    let dir = node.crawl.rules.settings.export_dir();
    let absent = || ControlError::Absent(format!("there is no export {name}; see `lycosa ctl exports`"));
    let files = manifest(&dir, checked(name)?).ok_or_else(absent)?.files;
    let names = || files.iter().take(100).map(|file| file.name.as_str()).collect::<Vec<_>>().join(", ");
    let path = match (dir.join(name), file) {
        (_, Some(out::MANIFEST)) => manifest_of(&dir, name),
        (path, None) if !path.is_dir() => path,
        (path, Some(file)) if path.is_dir() && files.iter().any(|known| known.name == file) => path.join(file),
        (_, None) => return Err(ControlError::Invalid(format!("file: {name} is a folder with {}", names()))),
        (_, Some(file)) => {
            return Err(ControlError::Absent(format!("there is no {file} in {name}; there are {}", names())));
        }
    };
    let opened = own::open(&path, |how| how.read(true)).map_err(|e| unread(&path, &e))?;
    let length = opened.metadata().map_err(|e| unread(&path, &e))?.len();
    Ok(Opened { file: opened, path, length })
}

impl Opened {
    /// Some bytes from there on.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn piece(&self, at: u64) -> Result<Vec<u8>, ControlError> {
        let mut piece = vec![0; usize::try_from(PIECE.min(self.length.saturating_sub(at))).unwrap_or_default()];
        self.file.read_exact_at(&mut piece, at).map_err(|e| unread(&self.path, &e))?;
        Ok(piece)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_file_in_the_folder_and_no_part_of_another() {
        for good in ["pages.jsonl.zst", "a", "2026-11-30_x", &"a".repeat(128)] {
            assert!(checked(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            ".",
            "..",
            ".x",
            "a/b",
            "a b",
            "ä",
            "x.lycosa-part",
            "x.MANIFEST.json",
            "x.lycosa-replaced",
            &"a".repeat(129),
        ] {
            assert!(checked(bad).unwrap_err().to_string().contains("is no name of an export"), "{bad}");
        }
    }
}
