//! The list of what a server never took: `sinks/NAME.rejected.jsonl` in the data folder, one object a line. Bounded: a full one becomes
//! `NAME.rejected.1.jsonl` in the place of the one before.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::base::disk::own;
use crate::base::time::UnixMillis;

/// Bytes of a list.
const FULL: u64 = 8 << 20;

/// A line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line<'a> {
    /// When, milliseconds since 1970.
    pub at_ms: UnixMillis,
    /// Number of the entry.
    pub seq: u64,
    /// The page's id; empty when that was not known yet.
    pub id: &'a str,
    /// Its URL, as far as it is known.
    pub url: Option<&'a str>,
    /// The status that says so; none when the sink itself died of it.
    pub status: Option<u16>,
    /// What was said.
    pub why: &'a str,
}

/// The list of one sink.
pub struct List {
    dir: PathBuf,
    name: String,
    full: u64,
}

impl List {
    /// That of the sink of this name, in the folder of what belongs to sinks.
    pub fn of(dir: &Path, name: &str) -> Self {
        Self { dir: dir.to_owned(), name: name.to_owned(), full: FULL }
    }

    fn path(&self, which: &str) -> PathBuf {
        self.dir.join(format!("{}.rejected{which}.jsonl", self.name))
    }

    /// Adds a line.
    ///
    /// # Errors
    /// The system's own.
    pub fn add(&self, line: &Line<'_>) -> io::Result<()> {
        let (path, mut text) = (self.path(""), serde_json::to_vec(line)?);
        text.push(b'\n');
        fs::create_dir_all(&self.dir)?;
        if path.symlink_metadata().is_ok_and(|found| found.len() + text.len() as u64 > self.full) {
            fs::rename(&path, self.path(".1"))?;
        }
        own::open(&path, |how| how.create(true).append(true))?.write_all(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_is_full_gives_way_to_a_new_one_and_two_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let list = List { full: 400, ..List::of(&dir.path().join("sinks"), "a") };
        let line = |seq| Line {
            at_ms: UnixMillis(1),
            seq,
            id: "00",
            url: Some("http://a.test/"),
            status: Some(400),
            why: "no",
        };
        (1..=20).for_each(|seq| list.add(&line(seq)).unwrap());
        let text = ["", ".1"].map(|which| fs::read_to_string(list.path(which)).unwrap());
        assert!(text.iter().all(|text| text.len() <= 400), "{text:?}");
        let lines: Vec<serde_json::Value> =
            text[1].lines().chain(text[0].lines()).map(|l| serde_json::from_str(l).unwrap()).collect();
        let numbers: Vec<u64> = lines.iter().map(|line| line["seq"].as_u64().unwrap()).collect();
        assert_eq!(numbers, ((21 - numbers.len() as u64)..=20).collect::<Vec<_>>());
        assert_eq!(lines[0]["at_ms"], 1);
    }
}
