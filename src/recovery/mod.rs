//! A data folder at rest: checked and repaired, saved as a checkpoint and put back; what was received from a host erased; a crawl taken apart
//! and put together.

pub mod check;
pub mod checkpoint;
#[cfg(feature = "rocksdb")]
pub mod erase;
pub mod part;

use std::path::Path;

/// The names in a folder, sorted; none when it is not there.
fn names_in(dir: &Path) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in if_there(std::fs::read_dir(dir))?.into_iter().flatten() {
        names.extend(entry?.file_name().into_string().ok());
    }
    names.sort_unstable();
    Ok(names)
}

/// None for what is not there.
fn if_there<T>(found: std::io::Result<T>) -> std::io::Result<Option<T>> {
    match found {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}
