//! The rules of a running crawl, read and changed over HTTP.

pub mod client;
mod force;
mod joined;
mod pace;
mod ranks;
mod readmit;
mod settings;
mod trial;
