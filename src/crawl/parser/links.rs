//! The URLs a page leads to: links, redirect target, judged by traps and scope.

use std::sync::Arc;

use super::sitemap;
use crate::content::html::{LinkKind, Page};
use crate::content::modules::{FoundLink, HeaderDirectives, leads};
use crate::crawl::admit::{admit, is_foreign, refuse as refuse_all};
use crate::crawl::lease::Lease;
use crate::crawl::node::Node;
use crate::crawl::parser::inspect::{Redirect, RedirectKind};
use crate::domain::fingerprint::{KeySet, UrlKey};
use crate::domain::found_as::FoundAs;
use crate::domain::outcome::Verdict;
use crate::domain::reach::Reach;
use crate::domain::reason::Rejection;
use crate::domain::url::{PageUrl, UrlError};
use crate::storage::ledger::{LinkChange, NewUrl, RejectedUrl};
use crate::warc::metadata::Outlink;

/// Characters of a link that are shown.
const SHOWN: usize = 200;

/// Where an answer leads.
#[derive(Default)]
pub(super) struct Found<'p> {
    /// What is to be followed, judged.
    pub change: LinkChange,
    /// All that was found, also what is not to be followed, for the archive.
    pub outlinks: Vec<Outlink<'p>>,
    /// Something was meant as the URL of a page and is none.
    pub refused: bool,
}

/// The most links that a page can give.
pub(super) fn at_most(page: &Page) -> usize {
    page.facts.links.len() + page.facts.sitemap.as_ref().map_or(0, |map| map.entries.len())
}

/// The links of an answer's page and head, or the target of a redirect.
pub(super) fn found<'p>(
    node: &Node,
    (lease, reach): (&Lease, Reach),
    verdict: &Verdict,
    onward: &Redirect,
    page: Option<&'p Page>,
    head: &'p HeaderDirectives,
) -> Found<'p> {
    let obeyed = node.crawl.rules.settings.politeness.obeys_nofollow();
    let nofollow = obeyed && head.directives(page).nofollow;
    let next = onward.followed(nofollow).filter(|_| is_redirect(node, lease, onward, page));
    let next = next.map(|(to, way)| (hop(node, lease, reach, to), way));
    if matches!(verdict, Verdict::Follow) {
        let outlinks = next.iter().map(|(next, _)| redirect(next, "location")).collect();
        let refused = matches!(onward, Redirect::Nowhere(Some(why)) if refuse(node, lease, *why, "Location"));
        return Found { change: admit(node, next.map(|(next, _)| next)), outlinks, refused };
    }
    if !verdict.parses() {
        return Found::default();
    }
    let mut collected = Collected::new(lease, reach, !nofollow);
    if let Some((next, way)) = next {
        let key = node.prints.url(&next.url);
        collected.known.insert(key);
        if way == RedirectKind::RefreshHeader {
            collected.outlinks.push(redirect(&next, "Refresh:"));
            collected.listed.insert((key, LinkKind::MetaRefresh, node.prints.text("")));
        }
        collected.found.push(next);
    }
    if let Some((page, map)) = page.and_then(|page| Some((page, page.facts.sitemap.as_ref()?))) {
        let next = collected.found.pop();
        return sitemap::found(node, (lease, reach), page, map, next); // its entries are no links, for which nofollow holds
    }
    let live = node.crawl.live();
    for link in leads(&live.canon, &lease.url, page, head) {
        match link.url {
            Ok(_) => collected.add(node, FoundLink { nofollow: obeyed && link.nofollow, ..link }),
            Err(why) => collected.refused |= refuse(node, lease, why, link.href),
        }
    }
    if node.crawl.rules.settings.crawl.ascend {
        if lease.entry.seed {
            let own = lease.url.folders(); // of a seed, or of where it redirects to
            own.for_each(|folder| collected.find(node.prints.url(&folder), folder, true));
        }
        add_folders(node, &mut collected.known, &mut collected.found);
    }
    let Collected { known, mut found, sitemaps, named, unfollowed, outlinks, refused, .. } = collected;
    if !named.is_empty() {
        found.retain(|new| !named.contains(&node.prints.url(&new.url)));
        found.extend(sitemaps);
    }
    let mut change = admit(node, found);
    let unfollowed = not_followed(node, &known, unfollowed);
    refuse_all(node, &mut change, unfollowed);
    Found { change, outlinks, refused }
}

