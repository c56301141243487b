//! Which pages link to a page.

use tantivy::schema::{IndexRecordOption, Value};
use tantivy::{DocAddress, DocSet, Searcher, TERMINATED, TantivyDocument, Term};

use super::error::IndexError;
use super::reader::Reader;

impl Reader {
    /// How many pages link to what has this [key](super::link_key), and how many of those are of other registrable domains.
    ///
    /// # Errors
    /// [`IndexError`]: it cannot be read.
    pub fn linked(&self, target: u64) -> Result<(u64, u64), IndexError> {
        let (searcher, fields) = (self.searcher(), self.fields());
        let count = |field| living(&searcher, &Term::from_field_u64(field, target));
        let both = || Ok((count(fields.links)?, count(fields.links_ext)?));
        both().map_err(|e| self.failed(e))
    }

    /// The cards of pages that link to what has this key: behind the first `from`, at most `limit`.
    ///
    /// # Errors
    /// [`IndexError`]: it cannot be read.
    pub fn linking_to(&self, target: u64, from: usize, limit: usize) -> Result<Vec<String>, IndexError> {
        let (searcher, fields) = (self.searcher(), self.fields());
        let term = Term::from_field_u64(fields.links, target);
        let look = || -> tantivy::Result<Vec<String>> {
            let mut pages = Vec::new();
            let enough = from.saturating_add(limit);
            each_living(&searcher, &term, |page| {
                pages.push(page);
                pages.len() < enough
            })?;
            let cards = pages.into_iter().skip(from).map(|page| {
                let document: TantivyDocument = searcher.doc(page)?;
                Ok(document.get_first(fields.card).and_then(|card| card.as_str()).unwrap_or("{}").to_owned())
            });
            cards.collect()
        };
        look().map_err(|e| self.failed(e))
    }
}

/// Documents with a term that were not deleted.
pub(super) fn living(searcher: &Searcher, term: &Term) -> tantivy::Result<u64> {
    let mut count = 0;
    each_living(searcher, term, |_| {
        count += 1;
        true
    })?;
    Ok(count)
}

/// Goes through documents with a term that were not deleted, until `each` says that it is enough.
fn each_living(searcher: &Searcher, term: &Term, mut each: impl FnMut(DocAddress) -> bool) -> tantivy::Result<()> {
    for (nth, segment) in (0..).zip(searcher.segment_readers()) {
        let index = segment.inverted_index(term.field())?;
        let Some(mut postings) = index.read_postings(term, IndexRecordOption::Basic)? else { continue };
        let mut doc = postings.doc();
        while doc != TERMINATED {
            if !segment.is_deleted(doc) && !each(DocAddress::new(nth, doc)) {
                return Ok(());
            }
            doc = postings.advance();
        }
    }
    Ok(())
}
