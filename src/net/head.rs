//! Heads of HTTP/1 messages as bytes: where one ends, its lines (RFC 9112). Odd ones are read as curl
//! and browsers read them (`tests/data/http/answers.tsv`).

/// The parts of an answer's head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedHead {
    /// The status code.
    pub status: u16,
    /// The version in the status line.
    pub version: HttpVersion,
    /// Header lines in the order, case and bytes received; folded lines joined by a space.
    pub headers: Vec<(String, Vec<u8>)>,
}

/// The version in an answer's status line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpVersion {
    /// HTTP/1.0
    Http10,
    /// HTTP/1.1
    Http11,
    /// Another, which the server cannot mean (nothing else was asked for), or none. Read as HTTP/1.1, but its connection is not trusted.
    Other,
}

/// Bytes of answer remembered at most; a head (with informational heads before it) that is longer is refused. Fixed; no setting.
pub const MAX_HEAD: usize = 256 * 1024;

/// Headers kept of one head at most, those apart that say where its body ends.
pub const MAX_HEADERS: usize = 1000;

/// Headers that are kept however many there are.
const FRAMING: [&str; 3] = ["content-length", "transfer-encoding", "connection"];

/// Looks for the final head in an answer that is still coming; no byte is looked at twice.
#[derive(Clone, Debug, Default)]
pub struct HeadScan {
    /// Where the head begins that is being looked at.
    begin: usize,
    /// Where the line begins that is being looked at.
    line: usize,
    /// Bytes looked at.
    seen: usize,
}

impl HeadScan {
    /// Where the final head stands in `bytes`, which begin with what was given before: empty lines before it and informational
    /// heads (1xx) left out, the empty line that ends it included. None as long as it is not complete.
    pub fn find(&mut self, bytes: &[u8]) -> Option<std::ops::Range<usize>> {
        while let Some(found) = memchr::memchr(b'\n', bytes.get(self.seen..)?) {
            let end = self.seen + found + 1;
            let line = bytes.get(self.line..end).unwrap_or_default();
            (self.seen, self.line) = (end, end);
            if !is_empty_line(line) {
                continue;
            }
            let head = self.begin..end;
            // Empty lines before a head, or a head after which another must come.
            if head.len() > line.len() && !is_informational(bytes.get(head.clone()).unwrap_or_default()) {
                return Some(head);
            }
            self.begin = end;
        }
        self.seen = bytes.len();
        None
    }

    /// Whether `bytes`, as far as they came, may still become an answer: only this keeps a server of another protocol from being
    /// waited for.
    pub fn may_be_http(&self, bytes: &[u8]) -> bool {
        let start = skip_line_ends(bytes.get(self.begin..).unwrap_or_default());
        let known = start.len().min(PREFIX.len());
        let begins =
            start.get(..known).unwrap_or_default().eq_ignore_ascii_case(PREFIX.get(..known).unwrap_or_default());
        begins && start.get(known).is_none_or(|b| *b == b'/' || is_blank(*b))
    }
}

/// What a status line begins with, in any case; a slash or a blank follows.
const PREFIX: &[u8] = b"HTTP";

/// The final head at the beginning of `bytes`, as [`HeadScan`] finds it. None if it is not complete.
pub fn final_head(bytes: &[u8]) -> Option<&[u8]> {
    bytes.get(HeadScan::default().find(bytes)?)
}

fn skip_line_ends(mut bytes: &[u8]) -> &[u8] {
    while let [b'\r' | b'\n', rest @ ..] = bytes {
        bytes = rest;
    }
    bytes
}

/// Whether a line, its end included, says nothing. Programs that write CRLF where the system makes CRLF of each LF end it with CRCRLF.
pub fn is_empty_line(line: &[u8]) -> bool {
    matches!(line, [before @ .., b'\n'] if before.iter().all(|b| *b == b'\r'))
}

/// Status 1xx, but not 101, after which no answer in HTTP follows.
fn is_informational(head: &[u8]) -> bool {
    matches!(status_of(head), Some(100 | 102..=199))
}

/// The status code in a head's first line.
pub fn status_of(head: &[u8]) -> Option<u16> {
    status_line(lines(head).next()?).map(|(status, _)| status)
}

/// Status and version of a status line: `HTTP`, a version or none, three digits that no fourth follows. What stands behind them is
/// of no account, and may touch them.
fn status_line(line: &[u8]) -> Option<(u16, HttpVersion)> {
    let (prefix, rest) = line.split_at_checked(PREFIX.len())?;
    let version = rest.split(|b| is_blank(*b)).next()?;
    let code = trimmed(rest.get(version.len()..)?);
    let (digits, after) = code.split_at_checked(3)?;
    let good = prefix.eq_ignore_ascii_case(PREFIX) && matches!(version, [] | [b'/', ..]);
    let status = std::str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()))?;
    let status = status.parse().ok().filter(|status| *status >= 100)?;
    let version = match version {
        b"/1.1" => HttpVersion::Http11,
        b"/1.0" => HttpVersion::Http10,
        _ => HttpVersion::Other,
    };
    (good && !after.first().is_some_and(u8::is_ascii_digit)).then_some((status, version))
}

/// Lines without their ends.
fn lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    head.split(|b| *b == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}

