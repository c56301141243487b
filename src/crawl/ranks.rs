//! What a URL's importance is made of, by what is on disk and the rules in force: for whoever asks beside the Store.

use std::sync::Arc;

use super::Result;
use super::live::Live;
use super::node::Node;
use crate::domain::priority::{Factors, Page, quality};
use crate::domain::rank::{Order, Place, Ranker};
use crate::domain::url::PageUrl;
use crate::storage::keys::{HostAt, QueueKey};
use crate::storage::read;
use crate::storage::values::{HostCounts, QueueEntry, SeedValue};

/// Of which URL it is asked.
pub struct Asked<'a> {
    /// The URL.
    pub url: &'a PageUrl,
    /// Links from its seed.
    pub depth: u16,
    /// The seed it goes back to; `None` for a seed itself.
    pub origin: Option<&'a str>,
    /// The word of its site, in hundredths.
    pub priority: Option<u8>,
}

impl<'a> Asked<'a> {
    /// Of a queue entry with this URL.
    pub fn of(url: &'a PageUrl, entry: &'a QueueEntry) -> Self {
        Self { url, depth: entry.depth, origin: entry.origin.as_deref(), priority: entry.priority }
    }
}

/// The factors of a URL, and what was said of its seed. `host`: what is counted of its host.
///
/// # Errors
/// The storage's own.
pub fn factors(
    node: &Node,
    live: &Live,
    asked: &Asked<'_>,
    host: &HostCounts,
) -> Result<(Factors, Option<Arc<SeedValue>>)> {
    let seed = asked.origin.unwrap_or(asked.url.as_str());
    let seed = node.crawl.seeds.of(&*node.storage, node.crawl.id, &node.prints, seed)?;
    let page = Page {
        depth: asked.depth,
        host: asked.url.host(),
        url: &|| Some(asked.url.as_str().to_owned()),
        quality: quality(host.done, host.repeats, host.errors),
        seed: seed.as_ref().and_then(|seed| seed.weight),
        tags: seed.as_ref().map_or(&[], |seed| &seed.tags),
        priority: asked.priority,
    };
    Ok((live.priorities.factors(&node.crawl.rules.ranker, &page), seed))
}

/// The places of URLs that wait, one after another: those of a host stand together, and it is read once.
pub struct Places<'n> {
    node: &'n Node,
    live: Arc<Live>,
    host: Option<(HostAt, String, HostCounts)>,
}

impl<'n> Places<'n> {
    /// By the rules in force now.
    pub fn new(node: &'n Node) -> Self {
        Self { node, live: node.crawl.live(), host: None }
    }

    /// Those of these URLs that move.
    ///
    /// # Errors
    /// The storage's own.
    pub fn that_move(mut self, rows: &[(QueueKey, QueueEntry)]) -> Result<Vec<QueueKey>> {
        let mut found = Vec::new();
        for (key, entry) in rows {
            if self.moves(key, entry)? {
                found.push(*key);
            }
        }
        Ok(found)
    }

    /// Whether the rules in force would put a URL elsewhere, and nothing keeps it where it is: it is in nobody's hands, and not to come last.
    /// The Store judges once more.
    fn moves(&mut self, key: &QueueKey, entry: &QueueEntry) -> Result<bool> {
        let at = key.host_crawl().host_at();
        if self.host.as_ref().is_none_or(|(known, ..)| *known != at) {
            let name = read::host_state(&*self.node.storage, at)?.unwrap_or_default().name;
            let counts = read::host_counts(&*self.node.storage, key.host_crawl())?.unwrap_or_default();
            self.host = Some((at, name, counts));
        }
        let Some((_, name, counts)) = &self.host else { return Ok(false) };
        let Ok(url) = entry.url(name) else { return Ok(false) };
        if Ranker::is_last(key.order) || self.node.crawl.leases.contains(&self.node.prints.url(&url)) {
            return Ok(false);
        }
        let (ranker, most) = (&self.node.crawl.rules.ranker, self.live.settings.max_depth());
        let (visit, number) = (entry.is_visit(), Ranker::number_of(key.order));
        let place = match visit {
            true => ranker.visit_place(entry.depth, number),
            false => ranker.place(entry.depth, entry.reach().left(most), number),
        };
        let (factors, seed) = factors(self.node, &self.live, &Asked::of(&url, entry), counts)?;
        let own = seed.filter(|_| entry.seed && entry.origin.is_none()).and_then(|seed| seed.rank);
        let by_importance = (ranker.order() == Order::Best).then(|| ranker.rank_by(&factors, visit));
        let rank = own.or(by_importance).unwrap_or(place.rank);
        Ok(Place { rank, ..place } != Place { rank: key.rank, order: key.order })
    }
}
