//! Pages whose WARC record a power failure took: their commit is undone and their URLs are queued again (I3, I8).

use super::{Ledger, Result, counters_of};
use crate::storage::keys::ContentKey;
use crate::storage::tables::{Content, Failed, Pages, Queue, Seen};
use crate::storage::txn::Txn;
use crate::storage::values::{DoneKind, PageRecord, UnsyncedPage, UrlState};

impl Ledger {
    /// Undoes the commit of a page, its links apart: they were found, whatever became of its record. False when its URL is
    /// not as that commit left it: then the capture alone goes.
    ///
    /// # Errors
    /// The storage's own.
    pub fn requeue(&mut self, txn: &mut Txn<'_>, lost: &UnsyncedPage) -> Result<bool> {
        let seen = lost.page.seen();
        let at = seen.host_crawl().host_at();
        let (Some(page), Some(state)) = (txn.get::<Pages>(&lost.page)?, txn.get::<Seen>(&seen)?) else {
            return Ok(false);
        };
        self.uncapture(txn, lost, &page)?;
        match state {
            UrlState::Done { captured, how, .. } if captured == page.fetched => {
                self.no_sitemap(txn, seen, captured)?;
                self.counters.done = self.counters.done.saturating_sub(1);
                if how == DoneKind::Redirect {
                    self.counters.redirects = self.counters.redirects.saturating_sub(1);
                }
                self.hosts.with(txn, at, |row| row.counts.done = row.counts.done.saturating_sub(1))?;
            }
            UrlState::Error { reason } => {
                let kept = txn.get::<Failed>(&seen)?;
                if kept.is_some_and(|kept| kept.captured != Some(page.fetched)) {
                    return Ok(false); // it was given up later, for another reason
                }
                self.no_error(txn, seen, reason)?;
            }
            _ => return Ok(false),
        }
        self.counters.queued += 1;
        let (rank, order, reach) = (lost.rank, lost.order, lost.entry.reach());
        txn.put::<Queue>(&seen.host_crawl().queue(rank, order), &lost.entry);
        txn.put::<Seen>(&seen, &UrlState::Waiting { rank, order, reach, due: None });
        self.hosts.enqueued(txn, at, rank, order)?;
        Ok(true)
    }

