//! A Store that is slower than what is sent to it: what it owes by the clock comes all the same, and little waits before it.

use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::time::Duration;

use lycosa::base::fault::Fault;
use lycosa::base::time::UnixMillis;
use lycosa::crawl::deduper::Inject;
use lycosa::crawl::store::{Commit, room_taken};
use lycosa::domain::url::{PageUrl, Scheme};
use lycosa::storage::ledger::{Change, LinkChange, NewUrl};
use lycosa::storage::values::SeedValue;
use lycosa::testweb::TestWebConfig;

use crate::support::{Sandbox, truth_any};

/// How long the disk takes for a group.
const SLOW: Duration = Duration::from_millis(30);
/// Messages of a full mailbox: many groups.
const MANY: usize = 2_560;

fn url(n: usize) -> PageUrl {
    PageUrl::from_parts(Scheme::Http, "h0.test", 80, &format!("/new/{n}")).unwrap()
}

fn found(n: usize) -> NewUrl {
    NewUrl::link(url(n), 1)
}

fn seed(n: usize) -> (PageUrl, SeedValue) {
    let said = SeedValue {
        url: url(n).to_string(),
        added: UnixMillis(1),
        rank: None,
        weight: None,
        max_depth: None,
        tags: vec![],
        cycle: None,
        guessed: false,
    };
    (url(n), said)
}

#[test]
fn the_store_syncs_by_the_clock_although_its_mailbox_is_never_empty() {
    let sandbox = Sandbox::new(TestWebConfig::default()).set("durability.sync=100ms");
    sandbox.faults.set("store.write", Fault::Delay(SLOW), 1, u64::MAX);
    let live = sandbox.start_bare();
    live.node.crawl.switches.paused.store(true, Ordering::Release);
    let (told, last) = mpsc::channel();
    for n in 0..MANY {
        let links = LinkChange { new: vec![found(n)], ..LinkChange::default() };
        let (faults, told) = (sandbox.faults.clone(), told.clone());
        let reply: Box<dyn FnOnce() + Send> = Box::new(move || {
            let _ = told.send((n, faults.hits("store.synced")));
        });
        live.node.mailboxes().store.tell(Commit { reply: Some(reply), ..Commit::bare(Change::Links(Box::new(links))) });
    }
    let synced: Vec<u64> = last.iter().take(MANY).map(|(_, synced)| synced).collect();
    let (first, last) = (synced.first().unwrap(), synced.last().unwrap());
    let groups = sandbox.faults.hits("store.write");
    // The groups together took 30 ms each at least, whatever the machine: 600 ms, and a sync is due each 100 ms.
    assert!(groups >= 20 && last - first >= 3, "{groups} groups, synced {first} times before them and {last} after");
    live.close();
}

#[test]
fn what_the_deduper_sends_waits_with_it_until_there_is_room_before_the_store() {
    let sandbox = Sandbox::new(TestWebConfig::default());
    sandbox.faults.set("store.write", Fault::Delay(SLOW), 1, u64::MAX);
    let live = sandbox.start_bare();
    live.node.crawl.switches.paused.store(true, Ordering::Release);
    live.seed(&["http://h0.test/"]); // from here on no epoch ends
    let (seen, depths) = mpsc::channel();
    let before_store = live.node.clone();
    let replies: Vec<_> = (0..MANY)
        .map(|n| {
            let (reply, answer) = tokio::sync::oneshot::channel();
            live.node.mailboxes().deduper.tell(Inject { seeds: vec![seed(n)], reply: Some(reply) });
            answer
        })
        .collect();
    let looker = std::thread::spawn(move || {
        while before_store.stop.borrow().is_none() {
            let depth = before_store.mailboxes().store.meter.depth();
            if seen.send((depth, room_taken(&before_store.permits.store_room))).is_err() {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    let accepted = live.block(
        async {
            let mut accepted = 0;
            for reply in replies {
                accepted += reply.await.map_or(0, |report| report.accepted);
            }
            accepted
        },
        "every seed to be answered",
    );
    let most = depths.try_iter().fold((0, 0), |(d, r), (depth, room)| (depth.max(d), room.max(r)));
    drop(depths);
    looker.join().unwrap();
    assert!(most.0 <= 600 && most.1 <= 16 << 20, "messages and bytes before the Store: {most:?}");
    assert!(most.1 > 0, "the Store was never behind");
    assert_eq!(accepted as usize, MANY, "none was lost on the way");
    live.close();
}

#[test]
fn commits_that_fail_while_others_wait_for_room_give_theirs_back() {
    let sandbox = Sandbox::new(TestWebConfig { hosts: 2, pages: 20, links: 8, ..TestWebConfig::default() });
    sandbox.faults.set("store.write", Fault::Error, 3, 4);
    let live = sandbox.start();
    for n in 0..MANY {
        let (reply, _) = tokio::sync::oneshot::channel();
        live.node.mailboxes().deduper.tell(Inject { seeds: vec![seed(n % 7)], reply: Some(reply) });
    }
    live.until_stop();
    let ended = live.end();
    let truth = sandbox.web.truth(truth_any());
    assert!(ended.found.captured().is_superset(&truth), "{}", ended.report());
}
