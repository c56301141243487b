//! Captures, and what the archive holds of them.

use std::path::Path;

use crate::base::time::UnixMillis;
use crate::storage::keys::{Key as _, KeyRange, PageKey, SeenKey};
use crate::storage::tables::Pages;
use crate::storage::values::PageRecord;
use crate::storage::{Storage, StorageError, read};
use crate::warc::pick::{PickError, Picked, response_at};

/// Most bytes of a record, and of a decoded body, that are read to be shown.
pub const MOST: u64 = 16 << 20;

/// A capture of a URL.
pub type Capture = (PageKey, PageRecord);

/// Why the bytes of a capture cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum StoredError {
    /// The database does not answer.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// It has no record.
    #[error(
        "the settings left this page out of the archive (store.skip_types, store.statuses, dedup.near_store), or its first copy is not known"
    )]
    Nowhere,
    /// Its record cannot be read.
    #[error(transparent)]
    Pick(#[from] PickError),
}

/// Captures of a URL, newest first; with `until` those of then or before.
///
/// # Errors
/// The storage's own.
pub fn captures(
    storage: &dyn Storage,
    url: SeenKey,
    until: Option<UnixMillis>,
    most: usize,
) -> Result<Vec<Capture>, StorageError> {
    let all = KeyRange::captures(url);
    let range = match until {
        Some(at) => KeyRange { from: url.page(at).encode(), ..all },
        None => all,
    };
    read::scan::<Pages>(storage, &range, most)
}

/// The response that holds the bytes of a capture, of at most so many bytes; `dir` is the folder of the archive.
///
/// # Errors
/// See [`StoredError`].
pub fn stored(storage: &dyn Storage, dir: &Path, capture: &Capture, most: u64) -> Result<Picked, StoredError> {
    let (key, page) = capture;
    let place = read::holder(storage, key.seen(), page)?.and_then(|page| page.warc).ok_or(StoredError::Nowhere)?;
    Ok(response_at(dir, &place.file, place.offset, most)?)
}
