//! Which place a URL has in its host's queue, by all that its importance is made of (ADR 35); and places given anew.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::schedule::host_of;
use super::{Done, Leased, Ledger, LedgerRules, Rerank, Result};
use crate::domain::fingerprint::UrlKey;
use crate::domain::priority::{Factors, Page};
use crate::domain::rank::{Order, Place, Ranker};
use crate::domain::refresh::interval;
use crate::domain::url::PageUrl;
use crate::storage::keys::{HostAt, QueueKey, SeenKey};
use crate::storage::tables::{Queue, Seeds as Table, Seen};
use crate::storage::txn::Txn;
use crate::storage::values::{QueueEntry, SeedValue, UrlState};

/// Seeds kept; with one more all are read anew.
const KEPT: usize = 10_000;

/// What was said of seeds to which URLs go back.
#[derive(Default)]
pub(super) struct Seeds {
    known: HashMap<String, Option<Arc<SeedValue>>>,
    /// The one asked for last: the links of a page have it in common.
    last: Option<(String, Option<Arc<SeedValue>>)>,
}

impl Seeds {
    /// Something is said of a seed.
    pub fn said(&mut self, seed: &str) {
        self.known.remove(seed);
        self.last = None;
    }
}

/// Of which page the factors are asked for.
pub(super) struct Asked<'a> {
    /// Its canonical URL, on the host of this name.
    pub url: &'a dyn Fn(&str) -> Option<String>,
    pub depth: u16,
    /// The seed it goes back to.
    pub origin: Option<&'a str>,
    /// The word of its site.
    pub priority: Option<u8>,
}

impl LedgerRules {
    /// The weight of a page for its visits: by its depth, seed, host and rule, by what a rule of visits says of it, and by the new links
    /// that a visit finds. A rule that gives a rank outright gives no weight.
    pub(super) fn weight_for_visits(
        &self,
        seed: Option<&SeedValue>,
        (url, depth): (&str, u16),
        (quality, said, links): (f64, f64, f64),
    ) -> f64 {
        let page = Page {
            depth,
            host: host_of(url),
            url: &|| Some(url.to_owned()),
            quality,
            seed: seed.and_then(|seed| seed.weight),
            tags: seed.map_or(&[], |seed| &seed.tags),
            priority: None,
        };
        let Factors { depth, seed, host, quality, rule, .. } = self.priorities.factors(&self.ranker, &page);
        interval::weight(depth, seed, host * quality, rule * said, links)
    }
}

impl Ledger {
    /// The place of the URL with this number.
    pub(super) fn place_of(&mut self, txn: &Txn<'_>, seen: SeenKey, entry: &QueueEntry, number: u64) -> Result<Place> {
        let visit = entry.is_visit();
        let place = match visit {
            true => self.rules.ranker.visit_place(entry.depth, number),
            false => self.rules.ranker.place(entry.depth, entry.reach().left(self.rules.max_depth), number),
        };
        let own = entry.seed && entry.origin.is_none();
        if let Some(rank) = if own { self.rank_of_seed(txn, seen)? } else { None } {
            return Ok(Place { rank, ..place });
        }
        if self.rules.ranker.order() != Order::Best {
            return Ok(place);
        }
        let factors = self.factors_of(txn, seen, entry)?;
        let by_credit = if factors.rank.is_none() && !own { self.rank_by_credit(txn, seen)? } else { None };
        let rank = match by_credit {
            Some(rank) if visit => rank.min(Ranker::WORST_OF_VISITS),
            Some(rank) => rank,
            None => self.rules.ranker.rank_by(&factors, visit),
        };
        Ok(Place { rank, ..place })
    }

    /// What the importance of a URL that waits is made of.
    pub(super) fn factors_of(&mut self, txn: &Txn<'_>, seen: SeenKey, entry: &QueueEntry) -> Result<Factors> {
        let url = |host: &str| Some(entry.url(host).ok()?.as_str().to_owned());
        let (depth, origin) = (entry.depth, entry.origin.as_deref());
        self.factors(txn, seen, &Asked { url: &url, depth, origin, priority: entry.priority })
    }

