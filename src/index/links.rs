//! Which pages link to a page.

use std::sync::Arc;

use tantivy::query::{BooleanQuery, EnableScoring, Occur, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption, Value};
use tantivy::{DocAddress, DocSet, InvertedIndexReader, Searcher, SegmentReader, TERMINATED, TantivyDocument, Term};

use super::error::IndexError;
use super::query::without;
use super::reader::Reader;
use super::schema::Fields;

/// Pages that link to a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Linking {
    /// How many.
    pub total: u64,
    /// Those of them of other registrable domains.
    pub external: u64,
    /// Cards of those asked for.
    pub cards: Vec<String>,
}

impl Reader {
    /// Pages that link to what has this [key](super::link_key), those of `hidden` hosts left out; cards of those behind the first `from`,
    /// at most `limit`.
    ///
    /// # Errors
    /// [`IndexError`]: it cannot be read.
    pub fn linking_to(&self, target: u64, hidden: &[String], from: usize, limit: usize) -> Result<Linking, IndexError> {
        let (searcher, fields) = (self.searcher(), self.fields());
        let look = || -> tantivy::Result<Linking> {
            let (mut linking, mut pages) = (Linking::default(), Vec::new());
            let shown = |field| shown(fields, &Term::from_field_u64(field, target), hidden);
            each_living(&searcher, &*shown(fields.links), |page| {
                if linking.total >= from as u64 && pages.len() < limit {
                    pages.push(page);
                }
                linking.total += 1;
            })?;
            each_living(&searcher, &*shown(fields.links_ext), |_| linking.external += 1)?;
            for page in pages {
                let document: TantivyDocument = searcher.doc(page)?;
                let card = document.get_first(fields.card).and_then(|card| card.as_str());
                linking.cards.push(card.unwrap_or("{}").to_owned());
            }
            Ok(linking)
        };
        look().map_err(|e| self.failed(e))
    }
}

/// Documents with a term, without those of `hidden` hosts.
fn shown(fields: &Fields, term: &Term, hidden: &[String]) -> Box<dyn Query> {
    let all = TermQuery::new(term.clone(), IndexRecordOption::Basic);
    match without(fields, hidden) {
        None => Box::new(all),
        Some(without) => Box::new(BooleanQuery::new(vec![(Occur::Must, Box::new(all)), without])),
    }
}

/// How many documents with a term were not deleted.
pub(super) fn living(searcher: &Searcher, term: &Term) -> tantivy::Result<u64> {
    let mut count = 0;
    for segment in searcher.segment_readers() {
        let index = segment.inverted_index(term.field())?;
        let Some(found) = index.get_term_info(term)? else { continue };
        count += u64::from(match segment.alive_bitset() {
            None => found.doc_freq,
            Some(alive) => {
                index.read_postings_from_terminfo(&found, IndexRecordOption::Basic)?.doc_freq_given_deletes(alive)
            }
        });
    }
    Ok(count)
}

/// How many pages link to one, those that were deleted among them.
pub(super) struct Linked {
    /// By segment: all, and those of other registrable domains.
    indexes: Vec<[Arc<InvertedIndexReader>; 2]>,
    fields: [Field; 2],
}

impl Linked {
    pub(super) fn of(searcher: &Searcher, fields: &Fields) -> tantivy::Result<Self> {
        let fields = [fields.links, fields.links_ext];
        let [links, external] = fields;
        let both = |segment: &SegmentReader| Ok([segment.inverted_index(links)?, segment.inverted_index(external)?]);
        let indexes = searcher.segment_readers().iter().map(both).collect::<tantivy::Result<_>>()?;
        Ok(Self { indexes, fields })
    }

    /// Of the page that stands so in `links`: all, and those of other registrable domains.
    pub(super) fn to(&self, own: u64) -> tantivy::Result<[u64; 2]> {
        let [term, of_others] = self.fields.map(|field| Term::from_field_u64(field, own));
        let mut counts = [0, 0];
        for [links, external] in &self.indexes {
            let all = links.doc_freq(&term)?;
            // Those of others are among them.
            let others = if all > 0 { external.doc_freq(&of_others)? } else { 0 };
            counts = [counts[0] + u64::from(all), counts[1] + u64::from(others)];
        }
        Ok(counts)
    }
}

/// Goes through what a query finds and was not deleted.
fn each_living(searcher: &Searcher, query: &dyn Query, mut each: impl FnMut(DocAddress)) -> tantivy::Result<()> {
    let weight = query.weight(EnableScoring::disabled_from_searcher(searcher))?;
    for (nth, segment) in (0..).zip(searcher.segment_readers()) {
        let mut found = weight.scorer(segment, 1.0)?;
        while found.doc() != TERMINATED {
            if !segment.is_deleted(found.doc()) {
                each(DocAddress::new(nth, found.doc()));
            }
            found.advance();
        }
    }
    Ok(())
}
