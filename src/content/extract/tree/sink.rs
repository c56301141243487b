//! `RcDom` that stops when it is full, or when what it is asked comes to too much.
//!
//! Every look of the tree builder at an open element is a question to its sink, so counting the questions counts its work: what
//! is quadratic in it (end tags that close nothing, paragraphs under deep nesting, misnested formatting) ends at a bound, the same
//! on every machine.

use std::borrow::Cow;
use std::cell::Cell;
use std::panic::resume_unwind;

use html5ever::tendril::StrTendril;
use html5ever::tree_builder::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::{Attribute, ExpandedName, QualName};
use markup5ever_rcdom::{Handle, NodeData, RcDom};

use super::{MAX_DEPTH, MAX_FOSTERED, MAX_NODES, MAX_WORK, TreeFault};

/// Ends the parser from within its sink; no panic, so no hook is called.
pub(super) fn stop(fault: TreeFault) -> ! {
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

/// Among how many children a node has to be looked for.
fn siblings(node: &Handle) -> usize {
    let parent = node.parent.take();
    node.parent.set(parent.clone());
    parent.and_then(|parent| parent.upgrade()).map_or(0, |parent| parent.children.borrow().len())
}

/// Text that joins the text before it.
fn joins(parent: &Handle, child: &NodeOrText<Handle>) -> bool {
    let last_is_text = || parent.children.borrow().last().is_some_and(|n| matches!(n.data, NodeData::Text { .. }));
    matches!(child, NodeOrText::AppendText(_)) && last_is_text()
}

/// The tree, and what was done for it.
#[derive(Default)]
pub(super) struct Counting {
    dom: RcDom,
    nodes: usize,
    fostered: usize,
    pub(super) work: Cell<usize>,
    /// Where the last element was put.
    pub depth: usize,
}

impl Counting {
    fn count(&mut self) {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            stop(TreeFault::TooLarge);
        }
    }

    pub(super) fn spend(&self, steps: usize) {
        let work = self.work.get().saturating_add(steps);
        self.work.set(work);
        if work > MAX_WORK {
            stop(TreeFault::TooCostly);
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
        self.spend(1);
        self.dom.elem_name(target)
    }

    fn create_element(&mut self, name: QualName, attrs: Vec<Attribute>, flags: ElementFlags) -> Handle {
        self.count();
        self.spend(attrs.len());
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
        if joins(parent, &child) {
            self.spend(1);
        } else {
            self.count();
        }
        if matches!(child, NodeOrText::AppendNode(_)) {
            self.depth = depth(parent);
            self.spend(self.depth);
            if self.depth > MAX_DEPTH {
                stop(TreeFault::TooDeep);
            }
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
        self.spend(1);
        self.dom.same_node(x, y)
    }

    fn set_quirks_mode(&mut self, mode: QuirksMode) {
        self.dom.set_quirks_mode(mode);
    }

    fn append_before_sibling(&mut self, sibling: &Handle, child: NodeOrText<Handle>) {
        self.count();
        self.spend(siblings(sibling));
        self.dom.append_before_sibling(sibling, child);
    }

    /// What `<html>` and `<body>` have already is gone through for each that comes again.
    fn add_attrs_if_missing(&mut self, target: &Handle, attrs: Vec<Attribute>) {
        if let NodeData::Element { attrs: existing, .. } = &target.data {
            self.spend(10 * (existing.borrow().len() + attrs.len()));
        }
        self.dom.add_attrs_if_missing(target, attrs);
    }

    fn remove_from_parent(&mut self, target: &Handle) {
        self.spend(siblings(target));
        self.dom.remove_from_parent(target);
    }

    fn reparent_children(&mut self, node: &Handle, new_parent: &Handle) {
        self.spend(node.children.borrow().len());
        self.dom.reparent_children(node, new_parent);
    }

    fn is_mathml_annotation_xml_integration_point(&self, target: &Handle) -> bool {
        self.dom.is_mathml_annotation_xml_integration_point(target)
    }
}
