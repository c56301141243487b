//! Request out, head of the answer in.

use std::error::Error;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use bytes::Bytes;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Uri, header};
use http_body_util::Empty;
use hyper::body::Incoming;
use tokio::time::{Instant, timeout};

use crate::domain::reason::Failure;
use crate::domain::url::PageUrl;
use crate::fault::Faults;

use super::super::head::{self, ParsedHead};
use super::super::protocol::{FetchRequest, HttpVersion, Timings};
use super::super::proxy::Proxy;
use super::super::tap::HeadTooLong;
use super::access::Access;
use super::connect::Link;
use super::{Fault, injected};

/// An answer whose body is still to come.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) version: HttpVersion,
    pub(super) headers: Vec<(String, Vec<u8>)>,
    pub(super) request_head: Vec<u8>,
    pub(super) response_head: Vec<u8>,
    pub(super) body: Incoming,
    /// Its framing can be read in two ways, so nothing after it can be trusted (RFC 9112 section 6.3).
    pub(super) ambiguous: bool,
    pub(super) framing: Framing,
    /// It can be stored as it came: its only transfer coding, if it has one, is `chunked`.
    pub(super) plain: bool,
}

/// What tells where the body ends (RFC 9112 section 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// Its `Content-Length`.
    Length,
    /// Its chunks.
    Chunks,
    /// The end of the connection.
    Close,
}

impl Framing {
    /// A transfer coding overrides a length.
    fn of(headers: &HeaderMap) -> Self {
        let chunked =
            |value: &HeaderValue| value.as_bytes().to_ascii_lowercase().trim_ascii_end().ends_with(b"chunked");
        match headers.get_all(header::TRANSFER_ENCODING).iter().next_back() {
            Some(last) if chunked(last) => Self::Chunks,
            Some(_) => Self::Close,
            None if headers.contains_key(header::CONTENT_LENGTH) => Self::Length,
            None => Self::Close,
        }
    }
}

/// Whether no other transfer coding is named than `chunked`, which all readers of archives know.
fn is_plain(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(header::TRANSFER_ENCODING).iter();
    codings.all(|value| [&b"chunked"[..], b"identity"].iter().any(|known| value.as_bytes().eq_ignore_ascii_case(known)))
}

/// Sends the request and waits for the whole head of the final answer. `exact`: the body's bytes are remembered.
pub(super) async fn exchange(
    link: &mut Link,
    request: &FetchRequest,
    access: &Access,
    timings: &mut Timings,
    faults: &Faults,
    exact: bool,
) -> Result<Answer, Fault> {
    let message = build(request, link, access)?;
    link.begin(exact);
    let start = Instant::now();
    let limit = request.limits.first_byte;
    let sent = link.sender.send_request(message);
    let result = {
        let mut answer = pin!(link.drive(sent));
        let first = poll_fn(|cx| Poll::Ready(answer.as_mut().poll(cx))).await; // writes the request
        injected(faults.wait("net.sent").await)?;
        match first {
            Poll::Ready(result) => Ok(result),
            Poll::Pending => timeout(limit, answer).await,
        }
    };
    timings.first_byte = link.log().first_byte().map_or_else(|| start.elapsed(), |at| at.duration_since(start));
    let response = match result {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => return Err(fault(&error, link)),
        Err(_) => return Err(no_head_in_time(link, limit)),
    };
    let (request_head, received) = link.log().take();
    let (response_head, begun) = head::split_final(&received).unwrap_or_default();
    let response_head = response_head.to_vec();
    let Some(ParsedHead { headers, .. }) = head::parse_head(&response_head) else {
        return Err(Fault::new(Failure::BadHttp, "the head of the answer cannot be read"));
    };
    let (parts, body) = response.into_parts();
    if parts.status == http::StatusCode::SWITCHING_PROTOCOLS {
        return Err(Fault::new(Failure::BadHttp, "the server switched protocols without being asked to"));
    }
    if let Some(proxy) = link.relay().filter(|_| parts.status == http::StatusCode::PROXY_AUTHENTICATION_REQUIRED) {
        let detail =
            format!("the proxy {proxy} answered 407: it wants to know who asks, set user and password in its URL");
        return Err(Fault::new(Failure::Proxy, detail));
    }
    let version = if parts.version == http::Version::HTTP_10 { HttpVersion::Http10 } else { HttpVersion::Http11 };
    let ambiguous = parts.headers.contains_key(header::TRANSFER_ENCODING)
        && (parts.headers.contains_key(header::CONTENT_LENGTH) || version == HttpVersion::Http10);
    let (status, framing) = (parts.status.as_u16(), Framing::of(&parts.headers));
    let plain = is_plain(&parts.headers);
    if exact && plain && framing == Framing::Chunks {
        link.log().keep_body(begun);
    }
    Ok(Answer { status, version, headers, request_head, response_head, body, ambiguous, framing, plain })
}

fn no_head_in_time(link: &Link, limit: std::time::Duration) -> Fault {
    let what = match link.log().bytes() {
        0 => "no byte of the answer".to_owned(),
        n => format!("only {n} bytes of an unfinished head"),
    };
    Fault::new(Failure::FirstByteTimeout, format!("{what} within {} s", limit.as_secs_f32()))
}

