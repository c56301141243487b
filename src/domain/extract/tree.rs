//! A page as a tree of `select`'s nodes, within bounds.
//!
//! `select` builds its tree by recursion and takes any number of nodes. Formatting elements that are left open are built anew in each
//! paragraph, so a page of a megabyte can ask for 10^10 nodes; nesting of 10^5 takes the parser minutes and would end the process. So
//! the parser's sink counts nodes and depth and stops it, and the tree is turned into `select`'s list without recursion.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::tree_builder::{ElementFlags, NodeOrText, QuirksMode, TreeBuilderOpts, TreeSink};
use html5ever::{Attribute, ExpandedName, ParseOpts, QualName, parse_document};
use markup5ever_rcdom::{Handle, NodeData, RcDom};
use select::document::Document;
use select::node::{Data, Raw};

/// Nodes of one page at most: twenty times what a large page has.
const MAX_NODES: usize = 200_000;
/// Elements within each other at most; browsers stop at 512.
const MAX_DEPTH: usize = 512;
/// Nodes that stand wrongly in a table at most: each is put before it, where all that were put there before are gone through.
const MAX_FOSTERED: usize = 20_000;

/// Why a page is not read into a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TreeFault {
    /// Too many nodes, or too many to be moved.
    #[error("its tree would have more than 200,000 nodes, or 20,000 to be moved out of tables")]
    TooLarge,
    /// Too deep.
    #[error("its elements stand more than 512 deep within each other")]
    TooDeep,
}

/// The tree of a page, as browsers without scripts build it.
///
/// # Errors
/// The page is beyond the bounds.
pub fn tree(html: &str) -> Result<Document, TreeFault> {
    let tree_builder = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() };
    let opts = ParseOpts { tree_builder, ..ParseOpts::default() };
    let parse = || parse_document(Counting::default(), opts).one(StrTendril::from(html));
    match catch_unwind(AssertUnwindSafe(parse)) {
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

/// Ends the parser from within its sink; no panic, so no hook is called.
fn stop(fault: TreeFault) -> ! {
    resume_unwind(Box::new(fault))
}

/// The elements above and including this one, as far as they count.
fn depth(node: &Handle) -> usize {
    let up = |node: &Handle| {
        let parent = node.parent.take();
        node.parent.set(parent.clone());
        parent?.upgrade()
    };
    std::iter::successors(Some(node.clone()), up).take(MAX_DEPTH + 1).count()
}

/// `RcDom` that stops when it is full.
#[derive(Default)]
struct Counting {
    dom: RcDom,
    nodes: usize,
    fostered: usize,
}

impl Counting {
    fn count(&mut self) {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            stop(TreeFault::TooLarge);
        }
    }
}

impl TreeSink for Counting {
    type Handle = Handle;
    type Output = RcDom;

    fn finish(self) -> RcDom {
        self.dom
    }

    /// Pages are full of them; they are not kept.
    fn parse_error(&mut self, _: Cow<'static, str>) {}

    fn get_document(&mut self) -> Handle {
        self.dom.get_document()
    }

    fn elem_name<'a>(&'a self, target: &'a Handle) -> ExpandedName<'a> {
        self.dom.elem_name(target)
    }

    fn create_element(&mut self, name: QualName, attrs: Vec<Attribute>, flags: ElementFlags) -> Handle {
        self.count();
        self.dom.create_element(name, attrs, flags)
    }

    fn create_comment(&mut self, text: StrTendril) -> Handle {
        self.count();
        self.dom.create_comment(text)
    }

    fn create_pi(&mut self, target: StrTendril, data: StrTendril) -> Handle {
        self.count();
        self.dom.create_pi(target, data)
    }

    fn append(&mut self, parent: &Handle, child: NodeOrText<Handle>) {
        self.count();
        if matches!(child, NodeOrText::AppendNode(_)) && depth(parent) > MAX_DEPTH {
            stop(TreeFault::TooDeep);
        }
        self.dom.append(parent, child);
    }

    fn append_based_on_parent_node(&mut self, element: &Handle, prev: &Handle, child: NodeOrText<Handle>) {
        self.count();
        self.fostered += 1;
        if self.fostered > MAX_FOSTERED {
            stop(TreeFault::TooLarge);
        }
        self.dom.append_based_on_parent_node(element, prev, child);
    }

    fn append_doctype_to_document(&mut self, name: StrTendril, public: StrTendril, system: StrTendril) {
        self.dom.append_doctype_to_document(name, public, system);
    }

    fn get_template_contents(&mut self, target: &Handle) -> Handle {
        self.dom.get_template_contents(target)
    }

    fn same_node(&self, x: &Handle, y: &Handle) -> bool {
        self.dom.same_node(x, y)
    }

    fn set_quirks_mode(&mut self, mode: QuirksMode) {
        self.dom.set_quirks_mode(mode);
    }

    fn append_before_sibling(&mut self, sibling: &Handle, child: NodeOrText<Handle>) {
        self.count();
        self.dom.append_before_sibling(sibling, child);
    }

    fn add_attrs_if_missing(&mut self, target: &Handle, attrs: Vec<Attribute>) {
        self.dom.add_attrs_if_missing(target, attrs);
    }

    fn remove_from_parent(&mut self, target: &Handle) {
        self.dom.remove_from_parent(target);
    }

    fn reparent_children(&mut self, node: &Handle, new_parent: &Handle) {
        self.dom.reparent_children(node, new_parent);
    }

    fn is_mathml_annotation_xml_integration_point(&self, target: &Handle) -> bool {
        self.dom.is_mathml_annotation_xml_integration_point(target)
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
            ("built anew in each paragraph", formatting + &"<p>".repeat(100_000), TreeFault::TooLarge),
            ("put before a table", "<table><div>".repeat(MAX_FOSTERED + 1), TreeFault::TooLarge),
            ("tables in tables", "<table><td>".repeat(100_000), TreeFault::TooDeep),
        ] {
            assert_eq!(tree(&html).unwrap_err(), fault, "{name}");
        }
    }
}