    /// Takes a capture out of all counts.
    fn uncapture(&mut self, txn: &mut Txn<'_>, lost: &UnsyncedPage, page: &PageRecord) -> Result<()> {
        let at = lost.page.seen().host_crawl().host_at();
        counters_of(&mut self.counters, page, false);
        self.hosts.with(txn, at, |row| row.counts.bytes = row.counts.bytes.saturating_sub(page.bytes))?;
        txn.delete::<Pages>(&lost.page);
        if let Some(digest) = page.content {
            let key = ContentKey::from(digest);
            if txn.get::<Content>(&key)?.is_some_and(|first| first.first == lost.page) {
                txn.delete::<Content>(&key);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::time::UnixMillis;
    use crate::domain::fingerprint::{ContentDigest, CrawlId, Fingerprinter, UrlKey};
    use crate::domain::rank::Ranker;
    use crate::domain::url::{Canonicaliser, CleanRules};
    use crate::storage::ledger::{Change, Done, Ending, LedgerRules, LinkChange, NewUrl, PageChange};
    use crate::storage::values::{ContentValue, WarcPlace};
    use crate::storage::{Family, MemoryStorage, Storage};

    fn rules() -> LedgerRules {
        LedgerRules {
            crawl: CrawlId(1),
            prints: Fingerprinter::new(1),
            ranker: Ranker::default(),
            keep_rejected: true,
            generation: 1,
            max_depth: None,
        }
    }

    fn applied(storage: &MemoryStorage, ledger: &mut Ledger, change: &Change) -> Done {
        let mut txn = Txn::new(storage);
        let done = ledger.apply(&mut txn, change, UnixMillis(9), &|_: &UrlKey| false).unwrap();
        ledger.seal(&mut txn).unwrap();
        storage.write(&txn.into_batch()).unwrap();
        ledger.commit();
        done
    }

    fn found(text: &str) -> NewUrl {
        let url = Canonicaliser::new(CleanRules::default()).parse(text).unwrap();
        NewUrl {
            url,
            depth: 1,
            limit: None,
            hops: 0,
            seed: false,
            via: None,
            origin: None,
            found: crate::domain::found_as::FoundAs::Link,
            rank: None,
            lastmod: None,
        }
    }

    fn page(ledger: &Ledger, new: &NewUrl, ending: Ending, how: DoneKind) -> PageChange {
        let seen = ledger.seen_key(&new.url);
        let capture = PageRecord {
            url: new.url.as_str().into(),
            status: 200,
            fetched: UnixMillis(5),
            took_ms: 12,
            mime: None,
            bytes: 1000,
            payload_digest: [9; 20],
            content: Some(ContentDigest([8; 16])),
            warc: Some(WarcPlace { file: "a.warc.gz".into(), offset: 300, length: 20 }),
            etag: None,
            last_modified: None,
            title: None,
            out_links: 0,
            depth: 1,
            hops: 0,
            how,
            cut: None,
            charset: None,
            remarks: Default::default(),
            origin: None,
            sitemap: None,
            unchanged: 0,
            spelling: None,
            refused: None,
        };
        let (url, payload) = (capture.url.clone(), capture.payload_digest);
        let first = ContentValue { first: seen.page(capture.fetched), url, date: capture.fetched, payload };
        PageChange {
            url: new.url.clone(),
            ending,
            taken: new.reach(),
            reach: new.reach(),
            status: Some(200),
            capture: Some(capture),
            first_with: Some((ContentDigest([8; 16]), first)),
            links: LinkChange::default(),
            pace: None,
        }
    }

    fn families(storage: &MemoryStorage) -> Vec<Vec<crate::storage::Pair>> {
        let records = [Family::Queue, Family::Seen, Family::Pages, Family::Content];
        records.iter().map(|family| storage.scan(*family, &[], &[], usize::MAX).unwrap()).collect()
    }

    #[test]
    fn a_commit_undone_leaves_all_as_it_was_and_can_be_made_again() {
        use crate::domain::reason::Failure;
        let endings = [
            (Ending::Done(DoneKind::Stored), DoneKind::Stored),
            (Ending::Done(DoneKind::Redirect), DoneKind::Redirect),
            (Ending::Done(DoneKind::Duplicate), DoneKind::Duplicate),
            (Ending::Error(Failure::Status4xx), DoneKind::Stored),
        ];
        for (ending, how) in endings {
            let storage = MemoryStorage::new();
            let mut ledger = Ledger::open(&storage, rules()).unwrap();
            let new = found("http://h0.test/a");
            let links = LinkChange { new: vec![new.clone(), found("http://h0.test/b")], ..LinkChange::default() };
            applied(&storage, &mut ledger, &Change::Links(Box::new(links)));
            let (before, counted) = (families(&storage), ledger.committed().clone());

            let change = Change::Page(Box::new(page(&ledger, &new, ending.clone(), how)));
            let listed = applied(&storage, &mut ledger, &change).unsynced.unwrap();
            assert_ne!(families(&storage), before);
            let mut txn = Txn::new(&storage);
            assert!(ledger.requeue(&mut txn, &listed).unwrap());
            assert!(!ledger.requeue(&mut txn, &listed).unwrap(), "only once");
            ledger.seal(&mut txn).unwrap();
            storage.write(&txn.into_batch()).unwrap();
            ledger.commit();

            assert_eq!(families(&storage), before, "{ending:?}");
            let mut now = ledger.committed().clone();
            (now.next_commit, now.next_seq) = (counted.next_commit, counted.next_seq);
            now.types.retain(|_, counted| *counted != (0, 0)); // the name stays
            assert_eq!(now, counted, "{ending:?}");
            assert!(!applied(&storage, &mut ledger, &change).void);
        }
    }

    #[test]
    fn a_page_offered_twice_counts_once_and_its_links_are_kept() {
        let storage = MemoryStorage::new();
        let mut ledger = Ledger::open(&storage, rules()).unwrap();
        let new = found("http://h0.test/a");
        let links = LinkChange { new: vec![new.clone()], ..LinkChange::default() };
        applied(&storage, &mut ledger, &Change::Links(Box::new(links)));
        let mut change = page(&ledger, &new, Ending::Done(DoneKind::Stored), DoneKind::Stored);
        assert!(!applied(&storage, &mut ledger, &Change::Page(Box::new(change.clone()))).void);
        change.links.new.push(found("http://h0.test/c"));
        let done = applied(&storage, &mut ledger, &Change::Page(Box::new(change)));
        assert!(done.void && done.unsynced.is_none());
        assert_eq!(done.settled.len(), 1);
        let counters = ledger.committed();
        assert_eq!((counters.discovered, counters.queued, counters.done, counters.pages_stored), (2, 1, 1, 1));
    }

    #[test]
    fn a_url_turned_away_and_then_admitted_is_queued_and_a_shorter_path_still_counts() {
        use crate::domain::reason::Rejection;
        use crate::storage::ledger::RejectedUrl;
        let storage = MemoryStorage::new();
        let mut ledger = Ledger::open(&storage, rules()).unwrap();
        let new = found("http://h0.test/a");
        let reason = Rejection::TooDeep;
        let turned = vec![RejectedUrl { new: NewUrl { depth: 9, ..new.clone() }, reason }];
        applied(&storage, &mut ledger, &Change::Links(Box::new(LinkChange { turned, ..LinkChange::default() })));
        for depth in [3, 1] {
            let readmitted = vec![NewUrl { depth, ..new.clone() }];
            applied(
                &storage,
                &mut ledger,
                &Change::Links(Box::new(LinkChange { readmitted, ..LinkChange::default() })),
            );
            let state = crate::storage::read::seen_state(&storage, ledger.seen_key(&new.url)).unwrap();
            assert!(matches!(state, Some(UrlState::Waiting { reach, .. }) if reach.depth == depth), "{state:?}");
        }
        let counters = ledger.committed();
        assert_eq!((counters.discovered, counters.queued, counters.rejected_total()), (1, 1, 0));
    }
}
