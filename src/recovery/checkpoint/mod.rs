//! Checkpoints: states of a crawl to go back to, here or on another machine.
//!
//! | file | what lives there |
//! |---|---|
//! | [`manifest`] | what a checkpoint is made of; written last |
//! | [`shelf`] | the folder of checkpoints: which there are, how many are kept |
//! | [`make`] | making one: a draft that gets its name when it is whole |
//! | [`verify`](mod@verify) | every digest, the database opened, the archive it refers to |
//! | [`restore`](mod@restore) | a data folder from a checkpoint |
//! | [`swap`] | how a restored state takes the place of another, whenever the process is killed |
//! | [`place`] | where copies go: a folder, or a store that speaks S3 |
//! | [`layout`] | what lies there: objects under their digest, manifests |
//! | `pieces` | what grows, in pieces that are sent once |
//! | [`carry`] | a checkpoint sent there |
//! | `tidy` | what is kept there |
//! | [`fetch`] | a data folder from there |
//! | [`uploads`] | closed WARC files copied elsewhere |
//! | `files` | digests, links, renames |
//!
//! A checkpoint is built in `NAME.partial` and renamed; its manifest is the last file written. What has no manifest, or
//! another name, is never offered. `docs/storage.md` describes the layout, ADR 9 why it is so.

pub mod carry;
mod error;
pub mod fetch;
pub(in crate::recovery) mod files;
pub mod layout;
mod lines;
pub mod make;
pub mod manifest;
mod pieces;
pub mod place;
pub mod restore;
#[cfg(feature = "s3")]
mod s3;
pub mod shelf;
pub mod swap;
mod tidy;
pub mod uploads;
pub mod verify;

pub use error::{CheckpointError, Result};
pub use manifest::Manifest;
pub use place::{Place, Target};
pub use shelf::Shelf;
