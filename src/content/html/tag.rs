//! The inside of a tag: its name and attributes (WHATWG HTML, 13.2.5.8 and 13.2.5.32 to 13.2.5.40).

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr;

use super::element::Element;
use super::entities;
use super::raw::near;

/// More attributes than this are not kept.
const MAX_ATTRIBUTES: usize = 256;

/// A tag, borrowed from the piece of markup that holds it.
#[derive(Debug)]
pub(super) struct Tag<'a> {
    /// What it starts.
    pub element: Element,
    /// It stands inside SVG or MathML.
    pub foreign: bool,
    /// It ends in `/>`.
    pub self_closing: bool,
    pub(super) source: &'a str,
    pub(super) spans: &'a [Span],
    /// Where it ends in the source.
    pub(super) end: usize,
}

/// Where an attribute's name and value lie in the source; an attribute without a value has an empty one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    name: (u32, u32),
    value: (u32, u32),
}

impl<'a> Tag<'a> {
    /// The decoded value of the first attribute with this name (in lower case).
    pub(super) fn attr(&self, name: &str) -> Option<Cow<'a, str>> {
        self.raw(name).map(entities::attribute)
    }

    /// There is such an attribute.
    pub(super) fn has(&self, name: &str) -> bool {
        self.raw(name).is_some()
    }

    /// Names of its attributes as they are written, and where their values lie in the source.
    pub(super) fn places(&self) -> impl Iterator<Item = (&'a str, Range<usize>)> {
        let (source, spans) = (self.source, self.spans);
        let name = |(from, to): (u32, u32)| source.get(from as usize..to as usize).unwrap_or_default();
        spans.iter().map(move |span| (name(span.name), span.value.0 as usize..span.value.1 as usize))
    }

    /// Names and values of its attributes, as they are written.
    pub(super) fn attributes(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let (source, spans) = (self.source, self.spans);
        let part = |(from, to): (u32, u32)| source.get(from as usize..to as usize).unwrap_or_default();
        spans.iter().map(move |span| (part(span.name), part(span.value)))
    }

    fn raw(&self, name: &str) -> Option<&'a str> {
        let found = self.spans.iter().find(|s| self.part(s.name).eq_ignore_ascii_case(name))?;
        Some(self.part(found.value))
    }

    fn part(&self, (from, to): (u32, u32)) -> &'a str {
        self.source.get(from as usize..to as usize).unwrap_or_default()
    }
}

/// A place in a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    Name,
    BeforeAttribute,
    AttributeName,
    AfterName,
    BeforeValue,
    DoubleQuoted,
    SingleQuoted,
    Unquoted,
    AfterQuoted,
    Slash,
}

/// How a look for a tag's end came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scan {
    /// The tag ends before this byte.
    End { end: usize, self_closing: bool },
    /// The bytes ended first, here.
    More(At),
}

/// Takes note of attributes while a tag is scanned.
pub(super) trait Record {
    fn name(&mut self, from: usize, to: usize);
    fn value(&mut self, from: usize, to: usize);
}

/// Notes nothing: for tags whose attributes nobody wants.
pub(super) struct Ignore;

impl Record for Ignore {
    fn name(&mut self, _: usize, _: usize) {}
    fn value(&mut self, _: usize, _: usize) {}
}

impl Record for Vec<Span> {
    fn name(&mut self, from: usize, to: usize) {
        if self.len() < MAX_ATTRIBUTES {
            self.push(Span { name: span(from, to), value: (0, 0) });
        } else if let Some(last) = self.last_mut() {
            // The value that follows must not land in the last one kept.
            *last = Span::default();
        }
    }

    fn value(&mut self, from: usize, to: usize) {
        if let Some(last) = self.last_mut()
            && last.name.1 > 0
        {
            last.value = span(from, to);
        }
    }
}

fn span(from: usize, to: usize) -> (u32, u32) {
    (u32::try_from(from).unwrap_or(u32::MAX), u32::try_from(to).unwrap_or(u32::MAX))
}

/// Where the run of bytes that are not `stop` ends.
fn run(bytes: &[u8], from: usize, stop: impl Fn(u8) -> bool) -> Option<usize> {
    bytes.get(from..)?.iter().position(|b| stop(*b)).map(|n| from + n)
}

/// Goes through `bytes` from `pos`, in state `at`, to the end of the tag.
pub(super) fn scan(bytes: &[u8], mut pos: usize, mut at: At, record: &mut impl Record) -> Scan {
    loop {
        let Some(next) = step(bytes, &mut pos, at, record) else { return Scan::More(at) };
        match next {
            Next::State(state) => at = state,
            Next::End(self_closing) => return Scan::End { end: pos + 1, self_closing },
            Next::Inside(state) => return Scan::More(state),
        }
    }
}

