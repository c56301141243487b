//! The Deduper alone: storage in memory, and mailboxes that nobody empties.

use std::collections::BTreeSet;

use super::*;
use crate::crawl::bench::{Bench, started};
use crate::domain::near::Near;
use crate::domain::textprint::TextPrint;

/// A page that failed at last, with links all the same.
fn page(bench: &Bench, lease: Lease, links: &[&str]) -> Parsed {
    let new = links.iter().map(|url| NewUrl::link(bench.url(url), 2)).collect();
    let links = LinkChange { new, ..LinkChange::default() };
    Parsed { links, ..Parsed::bare(lease, None, Ending::Error(Failure::Reset)) }
}

/// The new URLs of the commits that were sent, with their epochs.
fn sent(bench: &Bench) -> Vec<(Option<u64>, Vec<String>)> {
    let new = |commit: &Commit| match &commit.change {
        Change::Page(page) => page.links.new.iter().map(|new| new.url.as_str().to_owned()).collect(),
        Change::Links(links) => links.new.iter().map(|new| new.url.as_str().to_owned()).collect(),
        _ => Vec::new(),
    };
    bench.store.take::<Commit>().iter().map(|commit| (commit.epoch, new(commit))).collect()
}

#[test]
fn a_link_is_new_once_until_its_commit_is_lost() {
    let bench = Bench::new(&[]);
    bench.queue(&[("http://h.test/1", 1), ("http://h.test/2", 1), ("http://h.test/3", 1)]);
    started(Deduper::new(bench.node.clone()), |deduper, ctx| {
        let epoch = bench.node.crawl.epoch.now();
        let mut leases = bench.leases().into_iter();
        let mut next = |deduper: &mut Deduper, ctx: &mut Ctx<Deduper>| {
            deduper.handle(page(&bench, leases.next().unwrap(), &["http://h.test/new", "http://h.test/2"]), ctx);
            sent(&bench)
        };
        let new = vec!["http://h.test/new".to_owned()];
        assert_eq!(next(deduper, ctx), [(Some(epoch), new.clone())], "what is queued is known from the disk");
        assert_eq!(next(deduper, ctx), [(Some(epoch), vec![])], "it is pending");
        let after = bench.node.crawl.epoch.raise();
        assert_eq!(next(deduper, ctx), [(Some(after), new)], "the commit that it hung on is lost");
    });
}

#[test]
fn what_was_settled_is_asked_of_the_disk_again() {
    let bench = Bench::new(&[]);
    bench.queue(&[("http://h.test/1", 1), ("http://h.test/2", 1)]);
    started(Deduper::new(bench.node.clone()), |deduper, ctx| {
        let mut leases = bench.leases().into_iter();
        deduper.handle(page(&bench, leases.next().unwrap(), &["http://h.test/new"]), ctx);
        assert_eq!(deduper.pending.len(), 1);
        let urls = vec![bench.node.prints.url(&bench.url("http://h.test/new"))];
        let over = deduper.epoch - 1;
        deduper.handle(Settled { epoch: over, urls: urls.clone(), contents: Vec::new(), leaders: Vec::new() }, ctx);
        assert_eq!(deduper.pending.len(), 1, "news of an epoch that is over");
        deduper.handle(Settled { epoch: deduper.epoch, urls, contents: Vec::new(), leaders: Vec::new() }, ctx);
        assert_eq!(deduper.pending.len(), 0);
    });
}

#[test]
fn a_page_of_several_chunks_of_links_gives_by_its_own_commit_to_all_that_the_rules_admit_each_once() {
    let bench = Bench::new(&["crawl.order=best", "frontier.credit=true"]);
    bench.queue(&[("http://h.test/1", 1)]);
    started(Deduper::new(bench.node.clone()), |deduper, ctx| {
        let urls: Vec<String> = (0..2 * CHUNK + 7).map(|n| format!("http://h{}.test/{}", n % 3, n % 8_001)).collect();
        let all: Vec<&str> = urls.iter().map(String::as_str).chain(["http://h.test/1"]).collect();
        deduper.handle(page(&bench, bench.leases().remove(0), &all), ctx);
        let commits = bench.store.take::<Commit>();
        let linked = |commit: &Commit| match &commit.change {
            Change::Page(page) => page.links.linked.clone(),
            Change::Links(links) => links.linked.clone(),
            _ => Vec::new(),
        };
        let (last, before) = commits.split_last().unwrap();
        assert!(before.len() == 2 && before.iter().all(|commit| linked(commit).is_empty()));
        let given: Vec<UrlKey> = linked(last).into_iter().flat_map(|host| host.pages).collect();
        let wanted: BTreeSet<UrlKey> = urls.iter().map(|url| bench.node.prints.url(&bench.url(url))).collect();
        assert_eq!((given.len(), given.into_iter().collect::<BTreeSet<_>>()), (wanted.len(), wanted), "not to itself");
    });
}

/// A page with a text of this sketch.
fn with_text(lease: Lease, sim: u64) -> Parsed {
    let mut record = PageRecord::new(&lease.url, UnixMillis(5), DoneKind::Stored);
    record.print = Some(TextPrint { whole: sim, words: sim, sim, features: 100, letters: 500, sketch: Some([sim; 4]) });
    let parts = PageParts { record, records: None, content: None, shown: None };
    Parsed { parts: Some(Box::new(parts)), ..Parsed::bare(lease, None, Ending::Done(DoneKind::Stored)) }
}

#[test]
fn a_page_is_near_to_one_that_is_not_committed_yet_unless_that_commit_is_lost() {
    let bench = Bench::new(&[]);
    let urls: Vec<String> = (1..=5).map(|n| format!("http://h.test/{n}")).collect();
    bench.queue(&urls.iter().map(|url| (url.as_str(), 1)).collect::<Vec<_>>());
    started(Deduper::new(bench.node.clone()), |deduper, ctx| {
        let mut leases = bench.leases().into_iter();
        let mut next = |deduper: &mut Deduper, ctx: &mut Ctx<Deduper>, sim| {
            let lease = leases.next().unwrap();
            let (url, key) = (lease.url.as_str().to_owned(), lease.core().url_key);
            deduper.handle(with_text(lease, sim), ctx);
            let commits = bench.store.take::<Commit>();
            let [Commit { change: Change::Page(page), .. }] = &commits[..] else { panic!("{}", commits.len()) };
            (url, key, page.capture.as_ref().unwrap().remarks.near.clone())
        };
        let (first, key, near) = next(deduper, ctx, 0b0111);
        assert_eq!(near, Some(Near::Leader));
        let like = |distance| Some(Near::Like { url: first.clone(), distance });
        assert_eq!(next(deduper, ctx, 0b0110).2, like(4));
        assert_eq!(next(deduper, ctx, 0b0101).2, like(4), "near to the leader, not to the one before");
        let epoch = deduper.epoch;
        let settled = |epoch| Settled { epoch, urls: Vec::new(), contents: Vec::new(), leaders: vec![key] };
        deduper.handle(settled(epoch + 1), ctx);
        assert_eq!(next(deduper, ctx, 0b0011).2, like(4), "of another life");
        bench.node.crawl.epoch.raise();
        assert_eq!(next(deduper, ctx, 0b0111).2, Some(Near::Leader), "its commit is lost with the mark");
    });
}
