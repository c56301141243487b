//! Makes what somebody looks for into queries of the library.

use std::collections::BTreeMap;
use std::ops::Bound;

use tantivy::query::{
    AllQuery, BooleanQuery, BoostQuery, ConstScoreQuery, EmptyQuery, Occur, PhrasePrefixQuery, PhraseQuery, Query,
    RangeQuery, RegexQuery, TermQuery, TermSetQuery,
};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{Searcher, Term};

use super::dismax::BestOf;
use super::rank;
use super::schema::Fields;
use crate::domain::ask::{Ask, Clause, Filter, Part, Sought, Where};
use crate::domain::host::is_registrable;
use crate::domain::words::{Stem, is_unspaced, ranges};

/// Words that one beginning may stand for.
const EXPANSIONS: u32 = 2_000;
/// Languages whose stems are looked for: the commonest of the index.
const LANGUAGES: usize = 5;

type Boxed = Box<dyn Query>;

/// Makes queries.
pub(super) struct Queries<'a> {
    fields: &'a Fields,
    stems: Vec<Stem>,
    /// As what the targets stand that somebody may mean by a URL.
    targets: &'a dyn Fn(&str) -> Vec<u64>,
}

impl<'a> Queries<'a> {
    pub fn new(
        fields: &'a Fields,
        searcher: &Searcher,
        targets: &'a dyn Fn(&str) -> Vec<u64>,
    ) -> tantivy::Result<Self> {
        Ok(Self { fields, stems: stems(searcher, fields.lang)?, targets })
    }

    /// What a page is to have, without those of `hidden` hosts.
    pub fn whole(&self, ask: &Ask, hidden: &[String]) -> tantivy::Result<Boxed> {
        let mut clauses = Vec::new();
        for clause in &ask.clauses {
            clauses.push((if clause.not { Occur::MustNot } else { Occur::Must }, self.clause(clause)?));
        }
        if !clauses.iter().any(|(occur, _)| *occur == Occur::Must) {
            clauses.push((Occur::Must, Box::new(AllQuery)));
        }
        // One without an open end is added by whoever goes through the pages ([`Rows`](super::row::Rows)).
        if let Some(row) = ask.row.as_ref().filter(|row| row.open) {
            for (field, weight) in [self.fields.text, self.fields.title].into_iter().zip(rank::ROW) {
                clauses.push((Occur::Should, boosted(phrase(field, row), weight)));
            }
        }
        clauses.extend(without(self.fields, hidden));
        Ok(Box::new(BooleanQuery::new(clauses)))
    }

    /// What each word counts in each field: to show how a page came to its place.
    pub fn parts(&self, ask: &Ask) -> Vec<(String, &'static str, Boxed)> {
        let mut parts = Vec::new();
        for sought in ask.wanted() {
            parts.extend(self.scored(sought).into_iter().map(|(field, query)| (sought.text.clone(), field, query)));
        }
        if let Some(row) = &ask.row {
            for (name, (field, weight)) in
                ["text", "title"].into_iter().zip([self.fields.text, self.fields.title].into_iter().zip(rank::ROW))
            {
                parts.push((format!("\"{}\"", row.text), name, boosted(phrase(field, row), weight)));
            }
        }
        parts
    }

    fn clause(&self, clause: &Clause) -> tantivy::Result<Boxed> {
        let mut any = Vec::new();
        for all in &clause.any {
            let parts = all.iter().map(|part| self.part(part, clause.not)).collect::<tantivy::Result<Vec<_>>>()?;
            any.push(one_or(parts, |parts| Box::new(BooleanQuery::intersection(parts))));
        }
        Ok(one_or(any, |any| Box::new(BooleanQuery::union(any))))
    }

