//! What must hold for any page: independence of the pieces, agreement with a tree builder, bounded work.

use std::collections::BTreeSet;

use proptest::prelude::*;
use select::document::Document;
use select::predicate::Any;

use super::*;
use crate::content::html::tokenizer::LONGEST_TAG;
use crate::domain::cases::pieces;

/// Bits of markup whose joints matter.
#[rustfmt::skip]
const BITS: &[&str] = &[
    "<a href=", "<a href=\"", "<a href='", "\"", "'", ">", "/>", "<", "</", "</a>", " ", "=", "&", "&amp;", "&am", "p;", "&#x41", ";",
    "<script>", "</script>", "<!--", "-->", "--!>", "-", "!", "<!", "<?", "<title>", "</title>", "<textarea>", "</textarea>",
    "<style>", "</style>", "<svg>", "</svg>", "<![CDATA[", "]]>", "]", "<p>", "</p>", "<div class=x>", "<template>", "</template>",
    "<meta name=robots content=", "<base href=b>", "<link rel=canonical href=", "<noscript>", "<xmp>", "</xmp", "<math><mi>",
    "a", "é", "漢", "\u{3000}", "\u{a0}", "\0", "\n", "x y", "<foreignObject>", "<font color=", "<iframe src=", "noindex",
    "<plaintext>", "</scr", "ipt", "<SCRIPT", "rel=nofollow ",
];

fn markup() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(BITS), 0..60).prop_map(|bits| bits.concat())
}

fn in_pieces(html: &str, sizes: &[usize], opts: ExtractOptions) -> PageFacts {
    let mut extractor = Extractor::new(&page(), opts);
    pieces(html, sizes).for_each(|piece| extractor.feed(piece));
    extractor.finish()
}

/// Links of `html` as the tree of `select` (html5ever) has them.
fn links_in_tree(html: &str) -> BTreeSet<String> {
    let document = Document::from(html);
    let links = document.find(Any).filter_map(|node| match node.name()? {
        "a" | "area" => node.attr("href"),
        "iframe" => node.attr("src"),
        _ => None,
    });
    links.filter_map(crate::content::html::links::usable).map(str::to_owned).collect()
}

fn links_found(html: &str) -> BTreeSet<String> {
    facts(html).links.into_iter().filter(|l| l.kind != LinkKind::LinkRel).map(|l| l.href).collect()
}

