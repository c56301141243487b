//! All words in a row, which make a page that has them so come first. Where they stand is read only of pages that this can bring among the
//! first: of two words that are on every page that is the dearest part of a search.

use tantivy::fieldnorm::FieldNormReader;
use tantivy::postings::{Postings, SegmentPostings};
use tantivy::query::Bm25Weight;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, DocSet, Score, Searcher, SegmentReader, Term};

use super::rank;
use super::schema::Fields;
use crate::domain::ask::Sought;

/// Words in a row in title and text.
pub(super) struct Rows(Vec<Row>);

/// In one field.
struct Row {
    field: Field,
    terms: Vec<(u32, Term)>,
    weight: Bm25Weight,
}

/// The same in one segment.
pub(super) struct SegmentRows {
    rows: Vec<SegmentRow>,
    /// What they can count in any document.
    most: Score,
}

struct SegmentRow {
    /// Each with how far it stands before the last one.
    terms: Vec<(u32, SegmentPostings)>,
    norms: FieldNormReader,
    weight: Bm25Weight,
    places: [Vec<u32>; 2],
}

impl Rows {
    /// Nothing when there is no row; one with an open end is none.
    pub(super) fn of(row: Option<&Sought>, fields: &Fields, searcher: &Searcher) -> tantivy::Result<Self> {
        let mut rows = Vec::new();
        let [text, title] = rank::ROW;
        for row in row.into_iter().filter(|row| !row.open && !row.terms.is_empty()) {
            // Titles are short: what they count is known before the text is looked at.
            for (field, weight) in [(fields.title, title), (fields.text, text)] {
                let last = row.terms.iter().map(|(place, _)| *place).max().unwrap_or_default();
                let term = |(place, text): &(u32, String)| (last - place, Term::from_field_text(field, text));
                let terms: Vec<(u32, Term)> = row.terms.iter().map(term).collect();
                let all: Vec<Term> = terms.iter().map(|(_, term)| term.clone()).collect();
                rows.push(Row { field, terms, weight: Bm25Weight::for_terms(searcher, &all)?.boost_by(weight) });
            }
        }
        Ok(Self(rows))
    }

    /// Those of them that may be in a segment.
    pub(super) fn within(&self, segment: &SegmentReader) -> tantivy::Result<SegmentRows> {
        let mut rows = Vec::new();
        for row in &self.0 {
            let index = segment.inverted_index(row.field)?;
            let mut terms = Vec::with_capacity(row.terms.len());
            for (before, term) in &row.terms {
                let postings = index.read_postings(term, IndexRecordOption::WithFreqsAndPositions)?;
                terms.extend(postings.map(|postings| (*before, postings)));
            }
            if terms.len() == row.terms.len() {
                let (norms, weight) = (segment.get_fieldnorms_reader(row.field)?, row.weight.clone());
                rows.push(SegmentRow { terms, norms, weight, places: Default::default() });
            }
        }
        let most = rows.iter().map(|row| row.weight.max_score()).sum();
        Ok(SegmentRows { rows, most })
    }
}

impl SegmentRows {
    /// What rows add to what the words of a document count; nothing is added where that cannot make it more than `least`. Documents come in
    /// their order.
    pub(super) fn add(&mut self, words: Score, doc: DocId, least: f64) -> Score {
        if f64::from(words + self.most) <= least {
            return words;
        }
        let mut most = [0.0; 2];
        for (most, row) in most.iter_mut().zip(&mut self.rows) {
            *most = row.most(doc);
        }
        let mut sum = 0.0;
        for (nth, row) in self.rows.iter_mut().enumerate() {
            let left = most.get(nth..).unwrap_or_default();
            if f64::from(words + (sum + left.iter().sum::<Score>())) <= least {
                break;
            }
            if left.first().is_some_and(|most| *most > 0.0) {
                sum += row.score(doc);
            }
        }
        words + sum
    }
}

impl SegmentRow {
    /// What it counts at most in a document: there are no more rows than the rarest of its words comes.
    fn most(&mut self, doc: DocId) -> Score {
        let mut fewest = u32::MAX;
        for (_, postings) in &mut self.terms {
            if postings.doc() < doc {
                postings.seek(doc);
            }
            if postings.doc() != doc {
                return 0.0;
            }
            fewest = fewest.min(postings.term_freq());
        }
        self.weight.score(self.norms.fieldnorm_id(doc), fewest)
    }

    /// What it counts in a document that has all its words.
    fn score(&mut self, doc: DocId) -> Score {
        let [here, next] = &mut self.places;
        for (nth, (before, postings)) in self.terms.iter_mut().enumerate() {
            if nth == 0 {
                postings.positions_with_offset(*before, here);
                continue;
            }
            postings.positions_with_offset(*before, next);
            let mut at = 0;
            here.retain(|place| {
                at += next.get(at..).unwrap_or_default().partition_point(|other| other < place);
                next.get(at) == Some(place)
            });
            if here.is_empty() {
                return 0.0;
            }
        }
        let rows = u32::try_from(here.len()).unwrap_or(u32::MAX);
        self.weight.score(self.norms.fieldnorm_id(doc), rows)
    }
}
