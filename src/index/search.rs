//! Searches an index.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use tantivy::columnar::Column;
use tantivy::query::{EnableScoring, Query, Weight};
use tantivy::schema::Value;
use tantivy::{DocAddress, DocId, DocSet, Searcher, SegmentReader, TERMINATED, TantivyDocument, Term};

use super::entry::ID;
use super::error::IndexError;
use super::links::{Linked, living};
use super::query::Queries;
use super::rank::{Links, Sort, factors, most};
use super::reader::Reader;
use super::row::Rows;
use crate::domain::ask::Ask;

/// Pages of which priority and depth are looked at: those whose words count most.
pub const RANKED: usize = 1_000;
/// The same when links alone decide.
const RANKED_BY_LINKS: usize = 10_000;
/// Most hits of an answer.
pub const MOST_HITS: usize = 100;
/// Pages whose links are looked up together.
const LOOKED_UP: usize = 64;
/// Documents between two looks at the time.
const UNWATCHED: u64 = 4_096;

/// What is asked.
pub struct Search<'a> {
    /// What is looked for.
    pub ask: &'a Ask,
    /// What comes first.
    pub sort: Sort,
    /// Hits that are left out at the beginning.
    pub from: usize,
    /// Hits at most.
    pub limit: usize,
    /// Whether each hit tells how it came to its place.
    pub explain: bool,
    /// Hosts whose pages are not shown.
    pub hidden: &'a [String],
    /// As what the targets stand ([`link_key`](super::link_key)) that somebody may mean by a URL.
    pub targets: &'a dyn Fn(&str) -> Vec<u64>,
    /// Whether it has taken long enough.
    pub late: &'a dyn Fn() -> bool,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Pages that match; at least so many when it is `partial`.
    pub total: u64,
    /// It took too long, and is not all.
    pub partial: bool,
    /// The hits asked for.
    pub hits: Vec<Hit>,
    /// There are more behind them.
    pub more: bool,
}

/// A page that matches.
#[derive(Clone, Debug, Default)]
pub struct Hit {
    /// Its document's id: key of host and URL.
    pub id: [u8; ID],
    /// JSON of its card.
    pub card: String,
    /// What its words count, times what its links and depth make of it.
    pub score: f64,
    /// Pages with the same content that are not shown.
    pub same: u32,
    /// Links of it and to it, of pages that are in the index now.
    pub links: Links,
    /// Links from the nearest seed.
    pub depth: u64,
    /// Since when it has this content, as far as captures tell; milliseconds since 1970.
    pub changed: u64,
    /// It could not be fetched the last time.
    pub stale: bool,
    /// How it came to its place, when that was asked for.
    pub why: Vec<Why>,
}

/// A part of a score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Why {
    /// A word, or `links`, `depth`.
    pub what: String,
    /// Where it was found.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub field: Option<String>,
    /// What it counts; of `links` and `depth` by how much the sum is multiplied.
    pub counts: f64,
}

/// A page while it is ranked.
#[derive(Clone, Copy)]
struct Candidate {
    at: DocAddress,
    /// What its words count.
    words: f32,
    /// By this they are ordered, the highest first.
    key: f64,
}

/// A page in its place.
struct Placed {
    candidate: Candidate,
    links: Links,
    depth: u64,
    like: Like,
    score: f64,
    same: u32,
}

/// What a page shares with others that say the same: its content, and its title and the text that it is near to; 0 where nothing.
#[derive(Clone, Copy)]
struct Like {
    content: u64,
    near: u64,
}

/// Pages that came, by what others may share with them.
#[derive(Default)]
struct Folds([HashMap<u64, usize>; 2]);

impl Folds {
    /// Where the one stands that says the same, if one came.
    fn find(&self, like: Like) -> Option<usize> {
        let Self([contents, nears]) = self;
        contents.get(&like.content).or_else(|| nears.get(&like.near)).copied()
    }