/// Markup that a tree builder and we must agree on. Left out are the documented differences: `noscript` (select parses with
/// scripting on), `template`, `select` and `frameset` (its parser drops what is in or after them), and SVG left open, where a
/// tree tells which element a later end tag closes.
fn comparable() -> impl Strategy<Value = String> {
    #[rustfmt::skip]
    let bits = prop::sample::select(vec![
        "<a href=#>", "<a href='#'>", "<A HREF=\"#\" >", "<a title='>' href=#>", "<a href=# href=no>", "<a/href=#>", "<a href = #/>",
        "<a name=\"<a href=no>\">", "<a href=#&amp;b>", "<a href=#&copy=1>", "<a href=#&copy;>", "<a href='#\"'>", "<a href=\"#'>", "</a>",
        "<area href=#>", "<iframe src=#>", "</iframe>", "<p>", "</p>", "<div>", "</div>", "<b>", "</b>", "<table>", "<tr>", "<td>", "</table>",
        "<ul><li>", "</ul>", "<script>", "</script>", "<!--", "-->", "--!>", "<!-->", "<style>", "</style>", "<title>", "</title>",
        "<textarea>", "</textarea>", "<xmp>", "</xmp>", "<!x>", "<?x>", "</ x>", "</>", "<", "text", " ", "\"", "'", ">", "&lt;", "\n",
        "<body>", "</body>", "<h1>", "</h1>", "<form>", "</form>", "<button>", "</button>", "<option>", "<noembed>", "</noembed>", "é",
        "<![CDATA[", "]]>", "<image>", "<pre>",
        "<svg><g></g><style><a href=#></a></style></svg>", "<svg><text><![CDATA[<a href=#>]]></text><a href=#></a></svg>",
        "<math><mrow><style><a href=#></a></style></mrow></math>", "<svg><g><p><style><a href=#></style>",
        "<svg/>", "<br/>", "</br>", "<script/>", "<hr>",
    ]);
    prop::collection::vec(bits, 0..40).prop_map(|bits| {
        // Every link has a name of its own.
        let mut html = String::new();
        for (n, bit) in bits.iter().enumerate() {
            html.push_str(&bit.replace('#', &format!("l{n}")));
        }
        html
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn facts_do_not_depend_on_the_pieces(
        html in markup(),
        sizes in prop::collection::vec(1usize..9, 1..5),
        max_text in prop::sample::select(vec![0, 7, 1 << 20]),
    ) {
        let opts = ExtractOptions { assets: true, max_text, ..ExtractOptions::default() };
        prop_assert_eq!(in_pieces(&html, &sizes, opts.clone()), facts_with(&html, opts));
    }

    #[test]
    fn any_text_has_facts(html in any::<String>(), bit in prop::sample::select(BITS)) {
        let html = format!("{bit}{html}{bit}{html}");
        prop_assert_eq!(in_pieces(&html, &[1], ExtractOptions::default()), facts(&html));
    }

    #[test]
    fn links_are_those_of_a_tree_builder(html in comparable()) {
        prop_assert_eq!(links_found(&html), links_in_tree(&html), "{}", html);
    }

    #[test]
    fn references_are_those_of_a_tree_builder(
        bits in prop::collection::vec(prop::sample::select(vec![
            "&", "#", "x", "amp", "lt", "not", "in", "copy", "notin", "NotEqualTilde", ";", "=", "1", "41", "128", "0", " ", "AElig", "zz",
        ]), 0..12),
    ) {
        let html = bits.concat();
        let document = Document::from(format!("<p title=\"{html}\">{html}</p>").as_str());
        let node = document.find(select::predicate::Name("p")).next().unwrap();
        let mut text = String::new();
        entities::decode(&html, Place::Text, |piece| text.push_str(piece));
        prop_assert_eq!(text, node.text());
        prop_assert_eq!(&*entities::attribute(&html), node.attr("title").unwrap());
    }
}

/// Bytes gone through and the most bytes kept waiting while `html` comes in pieces of `size` bytes.
fn work(html: &str, size: usize) -> (u64, usize) {
    let mut extractor = Extractor::new(&page(), ExtractOptions::default());
    let mut waiting = 0;
    for piece in html.as_bytes().chunks(size) {
        extractor.feed(std::str::from_utf8(piece).unwrap());
        waiting = waiting.max(extractor.tokenizer.carry.len());
    }
    extractor.tokenizer.finish(&mut extractor.collector);
    (extractor.tokenizer.work, waiting)
}

#[rustfmt::skip]
const REPEATED: &[&str] = &[
    "<a ", "<a x=\"", "<", "</", "<!--", "-", "&", "&a", "&#0", "<script><!--<script", "<title>", "<title></title",
    "</title", "<svg>", "<![CDATA[", "<svg><![CDATA[]", "]", "a=b ", "<a href='", "x", "<a href=x>", "<template>",
    "<!", "<?", "\"",
];
const STARTS: &[&str] =
    &["", "<a x=\"", "<!--", "<title>", "<script>", "<svg>", "<a href=", "<script><!--", "<math><mi>"];

#[test]
fn the_work_is_linear_whatever_the_page() {
    for (bit, start) in REPEATED.iter().flat_map(|bit| STARTS.iter().map(move |start| (bit, start))) {
        let html = format!("{start}{}", bit.repeat((48 << 10) / bit.len()));
        for piece in [1, 1000, html.len()] {
            let (work, _) = work(&html, piece);
            assert!(
                work <= 4 * html.len() as u64,
                "{start} {bit} in pieces of {piece}: {work} for {} bytes",
                html.len()
            );
        }
    }
}

#[test]
fn the_memory_is_bounded_whatever_the_page() {
    for (start, bit) in
        [("<a x=\"", "b"), ("<a ", "b "), ("", "<"), ("<", "a"), ("<!--", "-"), ("", "&a"), ("<title>", "</title")]
    {
        let html = format!("{start}{}", bit.repeat((4 * LONGEST_TAG) / bit.len()));
        let (work, waiting) = work(&html, 1000);
        assert!(work <= 4 * html.len() as u64, "{start} {bit}: {work} for {} bytes", html.len());
        assert!(waiting <= 2 * LONGEST_TAG + 1000, "{start} {bit}: {waiting} bytes waiting");
    }
}
