//! What every engine keeps, as tests: each is run over memory, one server and three.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a promise that is not kept fails its test")]

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use crossbeam_channel::bounded;

use super::{Change, Engine, EngineError, Entry, MESSAGE_CAP, VALUE_CAP, Watch};
use crate::base::clock::Stopwatch;

/// Longer than anything that is waited for takes on the slowest machine.
const LONG: Duration = Duration::from_secs(60);

/// An engine of a test.
pub trait Place {
    /// A new connection to it.
    fn connect(&self) -> Arc<dyn Engine>;
    /// It is away from now on.
    fn stop(&self);
    /// It is back.
    fn start(&self);
    /// All it kept is gone, and it is there.
    fn empty(&self);
}

/// A promise of the contract.
pub type Promise = fn(&dyn Place);

/// All of them, by name.
pub const ALL: [(&str, Promise); 15] = [
    ("a_read_after_my_write_sees_it_through_every_connection", a_read_after_my_write_sees_it_through_every_connection),
    ("of_many_writers_on_one_revision_one_succeeds", of_many_writers_on_one_revision_one_succeeds),
    ("a_counter_under_cas_loses_nothing", a_counter_under_cas_loses_nothing),
    ("what_is_removed_is_not_there_and_may_be_made_again", what_is_removed_is_not_there_and_may_be_made_again),
    ("what_is_too_large_or_no_name_is_refused", what_is_too_large_or_no_name_is_refused),
    ("all_is_every_entry_by_key", all_is_every_entry_by_key),
    ("a_watch_tells_what_is_there_and_each_newest_state", a_watch_tells_what_is_there_and_each_newest_state),
    ("an_ask_is_answered", an_ask_is_answered),
    ("nobody_too_late_busy_and_failed_are_told_apart", nobody_too_late_busy_and_failed_are_told_apart),
    ("of_several_who_answer_one_is_asked", of_several_who_answer_one_is_asked),
    ("an_engine_away_is_told_and_comes_back", an_engine_away_is_told_and_comes_back),
    ("a_watch_begun_while_it_is_away_begins_when_it_is_back", a_watch_begun_while_it_is_away_begins_when_it_is_back),
    ("an_emptied_engine_is_empty_and_of_use", an_emptied_engine_is_empty_and_of_use),
    ("no_revision_comes_again_when_it_was_emptied", no_revision_comes_again_when_it_was_emptied),
    ("its_clock_is_told_against_ours", its_clock_is_told_against_ours),
];

/// Tries `call` again while the engine is away.
pub fn reached<T>(mut call: impl FnMut() -> Result<T, EngineError>) -> T {
    let began = Stopwatch::start();
    loop {
        match call() {
            Ok(done) => return done,
            Err(EngineError::Away { .. } | EngineError::Late { .. } | EngineError::NoOne { .. })
                if began.elapsed() < LONG =>
            {
                thread::sleep(Duration::from_millis(20));
            }
            Err(err) => panic!("{err}"),
        }
    }
}

/// Writes until it is done, whoever did it: a write that was answered as away may have been.
pub fn written(engine: &dyn Engine, key: &str, value: &[u8]) -> Entry {
    reached(|| {
        let there = engine.read(key)?;
        match there {
            Some(there) if there.value == value => return Ok(there),
            there => match engine.write_if(key, value, there.map(|entry| entry.revision)) {
                // An earlier try of ours, done late.
                Err(EngineError::Conflict { .. }) => Ok(0),
                done => done,
            },
        }
        .and_then(|_| engine.read(key))?
        .filter(|entry| entry.value == value)
        .ok_or_else(|| EngineError::Away { server: String::new(), why: "not seen".into() })
    })
}

/// Writes on a revision; where the answer was lost, what is there says whether it was done.
fn put(line: &dyn Engine, key: &str, value: &[u8], revision: Option<u64>) -> u64 {
    let mut unsure = false;
    reached(|| match line.write_if(key, value, revision) {
        Err(EngineError::Conflict { .. }) if unsure => {
            let there = line.read(key)?.filter(|entry| entry.value == value);
            Ok(there.unwrap_or_else(|| panic!("{key} was written by another")).revision)
        }
        done => {
            unsure |= matches!(done, Err(EngineError::Away { .. }));
            done
        }
    })
}