/// Counts what is no URL that can be asked for; true when it was meant as that of a page.
pub(super) fn refuse(node: &Node, lease: &Lease, why: UrlError, text: &str) -> bool {
    node.telemetry.metrics.link_refused(why);
    if why.is_fault() {
        let reason = why.rejection().as_str();
        log::debug!("link is no URL that can be asked for: url={} link={text:?} reason={reason}", lease.url);
        let shown: String = text.chars().take(SHOWN).collect();
        node.telemetry.troubles.tally(reason, format!("{shown} on {}", lease.url));
    }
    why.is_fault()
}

/// Whether the way on is a redirect. A refresh of a page that shows something, or links to where it leads, is a link from the place
/// on where half of the redirects that are followed are used up: behind it may stand redirects again.
fn is_redirect(node: &Node, lease: &Lease, onward: &Redirect, page: Option<&Page>) -> bool {
    let Redirect::To { url, way, shows } = onward else { return false };
    if *way == RedirectKind::Location || lease.entry.hops < node.crawl.rules.settings.fetch.max_redirects.div_ceil(2) {
        return true;
    }
    let live = node.crawl.live();
    let links_to = |page: &Page| {
        let joiner = live.canon.joiner(page.facts.base_url(&lease.url.to_url()), Some(page.charset));
        let mut plain = page.facts.links.iter().filter(|link| link.kind == LinkKind::A && !link.nofollow);
        plain.any(|link| joiner.join(&link.href).as_ref() == Ok(url))
    };
    !shows && !page.is_some_and(links_to)
}

/// What only links name that are not to be followed: kept, so that it can be said why nobody asked for it.
fn not_followed(node: &Node, known: &KeySet<UrlKey>, mut unfollowed: Vec<NewUrl>) -> impl Iterator<Item = RejectedUrl> {
    unfollowed.retain(|new| !known.contains(&node.prints.url(&new.url)));
    let judged = admit(node, unfollowed);
    let foreign = judged.foreign.into_iter().map(|foreign| foreign.new);
    let nofollow = judged.new.into_iter().chain(foreign).map(|new| RejectedUrl { new, reason: Rejection::Nofollow });
    judged.turned.into_iter().chain(nofollow)
}

/// How the target of a redirect is listed.
fn redirect<'p>(next: &NewUrl, context: &'static str) -> Outlink<'p> {
    Outlink { url: next.url.as_str().to_owned().into(), hop: 'R', context, text: "" }
}

/// How the place of a link is written in the archive.
fn context(link: &FoundLink<'_>) -> &'static str {
    match link.kind {
        LinkKind::MetaRefresh if link.in_header => "Refresh:",
        _ if link.in_header => "Link:",
        LinkKind::A => "a/@href",
        LinkKind::Area => "area/@href",
        LinkKind::Frame => "frame/@src",
        LinkKind::Iframe => "iframe/@src",
        LinkKind::MetaRefresh => "meta/@refresh",
        LinkKind::LinkRel | LinkKind::SitemapFile => "link/@href",
        LinkKind::Asset => "=EMBED_MISC",
        LinkKind::Feed => "feed/link",
        LinkKind::SitemapEntry => "sitemap/loc",
    }
}

/// Links on their way: each URL is followed once, each URL with its place and text is listed once.
#[derive(Default)]
struct Collected<'p> {
    follow: bool,
    /// The way to what is found.
    depth: u16,
    limit: Option<u16>,
    via: Arc<str>,
    origin: Arc<str>,
    own: Option<UrlKey>,
    known: KeySet<UrlKey>,
    /// With the hash of the text.
    listed: KeySet<(UrlKey, LinkKind, u64)>,
    found: Vec<NewUrl>,
    /// Sitemaps that the page names, each once; they may be links of it too.
    sitemaps: Vec<NewUrl>,
    named: KeySet<UrlKey>,
    /// Links that say that they are not to be followed, each once.
    unfollowed: Vec<NewUrl>,
    shunned: KeySet<UrlKey>,
    outlinks: Vec<Outlink<'p>>,
    refused: bool,
}

