//! Heads of HTTP/1 messages as bytes: where one ends, its lines, and what WARC wants of it (RFC 9112).

/// The parts of an answer's head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedHead {
    /// The status code.
    pub status: u16,
    /// Header lines in the order, case and bytes received; folded lines joined by a space.
    pub headers: Vec<(String, Vec<u8>)>,
}

/// Bytes of answer remembered at most; a head (with informational heads before it) that is longer is refused.
pub const MAX_HEAD: usize = 256 * 1024;

/// Headers taken from one head at most; the connection's own parser refuses a head with more.
pub const MAX_HEADERS: usize = 1000;

/// The final head at the beginning of `bytes`: empty lines before it and informational heads (1xx) left out, the
/// empty line that ends it included. None if it is not complete.
#[must_use]
pub fn final_head(bytes: &[u8]) -> Option<&[u8]> {
    split_final(bytes).map(|(head, _)| head)
}

/// The final head as [`final_head`] finds it, and what stands behind it.
#[must_use]
pub fn split_final(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut rest = bytes;
    loop {
        rest = skip_empty_lines(rest);
        let end = head_end(rest)?;
        let (head, after) = rest.split_at_checked(end)?;
        if !is_informational(head) {
            return Some((head, after));
        }
        rest = after;
    }
}

fn skip_empty_lines(mut bytes: &[u8]) -> &[u8] {
    loop {
        bytes = match bytes {
            [b'\r', b'\n', rest @ ..] | [b'\n', rest @ ..] => rest,
            _ => return bytes,
        };
    }
}

/// The length of the head at the beginning of `bytes`, with the empty line; lines end in CRLF or LF.
fn head_end(bytes: &[u8]) -> Option<usize> {
    let mut end = 0;
    for line in bytes.split_inclusive(|b| *b == b'\n') {
        end += line.len();
        if matches!(line, b"\r\n" | b"\n") {
            return Some(end);
        }
    }
    None
}

/// Status 1xx, but not 101, after which no answer in HTTP follows.
fn is_informational(head: &[u8]) -> bool {
    matches!(status_of(head), Some(100 | 102..=199))
}

/// The status code in a head's first line: the first word after the version.
fn status_of(head: &[u8]) -> Option<u16> {
    let line = lines(head).next()?;
    let word = line.split(|b| *b == b' ').filter(|w| !w.is_empty()).nth(1)?;
    std::str::from_utf8(word).ok()?.parse().ok()
}

/// Lines without their ends.
fn lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    head.split(|b| *b == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}

/// Reads a head: lines that are no header are left out, as the connection's own parser leaves them out.
#[must_use]
pub fn parse_head(head: &[u8]) -> Option<ParsedHead> {
    let status = status_of(head)?;
    let mut headers: Vec<(String, Vec<u8>)> = Vec::new();
    let mut open = false;
    for line in lines(head).skip(1) {
        if let [b' ' | b'\t', ..] = line {
            if let (true, Some((_, value))) = (open, headers.last_mut()) {
                fold(value, trimmed(line));
            }
            continue;
        }
        if headers.len() >= MAX_HEADERS {
            break;
        }
        let header = split_header(line);
        open = header.is_some();
        headers.extend(header.map(|(name, value)| (name.to_owned(), value.to_vec())));
    }
    Some(ParsedHead { status, headers })
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

/// Without spaces and tabs at its ends (RFC 9110 section 5.6.3); other white space is no white space here.
fn trimmed(mut bytes: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = bytes {
        bytes = rest;
    }
    bytes
}

/// Characters of a header name (RFC 9110 section 5.6.2).
fn is_token(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b)
}

