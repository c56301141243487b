//! Where an answer leads at once: `Location`, the header `Refresh`, `<meta http-equiv=refresh>`.

use url::Url;

use crate::actors::lease::Lease;
use crate::actors::node::Node;
use crate::domain::html::{Page, parse_refresh};
use crate::domain::note::Note;
use crate::domain::outcome::Verdict;
use crate::domain::url::PageUrl;
use crate::net::protocol::Fetched;

/// A refresh within so many seconds is meant as a redirect; after a longer time it only shows news.
const AT_ONCE: u32 = 10;

/// Where it leads, and what is to be noted of it.
#[derive(Debug, Default)]
pub(super) struct Onward {
    pub to: Option<PageUrl>,
    pub note: Option<Note>,
}

/// Where the answer to a lease's URL leads.
pub(super) fn of(node: &Node, lease: &Lease, fetched: &Fetched, verdict: &Verdict, page: Option<&Page>) -> Onward {
    match verdict {
        Verdict::Follow => location(node, lease, fetched),
        // A status that redirects, with nowhere to go.
        Verdict::StoreOnly(None) if matches!(fetched.status, 300..=303 | 307 | 308) => {
            Onward { to: None, note: Some(Note::RedirectNowhere) }
        }
        Verdict::Store => refresh(node, lease, fetched, page).unwrap_or_default(),
        _ => Onward::default(),
    }
}

fn location(node: &Node, lease: &Lease, fetched: &Fetched) -> Onward {
    let Some(location) = fetched.header("location") else { return Onward::default() };
    match node.live().canon.join(&lease.url.to_url(), &location, None) {
        Ok(url) if url == lease.url => Onward { to: None, note: Some(Note::RedirectSelf) },
        Ok(url) => Onward { to: Some(url), note: None },
        Err(why) => {
            log::debug!("redirect leads to no URL: url={} location={location:?} why={why}", lease.url);
            Onward { to: None, note: Some(Note::RedirectNowhere) }
        }
    }
}

/// The header before the markup, as browsers do. To itself it is a reload, which a crawler has no use for.
fn refresh(node: &Node, lease: &Lease, fetched: &Fetched, page: Option<&Page>) -> Option<Onward> {
    let at: Url = lease.url.to_url();
    let header = fetched.header("refresh");
    let header = header.as_deref().and_then(parse_refresh);
    let (seconds, href, base, charset) = match (&header, page) {
        (Some((seconds, href)), _) => (*seconds, *href, at, None),
        (None, Some(page)) => {
            let found = page.facts.refresh.as_ref()?;
            (found.seconds, found.href.as_str(), page.facts.base_url(&at), Some(page.charset))
        }
        (None, None) => return None,
    };
    let to = node.live().canon.join(&base, href, charset).ok()?;
    (seconds <= AT_ONCE && to != lease.url).then_some(Onward { to: Some(to), note: Some(Note::Refresh) })
}