impl<'p> Collected<'p> {
    fn new(lease: &Lease, reach: Reach, follow: bool) -> Self {
        Self {
            follow,
            depth: reach.depth.saturating_add(1),
            limit: reach.limit,
            via: Arc::from(lease.url.as_str()),
            origin: lease.origin(),
            own: Some(lease.core().url_key),
            ..Self::default()
        }
    }

    fn add(&mut self, node: &Node, link: FoundLink<'p>) {
        let Ok(url) = &link.url else { return };
        let key = node.prints.url(url);
        if Some(key) == self.own {
            return; // a link to itself is none
        }
        if self.listed.insert((key, link.kind, node.prints.text(link.text))) {
            let hop = if link.kind == LinkKind::Asset { 'E' } else { 'L' };
            let (url, context, text) = (url.as_str().to_owned().into(), context(&link), link.text);
            self.outlinks.push(Outlink { url, hop, context, text });
        }
        let Ok(url) = link.url else { return };
        let follow = self.follow && !link.nofollow;
        match link.kind {
            LinkKind::SitemapFile => self.sitemap(node, key, url, follow),
            _ => self.find(key, url, follow),
        }
    }

    /// A sitemap that the page names: as one that its robots.txt names, and as deep as the page.
    fn sitemap(&mut self, node: &Node, key: UrlKey, url: PageUrl, follow: bool) {
        let settings = &node.crawl.rules.settings.sitemaps;
        if !follow || !settings.in_use || self.sitemaps.len() >= settings.max_files {
            return;
        }
        if self.named.insert(key) {
            let found = FoundAs::SitemapFile { nesting: 0 };
            self.sitemaps.push(NewUrl { depth: self.depth.saturating_sub(1), found, ..self.link(url) });
        }
    }

    fn link(&self, url: PageUrl) -> NewUrl {
        let (via, origin) = (Some(self.via.clone()), Some(self.origin.clone()));
        NewUrl { limit: self.limit, via, origin, ..NewUrl::link(url, self.depth) }
    }

    fn find(&mut self, key: UrlKey, url: PageUrl, follow: bool) {
        let once = if follow { &mut self.known } else { &mut self.shunned };
        if once.insert(key) {
            let new = self.link(url);
            if follow { self.found.push(new) } else { self.unfollowed.push(new) }
        }
    }
}

/// The folders above each URL found, up to the top of its host: pages that nobody links to are often listed there.
fn add_folders(node: &Node, known: &mut KeySet<UrlKey>, found: &mut Vec<NewUrl>) {
    let mut folders = Vec::new();
    for new in found.iter() {
        for folder in new.url.folders() {
            if known.insert(node.prints.url(&folder)) {
                folders.push(NewUrl { url: folder, ..new.clone() });
            }
        }
    }
    found.append(&mut folders);
}

/// The way to a page by which its links are judged: that of its lease, with what is said of its seed now.
pub(super) fn reach(node: &Node, lease: &Lease) -> Reach {
    let limit = node.seed_of(lease).map(|seed| seed.and_then(|seed| seed.max_depth)).unwrap_or_else(|e| {
        // The page is committed only when the same database takes it.
        log::warn!("what was said of a seed cannot be read: url={} error={e}", lease.url);
        lease.entry.limit
    });
    Reach { limit, ..lease.entry.reach() }
}

/// Where an answer leads at once: a new URL of the same depth, one hop further, through every check. A seed's joins the scope.
fn hop(node: &Node, lease: &Lease, Reach { depth, limit }: Reach, to: &PageUrl) -> NewUrl {
    if lease.entry.seed && !is_foreign(node, to) {
        join_scope(node, to, &lease.url);
    }
    let via = Some(Arc::from(lease.url.as_str()));
    let (hops, seed) = (lease.entry.hops.saturating_add(1), lease.entry.seed);
    let found = lease.entry.found; // a sitemap may be moved
    let (url, origin) = (to.clone(), Some(lease.origin()));
    NewUrl { limit, hops, seed, via, origin, found, ..NewUrl::link(url, depth) }
}

fn join_scope(node: &Node, target: &PageUrl, seed: &PageUrl) {
    let mut scope = node.crawl.scope.write().unwrap_or_else(std::sync::PoisonError::into_inner);
    if scope.join_host(target.host()) {
        log::info!("scope widened by a seed's redirect: host={} seed={seed}", target.host());
    }
}
