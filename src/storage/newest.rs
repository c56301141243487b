//! What an index of pages, ours or another one, is to hold of a page: a function of what is stored of it now, so that it does not matter how
//! often a page is looked at, nor after which entry of the feed.

use super::keys::{KeyRange, PageKey, SeenKey};
use super::values::{DoneKind, FeedEntry, PageRecord, UrlState, WarcPlace};
use super::{Storage, StorageError, read, tables};
use crate::base::time::UnixMillis;
use crate::domain::note::Note;
use crate::domain::statuses::is_gone;

/// Bytes of a page's id.
pub const ID: usize = 20;

/// Captures of a page that are looked at.
const CAPTURES: usize = 100;

/// What an index is to hold of a page, as far as storage tells; what the page says decides whether it is text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Newest {
    /// Which.
    pub key: SeenKey,
    /// Its newest capture with content.
    pub page: PageRecord,
    /// Since when it has this content, as far as captures tell.
    pub changed: UnixMillis,
    /// It could not be fetched the last time.
    pub stale: bool,
    /// Where the response with its bytes is; none when the settings kept it out of the archive.
    pub place: Option<WarcPlace>,
}

/// What is looked for in a page's captures.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Pages that say `noindex` are wanted too.
    pub noindex: bool,
}

impl Wanted {
    /// What an index is to hold of a page in this state; none when it is to hold nothing.
    ///
    /// # Errors
    /// The storage's own.
    pub fn newest(
        self,
        storage: &dyn Storage,
        key: SeenKey,
        state: Option<UrlState>,
    ) -> Result<Option<Newest>, StorageError> {
        if matches!(state, None | Some(UrlState::Rejected { .. })) {
            return Ok(None);
        }
        let captures = read::scan::<tables::Pages>(storage, &KeyRange::captures(key), CAPTURES)?;
        let mut stale = matches!(state, Some(UrlState::Error { .. }));
        for (at, (_, page)) in captures.iter().enumerate() {
            let older = captures.get(at..).unwrap_or_default();
            match page.how {
                DoneKind::Redirect => return Ok(None),
                _ if is_gone(page.status) => return Ok(None),
                _ if !has_content(page) => stale = true,
                _ if !self.wants(older) => return Ok(None),
                _ => {
                    let place = read::holder(storage, key, page)?.and_then(|holder| holder.warc);
                    let changed = changed(older).unwrap_or(page.fetched);
                    return Ok(Some(Newest { key, page: page.clone(), changed, stale, place }));
                }
            }
        }
        Ok(None)
    }

    /// Whether a page is wanted, by its newest capture with content and those before it. What was read as text has a charset.
    fn wants(self, captures: &[(PageKey, PageRecord)]) -> bool {
        let newest = captures.first().map(|(_, page)| page);
        let is_text = newest.is_some_and(|page| page.charset.is_some() && page.sitemap.is_none());
        // An answer that nothing has changed does not say again what the page said.
        let full = captures.iter().map(|(_, page)| page).find(|page| page.how != DoneKind::NotModified);
        let forbids = |page: &PageRecord| page.remarks.notes.contains(&Note::NoIndex);
        is_text && (self.noindex || ![newest, full].into_iter().flatten().any(forbids))
    }
}

fn has_content(page: &PageRecord) -> bool {
    page.how == DoneKind::NotModified || (200..300).contains(&page.status)
}

/// When the oldest of the newest captures that have one content was made; those without content of their own do not count.
fn changed(captures: &[(PageKey, PageRecord)]) -> Option<UnixMillis> {
    let mut with_content = captures.iter().map(|(_, page)| page).filter(|page| has_content(page));
    let newest = with_content.next()?;
    let same = with_content.take_while(|page| page.content.is_some() && page.content == newest.content);
    Some(same.last().unwrap_or(newest).fetched)
}

/// Whether another entry follows that says what became of the page, which is in this state.
pub fn is_old(entry: &FeedEntry, state: Option<UrlState>) -> bool {
    matches!(state, Some(UrlState::Done { captured, .. }) if entry.captured.is_none_or(|this| this < captured))
}

