//! What a sitemap names, with what a crawl would do about it.

use super::page::{Judge, LinkReport};
use crate::domain::html::Page;
use crate::domain::reason::Rejection;
use crate::domain::sitemap::{Entry, Sitemap, Sites};
use crate::domain::url::PageUrl;

/// The entries of the sitemap at `url`. `expected`: its host's robots.txt names it.
pub(super) fn reports(judge: &Judge<'_>, url: &PageUrl, page: &Page, map: &Sitemap, expected: bool) -> Vec<LinkReport> {
    let (base, sites) = (url.to_url(), Sites::of(url, None, expected));
    let report = |entry: &Entry| {
        let at = judge.session.rules.canon.join(&base, &entry.loc, Some(page.charset));
        let verdict = match &at {
            Ok(at) if !sites.hold(at) => Rejection::SitemapForeign.to_string(),
            Ok(at) => judge.verdict(at, 1),
            Err(e) => e.rejection().to_string(),
        };
        LinkReport {
            url: at.ok().map(|at| at.to_string()),
            href: entry.loc.clone(),
            kind: entry.kind().as_str(),
            nofollow: false,
            text: entry.said(),
            verdict,
        }
    };
    map.entries.iter().map(report).collect()
}
