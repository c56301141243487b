//! Where an answer leads at once: `Location`, the header `Refresh`, `<meta http-equiv=refresh>`. Crawl and `lycosa fetch` ask the
//! same function.
//!
//! A refresh is a redirect only where the page has nothing of its own to be looked at: browsers show a page until they leave it,
//! so one with content is a page with a link. Where it leads is asked for as it is written there.

use crate::base::kinds::names;
use crate::content::html::{HAS_TEXT, LinkKind, Page, parse_refresh};
use crate::content::modules::AT_ONCE;
use crate::domain::note::Note;
use crate::domain::outcome::Verdict;
use crate::domain::url::{Canonicaliser, PageUrl, UrlError};
use crate::net::protocol::Fetched;

/// Who leaves a page within so many seconds has not looked at its pictures: they are there for the waiting.
const NO_LOOK: u32 = 1;

names! {
    /// What leads on.
    RedirectKind {
        /// A status that redirects, and its `Location`.
        Location = "location";
        /// The header `Refresh`.
        RefreshHeader = "refresh_header";
        /// `<meta http-equiv=refresh>`.
        MetaRefresh = "meta_refresh";
    }
}

impl RedirectKind {
    /// Its name for people.
    pub fn said(self) -> &'static str {
        match self {
            Self::Location => "Location",
            Self::RefreshHeader => "the header Refresh",
            Self::MetaRefresh => "<meta http-equiv=refresh>",
        }
    }
}

/// Where an answer leads at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Redirect {
    /// Nowhere: it is what was asked for.
    #[default]
    Stays,
    /// To another URL.
    To {
        /// In canonical form; perhaps the URL itself under another spelling.
        url: PageUrl,
        /// By what.
        way: RedirectKind,
        /// The page shows something for a while: more such pages in a row than redirects are followed are pages with links.
        shows: bool,
    },
    /// A redirect to itself, as it was asked for.
    Itself,
    /// A refresh at once of itself.
    Reloads(RedirectKind),
    /// A redirect that says nothing of where to, or names what is no URL of http or https: then why.
    Nowhere(Option<UrlError>),
}

impl Redirect {
    /// Of the answer to `url`, judged as `verdict`, of which `page` was read.
    pub fn of(canon: &Canonicaliser, url: &PageUrl, fetched: &Fetched, verdict: &Verdict, page: Option<&Page>) -> Self {
        match verdict {
            Verdict::Follow => location(canon, url, fetched),
            Verdict::Store | Verdict::StoreHalf { .. } => {
                refresh(canon, url, fetched, page).unwrap_or(match fetched.status {
                    300..=303 | 307 | 308 => Self::Nowhere(None),
                    _ => Self::Stays,
                })
            }
            _ => Self::Stays,
        }
    }

    /// The same where the answer has `set` cookies that are sent from now on: what leads to itself may lead somewhere then.
    #[must_use]
    pub fn with_cookies(self, url: &PageUrl, set: bool) -> Self {
        match self {
            Self::Itself if set => Self::To { url: url.clone(), way: RedirectKind::Location, shows: false },
            Self::Reloads(way) if set => Self::To { url: url.clone(), way, shows: false },
            onward => onward,
        }
    }

    /// What is to be noted of it.
    pub fn note(&self) -> Option<Note> {
        match self {
            Self::Stays | Self::Reloads(_) | Self::To { way: RedirectKind::Location, .. } => None,
            Self::To { .. } => Some(Note::Refresh),
            Self::Itself => Some(Note::RedirectSelf),
            Self::Nowhere(_) => Some(Note::RedirectNowhere),
        }
    }

    /// The URL it leads to, and by what.
    pub fn target(&self) -> Option<(&PageUrl, RedirectKind)> {
        match self {
            Self::To { url, way, .. } => Some((url, *way)),
            Self::Stays | Self::Itself | Self::Reloads(_) | Self::Nowhere(_) => None,
        }
    }

    /// The same where it is followed: a refresh is a link of the page, and `nofollow` holds for it.
    pub fn followed(&self, nofollow: bool) -> Option<(&PageUrl, RedirectKind)> {
        self.target().filter(|(_, way)| *way == RedirectKind::Location || !nofollow)
    }
}

/// Whether both are one request: a page may know its visitors by its other spellings only.
fn is_same(url: &PageUrl, other: &PageUrl) -> bool {
    url == other && url.spelling() == other.spelling()
}

fn location(canon: &Canonicaliser, at: &PageUrl, fetched: &Fetched) -> Redirect {
    let Some(location) = fetched.reference("location") else { return Redirect::Stays };
    match canon.join_as_written(&at.to_url(), &location, None) {
        Ok(url) if is_same(&url, at) => Redirect::Itself,
        Ok(url) => Redirect::To { url, way: RedirectKind::Location, shows: false },
        Err(why) => {
            log::debug!("redirect leads to no URL: url={at} location={location:?} why={why}");
            Redirect::Nowhere(Some(why))
        }
    }
}