enum Next {
    /// Go on in this state at `pos`.
    State(At),
    /// `pos` is at the final `>`.
    End(bool),
    /// The bytes ended in this state, which is another than at the start.
    Inside(At),
}

/// One state's run; none if the bytes end within it.
#[inline]
fn step(bytes: &[u8], pos: &mut usize, at: At, record: &mut impl Record) -> Option<Next> {
    match at {
        At::Name => {
            *pos = run(bytes, *pos, |b| b.is_ascii_whitespace() || b == b'/' || b == b'>')?;
            Some(close(bytes, pos, At::BeforeAttribute))
        }
        At::BeforeAttribute | At::AfterName | At::AfterQuoted => before_attribute(bytes, pos, at, record),
        At::AttributeName => attribute_name(bytes, *pos, pos, record),
        At::BeforeValue => {
            *pos = run(bytes, *pos, |b| !b.is_ascii_whitespace())?;
            Some(match bytes.get(*pos) {
                Some(b'>') => Next::End(false),
                Some(b'"') => quoted(bytes, pos, b'"', record),
                Some(b'\'') => quoted(bytes, pos, b'\'', record),
                _ => Next::State(At::Unquoted),
            })
        }
        At::DoubleQuoted => rest_of_quoted(bytes, pos, b'"'),
        At::SingleQuoted => rest_of_quoted(bytes, pos, b'\''),
        At::Unquoted => {
            let end = run(bytes, *pos, |b| b.is_ascii_whitespace() || b == b'>')?;
            record.value(*pos, end);
            *pos = end;
            Some(close(bytes, pos, At::BeforeAttribute))
        }
        At::Slash => match bytes.get(*pos)? {
            b'>' => Some(Next::End(true)),
            _ => Some(Next::State(At::BeforeAttribute)),
        },
    }
}

/// At a `>`, a `/` or white space: the end, or the state after it.
fn close(bytes: &[u8], pos: &mut usize, after_space: At) -> Next {
    match bytes.get(*pos) {
        Some(b'>') => Next::End(false),
        Some(b'/') => {
            *pos += 1;
            Next::State(At::Slash)
        }
        _ => {
            *pos += 1;
            Next::State(after_space)
        }
    }
}

#[inline]
fn before_attribute(bytes: &[u8], pos: &mut usize, at: At, record: &mut impl Record) -> Option<Next> {
    *pos = run(bytes, *pos, |b| !b.is_ascii_whitespace())?;
    match bytes.get(*pos)? {
        b'>' => Some(Next::End(false)),
        b'/' => {
            *pos += 1;
            Some(Next::State(At::Slash))
        }
        b'=' if at == At::AfterName => {
            *pos += 1;
            Some(Next::State(At::BeforeValue))
        }
        // Whatever it is, even a `=` or a quote, it is the first byte of a name.
        _ => {
            let start = *pos;
            *pos += 1;
            match attribute_name(bytes, start, pos, record) {
                None => Some(Next::Inside(At::AttributeName)),
                next => next,
            }
        }
    }
}

#[inline]
fn attribute_name(bytes: &[u8], start: usize, pos: &mut usize, record: &mut impl Record) -> Option<Next> {
    *pos = run(bytes, *pos, |b| b.is_ascii_whitespace() || matches!(b, b'=' | b'>' | b'/'))?;
    record.name(start, *pos);
    if bytes.get(*pos) == Some(&b'=') {
        *pos += 1;
        return Some(Next::State(At::BeforeValue));
    }
    Some(Next::State(At::AfterName))
}

#[inline]
fn quoted(bytes: &[u8], pos: &mut usize, quote: u8, record: &mut impl Record) -> Next {
    let start = *pos + 1;
    match bytes.get(start..).and_then(|rest| near(quote, rest)) {
        Some(n) => {
            record.value(start, start + n);
            *pos = start + n + 1;
            Next::State(At::AfterQuoted)
        }
        None => Next::Inside(if quote == b'"' { At::DoubleQuoted } else { At::SingleQuoted }),
    }
}

fn rest_of_quoted(bytes: &[u8], pos: &mut usize, quote: u8) -> Option<Next> {
    *pos += memchr(quote, bytes.get(*pos..)?)? + 1;
    Some(Next::State(At::AfterQuoted))
}