/// Reads a head. Lines that are no header are passed over, and so are those with a zero byte in them.
pub fn parse_head(head: &[u8]) -> Option<ParsedHead> {
    let (status, version) = status_line(lines(head).next()?)?;
    let mut headers: Vec<(String, Vec<u8>)> = Vec::new();
    let mut open = false;
    for line in lines(head).skip(1) {
        if let [b' ' | b'\t', ..] = line {
            if let (true, Some((_, value))) = (open, headers.last_mut()) {
                fold(value, trimmed(line));
            }
            continue;
        }
        let frames = |name: &str| FRAMING.iter().any(|own| name.eq_ignore_ascii_case(own));
        let header = split_header(line).filter(|(name, _)| headers.len() < MAX_HEADERS || frames(name));
        open = header.is_some();
        headers.extend(header.map(|(name, value)| (name.to_owned(), value.to_vec())));
    }
    headers.retain(|(_, value)| !value.contains(&0));
    Some(ParsedHead { status, version, headers })
}

/// Appends a folded line, behind a space if both sides have something.
fn fold(value: &mut Vec<u8>, more: &[u8]) {
    if !value.is_empty() && !more.is_empty() {
        value.push(b' ');
    }
    value.extend_from_slice(more);
}

/// Name and value of a header line; spaces before the colon are forgiven.
fn split_header(line: &[u8]) -> Option<(&str, &[u8])> {
    let colon = memchr::memchr(b':', line)?;
    let (name, value) = (trimmed(line.get(..colon)?), trimmed(line.get(colon + 1..)?));
    (!name.is_empty() && name.iter().all(|b| is_token(*b))).then_some(())?;
    Some((std::str::from_utf8(name).ok()?, value))
}

fn is_blank(b: u8) -> bool {
    matches!(b, b' ' | b'\t')
}

/// Without spaces, tabs and carriage returns at its ends (RFC 9110 section 5.6.3); other white space is no white space here.
fn trimmed(mut bytes: &[u8]) -> &[u8] {
    while let [b' ' | b'\t' | b'\r', rest @ ..] | [rest @ .., b' ' | b'\t' | b'\r'] = bytes {
        bytes = rest;
    }
    bytes
}

/// Characters of a header name (RFC 9110 section 5.6.2).
fn is_token(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::cases::{rows, unescaped};

    #[test]
    fn heads_are_read_as_curl_and_browsers_read_them() {
        for row in rows(include_str!("../../tests/data/http/heads.txt"), 3) {
            let [what, bytes, want] = [0, 1, 2].map(|n| row.cells[n]);
            let bytes = unescaped(bytes);
            let header = |(name, value): &(String, Vec<u8>)| [name.as_bytes(), b": ", value, b"\n"].concat();
            let found = match what {
                "final" => final_head(&bytes).map(<[u8]>::to_vec),
                "status" => status_line(&bytes).map(|(status, version)| format!("{status} {version:?}").into_bytes()),
                _ => parse_head(&bytes).map(|head| head.headers.iter().flat_map(header).collect()),
            };
            let want = Some(unescaped(want)).filter(|want| want != b"-");
            assert_eq!(found, want, "line {}: {}", row.line, row.text);
        }
    }

    #[test]
    fn lines_that_are_no_header_do_not_hide_the_headers_behind_them() {
        let head = format!("HTTP/1.1 302 F\r\n{}Location: /a\r\n\r\n", "no header\r\n".repeat(2 * MAX_HEADERS));
        assert_eq!(parse_head(head.as_bytes()).unwrap().headers, [("Location".to_owned(), b"/a".to_vec())]);
    }

    #[test]
    fn another_protocol_is_told_at_its_first_bytes() {
        let may = |bytes: &[u8]| HeadScan::default().may_be_http(bytes);
        assert!(may(b"") && may(b"\r\nHt") && may(b"HTTP/1.1 200 OK\r\n"));
        assert!(may(b"HTTP 2") && !may(b"HTTPX") && !may(b"HTTP\r\n"));
        assert!(!may(b"SSH-2.0") && !may(b"H2") && !may(b"\n220 smtp") && !may(b"\x15\x03"));
    }

    #[test]
    fn a_head_that_comes_byte_by_byte_is_found_where_it_ends() {
        let bytes = b"\r\nHTTP/1.1 103 E\r\nA: b\r\n\r\nHTTP/1.1 200 OK\nA: b\n\nbody\n\n";
        let mut scan = HeadScan::default();
        let found = (0..=bytes.len()).find_map(|end| Some((end, scan.find(&bytes[..end])?))).unwrap();
        assert_eq!(&bytes[found.1.clone()], b"HTTP/1.1 200 OK\nA: b\n\n");
        assert_eq!(found.0, found.1.end);
    }

    proptest! {
        #[test]
        fn any_bytes_can_be_looked_at(bytes in prop::collection::vec(prop::sample::select(b"\r\n :aH1".to_vec()), 0..60)) {
            if let Some(head) = final_head(&bytes) {
                prop_assert!(bytes.windows(head.len()).any(|w| w == head));
                prop_assert_eq!(final_head(head), Some(head));
            }
            let _ = parse_head(&bytes);
        }
    }
}