/// The header before the markup, as browsers do. To itself it is a reload, which a crawler has no use for.
fn refresh(canon: &Canonicaliser, at: &PageUrl, fetched: &Fetched, page: Option<&Page>) -> Option<Redirect> {
    let header = fetched.reference("refresh");
    let header = header.as_deref().and_then(parse_refresh);
    let (seconds, href, base, charset, way) = match (&header, page) {
        (Some((seconds, href)), _) => (*seconds, *href, at.to_url(), None, RedirectKind::RefreshHeader),
        (None, Some(page)) => {
            let found = page.facts.refresh.as_ref()?;
            let base = page.facts.base_url(&at.to_url());
            (found.seconds, found.href.as_str(), base, Some(page.charset), RedirectKind::MetaRefresh)
        }
        (None, None) => return None,
    };
    let url = if href.is_empty() { at.clone() } else { canon.join_as_written(&base, href, charset).ok()? };
    if seconds > AT_ONCE || has_content(canon, fetched, page, (at, &url), seconds > NO_LOOK) {
        return None;
    }
    if is_same(&url, at) {
        return Some(Redirect::Reloads(way));
    }
    let shows = seconds > NO_LOOK || page.is_some_and(|page| page.facts.visible > 0 || page.facts.pictures);
    Some(Redirect::To { url, way, shows })
}

