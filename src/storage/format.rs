//! The format record inside the database: version and seed.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;

use super::values::Format;
use super::{Batch, FORMAT_VERSION, Storage, StorageError, read};

/// The format of a store; written now, with `seed` or a random one, when the store is new.
///
/// # Errors
/// [`StorageError::Version`] when the store says it has another version; `dir` is for the message only.
pub fn prepare(storage: &dyn Storage, seed: Option<u64>, dir: &Path) -> Result<Format, StorageError> {
    if let Some(found) = read::meta::<Format>(storage, ())? {
        if found.version != FORMAT_VERSION {
            return Err(StorageError::Version { path: dir.into(), found: found.version.to_string() });
        }
        return Ok(found);
    }
    if super::folder::has_lines(dir) {
        return Err(StorageError::Gone { path: dir.into() });
    }
    let format = Format { version: FORMAT_VERSION, seed: seed.unwrap_or_else(|| u64::from_be_bytes(random_bits())) };
    let mut batch = Batch::new();
    batch.put_meta((), &format);
    storage.write(&batch)?;
    storage.sync()?;
    Ok(format)
}

/// Sixty-four bits nobody can guess: the standard library seeds its hashers from the system.
pub fn random_bits() -> [u8; 8] {
    RandomState::new().build_hasher().finish().to_be_bytes()
}
