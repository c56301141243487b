//! Commits undone, made again, and offered twice.

use super::*;
use crate::domain::fingerprint::ContentDigest;
use crate::storage::Family;
use crate::storage::values::{ContentValue, WarcPlace};

fn page(bench: &Bench, new: &NewUrl, ending: Ending, how: DoneKind) -> PageChange {
    let seen = bench.ledger.seen_key(&new.url);
    let capture = PageRecord {
        status: 200,
        bytes: 1000,
        payload_digest: [9; 20],
        content: Some(ContentDigest([8; 16])),
        warc: Some(WarcPlace { file: "a.warc.gz".into(), offset: 300, length: 20 }),
        depth: 1,
        ..PageRecord::new(&new.url, UnixMillis(5), how)
    };
    let (url, payload) = (capture.url.clone(), capture.payload_digest);
    let first = ContentValue { first: seen.page(capture.fetched), url, date: capture.fetched, payload };
    let Change::Page(page) = bare(new, ending) else { panic!("a page") };
    let first_with = Some((ContentDigest([8; 16]), first));
    PageChange { status: Some(200), capture: Some(capture), first_with, ..*page }
}

fn families(storage: &MemoryStorage) -> Vec<Vec<crate::storage::Pair>> {
    let records = [Family::Queue, Family::Seen, Family::Pages, Family::Content, Family::Feed];
    records.iter().map(|family| storage.scan(*family, &[], &[], usize::MAX).unwrap()).collect()
}

#[test]
fn a_commit_undone_leaves_all_as_it_was_and_can_be_made_again() {
    let endings = [
        (Ending::Done(DoneKind::Stored), DoneKind::Stored),
        (Ending::Done(DoneKind::Redirect), DoneKind::Redirect),
        (Ending::Done(DoneKind::Duplicate), DoneKind::Duplicate),
        (Ending::Error(Failure::Status4xx), DoneKind::Stored),
    ];
    for (ending, how) in endings {
        let mut bench = Bench::new();
        let new = new("http://h0.test/a", 1);
        bench.found(&[new.clone(), super::new("http://h0.test/b", 1)]);
        let (before, counted) = (families(&bench.storage), bench.ledger.committed().clone());

        let change = Change::Page(Box::new(page(&bench, &new, ending.clone(), how)));
        let listed = bench.apply(&change).unsynced.unwrap();
        assert_ne!(families(&bench.storage), before);
        let requeued = bench.write(|ledger, txn| [(); 2].map(|()| ledger.requeue(txn, &listed).unwrap())).0;
        assert_eq!(requeued, [true, false], "only once");

        assert_eq!(families(&bench.storage), before, "{ending:?}");
        let mut now = bench.ledger.committed().clone();
        (now.next_commit, now.next_seq, now.fed) = (counted.next_commit, counted.next_seq, counted.fed);
        now.types.retain(|_, counted| *counted != (0, 0)); // the name stays
        assert_eq!(now, counted, "{ending:?}");
        assert!(!bench.apply(&change).void);
    }
}

#[test]
fn a_page_offered_twice_counts_once_and_its_links_are_kept() {
    let mut bench = Bench::new();
    let a = bench.find("http://h0.test/a", 1);
    let mut change = page(&bench, &a, Ending::Done(DoneKind::Stored), DoneKind::Stored);
    assert!(!bench.apply(&Change::Page(Box::new(change.clone()))).void);
    change.links.new.push(new("http://h0.test/c", 1));
    let done = bench.apply(&Change::Page(Box::new(change)));
    assert!(done.void && done.unsynced.is_none());
    assert_eq!(done.settled.len(), 1);
    let counters = bench.ledger.committed();
    assert_eq!((counters.discovered, counters.queued, counters.done, counters.pages_stored), (2, 1, 1, 1));
}

#[test]
fn a_url_turned_away_and_then_admitted_is_queued_and_a_shorter_path_still_counts() {
    let mut bench = Bench::new();
    let a = |depth| new("http://h0.test/a", depth);
    let turned = vec![RejectedUrl { new: a(9), reason: Rejection::TooDeep }];
    bench.commit(&[of_links(LinkChange { turned, ..LinkChange::default() })]);
    for depth in [3, 1] {
        bench.commit(&[of_links(LinkChange { readmitted: vec![a(depth)], ..LinkChange::default() })]);
        let state = bench.state(&a(0));
        assert!(matches!(state, Some(UrlState::Waiting { reach, .. }) if reach.depth == depth), "{state:?}");
    }
    let counters = bench.ledger.committed();
    assert_eq!((counters.discovered, counters.queued, counters.rejected_total()), (1, 1, 0));
}