    /// One came, and stands here.
    fn note(&mut self, like: Like, at: usize) {
        let Self([contents, nears]) = self;
        for (known, key) in [(contents, like.content), (nears, like.near)] {
            if key != 0 {
                known.entry(key).or_insert(at);
            }
        }
    }
}

impl Reader {
    /// Searches it.
    ///
    /// # Errors
    /// [`IndexError`]: it cannot be read.
    pub fn search(&self, search: &Search<'_>) -> Result<Found, IndexError> {
        let searcher = self.searcher();
        searched(self, &searcher, search).map_err(|e| self.failed(e))
    }
}

fn searched(reader: &Reader, searcher: &Searcher, search: &Search<'_>) -> tantivy::Result<Found> {
    // Of what was typed nothing can be looked for: that is not to find everything.
    if search.ask.is_empty() && !search.ask.left_out.is_empty() {
        return Ok(Found::default());
    }
    let queries = Queries::new(reader.fields(), searcher, search.targets)?;
    let query = queries.whole(search.ask, search.hidden)?;
    let columns = searcher.segment_readers().iter().map(Columns::of).collect::<tantivy::Result<Vec<_>>>()?;
    let rows = Rows::of(search.ask.row.as_ref(), reader.fields(), searcher)?;
    let (candidates, total, partial) = candidates(searcher, &columns, (&*query, &rows), search)?;
    let mut placed = placed(&Linked::of(searcher, reader.fields())?, &columns, candidates, search)?;
    let more = placed.len() > search.from.saturating_add(search.limit);
    placed = placed.into_iter().skip(search.from).take(search.limit).collect();
    let parts = if search.explain { queries.parts(search.ask) } else { Vec::new() };
    let hits = placed.into_iter().map(|page| hit(reader, searcher, &columns, page, &parts));
    Ok(Found { total, partial, more, hits: hits.collect::<tantivy::Result<_>>()? })
}

/// The columns of a segment.
struct Columns {
    own: Column<u64>,
    captured: Column<u64>,
    changed: Column<u64>,
    out_links: Column<u64>,
    depth: Column<u64>,
    content: Column<u64>,
    near: Column<u64>,
    stale: Column<u64>,
}

impl Columns {
    fn like(&self, doc: DocId) -> Like {
        Like { content: value(&self.content, doc), near: value(&self.near, doc) }
    }

    fn of(segment: &SegmentReader) -> tantivy::Result<Self> {
        let column = |name| segment.fast_fields().u64(name);
        Ok(Self {
            own: column("own")?,
            captured: column("captured")?,
            changed: column("changed")?,
            out_links: column("out_links")?,
            depth: column("depth")?,
            content: column("content")?,
            near: column("near")?,
            stale: column("stale")?,
        })
    }
}

fn value(column: &Column<u64>, document: DocId) -> u64 {
    column.first(document).unwrap_or_default()
}

/// The columns of a page's segment.
fn columns_at(columns: &[Columns], at: DocAddress) -> tantivy::Result<&Columns> {
    let missing = || tantivy::TantivyError::InternalError("a segment without columns".into());
    columns.get(at.segment_ord as usize).ok_or_else(missing)
}

