//! The links of an answer in the order in which a crawl looks at them: those of the markup, then those of the header `Link`.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use super::HeaderDirectives;
use crate::content::html::{LinkKind, Page};
use crate::domain::url::{Canonicaliser, PageUrl, UrlError};

/// One link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundLink<'p> {
    /// Where it leads, in canonical form.
    pub url: Result<PageUrl, UrlError>,
    /// The same as written.
    pub href: &'p str,
    /// Where it stands.
    pub kind: LinkKind,
    /// It stands in the header `Link`, not in the markup.
    pub in_header: bool,
    /// It says of itself that it is not to be followed.
    pub nofollow: bool,
    /// Its text.
    pub text: &'p str,
}

/// All links of the answer to `at`, repeats included; of a sitemap there are none, it has entries.
pub fn leads<'c, 'p: 'c>(
    canon: &'c Canonicaliser,
    at: &PageUrl,
    page: Option<&'p Page>,
    head: &'p HeaderDirectives,
) -> impl Iterator<Item = FoundLink<'p>> + 'c {
    let at = at.to_url();
    let of_page = page.into_iter().flat_map({
        let at = at.clone();
        move |page| {
            let hrefs = page.facts.links.iter().map(|link| link.href.as_str());
            let joiner = canon.joiner_of(hrefs, page.facts.base_url(&at), Some(page.charset));
            page.facts.links.iter().map(move |link| FoundLink {
                url: joiner.join(&link.href),
                href: &link.href,
                kind: link.kind,
                in_header: false,
                nofollow: link.nofollow,
                text: &link.text,
            })
        }
    });
    let links = head.links.iter().filter_map(|link| Some((link.target.as_str(), link.followed_as()?)));
    let refresh = head.refresh.iter().map(|href| (href.as_str(), LinkKind::MetaRefresh));
    let of_head = links.chain(refresh).map(move |(href, kind)| FoundLink {
        url: canon.join(&at, href, None),
        href,
        kind,
        in_header: true,
        nofollow: false,
        text: "",
    });
    of_page.chain(of_head)
}

/// Leaves out links of the page at `at` that lead to more than `max` URLs, and says so. Only of a page that has more links than that anything
/// is resolved.
pub fn bound(page: &mut Page, canon: &Canonicaliser, at: &PageUrl, max: usize) {
    let before = page.facts.links.len();
    if before <= max {
        return;
    }
    let joiner = canon.joiner(page.facts.base_url(&at.to_url()), Some(page.charset));
    let (mut known, hasher) = (HashSet::new(), RandomState::new());
    page.facts.links.retain(|link| match joiner.join(&link.href).map(|url| hasher.hash_one(&url)) {
        Ok(url) => known.contains(&url) || known.len() < max && known.insert(url),
        Err(_) => true,
    });
    page.facts.links_cut |= page.facts.links.len() < before;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::html::page_of;

    #[test]
    fn links_of_the_markup_come_before_those_of_the_head_and_only_the_markup_has_a_base() {
        let page = page_of("<base href=/b/><a rel=nofollow href=x>X</a><a href=ftp://a/>m</a>");
        let link = b"<n>; rel=next, <x>; rel=author, <c>; rel=canonical, <s>; rel=sitemap".to_vec();
        let refresh = b"60; url=r".to_vec();
        let head = HeaderDirectives::of(&[("Link".to_owned(), link), ("Refresh".to_owned(), refresh)], &[]);
        let canon = Canonicaliser::default();
        let at = canon.parse("http://h.test/dir/page").unwrap();
        let found: Vec<_> = leads(&canon, &at, Some(&page), &head).collect();
        let urls: Vec<_> = found.iter().map(|lead| lead.url.as_ref().map(PageUrl::as_str).ok()).collect();
        let (n, c) = (Some("http://h.test/dir/n"), Some("http://h.test/dir/c"));
        let s = Some("http://h.test/dir/s");
        assert_eq!(urls, [Some("http://h.test/b/x"), None, n, c, s, Some("http://h.test/dir/r")]);
        assert_eq!(found[4].kind, LinkKind::SitemapFile);
        let marks: Vec<_> = found.iter().map(|lead| (lead.nofollow, lead.in_header, lead.text)).collect();
        assert_eq!(marks[..2], [(true, false, "X"), (false, false, "m")]);
        assert_eq!(marks[2..], [(false, true, ""); 4]);
    }
}
