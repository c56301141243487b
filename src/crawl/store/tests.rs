//! The Store alone: storage in memory, an archive in a folder, and mailboxes that nobody empties.

use super::*;
use crate::crawl::bench::{Bench, started};
use crate::crawl::frontier::LeaseReturned;
use crate::domain::reason::Failure;
use crate::storage::ledger::NewUrl;
use crate::storage::ledger::tests::bare;
use crate::storage::values::UrlState;

/// The end of a page that was given up, as the Deduper sends it.
fn given_up(lease: Lease, epoch: u64) -> Commit {
    let url = NewUrl::link(lease.url.clone(), lease.entry.depth);
    let change = bare(&url, Ending::Error(Failure::Reset));
    Commit { epoch: Some(epoch), lease: Some(lease), ..Commit::bare(change) }
}

fn state(bench: &Bench, url: &str) -> Option<UrlState> {
    read::seen_state(&*bench.storage, bench.key(&bench.url(url))).unwrap()
}

#[test]
fn a_group_is_written_as_one_batch_and_everybody_is_told() {
    let bench = Bench::new(&[]);
    bench.queue(&[("http://h.test/a", 1), ("http://h.test/b", 1)]);
    started(Store::new(bench.node.clone()), |store, ctx| {
        let epoch = bench.node.crawl.epoch.now();
        bench.leases().into_iter().for_each(|lease| store.handle(given_up(lease, epoch), ctx));
        assert!(
            matches!(state(&bench, "http://h.test/a"), Some(UrlState::Waiting { .. })),
            "the group waits for company"
        );
        store.flush();
        for url in ["http://h.test/a", "http://h.test/b"] {
            assert_eq!(state(&bench, url), Some(UrlState::Error { reason: Failure::Reset }), "{url}");
        }
        let told = bench.frontier.take::<Committed>();
        assert_eq!((told.len(), told[0].ended.len()), (1, 2));
        assert_eq!(bench.deduper.take::<Settled>().len(), 1);
        assert!(bench.frontier.take::<LeaseReturned>().is_empty(), "committed leases do not come back");
        assert_eq!(bench.node.crawl.counters().error(), 2);
    });
}

#[test]
fn a_page_of_an_epoch_that_is_over_is_refused_and_its_lease_comes_back() {
    let bench = Bench::new(&[]);
    bench.queue(&[("http://h.test/a", 1), ("http://h.test/b", 1)]);
    started(Store::new(bench.node.clone()), |store, ctx| {
        let mut leases = bench.leases();
        let over = bench.node.crawl.epoch.now();
        let now = bench.node.crawl.epoch.raise();
        store.handle(given_up(leases.pop().unwrap(), over), ctx);
        store.handle(given_up(leases.pop().unwrap(), now), ctx);
        store.flush();
        assert_eq!(state(&bench, "http://h.test/a"), Some(UrlState::Error { reason: Failure::Reset }));
        assert!(matches!(state(&bench, "http://h.test/b"), Some(UrlState::Waiting { .. })));
        let returned = bench.frontier.take::<LeaseReturned>();
        let b = bench.node.prints.url(&bench.url("http://h.test/b"));
        assert_eq!(returned.iter().map(|message| message.0.url_key).collect::<Vec<_>>(), [b]);
    });
}

#[test]
fn a_group_whose_write_fails_is_given_up_whole_and_the_epoch_ends() {
    let bench = Bench::new(&[]);
    bench.queue(&[("http://h.test/a", 1), ("http://h.test/b", 1)]);
    started(Store::new(bench.node.clone()), |store, ctx| {
        let epoch = bench.node.crawl.epoch.now();
        bench.leases().into_iter().for_each(|lease| store.handle(given_up(lease, epoch), ctx));
        bench.storage.fail_next_writes(1);
        store.flush();
        for url in ["http://h.test/a", "http://h.test/b"] {
            assert!(matches!(state(&bench, url), Some(UrlState::Waiting { .. })), "{url}");
        }
        assert!(bench.node.crawl.epoch.now() > epoch, "what hangs on the group is refused from now on");
        assert_eq!(bench.frontier.take::<LeaseReturned>().len(), 2);
        assert!(bench.frontier.take::<Committed>().is_empty());
        assert_eq!(bench.node.crawl.counters().error(), 0);
    });
}