/// The best pages, how many match, and whether that is not all.
fn candidates(
    searcher: &Searcher,
    columns: &[Columns],
    (query, rows): (&dyn Query, &Rows),
    search: &Search<'_>,
) -> tantivy::Result<(Vec<Candidate>, u64, bool)> {
    let by_links = matches!(search.sort, Sort::Priority | Sort::InLinks);
    let mut best = Best::new(if by_links { RANKED_BY_LINKS } else { RANKED });
    let weight = query.weight(EnableScoring::enabled_from_searcher(searcher))?;
    let (mut total, mut looked_at) = (0, 0_u64);
    for ((segment_ord, segment), columns) in (0..).zip(searcher.segment_readers()).zip(columns) {
        let (mut scorer, mut rows) = (weight.scorer(segment, 1.0)?, rows.within(segment)?);
        let mut doc = scorer.doc();
        while doc != TERMINATED {
            looked_at += 1;
            if looked_at.is_multiple_of(UNWATCHED) && (search.late)() {
                return Ok((best.finish(), total, true));
            }
            if !segment.is_deleted(doc) {
                total += 1;
                let at = DocAddress::new(segment_ord, doc);
                let by_column = match search.sort {
                    Sort::Relevance | Sort::Priority | Sort::InLinks => None,
                    Sort::OutLinks => Some(value(&columns.out_links, doc) as f64),
                    Sort::Newest => Some(value(&columns.captured, doc) as f64),
                };
                match by_column {
                    None => {
                        let words = rows.add(scorer.score(), doc, best.least);
                        best.add(Candidate { at, words, key: f64::from(words) });
                    }
                    Some(key) if key > best.least => {
                        best.add(Candidate { at, words: rows.add(scorer.score(), doc, f64::NEG_INFINITY), key });
                    }
                    Some(_) => {}
                }
            }
            doc = scorer.advance();
        }
        if (search.late)() {
            return Ok((best.finish(), total, true));
        }
    }
    Ok((best.finish(), total, false))
}

/// The best of all that were added.
struct Best {
    most: usize,
    kept: Vec<Candidate>,
    /// What is not better is none of them.
    least: f64,
}

impl Best {
    fn new(most: usize) -> Self {
        Self { most, kept: Vec::new(), least: f64::NEG_INFINITY }
    }

    fn add(&mut self, candidate: Candidate) {
        if candidate.key > self.least {
            self.kept.push(candidate);
            if self.kept.len() >= 2 * self.most {
                self.shrink();
            }
        }
    }

    fn shrink(&mut self) {
        if self.kept.len() > self.most {
            let order = |a: &Candidate, b: &Candidate| b.key.total_cmp(&a.key).then(a.at.cmp(&b.at));
            let (_, last, _) = self.kept.select_nth_unstable_by(self.most - 1, order);
            self.least = last.key;
            self.kept.truncate(self.most);
        }
    }

    fn finish(mut self) -> Vec<Candidate> {
        self.shrink();
        self.kept
    }
}

/// The pages in their order, those of the same content as one: as many as are asked for, and at least one more when there is one.
fn placed(
    linked: &Linked,
    columns: &[Columns],
    candidates: Vec<Candidate>,
    search: &Search<'_>,
) -> tantivy::Result<Vec<Placed>> {
    let key = |page: &Placed| match search.sort {
        Sort::Relevance => page.score,
        Sort::Priority => page.links.priority(),
        Sort::InLinks => page.links.in_links as f64,
        Sort::OutLinks | Sort::Newest => page.candidate.key,
    };
    // Links take long to look up: those of pages that cannot come so far to the front whatever links to them stay unknown.
    let mut waiting = Vec::with_capacity(candidates.len());
    for candidate in candidates {
        let doc = candidate.at.doc_id;
        let columns = columns_at(columns, candidate.at)?;
        let reach = match search.sort {
            Sort::Relevance => candidate.key * most(value(&columns.depth, doc)),
            Sort::OutLinks | Sort::Newest => candidate.key,
            Sort::Priority | Sort::InLinks => f64::INFINITY,
        };
        waiting.push((reach, columns.like(doc), candidate));
    }
    waiting.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.2.at.cmp(&b.2.at)));
    let wanted = search.from.saturating_add(search.limit).saturating_add(1);
    let (mut placed, mut waiting) = (Vec::new(), waiting.as_slice());
    while let Some((reach, ..)) = waiting.first()
        && contents_above(&placed, *reach, key) < wanted
    {
        let (these, behind) = waiting.split_at(waiting.len().min(LOOKED_UP));
        for (.., candidate) in these {
            placed.push(place(linked, columns, *candidate)?);
        }
        waiting = behind;
    }
    placed.sort_by(|a, b| {
        key(b).total_cmp(&key(a)).then(b.score.total_cmp(&a.score)).then(a.candidate.at.cmp(&b.candidate.at))
    });
    Ok(folded(placed, waiting.iter().map(|(_, like, _)| *like)))
}

