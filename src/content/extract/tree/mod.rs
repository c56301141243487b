//! A page as a tree of `select`'s nodes, within bounds.
//!
//! `select` builds its tree by recursion and takes any number of nodes. Formatting elements that are left open are built anew in each
//! paragraph, so a page of a megabyte can ask for 10^10 nodes; nesting of 10^5 takes the parser minutes and would end the process. So
//! the parser's sink counts nodes, depth and work and stops it, and the tree is turned into `select`'s list without recursion.
//!
//! | file | what |
//! |---|---|
//! | `attributes` | how many attributes a tag may have that is not at its end |
//! | `feed` | gives the tokenizer a page piece by piece, and ends it within a tag that is too much |
//! | `sink` | takes the tree, and ends it when it is too much |

mod attributes;
mod feed;
mod sink;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use markup5ever_rcdom::{Handle, NodeData};
use select::document::Document;
use select::node::{Data, Raw};

/// Nodes of one page at most: twenty times what a large page has.
const MAX_NODES: usize = 200_000;
/// Elements within each other at most; browsers stop at 512.
const MAX_DEPTH: usize = 512;
/// Nodes that stand wrongly in a table at most: each is put before it, where all that were put there before are gone through.
const MAX_FOSTERED: usize = 20_000;
/// Attributes of one tag at most, as for the links of a page.
const MAX_ATTRIBUTES: usize = 256;
/// Steps of work for the tree of a page: an open element looked at, an attribute copied. Pages take two for each of their bytes;
/// these are a tenth of a second.
const MAX_WORK: usize = 30_000_000;

/// Why a page is not read into a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TreeFault {
    /// Too many nodes, or too many to be moved.
    #[error(
        "its tree would have more than 200,000 nodes, 20,000 to be moved out of tables, or 256 attributes on one element"
    )]
    TooLarge,
    /// Too deep.
    #[error("its elements stand more than 512 deep within each other")]
    TooDeep,
    /// Its markup is wrong in a way that makes a tree builder go through the same elements over and over.
    #[error(
        "its markup takes more work than a page is given: misnested elements, or a tag of more than 20,000 attributes"
    )]
    TooCostly,
}

/// The tree of a page, as browsers without scripts build it.
///
/// # Errors
/// The page is beyond the bounds.
pub fn tree(html: &str) -> Result<Document, TreeFault> {
    match catch_unwind(AssertUnwindSafe(|| feed::parse(html))) {
        Ok(dom) => Ok(flatten(&dom.document)),
        Err(stop) => Err(*stop.downcast::<TreeFault>().unwrap_or_else(|fault| resume_unwind(fault))),
    }
}

/// The children of each node in turn, parents before them.
fn flatten(document: &Handle) -> Document {
    let mut nodes: Vec<Raw> = Vec::new();
    let mut open: Vec<(Handle, Option<usize>)> = children(document, None);
    while let Some((node, parent)) = open.pop() {
        let Some(data) = data_of(&node) else { continue };
        let index = nodes.len();
        let prev = parent.map_or_else(|| last_without_parent(&nodes), |parent| nodes.get(parent)?.last_child);
        nodes.push(Raw { index, parent, prev, next: None, first_child: None, last_child: None, data });
        if let Some(prev) = prev.and_then(|prev| nodes.get_mut(prev)) {
            prev.next = Some(index);
        }
        if let Some(parent) = parent.and_then(|parent| nodes.get_mut(parent)) {
            parent.first_child.get_or_insert(index);
            parent.last_child = Some(index);
        }
        open.append(&mut children(&node, Some(index)));
    }
    Document { nodes }
}

/// In reverse, so that the first is taken up first.
fn children(node: &Handle, index: Option<usize>) -> Vec<(Handle, Option<usize>)> {
    node.children.borrow().iter().rev().map(|child| (child.clone(), index)).collect()
}

fn last_without_parent(nodes: &[Raw]) -> Option<usize> {
    nodes.iter().rev().find(|node| node.parent.is_none()).map(|node| node.index)
}