    fn part(&self, part: &Part, not: bool) -> tantivy::Result<Boxed> {
        let only = |name: &str, sought| {
            let fields = rank::weighed(self.fields).into_iter().filter(|(field, ..)| *field == name);
            one_or(fields.map(|(_, field, weight)| boosted(phrase(field, sought), weight)).collect(), |_| {
                Box::new(EmptyQuery)
            })
        };
        Ok(match part {
            Part::Text(Where::Any, sought) if not => {
                let fields = rank::weighed(self.fields);
                Box::new(BooleanQuery::union(fields.into_iter().map(|(_, field, _)| phrase(field, sought)).collect()))
            }
            Part::Text(Where::Any, sought) => {
                let scored = self.scored(sought).into_iter().map(|(_, query)| query).collect();
                Box::new(BestOf::new(scored, rank::TIE))
            }
            Part::Text(Where::Title, sought) => only("title", sought),
            Part::Text(Where::Url, sought) => only("url", sought),
            Part::Text(Where::Keys, sought) => only("keys", sought),
            Part::Filter(filter) => Box::new(ConstScoreQuery::new(self.filter(filter)?, 0.0)),
        })
    }

    /// A word wherever it may stand, with what it counts there.
    fn scored(&self, sought: &Sought) -> Vec<(&'static str, Boxed)> {
        let fields = rank::weighed(self.fields);
        let mut any: Vec<(&'static str, Boxed)> =
            fields.map(|(name, field, weight)| (name, boosted(phrase(field, sought), weight))).into();
        let unspaced = sought.text.starts_with(is_unspaced);
        match (sought.word, unspaced, sought.terms.as_slice()) {
            (true, true, _) => any.push(("words", boosted(term(self.fields.words, &sought.text), rank::WORDS))),
            (true, false, [(_, word)]) => self.stems(word, &mut any),
            (true, false, _) => {
                for (name, field, weight) in fields {
                    any.push((name, boosted(term(field, &sought.text), weight * rank::WHOLE)));
                }
            }
            (false, ..) => {}
        }
        any
    }

    /// A word with another ending, or none.
    fn stems(&self, word: &str, any: &mut Vec<(&'static str, Boxed)>) {
        let mut bares = Vec::new();
        for stem in &self.stems {
            let bare = stem.bare(word);
            any.push(("stems", boosted(term(self.fields.stems, &stem.term(&bare)), rank::STEM)));
            if bare != word && !bares.contains(&bare) {
                for (name, field, weight) in rank::weighed(self.fields) {
                    any.push((name, boosted(term(field, &bare), weight * rank::STEM)));
                }
                bares.push(bare);
            }
        }
    }

    fn filter(&self, filter: &Filter) -> tantivy::Result<Boxed> {
        let fields = self.fields;
        let time = |lower, upper| Box::new(RangeQuery::new(lower, upper)) as Boxed;
        let captured = |at: &crate::base::time::UnixMillis| Term::from_field_u64(fields.captured, at.0);
        Ok(match filter {
            Filter::Host(host) => term(fields.host, host),
            Filter::Site(host) if is_registrable(host) => term(fields.site, host),
            Filter::Site(host) => {
                Box::new(RegexQuery::from_pattern(&format!("(.*\\.)?{}", literal(host)), fields.host)?)
            }
            Filter::Language(tag) => {
                let all: Vec<Boxed> = ranges(tag).map(|range| term(fields.lang, &range)).collect();
                one_or(all, |all| Box::new(BooleanQuery::intersection(all)))
            }
            Filter::Mime(mime) if mime.ends_with('/') => {
                Box::new(RegexQuery::from_pattern(&format!("{}.*", literal(mime)), fields.mime)?)
            }
            Filter::Mime(mime) => term(fields.mime, mime),
            Filter::Links(url) => {
                let targets = (self.targets)(url).into_iter().map(|key| Term::from_field_u64(fields.links, key));
                let any: Vec<Boxed> = targets.map(|target| Box::new(basic(target)) as Boxed).collect();
                one_or(any, |any| Box::new(BooleanQuery::union(any)))
            }
            Filter::Since(at) => time(Bound::Included(captured(at)), Bound::Unbounded),
            Filter::Before(at) => time(Bound::Unbounded, Bound::Excluded(captured(at))),
        })
    }
}

/// That a page is of none of these hosts; nothing when there are none.
pub(super) fn without(fields: &Fields, hosts: &[String]) -> Option<(Occur, Boxed)> {
    let terms = hosts.iter().map(|host| Term::from_field_text(fields.host, host));
    (!hosts.is_empty()).then(|| (Occur::MustNot, Box::new(TermSetQuery::new(terms)) as Boxed))
}

/// The one, or what is made of all; none is nothing.
fn one_or(mut queries: Vec<Boxed>, make: impl FnOnce(Vec<Boxed>) -> Boxed) -> Boxed {
    match queries.len() {
        0 => Box::new(EmptyQuery),
        1 => queries.remove(0),
        _ => make(queries),
    }
}

fn boosted(query: Boxed, weight: f32) -> Boxed {
    Box::new(BoostQuery::new(query, weight))
}

fn term(field: Field, text: &str) -> Boxed {
    Box::new(TermQuery::new(Term::from_field_text(field, text), IndexRecordOption::WithFreqs))
}

fn basic(term: Term) -> TermQuery {
    TermQuery::new(term, IndexRecordOption::Basic)
}

/// Tokens in a field, each in its place.
fn phrase(field: Field, sought: &Sought) -> Boxed {
    let terms = || sought.terms.iter().map(|(place, text)| (*place as usize, Term::from_field_text(field, text)));
    match sought.terms.as_slice() {
        [(_, text)] if !sought.open => term(field, text),
        [] => Box::new(EmptyQuery),
        _ if sought.open => {
            let mut query = PhrasePrefixQuery::new_with_offset(terms().collect());
            query.set_max_expansions(EXPANSIONS);
            Box::new(query)
        }
        _ => Box::new(PhraseQuery::new_with_offset(terms().collect())),
    }
}

/// A text as a pattern of itself.
fn literal(text: &str) -> String {
    text.chars()
        .flat_map(|c| (!c.is_ascii_alphanumeric() && c.is_ascii()).then_some('\\').into_iter().chain([c]))
        .collect()
}

/// Of the commonest languages of an index.
fn stems(searcher: &Searcher, lang: Field) -> tantivy::Result<Vec<Stem>> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for segment in searcher.segment_readers() {
        let index = segment.inverted_index(lang)?;
        let mut terms = index.terms().stream()?;
        while terms.advance() {
            let language = String::from_utf8_lossy(terms.key()).into_owned();
            *counts.entry(language).or_default() += u64::from(terms.value().doc_freq);
        }
    }
    let mut counts: Vec<_> = counts.into_iter().filter_map(|(lang, count)| Some((Stem::of(&lang)?, count))).collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    Ok(counts.into_iter().take(LANGUAGES).map(|(stem, _)| stem).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::time::UnixMillis;
    use crate::domain::host::registrable_domain;
    use crate::domain::words::{BLOCK_GAP, TokenList, form, ranked, tokens};
    use crate::index::{Entry, Found, Reader, Search, Sort, Stand, Writer};

    /// Tokens of blocks apart by `/`.
    fn listed(text: &str, stems: &mut TokenList, stem: Option<Stem>) -> TokenList {
        let (mut list, mut place) = (TokenList::default(), 0);
        for block in text.split(" / ") {
            place = BLOCK_GAP
                + tokens(&form(block), place, |token| {
                    list.push(token.text, token.place);
                    if let Some(stem) = stem
                        && stem.bare(token.text) != token.text
                    {
                        stems.push(&stem.term(&stem.bare(token.text)), 0);
                    }
                    true
                });
        }
        list
    }

    fn entry(id: u8, host: &str, title: &str, text: &str) -> Entry {
        let language = if text.is_ascii() { "en" } else { "zh" };
        let (mut stems, mut words) = (TokenList::default(), TokenList::default());
        let text_tokens = listed(text, &mut stems, Stem::of(language));
        ranked(&form(text), |word| words.push(word, 0));
        Entry {
            id: [id; 20],
            host: host.into(),
            site: registrable_domain(host).into(),
            title: listed(title, &mut TokenList::default(), None),
            text: text_tokens,
            words,
            stems,
            own: u64::from(id),
            captured: 1_000 * u64::from(id),
            out_links: 20 - u32::from(id),
            lang: Some(language.into()),
            mime: if id == 4 { "text/plain" } else { "text/html" }.into(),
            card: format!("{{\"n\":{id}}}"),
            ..Entry::default()
        }
    }

    fn reader(dir: &std::path::Path) -> Reader {
        let mut writer = Writer::open(dir, 16 << 20).unwrap();
        let entries = [
            Entry {
                links: vec![2, 3],
                links_ext: vec![3],
                ..entry(1, "a.test", "Spiders", "A spider spins its web / dark")
            },
            Entry { links: vec![3], content: 7, ..entry(2, "www.a.test", "Webs", "The dark web of a spider of C++") },
            Entry { content: 7, ..entry(3, "b.test", "Insects", "An ant spins nothing, a node.js neither") },
            entry(4, "c.b.test", "搜索", "这里有一个搜索引擎，在圖書館。 / 第3章节"),
            entry(5, "b.test", "索引", "索引 在 图书 里。没有网，络绎"),
        ];
        // Two segments.
        for (nth, entry) in entries.iter().enumerate() {
            writer.add(entry).unwrap();
            if nth == 2 {
                writer.commit(&Stand::default()).unwrap();
            }
        }
        writer.commit(&Stand::default()).unwrap();
        Reader::open(dir).unwrap()
    }

    fn found(reader: &Reader, query: &str, sort: Sort, late: &dyn Fn() -> bool) -> Found {
        let ask = Ask::read(query, UnixMillis(1_000_000)).unwrap();
        let targets = |url: &str| url.parse().into_iter().collect();
        let search = Search {
            ask: &ask,
            sort,
            from: 0,
            limit: 10,
            explain: true,
            hidden: &["hidden.test".into()],
            targets: &targets,
            late,
        };
        reader.search(&search).unwrap()
    }

    fn ids(found: &Found) -> String {
        found.hits.iter().map(|hit| char::from(b'0' + hit.id[0])).collect()
    }

    #[test]
    fn each_operator_finds_what_it_says() {
        let dir = tempfile::tempdir().unwrap();
        let reader = reader(dir.path());
        for (query, wanted) in [
            ("spider", "12"),
            ("spiders", "12"),
            ("spider spins", "1"),
            ("\"spider spins its\"", "1"),
            ("\"web dark\"", ""),
            ("\"dark web\"", "2"),
            ("web -dark", ""),
            ("spins -spider", "3"),
            ("-\"dark web\" spid*", "1"),
            ("ant OR dark", "123"),
            ("spi*", "123"),
            ("c++", "2"),
            ("node.js", "3"),
            ("js", "3"),
            ("title:spiders", "1"),
            ("title:web*", "2"),
            ("host:a.test", "1"),
            ("site:a.test", "12"),
            ("site:c.b.test", "4"),
            ("site:test", "12345"),
            ("site:est", ""),
            ("site:b.test -lang:zh", "3"),
            ("lang:zh", "45"),
            ("mime:text/plain", "4"),
            ("mime:text/", "12345"),
            ("links:3 spider", "12"),
            ("since:998s", "2345"),
            ("before:998s", "1"),
            ("搜索", "4"),
            ("索引", "54"),
            ("\"搜索引擎\"", "4"),
            ("搜索引擎 圖书馆", "4"),
            ("\"第3章\"", "4"),
            ("\"没有网络\"", ""),
            ("没有网络", ""),
            ("\"没有网，络绎\"", "5"),
            ("擎", "4"),
            ("书", "45"),
            ("图书", "45"),
            ("", "12345"),
            ("nowhere", ""),
        ] {
            let found = found(&reader, query, Sort::Relevance, &|| false);
            let mut sorted: Vec<_> = ids(&found).into_bytes();
            sorted.sort_unstable();
            let mut expected = wanted.as_bytes().to_vec();
            expected.sort_unstable();
            // Pages with the same content are one.
            let same: u32 = found.hits.iter().map(|hit| hit.same).sum();
            assert_eq!(found.total, wanted.len() as u64, "{query}: {found:?}");
            assert_eq!(sorted.len() + same as usize, expected.len(), "{query}: {found:?}");
            assert!(sorted.iter().all(|id| expected.contains(id)), "{query}: {found:?}");
        }
    }

    #[test]
    fn what_is_a_word_comes_before_what_only_looks_so_and_a_title_before_a_text() {
        let dir = tempfile::tempdir().unwrap();
        let reader = reader(dir.path());
        for (query, sort, wanted) in [
            ("索引", Sort::Relevance, "54"),
            ("spiders", Sort::Relevance, "12"),
            ("spider", Sort::Newest, "21"),
            ("spider", Sort::OutLinks, "12"),
            ("spider", Sort::InLinks, "21"),
            ("site:b.test", Sort::Priority, "345"),
        ] {
            assert_eq!(ids(&found(&reader, query, sort, &|| false)), wanted, "{query} {sort}");
        }
    }

    #[test]
    fn pages_near_to_one_text_under_one_title_are_one_hit_and_those_of_another_title_are_not() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = Writer::open(dir.path(), 16 << 20).unwrap();
        for (id, content, near) in [(1, 1, 40), (2, 2, 40), (3, 1, 0), (4, 4, 41), (5, 5, 0)] {
            writer.add(&Entry { content, near, ..entry(id, "a.test", "Spiders", "A spider") }).unwrap();
        }
        writer.commit(&Stand::default()).unwrap();
        let found = found(&Reader::open(dir.path()).unwrap(), "spider", Sort::Relevance, &|| false);
        let hits: Vec<_> = found.hits.iter().map(|hit| (hit.id[0], hit.same)).collect();
        assert_eq!(hits, [(1, 2), (4, 0), (5, 0)], "2 is near to 1, and 3 is 1 once more");
    }

    #[test]
    fn a_hit_tells_its_links_its_like_and_how_it_came_to_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let found = found(&reader(dir.path()), "mime:text/html -spider OR ant", Sort::InLinks, &|| false);
        assert_eq!(ids(&found), "3");
        let found =
            super::tests::found(&reader(tempfile::tempdir().unwrap().path()), "lang:en", Sort::InLinks, &|| false);
        let first = &found.hits[0];
        assert_eq!((first.id[0], first.same, first.links.in_links, first.links.in_external), (3, 1, 2, 1));
        assert_eq!(first.card, "{\"n\":3}");
        let found =
            super::tests::found(&reader(tempfile::tempdir().unwrap().path()), "dark web", Sort::Relevance, &|| false);
        let why: Vec<String> = found.hits[0].why.iter().map(|why| format!("{} {:?}", why.what, why.field)).collect();
        for part in ["dark Some(\"text\")", "\"dark web\" Some(\"text\")", "links None", "depth None"] {
            assert!(why.iter().any(|told| told == part), "{part}: {why:?}");
        }
    }

    #[test]
    fn a_search_that_takes_too_long_says_that_it_is_not_all() {
        let dir = tempfile::tempdir().unwrap();
        let found = found(&reader(dir.path()), "lang:en OR lang:zh", Sort::Relevance, &|| true);
        assert!(found.partial && found.total == 3, "{found:?}");
    }
}
