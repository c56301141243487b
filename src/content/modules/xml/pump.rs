//! Tokens of XML out of pieces of text, by quick-xml.
//!
//! quick-xml wants the whole text, or a reader that it may block on; here text is pushed. So what has come is tokenised up to its
//! last whole token, and the rest waits for more. That is possible because quick-xml keeps nothing from one token to the next
//! when it does not match end tags; they are the collector's business. Tolerant: unmatched ends, lone `&`, entities that nobody
//! knows, HTML's names of characters. Strict: entities of the document type are never expanded, one token is bounded.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use crate::content::html::decode_references;
use crate::content::xml::Collect;

/// The longest token: a tag, a comment, a section of text. Feeds have whole articles in one CDATA section; of a longer text or
/// comment nothing is taken, and what follows it is read.
pub(super) const MAX_TOKEN: usize = 1 << 20;

/// Attributes of one tag that are looked at.
const MAX_ATTRIBUTES: usize = 64;

/// Text that is not tokenised yet.
#[derive(Debug, Default)]
pub(super) struct Pump {
    pending: String,
    /// Below this length another try is not worth it: the token at the front was not at its end.
    again_at: usize,
    /// How the token that is too long ends, while what comes belongs to it.
    skipped_to: Option<&'static str>,
    /// It was no XML from some point on, or had a token beyond all bounds.
    pub malformed: bool,
}

/// What became of a try.
enum Step {
    /// The rest waits for more.
    Wait,
    /// Nothing more can come of it.
    Stop,
}

impl Pump {
    /// The next piece of text; false when no more are wanted.
    pub fn push(&mut self, text: &str, to: &mut dyn Collect) -> bool {
        // Piece by piece it could not be told from a byte order mark, and it means nothing in an address.
        if text.contains('\u{feff}') {
            self.pending.extend(text.chars().filter(|c| *c != '\u{feff}'));
        } else {
            self.pending.push_str(text);
        }
        !self.skip() || self.pending.len() < self.again_at || self.tokenise(false, to)
    }

    /// Drops what belongs to a token that is too long; false when its end has not come.
    fn skip(&mut self) -> bool {
        let Some(end) = self.skipped_to else { return true };
        let Some(at) = self.pending.find(end) else {
            let from = self.pending.len().saturating_sub(end.len());
            let kept = (from..).find(|at| self.pending.is_char_boundary(*at)).unwrap_or(from);
            self.pending.drain(..kept);
            return false;
        };
        self.pending.drain(..if end == "<" { at } else { at + end.len() });
        self.skipped_to = None;
        true
    }

    /// The text has ended. False when it was no XML from some point on, or broken off within a token.
    pub fn finish(&mut self, to: &mut dyn Collect) -> bool {
        !self.malformed && self.skip() && self.tokenise(true, to) && self.pending.trim().is_empty()
    }

    fn tokenise(&mut self, last: bool, to: &mut dyn Collect) -> bool {
        let text = std::mem::take(&mut self.pending);
        let (done, step) = self.tokens(&text, last, to);
        let rest = text.get(done..).unwrap_or_default();
        self.again_at = if rest.is_empty() { 0 } else { rest.len().saturating_mul(2).min(MAX_TOKEN + 1) };
        self.pending = rest.to_owned();
        if rest.len() > MAX_TOKEN {
            (self.skipped_to, self.again_at) = (end_of(rest), 0);
            self.malformed |= self.skipped_to.is_none();
            self.skip();
        }
        matches!(step, Step::Wait) && !self.malformed && !to.is_full()
    }