/// How many different pages surely come before what reaches so far.
fn contents_above(placed: &[Placed], reach: f64, key: impl Fn(&Placed) -> f64) -> usize {
    let (mut folds, mut different) = (Folds::default(), 0);
    for page in placed.iter().filter(|page| key(page) > reach) {
        different += usize::from(folds.find(page.like).is_none());
        folds.note(page.like, 0);
    }
    different
}

/// What links and depth make of a page. Links are those of the term: pages that went meanwhile are among them.
fn place(linked: &Linked, columns: &[Columns], candidate: Candidate) -> tantivy::Result<Placed> {
    let (doc, columns) = (candidate.at.doc_id, columns_at(columns, candidate.at)?);
    let [in_links, in_external] = linked.to(value(&columns.own, doc))?;
    let links = Links { out_links: value(&columns.out_links, doc), in_links, in_external };
    let depth = value(&columns.depth, doc);
    let score = factors(links, depth).iter().fold(f64::from(candidate.words), |score, factor| score * factor);
    Ok(Placed { candidate, links, depth, like: columns.like(doc), score, same: 0 })
}

/// Of pages that say the same the first, which tells how many there are, with those `behind`.
fn folded(placed: Vec<Placed>, behind: impl Iterator<Item = Like>) -> Vec<Placed> {
    let mut folds = Folds::default();
    let mut shown: Vec<Placed> = Vec::with_capacity(placed.len());
    for page in placed {
        match folds.find(page.like).and_then(|first| shown.get_mut(first)) {
            Some(first) => first.same += 1,
            None => {
                folds.note(page.like, shown.len());
                shown.push(page);
            }
        }
    }
    for like in behind {
        if let Some(first) = folds.find(like).and_then(|first| shown.get_mut(first)) {
            first.same += 1;
        }
    }
    shown
}

fn hit(
    reader: &Reader,
    searcher: &Searcher,
    columns: &[Columns],
    page: Placed,
    parts: &[(String, &'static str, Box<dyn Query>)],
) -> tantivy::Result<Hit> {
    let (at, fields) = (page.candidate.at, reader.fields());
    let (doc, columns) = (at.doc_id, columns_at(columns, at)?);
    let document: TantivyDocument = searcher.doc(at)?;
    let own = value(&columns.own, doc);
    let living = |field| living(searcher, &Term::from_field_u64(field, own));
    let links = Links { in_links: living(fields.links)?, in_external: living(fields.links_ext)?, ..page.links };
    let mut why = Vec::new();
    for (what, field, query) in parts {
        let weight = query.weight(EnableScoring::enabled_from_searcher(searcher))?;
        let counts = counts(&*weight, searcher.segment_reader(at.segment_ord), doc)?;
        why.extend(counts.map(|counts| Why { what: what.clone(), field: Some((*field).into()), counts }));
    }
    if !parts.is_empty() {
        let [linked, deep] = factors(page.links, page.depth);
        why.push(Why { what: "links".into(), field: None, counts: linked });
        why.push(Why { what: "depth".into(), field: None, counts: deep });
    }
    let id = document.get_first(fields.id).and_then(|id| id.as_bytes()?.try_into().ok());
    Ok(Hit {
        id: id.unwrap_or_default(),
        card: document.get_first(fields.card).and_then(|card| card.as_str()).unwrap_or("{}").to_owned(),
        score: page.score,
        same: page.same,
        links,
        depth: page.depth,
        changed: value(&columns.changed, doc),
        stale: value(&columns.stale, doc) == 1,
        why,
    })
}

fn counts(weight: &dyn Weight, segment: &SegmentReader, doc: DocId) -> tantivy::Result<Option<f64>> {
    let mut scorer = weight.scorer(segment, 1.0)?;
    let found = if scorer.doc() < doc { scorer.seek(doc) } else { scorer.doc() };
    Ok((found == doc).then(|| f64::from(scorer.score())))
}
