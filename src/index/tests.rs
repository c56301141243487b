use tantivy::collector::{Count, DocSetCollector, TopDocs};
use tantivy::query::{BooleanQuery, BoostQuery, DisjunctionMaxQuery, Occur, PhraseQuery, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption, Value};
use tantivy::{TantivyDocument, Term};

use super::*;
use crate::base::time::UnixMillis;
use crate::domain::ask::Ask;
use crate::domain::words::TokenList;

const ARENA: usize = 16 << 20;

fn tokens(words: &[(&str, u32)]) -> TokenList {
    words.iter().copied().collect()
}

fn page(id: u8, seq: u64) -> Entry {
    Entry {
        id: [id; 20],
        host: "example.org".into(),
        site: "example.org".into(),
        title: tokens(&[("wolf", 0), ("spider", 1)]),
        text: tokens(&[("狼蛛", 0), ("蛛不", 1), ("spider", 11)]),
        links: vec![7, u64::MAX],
        seq,
        captured: 1_700_000_000_000,
        status: 200,
        lang: Some("zh".into()),
        mime: "text/html".into(),
        card: format!("{{\"n\":{id}}}"),
        ..Entry::default()
    }
}

fn stand(seq: u64) -> Stand {
    Stand { log: "0011223344556677".into(), seq, schema: schema::SCHEMA, ..Stand::default() }
}

fn hits(reader: &Reader, term: Term) -> usize {
    reader.searcher().search(&TermQuery::new(term, IndexRecordOption::Basic), &Count).unwrap()
}

fn word(field: Field, word: &str) -> Term {
    Term::from_field_text(field, word)
}

#[test]
fn a_document_comes_back_by_each_of_its_fields() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = Writer::open(dir.path(), ARENA).unwrap();
    assert_eq!(writer.stand().unwrap(), None);
    writer.add(&page(1, 1)).unwrap();
    writer.add(&Entry { links: vec![8], lang: None, ..page(2, 2) }).unwrap();
    writer.commit(&stand(2)).unwrap();

    let reader = Reader::open(dir.path()).unwrap();
    let fields = *reader.fields();
    assert_eq!(reader.stand().unwrap(), Some(stand(2)));
    for (term, expected) in [
        (Term::from_field_bytes(fields.id, &[1; 20]), 1),
        (word(fields.host, "example.org"), 2),
        (word(fields.title, "spider"), 2),
        (word(fields.title, "spid"), 0),
        (word(fields.lang, "zh"), 1),
        (Term::from_field_u64(fields.links, 7), 1),
        (Term::from_field_u64(fields.links, u64::MAX), 1),
        (Term::from_field_u64(fields.links, 8), 1),
    ] {
        assert_eq!(hits(&reader, term.clone()), expected, "{term:?}");
    }
    let searcher = reader.searcher();
    for (phrase, expected) in [(["狼蛛", "蛛不"], 2), (["蛛不", "spider"], 0)] {
        let query = PhraseQuery::new(phrase.map(|w| word(fields.text, w)).to_vec());
        assert_eq!(searcher.search(&query, &Count).unwrap(), expected, "{phrase:?}");
    }
    let query = TermQuery::new(Term::from_field_bytes(fields.id, &[2; 20]), IndexRecordOption::Basic);
    let found = searcher.search(&query, &DocSetCollector).unwrap();
    let at = *found.iter().next().unwrap();
    let document: TantivyDocument = searcher.doc(at).unwrap();
    assert_eq!(document.get_first(fields.card).and_then(|v| v.as_str()), Some("{\"n\":2}"));
    let seq = searcher.segment_reader(at.segment_ord).fast_fields().u64("seq").unwrap();
    assert_eq!(seq.first(at.doc_id), Some(2));
}

#[test]
fn what_is_not_committed_is_not_there_and_what_is_deleted_goes() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = Writer::open(dir.path(), ARENA).unwrap();
    writer.add(&page(1, 1)).unwrap();
    writer.commit(&stand(1)).unwrap();
    let reader = Reader::open(dir.path()).unwrap();
    let title = word(reader.fields().title, "spider");
    writer.delete(&[1; 20]);
    writer.add(&page(1, 3)).unwrap();
    assert_eq!(hits(&reader, title.clone()), 1);
    drop(writer); // as a kill does

    let mut writer = Writer::open(dir.path(), ARENA).unwrap();
    assert_eq!(writer.stand().unwrap(), Some(stand(1)));
    writer.delete(&[1; 20]);
    writer.add(&page(1, 3)).unwrap();
    writer.add(&page(2, 4)).unwrap();
    writer.delete(&[2; 20]);
    writer.commit(&stand(4)).unwrap();
    reader.reload().unwrap();
    assert_eq!((hits(&reader, title), reader.stand().unwrap()), (1, Some(stand(4))));
    writer.close().unwrap();
}

