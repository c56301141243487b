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

    fn form(lines: &str) -> BodyForm {
        BodyForm::of(&parse_head(format!("HTTP/1.1 200 OK\r\n{lines}\r\n\r\n").as_bytes()).unwrap())
    }

    #[test]
    fn the_body_ends_where_browsers_and_curl_see_its_end() {
        use Framing::{Chunks, Close, Length};
        for (lines, framing, plain, keeps) in [
            ("", Close, true, false),
            ("Content-Length: 2", Length(2), true, true),
            ("Content-Length: 2\r\nContent-Length: 2", Length(2), true, true),
            ("Content-Length: 2, 2", Length(2), true, true),
            ("Content-Length: 2\r\nContent-Length: 3", Length(3), true, false),
            ("Content-Length: 3, 2", Length(3), true, true),
            ("Content-Length: +2", Length(2), true, true),
            ("Content-Length: 2b", Length(2), true, true),
            ("Content-Length:\r\n 2", Length(2), true, true),
            ("Content-Length: two", Close, true, false),
            ("Content-Length: -2", Close, true, false),
            ("Content-Length: two\r\nContent-Length: 2", Length(2), true, false),
            ("Content-Length: 99999999999999999999", Close, true, false),
            ("Content-Length: 99999999999999999999\r\nContent-Length: 2", Length(2), true, false),
            ("Transfer-Encoding: chunked", Chunks, true, true),
            ("Transfer-Encoding: Chunked;q=1", Chunks, true, true),
            ("Transfer-Encoding: chunked, chunked", Chunks, false, true),
            ("Transfer-Encoding: chunked\r\nContent-Length: 2", Chunks, true, false),
            ("Transfer-Encoding: gzip, chunked", Chunks, false, true),
            ("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked", Chunks, false, true),
            ("Transfer-Encoding: chunked, identity", Chunks, true, true),
            ("Transfer-Encoding: identity", Close, true, false),
            ("Transfer-Encoding: identity\r\nContent-Length: 2", Length(2), true, false),
            ("Transfer-Encoding:\r\nContent-Length: 2", Length(2), true, true),
            ("Transfer-Encoding: x-own", Close, false, false),
            ("Content-Length: 2\r\nConnection: x, Close", Length(2), true, false),
        ] {
            assert_eq!(form(lines), BodyForm { framing, unchunked: None, plain, keeps }, "{lines}");
        }
    }

    #[test]
    fn other_versions_and_statuses_have_their_own_rules() {
        let of = |head: &str| BodyForm::of(&parse_head(format!("{head}\r\n\r\n").as_bytes()).unwrap());
        for (head, framing, keeps) in [
            ("HTTP/1.0 200 OK\r\nContent-Length: 2", Framing::Length(2), false),
            ("HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: Keep-Alive", Framing::Length(2), true),
            ("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive", Framing::Chunks, false),
            ("HTTP/2 200\r\nContent-Length: 2", Framing::Length(2), false),
            ("HTTP/1.1 204 No\r\nContent-Length: 2", Framing::None, true),
            ("HTTP/1.1 304 Not\r\nTransfer-Encoding: chunked", Framing::None, true),
        ] {
            let form = of(head);
            assert_eq!((form.framing, form.keeps), (framing, keeps), "{head}");
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
        use Ended::{Cut, Whole};
        for (framing, bytes, payload, ended) in [
            (Framing::Length(5), "hello", "hello", Ok(Whole(None))),
            (Framing::Length(5), "hello and more", "hello", Ok(Whole(None))),
            (Framing::Length(9), "hello", "hello", Ok(Cut(Note::EndedEarly))),
            (Framing::None, "hello", "", Ok(Whole(None))),
            (Framing::Close, "hello", "hello", Ok(Whole(None))),
            (Framing::Chunks, "5\r\nhello\r\n0\r\n\r\n", "hello", Ok(Whole(None))),
            (Framing::Chunks, "5\r\nhello\r\n0\r\n", "hello", Ok(Whole(Some(Note::ChunkFault)))),
            (Framing::Chunks, "5\r\nhello\r\n0\r\nX: y", "hello", Ok(Whole(Some(Note::ChunkFault)))),
            (Framing::Chunks, "5\r\nhello\r\n0", "hello", Ok(Cut(Note::ChunkFault))),
            (Framing::Chunks, "5\r\nhello\r\n", "hello", Ok(Cut(Note::ChunkFault))),
            (Framing::Chunks, "5\r\nhello\r\nzz\r\n", "hello", Err(ChunkFault)),
        ] {
            for size in [1, 2, 100] {
                let form = BodyForm { framing, unchunked: None, plain: true, keeps: true };
                let got = read(form, bytes.as_bytes(), size);
                assert_eq!(got, (payload.as_bytes().to_vec(), ended), "{framing:?} {bytes:?} {size}");
            }
        }
    }

    #[test]
    fn what_http_1_0_calls_chunked_is_read_as_it_begins() {
        use Ended::{Cut, Whole};
        for (length, body, payload, ended) in [
            ("", "5\r\nhello\r\n0\r\n\r\n", "hello", Ok(Whole(None))),
            ("", "<p>hello", "<p>hello", Ok(Whole(None))),
            ("Content-Length: 8\r\n", "<p>hello and more", "<p>hello", Ok(Whole(None))),
            ("Content-Length: 9\r\n", "<p>hello", "<p>hello", Ok(Cut(Note::EndedEarly))),
            ("", "5\r\nhello\r\n<p>", "hello", Err(ChunkFault)),
        ] {
            let head = format!("HTTP/1.0 200 OK\r\n{length}Transfer-Encoding: chunked\r\n\r\n");
            let form = BodyForm::of(&parse_head(head.as_bytes()).unwrap());
            for size in [1, 2, 100] {
                let got = read(form, body.as_bytes(), size);
                assert_eq!(got, (payload.as_bytes().to_vec(), ended), "{length} {body:?} {size}");
            }
        }
    }
}