    /// Hands over the whole tokens of `text` and gives where they end.
    fn tokens(&mut self, text: &str, last: bool, to: &mut dyn Collect) -> (usize, Step) {
        let mut reader = Reader::from_str(text);
        let config = reader.config_mut();
        (config.check_end_names, config.allow_unmatched_ends, config.allow_dangling_amp) = (false, true, true);
        let mut done = 0;
        while !to.is_full() {
            let event = reader.read_event();
            let at = usize::try_from(reader.buffer_position()).unwrap_or(text.len());
            match event {
                Ok(Event::Eof) => return (text.len(), Step::Wait),
                Ok(Event::Text(_)) if at == text.len() && !last => return (done, Step::Wait),
                Ok(Event::Text(_) | Event::CData(_) | Event::Comment(_)) if at.saturating_sub(done) > MAX_TOKEN => {}
                Ok(_) if at.saturating_sub(done) > MAX_TOKEN => {
                    self.malformed = true;
                    return (at, Step::Stop);
                }
                Ok(event) => hand_over(&event, to),
                Err(quick_xml::Error::IllFormed(_)) => {} // it goes on behind it
                Err(quick_xml::Error::Syntax(_)) if !is_hopeless(text.get(done..).unwrap_or_default()) => {
                    return (done, Step::Wait);
                }
                Err(_) => {
                    self.malformed = true;
                    return (done, Step::Stop);
                }
            }
            done = at;
        }
        (done, Step::Stop)
    }
}

/// How a text or comment ends that begins so; a tag has no end that could be looked for.
fn end_of(token: &str) -> Option<&'static str> {
    let ends = [("<![CDATA[", "]]>"), ("<!--", "-->")];
    let known = ends.into_iter().find(|(begin, _)| token.starts_with(begin)).map(|(_, end)| end);
    known.or_else(|| (!token.starts_with('<')).then_some("<"))
}

/// True for markup that no further text makes whole: `<!` and then neither a comment, a CDATA section nor a document type.
fn is_hopeless(token: &str) -> bool {
    let known = ["<!--", "<![CDATA[", "<!DOCTYPE"];
    let begins = |whole: &str| {
        let n = whole.len().min(token.len());
        token
            .as_bytes()
            .get(..n)
            .is_some_and(|start| start.eq_ignore_ascii_case(whole.as_bytes().get(..n).unwrap_or_default()))
    };
    token.starts_with("<!") && !known.into_iter().any(begins)
}

fn hand_over(event: &Event<'_>, to: &mut dyn Collect) {
    match event {
        Event::Start(tag) => open(tag, to),
        Event::Empty(tag) => {
            open(tag, to);
            to.close(&local_name(tag.name().as_ref()));
        }
        Event::End(tag) => to.close(&local_name(tag.name().as_ref())),
        Event::Text(text) => to.text(&String::from_utf8_lossy(text)),
        Event::CData(text) => to.text(&String::from_utf8_lossy(text)),
        Event::GeneralRef(name) => {
            let reference = format!("&{};", String::from_utf8_lossy(name));
            let mut meaning = String::new();
            decode_references(&reference, |text| meaning.push_str(text));
            if meaning == reference && is_name(name) { to.unknown(&reference) } else { to.text(&meaning) }
        }
        Event::Decl(_) | Event::PI(_) | Event::DocType(_) | Event::Comment(_) | Event::Eof => {}
    }
}

/// Whether an entity could have this name; what stands between a lone `&` and a `;` seldom is one.
fn is_name(name: &[u8]) -> bool {
    let later = |b: &u8| b.is_ascii_alphanumeric() || !b.is_ascii() || b"-._:".contains(b);
    name.first().is_some_and(|b| later(b) && !b"-.".contains(b) && !b.is_ascii_digit()) && name.iter().all(later)
}

fn open(tag: &BytesStart<'_>, to: &mut dyn Collect) {
    let attribute = |name: &str| attribute(tag, name);
    to.open(&local_name(tag.name().as_ref()), &attribute);
}

/// The first attribute with this name, references in it replaced.
fn attribute(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    // Not the check for doubles: its work grows with the square of their number.
    let mut attributes = tag.html_attributes();
    attributes.with_checks(false);
    let found = attributes.take(MAX_ATTRIBUTES).flatten().find(|a| a.key.as_ref() == name.as_bytes())?;
    let raw = String::from_utf8_lossy(&found.value);
    let mut value = String::with_capacity(raw.len());
    decode_references(&raw, |text| value.push_str(text));
    Some(value)
}

/// `loc` of `sm:Loc`.
fn local_name(name: &[u8]) -> Cow<'_, str> {
    let local = name.rsplit(|b| *b == b':').next().unwrap_or(name);
    let local = String::from_utf8_lossy(local);
    if local.bytes().any(|b| b.is_ascii_uppercase()) { Cow::Owned(local.to_ascii_lowercase()) } else { local }
}
