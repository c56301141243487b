//! HTTP heads as they are stored: credentials redacted, framing headers made true.
//!
//! By default (`store.http_body = "dechunked"`) a body is stored without its transfer coding. Readers that trust the head would then look for chunk lines
//! that are not there, so `Transfer-Encoding` is renamed and `Content-Length` made true. The originals stay readable as
//! `X-Crawl-Transfer-Encoding` and `X-Crawl-Content-Length`, the names Common Crawl made known. Lines that end with LF
//! alone get CRLF, without which some readers find no body, and a status line that they do not know is written as they do, the
//! original beside it as `X-Crawl-Status-Line`. Order, case and spaces of everything else are kept.

use crate::domain::secret_header::is_secret_header;
use crate::net::head::is_empty_line;

pub use crate::net::head::status_of as status;

/// Written in place of a secret.
pub const REDACTED: &[u8] = b"[redacted]";

/// The request head with the values of `Authorization`, `Proxy-Authorization`, `Cookie`, and of headers of the operator's that are
/// named like them ([`is_secret_header`]), replaced by `[redacted]`. It always ends with an empty line.
pub fn redacted_request(head: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(head.len() + 8);
    let mut secret = false;
    for line in fields(head) {
        if line.folded && secret {
            continue; // the rest of a folded secret
        }
        secret = !line.folded && std::str::from_utf8(line.name).is_ok_and(is_secret_header);
        if secret {
            out.extend_from_slice(line.name);
            out.extend_from_slice(b": ");
            out.extend_from_slice(REDACTED);
            out.extend_from_slice(b"\r\n");
        } else {
            put_line(&mut out, line.whole);
        }
    }
    end(out)
}

/// The response head for a body stored without transfer coding, `body_len` bytes long.
///
/// A head that tells the truth already is returned unchanged. A head without any length gets none unless it named a
/// transfer coding: a body that ends with the connection is legal as it is. Heads of 1xx, 204 and 304 answers keep their
/// `Content-Length`, which speaks of another body (RFC 9110, section 8.6). It always ends with an empty line.
pub fn stored_response(head: &[u8], body_len: u64) -> Vec<u8> {
    let bodiless = matches!(status(head), Some(100..=199 | 204 | 304)) && body_len == 0;
    let mut out = Vec::with_capacity(head.len() + 64);
    let mut renamed = false;
    let mut true_length = false;
    let mut lines = fields(head).peekable();
    if let Some(status) = status(head)
        && let Some(first) = lines.next_if(|line| !is_plain_status_line(line.whole))
    {
        out.extend_from_slice(format!("HTTP/1.1 {status}\r\nX-Crawl-Status-Line: ").as_bytes());
        put_line(&mut out, first.whole);
    }
    while let Some(line) = lines.next() {
        let length = line.is(b"content-length") && !bodiless;
        let goes_on = lines.peek().is_some_and(|next| next.folded);
        if length && !true_length && !goes_on && line.value_is_number(body_len) {
            true_length = true;
        } else if length || line.is(b"transfer-encoding") {
            renamed = true;
            out.extend_from_slice(b"X-Crawl-");
        }
        put_line(&mut out, line.whole);
    }
    if renamed && !true_length && !bodiless {
        out.extend_from_slice(format!("Content-Length: {body_len}\r\n").as_bytes());
    }
    end(out)
}

/// Whether every reader knows it: `HTTP/1.0` or `HTTP/1.1`, a space, three digits, and nothing or a space.
fn is_plain_status_line(line: &[u8]) -> bool {
    let [b'H', b'T', b'T', b'P', b'/', b'1', b'.', b'0' | b'1', b' ', a, b, c, rest @ ..] = line else { return false };
    [a, b, c].iter().all(|digit| digit.is_ascii_digit()) && matches!(rest, [] | [b' ' | b'\r' | b'\n', ..])
}

/// Length of the head that `content` begins with, its empty line included; none when it has no end.
pub fn head_len(content: &[u8]) -> Option<usize> {
    let lines = head_end(content);
    let end = content.get(lines..)?.split_inclusive(|b| *b == b'\n').next()?;
    is_empty_line(end).then_some(lines + end.len())
}

/// Whether the last line of `head` is the empty line that ends it.
pub fn ends_here(head: &[u8]) -> bool {
    let lines = head.strip_suffix(b"\n").unwrap_or_default();
    let begin = lines.iter().rposition(|b| *b == b'\n').map_or(0, |end| end + 1);
    is_empty_line(head.get(begin..).unwrap_or_default())
}

