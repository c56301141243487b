//! Records, files and their repair, seen together.

mod archive;
mod model;
mod pages;
mod reading;
mod records;
mod writing;