/// Reads changes until `wanted` says yes to what they make of what was there.
fn watched(watch: &Watch, there: &mut Vec<Entry>, wanted: impl Fn(&[Entry]) -> bool) -> usize {
    let mut whole = 0;
    while !wanted(there) {
        match watch.next(LONG).expect("the watch has nothing more to tell") {
            Change::All(all) => {
                whole += 1;
                *there = all;
            }
            Change::Written(entry) => {
                there.retain(|old| old.key != entry.key);
                there.push(entry);
            }
            Change::Removed { key, .. } => there.retain(|old| old.key != key),
        }
    }
    whole
}

fn has<'a>(key: &'a str, value: &'a [u8]) -> impl Fn(&[Entry]) -> bool + 'a {
    move |there| there.iter().any(|entry| entry.key == key && entry.value == value)
}

fn conflict<T: std::fmt::Debug>(done: Result<T, EngineError>) {
    assert!(matches!(done, Err(EngineError::Conflict { .. })), "{done:?}");
}

fn a_read_after_my_write_sees_it_through_every_connection(place: &dyn Place) {
    let lines: Vec<_> = (0..3).map(|_| place.connect()).collect();
    let mut revision = None;
    for nth in 0..100_u32 {
        let value = nth.to_string().into_bytes();
        let writer = &lines[nth as usize % lines.len()];
        let new = put(&**writer, "a", &value, revision);
        assert!(revision < Some(new));
        for line in &lines {
            let entry = reached(|| line.read("a")).expect("written");
            assert_eq!((entry.value.as_slice(), entry.revision, entry.key.as_str()), (value.as_slice(), new, "a"));
        }
        revision = Some(new);
    }
}