/// The head for a block whose body stands without transfer coding: `Transfer-Encoding` renamed to
/// `X-Crawler-Transfer-Encoding`, one `Content-Length` of `body_len`; every other byte as it was.
#[must_use]
pub fn warc_head(head: &[u8], body_len: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(head.len() + 64);
    let mut told = false;
    let mut dropping = false;
    for line in head.split_inclusive(|b| *b == b'\n') {
        if matches!(line, b"\r\n" | b"\n") {
            if !told {
                out.extend_from_slice(format!("Content-Length: {body_len}\r\n").as_bytes());
            }
            out.extend_from_slice(line);
            return out;
        }
        if let [b' ' | b'\t', ..] = line {
            if !dropping {
                out.extend_from_slice(line);
            }
            continue;
        }
        dropping = false;
        let name = split_header(line.trim_ascii_end()).map(|(name, _)| name.to_ascii_lowercase());
        match name.as_deref() {
            Some("transfer-encoding") => {
                out.extend_from_slice(b"X-Crawler-");
                out.extend_from_slice(line);
            }
            Some("content-length") => {
                dropping = true;
                if !std::mem::replace(&mut told, true) {
                    out.extend_from_slice(line.split(|b| *b == b':').next().unwrap_or_default());
                    out.extend_from_slice(format!(": {body_len}\r\n").as_bytes());
                }
            }
            _ => out.extend_from_slice(line),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_final_head_stands_after_empty_lines_and_informational_heads() {
        let cases: &[(&[u8], Option<&[u8]>)] = &[
            (b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody", Some(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n")),
            (b"HTTP/1.1 200 OK\nA: b\n\nbody", Some(b"HTTP/1.1 200 OK\nA: b\n\n")),
            (b"\r\n\nHTTP/1.0 404\r\n\r\n", Some(b"HTTP/1.0 404\r\n\r\n")),
            (
                b"HTTP/1.1 100 C\r\n\r\nHTTP/1.1 103 E\r\nLink: x\r\n\r\nHTTP/1.1 200 O\r\n\r\n",
                Some(b"HTTP/1.1 200 O\r\n\r\n"),
            ),
            (b"HTTP/1.1 101 S\r\n\r\nraw", Some(b"HTTP/1.1 101 S\r\n\r\n")),
            (b"HTTP/1.1 200 OK\r\nA: b\r\n", None),
            (b"HTTP/1.1 100 C\r\n\r\n", None),
            (b"", None),
        ];
        for (bytes, head) in cases {
            assert_eq!(final_head(bytes), *head, "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn a_head_keeps_order_case_and_bytes_and_leaves_out_what_is_no_header() {
        let head = b"HTTP/1.1  200 Fine\r\nX-B: 2\r\nx-a :  1 \r\nno header\r\n folded away\r\nBad Name: x\r\n\
            X-B: caf\xe9\r\n\tand more\r\nEmpty:\r\n\r\n";
        let parsed = parse_head(head).unwrap();
        let rows: Vec<_> = parsed.headers.iter().map(|(n, v)| (n.as_str(), v.as_slice())).collect();
        assert_eq!(parsed.status, 200);
        assert_eq!(rows, [("X-B", &b"2"[..]), ("x-a", b"1"), ("X-B", b"caf\xe9 and more"), ("Empty", b"")]);
    }

    #[test]
    fn a_folded_line_of_white_space_adds_nothing() {
        let parsed = parse_head(b"HTTP/1.1 200 OK\r\nA: b\r\n \r\nB:\r\n c\r\n\t\r\n\r\n").unwrap();
        assert_eq!(parsed.headers, [("A".to_owned(), b"b".to_vec()), ("B".to_owned(), b"c".to_vec())]);
    }

    #[test]
    fn only_spaces_and_tabs_are_taken_off_a_value() {
        let parsed = parse_head(b"HTTP/1.1 200 OK\r\nA:\t b \r\nB: 2\x0c\r\nC\x0c: d\r\n\r\n").unwrap();
        assert_eq!(parsed.headers, [("A".to_owned(), b"b".to_vec()), ("B".to_owned(), b"2\x0c".to_vec())]);
    }

    #[test]
    fn lines_that_are_no_header_do_not_hide_the_headers_behind_them() {
        let head = format!("HTTP/1.1 302 F\r\n{}Location: /a\r\n\r\n", "no header\r\n".repeat(2 * MAX_HEADERS));
        assert_eq!(parse_head(head.as_bytes()).unwrap().headers, [("Location".to_owned(), b"/a".to_vec())]);
    }

    #[test]
    fn the_warc_head_tells_the_length_kept_and_renames_the_transfer_coding() {
        let cases: &[(&[u8], &[u8])] = &[
            (
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nETag: x\r\n\r\n",
                b"HTTP/1.1 200 OK\r\nX-Crawler-Transfer-Encoding: chunked\r\nETag: x\r\nContent-Length: 7\r\n\r\n",
            ),
            (b"HTTP/1.1 200 OK\r\nContent-length: 7\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-length: 7\r\n\r\n"),
            (
                b"HTTP/1.1 200 OK\r\ncontent-length: 9,\r\n 9\r\nA: b\r\n  c\r\nContent-Length: 9\r\n\r\n",
                b"HTTP/1.1 200 OK\r\ncontent-length: 7\r\nA: b\r\n  c\r\n\r\n",
            ),
            (b"HTTP/1.0 200 OK\n\n", b"HTTP/1.0 200 OK\nContent-Length: 7\r\n\n"),
        ];
        for (head, expected) in cases {
            assert_eq!(String::from_utf8_lossy(&warc_head(head, 7)), String::from_utf8_lossy(expected));
        }
    }

    /// Lines that heads are made of, good and bad.
    fn line() -> impl Strategy<Value = Vec<u8>> {
        let known = prop::sample::select(vec![
            "Transfer-Encoding: chunked",
            "TRANSFER-ENCODING : gzip",
            "Content-Length: 12",
            "content-length:",
            "X-A: b",
            " folded: 1",
            "\tContent-Length: 3",
            "no header",
            "Bad Name: x",
            ": nameless",
        ]);
        let noise = prop::collection::vec(any::<u8>().prop_filter("no line end", |b| !b"\r\n".contains(b)), 1..20);
        prop_oneof![3 => known.prop_map(|text| text.as_bytes().to_vec()), 1 => noise]
    }

    proptest! {
        #[test]
        fn any_bytes_can_be_looked_at(bytes in prop::collection::vec(prop::sample::select(b"\r\n :aH1".to_vec()), 0..60)) {
            if let Some(head) = final_head(&bytes) {
                prop_assert!(bytes.windows(head.len()).any(|w| w == head));
                prop_assert_eq!(final_head(head), Some(head));
            }
            let _ = parse_head(&bytes);
            let _ = warc_head(&bytes, 1);
        }

        #[test]
        fn a_warc_head_has_one_true_length_and_no_transfer_coding(
            lines in prop::collection::vec(line(), 0..12), crlf in any::<bool>(), length in any::<u64>(),
        ) {
            let end: &[u8] = if crlf { b"\r\n" } else { b"\n" };
            let mut head = b"HTTP/1.1 200 OK".to_vec();
            head.extend_from_slice(end);
            for line in &lines {
                head.extend_from_slice(line);
                head.extend_from_slice(end);
            }
            head.extend_from_slice(end);
            let (before, after) = (parse_head(&head).unwrap(), parse_head(&warc_head(&head, length)).unwrap());
            let is = |wanted: &'static str| move |(name, _): &&(String, Vec<u8>)| name.eq_ignore_ascii_case(wanted);
            let lengths: Vec<_> = after.headers.iter().filter(is("content-length")).map(|(_, v)| v.clone()).collect();
            prop_assert_eq!(lengths, vec![length.to_string().into_bytes()]);
            prop_assert!(!after.headers.iter().any(|h| is("transfer-encoding")(&h)));
            let others = |head: &ParsedHead| -> Vec<_> {
                let own = |name: &str| ["content-length", "transfer-encoding", "x-crawler-transfer-encoding"].contains(&name);
                head.headers.iter().filter(|(name, _)| !own(&name.to_ascii_lowercase())).cloned().collect()
            };
            prop_assert_eq!(others(&before), others(&after));
        }
    }
}
