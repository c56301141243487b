//! A tokenizer for streams of HTML: byte search instead of a state for each character, no tree, bounded memory.
//!
//! Follows WHATWG HTML 13.2.5, with the switches to raw text that the tree builder makes (13.2.6). Scripting counts as off,
//! so `<noscript>` holds markup. A piece of the page may end anywhere: a token that is cut waits in `carry` until as much
//! again has come, so the total work stays linear however small the pieces are.

use std::ops::Range;

use memchr::memchr;

use super::element::Element;
use super::entities;
use super::foreign::Foreign;
use super::raw::{self, Raw, Script, find, from, near};
use super::tag::{self, At, Ignore, Scan, Span, Tag};

/// A tag longer than this, in bytes, is cut: the attributes that ended before it count, the rest is skipped.
pub(super) const LONGEST_TAG: usize = 256 * 1024;
const CDATA: &[u8] = b"[CDATA[";

/// Receives the tokens of a page. Text comes in pieces that may be cut anywhere but in a reference.
pub(super) trait Sink {
    /// The attributes of this element are wanted; others come without.
    fn wants(&self, element: Element) -> bool;
    /// A start tag.
    fn start(&mut self, tag: &Tag<'_>);
    /// An end tag, matching or not.
    fn end(&mut self, element: Element);
    /// Text between tags, of a title or of `xmp` and `plaintext`; `references` says that `&amp;` and the like are to be decoded.
    fn text(&mut self, text: &str, references: bool);
    /// A piece of a script.
    fn script(&mut self, text: &str);
    /// A piece of a style sheet: where it lies in the source.
    fn style(&mut self, _source: &str, _place: Range<usize>) {}
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    #[default]
    Data,
    Raw(Element),
    Script(Script),
    Comment {
        whole: bool,
    },
    /// To the next `>`: doctype, bogus comment, processing instruction.
    Bogus,
    Cdata,
    /// The rest of a tag that was cut; then back to this element's content.
    Skip(At, Element),
}

/// What a mode made of the bytes at hand.
enum Step {
    /// Go on at this byte.
    Go(usize),
    /// More bytes are needed, from this one on.
    Wait(usize),
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Tokenizer {
    mode: Mode,
    foreign: Foreign,
    /// What waits for more.
    pub(super) carry: String,
    /// How long the carry must be before it is worth another look.
    patience: usize,
    spans: Vec<Span>,
    /// Honour `/>` and CDATA everywhere, as XHTML does.
    xml: bool,
    /// Bytes gone through, those gone through twice included; at most about three times those fed.
    pub(super) work: u64,
}

impl Tokenizer {
    /// For HTML, or for XHTML sent as XML.
    pub(super) fn new(xml: bool) -> Self {
        Self { xml, ..Self::default() }
    }

    /// Bytes in use.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.carry.capacity() + self.spans.capacity() * size_of::<Span>() + self.foreign.held()
    }

    /// The next piece of the page.
    pub(super) fn feed(&mut self, chunk: &str, sink: &mut impl Sink) {
        if self.carry.is_empty() {
            let used = self.run(chunk, false, sink);
            self.carry.push_str(chunk.get(used..).unwrap_or_default());
            self.patience = self.carry.len() * 2;
            return;
        }
        self.carry.push_str(chunk);
        if self.carry.len() < self.patience {
            return;
        }
        let mut carry = std::mem::take(&mut self.carry);
        let used = self.run(&carry, false, sink);
        carry.drain(..used);
        self.patience = carry.len() * 2;
        self.carry = carry;
    }

    /// The page has ended.
    pub(super) fn finish(&mut self, sink: &mut impl Sink) {
        let carry = std::mem::take(&mut self.carry);
        self.run(&carry, true, sink);
    }

