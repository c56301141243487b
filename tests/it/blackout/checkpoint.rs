//! Power that fails while a checkpoint is made or restored: no half one is offered, and the folder opens as the state before
//! or after, never as a mix.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use lycosa::base::fault::Faults;
use lycosa::domain::fingerprint::CrawlId;
use lycosa::recovery::checkpoint::swap::settle;
use lycosa::storage::values::Counters;
use lycosa::storage::{RocksOptions, RocksStorage, read};

use super::disk::{Disk, Names};
use super::{SETTINGS, check, trace, web};
use crate::checkpoint::{assert_is_the_truth, names, on};
use crate::dice::Dice;
use crate::sandbox::{Sandbox, program};

/// A folder with a checkpoint of 30 pages and a state of 60, and a copy of it to begin each round with.
struct Ground {
    sandbox: Sandbox,
    name: String,
    kept: PathBuf,
}

impl Ground {
    fn new() -> Self {
        let mut sandbox = Sandbox::new(web(1), SETTINGS);
        crawl(&mut sandbox, "30");
        on(&sandbox.data(), &[&"create"]).done();
        crawl(&mut sandbox, "60");
        let (name, kept) = (names(&sandbox.data()).remove(0), sandbox.beside("kept"));
        copy(&sandbox.disk(), &kept);
        Self { sandbox, name, kept }
    }

    /// Lets the power fail at some call of `lycosa checkpoint …`; gives which of how many.
    fn fail(&self, arguments: &[&str], model: Names, dice: &mut Dice) -> (u64, u64) {
        let place = self.sandbox.disk();
        fs::remove_dir_all(&place).unwrap();
        copy(&self.kept, &place);
        let trace = self.sandbox.beside("trace");
        let _ = fs::remove_file(&trace);
        let mut disk = Disk::of(&place, model);
        let mut command = program();
        command.arg("checkpoint").args(arguments).arg("--data").arg(self.sandbox.data());
        command.env("LD_PRELOAD", trace::library()).env("POWERLOSS_ROOT", &place);
        let done = command.env("POWERLOSS_TRACE", OsString::from(&trace)).output().unwrap();
        assert!(done.status.success(), "{done:?}");
        let events = trace::read(&trace);
        let (of, at) = (events.len() as u64, dice.below(events.len() as u64 + 1));
        events.into_iter().take(at as usize).for_each(|event| disk.apply(event.call));
        if at == of {
            assert_eq!(disk.differences(&Disk::of(&place, model)), [""; 0], "the trace misses something");
        }
        disk.fail(&place, dice);
        (at, of)
    }

    /// Pages stored, in the state that the next start would find.
    fn pages(&self) -> u64 {
        let data = self.sandbox.data();
        settle(&data, &Faults::default()).unwrap();
        let storage = RocksStorage::open(&data, RocksOptions::default()).unwrap();
        read::meta::<Counters>(&storage, CrawlId::default()).unwrap().unwrap().pages_stored
    }
}

fn crawl(sandbox: &mut Sandbox, pages: &str) {
    let mut daemon = sandbox.start(&["--until-done", "--max-pages", pages], None);
    assert_eq!(daemon.wait().code(), Some(0), "{}", daemon.log());
}

fn dice() -> Dice {
    let seed = Dice::seed();
    println!("LYCOSA_KILL_SEED={seed}");
    Dice::of(seed)
}

/// A folder with all that is in it, times and links kept.
fn copy(from: &Path, to: &Path) {
    let done = Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap();
    assert!(done.success());
}

const MODELS: [Names; 2] = [Names::Journal, Names::EachFolder];

#[test]
fn a_checkpoint_that_lost_power_while_it_was_made_is_whole_or_not_offered() {
    let ground = Ground::new();
    let dice = &mut dice();
    for round in 0..6 {
        let (at, of) = ground.fail(&["create"], MODELS[round % 2], dice);
        let data = ground.sandbox.data();
        let offered = names(&data);
        assert!(offered.contains(&ground.name), "call {at} of {of}: the older one is gone: {offered:?}");
        for name in &offered {
            let said = on(&data, &[&"verify", name]);
            assert_eq!(said.code, Some(0), "call {at} of {of}: {said:?}");
        }
        assert_eq!(ground.pages(), 60, "call {at} of {of}");
        check(&ground.sandbox);
    }
}

#[test]
fn a_restore_that_lost_power_leaves_the_state_before_or_after_and_no_mix() {
    let mut ground = Ground::new();
    let dice = &mut dice();
    for round in 0..8 {
        let name = ground.name.clone();
        let (at, of) = ground.fail(&["restore", &name, "--force"], MODELS[round % 2], dice);
        let pages = ground.pages();
        assert!(pages == 30 || pages == 60, "call {at} of {of}: {pages} pages");
        let said = on(&ground.sandbox.data(), &[&"verify", &name]);
        assert_eq!(said.code, Some(0), "call {at} of {of}: {said:?}");
    }
    ground.sandbox.finish(); // pages younger than the checkpoint may be recorded a second time
    assert_is_the_truth(&ground.sandbox);
}
