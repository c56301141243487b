//! Captures, and what the archive holds of them, read again as the crawl reads pages.

use std::path::Path;

use super::parser::inspect::{Inspection, Inspector};
use super::rules::Rules;
use crate::base::time::UnixMillis;
use crate::content::modules::HeaderDirectives;
use crate::document::Document;
use crate::domain::outcome::Verdict;
use crate::domain::url::PageUrl;
use crate::net::Fetched;
use crate::storage::keys::{ContentKey, Key as _, KeyRange, PageKey, SeenKey};
use crate::storage::tables::Pages;
use crate::storage::values::{DoneKind, PageRecord, WarcPlace};
use crate::storage::{Storage, StorageError, read};
use crate::warc::pick::{PickError, Picked, response_at};

/// Most bytes of a record, and of a decoded body, that are read to be shown.
pub const MOST: u64 = 16 << 20;
/// Bytes of a body looked at at a time.
const PIECE: usize = 32 * 1024;
/// Captures looked at for the one that holds the bytes of a page that has not changed since.
const OLDER: usize = 100;

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
    let place = place(storage, capture)?.ok_or(StoredError::Nowhere)?;
    Ok(response_at(dir, &place.file, place.offset, most)?)
}

/// Where its bytes are: in its own record, or for a revisit in the one it refers to.
fn place(storage: &dyn Storage, (key, page): &Capture) -> Result<Option<WarcPlace>, StorageError> {
    let holder = match page.how {
        DoneKind::Stored | DoneKind::Redirect | DoneKind::Unstored => return Ok(page.warc.clone()),
        DoneKind::NotModified if page.content.is_none() => {
            let before = UnixMillis(page.fetched.0.saturating_sub(1));
            let PageKey { partition, host, crawl, url, .. } = *key;
            let older = captures(storage, SeenKey { partition, host, crawl, url }, Some(before), OLDER)?;
            let mut older = older.into_iter().map(|(_, page)| page);
            older.find(|page| page.how == DoneKind::Stored)
        }
        DoneKind::Duplicate | DoneKind::NotModified => {
            let Some(digest) = page.content else { return Ok(None) };
            let Some(first) = read::content(storage, ContentKey::from(digest))? else { return Ok(None) };
            read::get::<Pages>(storage, &first.first)?
        }
    };
    Ok(holder.and_then(|page| page.warc))
}

/// What the crawl's parser sees in a stored response to this URL, with what its card is made of.
pub fn inspected(rules: &Rules, url: &PageUrl, picked: Picked) -> Inspection {
    let field = |name: &str| Some((name.to_owned(), picked.field(name)?.into_bytes()));
    let headers = ["Content-Type", "Content-Encoding"].into_iter().filter_map(field).collect();
    let fetched = Fetched::saved(200, headers, Document::from_bytes(picked.body));
    let mut parse = rules.parse.clone();
    parse.extract.card = true;
    let inspector = Inspector { rules: &parse, ..rules.inspector() };
    let (head, mut room) = (HeaderDirectives::default(), vec![0; PIECE]);
    let looked = inspector.look((url, false), &fetched, &Verdict::Store, &head, &mut room);
    looked.bounded(&rules.canon, url, rules.settings.parse.max_links_per_page)
}