    /// Goes through `text`; returns how much of it is done with.
    fn run(&mut self, text: &str, last: bool, sink: &mut impl Sink) -> usize {
        self.work += text.len() as u64;
        let mut pos = 0;
        while pos < text.len() {
            let step = match self.mode {
                Mode::Data => self.data(text, pos, last, sink),
                Mode::Raw(element) => self.raw(text, pos, element, last, sink),
                Mode::Script(mut state) => self.script(text, pos, &mut state, last, sink),
                Mode::Comment { whole } => self.comment(text, pos, whole, last),
                Mode::Bogus => self.bogus(text, pos),
                Mode::Cdata => self.cdata(text, pos, last, sink),
                Mode::Skip(at, element) => self.skip(text, pos, at, element),
            };
            match step {
                Step::Go(to) => pos = to,
                Step::Wait(at) => return at,
            }
        }
        text.len()
    }
}

/// How the modes go through their bytes.
impl Tokenizer {
    fn data(&mut self, text: &str, pos: usize, last: bool, sink: &mut impl Sink) -> Step {
        let bytes = text.as_bytes();
        let Some(at) = find(bytes, pos, |rest| near(b'<', rest)) else {
            let end = if last { text.len() } else { pos + entities::complete(from(bytes, pos)) };
            self.text(text, pos, end, true, sink);
            return Step::Wait(end);
        };
        self.text(text, pos, at, true, sink);
        match (bytes.get(at + 1), bytes.get(at + 2)) {
            (Some(b), _) if b.is_ascii_alphabetic() => self.start_tag(text, at, last, sink),
            (Some(b'/'), Some(b)) if b.is_ascii_alphabetic() => self.end_tag(text, at, last, sink),
            (Some(b'/'), Some(b'>')) => Step::Go(at + 3),
            (Some(b'/'), Some(_)) => self.switch(Mode::Bogus, at + 2),
            (Some(b'!'), _) => self.declaration(bytes, at, last),
            (Some(b'?'), _) => self.switch(Mode::Bogus, at + 1),
            (None, _) | (Some(b'/'), None) if !last => Step::Wait(at),
            _ => {
                self.text(text, at, at + 1, true, sink);
                Step::Go(at + 1)
            }
        }
    }

    fn text(&self, text: &str, pos: usize, end: usize, references: bool, sink: &mut impl Sink) {
        if let Some(piece) = text.get(pos..end).filter(|p| !p.is_empty())
            && !self.foreign.hides_text()
        {
            sink.text(piece, references);
        }
    }

    fn switch(&mut self, mode: Mode, to: usize) -> Step {
        self.mode = mode;
        Step::Go(to)
    }

    /// At `<!`.
    fn declaration(&mut self, bytes: &[u8], at: usize, last: bool) -> Step {
        let rest = from(bytes, at + 2);
        let cdata = self.xml || self.foreign.allows_cdata();
        if rest.starts_with(b"--") {
            return self.switch(Mode::Comment { whole: true }, at + 4);
        }
        if cdata && rest.starts_with(CDATA) {
            return self.switch(Mode::Cdata, at + 2 + CDATA.len());
        }
        if !last && (b"--".starts_with(rest) || cdata && CDATA.starts_with(rest)) {
            return Step::Wait(at);
        }
        self.switch(Mode::Bogus, at + 2)
    }

    fn start_tag(&mut self, text: &str, at: usize, last: bool, sink: &mut impl Sink) -> Step {
        let window = window(text, at);
        let (element, name_end) = name(window, at + 1);
        self.spans.clear();
        let scan = if sink.wants(element) || self.foreign.wants(element) {
            tag::scan(window, name_end, At::Name, &mut self.spans)
        } else {
            tag::scan(window, name_end, At::Name, &mut Ignore)
        };
        let (end, self_closing, cut) = match scan {
            Scan::End { end, self_closing } => (end, self_closing, None),
            Scan::More(state) if window.len() - at >= LONGEST_TAG => (window.len(), false, Some(state)),
            Scan::More(_) if last => return Step::Go(text.len()),
            Scan::More(_) => return Step::Wait(at),
        };
        let content = self.open((text, end), element, self_closing, sink);
        self.mode = cut.map_or(content, |state| Mode::Skip(state, element));
        Step::Go(end)
    }

    /// Hands a start tag on; returns what its content is.
    fn open(
        &mut self,
        (source, end): (&str, usize),
        element: Element,
        self_closing: bool,
        sink: &mut impl Sink,
    ) -> Mode {
        let mut tag = Tag { element, foreign: false, self_closing, source, spans: &self.spans, end };
        self.foreign.before(&tag);
        tag.foreign = self.foreign.inside();
        sink.start(&tag);
        self.foreign.after(&tag);
        let foreign = tag.foreign;
        if self_closing && (self.xml || foreign) {
            sink.end(element);
            return Mode::Data;
        }
        if foreign { Mode::Data } else { content(element) }
    }

    fn end_tag(&mut self, text: &str, at: usize, last: bool, sink: &mut impl Sink) -> Step {
        let window = window(text, at);
        let (element, name_end) = name(window, at + 2);
        match tag::scan(window, name_end, At::Name, &mut Ignore) {
            Scan::End { end, .. } => {
                self.foreign.end(element);
                sink.end(element);
                Step::Go(end)
            }
            Scan::More(state) if window.len() - at >= LONGEST_TAG => {
                self.foreign.end(element);
                sink.end(element);
                self.switch(Mode::Skip(state, Element::Other), window.len())
            }
            Scan::More(_) if last => Step::Go(text.len()),
            Scan::More(_) => Step::Wait(at),
        }
    }

