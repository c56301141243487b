//! Records, files and their repair, seen together.

mod archive;
mod model;
pub(super) mod pages;
mod reading;
mod records;
mod writing;
