//! Which sites a sitemap may speak for.

use crate::domain::found_as::FoundAs;
use crate::domain::host::without_www;
use crate::domain::url::PageUrl;

/// The sites that a sitemap may name pages of: its own, and the one whose robots.txt, page, redirect or index led to it; all,
/// where the operator has given it.
///
/// sitemaps.org ("Sitemap file location", "Sitemaps & Cross Submits") asks for one protocol, host and folder, unless
/// robots.txt of the pages' host names the sitemap. Here the host decides: with or without `www.`, whatever scheme and folder. The
/// rule is against strangers: what a seed lists is wanted as far as the scope goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sites {
    own: String,
    led: Option<String>,
    all: bool,
}

impl Sites {
    /// Of the sitemap at `file` that was found at `via`. `expected` is false for what turned out to be a sitemap though nobody
    /// had said so: then a link to it proves nothing.
    pub fn of(file: &PageUrl, via: Option<&str>, expected: bool) -> Self {
        let led = via.filter(|_| expected).and_then(|via| PageUrl::from_canonical(via).ok());
        Self { own: site(file).to_owned(), led: led.map(|via| site(&via).to_owned()), all: false }
    }

    /// The same of one that the operator has given, as a seed or through one.
    #[must_use]
    pub fn given(self, given: bool) -> Self {
        Self { all: given, ..self }
    }

    /// Whether the operator has given it.
    pub fn are_all(&self) -> bool {
        self.all
    }

    /// Whether it may name this URL.
    pub fn hold(&self, url: &PageUrl) -> bool {
        let site = site(url);
        self.all || site == self.own || self.led.as_deref() == Some(site)
    }

    /// True when another site led to the sitemap.
    pub fn are_two(&self) -> bool {
        self.led.as_deref().is_some_and(|led| led != self.own)
    }
}

fn site(url: &PageUrl) -> &str {
    without_www(url.host())
}

/// Whether a URL is expected to be a sitemap, and that was said by robots.txt, by a page, by nobody but the operator, or it lies on
/// the site that led to it: it is then fetched even when pages there are not wanted.
pub fn is_announced(file: &PageUrl, found: FoundAs, via: Option<&str>) -> bool {
    if !found.is_sitemap() || found == (FoundAs::SitemapFile { nesting: 0 }) {
        return found.is_sitemap();
    }
    let Some(via) = via.and_then(|via| PageUrl::from_canonical(via).ok()) else { return true };
    via.tail() == "/robots.txt" || site(&via) == site(file)
}

/// Whether a seed names the sitemap, or speaks for the index that does.
pub fn is_named_by_seed(found: FoundAs, via: Option<&str>, origin: Option<&str>) -> bool {
    found.is_sitemap() && via.is_some() && via == origin
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::cases::{check, given};

    fn url(text: &str) -> PageUrl {
        PageUrl::from_canonical(text).unwrap()
    }

    #[test]
    fn a_sitemap_speaks_for_its_host_and_for_the_one_whose_robots_txt_names_it() {
        check(include_str!("../../../tests/data/sitemap/sites.txt"), |[via, expected, page]| {
            let sites = Sites::of(&url("http://cdn.test/maps/s.xml"), given(via), expected == "expected");
            [if sites.hold(&url(page)) { "yes" } else { "no" }]
        });
    }

    #[test]
    fn a_sitemap_elsewhere_is_announced_by_robots_txt_and_pages_and_not_by_an_index() {
        let file = url("http://cdn.test/s.xml");
        let nested = |nesting| FoundAs::SitemapFile { nesting };
        for (found, via, announced) in [
            (nested(1), None, true),
            (nested(1), Some("http://a.test/robots.txt"), true),
            (nested(1), Some("http://cdn.test/index.xml"), true),
            (nested(1), Some("http://a.test/sitemap.xml"), false),
            (nested(0), Some("http://a.test/page"), true),
            (FoundAs::WellKnown, Some("http://a.test/page"), false),
            (FoundAs::Link, Some("http://cdn.test/"), false),
        ] {
            assert_eq!(is_announced(&file, found, via), announced, "{found:?} {via:?}");
        }
    }

    #[test]
    fn a_seed_names_the_sitemaps_of_its_index_and_those_of_its_page_and_no_pages() {
        let (seed, file) = (Some("http://a.test/"), FoundAs::SitemapFile { nesting: 1 });
        assert!(
            is_named_by_seed(file, seed, seed) && is_named_by_seed(FoundAs::SitemapFile { nesting: 0 }, seed, seed)
        );
        for (found, via, origin) in
            [(file, seed, None), (file, None, None), (FoundAs::Link, seed, seed), (FoundAs::SitemapEntry, seed, seed)]
        {
            assert!(!is_named_by_seed(found, via, origin), "{found:?} {via:?} {origin:?}");
        }
    }

    #[test]
    fn a_sitemap_that_the_operator_has_given_may_name_any_url() {
        let sites = Sites::of(&url("http://cdn.test/s.xml"), None, false);
        assert!(!sites.hold(&url("http://a.test/")) && sites.given(true).hold(&url("http://a.test/")));
    }
}
