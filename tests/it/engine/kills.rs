//! Three servers, of which one or two are killed and started again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use lycosa::cluster::engine::contract::{Place, reached, written};
use lycosa::cluster::engine::{Change, Engine, EngineError};

use super::{Crawl, LONG, connected, when};
use crate::support::nats::Servers;

/// What a writer knows of its key.
#[derive(Debug, Default)]
struct Count {
    /// Writes that were answered.
    done: u64,
    /// Writes that may have been done.
    unknown: u64,
}

/// Counts up in `key` until told to end: whatever was answered must be there at the next read.
fn count_up(engine: &dyn Engine, key: &str, end: &AtomicBool) -> Count {
    let mut count = Count::default();
    let mut least = 0;
    while !end.load(Ordering::SeqCst) {
        let there = reached(|| engine.read(key));
        let value: u64 = there.as_ref().map_or(0, |entry| String::from_utf8_lossy(&entry.value).parse().unwrap());
        assert!(value >= least, "{key} was {least} and is {value}: a write that was answered is lost");
        assert!(value <= count.done + count.unknown, "{key} is {value}, {count:?}");
        match engine.write_if(key, (value + 1).to_string().as_bytes(), there.map(|entry| entry.revision)) {
            Ok(_) => {
                count.done += 1;
                least = value + 1;
            }
            Err(EngineError::Away { .. }) => count.unknown += 1,
            // A write of our own that was told to be away came later.
            Err(EngineError::Conflict { .. }) if count.unknown > 0 => {}
            Err(err) => panic!("{err}"),
        }
    }
    count
}

#[test]
fn no_answered_write_is_lost_while_one_server_after_another_is_killed() {
    let Some(servers) = Servers::start(3) else { return };
    let crawl = Crawl { servers: &servers, name: "kills".into() };
    let engines: Vec<_> = (0..3).map(|_| connected(&crawl.options())).collect();
    let watch = engines[0].watch().unwrap();
    let end = AtomicBool::new(false);
    let counts: Vec<Count> = thread::scope(|scope| {
        let writers: Vec<_> = engines
            .iter()
            .enumerate()
            .map(|(nth, engine)| {
                let end = &end;
                scope.spawn(move || count_up(engine, &format!("k{nth}"), end))
            })
            .collect();
        for round in 0..6 {
            let victim = round % 3;
            servers.kill(victim);
            // Goes on without it.
            written(&engines[(round + 1) % 3], "round", round.to_string().as_bytes());
            servers.start_all();
        }
        end.store(true, Ordering::SeqCst);
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    println!("{counts:?}");
    let last = written(&engines[0], "last", b"1");
    let mut there: Vec<lycosa::cluster::engine::Entry> = vec![];
    while !there.iter().any(|entry| entry.key == "last" && entry.revision == last.revision) {
        match watch.next(LONG).expect("the watch came through the kills") {
            Change::All(all) => there = all,
            Change::Written(entry) => {
                there.retain(|old| old.key != entry.key);
                there.push(entry);
            }
            Change::Removed { .. } => {}
        }
    }
    there.sort_by(|a, b| a.key.cmp(&b.key));
    assert_eq!(there, engines[2].all().unwrap(), "what the watch told is what is there");
    for (nth, count) in counts.iter().enumerate() {
        let value = engines[2].read(&format!("k{nth}")).unwrap().unwrap().value;
        let value: u64 = String::from_utf8(value).unwrap().parse().unwrap();
        assert!((count.done..=count.done + count.unknown).contains(&value), "{value}, {count:?}");
        assert!(count.done > 0);
    }
}

#[test]
fn with_two_of_three_servers_gone_nothing_is_written_and_with_one_back_it_goes_on() {
    let Some(servers) = Servers::start(3) else { return };
    let crawl = Crawl { servers: &servers, name: "two".into() };
    let engine = connected(&crawl.options());
    let before = written(&engine, "a", b"1");
    servers.kill(0);
    servers.kill(1);
    // The leader went with them, or is still counted on.
    let write = match engine.write_if("a", b"2", Some(before.revision)) {
        Err(EngineError::Away { why, .. }) => why,
        done => panic!("{done:?}"),
    };
    assert!(!write.is_empty());
    let state = when(&engine, |state| !state.connected);
    assert!(state.why.is_some());
    servers.start_one(0);
    when(&engine, |state| state.connected);
    let after = written(&engine, "a", b"3");
    assert!(after.revision > before.revision);
    servers.start_all();
    assert_eq!(reached(|| crawl.connect().read("a")), Some(after));
}
