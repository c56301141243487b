//! Random histories of commits, rotations and kills against a list of what was committed.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;

use super::archive::Bench;
use super::pages::NOON;
use crate::base::time::UnixMillis;
use crate::storage::values::FileLengths;
use crate::warc::archive::ArchiveRepair;
use crate::warc::member::Compression;
use crate::warc::name::{cdxj_name, is_warc, open_name};

#[derive(Clone, Debug)]
enum Step {
    /// So many pages are appended and committed.
    Commit(u8),
    /// The WARC is closed, as by age.
    Rotate,
    /// The process dies with so many uncommitted pages, each file cut at this share (of 255) of its uncommitted tail.
    Kill(u8, [u8; 3]),
    /// The same, and the next start has another compression in its settings.
    Switch(u8, [u8; 3]),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (1u8..4).prop_map(Step::Commit),
        2 => Just(Step::Rotate),
        3 => (0u8..3, any::<[u8; 3]>()).prop_map(|(pages, cuts)| Step::Kill(pages, cuts)),
        1 => (0u8..3, any::<[u8; 3]>()).prop_map(|(pages, cuts)| Step::Switch(pages, cuts)),
    ];
    prop::collection::vec(step, 1..14)
}

/// What a database would hold: the last tails and the URLs committed.
struct World {
    bench: Bench,
    committed: FileLengths,
    urls: BTreeSet<String>,
    next: u32,
}

impl World {
    fn append(&mut self, pages: u8) -> Vec<String> {
        let numbers = self.next..self.next + u32::from(pages);
        self.next = numbers.end;
        let add = |n| {
            self.bench.add(n);
            format!("http://h{}.test/p/{n}", n % 3)
        };
        numbers.map(add).collect()
    }

    fn run(&mut self, step: &Step) {
        match step {
            Step::Commit(pages) => {
                let urls = self.append(*pages);
                self.urls.extend(urls);
                self.committed = self.bench.archive.file_lengths();
            }
            Step::Rotate => self.rotate(NOON.plus(Duration::from_secs(4000))),
            Step::Kill(pages, cuts) => self.kill(*pages, *cuts, Bench::reopen),
            Step::Switch(pages, cuts) => {
                self.kill(*pages, *cuts, |bench, committed| bench.reopen_switched(committed, None));
                self.rotate(NOON);
            }
        }
    }

    fn rotate(&mut self, now: UnixMillis) {
        if self.bench.archive.rotate_due(now) {
            self.bench.archive.close().unwrap();
        }
    }

    fn kill(&mut self, pages: u8, cuts: [u8; 3], reopen: impl Fn(&mut Bench, &FileLengths) -> ArchiveRepair) {
        self.append(pages);
        let at_death = self.bench.archive.file_lengths();
        let same = |tail: &Option<(String, u64)>, now: &str| tail.as_ref().filter(|t| t.0 == now).map_or(0, |t| t.1);
        for (now, then, cut) in
            [(&at_death.warc, &self.committed.warc, cuts[0]), (&at_death.cdxj, &self.committed.cdxj, cuts[1])]
        {
            if let Some((name, len)) = now {
                cut_tail(&self.bench.warc_dir().join(open_name(name)), same(then, name), *len, cut);
            }
        }
        cut_tail(&self.bench.jsonl(), self.committed.jsonl, at_death.jsonl, cuts[2]);
        let repair = reopen(&mut self.bench, &self.committed);
        assert_eq!(repair.lost, None);
        assert!(!repair.index_rebuilt, "a kill alone damages no index");
    }

    fn check(&mut self) {
        self.bench.archive.close().unwrap();
        let mut captures = 0;
        let mut urls = BTreeSet::new();
        for entry in fs::read_dir(self.bench.warc_dir()).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(is_warc(&name) || name.ends_with(".cdxj"), "{name} is left");
            if is_warc(&name) {
                captures += self.bench.indexed_in(&name);
                let lines = fs::read_to_string(self.bench.warc_dir().join(cdxj_name(&name))).unwrap();
                urls.extend(lines.lines().map(|line| {
                    let json: serde_json::Value = serde_json::from_str(line.splitn(3, ' ').nth(2).unwrap()).unwrap();
                    json["url"].as_str().unwrap().to_owned()
                }));
            }
        }
        assert_eq!(urls, self.urls);
        assert_eq!(captures, self.urls.len(), "none twice");
        let log = fs::read_to_string(self.bench.jsonl()).unwrap();
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
    fn after_any_history_the_files_hold_the_committed_pages_and_no_others(
        steps in steps(), compression in prop::sample::select(&Compression::BOTH[..]),
    ) {
        let (bench, committed) = (Bench::of(compression), FileLengths::default());
        let mut world = World { bench, committed, urls: BTreeSet::new(), next: 0 };
        steps.iter().for_each(|step| world.run(step));
        world.kill(0, [255; 3], Bench::reopen);
        world.check();
    }
}
