use tantivy::collector::{Count, DocSetCollector};
use tantivy::query::{PhraseQuery, TermQuery};
use tantivy::schema::{Field, IndexRecordOption, Value};
use tantivy::{TantivyDocument, Term};

use super::*;
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
