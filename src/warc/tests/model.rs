//! Random histories of commits, failed commits, rotations and kills against a list of what was committed.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;

use super::archive::{add, check_index, open};
use super::pages::{Maker, NOON};
use crate::storage::values::FileLengths;
use crate::warc::archive::Archive;

#[derive(Clone, Debug)]
enum Step {
    /// So many pages are appended and committed.
    Commit(u8),
    /// So many are appended, then the commit fails.
    FailedCommit(u8),
    /// The WARC is closed, as by age.
    Rotate,
    /// The process dies with so many uncommitted pages, each file cut at this share (of 255) of its uncommitted tail.
    Kill(u8, [u8; 3]),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (1u8..4).prop_map(Step::Commit),
        1 => (1u8..3).prop_map(Step::FailedCommit),
        2 => Just(Step::Rotate),
        2 => (0u8..3, any::<[u8; 3]>()).prop_map(|(pages, cuts)| Step::Kill(pages, cuts)),
    ];
    prop::collection::vec(step, 1..14)
}

/// What a database would hold: the last tails and the URLs committed.
struct World<'a> {
    dir: &'a Path,
    maker: Maker,
    archive: Archive,
    committed: FileLengths,
    urls: BTreeSet<String>,
    next: u32,
}

impl World<'_> {
    fn append(&mut self, pages: u8) -> Vec<String> {
        let mut urls = Vec::new();
        for _ in 0..pages {
            add(&mut self.archive, &mut self.maker, self.next);
            urls.push(format!("http://h{}.test/p/{}", self.next % 3, self.next));
            self.next += 1;
        }
        urls
    }

    fn run(&mut self, step: &Step) {
        match step {
            Step::Commit(pages) => {
                let urls = self.append(*pages);
                self.urls.extend(urls);
                self.committed = self.archive.file_lengths();
            }
            Step::FailedCommit(pages) => {
                self.append(*pages);
                self.archive.roll_back(&self.committed).unwrap();
            }
            Step::Rotate => {
                let old = NOON.plus(Duration::from_secs(4000));
                self.archive.rotate_if_due(old).unwrap();
            }
            Step::Kill(pages, cuts) => self.kill(*pages, *cuts),
        }
    }

    fn kill(&mut self, pages: u8, cuts: [u8; 3]) {
        self.append(pages);
        let at_death = self.archive.file_lengths();
        let warc_dir = self.dir.join("warc");
        let same = |tail: &Option<(String, u64)>, now: &str| tail.as_ref().filter(|t| t.0 == now).map_or(0, |t| t.1);
        for (now, then, cut) in
            [(&at_death.warc, &self.committed.warc, cuts[0]), (&at_death.cdxj, &self.committed.cdxj, cuts[1])]
        {
            if let Some((name, len)) = now {
                cut_tail(&warc_dir.join(format!("{name}.open")), same(then, name), *len, cut);
            }
        }
        cut_tail(&self.dir.join("crawl.jsonl"), self.committed.jsonl, at_death.jsonl, cuts[2]);
        let (archive, repair) = open(self.dir, &self.committed);
        assert_eq!(repair.lost, None);
        assert!(!repair.index_rebuilt, "a kill alone damages no index");
        self.archive = archive;
    }

    fn check(&mut self) {
        self.archive.close().unwrap();
        let mut captures = 0;
        let mut urls = BTreeSet::new();
        for entry in fs::read_dir(self.dir.join("warc")).unwrap() {
            let warc = entry.unwrap().path();
            assert!(warc.extension().is_some_and(|e| e == "gz" || e == "cdxj"), "{} is left", warc.display());
            if warc.extension().is_some_and(|e| e == "gz") {
                let cdxj =
                    warc.with_file_name(warc.file_name().unwrap().to_str().unwrap().replace(".warc.gz", ".cdxj"));
                captures += check_index(&warc, &cdxj);
                let lines = fs::read_to_string(cdxj).unwrap();
                urls.extend(lines.lines().map(|line| {
                    let json: serde_json::Value = serde_json::from_str(line.splitn(3, ' ').nth(2).unwrap()).unwrap();
                    json["url"].as_str().unwrap().to_owned()
                }));
            }
        }
        assert_eq!(urls, self.urls);
        assert_eq!(captures, self.urls.len(), "none twice");
        let log = fs::read_to_string(self.dir.join("crawl.jsonl")).unwrap();
        assert_eq!(log.lines().count(), self.urls.len());
        assert!(log.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
    }
}

fn cut_tail(path: &Path, committed: u64, len: u64, share: u8) {
    let keep = committed + (len - committed) * u64::from(share) / 255;
    OpenOptions::new().write(true).open(path).unwrap().set_len(keep).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn after_any_history_the_files_hold_the_committed_pages_and_no_others(steps in steps()) {
        let dir = tempfile::tempdir().unwrap();
        let (archive, _) = open(dir.path(), &FileLengths::default());
        let mut world = World {
            dir: dir.path(),
            maker: Maker::new(dir.path()),
            archive,
            committed: FileLengths::default(),
            urls: BTreeSet::new(),
            next: 0,
        };
        steps.iter().for_each(|step| world.run(step));
        world.archive.roll_back(&world.committed.clone()).unwrap();
        world.check();
    }
}
