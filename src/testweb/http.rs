//! Just enough of HTTP/1: reading request heads, writing answer heads and chunks.
//!
//! By hand, because the synthetic web must frame bodies in every legal way (also up to the end of the connection, which
//! servers built on libraries do not offer) and must know when the last byte went out.

use std::io::Write as _;

pub(super) use http::Method;

/// Largest request head, bytes.
pub(super) const MAX_HEAD: usize = 64 * 1024;
const MAX_HEADERS: usize = 128;

/// What matters of a request.
#[derive(Debug, Default)]
pub(super) struct Request {
    pub method: Method,
    pub path: String,
    /// Lower case, without port.
    pub host: String,
    pub user_agent: String,
    pub keep_alive: bool,
    pub http10: bool,
    pub accepts_gzip: bool,
    pub content_length: usize,
    /// Empty when there is none.
    pub if_none_match: String,
    pub if_modified_since: String,
}

/// What the bytes read so far are.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Head {
    /// A whole head of so many bytes.
    Whole(usize),
    Partial,
    /// No request: answer this status and close.
    Bad(u16),
}

impl Request {
    /// Reads a request head from the front of `input`.
    pub(super) fn parse(&mut self, input: &[u8]) -> Head {
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        let length = match request.parse(input) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) if input.len() < MAX_HEAD => return Head::Partial,
            Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => return Head::Bad(431),
            Err(_) => return Head::Bad(400),
        };
        let http10 = request.version == Some(0);
        let method = request.method.and_then(|method| method.parse().ok()).unwrap_or(Method::OPTIONS);
        *self = Self { method, http10, keep_alive: !http10, ..Self::default() };
        for header in request.headers.iter() {
            self.header(header.name, &String::from_utf8_lossy(header.value));
        }
        self.target(request.path.unwrap_or("/"));
        Head::Whole(length)
    }

    fn header(&mut self, name: &str, value: &str) {
        match name.to_ascii_lowercase().as_str() {
            "host" => self.host = host_of(value),
            "user-agent" => value.clone_into(&mut self.user_agent),
            "connection" => {
                let has = |wanted| value.split(',').any(|token: &str| token.trim().eq_ignore_ascii_case(wanted));
                self.keep_alive = (self.keep_alive || has("keep-alive")) && !has("close");
            }
            "accept-encoding" => self.accepts_gzip = value.split(',').any(accepts_gzip),
            "content-length" => self.content_length = value.trim().parse().unwrap_or(0),
            "if-none-match" => value.trim().clone_into(&mut self.if_none_match),
            "if-modified-since" => value.trim().clone_into(&mut self.if_modified_since),
            _ => {}
        }
    }

    /// Origin form, or absolute form as sent to a proxy.
    fn target(&mut self, target: &str) {
        if let Some(rest) = target.strip_prefix("http://") {
            let split = rest.find(['/', '?']).unwrap_or(rest.len());
            let (host, path) = rest.split_at(split);
            self.host = host_of(host);
            if !path.starts_with('/') {
                self.path.push('/');
            }
            push_read(path, &mut self.path);
        } else {
            push_read(target, &mut self.path);
        }
    }
}

/// Appends a path as servers read it: percent-encodings of unreserved characters are these characters (RFC 3986 section 6.2.2), the
/// others are in capitals.
fn push_read(path: &str, out: &mut String) {
    let mut parts = path.split('%');
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let hex = part.get(..2).filter(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()));
        let byte = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        let rest = part.get(2..).unwrap_or_default();
        out.push_str(&match byte {
            Some(byte) if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => {
                format!("{}{rest}", char::from(byte))
            }
            Some(byte) => format!("%{byte:02X}{rest}"),
            None => format!("%{part}"),
        });
    }
}

fn host_of(value: &str) -> String {
    let value = value.trim();
    // An IPv6 literal keeps its brackets.
    let end = match value.find(']') {
        Some(at) => at + 1,
        None => value.find(':').unwrap_or(value.len()),
    };
    value.get(..end).unwrap_or_default().to_ascii_lowercase()
}

