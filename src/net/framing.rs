//! Where the body of an answer ends (RFC 9112, section 6.3), read as browsers read it and, in what they do not agree on, as curl
//! does.
//!
//! | head | body |
//! |---|---|
//! | status 1xx, 204, 304 | none |
//! | `Transfer-Encoding` that names `chunked` anywhere, whatever the version | chunks; in HTTP/1.0 only where it begins with a size, else as below |
//! | `Content-Length` that begins with a number; of several the last | so many bytes |
//! | neither; another `Transfer-Encoding`; a length that is no number, or that is too large for one | to the end of the connection |
//!
//! A connection whose framing could be read in two ways is not used again (RFC 9112, section 11.2).

use crate::document::chunks::{ChunkFault, Chunks, Step};
use crate::domain::note::Note;

use super::head::{HttpVersion, ParsedHead};

/// What tells where a body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Nothing: there is none.
    None,
    /// Its `Content-Length`.
    Length(u64),
    /// Its chunks.
    Chunks,
    /// The end of the connection.
    Close,
}

/// How the body behind a head is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyForm {
    /// Where it ends.
    pub framing: Framing,
    /// Where it ends when it does not begin as a chunked body: HTTP/1.0 has none, and browsers read it so.
    pub unchunked: Option<Framing>,
    /// It can be stored as it came: its only transfer coding, if it has one, is `chunked`.
    pub plain: bool,
    /// The connection can be used again when the body came whole.
    pub keeps: bool,
}

impl BodyForm {
    /// Of the answer with this head to a GET.
    pub fn of(head: &ParsedHead) -> Self {
        let codings: Vec<String> = tokens(head, "transfer-encoding").collect();
        let lengths: Vec<Length> = values(head, "content-length").map(Length::of).collect();
        let last = lengths.iter().rev().find(|length| **length != Length::Unread);
        let by_length = match last {
            Some(Length::Bytes(bytes)) => Framing::Length(*bytes),
            _ => Framing::Close,
        };
        let framing = match head.status {
            100..=199 | 204 | 304 => Framing::None,
            _ if codings.iter().any(|coding| coding == "chunked") => Framing::Chunks,
            _ => by_length,
        };
        let is_old = framing == Framing::Chunks && head.version == HttpVersion::Http10;
        let sure = codings.is_empty() || (lengths.is_empty() && head.version == HttpVersion::Http11);
        let agree = lengths.iter().all(|length| *length != Length::Unread && Some(length) == lengths.first());
        let stays = match head.version {
            HttpVersion::Http11 => !tokens(head, "connection").any(|token| token == "close"),
            HttpVersion::Http10 => tokens(head, "connection").any(|token| token == "keep-alive"),
            HttpVersion::Other => false,
        };
        let plain = codings.iter().all(|coding| coding == "chunked" || coding == "identity")
            && codings.iter().filter(|coding| *coding == "chunked").count() <= 1;
        let keeps = framing != Framing::Close && sure && agree && stays;
        Self { framing, unchunked: is_old.then_some(by_length), plain, keeps }
    }
}

/// A `Content-Length` as it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    Bytes(u64),
    /// A number that is too large for one.
    Endless,
    /// No number.
    Unread,
}

impl Length {
    /// A plus before the digits and anything behind them are forgiven.
    fn of(value: &[u8]) -> Self {
        let digits = value.strip_prefix(b"+").unwrap_or(value);
        let count = digits.iter().take_while(|b| b.is_ascii_digit()).count();
        let text = std::str::from_utf8(digits.get(..count).unwrap_or_default()).unwrap_or_default();
        match text.parse::<i64>() {
            _ if text.is_empty() => Self::Unread,
            Ok(bytes) => Self::Bytes(bytes.unsigned_abs()),
            Err(_) => Self::Endless,
        }
    }
}

fn values<'h>(head: &'h ParsedHead, name: &'static str) -> impl Iterator<Item = &'h [u8]> {
    head.headers.iter().filter(move |(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_slice())
}

/// The members of a list in lower case, without parameters and quotes; empty ones left out.
fn tokens<'h>(head: &'h ParsedHead, name: &'static str) -> impl Iterator<Item = String> + use<'h> {
    let members = values(head, name).flat_map(|value| value.split(|b| *b == b','));
    members.filter_map(|member| {
        let bare = member.split(|b| *b == b';').next()?.trim_ascii();
        let bare = bare.strip_prefix(b"\"").and_then(|b| b.strip_suffix(b"\"")).unwrap_or(bare);
        (!bare.is_empty()).then(|| String::from_utf8_lossy(bare).to_ascii_lowercase())
    })
}

/// Reads a body as it comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BodyReader {
    at: At,
    /// As [`BodyForm::unchunked`], until the first byte has told.
    unchunked: Option<Framing>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum At {
    Left(u64),
    Chunks(Chunks),
    Close,
}

impl At {
    fn beginning(framing: Framing) -> Self {
        match framing {
            Framing::None => Self::Left(0),
            Framing::Length(bytes) => Self::Left(bytes),
            Framing::Chunks => Self::Chunks(Chunks::default()),
            Framing::Close => Self::Close,
        }
    }
}

/// How a body stands at the end of its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All of it came; with what was odd.
    Whole(Option<Note>),
    /// There should be more.
    Cut(Note),
}

