//! What a page says about itself and where it points.

use serde::{Deserialize, Serialize};
use url::Url;

use super::blocks::ForCard;
use super::directives::Directives;
use crate::base::kinds::names;
use crate::content::sitemap::Sitemap;
use crate::domain::textprint::Shown;
use crate::domain::url::parse_any;

/// Everything the crawler takes from one HTML page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageFacts {
    /// Text of the first `<title>` that is not blank, white space folded.
    pub title: Option<String>,
    /// The first `<meta name=description>` that is not blank.
    pub description: Option<String>,
    /// `<meta name=keywords>`, split on commas (`,` `，` `、` `;` `；`), in order, without repeats.
    pub keywords: Vec<String>,
    /// What `<meta name=robots>` and the agent's own meta names forbid.
    pub robots: Directives,
    /// The first `<link rel=canonical>`, absolute; only http and https.
    pub canonical: Option<String>,
    /// The first `<meta http-equiv=refresh>` that has a URL.
    pub refresh: Option<Refresh>,
    /// The first `<base href>`, absolute.
    pub base: Option<String>,
    /// Links in document order, as written; repeats included, but of a page that has very many.
    pub links: Vec<Link>,
    /// Visible text, white space folded to single spaces.
    pub text: String,
    /// What it shows, to tell whether it brings anything new.
    pub shown: Shown,
    /// What it names when it is a sitemap; such a document has no other links.
    pub sitemap: Option<Sitemap>,
    /// There were more references than `ExtractOptions::max_links` allows, or entries of a sitemap than `SitemapLimits::max_urls`.
    pub links_cut: bool,
    /// There was more text than `ExtractOptions::max_text`.
    pub text_cut: bool,
    /// It shows nothing, and leads nowhere, without its scripts.
    pub needs_script: bool,
    /// Characters that can be seen, white space, titles and what stands in `<noscript>` left out; counted to [`HAS_TEXT`].
    pub visible: u32,
    /// It shows pictures, objects, sound or film.
    pub pictures: bool,
    /// What its card is made of beside these, where `ExtractOptions::card` asks for it.
    pub for_card: Option<Box<ForCard>>,
}

/// From so many visible characters on a page has text of its own. What is shown instead of a page that has moved is shorter.
pub const HAS_TEXT: u32 = 200;

impl PageFacts {
    /// The URL that relative links resolve against: the page's `<base>`, else the page itself.
    pub fn base_url(&self, page: &Url) -> Url {
        self.base.as_deref().and_then(parse_any).unwrap_or_else(|| page.clone())
    }
}

/// Where a page asks to be left for, and after how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refresh {
    /// So long the page wants to be seen.
    pub seconds: u32,
    /// The reference as written; not resolved.
    pub href: String,
}

/// One link as it stands in the page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The reference after entity decoding, outer white space removed; not resolved.
    pub href: String,
    /// Where it stood.
    pub kind: LinkKind,
    /// `rel` says `nofollow`, `ugc` or `sponsored`.
    pub nofollow: bool,
    /// Anchor text (or `alt`, in an anchor of the images in it, or `title`), white space folded, at most 200 characters.
    pub text: String,
}

names! {
    /// The kind of element a link came from.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    LinkKind {
        /// `<a href>`, SVG's too.
        A = "a";
        /// `<area href>`.
        Area = "area";
        /// `<frame src>`.
        Frame = "frame";
        /// `<iframe src>`.
        Iframe = "iframe";
        /// `<meta http-equiv=refresh>` with a URL.
        MetaRefresh = "meta-refresh";
        /// `<link href>` to another page: next, prev, alternate, canonical, index and the like.
        #[serde(rename = "link")]
        LinkRel = "link";
        /// Something the page is made of: image, script, style sheet, media.
        Asset = "asset";
        /// What a feed leads to.
        Feed = "feed";
        /// A page that a sitemap names.
        SitemapEntry = "sitemap-entry";
        /// A sitemap that an index names.
        SitemapFile = "sitemap-file";
    }
}

impl LinkKind {
    /// It leads a reader to another page, and counts as a link of its page.
    pub fn leads(self) -> bool {
        matches!(self, Self::A | Self::Area | Self::Frame | Self::Iframe)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_written_in_json_as_it_is_shown_to_people() {
        for kind in LinkKind::ALL {
            assert_eq!(serde_json::to_string(kind).unwrap(), format!("\"{kind}\""));
        }
    }

    #[test]
    fn links_resolve_against_the_base_and_else_against_the_page() {
        let page = Url::parse("http://h/a/b").unwrap();
        assert_eq!(PageFacts::default().base_url(&page), page);
        let facts = PageFacts { base: Some("http://x/y/".into()), ..PageFacts::default() };
        assert_eq!(facts.base_url(&page).as_str(), "http://x/y/");
    }
}
