//! Several members in one thread, from one number: a small web crawled while messages are lost, doubled and put off, processes are
//! killed, power fails, disks are lost, clocks are wrong, members come and go, and the engine is away or empty.

mod carry;
mod engine;
mod folder;
mod life;
mod links;
mod oracle;
mod planted;
mod trouble;
mod web;
mod world;

use planted::{ALL, Planted};
use world::World;

/// One run: the last events when it fails.
fn run(seed: u64, planted: Option<Planted>) -> Result<World, String> {
    let mut world = World::new(seed, planted);
    if world.run().is_ok() {
        return Ok(world);
    }
    let mut again = World::new(seed, planted);
    again.loud = true;
    let events = again.run().err().unwrap_or_default();
    Err(format!("run {seed} with {planted:?}:\n{events}"))
}

/// `LYCOSA_SIM=FROM..UPTO` runs these.
fn runs(default: std::ops::Range<u64>) -> std::ops::Range<u64> {
    let said = std::env::var("LYCOSA_SIM").ok();
    let range = said.as_deref().and_then(|text| text.split_once(".."));
    range.map_or(default, |(from, upto)| from.parse().unwrap()..upto.parse().unwrap())
}

#[test]
fn whatever_goes_wrong_every_url_is_crawled_once_and_the_end_is_told_truly() {
    for seed in runs(0..300) {
        if let Err(events) = run(seed, None) {
            panic!("{events}");
        }
    }
}

#[test]
fn every_planted_fault_is_found() {
    let mut missed = Vec::new();
    for (planted, hint) in ALL {
        // Where it was found the last time that somebody looked, then all others.
        let found = (hint..1_000).chain(0..hint).find(|seed| run(*seed, Some(planted)).is_err());
        println!("{planted:?} is found by run {found:?}");
        missed.extend(Some(planted).filter(|_| found.is_none()));
    }
    assert_eq!(missed, [], "these were not found");
}

/// Whatever goes wrong does go wrong: a simulation in which nothing does would find nothing.
#[test]
fn all_kinds_of_trouble_happen() {
    let mut seen = std::collections::BTreeMap::new();
    for seed in 0..40 {
        let world = run(seed, None).unwrap();
        world.seen.into_iter().for_each(|(what, times)| *seen.entry(what).or_insert(0) += times);
    }
    assert!(seen.len() >= 9 && seen.values().all(|times| *times > 5), "{seen:?}");
}
