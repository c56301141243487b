//! Whether a checkpoint is what its manifest says, and whether the archive it refers to is there.

use std::path::Path;

use serde::Serialize;

use super::manifest::{Manifest, Stored};
use super::{CheckpointError, Result, files, lines, uploads};

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "each name says it")]
pub struct Report {
    pub name: String,
    pub files: usize,
    pub bytes: u64,
    /// Archive files it refers to.
    pub archive: usize,
    /// Those of them that were uploaded and are no longer here.
    pub elsewhere: usize,
    /// What is wrong with its own files: it must not be used.
    pub damage: Vec<String>,
    /// What is missing of the archive and of `crawl.jsonl`: it can be used, those pages are lost.
    pub missing: Vec<String>,
}

impl Report {
    /// True when nothing is wrong.
    pub fn is_good(&self) -> bool {
        self.damage.is_empty() && self.missing.is_empty()
    }
}

/// A checkpoint with these problems must not be used.
pub(super) fn whole(name: &str, problems: Vec<String>) -> Result<()> {
    if problems.is_empty() { Ok(()) } else { Err(CheckpointError::Damaged { name: name.to_owned(), problems }) }
}

/// Checks the checkpoint in `dir`: every length and digest; the database is opened, and says what the manifest says; the
/// archive files are there with at least their lengths.
///
/// # Errors
/// [`CheckpointError::Io`] for what is not the checkpoint's fault.
pub fn verify(dir: &Path, manifest: &Manifest, data: &Path, warc_dir: &Path) -> Result<Report> {
    let mut report = Report {
        name: manifest.name.clone(),
        files: manifest.files.len(),
        bytes: manifest.bytes(),
        archive: manifest.archive.len(),
        ..Report::default()
    };
    report.damage = damage(dir, manifest)?;
    report.missing = absent(warc_dir, data, manifest)?;
    let short = |file: &&Stored| too_short(&warc_dir.join(&file.file), file).is_some();
    report.elsewhere = manifest.archive.iter().filter(short).count().saturating_sub(report.missing.len());
    report.missing.extend(lines::missing(data, manifest)?);
    Ok(report)
}

/// What is wrong with the checkpoint's own files in `dir`, and with the database that they make.
pub(super) fn damage(dir: &Path, manifest: &Manifest) -> Result<Vec<String>> {
    let mut damage: Vec<String> = manifest.files.iter().filter_map(|file| wrong_with(dir, file)).collect();
    if damage.is_empty() {
        damage.extend(database(dir, manifest)?);
    }
    Ok(damage)
}

/// Archive files that are not whole in `warc_dir` and, by the list in `data`, were not uploaded: what is wrong with each.
pub(super) fn absent(warc_dir: &Path, data: &Path, manifest: &Manifest) -> Result<Vec<String>> {
    let uploaded = uploads::read_list(data)?;
    let due = manifest.archive.iter().filter(|f| uploaded.get(&f.file).is_none_or(|line| line.bytes < f.bytes));
    Ok(due.filter_map(|file| too_short(&warc_dir.join(&file.file), file)).collect())
}

fn too_short(path: &Path, wanted: &Stored) -> Option<String> {
    match std::fs::metadata(path) {
        _ if wanted.bytes == 0 => None,
        Ok(found) if found.len() >= wanted.bytes => None,
        Ok(found) => Some(format!("{} has {} bytes, {} belong to it", path.display(), found.len(), wanted.bytes)),
        Err(e) => Some(format!("{}: {e}", path.display())),
    }
}

/// What is wrong with a file of the checkpoint.
fn wrong_with(dir: &Path, wanted: &Stored) -> Option<String> {
    match files::digest(&dir.join(&wanted.file), u64::MAX) {
        Err(e) => Some(e.to_string()),
        Ok((bytes, _)) if bytes != wanted.bytes => {
            Some(format!("{} has {bytes} bytes, not {}", wanted.file, wanted.bytes))
        }
        Ok((_, sha)) if wanted.sha256.as_ref().is_none_or(|w| *w != sha) => {
            Some(format!("{} has another content (SHA-256 {sha})", wanted.file))
        }
        Ok(_) => None,
    }
}

/// What is wrong with the database, opened to be read only.
#[cfg(feature = "rocksdb")]
pub(super) fn database(dir: &Path, manifest: &Manifest) -> Result<Option<String>> {
    use super::manifest::Counts;
    use crate::domain::fingerprint::CrawlId;
    use crate::storage::values::{Counters, Format};
    use crate::storage::{RocksOptions, RocksStorage, Storage, read};
    let little = RocksOptions { memory: 16 << 20, open_files: 64, ..RocksOptions::default() };
    let looked = RocksStorage::look(&dir.join("db"), little).and_then(|storage| {
        let seed = read::meta::<Format>(&storage, ())?.map_or(0, |f| f.seed);
        let counters: Counters = read::meta(&storage, CrawlId::default())?.unwrap_or_default();
        Ok((format!("{seed:016x}"), storage.sequence(), Counts::from(&counters)))
    });
    Ok(match looked {
        Err(e) => Some(e.to_string()),
        Ok(found) if found == (manifest.seed.clone(), manifest.sequence, manifest.counts) => None,
        Ok(found) => Some(format!("its database is not that of the manifest: {found:?}")),
    })
}

#[cfg(not(feature = "rocksdb"))]
pub(super) fn database(_: &Path, _: &Manifest) -> Result<Option<String>> {
    Ok(Some("built without RocksDB: its database cannot be opened".into()))
}
