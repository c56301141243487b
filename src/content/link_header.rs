//! The header `Link` (RFC 8288, appendix B.2): where it points and how. Read as browsers read it: what is malformed ends its
//! link, not the header.

use crate::content::html::{LinkKind, kind_of_rel};

/// Links of one answer that are taken.
const MOST: usize = 100;
/// A longer target is dropped: no URL of use is that long.
const LONGEST_TARGET: usize = 8 * 1024;

/// One link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderLink {
    /// The target as written, not resolved; relative to the URL of the answer.
    pub target: String,
    /// The values of `rel`, separated by white space.
    pub rel: String,
}

impl HeaderLink {
    /// Whether its `rel` has this word.
    pub fn is(&self, relation: &str) -> bool {
        self.rel.split_ascii_whitespace().any(|word| word.eq_ignore_ascii_case(relation))
    }

    /// As what it is followed, as `<link>` of the same `rel` is: as a page or a sitemap; an alternate style sheet is neither.
    pub fn followed_as(&self) -> Option<LinkKind> {
        kind_of_rel(&self.rel).filter(|kind| matches!(kind, LinkKind::LinkRel | LinkKind::SitemapFile))
    }
}

/// The links in the values of every `Link` header. One with `anchor` speaks of another page than this and is left out.
pub fn links<'v>(values: impl IntoIterator<Item = &'v str>) -> Vec<HeaderLink> {
    values.into_iter().flat_map(|value| Scan { rest: value }).take(MOST).collect()
}

/// The first target of relation `canonical`.
pub fn canonical(links: &[HeaderLink]) -> Option<&str> {
    links.iter().find(|link| link.is("canonical")).map(|link| link.target.as_str())
}

struct Scan<'a> {
    rest: &'a str,
}

impl Iterator for Scan<'_> {
    type Item = HeaderLink;

    fn next(&mut self) -> Option<HeaderLink> {
        loop {
            let (_, after) = self.rest.split_once('<')?;
            let (target, after) = after.split_once('>')?;
            self.rest = after;
            if let Some(link) = self.parameters(target.trim()) {
                return Some(link);
            }
        }
    }
}

impl<'a> Scan<'a> {
    /// Goes through the parameters of one link, to the comma that ends it.
    fn parameters(&mut self, target: &str) -> Option<HeaderLink> {
        let (mut rel, mut anchored) = (None, false);
        loop {
            self.rest = self.rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ';');
            if self.rest.is_empty() || self.rest.starts_with(',') {
                break;
            }
            let name = self.until(|c| matches!(c, '=' | ';' | ',')).trim();
            let value = match self.rest.strip_prefix('=') {
                Some(after) => {
                    self.rest = after.trim_start();
                    self.value()
                }
                None => String::new(),
            };
            if name.eq_ignore_ascii_case("rel") {
                rel = rel.or(Some(value)); // only the first counts (section 3.3)
            } else {
                anchored |= name.eq_ignore_ascii_case("anchor");
            }
        }
        let usable = !anchored && !target.is_empty() && target.len() <= LONGEST_TARGET;
        rel.filter(|_| usable).map(|rel| HeaderLink { target: target.to_owned(), rel })
    }

    fn until(&mut self, stop: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(stop).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at_checked(end).unwrap_or_default();
        self.rest = rest;
        taken
    }

    /// A token or a quoted string; one that never ends takes all.
    fn value(&mut self) -> String {
        let Some(quoted) = self.rest.strip_prefix('"') else {
            return self.until(|c| matches!(c, ';' | ',')).trim().to_owned();
        };
        let (mut value, mut escaped) = (String::new(), false);
        for (at, c) in quoted.char_indices() {
            match c {
                _ if escaped => {
                    value.push(c);
                    escaped = false;
                }
                '\\' => escaped = true,
                '"' => {
                    self.rest = quoted.get(at + 1..).unwrap_or_default();
                    return value;
                }
                _ => value.push(c),
            }
        }
        self.rest = "";
        value
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::cases::check;

    #[test]
    fn links_are_those_of_the_table() {
        check(include_str!("../../tests/data/link_header.txt"), |[value]| {
            let found = links(value.split(" ++ "));
            let all: Vec<_> = found.iter().map(|link| format!("{} ({})", link.target, link.rel)).collect();
            [if all.is_empty() { "-".into() } else { all.join(" ") }]
        });
    }

    #[test]
    fn pages_before_and_after_and_others_of_the_same_content_are_followed() {
        check(include_str!("../../tests/data/link_header_rel.txt"), |[rel]| {
            let link = HeaderLink { target: "/".into(), rel: rel.into() };
            [link.followed_as().map_or("-", LinkKind::as_str)]
        });
    }

    #[test]
    fn links_and_targets_are_bounded() {
        let many = "<a>;rel=next,".repeat(1_000);
        assert_eq!(links([many.as_str(), "<b>;rel=next"]).len(), MOST);
        let long = format!("<{}>;rel=next, <c>; rel=canonical", "x".repeat(LONGEST_TARGET + 1));
        assert_eq!(canonical(&links([long.as_str()])), Some("c"));
    }

    proptest! {
        #[test]
        fn any_text_is_a_header(value in "[<>;,=\" a\\\\relé]{0,60}") {
            for link in links([value.as_str()]) {
                prop_assert!(value.contains(&link.target));
            }
        }
    }
}