/// The id of a page's document: the same for all captures of a URL.
pub fn id(key: SeenKey) -> [u8; ID] {
    let mut id = [0; ID];
    id.iter_mut().zip(key.host.0.iter().chain(&key.url.0)).for_each(|(to, from)| *to = *from);
    id
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fingerprint::{ContentDigest, CrawlId, Fingerprinter};
    use crate::domain::reach::Reach;
    use crate::domain::reason::{Failure, Rejection};
    use crate::domain::url::Canonicaliser;
    use crate::storage::MemoryStorage;
    use crate::storage::tables::Pages;
    use crate::storage::txn::Txn;

    const PAGE: &str = "http://a.test/";

    /// A capture made at `at`: status, how it ended, content, notes.
    fn capture(at: u64, status: u16, how: DoneKind, content: u8, notes: &[Note]) -> PageRecord {
        let url = Canonicaliser::default().parse(PAGE).unwrap();
        let mut page = PageRecord { status, ..PageRecord::new(&url, UnixMillis(at), how) };
        page.content = Some(ContentDigest([content; 16]));
        page.charset = Some("utf-8".into());
        page.warc = Some(WarcPlace { file: format!("{at}.warc.gz"), offset: 0, length: 1 });
        page.remarks.notes = notes.to_vec();
        page
    }

    /// What is wanted of a page with these captures: when it was captured, since when it is so, and whether it is stale.
    fn wanted(noindex: bool, state: Option<UrlState>, captures: &[PageRecord]) -> Option<(u64, u64, bool)> {
        let storage = MemoryStorage::new();
        let url = Canonicaliser::default().parse(PAGE).unwrap();
        let key = SeenKey::of(&Fingerprinter::new(1), CrawlId::default(), &url);
        let mut txn = Txn::new(&storage);
        captures.iter().for_each(|page| txn.put::<Pages>(&key.page(page.fetched), page));
        storage.write(&txn.into_batch()).unwrap();
        let newest = Wanted { noindex }.newest(&storage, key, state).unwrap()?;
        Some((newest.page.fetched.0, newest.changed.0, newest.stale))
    }

    #[test]
    fn the_newest_capture_with_content_counts_as_long_as_nothing_final_came_after_it() {
        use DoneKind::{Duplicate, NotModified, Redirect, Stored, Unstored};
        let at = |captured| {
            Some(UrlState::Done { captured: UnixMillis(captured), how: Stored, reach: Reach { depth: 1, limit: None } })
        };
        let failed = Some(UrlState::Error { reason: Failure::Reset });
        let turned_away = Some(UrlState::Rejected {
            reason: Rejection::Scope,
            generation: 1,
            reach: Reach { depth: 1, limit: None },
        });
        let ok = |at, content| capture(at, 200, Stored, content, &[]);
        let hidden = |at, how| capture(at, 200, how, 1, &[Note::NoIndex]);
        for (case, state, captures, expected) in [
            ("not known", None, vec![ok(1, 1)], None),
            ("stored", at(1), vec![ok(1, 1)], Some((1, 1, false))),
            ("left out of the archive", at(1), vec![capture(1, 200, Unstored, 1, &[])], Some((1, 1, false))),
            ("the newest", at(2), vec![ok(1, 1), ok(2, 2)], Some((2, 2, false))),
            (
                "the same since",
                at(3),
                vec![ok(1, 1), ok(2, 2), capture(3, 200, Duplicate, 2, &[])],
                Some((3, 2, false)),
            ),
            ("nothing new", at(2), vec![ok(1, 1), capture(2, 304, NotModified, 1, &[])], Some((2, 1, false))),
            ("gone", at(2), vec![ok(1, 1), capture(2, 410, Stored, 1, &[])], None),
            ("gone, and given up", failed, vec![ok(1, 1), capture(2, 404, Stored, 1, &[])], None),
            ("an error", failed, vec![ok(1, 1), capture(2, 503, Stored, 1, &[])], Some((1, 1, true))),
            ("no answer", failed, vec![ok(1, 1)], Some((1, 1, true))),
            ("never an answer", failed, vec![], None),
            ("redirects now", at(2), vec![ok(1, 1), capture(2, 301, Redirect, 1, &[])], None),
            ("redirected once", at(2), vec![capture(1, 301, Redirect, 1, &[]), ok(2, 1)], Some((2, 2, false))),
            ("turned away", turned_away, vec![ok(1, 1)], None),
            ("noindex", at(1), vec![hidden(1, Stored)], None),
            ("noindex now", at(2), vec![ok(1, 1), hidden(2, Stored)], None),
            ("noindex once", at(2), vec![hidden(1, Stored), ok(2, 2)], Some((2, 2, false))),
            ("still noindex", at(2), vec![hidden(1, Stored), capture(2, 304, NotModified, 1, &[])], None),
            ("said by the 304", at(2), vec![ok(1, 1), hidden(2, NotModified)], None),
            ("no text", at(1), vec![PageRecord { charset: None, ..ok(1, 1) }], None),
            ("a sitemap", at(1), vec![PageRecord { sitemap: Some(sitemap()), ..ok(1, 1) }], None),
        ] {
            assert_eq!(wanted(false, state, &captures), expected, "{case}");
        }
        assert_eq!(wanted(true, at(1), &[hidden(1, Stored)]), Some((1, 1, false)), "of one's own site");
    }

    fn sitemap() -> crate::storage::values::AsSitemap {
        let found = crate::domain::found_as::FoundAs::Link;
        crate::storage::values::AsSitemap { found, via: None, put_off: false }
    }
}