    /// What was said of a seed by its own name.
    fn rank_of_seed(&self, txn: &Txn<'_>, seed: SeenKey) -> Result<Option<u8>> {
        Ok(txn.get::<Table>(&seed)?.and_then(|seed| seed.rank))
    }

    /// What a page's importance is made of.
    pub(super) fn factors(&mut self, txn: &Txn<'_>, seen: SeenKey, page: &Asked<'_>) -> Result<Factors> {
        let at = seen.host_crawl().host_at();
        let seed = match page.origin {
            Some(origin) => self.seed(txn, origin)?,
            None => txn.get::<Table>(&seen)?.map(Arc::new),
        };
        let quality = self.hosts.quality(txn, at)?;
        let named = self.rules.priorities.asks_for_names();
        let host = if named { self.hosts.name(txn, at)? } else { String::new() };
        let page = Page {
            depth: page.depth,
            host: &host,
            url: &|| (page.url)(&host),
            quality,
            seed: seed.as_ref().and_then(|seed| seed.weight),
            tags: seed.as_ref().map_or(&[], |seed| &seed.tags),
            priority: page.priority,
        };
        Ok(self.rules.priorities.factors(&self.rules.ranker, &page))
    }

    /// What was said of a seed, when something was.
    pub(super) fn seed(&mut self, txn: &Txn<'_>, origin: &str) -> Result<Option<Arc<SeedValue>>> {
        if let Some((last, seed)) = &self.seeds.last
            && last == origin
        {
            return Ok(seed.clone());
        }
        let seed = match self.seeds.known.get(origin) {
            Some(known) => known.clone(),
            None => {
                let key = PageUrl::from_canonical(origin).ok().map(|url| self.seen_key(&url));
                let found = key.map(|key| txn.get::<Table>(&key)).transpose()?.flatten();
                let seed = found.filter(SeedValue::says).map(Arc::new);
                if self.seeds.known.len() >= KEPT {
                    self.seeds.known.clear();
                }
                self.seeds.known.insert(origin.to_owned(), seed.clone());
                seed
            }
        };
        self.seeds.last = Some((origin.to_owned(), seed.clone()));
        Ok(seed)
    }

    /// Gives URLs that wait the places that the rules in force give them; each keeps its number. Those in somebody's hands stay where
    /// they are, and those that come last.
    pub(super) fn rerank(&mut self, txn: &mut Txn<'_>, rerank: &Rerank, leased: Leased<'_>) -> Result<Done> {
        let mut moved = 0;
        for key in &rerank.urls {
            moved += u64::from(self.moved(txn, key, leased)?);
        }
        rerank.moved.store(moved, Relaxed);
        Ok(Done { reranked: moved, ..Done::default() })
    }

    fn moved(&mut self, txn: &mut Txn<'_>, key: &QueueKey, leased: &dyn Fn(&UrlKey) -> bool) -> Result<bool> {
        let Some(entry) = txn.get::<Queue>(key)? else { return Ok(false) };
        let at: HostAt = key.host_crawl().host_at();
        let Ok(url) = entry.url(&self.hosts.name(txn, at)?) else { return Ok(false) };
        let seen = self.seen_key(&url);
        let Some(UrlState::Waiting { rank, order, reach, due: None }) = txn.get::<Seen>(&seen)? else {
            return Ok(false);
        };
        if (rank, order) != (key.rank, key.order) || Ranker::is_last(order) || leased(&seen.url) {
            return Ok(false);
        }
        self.waits(txn, seen, &entry)?;
        let place = self.place_of(txn, seen, &entry, Ranker::number_of(order))?;
        if (place.rank, place.order) == (rank, order) {
            return Ok(false);
        }
        txn.delete::<Queue>(key);
        self.hosts.unqueue(txn, at, rank)?;
        let Place { rank, order } = place;
        txn.put::<Queue>(&key.host_crawl().queue(rank, order), &entry);
        txn.put::<Seen>(&seen, &UrlState::Waiting { rank, order, reach, due: None });
        self.hosts.enqueued(txn, at, rank, order)?;
        Ok(true)
    }
}
