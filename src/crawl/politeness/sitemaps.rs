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
    let (base, via, origin) = (robots.to_url(), Arc::<str>::from(robots.as_str()), lease.origin());
    let at = |text: &str, found| match node.crawl.rules.canon.join(&base, text.trim(), None) {
        Ok(url) => {
            let (limit, via, origin) = (lease.entry.limit, Some(via.clone()), Some(origin.clone()));
            Some(NewUrl { limit, via, origin, found, ..NewUrl::link(url, lease.entry.depth) })
        }
        Err(why) => {
            node.telemetry.metrics.link_refused(why);
            log::debug!(
                "a sitemap's line in robots.txt is no URL that can be asked for: robots={robots} line={text:?} why={why}"
            );
            None
        }
    };
    let named = rules.sitemaps().iter().take(settings.max_files);
    let files: Vec<NewUrl> = named.filter_map(|text| at(text, FoundAs::SitemapFile { nesting: 0 })).collect();
    if !files.is_empty() || !settings.well_known {
        return files;
    }
    WELL_KNOWN.into_iter().filter_map(|text| at(text, FoundAs::WellKnown)).collect()
}