    fn skip(&mut self, text: &str, pos: usize, at: At, element: Element) -> Step {
        match tag::scan(text.as_bytes(), pos, at, &mut Ignore) {
            Scan::End { end, .. } => {
                let content = if self.foreign.inside() { Mode::Data } else { content(element) };
                self.switch(content, end)
            }
            Scan::More(state) => self.switch(Mode::Skip(state, element), text.len()),
        }
    }

    fn raw(&mut self, text: &str, pos: usize, element: Element, last: bool, sink: &mut impl Sink) -> Step {
        let bytes = text.as_bytes();
        let found = match element {
            Element::Plaintext => Raw::GoesOn(text.len()),
            _ => raw::find_end(bytes, pos, element.raw_name()),
        };
        let references = element == Element::Title;
        let (end, step) = match found {
            Raw::Ends(at) => (at, self.switch(Mode::Data, at)),
            Raw::GoesOn(_) if last => (text.len(), Step::Go(text.len())),
            Raw::GoesOn(at) if references && at == text.len() => {
                let end = pos + entities::complete(from(bytes, pos));
                (end, Step::Wait(end))
            }
            Raw::GoesOn(at) => (at, Step::Wait(at)),
        };
        if matches!(element, Element::Title | Element::Xmp | Element::Plaintext) {
            self.text(text, pos, end, references, sink);
        }
        if element == Element::Style {
            sink.style(text, pos..end);
        }
        step
    }

    fn script(&mut self, text: &str, pos: usize, state: &mut Script, last: bool, sink: &mut impl Sink) -> Step {
        let found = raw::find_script_end(text.as_bytes(), pos, state);
        self.mode = Mode::Script(*state);
        let (Raw::Ends(end) | Raw::GoesOn(end)) = found;
        sink.script(text.get(pos..end).unwrap_or_default());
        match found {
            Raw::Ends(at) => self.switch(Mode::Data, at),
            Raw::GoesOn(_) if last => Step::Go(text.len()),
            Raw::GoesOn(at) => Step::Wait(at),
        }
    }

    fn comment(&mut self, text: &str, pos: usize, whole: bool, last: bool) -> Step {
        let bytes = text.as_bytes();
        if let Some(end) = raw::find_comment_end(bytes, pos, whole) {
            return self.switch(Mode::Data, end);
        }
        // What may be the start of `-->` or `--!>` is looked at again.
        let kept = from(bytes, pos).iter().rev().take(3).take_while(|b| matches!(b, b'-' | b'!')).count();
        let end = text.len() - if last { 0 } else { kept };
        self.mode = Mode::Comment { whole: whole && end == pos };
        Step::Wait(end)
    }

    fn bogus(&mut self, text: &str, pos: usize) -> Step {
        match find(text.as_bytes(), pos, |rest| memchr(b'>', rest)) {
            Some(at) => self.switch(Mode::Data, at + 1),
            None => Step::Go(text.len()),
        }
    }

    fn cdata(&mut self, text: &str, pos: usize, last: bool, sink: &mut impl Sink) -> Step {
        let bytes = text.as_bytes();
        let (end, step) = match memchr::memmem::find(from(bytes, pos), b"]]>") {
            Some(n) => (pos + n, self.switch(Mode::Data, pos + n + 3)),
            None => {
                let kept = from(bytes, pos).iter().rev().take(2).take_while(|b| **b == b']').count();
                let end = text.len() - if last { 0 } else { kept };
                (end, Step::Wait(end))
            }
        };
        self.text(text, pos, end, false, sink);
        step
    }
}

/// As much of the text as a tag that begins at `at` may take.
fn window(text: &str, at: usize) -> &[u8] {
    let bytes = text.as_bytes();
    bytes.get(..at.saturating_add(LONGEST_TAG)).unwrap_or(bytes)
}

/// The element whose name begins at `start`, and where the name ends.
fn name(bytes: &[u8], start: usize) -> (Element, usize) {
    let (element, length) = Element::begins(from(bytes, start));
    (element, start + length)
}

/// What an element of HTML holds.
fn content(element: Element) -> Mode {
    match element {
        Element::Script => Mode::Script(Script::Plain),
        e if !e.raw_name().is_empty() => Mode::Raw(e),
        _ => Mode::Data,
    }
}
