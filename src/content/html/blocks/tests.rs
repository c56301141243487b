//! Bytes of pages and their cards: tests/data/card/.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use serde::Deserialize;
use url::Url;

use super::*;
use crate::content::html::{ExtractOptions, Page, PageReader};
use crate::content::modules::{Body, MimeModules, ParseRules};
use crate::domain::card::{KEYWORDS, LONGEST_KEYWORD};

/// A row of the table; its form is told there.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    rule: String,
    html: Option<String>,
    file: Option<String>,
    url: Option<String>,
    r#type: Option<String>,
    #[serde(default)]
    first: bool,
    title: Option<String>,
    r#abstract: Option<String>,
    from: Option<String>,
    description: Option<String>,
    keywords: Vec<String>,
    language: Option<String>,
    #[serde(default)]
    links: u32,
}

#[derive(Deserialize)]
struct Table {
    page: Vec<Row>,
}

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/card")
}

fn table() -> Vec<Row> {
    let files = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|e| e == "toml")).collect();
    files.sort();
    files.iter().flat_map(|path| toml::from_str::<Table>(&fs::read_to_string(path).unwrap()).unwrap().page).collect()
}

fn read(bytes: &[u8], content_type: &str, url: &Url, card: bool) -> Page {
    let extract = ExtractOptions { card, ..ExtractOptions::default() };
    let rules = ParseRules { extract, ..ParseRules::default() };
    MimeModules::default().read(&Body::sniffed(url, Some(content_type), bytes), &rules).unwrap()
}

fn card_of(row: &Row) -> Card {
    let bytes = match (&row.html, &row.file) {
        (Some(html), None) => html.clone().into_bytes(),
        (None, Some(file)) => fs::read(folder().join(file)).unwrap(),
        _ => panic!("{}: html or file", row.name),
    };
    let url = Url::parse(row.url.as_deref().unwrap_or("https://h.test/")).unwrap();
    let find = if row.first { Find::First } else { Find::Fill };
    read(&bytes, row.r#type.as_deref().unwrap_or("text/html"), &url, true).facts.card(url.as_str(), find).unwrap()
}

#[test]
fn each_page_of_the_table_has_its_card() {
    let rows = table();
    assert!(rows.len() >= 60, "{} pages", rows.len());
    for row in &rows {
        let card = card_of(row);
        let keywords: Vec<String> = card.keywords.iter().map(|key| format!("{}:{}", key.from, key.word)).collect();
        let told = (&card.title, &card.lead, card.abstract_from.map(|from| from.to_string()), &card.description);
        let (name, rule) = (&row.name, &row.rule);
        assert_eq!(told, (&row.title, &row.r#abstract, row.from.clone(), &row.description), "{name}: {rule}");
        assert_eq!(keywords, row.keywords, "{name}: {rule}");
        assert_eq!((card.language, card.out_links), (row.language.clone(), row.links), "{name}: {rule}");
    }
}

#[test]
fn a_page_that_is_asked_for_no_card_has_none_and_says_the_same_else() {
    let url = Url::parse("https://h.test/").unwrap();
    for row in table().iter().filter(|row| row.html.is_some()) {
        let [with, without] = [true, false].map(|card| {
            let html = row.html.as_deref().unwrap();
            read(html.as_bytes(), row.r#type.as_deref().unwrap_or("text/html"), &url, card).facts
        });
        assert!(without.for_card.is_none() && without.card(url.as_str(), Find::Fill).is_none(), "{}", row.name);
        assert_eq!(PageFacts { for_card: None, ..with }, without, "{}", row.name);
    }
}

#[test]
fn a_page_without_end_costs_bounded_memory_and_has_a_card() {
    for piece in [
        "<div role=main><p>some words of text here</p>",
        "<nav>",
        "<h1>",
        "</nav></div>",
        "<a href=x>y",
        "<p>漢字",
        "<br>x",
    ] {
        let html = piece.repeat(60_000);
        let url = Url::parse("https://h.test/").unwrap();
        let facts = read(html.as_bytes(), "text/html", &url, true).facts;
        let blocks = &facts.for_card.as_ref().unwrap().blocks;
        assert!(blocks.len() <= MAX_BLOCKS, "{piece}");
        assert!(blocks.iter().map(|block| block.text.len()).sum::<usize>() <= MAX_TEXT, "{piece}");
        assert!(facts.card(url.as_str(), Find::Fill).unwrap().keywords.len() <= KEYWORDS, "{piece}");
    }
}

fn facts(html: &str, piece: usize) -> PageFacts {
    let url = Url::parse("https://h.test/a/b?c").unwrap();
    let extract = ExtractOptions { card: true, ..ExtractOptions::default() };
    let mut reader = PageReader::new(Some("text/html; charset=utf-8"), &url, extract, 1 << 20);
    let _ = html.as_bytes().chunks(piece).all(|piece| reader.push(piece));
    reader.finish().facts
}

proptest! {
    #[test]
    fn any_page_has_a_bounded_card_and_always_the_same(
        parts in proptest::collection::vec(
            prop_oneof![
                "<(/?(div|p|nav|main|article|h1|a href=x|form|noscript|title|br|li|script|template|aside)|!--)>",
                "<meta (name=keywords|name=description|property=og:site_name) content='[a-z ,|漢字\\PC]{0,40}'>",
                "[a-z .,。漢字語文のア\u{fe0f}\u{301}]{0,80}",
                "\\PC{0,20}",
            ],
            0..40,
        ),
        piece in 1usize..50,
    ) {
        let html = parts.concat();
        let one = facts(&html, piece);
        prop_assert_eq!(&one.for_card, &facts(&html, 1 << 20).for_card);
        for find in Find::ALL {
            let card = one.card("https://h.test/a/b?c", *find).unwrap();
            prop_assert_eq!(&card, &one.card("https://h.test/a/b?c", *find).unwrap());
            prop_assert!(card.lead.as_ref().is_none_or(|lead| lead.len() <= 1_500));
            prop_assert!(card.title.as_ref().is_none_or(|title| title.len() <= 512));
            prop_assert!(card.keywords.len() <= KEYWORDS);
            prop_assert!(card.keywords.iter().all(|key| (2..=LONGEST_KEYWORD).contains(&key.word.len())));
        }
    }
}
