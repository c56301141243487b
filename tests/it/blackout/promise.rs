//! What a process has made safe, read from its trace: pages whose record was synced and then their commit.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use lycosa::warc::reader::WarcReader;

use super::disk::Disk;
use super::trace::{Call, Event};

/// `durability.sync`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sync {
    Every(&'static str),
    Commit,
}

impl Sync {
    pub fn setting(self) -> &'static str {
        match self {
            Self::Every(interval) => interval,
            Self::Commit => "commit",
        }
    }
}

/// How much of each WARC is safe.
pub struct Promise {
    sync: Sync,
    /// When something last became safe.
    pub at: u64,
    /// Synced, but not yet the database's log; with `commit` the batch is written in between.
    records: BTreeMap<usize, usize>,
    written: BTreeMap<usize, usize>,
    safe: BTreeMap<usize, usize>,
}

impl Promise {
    pub fn new(sync: Sync) -> Self {
        let none = BTreeMap::new;
        Self { sync, at: 0, records: none(), written: none(), safe: none() }
    }

    /// Notes a call that is about to change the disk.
    pub fn note(&mut self, disk: &Disk, event: &Event) {
        match &event.call {
            Call::Sync { fd } => match disk.open_file(*fd) {
                Some((path, file)) if path.contains(".warc.gz") => {
                    self.records.insert(file, disk.content(file).len());
                    if self.sync != Sync::Commit {
                        self.written.extend(&self.records);
                    }
                }
                Some((path, _)) if path.ends_with(".log") => {
                    self.safe.append(&mut self.written);
                    self.at = event.at;
                }
                _ => {}
            },
            Call::Write { fd, .. } if disk.open_file(*fd).is_some_and(|(path, _)| path.ends_with(".log")) => {
                self.written.append(&mut self.records);
            }
            _ => {}
        }
    }

    /// The URLs of the records that are safe; `place` is for a file of a moment.
    pub fn pages(&self, disk: &Disk, place: &Path) -> BTreeSet<String> {
        let mut urls = BTreeSet::new();
        for (file, len) in &self.safe {
            fs::write(place, &disk.content(*file)[..*len]).unwrap();
            let mut reader = WarcReader::open(place, 0).unwrap();
            while let Some(header) = reader.next_record().unwrap() {
                if matches!(header.kind(), "response" | "revisit") {
                    urls.insert(header.target().unwrap().to_owned());
                }
                reader.finish().unwrap();
            }
        }
        urls.retain(|url| !crate::sandbox::is_rules(url));
        urls
    }
}
