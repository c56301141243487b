use std::fmt::Write as _;

use super::*;
use crate::domain::cases::unescape;

mod properties;

pub(super) fn page() -> Url {
    Url::parse("http://h.test/dir/page.html").unwrap()
}

pub(super) fn facts_with(html: &str, opts: ExtractOptions) -> PageFacts {
    let mut extractor = Extractor::new(&page(), opts);
    extractor.feed(html);
    extractor.finish()
}

pub(super) fn facts(html: &str) -> PageFacts {
    facts_with(html, ExtractOptions::default())
}

struct Case {
    name: String,
    page: String,
    expect: Vec<String>,
}

/// Reads a case table; its form is in `tests/data/html/README.txt`.
fn cases(table: &str) -> Vec<Case> {
    let case = |block: &str| {
        let (name, rest) = block.split_once('\n').unwrap();
        let (page, expect) = rest.split_once("\n#expect\n").unwrap_or_else(|| panic!("no #expect in {name}"));
        let expect = expect.lines().map(unescape).collect();
        Case { name: name.to_owned(), page: unescape(page), expect }
    };
    table.split("#case ").skip(1).map(case).collect()
}

fn link_line(link: &Link) -> String {
    let mut line = format!("{} {}", link.kind, link.href);
    if link.nofollow {
        line.push_str(" nofollow");
    }
    if !link.text.is_empty() {
        let _ = write!(line, " | {}", link.text);
    }
    line
}

/// What a key of the table says about `facts`; none if it is no key.
fn line_of(key: &str, facts: &PageFacts) -> Option<String> {
    let value = match key {
        "title" => facts.title.clone(),
        "description" => facts.description.clone(),
        "canonical" => facts.canonical.clone(),
        "base" => facts.base.clone(),
        "needs_script" => Some(if facts.needs_script { "yes" } else { "no" }.to_owned()),
        "text" => Some(facts.text.clone()).filter(|t| !t.is_empty()),
        "keywords" => Some(facts.keywords.join(" | ")),
        "robots" => Some(facts.robots.names().collect::<Vec<_>>().join(" ")),
        _ => return None,
    };
    Some(format!("{key} {}", value.as_deref().unwrap_or("none")))
}

fn check(table: &str) {
    let cases = cases(table);
    assert!(!cases.is_empty());
    for case in cases {
        let facts = facts(&case.page);
        let mut links = Vec::new();
        for expected in &case.expect {
            let key = expected.split(' ').next().unwrap();
            match line_of(key, &facts) {
                Some(line) => assert_eq!(&line, expected, "{}\n{}", case.name, case.page),
                None => links.push(expected.clone()),
            }
        }
        let found: Vec<_> = facts.links.iter().map(link_line).collect();
        assert_eq!(found, links, "{}\n{}", case.name, case.page);
    }
}

macro_rules! tables {
    ($($test:ident: $file:literal;)*) => {
        $(#[test]
        fn $test() {
            check(include_str!(concat!("../../../../../tests/data/html/", $file)));
        })*
    };
}

tables! {
    attributes_are_read_as_browsers_read_them: "attributes.txt";
    tags_comments_and_what_looks_like_them: "markup.txt";
    raw_text_elements_hold_no_markup: "raw_text.txt";
    svg_and_mathml_have_rules_of_their_own: "foreign.txt";
    links_are_found_where_they_are_and_nowhere_else: "links.txt";
    titles_descriptions_directives_and_bases: "head.txt";
    text_is_what_is_seen: "text.txt";
    pages_that_need_their_scripts_are_known: "script.txt";
}

#[test]
fn assets_are_reported_only_when_asked_for() {
    let html = "<img src=1 srcset='2 1x, 3 2x' alt=x><script src=4></script><link rel=stylesheet href=5>\
                <link rel='shortcut icon' href=6><video poster=7 src=8><source src=9></video><object data=10></object>\
                <embed src=11><input type=IMAGE src=12><input src=no><svg><image xlink:href=13 /><use href='#no'/></svg>\
                <body background=14><audio src=15></audio><track src=16><image src=17><a href=18>\
                <link rel=preload as=image href=19 imagesrcset='20 1x, 21 2x'><link rel=next imagesrcset='no 1x'>";
    let opts = ExtractOptions { assets: true, ..ExtractOptions::default() };
    let links = facts_with(html, opts).links;
    let (assets, others): (Vec<_>, Vec<_>) = links.into_iter().partition(|l| l.kind == LinkKind::Asset);
    let assets: Vec<_> = assets.into_iter().map(|l| l.href.parse::<u32>().unwrap()).collect();
    assert_eq!(assets, [1, 2, 3, 4, 5, 6, 8, 7, 9, 10, 11, 12, 13, 14, 15, 16, 17, 19, 20, 21]);
    assert_eq!(others.len(), 1);
    assert_eq!(facts(html).links.len(), 1);
}

#[test]
fn links_and_text_are_cut_at_their_limits_and_marked() {
    let opts = ExtractOptions { max_links: 2, max_text: 5, ..ExtractOptions::default() };
    let all = facts_with("<a href=1>ab</a><a href=2>cd</a>", opts.clone());
    assert_eq!((all.links.len(), all.links_cut, all.text.as_str(), all.text_cut), (2, false, "abcd", false));
    let many: String = (3..10).map(|n| format!("<a href={n}>ef</a>")).collect();
    let cut = facts_with(&format!("<a href=1>ab</a><a href=2>cd</a><p>{many}<a href=#no>"), opts);
    assert_eq!((cut.links.len(), cut.links_cut, cut.text.as_str(), cut.text_cut), (8, true, "abcd", true));
    assert_eq!(cut.links[1].text, "cd");
}

#[test]
fn the_text_of_a_link_has_at_most_200_characters() {
    let html = format!("<a href=x>{}</a>", "漢".repeat(300));
    assert_eq!(facts(&html).links[0].text.chars().count(), 200);
}

#[test]
fn a_tag_too_long_is_cut_and_the_page_goes_on() {
    let blob = "A".repeat(3 << 20);
    let html = format!(
        "<a href=1 style=\"{blob}>\" rel=nofollow>1</a><img src=\"data:{blob}\"><a href=\"{blob}\">2</a><a href=3>3</a>"
    );
    let lines: Vec<_> = facts(&html).links.iter().map(link_line).collect();
    assert_eq!(lines, ["a 1 | 1", "a 3 | 3"]);
}

#[test]
fn a_raw_element_with_a_cut_tag_still_holds_no_markup() {
    let html = format!("<script x=\"{}\"><a href=no></script><a href=x>1</a>", "漢".repeat(100_000));
    assert_eq!(facts(&html).links.len(), 1);
}

#[test]
fn in_xhtml_a_slash_closes_and_cdata_is_text() {
    let html = "<script src=x /><a href=1>1</a><title/><p><![CDATA[<a href=no>]]></p><a href=2 />two";
    let mut extractor = Extractor::for_xhtml(&page(), ExtractOptions::default());
    extractor.feed(html);
    let facts = extractor.finish();
    let lines: Vec<_> = facts.links.iter().map(link_line).collect();
    assert_eq!(lines, ["a 1 | 1", "a 2"]);
    assert_eq!(facts.text, "1 <a href=no> two");
}
