use proptest::prelude::*;

use super::*;

fn block(text: &str) -> Block {
    Block { text: text.into(), letters: letters(text), ..Block::default() }
}

#[test]
fn a_card_of_nothing_says_nothing() {
    assert_eq!(card(&Said::default(), Find::Fill), Card::default());
}

#[test]
fn an_abstract_is_cut_at_a_sentence_or_else_at_a_word() {
    let long = "Wolf spiders hunt by night. ".repeat(20);
    let lead = |text: &str| card(&Said { blocks: &[block(text)], ..Said::default() }, Find::Fill).lead.unwrap();
    assert!(lead(&long).ends_with("by night.") && letters(&lead(&long)) <= 300 && letters(&lead(&long)) >= 200);
    let endless = "wolf spiders hunt ".repeat(40);
    assert!(
        lead(&endless).ends_with("hunt…") || lead(&endless).ends_with("spiders…") || lead(&endless).ends_with("wolf…")
    );
    let han = "狼蛛不结网，".repeat(60);
    assert!(lead(&han).ends_with('…') && letters(&lead(&han)) > 290);
    let signs = "a".repeat(80) + &"☃".repeat(10_000);
    assert!(lead(&signs).len() <= 1_500);
    let version = "Release 1.2.3 of node.js ".repeat(20);
    assert!(lead(&version).ends_with('…'), "no sentence ends within a number");
}

#[test]
fn json_has_the_names_of_the_documentation() {
    let said = Said { title: Some("Wolf spiders"), blocks: &[block("Hunters.")], out_links: 2, ..Said::default() };
    let want = serde_json::json!({
        "title": "Wolf spiders",
        "abstract": "Hunters.",
        "abstract_from": "text",
        "description": null,
        "keywords": [{ "word": "Wolf spiders", "from": "title" }, { "word": "Hunters", "from": "text" }],
        "language": null,
        "out_links": 2,
    });
    assert_eq!(serde_json::to_value(card(&said, Find::Fill)).unwrap(), want);
}

#[test]
fn a_page_of_very_many_words_or_blocks_costs_linear_work() {
    let words: String = (0..200_000).map(|n| format!("word{n} ")).collect();
    let blocks: Vec<Block> =
        (0..10_000).map(|n| block(&format!("Block number {n} says this and not much more than that."))).collect();
    let han: Vec<Block> =
        (0..10_000).map(|n| block(&format!("第{n}段文字介绍搜索引擎的工作原理与网页抓取的方法。"))).collect();
    for (blocks, title) in [(&[block(&words)][..], Some(words.as_str())), (&blocks, None), (&han, None)] {
        let made = card(&Said { blocks, title, ..Said::default() }, Find::Fill);
        assert!(!made.keywords.is_empty());
    }
}

proptest! {
    #[test]
    fn any_words_make_a_bounded_card(
        title in "\\PC{0,60}",
        keywords in proptest::collection::vec("\\PC{0,30}", 0..40),
        texts in proptest::collection::vec("[a-zé漢字語文のア한ก .,。!?]{0,200}", 0..12),
        language in proptest::option::of("[a-z]{2}(-[A-Z]{2})?"),
    ) {
        let blocks: Vec<Block> = texts.iter().map(|text| block(text)).collect();
        let said = Said {
            url: "https://www.example.co.uk/a",
            title: Some(&title),
            keywords: &keywords,
            language: language.as_deref(),
            blocks: &blocks,
            ..Said::default()
        };
        for find in Find::ALL {
            let made = card(&said, *find);
            prop_assert_eq!(&made, &card(&said, *find));
            prop_assert!(made.keywords.len() <= KEYWORDS);
            prop_assert!(made.keywords.iter().all(|key| key.word.len() <= LONGEST_KEYWORD));
            prop_assert!(made.lead.is_none_or(|lead| lead.len() <= 1_500));
        }
    }
}
