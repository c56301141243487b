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

/// The head of an answer that came without one: readers want a status line.
const HEADLESS: &[u8] = b"HTTP/1.0 200 OK\r\nX-Crawl-Protocol: HTTP/0.9\r\n\r\n";

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
/// `Content-Length`, which speaks of another body (RFC 9110, section 8.6). Empty lines before the status line are dropped
/// (RFC 9112, section 2.2). No head at all is an HTTP/0.9 answer and becomes `HTTP/1.0 200 OK` with a note. It always ends
/// with an empty line.
pub fn stored_response(head: &[u8], body_len: u64) -> Vec<u8> {
    let head = head.get(blank_lines(head)..).unwrap_or_default();
    if head_end(head) == 0 {
        return HEADLESS.to_vec();
    }
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

/// The response head for a body stored as it came: every byte as it is, and a status line where there was none at all.
pub fn exact_response(head: &[u8]) -> Vec<u8> {
    if head_end(head) == 0 { HEADLESS.to_vec() } else { head.to_vec() }
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
        if is_empty_line(line) || line == b"\r" {
            break;
        }
        end += line.len();
    }
    end
}

/// Length of the empty lines at the beginning.
fn blank_lines(head: &[u8]) -> usize {
    head.split_inclusive(|b| *b == b'\n').take_while(|line| is_empty_line(line)).map(<[u8]>::len).sum()
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

    fn stored(head: &str, len: u64) -> String {
        String::from_utf8(stored_response(head.as_bytes(), len)).unwrap()
    }

    #[test]
    fn credentials_are_redacted_even_when_folded_or_oddly_written() {
        let head = b"GET / HTTP/1.1\r\nHost: h.test\r\nCOOKIE : a=b\r\n c=d\r\nauthorization:Basic eA==\r\nX-Api-Key: x\r\nAccept: */*\r\n x\r\n\r\n";
        let out = String::from_utf8(redacted_request(head)).unwrap();
        assert_eq!(
            out,
            "GET / HTTP/1.1\r\nHost: h.test\r\nCOOKIE: [redacted]\r\nauthorization: [redacted]\r\nX-Api-Key: [redacted]\r\nAccept: */*\r\n x\r\n\r\n"
        );
    }

    #[test]
    fn the_stored_head_tells_the_truth_and_everything_else_is_kept() {
        let (ok, not_modified) = ("HTTP/1.1 200 OK\r\n", "HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\n\r\n");
        let with = |lines: &str| format!("{ok}{lines}\r\n");
        let headless = "HTTP/1.0 200 OK\r\nX-Crawl-Protocol: HTTP/0.9\r\n\r\n";
        for (what, head, len, want) in [
            ("true", with("content-LENGTH:  5\r\nX:y\r\n"), 5, with("content-LENGTH:  5\r\nX:y\r\n")),
            ("no length", "HTTP/1.0 200 OK\r\nX: y\r\n\r\n".into(), 5, "HTTP/1.0 200 OK\r\nX: y\r\n\r\n".into()),
            (
                "a coding is renamed and the length made true",
                with("Transfer-Encoding: chunked\r\nX: y\r\n"),
                12,
                with("X-Crawl-Transfer-Encoding: chunked\r\nX: y\r\nContent-Length: 12\r\n"),
            ),
            ("untrue", with("Content-Length: 99\r\n"), 3, with("X-Crawl-Content-Length: 99\r\nContent-Length: 3\r\n")),
            (
                "twice",
                with("Content-Length: 3\r\nContent-Length: 3\r\n"),
                3,
                with("Content-Length: 3\r\nX-Crawl-Content-Length: 3\r\n"),
            ),
            ("a sign", with("Content-Length: +3\r\n"), 3, with("X-Crawl-Content-Length: +3\r\nContent-Length: 3\r\n")),
            (
                "goes on in a folded line",
                with("Content-Length: 3\r\n 4\r\n"),
                3,
                with("X-Crawl-Content-Length: 3\r\n 4\r\nContent-Length: 3\r\n"),
            ),
            ("of the page it speaks of", not_modified.into(), 0, not_modified.into()),
            ("empty lines before it", format!("\r\n\n{}", with("")), 0, with("")),
            ("LF alone", "HTTP/1.1 200 OK\nContent-Length: 5\n\n".into(), 5, with("Content-Length: 5\r\n")),
            ("no head", String::new(), 7, headless.into()),
            ("no head but its end", "\r\n\r\n".into(), 7, headless.into()),
            ("half an end", "\r".into(), 7, headless.into()),
            ("no end", "HTTP/1.1 200 OK".into(), 0, with("")),
            ("half of its end", format!("{ok}\r"), 0, with("")),
        ] {
            assert_eq!(stored(&head, len), want, "{what}");
        }
        assert_eq!(redacted_request(b"GET / HTTP/1.1\r\nCookie: x"), b"GET / HTTP/1.1\r\nCookie: [redacted]\r\n\r\n");
    }

    #[test]
    fn a_status_line_that_readers_do_not_know_is_written_as_they_do() {
        for odd in
            ["HTTP 200 OK", "http/1.1 200 OK", "HTTP/2 200", "HTTP/1.1\t200\tOK", "HTTP/1.1 200OK", "HTTP/1.0  200 OK"]
        {
            let want = format!("HTTP/1.1 200\r\nX-Crawl-Status-Line: {odd}\r\nX: y\r\n\r\n");
            assert_eq!(stored(&format!("{odd}\r\nX: y\r\n\r\n"), 5), want);
            assert_eq!(stored(&want, 5), want);
        }
        for known in ["HTTP/1.0 200", "HTTP/1.1 200 ", "HTTP/1.1 999 who knows", "no status line at all"] {
            let head = format!("{known}\r\nX: y\r\n\r\n");
            assert_eq!(stored(&head, 5), head);
        }
    }

    #[test]
    fn an_exact_head_is_the_head() {
        for head in ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "HTTP/1.1 200 OK\nContent-Length: 9\n\n"]
        {
            assert_eq!(exact_response(head.as_bytes()), head.as_bytes());
            assert_eq!(head_len(format!("{head}body\r\n\r\n").as_bytes()), Some(head.len()));
            assert_eq!(head_len(&head.as_bytes()[..head.len() - 1]), None);
        }
        assert_eq!(exact_response(b""), HEADLESS);
    }

    #[test]
    fn a_transfer_coding_is_known_by_its_name() {
        let coding = |lines: &str| transfer_coding(format!("HTTP/1.1 200 OK\r\n{lines}\r\n").as_bytes());
        for (lines, want) in [
            ("", Coding::Plain),
            ("Transfer-Encoding: identity\r\n", Coding::Plain),
            ("X-Crawl-Transfer-Encoding: chunked\r\n", Coding::Plain),
            ("TRANSFER-encoding : Chunked\r\n", Coding::Chunked),
            ("Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n", Coding::Chunked),
            ("Transfer-Encoding: gzip, chunked\r\n", Coding::Other),
            ("Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n", Coding::Other),
        ] {
            assert_eq!(coding(lines), want, "{lines}");
        }
    }

    #[test]
    fn status_and_mime_are_read_from_the_head_or_not_at_all() {
        assert_eq!(status(b"HTTP/1.1 404 Not Found\r\n"), Some(404));
        assert_eq!(status(b"HTTP/1.1 404\r\n"), Some(404));
        assert_eq!(status(b"HTTP/1.1 4x4 No\r\n"), None);
        assert_eq!(status(b"ICY 200 OK\r\n"), None);
        assert_eq!(
            mime(b"HTTP/1.1 200 OK\r\ncontent-type: Text/HTML; charset=x\r\n\r\n").as_deref(),
            Some("text/html")
        );
        assert_eq!(mime(b"HTTP/1.1 200 OK\r\nContent-Type: text\r\n\r\n"), None);
        assert_eq!(mime(b"HTTP/1.1 200 OK\r\nContent-Type: a b/c\r\n\r\n"), None);
        assert_eq!(mime(b"HTTP/1.1 200 OK\r\n\r\nContent-Type: text/html"), None);
    }
}
