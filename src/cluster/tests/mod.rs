//! Members over an engine in memory: entering, keeping, losing, standing by. Leases of under a second, in real time.

mod moving;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::bounded;
use tempfile::TempDir;

use super::engine::{Engine, Memory};
use super::enter::{EnterError, Start, Won, alone, before, enter};
use super::folder::Identity;
use super::keeper::{Lost, Membership};
use super::nodes::{WordError, declare_dead, nodes};
use super::standby::StandBy;
use super::{MAP, Who, node_key, read_beat};
use crate::base::clock::Clock;
use crate::domain::cluster::lease::MemberState;
use crate::domain::cluster::map::Map;

const LEASE: Duration = Duration::from_millis(900);

/// A crawl's engine, and folders.
struct Bench {
    memory: Memory,
    folders: Vec<TempDir>,
}

impl Bench {
    fn new() -> Self {
        Self { memory: Memory::new(Clock::real()), folders: vec![tempfile::tempdir().unwrap()] }
    }

    /// A process of this name with a folder of its own.
    fn who(&mut self, name: &str) -> Who {
        self.folders.push(tempfile::tempdir().unwrap());
        self.at(name, self.folders.last().unwrap().path())
    }

    /// Where a folder is being made.
    fn staging(&self) -> &Path {
        self.folders[0].path()
    }

    fn at(&self, name: &str, data: &Path) -> Who {
        let engine = Arc::new(self.memory.connect());
        let (cluster, machine) = ("prod".into(), format!("m-{name}"));
        Who { engine, cluster, name: name.into(), data: data.into(), lease: LEASE, weight: 1, machine }
    }
}

/// Waits in earnest.
fn patient(_: &str, long: Duration) -> bool {
    std::thread::sleep(long.min(Duration::from_millis(20)));
    true
}

/// Why a lease was lost.
fn why(how: &Lost) -> String {
    match how {
        Lost::To(why) | Lost::Left(why) => why.clone(),
    }
}

/// Has no patience.
fn at_once(_: &str, _: Duration) -> bool {
    false
}

fn kept(who: &Who, won: Won) -> Membership {
    Membership::keep(who.clone(), won, MemberState::Running).unwrap()
}

fn begun(who: &Who) -> Membership {
    kept(who, enter(who, 7, false, &mut at_once).unwrap())
}

/// Waits for a place with a copy at hand.
fn lost(standby: &mut StandBy) -> Option<String> {
    standby.lost(None, &mut |_| true, &mut patient).unwrap()
}

#[test]
fn the_first_folder_begins_the_crawl_without_waiting_and_has_everything() {
    let mut bench = Bench::new();
    let who = bench.who("n1");
    assert_eq!(before(&who, true, None, &mut at_once).unwrap(), Start::GoOn);
    let member = begun(&who);
    assert!(!member.fence().is_over());
    let seen = nodes(&who).unwrap();
    let [n1] = &seen.nodes[..] else { panic!("{seen:?}") };
    assert_eq!((n1.partitions, n1.is_lost, n1.state), (1024, false, Some(MemberState::Running)));
    member.leave(MemberState::Away);
    assert!(member.fence().is_over());
    assert_eq!(nodes(&who).unwrap().nodes[0].state, Some(MemberState::Away));
}

#[test]
fn a_lease_is_kept_far_beyond_its_length() {
    let mut bench = Bench::new();
    let member = begun(&bench.who("n1"));
    let fence = member.fence();
    let (said, told) = bounded(1);
    member.on_loss(Box::new(move |how| said.send(why(how)).unwrap()));
    assert!(told.recv_timeout(LEASE * 3).is_err(), "it was lost");
    assert!(!fence.is_over());
}

#[test]
fn a_folder_that_comes_back_goes_on_at_once_whether_it_was_killed_or_left() {
    let mut bench = Bench::new();
    let who = bench.who("n1");
    let won = enter(&who, 7, false, &mut at_once).unwrap();
    drop(won); // killed: nobody says anything
    let member = begun(&who);
    member.leave(MemberState::Away);
    let again = begun(&who);
    assert!(!again.fence().is_over());
}