/// Whether the page is more than a place that one is sent on from: it has text, leads elsewhere than to itself and to the target,
/// or is to be `seen` and shows pictures or a frame.
fn has_content(
    canon: &Canonicaliser,
    fetched: &Fetched,
    page: Option<&Page>,
    (at, target): (&PageUrl, &PageUrl),
    seen: bool,
) -> bool {
    let Some(page) = page else { return !fetched.body.is_empty() };
    let facts = &page.facts;
    if facts.visible >= HAS_TEXT || seen && facts.pictures {
        return true;
    }
    let joiner = canon.joiner(facts.base_url(&at.to_url()), Some(page.charset));
    let is_way_on = |kind| match kind {
        LinkKind::A | LinkKind::Area | LinkKind::Frame => true,
        LinkKind::Iframe => seen,
        _ => false,
    };
    let mut ways =
        facts.links.iter().filter(|link| is_way_on(link.kind)).filter_map(|link| joiner.join(&link.href).ok());
    ways.any(|url| url != *at && url != *target)
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;
    use crate::content::html::{ExtractOptions, PageReader};
    use crate::content::modules::HeaderDirectives;
    use crate::document::Document;
    use crate::domain::cases::unescaped;
    use crate::domain::robots::RobotsRules;

    fn onward(status: u16, headers: &[(&str, &str)], html: Option<&str>) -> Redirect {
        let canon = Canonicaliser::default();
        let url = canon.parse("http://h.test/dir/page").unwrap();
        let page = html.map(|html| {
            let at = Url::parse(url.as_str()).unwrap();
            let mut reader = PageReader::new(Some("text/html"), &at, ExtractOptions::default(), 1_000);
            reader.push(html.as_bytes());
            reader.finish()
        });
        let verdict = match status {
            304 => Verdict::StoreOnly(None),
            _ if headers.iter().any(|(name, _)| *name == "Location") => Verdict::Follow,
            _ => Verdict::Store,
        };
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())).collect();
        let fetched = Fetched::saved(status, headers, Document::empty());
        Redirect::of(&canon, &url, &fetched, &verdict, page.as_ref())
    }

    fn to(way: RedirectKind, url: &str) -> Redirect {
        Redirect::To { url: PageUrl::from_canonical(url).unwrap(), way, shows: false }
    }

    #[test]
    fn a_redirect_leads_to_its_location_to_itself_or_nowhere() {
        let to_b = to(RedirectKind::Location, "http://h.test/b");
        assert_eq!(onward(302, &[("Location", "../b")], None), to_b);
        assert_eq!(onward(302, &[("Location", "page#there")], None), Redirect::Itself);
        assert!(matches!(onward(302, &[("Location", "mailto:a@b")], None), Redirect::Nowhere(Some(_))));
        assert_eq!(onward(302, &[], None), Redirect::Nowhere(None));
        let page = onward(300, &[], Some("<meta http-equiv=refresh content='0; url=/b'>"));
        assert_eq!(page, to(RedirectKind::MetaRefresh, "http://h.test/b"), "a page like others");
        assert_eq!(onward(304, &[], None), Redirect::Stays);
        assert_eq!((to_b.note(), Redirect::Itself.note()), (None, Some(Note::RedirectSelf)));
        assert!(to_b.followed(true).is_some(), "a redirect is no link");
    }

    /// The rows of a table: three cells each, and the source of the rule.
    fn rows(table: &str) -> Vec<([&str; 3], &str)> {
        let rows = table.lines().filter(|row| !row.starts_with('#') && !row.is_empty());
        rows.map(|row| {
            let [one, other, wanted, _source] = row.split('\t').collect::<Vec<_>>()[..] else { panic!("{row}") };
            ([one, other, wanted], row)
        })
        .collect()
    }

    /// Where bytes at that place lead from `http://h.test/dir/page`.
    fn led(place: &str, bytes: Vec<u8>) -> String {
        let canon = Canonicaliser::default();
        let at = canon.parse("http://h.test/dir/page").unwrap();
        let join = |href: &str| canon.join(&at.to_url(), href, None).map_or("-".to_owned(), |url| url.to_string());
        let headers = vec![(place.to_owned(), bytes.clone())];
        match place {
            "link" => join(&HeaderDirectives::of(&headers, &[]).links[0].target),
            "sitemap" => join(&RobotsRules::parse(&[b"Sitemap: ", &*bytes].concat(), &["x"]).sitemaps()[0]),
            _ => {
                let (status, verdict) =
                    if place == "location" { (302, Verdict::Follow) } else { (200, Verdict::Store) };
                let fetched = Fetched::saved(status, headers, Document::empty());
                let onward = Redirect::of(&canon, &at, &fetched, &verdict, None);
                onward.target().map_or("-".to_owned(), |(url, _)| url.to_string())
            }
        }
    }

    #[test]
    fn bytes_that_are_no_utf_8_lead_to_the_very_url_that_was_meant() {
        let rows = rows(include_str!("../../../../tests/data/http/references.tsv"));
        for ([place, bytes, wanted], row) in &rows {
            assert_eq!(led(place, unescaped(bytes)), *wanted, "{row}");
        }
        assert!(rows.len() > 10);
    }

    #[test]
    fn a_redirect_to_another_spelling_of_the_same_page_leads_to_it() {
        for (location, asked) in [
            ("page?PHPSESSID=0123456789abcdef", Some("/dir/page?PHPSESSID=0123456789abcdef")),
            ("page?utm_source=x", Some("/dir/page?utm_source=x")),
            ("%70age", Some("/dir/%70age")),
            ("page?", Some("/dir/page?")),
            ("//h.test./dir/page", Some("./dir/page")),
            ("page#top", None),
            ("http://h.test:80/dir/page", None),
            ("page?a=1", Some("")),
        ] {
            match onward(302, &[("Location", location)], None) {
                Redirect::To { url, .. } => assert_eq!(url.spelling().or(Some("")), asked, "{location}"),
                other => assert_eq!((other, asked), (Redirect::Itself, None), "{location}"),
            }
        }
    }

    #[test]
    fn a_refresh_is_a_redirect_only_where_the_page_has_nothing_of_its_own() {
        let rows = rows(include_str!("../../../../tests/data/refresh.tsv"));
        for ([content, html, wanted], row) in &rows {
            let words = |n: usize| "words ".repeat(n);
            let html = html.replace("{39}", &words(39)).replace("{40}", &words(40));
            let html = format!("<title>{}</title><meta http-equiv=refresh content=\"{content}\">{html}", words(50));
            let got = match onward(200, &[], Some(&html)) {
                Redirect::Stays => "link",
                Redirect::To { shows: false, .. } => "redirect",
                Redirect::To { shows: true, .. } => "redirect, then link",
                Redirect::Reloads(_) => "reload",
                other => panic!("{other:?}"),
            };
            assert_eq!(got, *wanted, "{row}");
        }
        assert!(rows.len() > 20);
    }

    #[test]
    fn a_refresh_in_the_head_of_what_is_no_page_is_a_link() {
        let canon = Canonicaliser::default();
        let url = canon.parse("http://h.test/a.pdf").unwrap();
        let of = |body: Document| {
            let headers = vec![("Refresh".to_owned(), b"0; url=/b".to_vec())];
            Redirect::of(&canon, &url, &Fetched::saved(200, headers, body), &Verdict::Store, None)
        };
        assert_eq!(of(Document::empty()), to(RedirectKind::RefreshHeader, "http://h.test/b"));
        assert_eq!(of(Document::from_bytes(&b"%PDF-1.7"[..])), Redirect::Stays);
    }

    #[test]
    fn a_refresh_to_itself_is_none() {
        let meta = |content: &str| onward(200, &[], Some(&format!("<meta http-equiv=refresh content='{content}'>")));
        let by_meta = to(RedirectKind::MetaRefresh, "http://h.test/b");
        assert_eq!(meta("0; url=/b"), by_meta);
        for reload in ["0; url=/dir/page", "0", "3 "] {
            let reload = meta(reload);
            assert_eq!(reload, Redirect::Reloads(RedirectKind::MetaRefresh));
            let at = PageUrl::from_canonical("http://h.test/dir/page").unwrap();
            assert_eq!((reload.target(), reload.note()), (None, None));
            assert_eq!(reload.clone().with_cookies(&at, false), reload);
            assert_eq!(reload.with_cookies(&at, true), to(RedirectKind::MetaRefresh, at.as_str()));
        }
        let both = onward(200, &[("Refresh", "0; url=/c")], Some("<meta http-equiv=refresh content='0; url=/b'>"));
        assert_eq!(both, to(RedirectKind::RefreshHeader, "http://h.test/c"));
        assert_eq!((by_meta.note(), by_meta.followed(true)), (Some(Note::Refresh), None));
    }
}
