//! As what a URL was found: the way that led to it says what is expected there.

/// Indexes that may lead from one to the next, at most (`sitemaps.max_nesting`): it has four bits on disk.
pub const DEEPEST_NESTING: u8 = 15;

const LINK: u8 = 0;
const SITEMAP_ENTRY: u8 = 1;
const WELL_KNOWN: u8 = 2;
const SITEMAP_FILE: u8 = 16;

/// As what a URL was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FoundAs {
    /// As a link, a redirect's target, or a seed.
    #[default]
    Link,
    /// As a page that a sitemap names.
    SitemapEntry,
    /// As the place where a sitemap might be: nobody has said so.
    WellKnown,
    /// As a sitemap that robots.txt, a page (`rel="sitemap"`) or an index names.
    SitemapFile {
        /// Indexes on the way: 0 for one that robots.txt or a page names. At most [`DEEPEST_NESTING`].
        nesting: u8,
    },
}

impl FoundAs {
    /// The number it has on disk, below 32.
    pub fn code(self) -> u8 {
        match self {
            Self::Link => LINK,
            Self::SitemapEntry => SITEMAP_ENTRY,
            Self::WellKnown => WELL_KNOWN,
            Self::SitemapFile { nesting } => SITEMAP_FILE + nesting.min(DEEPEST_NESTING),
        }
    }

    /// The one with this number, if there is one.
    pub fn from_code(code: u8) -> Option<Self> {
        match code {
            LINK => Some(Self::Link),
            SITEMAP_ENTRY => Some(Self::SitemapEntry),
            WELL_KNOWN => Some(Self::WellKnown),
            SITEMAP_FILE.. => {
                let nesting = code - SITEMAP_FILE;
                (nesting <= DEEPEST_NESTING).then_some(Self::SitemapFile { nesting })
            }
            _ => None,
        }
    }

    /// True when a sitemap is expected there.
    pub fn is_sitemap(self) -> bool {
        matches!(self, Self::WellKnown | Self::SitemapFile { .. })
    }

    /// Indexes on the way to it.
    pub fn nesting(self) -> u8 {
        match self {
            Self::SitemapFile { nesting } => nesting,
            Self::Link | Self::SitemapEntry | Self::WellKnown => 0,
        }
    }

    /// How many hops of a sitemap end the way to it.
    pub fn sitemap_hops(self) -> usize {
        match self {
            Self::Link => 0,
            Self::SitemapEntry | Self::WellKnown => 1,
            Self::SitemapFile { nesting } => usize::from(nesting) + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_comes_back_from_its_number_and_no_other_number_has_one() {
        let mut known = 0;
        for code in 0..=u8::MAX {
            let Some(way) = FoundAs::from_code(code) else { continue };
            assert_eq!(way.code(), code);
            assert!(code < 32, "five bits on disk");
            known += 1;
        }
        assert_eq!(known, 3 + 16);
        assert_eq!(FoundAs::SitemapFile { nesting: 200 }.nesting(), 200);
        assert_eq!(FoundAs::SitemapFile { nesting: 200 }.code(), 31);
    }
}
