//! What is said in the record of a page of where it leads at once: that it was turned away, or that it leads in a ring.

use super::{Deduper, Result};
use crate::crawl::admit;
use crate::crawl::lease::Lease;
use crate::domain::note::Note;
use crate::domain::url::PageUrl;
use crate::storage::keys::SeenKey;
use crate::storage::ledger::{LinkChange, NewUrl, RejectedUrl};
use crate::storage::read;
use crate::storage::tables::Pages;
use crate::storage::values::{PageRecord, UrlState};

/// Where a page leads at once, as the rules judged it.
pub(super) struct Hop {
    url: PageUrl,
    refused: Option<String>,
}

impl Deduper {
    /// Where a page leads at once, if it does.
    pub(super) fn hop_of(&self, links: &LinkChange, lease: &Lease) -> Option<Hop> {
        let is_hop = |new: &NewUrl| new.hops > lease.entry.hops;
        let taken = links.new.iter().find(|new| is_hop(new)).map(|new| Hop { url: new.url.clone(), refused: None });
        let abroad = || links.foreign.iter().map(|foreign| &foreign.new).find(|new| is_hop(new));
        let taken = taken.or_else(|| abroad().map(|new| Hop { url: new.url.clone(), refused: None }));
        taken.or_else(|| {
            let turned = links.turned.iter().find(|turned| is_hop(&turned.new))?;
            Some(Hop { url: turned.new.url.clone(), refused: Some(admit::why(&self.node, turned)) })
        })
    }

    /// Says in the record what became of it; `links` is what the seen test left.
    pub(super) fn note_hop(&self, record: &mut PageRecord, lease: &Lease, hop: Hop, links: &LinkChange) -> Result<()> {
        let by_shape = |RejectedUrl { new, reason }: &RejectedUrl| (new.url == hop.url).then(|| reason.to_string());
        record.refused = hop.refused.or_else(|| links.turned.iter().find_map(by_shape));
        if let Some(why) = &record.refused {
            log::debug!("redirect not followed: url={} target={} why={why:?}", lease.url, hop.url);
            if lease.entry.seed {
                let example = format!("{} to {} ({why})", lease.url, hop.url);
                self.node.telemetry.troubles.tally(Note::RedirectRefused.as_str(), example);
            }
            record.remarks.notes.push(Note::RedirectRefused);
        } else if !is_asked_for(links, &hop.url) && self.is_ring(&lease.url, &hop.url)? {
            let note = Note::RedirectLoop;
            log::debug!("redirects in a ring: url={} target={}", lease.url, hop.url);
            self.node.telemetry.troubles.tally(note.as_str(), lease.url.to_string());
            record.remarks.notes.push(note);
        }
        record.remarks.notes.sort_unstable();
        Ok(())
    }

    /// Whether what was known of `to` leads back to `from`, in no more steps than are followed.
    fn is_ring(&self, from: &PageUrl, to: &PageUrl) -> Result<bool> {
        let mut at = to.clone();
        for _ in 0..=self.node.crawl.rules.settings.fetch.max_redirects {
            if at == *from {
                return Ok(true);
            }
            let key = SeenKey::of(&self.node.prints, self.node.crawl.id, &at);
            let Some(UrlState::Done { captured, .. }) = read::seen_state(&*self.node.storage, key)? else {
                return Ok(false);
            };
            let page = read::get::<Pages>(&*self.node.storage, &key.page(captured))?;
            let next = page.and_then(|page| PageUrl::from_canonical(page.remarks.target.as_deref()?).ok());
            let Some(next) = next else { return Ok(false) };
            at = next;
        }
        Ok(false)
    }
}

/// Whether a commit of these asks for the URL, now or once more.
fn is_asked_for(links: &LinkChange, url: &PageUrl) -> bool {
    let again = links.again.iter().map(|known| &known.new);
    let mut all = links.new.iter().chain(&links.readmitted).chain(&links.nearer).chain(again);
    all.any(|new| new.url == *url)
}
