//! Request out, head of the answer in.

use std::time::Duration;

use http::uri::PathAndQuery;
use http::{HeaderName, HeaderValue, Uri, header};
use tokio::time::{Instant, timeout};

use crate::domain::reason::Failure;
use crate::domain::url::PageUrl;

use super::super::framing::BodyForm;
use super::super::head::{self, HeadScan, MAX_HEAD, ParsedHead};
use super::super::protocol::{FetchRequest, Timings};
use super::super::proxy::Proxy;
use super::access::Access;
use super::connect::Link;
use super::{Fault, HttpConfig, injected};

/// An answer whose body is still to come.
pub(super) struct Answer {
    pub(super) parsed: ParsedHead,
    pub(super) request_head: Vec<u8>,
    pub(super) response_head: Vec<u8>,
    pub(super) form: BodyForm,
}

/// Sends the request and waits for the whole head of the final answer.
pub(super) async fn exchange(
    link: &mut Link,
    request: &FetchRequest,
    config: &HttpConfig,
    timings: &mut Timings,
) -> Result<Answer, Fault> {
    let request_head = build(request, link, &config.access)?;
    link.begin();
    let start = Instant::now();
    let limit = request.limits.timeouts.first_byte;
    // A server may have answered, and closed, before it had read all: what it said is heard.
    let _ = timeout(limit, link.send(&request_head)).await;
    injected(config.faults.wait("net.sent").await)?;
    let received = timeout(limit, response_head(link)).await;
    timings.first_byte = link.tap.first_byte.map_or_else(|| start.elapsed(), |at| at.duration_since(start));
    let response_head = received.unwrap_or_else(|_| Err(no_head_in_time(link, limit)))?;
    let Some(parsed) = head::parse_head(&response_head) else {
        return Err(Fault::new(Failure::BadHttp, "the head of the answer cannot be read"));
    };
    let status = Some(parsed.status);
    if status == Some(101) {
        return Err(Fault::new(Failure::BadHttp, "the server switched protocols without being asked to"));
    }
    if let Some(proxy) = link.relay.as_deref().filter(|_| status == Some(407)) {
        let detail =
            format!("the proxy {proxy} answered 407: it wants to know who asks, set user and password in its URL");
        return Err(Fault::new(Failure::Proxy, detail));
    }
    let form = BodyForm::of(&parsed);
    Ok(Answer { parsed, request_head, response_head, form })
}

/// Waits for the final head; what came behind it is left unread.
async fn response_head(link: &mut Link) -> Result<Vec<u8>, Fault> {
    let mut scan = HeadScan::default();
    loop {
        if let Some(found) = scan.find(link.unread()) {
            if found.end > MAX_HEAD {
                return Err(too_long());
            }
            let taken = link.unread().split_to(found.end);
            return Ok(taken.get(found.start..).unwrap_or_default().to_vec());
        }
        if !scan.may_be_http(link.unread()) {
            return Err(Fault::new(Failure::BadHttp, "what the server says is not HTTP"));
        }
        if link.unread().len() > MAX_HEAD {
            return Err(too_long());
        }
        match link.read_more().await {
            Ok(0) => return Err(ended(link, "the connection was closed")),
            Ok(_) => {}
            Err(error) => return Err(ended(link, &error.to_string())),
        }
    }
}

/// The head, or the informational heads before it, never ended.
fn too_long() -> Fault {
    Fault::new(Failure::BadHttp, format!("the head of the answer is longer than {MAX_HEAD} bytes"))
}

fn no_head_in_time(link: &Link, limit: Duration) -> Fault {
    let what = match link.tap.bytes {
        0 => "no byte of the answer".to_owned(),
        n => format!("only {n} bytes of an unfinished head"),
    };
    Fault::new(Failure::FirstByteTimeout, format!("{what} within {} s", limit.as_secs_f32()))
}

/// The connection ended before the head did.
fn ended(link: &Link, why: &str) -> Fault {
    let bytes = link.tap.bytes;
    let detail = match bytes {
        0 => format!("{why}, before a byte of the answer"),
        n => format!("{why}, after {n} bytes of an unfinished head"),
    };
    Fault { failure: Failure::Reset, detail, stale: link.uses > 1 && bytes == 0 }
}

/// The request. Credentials and cookies are those of this very URL, and only for a server that is who it says.
fn build(request: &FetchRequest, link: &Link, access: &Access) -> Result<Vec<u8>, Fault> {
    let target = target(request.url.asked_tail())?;
    let target = if link.relay.is_some() { absolute(&request.url, target)?.to_string() } else { target.to_string() };
    let mut out = format!("GET {target} HTTP/1.1\r\n").into_bytes();
    put_text(&mut out, "Host", &request.url.asked_authority())?;
    for (name, value) in &request.headers {
        if !["host", "connection"].iter().any(|own| name.eq_ignore_ascii_case(own)) {
            put_text(&mut out, name, value)?;
        }
    }
    if let Some(known) = &request.conditional {
        for (name, value) in [("If-None-Match", &known.etag), ("If-Modified-Since", &known.last_modified)] {
            if let Some(value) = value {
                put_text(&mut out, name, value)?;
            }
        }
    }
    if link.is_trusted() && !request.anonymous {
        access.headers(&request.url).iter().for_each(|(name, value)| put(&mut out, name, value));
    }
    if let Some(value) = link.relay.as_deref().and_then(Proxy::authorization) {
        put(&mut out, &header::PROXY_AUTHORIZATION, value);
    }
    out.extend_from_slice(b"\r\n");
    Ok(out)
}

fn put_text(out: &mut Vec<u8>, name: &str, value: &str) -> Result<(), Fault> {
    let wrong = || Fault::new(Failure::BadHttp, format!("the header {name:?} of the request cannot be sent"));
    let value = HeaderValue::from_str(value).map_err(|_| wrong())?;
    put(out, &HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?, &value);
    Ok(())
}

/// A header line, its name as browsers write it over HTTP/1: `User-Agent`.
fn put(out: &mut Vec<u8>, name: &HeaderName, value: &HeaderValue) {
    let mut first = true;
    for b in name.as_str().bytes() {
        out.push(if first { b.to_ascii_uppercase() } else { b });
        first = b == b'-';
    }
    out.extend_from_slice(b": ");
    out.extend_from_slice(value.as_bytes());
    out.extend_from_slice(b"\r\n");
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
        let mut out = Vec::new();
        assert!(put_text(&mut out, "User-Agent", "a\r\nB: c").is_err());
        assert!(put_text(&mut out, "Bad Name", "a").is_err());
        assert!(out.is_empty());
        put_text(&mut out, "x-a-b", "c").unwrap();
        assert_eq!(out, b"X-A-B: c\r\n");
    }
}