/// The MIME type in `Content-Type`, lower case and without parameters; `None` when missing or no `type/subtype`.
pub fn mime(head: &[u8]) -> Option<String> {
    let line = fields(head).find(|line| line.is(b"content-type"))?;
    let value = line.value().split(|b| matches!(b, b';' | b',')).next()?.trim_ascii();
    let text = std::str::from_utf8(value).ok()?;
    let good =
        |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$&-^_.+*".contains(&b));
    let (kind, sub) = text.split_once('/')?;
    (text.len() <= 127 && good(kind) && good(sub)).then(|| text.to_ascii_lowercase())
}

/// How the body behind a head is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// It is the payload.
    Plain,
    /// Its chunks hold the payload.
    Chunked,
    /// In a way that is not known here.
    Other,
}

/// The transfer coding that a head names.
pub fn transfer_coding(head: &[u8]) -> Coding {
    let named = fields(head).filter(|line| line.is(b"transfer-encoding")).map(|line| line.value().to_ascii_lowercase());
    named
        .filter(|value| !value.is_empty() && value != b"identity")
        .fold(Coding::Plain, |_, value| if value == b"chunked" { Coding::Chunked } else { Coding::Other })
}

/// One line of a head, its line end included.
struct Line<'a> {
    whole: &'a [u8],
    /// What stands before the colon; empty for the first line and for lines that are no field.
    name: &'a [u8],
    /// True for the continuation of the line above (RFC 9112, section 5.2).
    folded: bool,
}

impl<'a> Line<'a> {
    fn is(&self, lower_name: &[u8]) -> bool {
        self.name.eq_ignore_ascii_case(lower_name)
    }

    fn value(&self) -> &'a [u8] {
        let after = self.whole.iter().position(|b| *b == b':').map_or(self.whole.len(), |colon| colon + 1);
        self.whole.get(after..).unwrap_or_default().trim_ascii()
    }

    fn value_is_number(&self, number: u64) -> bool {
        let digits = Some(self.value()).filter(|value| value.iter().all(u8::is_ascii_digit));
        digits.and_then(|v| std::str::from_utf8(v).ok()?.parse().ok()) == Some(number)
    }
}

/// The lines of a head without the empty line at its end.
fn fields(head: &[u8]) -> impl Iterator<Item = Line<'_>> {
    let head = head.get(..head_end(head)).unwrap_or_default();
    head.split_inclusive(|b| *b == b'\n').enumerate().map(|(i, whole)| {
        let folded = i > 0 && matches!(whole.first(), Some(b' ' | b'\t'));
        let colon = whole.iter().position(|b| *b == b':').filter(|_| i > 0 && !folded);
        let name = colon.and_then(|at| whole.get(..at)).unwrap_or_default().trim_ascii();
        Line { whole, name, folded }
    })
}

/// Where the head's lines end and its empty line (if any) begins.
fn head_end(head: &[u8]) -> usize {
    let mut end = 0;
    for line in head.split_inclusive(|b| *b == b'\n') {
        // Of CR alone is the beginning of an empty line that was cut off.
        if is_empty_line(line) || line.iter().all(|byte| *byte == b'\r') {
            break;
        }
        end += line.len();
    }
    end
}

/// Writes a line with CRLF at its end, whatever it had.
fn put_line(out: &mut Vec<u8>, line: &[u8]) {
    let text = line.strip_suffix(b"\n").unwrap_or(line);
    let end = text.iter().rposition(|b| *b != b'\r').map_or(0, |last| last + 1);
    out.extend_from_slice(text.get(..end).unwrap_or(text));
    out.extend_from_slice(b"\r\n");
}

fn end(mut out: Vec<u8>) -> Vec<u8> {
    out.extend_from_slice(b"\r\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::cases::{rows, unescaped};

    #[test]
    fn heads_are_stored_and_read_as_the_table_says() {
        for row in rows(include_str!("../../tests/data/warc/heads.txt"), 3) {
            let [what, head, want] = [0, 1, 2].map(|n| row.cells[n]);
            let head = unescaped(head);
            let found = match what {
                "coding" => format!("{:?}", transfer_coding(&head)).into_bytes(),
                "mime" => mime(&head).map_or(b"-".to_vec(), String::into_bytes),
                "request" => redacted_request(&head),
                length => stored_response(&head, length.parse().unwrap()),
            };
            let want = if want == "the same" { head } else { unescaped(want) };
            assert_eq!(found.escape_ascii().to_string(), want.escape_ascii().to_string(), "line {}", row.line);
            if let Ok(length) = what.parse() {
                assert_eq!(stored_response(&found, length), found, "line {}: stored twice", row.line);
            }
        }
    }

    #[test]
    fn the_head_of_a_content_ends_with_its_empty_line() {
        for head in ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "HTTP/1.1 200 OK\nContent-Length: 9\n\n"]
        {
            assert_eq!(head_len(format!("{head}body\r\n\r\n").as_bytes()), Some(head.len()));
            assert_eq!(head_len(&head.as_bytes()[..head.len() - 1]), None);
        }
    }
}
