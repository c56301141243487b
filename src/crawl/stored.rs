//! Captures, and what the archive holds of them, read again as the crawl reads pages.

use std::path::Path;

use super::parser::inspect::{Inspection, Inspector};
use super::rules::Rules;
use crate::base::time::UnixMillis;
use crate::content::modules::{HeaderDirectives, ParseRules};
use crate::document::Document;
use crate::domain::outcome::Verdict;
use crate::domain::url::PageUrl;
use crate::net::Fetched;
use crate::storage::keys::{Key as _, KeyRange, PageKey, SeenKey};
use crate::storage::tables::Pages;
use crate::storage::values::PageRecord;
use crate::storage::{Storage, StorageError, read};
use crate::warc::pick::{PickError, Picked, response_at};

/// Most bytes of a record, and of a decoded body, that are read to be shown.
pub const MOST: u64 = 16 << 20;
/// Most bytes of its visible text, as of what its card is made of.
const MOST_TEXT: usize = 1 << 20;
/// Bytes of a body looked at at a time.
const PIECE: usize = 32 * 1024;

/// A capture of a URL.
pub type Capture = (PageKey, PageRecord);

/// Why the bytes of a capture cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum StoredError {
    /// The database does not answer.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// It has no record.
    #[error(
        "the settings left this page out of the archive (store.skip_types, store.statuses), or its first copy is not known"
    )]
    Nowhere,
    /// Its record cannot be read.
    #[error(transparent)]
    Pick(#[from] PickError),
}

/// Captures of a URL, newest first; with `until` those of then or before.
///
/// # Errors
/// The storage's own.
pub fn captures(
    storage: &dyn Storage,
    url: SeenKey,
    until: Option<UnixMillis>,
    most: usize,
) -> Result<Vec<Capture>, StorageError> {
    let all = KeyRange::captures(url);
    let range = match until {
        Some(at) => KeyRange { from: url.page(at).encode(), ..all },
        None => all,
    };
    read::scan::<Pages>(storage, &range, most)
}

/// The response that holds the bytes of a capture, of at most so many bytes; `dir` is the folder of the archive.
///
/// # Errors
/// See [`StoredError`].
pub fn stored(storage: &dyn Storage, dir: &Path, capture: &Capture, most: u64) -> Result<Picked, StoredError> {
    let (key, page) = capture;
    let place = read::holder(storage, key.seen(), page)?.and_then(|page| page.warc).ok_or(StoredError::Nowhere)?;
    Ok(response_at(dir, &place.file, place.offset, most)?)
}

/// Reads stored answers again as the crawl's parser reads them, with what cards are made of.
pub struct Saved<'r> {
    rules: &'r Rules,
    parse: ParseRules,
}

impl<'r> Saved<'r> {
    /// By the rules of a crawl.
    pub fn new(rules: &'r Rules) -> Self {
        let mut parse = rules.parse.clone();
        (parse.extract.card, parse.extract.max_text) = (true, MOST_TEXT);
        parse.fields = Default::default();
        Self { rules, parse }
    }

    /// What a stored answer of this URL says.
    pub fn look(&self, url: &PageUrl, picked: Picked) -> (Inspection, HeaderDirectives) {
        let headers: Vec<_> = picked.fields().into_iter().map(|(name, value)| (name, value.into_bytes())).collect();
        let head = HeaderDirectives::of(&headers, &self.rules.settings.agent.robots_tokens);
        let fetched = Fetched::saved(200, headers, Document::from_bytes(picked.body));
        let inspector = Inspector { rules: &self.parse, ..self.rules.inspector() };
        let looked = inspector.look((url, false), &fetched, &Verdict::Store, &head, &mut vec![0; PIECE]);
        (looked.bounded(&self.rules.canon, url, self.rules.settings.parse.max_links_per_page), head)
    }
}

#[cfg(feature = "search")]
impl crate::index::Eyes for Saved<'_> {
    fn look(&self, url: &PageUrl, response: Picked) -> Option<crate::index::Look> {
        let (looked, head) = self.look(url, response);
        let page = looked.page?;
        let nofollow = head.directives(Some(&page)).nofollow;
        let sim = looked.shown.and_then(|shown| shown.print).map(|print| print.sim);
        Some(crate::index::Look { page, nofollow, sim })
    }
}
