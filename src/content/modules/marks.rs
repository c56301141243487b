//! What an answer says about itself, in its head and in its page: directives, the canonical URL, links of the head, notes.
//! Crawl and `lycosa fetch` ask the same functions.

use url::Url;

use crate::content::html::{Directives, Page, parse_refresh};
use crate::content::link_header::{self, HeaderLink};
use crate::content::mime::is_nosniff;
use crate::domain::note::Note;
use crate::domain::text::url_text;
use crate::domain::url::{join_any, without_stand_in};
use crate::domain::usage::Statements;

/// A refresh of a page without content within so many seconds is meant as a redirect; any other is a link.
pub const AT_ONCE: u32 = 10;
/// Characters of a canonical URL that are recorded; a longer one is none.
const LONGEST_CANONICAL: usize = 2_000;

/// What the head says.
#[derive(Clone, Debug, Default)]
pub struct HeaderDirectives {
    /// `X-Robots-Tag`, for this crawler.
    pub robots: Directives,
    /// `Link`.
    pub links: Vec<HeaderLink>,
    /// `X-Content-Type-Options: nosniff`.
    pub nosniff: bool,
    /// It sets cookies.
    pub sets_cookies: bool,
    /// Where the header `Refresh` leads: a link, unless it is a redirect.
    pub refresh: Option<String>,
}

impl HeaderDirectives {
    /// Of an answer's header lines; `tokens` are the names this crawler goes by.
    pub fn of(headers: &[(String, Vec<u8>)], tokens: &[String]) -> Self {
        let all = |name: &'static str| -> Vec<String> {
            let named = headers.iter().filter(move |(n, _)| n.eq_ignore_ascii_case(name));
            named.map(|(_, v)| url_text(v).into_owned()).collect()
        };
        let (robots, links, refresh) = (all("x-robots-tag"), all("link"), all("refresh"));
        let refresh = refresh.first().and_then(|value| parse_refresh(value)).map(|(_, href)| href);
        Self {
            robots: Directives::from_header(robots.iter().map(String::as_str), tokens),
            links: link_header::links(links.iter().map(String::as_str)),
            refresh: refresh.filter(|href| !href.is_empty()).map(str::to_owned),
            sets_cookies: headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("set-cookie")),
            nosniff: all("x-content-type-options").first().is_some_and(|value| is_nosniff(value)),
        }
    }

    /// What head and page forbid together.
    pub fn directives(&self, page: Option<&Page>) -> Directives {
        page.map_or(self.robots, |page| self.robots.and(page.facts.robots))
    }

    /// The page's canonical URL, absolute: that of its markup, else that of the head.
    pub fn canonical(&self, page: Option<&Page>, url: &Url) -> Option<String> {
        let of_page = page.and_then(|page| page.facts.canonical.clone());
        let of_head = || {
            let target = join_any(url, link_header::canonical(&self.links)?)?;
            matches!(target.scheme(), "http" | "https").then(|| without_stand_in(target.as_str()).into_owned())
        };
        of_page.or_else(of_head).filter(|canonical| canonical.len() <= LONGEST_CANONICAL)
    }

    /// What is to be noted of it.
    pub fn notes(&self, page: Option<&Page>) -> Vec<Note> {
        let directives = self.directives(page);
        let of_page = |what: fn(&Page) -> bool| page.is_some_and(what);
        [
            (directives.noindex, Note::NoIndex),
            (directives.nofollow, Note::NoFollow),
            (directives.noarchive, Note::NoArchive),
            (of_page(|page| page.facts.needs_script), Note::NeedsScript),
            (of_page(|page| page.facts.links_cut), Note::LinksCut),
            (of_page(|page| page.cut), Note::ParseCut),
            (of_page(|page| page.extract_skipped), Note::ExtractSkipped),
        ]
        .into_iter()
        .filter_map(|(holds, note)| holds.then_some(note))
        .collect()
    }
}

/// What is said of the use of the content: by robots.txt, as found for the URL, and by the head.
pub fn usage(of_robots: Option<&str>, headers: &[(String, Vec<u8>)]) -> Option<String> {
    let mut all = Statements::from(of_robots);
    all.add_headers(headers.iter().map(|(name, value)| (name.as_str(), value.as_slice())));
    all.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::html::page_of;

    fn head(lines: &[(&str, &str)]) -> HeaderDirectives {
        let lines: Vec<_> = lines.iter().map(|(n, v)| ((*n).to_owned(), v.as_bytes().to_vec())).collect();
        HeaderDirectives::of(&lines, &["lycosa".to_owned()])
    }

    #[test]
    fn head_and_page_add_up() {
        let head = head(&[
            ("X-Robots-Tag", "noindex"),
            ("x-robots-tag", "otherbot: nofollow"),
            ("Link", "<c>; rel=canonical"),
        ]);
        let url = Url::parse("http://h.test/dir/page").unwrap();
        let plain = page_of("<p>text");
        assert_eq!(head.notes(Some(&plain)), [Note::NoIndex]);
        assert_eq!(head.notes(None), [Note::NoIndex]);
        assert_eq!(head.canonical(Some(&plain), &url).as_deref(), Some("http://h.test/dir/c"));
        let own =
            page_of("<meta name=robots content='nofollow,noarchive'><link rel=canonical href=/own><script></script>");
        let notes = [Note::NoIndex, Note::NoFollow, Note::NoArchive, Note::NeedsScript];
        assert_eq!(head.notes(Some(&own)), notes);
        assert_eq!(head.canonical(Some(&own), &url).as_deref(), Some("http://h.test/own"));
    }

    #[test]
    fn a_canonical_that_is_no_page_or_too_long_is_none() {
        let url = Url::parse("http://h.test/").unwrap();
        for target in ["mailto:a@b", "http://", &"x".repeat(3_000)] {
            let head = head(&[("Link", &format!("<{target}>; rel=canonical"))]);
            assert_eq!(head.canonical(None, &url), None, "{target}");
        }
    }

    #[test]
    fn what_was_read_only_in_part_is_noted() {
        let cut = Page { cut: true, ..page_of("<a href=x>x</a>") };
        assert_eq!(head(&[]).notes(Some(&cut)), [Note::ParseCut]);
        assert!(head(&[("x-content-type-options", "NOSNIFF")]).nosniff);
    }

    #[test]
    fn usage_is_that_of_robots_txt_and_of_the_head() {
        let lines = [("content-usage".to_owned(), b"train-ai=n".to_vec())];
        let both = usage(Some("robots.txt: Content-Signal: ai-train=no"), &lines);
        assert_eq!(
            both.as_deref(),
            Some("robots.txt: Content-Signal: ai-train=no | header: Content-Usage: train-ai=n")
        );
        assert_eq!(usage(None, &[]), None);
    }
}