fn of_many_writers_on_one_revision_one_succeeds(place: &dyn Place) {
    let lines: Vec<_> = (0..4).map(|_| place.connect()).collect();
    let mut revision = None;
    for round in 0..25 {
        let together = Barrier::new(lines.len());
        let done: Vec<_> = thread::scope(|scope| {
            let write = |line: &Arc<dyn Engine>, nth: usize| {
                together.wait();
                line.write_if("a", format!("{round} {nth}").as_bytes(), revision)
            };
            let threads: Vec<_> =
                lines.iter().enumerate().map(|(nth, line)| scope.spawn(move || write(line, nth))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let won: Vec<u64> = done.iter().filter_map(|done| done.as_ref().ok().copied()).collect();
        let entry = reached(|| lines[0].read("a")).unwrap();
        let (of, nth) =
            String::from_utf8(entry.value).unwrap().split_once(' ').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
        assert_eq!(of, round.to_string(), "one is to succeed: {done:?}");
        match &done[nth.parse::<usize>().unwrap()] {
            Ok(new) => assert_eq!((won.as_slice(), entry.revision), ([*new].as_slice(), *new), "{done:?}"),
            // Its answer was lost.
            Err(EngineError::Away { .. }) => assert!(won.is_empty(), "{done:?}"),
            err => panic!("{err:?}"),
        }
        revision = Some(entry.revision);
    }
}

fn a_counter_under_cas_loses_nothing(place: &dyn Place) {
    let (threads, each): (usize, usize) = (4, 25);
    let lines: Vec<_> = (0..threads).map(|_| place.connect()).collect();
    put(&*lines[0], "counter", b"0", None);
    let lost = AtomicUsize::new(0);
    thread::scope(|scope| {
        for line in &lines {
            let lost = &lost;
            scope.spawn(move || {
                let mut done = 0;
                while done < each {
                    let entry = reached(|| line.read("counter")).unwrap();
                    let count: usize = String::from_utf8(entry.value).unwrap().parse().unwrap();
                    match line.write_if("counter", (count + 1).to_string().as_bytes(), Some(entry.revision)) {
                        Ok(_) => done += 1,
                        Err(EngineError::Conflict { .. }) => {}
                        Err(EngineError::Away { .. }) => _ = lost.fetch_add(1, Ordering::SeqCst),
                        Err(err) => panic!("{err}"),
                    }
                }
            });
        }
    });
    let counted: usize =
        String::from_utf8(reached(|| lines[0].read("counter")).unwrap().value).unwrap().parse().unwrap();
    let least = threads * each;
    assert!((least..=least + lost.into_inner()).contains(&counted), "{counted}");
}

fn what_is_removed_is_not_there_and_may_be_made_again(place: &dyn Place) {
    let line = place.connect();
    let first = put(&*line, "a", b"1", None);
    conflict(retried(|| line.write_if("a", b"2", None)));
    conflict(retried(|| line.write_if("b", b"2", Some(first))));
    conflict(retried(|| line.remove_if("a", first + 1)));
    let removed = line.remove_if("a", first).unwrap();
    assert!(removed > first);
    assert_eq!(reached(|| line.read("a")), None);
    assert_eq!(reached(|| line.all()), []);
    conflict(retried(|| line.write_if("a", b"2", Some(first))));
    conflict(retried(|| line.remove_if("never", removed)));
    let again = put(&*line, "a", b"2", None);
    assert!(again > removed);
    assert_eq!(reached(|| line.read("a")).unwrap().value, b"2");
}

fn what_is_too_large_or_no_name_is_refused(place: &dyn Place) {
    let line = place.connect();
    let large = vec![b'x'; MESSAGE_CAP + 1];
    let revision = put(&*line, "a", &large[..VALUE_CAP], None);
    assert_eq!(reached(|| line.read("a")).unwrap().value, &large[..VALUE_CAP]);
    let too_large = |done: Result<_, _>| assert!(matches!(done, Err(EngineError::TooLarge { .. })), "{done:?}");
    too_large(line.write_if("a", &large[..=VALUE_CAP], Some(revision)).map(|_| vec![]));
    too_large(line.ask("s", &large, LONG));
    let _small = line.answer("long", Arc::new(move |_| large.clone())).unwrap();
    too_large(reached_or(&*line, "long"));
    for name in ["", "a b", ">", "a.*", "a..b"] {
        assert!(matches!(line.read(name), Err(EngineError::Name { .. })), "{name}");
        assert!(matches!(line.write_if(name, b"", None), Err(EngineError::Name { .. })), "{name}");
        assert!(matches!(line.ask(name, b"", LONG), Err(EngineError::Name { .. })), "{name}");
    }
}

/// An ask that is heard: who answers may have begun a moment ago.
fn reached_or(line: &dyn Engine, subject: &str) -> Result<Vec<u8>, EngineError> {
    reached(|| match line.ask(subject, b"", LONG) {
        err @ Err(EngineError::NoOne { .. }) => err.map(Ok),
        done => Ok(done),
    })
}

fn all_is_every_entry_by_key(place: &dyn Place) {
    let line = place.connect();
    assert_eq!(reached(|| line.all()), []);
    let keys = ["map", "node.a", "node.b", "node.b.c", "state"];
    let revisions: Vec<u64> = keys.iter().rev().map(|key| put(&*line, key, key.as_bytes(), None)).collect();
    assert!(revisions.is_sorted());
    let other = place.connect();
    let all = reached(|| other.all());
    assert_eq!(all.iter().map(|entry| entry.key.as_str()).collect::<Vec<_>>(), keys);
    assert!(all.iter().all(|entry| entry.value == entry.key.as_bytes()));
    assert_eq!(all.iter().map(|entry| entry.revision).rev().collect::<Vec<_>>(), revisions);
    assert_eq!(all.first().cloned(), reached(|| line.read("map")));
}

fn a_watch_tells_what_is_there_and_each_newest_state(place: &dyn Place) {
    let (writer, watcher) = (place.connect(), place.connect());
    let first = written(&*writer, "a", b"1");
    let watch = watcher.watch().unwrap();
    let mut there = vec![];
    assert_eq!(watched(&watch, &mut there, has("a", b"1")), 1, "all there is comes first, and once");
    assert_eq!(there, std::slice::from_ref(&first));
    let second = put(&*writer, "b", b"2", None);
    watched(&watch, &mut there, has("b", b"2"));
    assert_eq!(there.last(), reached(|| writer.read("b")).as_ref());
    writer.remove_if("a", first.revision).unwrap();
    watched(&watch, &mut there, |there| there.len() == 1);
    let mut revision = second;
    for nth in 0..2_000 {
        revision = put(&*writer, "b", format!("{nth}").as_bytes(), Some(revision));
    }
    watched(&watch, &mut there, has("b", b"1999"));
    assert_eq!(there.last().map(|entry| entry.revision), Some(revision));
}

fn an_ask_is_answered(place: &dyn Place) {
    let (asker, answerer) = (place.connect(), place.connect());
    let turned = Arc::new(|request: &[u8]| request.iter().rev().copied().collect());
    let _answering = answerer.answer("n1.ask", turned).unwrap();
    assert_eq!(reached(|| asker.ask("n1.ask", b"abc", LONG)), b"cba");
    let large: Vec<u8> = (0..MESSAGE_CAP).map(|n| n as u8).collect();
    let mut answer = asker.ask("n1.ask", &large, LONG).unwrap();
    answer.reverse();
    assert_eq!(answer, large);
    assert_eq!(answerer.ask("n1.ask", b"", LONG).unwrap(), b"", "its own asks too");
    thread::scope(|scope| {
        for thread in 0..4_u32 {
            let asker = &asker;
            scope.spawn(move || {
                for nth in 0..50_u32 {
                    let asked = [thread.to_be_bytes(), nth.to_be_bytes()].concat();
                    let mut answer = asker.ask("n1.ask", &asked, LONG).unwrap();
                    answer.reverse();
                    assert_eq!(answer, asked, "each gets its own");
                }
            });
        }
    });
}

fn nobody_too_late_busy_and_failed_are_told_apart(place: &dyn Place) {
    let (asker, answerer) = (place.connect(), place.connect());
    reached(|| asker.read("a"));
    let nobody = |done: Result<_, _>| assert!(matches!(done, Err(EngineError::NoOne { .. })), "{done:?}");
    nobody(asker.ask("n1.ask", b"", LONG));

    let (begun, at_work) = bounded::<()>(64);
    let (go, gate) = bounded::<()>(0);
    let waits = Arc::new(move |_: &[u8]| {
        let _ = begun.send(());
        let _ = gate.recv();
        b"done".to_vec()
    });
    let answering = answerer.answer("slow", waits).unwrap();
    let short = Duration::from_millis(100);
    // Until it is known everywhere that somebody answers, nobody does.
    let late = reached(|| match asker.ask("slow", b"", short) {
        err @ Err(EngineError::NoOne { .. }) => err.map(Ok),
        done => Ok(done),
    });
    assert!(matches!(late, Err(EngineError::Late { .. })), "{late:?}");
    at_work.recv_timeout(LONG).unwrap();
    let busy = thread::scope(|scope| {
        // More at once than may be at work and wait.
        let asks: Vec<_> = (0..16).map(|_| scope.spawn(|| asker.ask("slow", b"", LONG))).collect();
        let told = thread::scope(|_| asks_ended(&asks, 16 - 7));
        drop(go);
        let done: Vec<_> = asks.into_iter().map(|ask| ask.join().unwrap()).collect();
        let busy = done.iter().filter(|done| matches!(done, Err(EngineError::Busy { .. }))).count();
        assert!(done.iter().all(|done| matches!(done, Ok(_) | Err(EngineError::Busy { .. }))), "{done:?}");
        assert!(told, "{done:?}");
        busy
    });
    assert_eq!(busy, 16 - 7, "four at work, the late one among them, and four more that wait");
    drop(answering);
    // Until the end is known everywhere an ask may be answered still, or go where nobody is any more.
    while !matches!(asker.ask("slow", b"", short), Err(EngineError::NoOne { .. })) {}

    let _failing = answerer.answer("fails", Arc::new(|_| panic!("on purpose"))).unwrap();
    let failed = reached_or(&*asker, "fails");
    assert!(matches!(failed, Err(EngineError::Failed { .. })), "{failed:?}");
}

fn asks_ended<T>(asks: &[thread::ScopedJoinHandle<'_, T>], wanted: usize) -> bool {
    let began = Stopwatch::start();
    while began.elapsed() < LONG {
        if asks.iter().filter(|ask| ask.is_finished()).count() >= wanted {
            return true;
        }
        thread::sleep(Duration::from_millis(5));
    }
    false
}

fn of_several_who_answer_one_is_asked(place: &dyn Place) {
    let lines: Vec<_> = (0..3).map(|_| place.connect()).collect();
    let heard = Arc::new(AtomicUsize::new(0));
    let _answerings: Vec<_> = lines
        .iter()
        .enumerate()
        .map(|(nth, line)| {
            let heard = heard.clone();
            let name = move |_: &[u8]| {
                heard.fetch_add(1, Ordering::SeqCst);
                nth.to_string().into_bytes()
            };
            line.answer("any", Arc::new(name)).unwrap()
        })
        .collect();
    reached_or(&*lines[0], "any").unwrap();
    let before = heard.load(Ordering::SeqCst);
    let answers: BTreeSet<_> = (0..60).map(|_| lines[0].ask("any", b"", LONG).unwrap()).collect();
    assert_eq!(heard.load(Ordering::SeqCst) - before, 60);
    assert!(answers.len() <= 3);
}

fn an_engine_away_is_told_and_comes_back(place: &dyn Place) {
    let (line, other) = (place.connect(), place.connect());
    let before = written(&*line, "a", b"1");
    let life = line.state().life;
    let _answering = other.answer("n1.ask", Arc::new(<[u8]>::to_vec)).unwrap();
    reached(|| line.ask("n1.ask", b"", LONG));
    let watch = line.watch().unwrap();
    let mut there = vec![];
    watched(&watch, &mut there, has("a", b"1"));
    place.stop();
    let away = |done: Result<_, EngineError>| assert!(matches!(done, Err(EngineError::Away { .. })), "{done:?}");
    away(line.read("a").map(|_| ()));
    away(line.write_if("a", b"2", Some(before.revision)).map(|_| ()));
    away(line.all().map(|_| ()));
    let asked = line.ask("n1.ask", b"", Duration::from_secs(5));
    assert!(matches!(asked, Err(EngineError::Away { .. } | EngineError::Late { .. })), "{asked:?}");
    let state = until(&*line, |state| !state.connected);
    assert!(state.why.is_some());
    place.start();
    let state = until(&*line, |state| state.connected);
    assert_eq!((state.life, life.is_some()), (life, true));
    let now = written(&*line, "a", b"3");
    assert!(now.revision > before.revision);
    assert_eq!(reached(|| other.read("a")), Some(now));
    watched(&watch, &mut there, has("a", b"3"));
    assert_eq!(reached(|| line.ask("n1.ask", b"again", LONG)), b"again", "who answered answers still");
}

fn until(line: &dyn Engine, wanted: impl Fn(&super::EngineState) -> bool) -> super::EngineState {
    let began = Stopwatch::start();
    loop {
        let state = line.state();
        if wanted(&state) {
            return state;
        }
        assert!(began.elapsed() < LONG, "{state:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

fn a_watch_begun_while_it_is_away_begins_when_it_is_back(place: &dyn Place) {
    let line = place.connect();
    written(&*line, "a", b"1");
    place.stop();
    until(&*line, |state| !state.connected);
    let watch = line.watch().unwrap();
    let _answering = line.answer("late", Arc::new(<[u8]>::to_vec)).unwrap();
    assert_eq!(watch.next(Duration::from_millis(50)), None);
    place.start();
    let mut there = vec![];
    watched(&watch, &mut there, has("a", b"1"));
    assert_eq!(reached(|| place.connect().ask("late", b"x", LONG)), b"x");
}

fn an_emptied_engine_is_empty_and_of_use(place: &dyn Place) {
    let (line, other) = (place.connect(), place.connect());
    written(&*line, "a", b"1");
    let before = written(&*line, "b", b"1");
    let life = until(&*line, |state| state.life.is_some()).life;
    let watch = other.watch().unwrap();
    let mut there = vec![];
    watched(&watch, &mut there, |there| there.len() == 2);
    place.empty();
    assert_eq!(reached(|| line.read("a")), None);
    assert_eq!(reached(|| other.all()), []);
    watched(&watch, &mut there, <[Entry]>::is_empty);
    let state = until(&*line, |state| state.connected && state.life > life);
    assert!(state.life > life);
    conflict(retried(|| line.write_if("b", b"2", Some(before.revision))));
    let again = written(&*other, "b", b"2");
    assert!(again.revision > before.revision);
    watched(&watch, &mut there, has("b", b"2"));
    assert_eq!(there.len(), 1);
}

/// The end of a call that is made again while the engine is away.
fn retried<T>(mut call: impl FnMut() -> Result<T, EngineError>) -> Result<T, EngineError> {
    reached(|| match call() {
        err @ Err(EngineError::Away { .. }) => err.map(Ok),
        done => Ok(done),
    })
}

fn no_revision_comes_again_when_it_was_emptied(place: &dyn Place) {
    let line = place.connect();
    let mut seen = 0;
    for round in 0..3_u32 {
        for nth in 0..10_u32 {
            let entry = written(&*line, "a", format!("{round} {nth}").as_bytes());
            assert!(entry.revision > seen, "{round} {nth}");
            seen = entry.revision;
        }
        place.empty();
    }
}

fn its_clock_is_told_against_ours(place: &dyn Place) {
    let line = place.connect();
    written(&*line, "a", b"1");
    let gap = until(&*line, |state| state.clock.is_some()).clock.unwrap();
    assert!(gap.ahead.unsigned_abs() <= gap.within + 1_000, "one machine has one clock: {gap:?}");
}
