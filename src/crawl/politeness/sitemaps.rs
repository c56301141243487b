//! Sitemaps of a host, as its robots.txt tells: found like links, fetched like pages.

use std::sync::Arc;

use crate::crawl::lease::Lease;
use crate::crawl::node::Node;
use crate::domain::found_as::FoundAs;
use crate::domain::robots::RobotsRules;
use crate::domain::url::PageUrl;
use crate::storage::ledger::NewUrl;

/// Where sitemaps lie that nobody names, most often.
const WELL_KNOWN: [&str; 2] = ["/sitemap.xml", "/sitemap_index.xml"];

/// The sitemaps that a robots.txt names which was fetched for the sake of `lease`: as deep as it, and of the same seed. Where none
/// is named, the usual places, if the settings want that.
pub(super) fn announced(node: &Node, lease: &Lease, rules: &RobotsRules) -> Vec<NewUrl> {
    let settings = &node.crawl.rules.settings.sitemaps;
    if !settings.in_use {
        return Vec::new();
    }
    let url = &lease.url;
    let Ok(robots) = PageUrl::from_parts(url.scheme(), url.host(), url.port(), "/robots.txt") else {
        return Vec::new();
    };
    let named = rules.sitemaps().iter().map(String::as_str);
    let found = FoundAs::SitemapFile { nesting: 0 };
    let files = at(node, lease, &robots, named.take(settings.max_files), found);
    if !files.is_empty() || !settings.well_known {
        return files;
    }
    at(node, lease, &robots, WELL_KNOWN.into_iter(), FoundAs::WellKnown)
}

fn at<'t>(
    node: &Node,
    lease: &Lease,
    robots: &PageUrl,
    texts: impl Iterator<Item = &'t str>,
    found: FoundAs,
) -> Vec<NewUrl> {
    let (base, via) = (robots.to_url(), Arc::from(robots.as_str()));
    let entry = &lease.entry;
    let origin: Arc<str> = Arc::from(entry.origin.as_deref().unwrap_or(lease.url.as_str()));
    let new = |url| NewUrl {
        limit: entry.limit,
        via: Some(Arc::clone(&via)),
        origin: Some(Arc::clone(&origin)),
        found,
        ..NewUrl::link(url, entry.depth)
    };
    let join = |text: &str| match node.crawl.rules.canon.join(&base, text.trim(), None) {
        Ok(url) => Some(url),
        Err(why) => {
            node.telemetry.metrics.link_refused(why);
            log::debug!(
                "a sitemap's line in robots.txt is no URL that can be asked for: robots={robots} line={text:?} why={why}"
            );
            None
        }
    };
    texts.filter_map(join).map(new).collect()
}