impl BodyReader {
    /// At its beginning.
    pub fn new(form: BodyForm) -> Self {
        Self { at: At::beginning(form.framing), unchunked: form.unchunked }
    }

    /// Whether nothing of it is left to come.
    pub fn is_done(&self) -> bool {
        match &self.at {
            At::Left(left) => *left == 0,
            At::Chunks(chunks) => chunks.is_done(),
            At::Close => false,
        }
    }

    /// Takes what is of one kind, payload or framing, from the beginning of `bytes`.
    pub fn step(&mut self, bytes: &[u8]) -> Result<Step, ChunkFault> {
        match &mut self.at {
            At::Left(left) => {
                let taken = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                *left = left.saturating_sub(taken as u64);
                Ok(Step { taken, is_data: true })
            }
            At::Chunks(chunks) => match (chunks.step(bytes), self.unchunked.take()) {
                (Err(ChunkFault), Some(framing)) => {
                    self.at = At::beginning(framing);
                    self.step(bytes)
                }
                (step, _) => step,
            },
            At::Close => Ok(Step { taken: bytes.len(), is_data: true }),
        }
    }

    /// What it means that the connection ended here.
    pub fn ended(&self) -> Ended {
        match &self.at {
            At::Left(0) | At::Close => Ended::Whole(None),
            At::Left(_) => Ended::Cut(Note::EndedEarly),
            At::Chunks(chunks) if chunks.is_done() => Ended::Whole(None),
            At::Chunks(chunks) if chunks.is_complete() => Ended::Whole(Some(Note::ChunkFault)),
            At::Chunks(_) => Ended::Cut(Note::ChunkFault),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::head::parse_head;
    use super::*;
    use crate::domain::cases::{rows, unescaped};

    fn form(status: &str, lines: &str) -> BodyForm {
        let head = [status.as_bytes(), b"\r\n", &unescaped(lines), b"\r\n\r\n"].concat();
        BodyForm::of(&parse_head(&head).unwrap())
    }

    #[test]
    fn the_body_ends_where_browsers_and_curl_see_its_end() {
        for row in rows(include_str!("../../tests/data/http/framing.txt"), 3) {
            let [status, lines, want] = [0, 1, 2].map(|n| row.cells[n]);
            let BodyForm { framing, unchunked, plain, keeps } = form(status, lines);
            let or = unchunked.map(|framing| format!(", or {framing:?}")).unwrap_or_default();
            let (plain, keeps) = (if plain { "plain" } else { "coded" }, if keeps { "keeps" } else { "closes" });
            assert_eq!(format!("{framing:?}{or} {plain} {keeps}"), want, "line {}: {}", row.line, row.text);
        }
    }

    /// What a body gives whose bytes come in pieces: payload, and how it ends.
    fn read(form: BodyForm, bytes: &[u8], size: usize) -> (Vec<u8>, Result<Ended, ChunkFault>) {
        let (mut reader, mut payload) = (BodyReader::new(form), Vec::new());
        for mut piece in bytes.chunks(size) {
            while !piece.is_empty() && !reader.is_done() {
                let step = match reader.step(piece) {
                    Ok(step) => step,
                    Err(fault) => return (payload, Err(fault)),
                };
                let (now, later) = piece.split_at(step.taken);
                payload.extend_from_slice(if step.is_data { now } else { &[] });
                piece = later;
            }
        }
        (payload, Ok(reader.ended()))
    }

    #[test]
    fn a_body_is_whole_when_all_its_payload_came() {
        for row in rows(include_str!("../../tests/data/http/bodies.txt"), 5) {
            let [status, lines, bytes, payload, want] = [0, 1, 2, 3, 4].map(|n| row.cells[n]);
            for size in [1, 2, 100] {
                let (found, ended) = read(form(status, lines), &unescaped(bytes), size);
                let ended = match ended {
                    Ok(Ended::Whole(None)) => "whole".to_owned(),
                    Ok(Ended::Whole(Some(note))) => format!("whole, {note}"),
                    Ok(Ended::Cut(note)) => format!("cut, {note}"),
                    Err(ChunkFault) => "no chunk".to_owned(),
                };
                let found = String::from_utf8(found).unwrap();
                assert_eq!((found.as_str(), ended.as_str()), (payload, want), "line {}: {size}", row.line);
            }
        }
    }
}