fn accepts_gzip(item: &str) -> bool {
    let mut parts = item.split(';').map(str::trim);
    let coding = parts.next().unwrap_or_default();
    let refused = parts.any(|part| matches!(part, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"));
    (coding.eq_ignore_ascii_case("gzip") || coding == "*") && !refused
}

/// How the end of a body is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    Length,
    Chunked,
    /// The connection ends with the body.
    Eof,
    /// There is none, by the status.
    None,
}

/// The beginning of an answer: its status and these headers.
pub(super) fn head(status: u16, headers: &[(&str, &str)]) -> Vec<u8> {
    let reason = http::StatusCode::from_u16(status).ok().and_then(|code| code.canonical_reason()).unwrap_or("Status");
    let mut out = format!("HTTP/1.1 {status} {reason}\r\n").into_bytes();
    headers.iter().for_each(|(name, value)| header(&mut out, name, value));
    out
}

fn header(out: &mut Vec<u8>, name: &str, value: &str) {
    for part in [name, ": ", value, "\r\n"] {
        out.extend_from_slice(part.as_bytes());
    }
}

/// Appends the framing headers, the end of the head and the framed body.
pub(super) fn body(out: &mut Vec<u8>, framing: Framing, payload: &[u8], with_body: bool) {
    match framing {
        Framing::Length => header(out, "Content-Length", &payload.len().to_string()),
        Framing::Chunked => header(out, "Transfer-Encoding", "chunked"),
        Framing::Eof | Framing::None => {}
    }
    out.extend_from_slice(b"\r\n");
    if with_body && framing == Framing::Chunked {
        // An odd size, so that chunk borders fall inside characters, tags and gzip blocks.
        for piece in payload.chunks(3_001) {
            let _ = write!(out, "{:x}\r\n", piece.len()); // writing to a Vec cannot fail
            out.extend_from_slice(piece);
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b"0\r\n\r\n");
    } else if with_body && framing != Framing::None {
        out.extend_from_slice(payload);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Request {
        let mut request = Request::default();
        assert_eq!(request.parse(text.as_bytes()), Head::Whole(text.len()), "{text}");
        request
    }

    #[test]
    fn a_host_loses_its_port_and_its_capitals() {
        let request = parsed("GET /p/7?x=1 HTTP/1.1\r\nHOST: H3.Test:8500\r\nUser-Agent: a b\r\n\r\n");
        assert_eq!((request.host.as_str(), request.path.as_str()), ("h3.test", "/p/7?x=1"));
        assert_eq!(request.user_agent, "a b");
    }

    #[test]
    fn an_absolute_target_names_the_host() {
        let request = parsed("GET http://h5.test:80/p/1 HTTP/1.1\r\nHost: h0.test\r\n\r\n");
        assert_eq!((request.host.as_str(), request.path.as_str()), ("h5.test", "/p/1"));
        for (sent, read) in
            [("/%70/%7e%c3%a9%2f", "/p/~%C3%A9%2F"), ("/%", "/%"), ("/%zz%4", "/%zz%4"), ("/a?b=%2D", "/a?b=-")]
        {
            let request = parsed(&format!("GET {sent} HTTP/1.1\r\nHost: h5.test\r\n\r\n"));
            assert_eq!(request.path, read, "{sent}");
        }
    }

    #[test]
    fn keep_alive_follows_version_and_connection_header() {
        assert!(parsed("GET / HTTP/1.1\r\n\r\n").keep_alive);
        assert!(!parsed("GET / HTTP/1.0\r\n\r\n").keep_alive);
        assert!(parsed("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n").keep_alive);
        assert!(!parsed("GET / HTTP/1.1\r\nConnection: x, close\r\n\r\n").keep_alive);
    }

    #[test]
    fn gzip_is_accepted_unless_refused() {
        for (value, expected) in
            [("gzip", true), ("br, GZIP;q=0.5", true), ("gzip;q=0", false), ("br", false), ("*", true)]
        {
            let request = parsed(&format!("GET / HTTP/1.1\r\nAccept-Encoding: {value}\r\n\r\n"));
            assert_eq!(request.accepts_gzip, expected, "{value}");
        }
    }

    #[test]
    fn what_is_no_request_is_bad_and_a_head_without_end_is_too_large() {
        let mut request = Request::default();
        assert_eq!(request.parse(b"\x16\x03\x01 hello\r\n\r\n"), Head::Bad(400));
        assert_eq!(request.parse(b"GET / HTTP/1.1\r\nA: b\r\n"), Head::Partial);
        let endless = format!("GET / HTTP/1.1\r\nA: {}", "b".repeat(MAX_HEAD));
        assert_eq!(request.parse(endless.as_bytes()), Head::Bad(431));
    }

    #[test]
    fn chunks_add_up_to_the_payload() {
        let payload: Vec<u8> = (0..7_000u32).map(|n| n as u8).collect();
        let mut out = Vec::new();
        body(&mut out, Framing::Chunked, &payload, true);
        let text = out.strip_prefix(b"Transfer-Encoding: chunked\r\n\r\nbb9\r\n").unwrap();
        assert_eq!(&text[..3_001], &payload[..3_001]);
        assert!(out.ends_with(b"0\r\n\r\n"));
    }
}
