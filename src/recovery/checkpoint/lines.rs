//! `crawl.jsonl` of a checkpoint: the beginning of a file that went on, or that a restore has set aside since.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::manifest::Manifest;
use super::{CheckpointError, Result, files, uploads};

/// So many bytes before the end are compared.
const END: u64 = 64 * 1024;

/// The digest by which the first `bytes` bytes of a file are known again: that of the last of them. `None` when it is shorter.
pub(super) fn mark(path: &Path, bytes: u64) -> Result<Option<String>> {
    if fs::metadata(path).map_or(0, |found| found.len()) < bytes {
        return Ok(None);
    }
    if bytes == 0 {
        return Ok(Some(String::new()));
    }
    let begin = bytes.saturating_sub(END);
    let end = File::open(path).and_then(|mut file| {
        file.seek(SeekFrom::Start(begin))?;
        files::digest_of(file.take(bytes - begin), END, |_| Ok(()))
    });
    end.map(|(_, digest)| Some(digest)).map_err(CheckpointError::io("read", path))
}

/// The file that begins with the lines of the checkpoint: the present one, or one that a restore has set aside.
pub(super) fn find(data: &Path, manifest: &Manifest) -> Result<Option<PathBuf>> {
    for from in files_of(data)? {
        if mark(&from, manifest.jsonl.bytes)?.is_some_and(|mark| mark == manifest.lines_mark) {
            return Ok(Some(from));
        }
    }
    Ok(None)
}

/// What is missing of the lines.
pub(super) fn missing(data: &Path, manifest: &Manifest) -> Result<Option<String>> {
    if manifest.jsonl.bytes == 0 || find(data, manifest)?.is_some() {
        return Ok(None);
    }
    Ok(Some(format!("{}: no file begins with the lines of that moment", data.join(uploads::JSONL).display())))
}

/// Puts the lines of the checkpoint into the new state; without them an empty file, where that may be.
pub(super) fn stage(data: &Path, staging: &Path, manifest: &Manifest) -> Result<()> {
    let to = staging.join(uploads::JSONL);
    match find(data, manifest)? {
        Some(from) => files::copy(&from, &to, manifest.jsonl.bytes).map(drop),
        None => files::write_whole(&to, b""),
    }
}

/// The present file, then those set aside, the newest first.
fn files_of(data: &Path) -> Result<Vec<PathBuf>> {
    let mut aside = files::names(data)?;
    aside.retain(|name| name.starts_with("replaced-"));
    let all = std::iter::once(data.to_owned()).chain(aside.iter().rev().map(|name| data.join(name)));
    Ok(all.map(|dir| dir.join(uploads::JSONL)).filter(|path| path.is_file()).collect())
}
