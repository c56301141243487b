//! What a sitemap names: pages and further sitemaps, the most urgent first.

use std::sync::Arc;

use super::links::{Found, refuse};
use crate::content::html::Page;
use crate::content::sitemap::{Choice, Chooser, Entry, Sitemap, Sites, by_urgency, is_named_by_seed};
use crate::crawl::admit::{admit, refuse as refuse_all};
use crate::crawl::lease::Lease;
use crate::crawl::node::Node;
use crate::domain::fingerprint::KeySet;
use crate::domain::found_as::FoundAs;
use crate::domain::reach::Reach;
use crate::domain::url::PageUrl;
use crate::storage::ledger::{Ending, NewUrl, RejectedUrl};
use crate::storage::values::DoneKind;
use crate::warc::metadata::Outlink;

/// The URLs of a sitemap, judged. Pages are one link deeper than it, sitemaps of an index as deep as it.
/// `next`: where its answer leads on to.
pub(super) fn found(
    node: &Node,
    (lease, reach): (&Lease, Reach),
    page: &Page,
    sitemap: &Sitemap,
    next: Option<NewUrl>,
) -> Found<'static> {
    node.telemetry.metrics.sitemap(sitemap.end, sitemap.entries.len() as u64);
    let live = node.crawl.live();
    let named = sitemap.entries.iter().map(|entry| entry.loc.as_str());
    let joiner = live.canon.joiner_of(named, lease.url.to_url(), Some(page.charset));
    let mut known = KeySet::default();
    known.insert(node.prints.url(&lease.url)); // an index of itself
    known.extend(next.iter().map(|new| node.prints.url(&new.url)));
    let mut chosen = Chosen::new(node, lease, reach);
    let mut refused = false;
    for entry in by_urgency(&sitemap.entries, node.crawl.rules.ranker.order()) {
        let url = match joiner.join(&entry.loc) {
            Ok(url) => url,
            Err(why) => {
                refused |= refuse(node, lease, why, &entry.loc);
                continue;
            }
        };
        if known.insert(node.prints.url(&url)) {
            chosen.put(entry, url);
        }
    }
    let mut links = admit(node, next.into_iter().chain(chosen.new));
    refuse_all(node, &mut links, chosen.turned);
    let all = links.new.iter().chain(links.turned.iter().map(|t| &t.new)).chain(links.foreign.iter().map(|f| &f.new));
    let urls = all.map(|new| new.url.as_str().to_owned());
    let outlinks = urls.map(|url| Outlink { url: url.into(), hop: 'M', context: "sitemap/loc", text: "" }).collect();
    Found { change: links, outlinks, refused }
}

/// What is taken from a sitemap.
struct Chosen<'n> {
    lease: &'n Lease,
    reach: Reach,
    chooser: Chooser,
    via: Arc<str>,
    origin: Arc<str>,
    new: Vec<NewUrl>,
    turned: Vec<RejectedUrl>,
}

impl<'n> Chosen<'n> {
    fn new(node: &'n Node, lease: &'n Lease, reach: Reach) -> Self {
        let entry = &lease.entry;
        let (expected, via) = (entry.found.is_sitemap(), entry.via.as_deref());
        // The operator has given it: it is a seed, or a seed names it.
        let given = entry.seed || is_named_by_seed(entry.found, via, entry.origin.as_deref());
        let sites = Sites::of(&lease.url, via, expected).given(given);
        Self {
            chooser: Chooser::new(sites, entry.found, node.crawl.rules.settings.sitemaps.file_rules()),
            via: Arc::from(lease.url.as_str()),
            origin: lease.origin(),
            new: Vec::new(),
            turned: Vec::new(),
            lease,
            reach,
        }
    }

    fn put(&mut self, entry: &Entry, url: PageUrl) {
        match self.chooser.choose(entry, &url) {
            Choice::LeaveOut => {}
            Choice::Take => self.new.push(self.new_url(entry, url)),
            Choice::TurnAway(reason) => self.turned.push(RejectedUrl { new: self.new_url(entry, url), reason }),
        }
    }

    fn new_url(&self, entry: &Entry, url: PageUrl) -> NewUrl {
        let from = &self.lease.entry;
        let found = self.chooser.found_as(entry);
        let depth = self.reach.depth.saturating_add(u16::from(!entry.file));
        // The robots.txt that speaks for another site's pages, or the seed that speaks for all, speaks for them in the sitemaps of its
        // index too.
        let sites = self.chooser.sites();
        let led = from.via.as_deref().filter(|_| entry.file && !from.seed && (sites.are_two() || sites.are_all()));
        NewUrl {
            limit: self.reach.limit,
            via: Some(led.map_or_else(|| self.via.clone(), Arc::from)),
            origin: Some(self.origin.clone()),
            found,
            lastmod: entry.lastmod,
            priority: entry.priority,
            ..NewUrl::link(url, depth)
        }
    }
}

/// How a URL ends. That nothing lies where a sitemap might have been is no failure: nobody had said that one does.
pub(super) fn ending(lease: &Lease, status: u16, ending: Ending) -> Ending {
    let guessed = lease.entry.found == FoundAs::WellKnown && matches!(status, 404 | 410);
    if guessed && matches!(ending, Ending::Error(_)) { Ending::Done(DoneKind::Stored) } else { ending }
}
