//! A word in one of several fields, where the best one counts most. As the library's own query of that name, but that a page is scored only
//! when somebody asks: of two words the rarer one leads, and of the pages of the other only those are looked at that have both.

use tantivy::query::{EmptyScorer, EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::{DocId, DocSet, Score, SegmentReader, TERMINATED, TantivyError, Term};

/// What has any of these; it counts the best of them, and `tie` of each other.
#[derive(Debug)]
pub(super) struct BestOf {
    any: Vec<Box<dyn Query>>,
    tie: Score,
}

impl BestOf {
    pub(super) fn new(any: Vec<Box<dyn Query>>, tie: Score) -> Self {
        Self { any, tie }
    }
}

impl Clone for BestOf {
    fn clone(&self) -> Self {
        Self { any: self.any.iter().map(|query| query.box_clone()).collect(), tie: self.tie }
    }
}

impl Query for BestOf {
    fn weight(&self, scoring: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        let any = self.any.iter().map(|query| query.weight(scoring)).collect::<tantivy::Result<_>>()?;
        Ok(Box::new(BestOfWeight { any, tie: self.tie }))
    }

    fn query_terms<'a>(&'a self, visitor: &mut dyn FnMut(&'a Term, bool)) {
        self.any.iter().for_each(|query| query.query_terms(visitor));
    }
}

struct BestOfWeight {
    any: Vec<Box<dyn Weight>>,
    tie: Score,
}

impl Weight for BestOfWeight {
    fn scorer(&self, segment: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        let mut any = Vec::with_capacity(self.any.len());
        for weight in &self.any {
            let scorer = weight.scorer(segment, boost)?;
            let doc = scorer.doc();
            if doc != TERMINATED {
                any.push((doc, scorer));
            }
        }
        let first = any.iter().map(|(doc, _)| *doc).min();
        Ok(match (any.len(), first) {
            (_, None) => Box::new(EmptyScorer),
            (1, _) => any.remove(0).1,
            (_, Some(doc)) => Box::new(BestOfScorer { any, doc, tie: self.tie }),
        })
    }

    fn explain(&self, segment: &SegmentReader, doc: DocId) -> tantivy::Result<Explanation> {
        let mut scorer = self.scorer(segment, 1.0)?;
        let found = if scorer.doc() < doc { scorer.seek(doc) } else { scorer.doc() };
        match found == doc {
            true => Ok(Explanation::new("the best field", scorer.score())),
            false => Err(TantivyError::InvalidArgument(format!("document {doc} does not match"))),
        }
    }
}

struct BestOfScorer {
    /// Each with the document that it is at.
    any: Vec<(DocId, Box<dyn Scorer>)>,
    doc: DocId,
    tie: Score,
}

impl BestOfScorer {
    /// The first document of all, each moved by `step` where it is before `target`.
    fn to(&mut self, target: DocId, step: impl Fn(&mut dyn Scorer) -> DocId) -> DocId {
        self.doc = TERMINATED;
        for (doc, scorer) in &mut self.any {
            if *doc < target {
                *doc = step(scorer.as_mut());
            }
            self.doc = self.doc.min(*doc);
        }
        self.doc
    }
}

impl DocSet for BestOfScorer {
    fn advance(&mut self) -> DocId {
        self.to(self.doc.saturating_add(1).min(TERMINATED), |scorer| scorer.advance())
    }

    fn seek(&mut self, target: DocId) -> DocId {
        self.to(target, |scorer| scorer.seek(target))
    }

    fn doc(&self) -> DocId {
        self.doc
    }

    fn size_hint(&self) -> u32 {
        self.any.iter().map(|(_, scorer)| scorer.size_hint()).max().unwrap_or_default()
    }

    fn cost(&self) -> u64 {
        self.any.iter().map(|(_, scorer)| scorer.cost()).sum()
    }
}

impl Scorer for BestOfScorer {
    fn score(&mut self) -> Score {
        let (mut best, mut sum) = (0.0, 0.0);
        for (doc, scorer) in &mut self.any {
            if *doc == self.doc {
                let score = scorer.score();
                best = Score::max(score, best);
                sum += score;
            }
        }
        best + (sum - best) * self.tie
    }
}
