//! What the index is to hold of a page: a function of what is stored of it now, so that it does not matter how often a page is looked at,
//! nor after which entry.

use super::entry::ID;
use crate::base::time::UnixMillis;
use crate::domain::note::Note;
use crate::storage::keys::{KeyRange, PageKey, SeenKey};
use crate::storage::values::{DoneKind, GONE, PageRecord, UrlState, WarcPlace};
use crate::storage::{Storage, StorageError, read, tables};

/// Captures of a page that are looked at.
const CAPTURES: usize = 100;

/// What the index is to hold of a page, as far as storage tells; what the page says decides whether it is text.
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
    /// What the index is to hold of a page in this state; none when it is to hold nothing.
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
                _ if GONE.contains(&page.status) => return Ok(None),
                _ if !has_content(page) => stale = true,
                _ if !self.wants(older) => return Ok(None),
                _ => {
                    let place = read::holder(storage, page, &captures)?.and_then(|holder| holder.warc);
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

/// The id of a page's document.
pub fn id(key: SeenKey) -> [u8; ID] {
    let mut id = [0; ID];
    id.iter_mut().zip(key.host.0.iter().chain(&key.url.0)).for_each(|(to, from)| *to = *from);
    id
}
