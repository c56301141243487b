//! Version and seed of the folder.

use super::wire::fields;

fields! {
    /// Written once, when the folder is made.
    Format {
        /// [`crate::storage::FORMAT_VERSION`] of the program that made it.
        version: u32,
        /// Seed of the hashes that make host and URL keys.
        seed: u64,
    }
}
