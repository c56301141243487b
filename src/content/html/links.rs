//! Which attributes of which elements are links.

use std::borrow::Cow;

use super::element::Element;
use super::facts::LinkKind;
use super::srcset;
use super::tag::Tag;

/// A longer reference is dropped: no URL of use is that long.
pub(super) const LONGEST_HREF: usize = 8 * 1024;

/// Values of `rel` that lead from a `<link>` to another page.
#[rustfmt::skip]
const REL_PAGES: [&str; 14] = [
    "next", "prev", "previous", "alternate", "canonical", "index", "contents", "up", "first", "last", "help", "start",
    "chapter", "section", // HTML 4
];
#[rustfmt::skip]
const REL_ASSETS: [&str; 9] = [
    "stylesheet", "icon", "apple-touch-icon", "apple-touch-icon-precomposed", "mask-icon", "manifest", "preload",
    "modulepreload", "prefetch",
];
pub(super) const REL_NOFOLLOW: [&str; 3] = ["nofollow", "ugc", "sponsored"];

/// Schemes that never lead to a page.
#[rustfmt::skip]
const DEAD_SCHEMES: [&str; 12] = [
    "javascript", "data", "mailto", "tel", "sms", "about", "blob", "vbscript", "callto", "whatsapp", "skype", "intent",
];

/// The values of a `rel`, which may also be separated by commas in the wild.
pub(super) struct Rel<'a>(Cow<'a, str>);

impl<'a> Rel<'a> {
    pub(super) fn of(tag: &Tag<'a>) -> Self {
        Self(tag.attr("rel").unwrap_or_default())
    }

    pub(super) fn any(&self, of: &[&str]) -> bool {
        let separator = |c: char| c.is_ascii_whitespace() || c == ',';
        self.0.split(separator).any(|word| of.iter().any(|w| w.eq_ignore_ascii_case(word)))
    }

    /// What a `<link>` with it is; an alternate style sheet is a style sheet. `sitemap` is no registered relation, and what many
    /// generators of sites write.
    pub(super) fn kind(&self) -> Option<LinkKind> {
        if self.any(&["sitemap"]) {
            Some(LinkKind::SitemapFile)
        } else if self.any(&REL_ASSETS) {
            Some(LinkKind::Asset)
        } else if self.any(&REL_PAGES) {
            Some(LinkKind::LinkRel)
        } else {
            None
        }
    }
}

/// What a link with this `rel` is, in an element or in a header; none leads nowhere.
pub fn kind_of_rel(rel: &str) -> Option<LinkKind> {
    Rel(Cow::Borrowed(rel)).kind()
}

/// The attributes of this element can hold a link, or facts, when assets are asked for or not.
pub(super) fn has_facts(element: Element, assets: bool) -> bool {
    use Element::*;
    match element {
        A | Area | Base | Frame | Iframe | Link | Meta | Template => true,
        Audio | Body | Embed | Image | Img | Input | Object | Script | Source | Track | Use | Video => assets,
        _ => false,
    }
}

/// Elements that show something that is no text.
pub(super) fn is_picture(element: Element) -> bool {
    use Element::*;
    matches!(element, Audio | Embed | Image | Img | Object | Video)
}

/// Hands every link of `tag` but `<meta>`'s to `add`: kind and reference, decoded, not yet looked at.
pub(super) fn of_tag<'a>(tag: &Tag<'a>, rel: &Rel<'_>, assets: bool, mut add: impl FnMut(LinkKind, &str)) {
    use Element::*;
    let mut one = |kind, value: Option<Cow<'a, str>>| {
        if let Some(value) = value {
            add(kind, &value);
        }
    };
    match tag.element {
        A if tag.foreign => one(LinkKind::A, tag.attr("href").or_else(|| tag.attr("xlink:href"))),
        A => one(LinkKind::A, tag.attr("href")),
        Area => one(LinkKind::Area, tag.attr("href")),
        Frame => one(LinkKind::Frame, tag.attr("src")),
        Iframe => one(LinkKind::Iframe, tag.attr("src")),
        Link => match rel.kind() {
            Some(LinkKind::Asset) if !assets => {}
            Some(kind) => {
                one(kind, tag.attr("href"));
                if let Some(set) = tag.attr("imagesrcset").filter(|_| kind == LinkKind::Asset) {
                    srcset::urls(&set).for_each(|url| add(LinkKind::Asset, url));
                }
            }
            None => {}
        },
        _ if !assets => {}
        Image | Use if tag.foreign => one(LinkKind::Asset, tag.attr("href").or_else(|| tag.attr("xlink:href"))),
        Input if tag.attr("type").is_some_and(|t| t.eq_ignore_ascii_case("image")) => {
            one(LinkKind::Asset, tag.attr("src"));
        }
        Object => one(LinkKind::Asset, tag.attr("data")),
        Body => one(LinkKind::Asset, tag.attr("background")),
        Audio | Embed | Image | Img | Script | Source | Track | Video => {
            one(LinkKind::Asset, tag.attr("src"));
            one(LinkKind::Asset, tag.attr("poster").filter(|_| tag.element == Video));
            if matches!(tag.element, Img | Image | Source)
                && let Some(set) = tag.attr("srcset")
            {
                srcset::urls(&set).for_each(|url| add(LinkKind::Asset, url));
            }
        }
        _ => {}
    }
}

/// The reference without outer white space, if it can lead anywhere: not empty, not within the page, not of a scheme that is
/// no page's.
pub(super) fn usable(href: &str) -> Option<&str> {
    let href = href.trim_matches(|c: char| c <= ' ');
    let dead = href.is_empty() || href.starts_with('#') || href.len() > LONGEST_HREF || has_dead_scheme(href);
    (!dead).then_some(href)
}

/// Tabs and line ends within a scheme are skipped, as URL parsers do.
fn has_dead_scheme(href: &str) -> bool {
    let mut scheme = [0; 16];
    let mut length = 0;
    for b in href.bytes() {
        match b {
            b'\t' | b'\n' | b'\r' => {}
            b':' => break,
            _ if b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.') => {
                let Some(slot) = scheme.get_mut(length) else { return false };
                *slot = b;
                length += 1;
            }
            _ => return false,
        }
    }
    let scheme = scheme.get(..length).unwrap_or_default();
    href.contains(':') && DEAD_SCHEMES.iter().any(|d| d.as_bytes().eq_ignore_ascii_case(scheme))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::cases::{check, unescape};

    #[test]
    fn references_that_lead_nowhere_are_dropped() {
        check(include_str!("../../../tests/data/html/hrefs.txt"), |[href]| {
            [usable(&unescape(href)).unwrap_or("-").to_owned()]
        });
        assert_eq!(usable(""), None);
        assert_eq!(usable(&"a".repeat(LONGEST_HREF + 1)), None);
    }
}
