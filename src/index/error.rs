//! What can go wrong with an index.

use std::path::{Path, PathBuf};

/// Why an index cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// The library says so.
    #[error("cannot {doing} the index in {}: {source}", dir.display())]
    Library {
        /// What was being done.
        doing: &'static str,
        /// Its folder.
        dir: PathBuf,
        /// Why not.
        source: tantivy::TantivyError,
    },
    /// Bytes of it are not those that were written.
    #[error("{} of the index is damaged", file.display())]
    Damaged {
        /// Which.
        file: PathBuf,
    },
    /// It was made by another program, or for other words.
    #[error("the index in {} is of another kind ({what})", dir.display())]
    Other {
        /// Its folder.
        dir: PathBuf,
        /// What is another.
        what: &'static str,
    },
}

impl IndexError {
    /// For `map_err`: `doing` something with the index in `dir`.
    pub(super) fn library<E: Into<tantivy::TantivyError>>(doing: &'static str, dir: &Path) -> impl Fn(E) -> Self {
        let dir = dir.to_owned();
        move |source| Self::Library { doing, dir: dir.clone(), source: source.into() }
    }
}
