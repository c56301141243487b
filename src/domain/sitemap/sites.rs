//! Which sites a sitemap may speak for.

use crate::domain::host::without_www;
use crate::domain::url::PageUrl;

/// The sites that a sitemap may name pages of: its own, and the one whose robots.txt, redirect or index led to it.
///
/// sitemaps.org ("Sitemap file location", "Sitemaps & Cross Submits") asks for one protocol, host and folder, unless
/// robots.txt of the pages' host names the sitemap. Here the host decides: with or without `www.`, whatever scheme and folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sites {
    own: String,
    led: Option<String>,
}

impl Sites {
    /// Of the sitemap at `file` that was found at `via`. `expected` is false for what turned out to be a sitemap though nobody
    /// had said so: then a link to it proves nothing.
    #[must_use]
    pub fn of(file: &PageUrl, via: Option<&str>, expected: bool) -> Self {
        let led = via.filter(|_| expected).and_then(|via| PageUrl::from_canonical(via).ok());
        Self { own: site(file).to_owned(), led: led.map(|via| site(&via).to_owned()) }
    }

    /// Whether it may name this URL.
    #[must_use]
    pub fn hold(&self, url: &PageUrl) -> bool {
        let site = site(url);
        site == self.own || self.led.as_deref() == Some(site)
    }

    /// True when another site led to the sitemap.
    #[must_use]
    pub fn are_two(&self) -> bool {
        self.led.as_deref().is_some_and(|led| led != self.own)
    }
}

fn site(url: &PageUrl) -> &str {
    without_www(url.host())
}

/// Whether a URL that is expected to be a sitemap was named by robots.txt, or lies on the site that led to it: it is then
/// fetched even when pages there are not wanted.
#[must_use]
pub fn is_announced(file: &PageUrl, via: Option<&str>) -> bool {
    let Some(via) = via.and_then(|via| PageUrl::from_canonical(via).ok()) else { return true };
    via.tail() == "/robots.txt" || site(&via) == site(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> PageUrl {
        PageUrl::from_canonical(text).unwrap()
    }

    #[test]
    fn a_sitemap_speaks_for_its_host_and_for_the_one_whose_robots_txt_names_it() {
        let robots = "http://a.test/robots.txt";
        for (via, expected, page, holds) in [
            (None, true, "http://cdn.test/x", true),
            (None, true, "https://www.cdn.test/deep/x", true),
            (None, true, "http://a.test/", false),
            (Some(robots), true, "http://a.test/", true),
            (Some(robots), true, "http://b.test/", false),
            (Some("http://b.test/page"), false, "http://b.test/", false),
        ] {
            let sites = Sites::of(&url("http://cdn.test/maps/s.xml"), via, expected);
            assert_eq!(sites.hold(&url(page)), holds, "{via:?} {page}");
        }
    }

    #[test]
    fn a_sitemap_elsewhere_is_announced_by_robots_txt_only() {
        let file = url("http://cdn.test/s.xml");
        for (via, announced) in [
            (None, true),
            (Some("http://a.test/robots.txt"), true),
            (Some("http://cdn.test/index.xml"), true),
            (Some("http://a.test/sitemap.xml"), false),
        ] {
            assert_eq!(is_announced(&file, via), announced, "{via:?}");
        }
    }
}