/// What an error before the end of the head means.
fn fault(error: &hyper::Error, link: &Link) -> Fault {
    let bytes = link.log().bytes();
    let detail = describe(error);
    if error.is_parse() || is_too_long(error) {
        return Fault::new(Failure::BadHttp, detail);
    }
    let detail = match bytes {
        0 => format!("{detail}, before a byte of the answer"),
        n => format!("{detail}, after {n} bytes of an unfinished head"),
    };
    // A request that was cancelled never left: the server closed, or spoke unasked, while the connection waited.
    Fault { failure: Failure::Reset, detail, stale: link.uses() > 1 && (bytes == 0 || error.is_canceled()) }
}

/// An error with its causes.
pub(super) fn describe(error: &hyper::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(source) = cause {
        let inner = source.to_string();
        if !text.contains(&inner) {
            text = format!("{text}: {inner}");
        }
        cause = source.source();
    }
    text
}

/// The IO error behind an error.
pub(super) fn io_cause(error: &hyper::Error) -> Option<&std::io::Error> {
    error.source().and_then(|source| source.downcast_ref::<std::io::Error>())
}

fn is_too_long(error: &hyper::Error) -> bool {
    io_cause(error).and_then(std::io::Error::get_ref).is_some_and(|inner| inner.is::<HeadTooLong>())
}

/// Credentials and cookies are those of this very URL, and only for a server that is who it says.
fn build(request: &FetchRequest, link: &Link, access: &Access) -> Result<Request<Empty<Bytes>>, Fault> {
    let mut message = Request::new(Empty::new());
    let target = target(request.url.asked_tail())?;
    *message.uri_mut() = if link.relay().is_some() { absolute(&request.url, target)? } else { Uri::from(target) };
    let headers = message.headers_mut();
    put(headers, "Host", &request.url.asked_authority())?;
    for (name, value) in &request.headers {
        if !["host", "connection"].iter().any(|own| name.eq_ignore_ascii_case(own)) {
            put(headers, name, value)?;
        }
    }
    if let Some(known) = &request.conditional {
        for (name, value) in [("If-None-Match", &known.etag), ("If-Modified-Since", &known.last_modified)] {
            if let Some(value) = value {
                put(headers, name, value)?;
            }
        }
    }
    if link.is_trusted() && !request.anonymous {
        headers.extend(access.headers(&request.url));
    }
    if let Some(value) = link.relay().and_then(Proxy::authorization) {
        headers.insert(header::PROXY_AUTHORIZATION, value.clone());
    }
    Ok(message)
}

fn put(headers: &mut HeaderMap, name: &str, value: &str) -> Result<(), Fault> {
    let wrong = || Fault::new(Failure::BadHttp, format!("the header {name:?} of the request cannot be sent"));
    let value = HeaderValue::from_str(value).map_err(|_| wrong())?;
    headers.append(HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?, value);
    Ok(())
}

/// The request target in origin form; sent as the URL has it, like browsers do, even where RFC 3986 is stricter.
fn target(tail: &str) -> Result<PathAndQuery, Fault> {
    let wrong = || Fault::new(Failure::BadHttp, format!("{tail:?} cannot be sent as a request target"));
    if !tail.starts_with('/') || !tail.bytes().all(|b| b.is_ascii_graphic() && b != b'#') {
        return Err(wrong());
    }
    PathAndQuery::try_from(tail).map_err(|_| wrong())
}

/// The request target in absolute form, for a proxy that sends it on (RFC 9112 section 3.2.2).
fn absolute(url: &PageUrl, target: PathAndQuery) -> Result<Uri, Fault> {
    let uri =
        Uri::builder().scheme(url.scheme().as_str()).authority(url.asked_authority()).path_and_query(target).build();
    uri.map_err(|_| Fault::new(Failure::BadHttp, format!("{url} cannot be sent to a proxy")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::url::{Canonicaliser, CleanRules};

    #[test]
    fn a_target_is_sent_as_it_stands() {
        for tail in ["/", "/a//b/?x=1&y=%20|", "/?q=`x`^{}", "//two", "/?u=http://x/", "/[a]\\b", "/?"] {
            let uri = Uri::from(target(tail).unwrap());
            assert_eq!(uri.path_and_query().map(PathAndQuery::as_str), Some(tail));
            assert!(uri.authority().is_none(), "{tail}");
        }
    }

    #[test]
    fn no_character_can_break_out_of_the_request_line() {
        for c in (0..=0x7fu8).map(char::from).chain(['\u{a0}', 'é']) {
            for tail in [format!("/a{c}b"), format!("/?a{c}b")] {
                let sent = target(&tail).map(|target| target.to_string());
                assert!(sent.map_or(true, |s| s == tail && s.bytes().all(|b| b.is_ascii_graphic())), "{tail:?}");
            }
        }
        assert!(target("*").is_err() && target("http://x/").is_err() && target("").is_err());
    }

    #[test]
    fn every_canonical_url_can_be_sent() {
        let canonical = Canonicaliser::new(CleanRules::keep_all());
        for c in (0..=0xffu8).map(char::from).chain("€漢\u{10ffff}".chars()) {
            let url = canonical.parse(&format!("http://h0.test/a{c}b;{c}/?q{c}=v{c}")).unwrap();
            assert!(target(url.tail()).is_ok(), "{url}");
        }
    }

    #[test]
    fn a_header_with_a_line_break_is_not_sent() {
        let mut headers = HeaderMap::new();
        assert!(put(&mut headers, "User-Agent", "a\r\nB: c").is_err());
        assert!(put(&mut headers, "Bad Name", "a").is_err());
        assert!(headers.is_empty());
    }
}
