//! What is done with the entries of a sitemap. Crawl and `lycosa fetch` choose by the same rules.

use std::cmp::Reverse;

use super::{DEFAULT_PRIORITY, Entry, Sites};
use crate::domain::found_as::FoundAs;
use crate::domain::rank::Order;
use crate::domain::reason::Rejection;
use crate::domain::url::PageUrl;

/// Which further sitemaps are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileRules {
    /// Any at all (`sitemaps.use`).
    pub in_use: bool,
    /// Of one index.
    pub max_files: usize,
    /// Indexes that may lead from one to the next.
    pub max_nesting: u8,
}

/// What is done with an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// It is judged on like a link.
    Take,
    /// It is turned away.
    TurnAway(Rejection),
    /// A sitemap where none, or no more, are wanted: as if it were not named.
    LeaveOut,
}

/// Chooses among the entries of one sitemap.
#[derive(Clone, Debug)]
pub struct Chooser {
    sites: Sites,
    /// As what the sitemap itself was found.
    map: FoundAs,
    rules: FileRules,
    files: usize,
}

impl Chooser {
    /// For a sitemap that may name URLs of these sites.
    pub fn new(sites: Sites, map: FoundAs, rules: FileRules) -> Self {
        Self { sites, map, rules, files: 0 }
    }

    /// The sites it may name URLs of.
    pub fn sites(&self) -> &Sites {
        &self.sites
    }

    /// As what an entry is found.
    pub fn found_as(&self, entry: &Entry) -> FoundAs {
        match entry.file {
            true => FoundAs::SitemapFile { nesting: self.map.nesting().saturating_add(1) },
            false => FoundAs::SitemapEntry,
        }
    }

    /// What is done with an entry and its URL; each URL is to be asked for once.
    pub fn choose(&mut self, entry: &Entry, url: &PageUrl) -> Choice {
        if entry.file && (!self.rules.in_use || self.files >= self.rules.max_files) {
            return Choice::LeaveOut;
        }
        self.files += usize::from(entry.file);
        if !self.sites.hold(url) {
            return Choice::TurnAway(Rejection::SitemapForeign);
        }
        let too_many = self.found_as(entry).nesting() > self.rules.max_nesting;
        if too_many { Choice::TurnAway(Rejection::SitemapNesting) } else { Choice::Take }
    }
}

/// The most urgent first, which is the most important one, then the one that was changed last; last where what is found last is taken
/// first. What is as urgent stays in the order of the file.
pub fn by_urgency(entries: &[Entry], order: Order) -> Vec<&Entry> {
    let mut sorted: Vec<&Entry> = entries.iter().collect();
    sorted.sort_by_key(|entry| Reverse((entry.priority.unwrap_or(DEFAULT_PRIORITY), entry.lastmod)));
    if matches!(order, Order::Depth | Order::Mixed) {
        sorted.reverse();
    }
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_taken_turned_away_or_left_out() {
        let url = |text: &str| PageUrl::from_canonical(text).unwrap();
        let map = FoundAs::SitemapFile { nesting: 1 };
        let rules = |max_nesting| FileRules { in_use: true, max_files: 1, max_nesting };
        let sites = Sites::of(&url("http://a.test/s.xml"), None, true);
        let (page, file) = (Entry::page("x".into()), Entry { file: true, ..Entry::page("m".into()) });
        let mut chooser = Chooser::new(sites.clone(), map, rules(2));
        assert_eq!(chooser.choose(&page, &url("http://a.test/x")), Choice::Take);
        assert_eq!(chooser.choose(&page, &url("http://b.test/x")), Choice::TurnAway(Rejection::SitemapForeign));
        assert_eq!(chooser.choose(&file, &url("http://a.test/m")), Choice::Take);
        assert_eq!(chooser.choose(&file, &url("http://a.test/n")), Choice::LeaveOut);
        let mut nested = Chooser::new(sites, map, rules(1));
        let turned = Choice::TurnAway(Rejection::SitemapNesting);
        assert_eq!(nested.choose(&file, &url("http://a.test/m")), turned);
        assert_eq!(nested.choose(&page, &url("http://a.test/x")), Choice::Take);
    }
}
