//! Whether we are inside SVG or MathML, without a tree.
//!
//! It matters in three ways: `<![CDATA[` is text there, `<title>`, `<style>` and `<script>` hold ordinary markup, and an SVG
//! `<title>` is not the page's. Browsers know by their tree; we keep only the roots that are open and the places in them
//! where HTML begins again (13.2.6.5). The end tag of an HTML element inside SVG is taken as a sign that the SVG was left open.

use smallvec::SmallVec;

use super::element::Element;
use super::tag::Tag;

/// Deeper nesting is counted, not looked into.
const DEEPEST: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Root {
    Svg,
    Math,
    /// HTML inside this element of SVG or MathML.
    Island(Element),
    /// `<style>` or `<script>` of SVG: markup, but nothing to be seen.
    Unseen(Element),
}

/// The open SVG and MathML roots.
#[derive(Debug, Default)]
pub(super) struct Foreign {
    open: SmallVec<[Root; 4]>,
}

impl Foreign {
    /// Bytes in use beyond its own.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.open.capacity() * size_of::<Root>()
    }

    /// The next tag is in SVG or MathML.
    pub(super) fn inside(&self) -> bool {
        matches!(self.open.last(), Some(Root::Svg | Root::Math | Root::Unseen(_)))
    }

    /// Text here is an SVG `<title>`, `<desc>`, `<style>` or `<script>`, which nobody sees.
    pub(super) fn hides_text(&self) -> bool {
        matches!(self.open.last(), Some(Root::Unseen(_) | Root::Island(Element::Title | Element::Desc)))
    }

    /// `<![CDATA[` begins text here. Browsers ask whether the innermost element is HTML's; within `<title>` and `<desc>` it
    /// seldom is, within the other places where HTML begins it mostly is.
    pub(super) fn allows_cdata(&self) -> bool {
        self.inside() || self.hides_text()
    }

    /// The attributes of this element decide here.
    pub(super) fn wants(&self, element: Element) -> bool {
        self.inside() && matches!(element, Element::Font | Element::AnnotationXml)
    }

    /// Before a start tag is used: HTML's own elements end SVG and MathML.
    pub(super) fn before(&mut self, tag: &Tag<'_>) {
        let font = tag.element == Element::Font && ["color", "face", "size"].iter().any(|a| tag.has(a));
        if font || tag.element.leaves_foreign() {
            self.leave();
        }
    }

    /// After a start tag was used: what it opens.
    pub(super) fn after(&mut self, tag: &Tag<'_>) {
        if tag.self_closing || self.open.len() >= DEEPEST {
            return;
        }
        let opened = match (self.open.last(), tag.element) {
            (Some(Root::Svg), e @ (Element::ForeignObject | Element::Desc | Element::Title)) => Root::Island(e),
            (Some(Root::Svg), e @ (Element::Style | Element::Script)) => Root::Unseen(e),
            (Some(Root::Math), e @ Element::MathText) => Root::Island(e),
            (Some(Root::Math), e @ Element::AnnotationXml) if holds_html(tag) => Root::Island(e),
            (Some(Root::Math), _) => return,
            (_, Element::Svg) => Root::Svg,
            (_, Element::Math) => Root::Math,
            _ => return,
        };
        self.open.push(opened);
    }

    /// An end tag.
    pub(super) fn end(&mut self, element: Element) {
        let closes = |root: &Root| match root {
            Root::Svg => element == Element::Svg,
            Root::Math => element == Element::Math,
            Root::Island(e) | Root::Unseen(e) => element == *e,
        };
        if self.open.is_empty() {
        } else if let Some(at) = self.open.iter().rposition(closes) {
            self.open.truncate(at);
        } else if element.leaves_foreign() {
            self.leave();
        }
    }

    fn leave(&mut self) {
        while self.inside() {
            self.open.pop();
        }
    }
}

fn holds_html(tag: &Tag<'_>) -> bool {
    tag.attr("encoding")
        .is_some_and(|e| e.eq_ignore_ascii_case("text/html") || e.eq_ignore_ascii_case("application/xhtml+xml"))
}
