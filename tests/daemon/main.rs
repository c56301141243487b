//! Tests of the real program.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

#[path = "../it/kill.rs"]
mod kill;
#[path = "../it/real_pages.rs"]
mod real_pages;
#[path = "../it/sandbox.rs"]
mod sandbox;
#[path = "../it/warc.rs"]
mod warc;
