//! The streaming reader against a tree builder (html5ever, by way of `select`) on the real pages of `LYCOSA_PAGES`, which
//! `make test` unpacks.
//!
//! Differences that are meant, none of which these pages have: links in `<noscript>` (that tree builder parses as with scripting on),
//! in `<select>` and behind `<frameset>` (it drops them), and in SVG that is left open.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use lycosa::content::html::{ExtractOptions, LinkKind, PageFacts, PageReader};
use select::document::Document;
use select::predicate::{Any, Name};
use url::Url;

use crate::sandbox::left_out;

/// Pages up to this size are compared; the few larger ones are lists of the same.
const LARGEST: u64 = 512 << 10;

fn pages_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            pages_below(&path, found);
        } else if path.extension().is_some_and(|e| e == "html") && path.metadata().unwrap().len() <= LARGEST {
            found.push(path);
        }
    }
}

fn page() -> Url {
    Url::parse("http://h.test/dir/page").unwrap()
}

fn facts_of(html: &str) -> PageFacts {
    let content_type = Some("text/html; charset=utf-8");
    let mut reader = PageReader::new(content_type, &page(), ExtractOptions::default(), u64::MAX);
    reader.push(html.as_bytes());
    reader.finish().facts
}

/// Where references lead, but to the page itself and to what is no page.
fn resolved<'h>(hrefs: impl Iterator<Item = &'h str>) -> BTreeSet<String> {
    let urls = hrefs.filter_map(|href| page().join(href).ok());
    let mut urls: BTreeSet<String> =
        urls.filter(|url| matches!(url.scheme(), "http" | "https")).map(without_fragment).collect();
    urls.remove(page().as_str());
    urls
}

fn without_fragment(mut url: Url) -> String {
    url.set_fragment(None);
    url.into()
}

fn links_in(facts: &PageFacts) -> BTreeSet<String> {
    let kinds = [LinkKind::A, LinkKind::Area, LinkKind::Iframe];
    resolved(facts.links.iter().filter(|link| kinds.contains(&link.kind)).map(|link| link.href.as_str()))
}

fn links_in_tree(tree: &Document) -> BTreeSet<String> {
    resolved(tree.find(Any).filter_map(|node| match node.name()? {
        "a" | "area" => node.attr("href"),
        "iframe" => node.attr("src"),
        _ => None,
    }))
}

fn title_in_tree(tree: &Document) -> Option<String> {
    let titles = tree.find(Name("title")).map(|node| node.text());
    titles.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" ")).find(|title| !title.is_empty())
}

#[test]
fn links_and_titles_of_real_pages_are_those_of_a_tree_builder() {
    let folder = std::env::var_os("LYCOSA_PAGES").map(PathBuf::from).filter(|p| p.join("complete").exists());
    let Some(folder) = folder else {
        return left_out("LYCOSA_PAGES", "a folder with python3-doc and debian-reference");
    };
    let mut paths = Vec::new();
    pages_below(&folder, &mut paths);
    let mut links = 0;
    for path in &paths {
        let html = String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
        let (facts, tree) = (facts_of(&html), Document::from(html.as_str()));
        let found = links_in(&facts);
        assert_eq!(found, links_in_tree(&tree), "{}", path.display());
        assert_eq!(facts.title, title_in_tree(&tree), "{}", path.display());
        links += found.len();
    }
    println!("{} pages, {links} links, no difference", paths.len());
    assert!(paths.len() >= 300 && links >= 10_000, "{} pages, {links} links", paths.len());
}
