//! The URLs a page leads to: links, redirect target, judged by traps and scope.

use std::sync::Arc;

use super::onward::Onward;
use super::sitemap;
use crate::actors::admit::admit;
use crate::actors::lease::Lease;
use crate::actors::node::Node;
use crate::domain::fingerprint::{KeySet, UrlKey};
use crate::domain::found_as::FoundAs;
use crate::domain::html::{Directives, Page};
use crate::domain::outcome::Verdict;
use crate::domain::reason::Rejection;
use crate::domain::url::PageUrl;
use crate::net::protocol::Fetched;
use crate::storage::ledger::{LinkChange, NewUrl, Turned};

/// The links of a page, or the target of a redirect.
pub(super) fn found(
    node: &Node,
    lease: &Lease,
    fetched: &Fetched,
    verdict: &Verdict,
    onward: &Onward,
    page: Option<&Page>,
) -> LinkChange {
    let next = onward.to.as_ref().map(|to| hop(node, lease, to));
    if matches!(verdict, Verdict::Follow) {
        return admit(node, next);
    }
    let Some(page) = page else { return admit(node, next) };
    let robots: Vec<String> = fetched
        .headers
        .iter()
        .filter(|(n, _)| n.eq_ignore_ascii_case("x-robots-tag"))
        .map(|(_, v)| String::from_utf8_lossy(v).into_owned())
        .collect();
    let tokens = &node.rules.settings.agent.robots_tokens;
    let directives = page.facts.robots.and(Directives::from_header(robots.iter().map(String::as_str), tokens));
    if directives.nofollow {
        return LinkChange::default();
    }
    if let Some(sitemap) = &page.facts.sitemap {
        return sitemap::found(node, lease, page, sitemap, next);
    }
    let base = page.facts.base_url(&lease.url.to_url());
    let depth = lease.entry.depth.saturating_add(1);
    let via: Arc<str> = Arc::from(lease.url.as_str());
    let origin = origin(lease);
    let live = node.live();
    let joiner = live.canon.joiner(base, Some(page.charset));
    let mut known = KeySet::default();
    known.insert(lease.core().url_key); // a link to itself is none
    let mut found: Vec<NewUrl> = next.into_iter().collect();
    known.extend(found.iter().map(|new| node.prints.url(&new.url)));
    for link in page.facts.links.iter().filter(|l| !l.nofollow) {
        let Ok(url) = joiner.join(&link.href) else { continue };
        if known.insert(node.prints.url(&url)) {
            let (via, origin) = (Some(via.clone()), Some(origin.clone()));
            let way = FoundAs::Link;
            found.push(NewUrl { url, depth, hops: 0, seed: false, via, origin, found: way, rank: None });
        }
    }
    if node.rules.settings.crawl.ascend {
        add_folders(node, &mut known, &mut found);
    }
    within_the_depth_of_its_seed(node, lease, admit(node, found))
}

/// What was said of the seed binds what is found behind it.
pub(super) fn within_the_depth_of_its_seed(node: &Node, lease: &Lease, mut links: LinkChange) -> LinkChange {
    if is_at_the_end(node, lease) {
        let beyond = links.new.drain(..).map(|new| Turned { new, reason: Rejection::TooDeep });
        links.turned.extend(beyond);
    }
    links
}

/// The folders above what was found on its own host, up to the top: pages that nobody links to are often listed there.
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

/// True when no link is followed from here, because of what was said of the seed.
fn is_at_the_end(node: &Node, lease: &Lease) -> bool {
    match node.seed_of(lease) {
        Ok(seed) => seed.and_then(|seed| seed.max_depth).is_some_and(|most| lease.entry.depth >= most),
        Err(e) => {
            // The page is committed only when the same database takes it.
            log::warn!("what was said of a seed cannot be read: url={} error={e}", lease.url);
            false
        }
    }
}

/// Where an answer leads at once: a new URL of the same depth, one hop further, through every check. A seed's joins the scope.
fn hop(node: &Node, lease: &Lease, to: &PageUrl) -> NewUrl {
    if lease.entry.seed {
        join_scope(node, to, &lease.url);
    }
    let via = Some(Arc::from(lease.url.as_str()));
    let (depth, hops, seed) = (lease.entry.depth, lease.entry.hops.saturating_add(1), lease.entry.seed);
    let found = lease.entry.found; // a sitemap may be moved
    NewUrl { url: to.clone(), depth, hops, seed, via, origin: Some(origin(lease)), found, rank: None }
}

/// The seed that what is found here goes back to.
pub(super) fn origin(lease: &Lease) -> Arc<str> {
    Arc::from(lease.entry.origin.as_deref().unwrap_or(lease.url.as_str()))
}

fn join_scope(node: &Node, target: &PageUrl, seed: &PageUrl) {
    let mut scope = node.scope.write().unwrap_or_else(std::sync::PoisonError::into_inner);
    if scope.join_host(target.host()) {
        log::info!("scope widened by a seed's redirect: host={} seed={seed}", target.host());
    }
}