#[test]
fn a_document_waits_for_room_and_one_that_is_too_large_has_it_alone() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = Writer::open(dir.path(), ARENA).unwrap();
    let long: TokenList = (0..200_000).map(|n| ("spiderwebs", n)).collect();
    for id in 0..30 {
        writer.add(&Entry { text: long.clone(), ..page(id, 1) }).unwrap();
    }
    writer.add(&Entry { card: "x".repeat(40 << 20), ..page(31, 1) }).unwrap();
    writer.commit(&stand(1)).unwrap();
    let reader = Reader::open(dir.path()).unwrap();
    assert_eq!(reader.searcher().num_docs(), 31);
}

/// What the library's own queries say: words in their best field, words in a row, times what links and depth make of it.
#[test]
fn pages_come_in_the_order_of_what_all_of_them_count() {
    const PAGES: u64 = 4_000;
    const WORDS: [&str; 5] = ["wolf", "spider", "web", "dark", "ant"];
    let dir = tempfile::tempdir().unwrap();
    let mut writer = Writer::open(dir.path(), ARENA).unwrap();
    let dice = |n: u64, most: u64| xxhash_rust::xxh3::xxh3_64(&n.to_be_bytes()) % most;
    let words = |from: u64, count: u64| -> TokenList {
        (0..count).map(|n| (WORDS[dice(from + n, 5) as usize], n as u32)).collect()
    };
    let (mut in_links, depth) = (vec![0_u64; PAGES as usize], |n| (n % 6) as u16);
    for n in 0..PAGES {
        let links = vec![dice(n, PAGES / 9), n / 40];
        let mut distinct = links.clone();
        distinct.dedup();
        distinct.iter().for_each(|target| in_links[*target as usize] += 1);
        let mut id = [0; 20];
        id[..8].copy_from_slice(&n.to_be_bytes());
        let (title, text) = (words(1_000 * n, n % 3), words(2_000_000_000 + 1_000 * n, 1 + dice(n, 15)));
        let page = page(0, n);
        writer.add(&Entry { id, own: n, links: distinct, title, text, depth: depth(n), lang: None, ..page }).unwrap();
        if n % 1_500 == 1_499 {
            writer.commit(&stand(n)).unwrap();
        }
    }
    writer.commit(&stand(PAGES)).unwrap();
    let reader = Reader::open(dir.path()).unwrap();
    let (searcher, fields) = (reader.searcher(), *reader.fields());
    for (asked, row) in
        [("spider", &[][..]), ("wolf spider", &["wolf", "spider"]), ("dark web dark", &["dark", "web", "dark"])]
    {
        let boosted = |query: Box<dyn Query>, weight| Box::new(BoostQuery::new(query, weight)) as Box<dyn Query>;
        let mut clauses: Vec<(Occur, Box<dyn Query>)> = Vec::new();
        let ask = Ask::read(asked, UnixMillis(0)).unwrap();
        for sought in ask.wanted() {
            let of = |(_, field, weight)| {
                boosted(Box::new(TermQuery::new(word(field, &sought.text), IndexRecordOption::WithFreqs)), weight)
            };
            let any = rank::weighed(&fields).map(of).into();
            clauses.push((Occur::Must, Box::new(DisjunctionMaxQuery::with_tie_breaker(any, rank::TIE))));
        }
        for (field, weight) in [fields.text, fields.title].into_iter().zip(rank::ROW).filter(|_| !row.is_empty()) {
            let phrase = PhraseQuery::new(row.iter().map(|each| word(field, each)).collect());
            clauses.push((Occur::Should, boosted(Box::new(phrase), weight)));
        }
        let all = TopDocs::with_limit(PAGES as usize).order_by_score();
        let mut pages = searcher.search(&BooleanQuery::new(clauses), &all).unwrap();
        pages.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let total = pages.len() as u64;
        let scored = pages.into_iter().take(search::RANKED).map(|(words, at)| {
            let seq = searcher.segment_reader(at.segment_ord).fast_fields().u64("seq").unwrap();
            let n = seq.first(at.doc_id).unwrap();
            let links = Links { in_links: in_links[n as usize], ..Links::default() };
            (rank::factors(links, u64::from(depth(n))).iter().fold(f64::from(words), |score, by| score * by), at, n)
        });
        let mut wanted: Vec<_> = scored.collect();
        wanted.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        for (from, limit) in [(0, 1), (0, 10), (90, 100)] {
            let targets = |_: &str| Vec::new();
            let search = Search {
                ask: &ask,
                sort: Sort::Relevance,
                from,
                limit,
                explain: false,
                hidden: &[],
                targets: &targets,
                late: &|| false,
            };
            let found = reader.search(&search).unwrap();
            assert_eq!((found.total, found.hits.len(), found.more), (total, limit, true), "{asked} from {from}");
            for (hit, (score, ..)) in found.hits.iter().zip(wanted.iter().skip(from)) {
                let id = u64::from_be_bytes(*hit.id.first_chunk().unwrap());
                let own = wanted.iter().find(|(.., n)| *n == id).unwrap().0;
                // Sums of parts in another order differ by their last bit, so pages that count the same may change places.
                for wanted in [*score, own] {
                    let same = (hit.score - wanted).abs() < 1e-5 * wanted;
                    assert!(same, "{asked} from {from}: {id} has {}, not {wanted}", hit.score);
                }
            }
        }
    }
}