fn data_of(node: &Handle) -> Option<Data> {
    match &node.data {
        NodeData::Text { contents } => Some(Data::Text(contents.borrow().clone())),
        NodeData::Comment { contents } => Some(Data::Comment(contents.clone())),
        NodeData::Element { name, attrs, .. } => {
            let attrs = attrs.borrow().iter().map(|a| (a.name.clone(), a.value.clone())).collect();
            Some(Data::Element(name.clone(), attrs))
        }
        NodeData::Document | NodeData::Doctype { .. } | NodeData::ProcessingInstruction { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_that_of_select_itself() {
        for html in [
            "",
            "text",
            "<!-- c --><title>t</title><p class=a>one<b>two</b>three<p>four",
            "<table><tr><td>x<td>y</table><ul><li>1<li>2</ul>",
            "<svg><a xlink:href=x>y</a></svg>",
            &"a&amp;b\r\n<p class='x y' title=\"1 > 2\">é&notin;<!-- c\r\n--><script>a < b</script>".repeat(40),
        ] {
            assert_eq!(tree(html).unwrap(), Document::from(html), "{html}");
        }
    }

    #[test]
    fn markup_that_asks_for_more_than_there_is_room_for_is_refused_and_ends_nothing() {
        let formatting: String = (0..400).map(|n| format!("<b id=x{n}>")).collect();
        for (name, html, fault) in [
            ("nested", "<div>".repeat(100_000), TreeFault::TooDeep),
            ("nested in svg", format!("<svg>{}", "<g>".repeat(100_000)), TreeFault::TooDeep),
            ("many", "<i></i>".repeat(MAX_NODES), TreeFault::TooLarge),
            ("built anew in each paragraph", formatting + &"<p>".repeat(100_000), TreeFault::TooCostly),
            ("put before a table", "<table><div>".repeat(MAX_FOSTERED + 1), TreeFault::TooLarge),
            ("tables in tables", "<table><td>".repeat(100_000), TreeFault::TooDeep),
        ] {
            assert_eq!(tree(&html).unwrap_err(), fault, "{name}");
        }
    }

    /// Names that differ, as many as wanted.
    fn attributes(n: usize) -> String {
        (0..n).map(|n| format!(" a{n:x}")).collect()
    }

    /// Each of these takes a tree builder minutes, hours for some.
    #[test]
    fn markup_that_makes_a_tree_builder_go_through_the_same_over_and_over_is_refused() {
        let wide = format!("<b{}>", attributes(200));
        let open: String = (0..250).map(|n| format!("<b id=x{n}>")).collect();
        for (name, html) in [
            ("one tag", format!("<div{}>", attributes(250_000))),
            ("a tag after a comment", format!("<!-- <a x=\" --></><div{}>", attributes(250_000))),
            ("the end of a script", format!("<script>a</script{}>", attributes(250_000))),
            ("many large tags", format!("<div{}>", attributes(20_000)).repeat(12)),
            ("the root again and again", (0..150_000).map(|n| format!("<html a{n:x}>")).collect()),
            ("end tags of nothing", "<x>".repeat(500) + &"</y>".repeat(490_000)),
            ("paragraphs deep within", "<span>".repeat(500) + &"</p>".repeat(60_000).replace("</p>", "</p><p></p>")),
            ("wide formatting", wide.repeat(400) + &"<b></b>".repeat(40_000)),
            ("formatting that ends wrongly", open + &"<div>".repeat(250) + &"</b><b id=y>".repeat(100_000)),
        ] {
            let fault = tree(&html).unwrap_err();
            assert!(matches!(fault, TreeFault::TooCostly | TreeFault::TooLarge), "{name}: {fault:?}");
        }
    }

    #[test]
    fn a_page_as_there_are_is_far_from_the_bounds() {
        let path = "M10.5 20.25 L3 4 ".repeat(2_500);
        let data = format!("{}/", "iVBORw0KGgo".repeat(6)).repeat(10_000);
        let row = "<tr><td class='a b'><a href='/x' title='y'>one <b>two</b></a><td><p>three<td><ul><li>4<li>5</ul>";
        for (name, html) in [
            ("a picture in a tag", format!("<img src='data:image/png;base64,{data}'>")),
            ("a drawing", format!("<svg><path d='{path}'/></svg>")),
            ("a comment", format!("<!-- {} -->", "<p class=x>some words</p> ".repeat(2_500))),
            ("a comment of 160 KB", format!("<!-- {} -->", "one word and another it's here ".repeat(5_200))),
            (
                "an attribute of 77 KB",
                format!("<div data-text=\"{}\">x</div>", "words it's > 3 <b>and</b> more ".repeat(2_500)),
            ),
            ("a tag of JSON", format!("<div data-x='{{{}}}'>x</div>", "\"a\": \"b c d\", ".repeat(20_000))),
            ("a script", format!("<script>{}</script>", "if (a<b) { c = 'd'; } ".repeat(30_000))),
            ("a table", format!("{}<table>{}</table>", "<div>".repeat(30), row.repeat(4_000))),
            ("lines", format!("<pre>{}</pre>", "one line of a log\n".repeat(100_000))),
        ] {
            let spent = feed::run(&html).work.get();
            assert!(spent * 3 < MAX_WORK && tree(&html).is_ok(), "{name}: {spent}");
        }
    }
}
