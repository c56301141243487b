//! Extraction rules on trees of pages. Input: a selector and what is taken on a line each, then the page.

use select::document::Document;
use select::node::Raw;

use super::content::extract::{ExtractRule, ExtractRules, Extracted, tree};
use super::input::{line, text};

/// Deeper than any page may be (`content::extract::tree`), with room for what the parser moves about.
const DEEPEST: usize = 2 * 512;
const URL: &str = "http://h.test/";

/// A tree is within its bounds and hangs together; values are few and short.
pub fn check(data: &[u8]) {
    let (selector, rest) = line(data);
    let (take, html) = line(rest);
    let Ok(page) = tree(&text(html)) else { return };
    hangs_together(&page);
    for many in [false, true] {
        let Ok(rule) = ExtractRule::new("x", &text(selector), &text(take), many, &[]) else { return };
        match ExtractRules::new(vec![rule]).on(URL, &page).values.remove("x") {
            None => {}
            Some(Extracted::One(value)) => assert!(!many && (1..=8 * 1024).contains(&value.len())),
            Some(Extracted::Many(values)) => {
                assert!(many && (1..=100).contains(&values.len()));
                assert!(values.iter().all(|value| (1..=8 * 1024).contains(&value.len())));
            }
        }
    }
}

fn hangs_together(page: &Document) {
    let mut depths: Vec<usize> = Vec::with_capacity(page.nodes.len());
    for (at, node) in page.nodes.iter().enumerate() {
        let parent = node.parent.map(|parent| depths[parent] + 1);
        depths.push(parent.unwrap_or(0));
        assert!(depths[at] <= DEEPEST, "{} deep", depths[at]);
        assert_eq!(node.index, at);
        assert!(node.next.is_none_or(|next| page.nodes[next].prev == Some(at) && beside(node, &page.nodes[next])));
        assert!(node.first_child.is_none_or(|child| page.nodes[child].parent == Some(at)));
        assert_eq!(node.first_child.is_some(), node.last_child.is_some());
    }
}

fn beside(node: &Raw, next: &Raw) -> bool {
    node.parent == next.parent && node.index < next.index
}