#[test]
fn without_the_engine_requests_end_before_another_may_take_the_place_and_go_on_when_it_is_back() {
    let mut bench = Bench::new();
    let who = bench.who("n1");
    let member = begun(&who);
    bench.memory.set_away(true);
    let fence = member.fence();
    while !fence.is_over() {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(member.lost().is_none());
    bench.memory.set_away(false);
    while fence.is_over() {
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_spare_takes_the_place_of_a_member_that_is_lost_and_the_former_does_not_go_on() {
    let mut bench = Bench::new();
    let (n1, s1) = (bench.who("n1"), bench.who("s1"));
    let line = Arc::new(bench.memory.connect());
    let cut = Who { engine: line.clone(), ..n1.clone() };
    let member = begun(&cut);
    let mut standby = StandBy::new(s1.clone(), None);
    line.set_cut(true); // n1 alone hears nothing any more
    assert_eq!(lost(&mut standby).as_deref(), Some("n1"));
    assert!(member.fence().is_over(), "two would crawl the same hosts");
    let won = standby.take("n1", bench.staging(), &mut at_once).unwrap();
    let identity = won.identity.clone().unwrap();
    assert_eq!((identity.name.as_str(), won.map.owned_by(won.map.members[0].id).len()), ("n1", 1024));
    identity.write(&s1.data).unwrap();
    let heir = Who { name: "n1".into(), ..s1.clone() };
    let heir = kept(&heir, won);
    let (said, told) = bounded(1);
    member.on_loss(Box::new(move |how| said.send(why(how)).unwrap()));
    line.set_cut(false);
    assert_eq!(told.recv_timeout(Duration::from_secs(60)).unwrap(), "the machine m-s1 took the place of n1");
    assert!(member.fence().is_over() && !heir.fence().is_over());
    let error = enter(&n1, 7, false, &mut patient).map(drop).unwrap_err();
    assert!(matches!(&error, EnterError::Replaced { by, .. } if by == "the machine m-s1"), "{error}");
    assert!(Identity::read(&n1.data).unwrap().unwrap().replaced.is_some());
}

#[test]
fn a_folder_that_was_replaced_while_it_was_off_learns_so_at_its_start() {
    let mut bench = Bench::new();
    let (n1, s1) = (bench.who("n1"), bench.who("s1"));
    begun(&n1).leave(MemberState::Away);
    let mut standby = StandBy::new(s1, None);
    assert_eq!(lost(&mut standby).as_deref(), Some("n1"));
    drop(standby.take("n1", bench.staging(), &mut at_once).unwrap());
    let error = enter(&n1, 7, false, &mut patient).map(drop).unwrap_err();
    assert!(matches!(error, EnterError::Replaced { .. }), "{error}");
}

#[test]
fn a_member_that_comes_back_while_a_spare_prepares_keeps_its_place() {
    let mut bench = Bench::new();
    let (n1, s1) = (bench.who("n1"), bench.who("s1"));
    drop(enter(&n1, 7, false, &mut at_once).unwrap());
    let mut standby = StandBy::new(s1, None);
    assert_eq!(lost(&mut standby).as_deref(), Some("n1"));
    let back = begun(&n1);
    let error = standby.take("n1", bench.staging(), &mut patient).map(drop).unwrap_err();
    assert!(matches!(error, EnterError::Forestalled(_)), "{error}");
    assert!(!back.fence().is_over());
}

#[test]
fn of_two_spares_one_takes_the_place() {
    let mut bench = Bench::new();
    let (n1, s1, s2) = (bench.who("n1"), bench.who("s1"), bench.who("s2"));
    drop(enter(&n1, 7, false, &mut at_once).unwrap());
    let (mut one, mut two) = (StandBy::new(s1, None), StandBy::new(s2, None));
    let both = std::thread::scope(|scope| {
        let other = scope.spawn(|| lost(&mut two));
        (lost(&mut one), other.join().unwrap())
    });
    assert_eq!(both, (Some("n1".into()), Some("n1".into())));
    let taken =
        [one.take("n1", bench.staging(), &mut patient).is_ok(), two.take("n1", bench.staging(), &mut patient).is_ok()];
    assert_eq!(taken.iter().filter(|taken| **taken).count(), 1);
}

#[test]
fn who_was_stopped_by_its_operator_is_not_replaced_and_a_crawl_that_is_done_ends_its_spares() {
    let mut bench = Bench::new();
    let (n1, s1) = (bench.who("n1"), bench.who("s1"));
    begun(&n1).leave(MemberState::Stopped);
    let mut looks = 0;
    let mut for_a_while = |what: &str, long: Duration| {
        looks += 1;
        patient(what, long) && looks < 150
    };
    let error = StandBy::new(s1.clone(), None).lost(None, &mut |_| true, &mut for_a_while).map(drop).unwrap_err();
    assert!(matches!(error, EnterError::Interrupted), "{error}");
    begun(&n1).leave(MemberState::Done);
    assert_eq!(lost(&mut StandBy::new(s1, None)), None);
}

#[test]
fn a_member_without_a_copy_is_not_replaced() {
    let mut bench = Bench::new();
    let (n1, s1) = (bench.who("n1"), bench.who("s1"));
    drop(enter(&n1, 7, false, &mut at_once).unwrap());
    let mut told = String::new();
    let mut until_told = |what: &str, long: Duration| {
        what.clone_into(&mut told);
        patient(what, long) && !what.contains("only its own folder")
    };
    let error = StandBy::new(s1, None).lost(None, &mut |_| false, &mut until_told).map(drop).unwrap_err();
    assert!(matches!(error, EnterError::Interrupted), "{error}");
    assert!(told.contains("n1"), "{told}");
}

#[test]
fn an_operators_word_that_a_machine_is_off_spares_the_wait() {
    let mut bench = Bench::new();
    let (n1, s1) = (bench.who("n1"), bench.who("s1"));
    drop(enter(&n1, 7, false, &mut at_once).unwrap());
    assert!(matches!(declare_dead(&s1, "n9"), Err(WordError::Unknown { .. })));
    assert!(matches!(declare_dead(&n1, "n1"), Err(WordError::Myself(_))));
    declare_dead(&s1, "n1").unwrap();
    let mut standby = StandBy::new(s1.clone(), None);
    assert_eq!(standby.lost(None, &mut |_| true, &mut at_once).unwrap().as_deref(), Some("n1"));
    standby.take("n1", bench.staging(), &mut at_once).unwrap();
}

#[test]
fn a_member_that_is_declared_dead_and_is_not_stops_at_its_next_beat_and_may_come_back() {
    let mut bench = Bench::new();
    let (n1, s1) = (bench.who("n1"), bench.who("s1"));
    let member = begun(&n1);
    let (said, told) = bounded(1);
    member.on_loss(Box::new(move |how| said.send(why(how)).unwrap()));
    declare_dead(&s1, "n1").unwrap();
    assert!(told.recv_timeout(Duration::from_secs(60)).unwrap().contains("operator"));
    drop(member);
    assert!(!begun(&n1).fence().is_over());
}

#[test]
fn an_engine_that_lost_everything_gets_the_map_back_and_the_crawl_goes_on() {
    let mut bench = Bench::new();
    let who = bench.who("n1");
    let member = begun(&who);
    bench.memory.empty();
    let line = bench.memory.connect();
    while line.read(MAP).unwrap().is_none() || read_beat(&line, &node_key("n1")).unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(Map::read(&line.read(MAP).unwrap().unwrap().value).unwrap().seed, 7);
    assert!(!member.fence().is_over() && member.lost().is_none());
}

#[test]
fn a_start_on_an_engine_that_lost_everything_waits_a_whole_lease() {
    let mut bench = Bench::new();
    let who = bench.who("n1");
    begun(&who).leave(MemberState::Away);
    bench.memory.empty();
    let error = enter(&who, 7, false, &mut at_once).map(drop).unwrap_err();
    assert!(matches!(error, EnterError::Interrupted), "{error}");
    let member = kept(&who, enter(&who, 7, false, &mut patient).unwrap());
    assert!(!member.fence().is_over());
}

#[test]
fn a_start_waits_for_an_engine_that_is_away() {
    let mut bench = Bench::new();
    let who = bench.who("n1");
    bench.memory.set_away(true);
    let memory = bench.memory.clone();
    let mut looks = 0;
    let mut until_back = |_: &str, _: Duration| {
        looks += 1;
        memory.set_away(looks < 3);
        true
    };
    let won = enter(&who, 7, false, &mut until_back).unwrap();
    assert!(!kept(&who, won).fence().is_over());
}

#[test]
fn folders_that_do_not_belong_there_are_refused_with_what_to_do() {
    let mut bench = Bench::new();
    let (n1, n2, other) = (bench.who("n1"), bench.who("n2"), bench.who("n1"));
    let member = begun(&n1);
    let error = enter(&other, 8, false, &mut at_once).map(drop).unwrap_err();
    assert!(matches!(error, EnterError::Seed { .. }), "{error}");
    assert_eq!(before(&n2, true, None, &mut at_once).unwrap(), Start::Join(7));
    let error = before(&n2, false, None, &mut at_once).unwrap_err().to_string();
    assert!(error.contains("n2") && error.contains("members are n1"), "{error}");
    let error = enter(&Who { cluster: "test".into(), ..n1.clone() }, 7, false, &mut at_once).map(drop).unwrap_err();
    assert!(matches!(error, EnterError::OtherCrawl { .. }), "{error}");
    // A copy of the folder without what it knew of itself.
    let twin = bench.who("n1");
    let error = enter(&twin, 7, false, &mut patient).map(drop).unwrap_err();
    assert!(matches!(&error, EnterError::Taken { machine, .. } if machine == "m-n1"), "{error}");
    assert_eq!(before(&bench.who("n1"), true, None, &mut at_once).unwrap(), Start::Restore);
    drop(member);
}

#[test]
fn clocks_that_are_far_apart_refuse_a_start() {
    let mut bench = Bench::new();
    bench.memory.set_ahead(60_000);
    let error = enter(&bench.who("n1"), 7, false, &mut at_once).map(drop).unwrap_err().to_string();
    assert!(error.contains("NTP"), "{error}");
}

#[test]
fn a_store_that_knows_of_a_crawl_keeps_another_from_being_begun_in_an_engine_that_lost_everything() {
    let mut bench = Bench::new();
    let (n1, n9) = (bench.who("n1"), bench.who("n9"));
    let kept = Map::first("n1", 7).unwrap();
    let error = before(&n9, true, Some(kept.clone()), &mut at_once).unwrap_err();
    assert!(matches!(error, EnterError::Known { .. }), "{error}");
    // A member of that name whose folder is gone is made of its copy, when nobody was heard of for a lease.
    assert_eq!(before(&n1, true, Some(kept.clone()), &mut at_once).unwrap(), Start::Restore);
    let mut standby = StandBy::new(n9, None);
    assert_eq!(standby.lost(Some(&kept), &mut |_| true, &mut patient).unwrap().as_deref(), Some("n1"));
}

#[test]
fn a_member_whose_engine_was_emptied_and_taken_by_another_crawl_sends_nothing_more() {
    let mut bench = Bench::new();
    let (n1, n9) = (bench.who("n1"), bench.who("n9"));
    let cut = Arc::new(bench.memory.connect());
    let member = begun(&Who { engine: cut.clone(), lease: Duration::from_secs(60), ..n1 });
    cut.set_cut(true);
    bench.memory.empty();
    let other = kept(&n9, enter(&n9, 8, false, &mut at_once).unwrap());
    let (said, told) = bounded(1);
    member.on_loss(Box::new(move |how| said.send(why(how)).unwrap()));
    cut.set_cut(false);
    assert!(told.recv_timeout(Duration::from_secs(60)).unwrap().contains("another crawl"));
    assert!(member.fence().is_over() && !other.fence().is_over());
}

#[test]
fn a_copy_of_a_members_folder_is_waited_for_like_a_stranger_and_one_without_a_cluster_is_refused() {
    let mut bench = Bench::new();
    let (n1, copy) = (bench.who("n1"), bench.who("n1"));
    let member = begun(&n1);
    std::fs::copy(n1.data.join("MEMBER"), copy.data.join("MEMBER")).unwrap();
    let error = enter(&copy, 7, false, &mut patient).map(drop).unwrap_err();
    assert!(matches!(error, EnterError::Taken { .. }), "{error}");
    assert!(!member.fence().is_over() && member.lost().is_none());
    assert!(matches!(alone(&n1.data), Err(EnterError::Alone { .. })));
    alone(bench.staging()).unwrap();
}
