//! What goes wrong at each host, and what must become of it.

use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use super::server::{Play, answer, reset, send};

/// Caps that the crawl is given.
pub const MAX_BODY: usize = 200_000;
pub const MAX_DECODED: usize = 1_000_000;

/// A fault at the host `NAME.test`.
pub struct Fault {
    pub name: String,
    pub play: Play,
    /// `STATUS` or `-`, then the reason or `done`, then the cut or `-`.
    pub wanted: &'static str,
    /// Notes that the capture must have, and no others.
    pub notes: &'static [&'static str],
}

fn fault(
    name: &str,
    wanted: &'static str,
    notes: &'static [&'static str],
    play: impl Fn(&mut TcpStream, &str) + Send + Sync + 'static,
) -> Fault {
    Fault { name: name.to_owned(), play: Arc::new(play), wanted, notes }
}

/// One that always says the same.
fn says(name: &str, wanted: &'static str, notes: &'static [&'static str], bytes: Vec<u8>) -> Fault {
    fault(name, wanted, notes, move |stream, _| {
        send(stream, &bytes);
    })
}

const PAGE: &[u8] = b"<title>page</title><p>words that are long enough to be a page of its own, at every host</p>";

pub fn all() -> Vec<Fault> {
    let mut all = slow();
    all.extend(coded());
    all.extend(answers());
    all.extend(markup());
    all
}

fn slow() -> Vec<Fault> {
    const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n";
    vec![
        fault("drip", "200 done time", &["too_slow"], |stream, _| {
            send(stream, HEAD);
            while send(stream, b"x") {
                std::thread::sleep(Duration::from_millis(20));
            }
        }),
        fault("stall", "- too_slow -", &[], |stream, _| {
            send(stream, HEAD);
            let _ = std::io::copy(stream, &mut std::io::sink()); // until the other side has had enough
        }),
        fault("slow-head", "- first_byte_timeout -", &[], |stream, _| {
            send(stream, b"HTTP/1.1 200 OK\r\n");
            while send(stream, b"X-Long: x\r\n") {
                std::thread::sleep(Duration::from_millis(100));
            }
        }),
        fault("endless", "200 done length", &[], |stream, _| {
            send(stream, HEAD);
            while send(stream, &[b'x'; 8_192]) {}
        }),
        fault("reset", "200 done disconnect", &["reset"], |stream, _| {
            send(
                stream,
                &[b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5000\r\n\r\n", PAGE].concat(),
            );
            std::thread::sleep(Duration::from_millis(100)); // so that what was sent is read first
            reset(stream);
        }),
        fault("reset-at-once", "- reset -", &[], |stream, _| reset(stream)),
    ]
}

fn coded() -> Vec<Fault> {
    let gzip = |bytes: &[u8]| {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        out.write_all(bytes).unwrap();
        out.finish().unwrap()
    };
    let coding = |name: &str, body: Vec<u8>| answer(&format!("200 OK\r\nContent-Encoding: {name}"), "text/html", &body);
    let cut = gzip(PAGE)[..40].to_vec();
    vec![
        says("gzip-that-is-none", "200 done -", &["decode_plain"], coding("gzip", PAGE.to_vec())),
        says("gzip-twice", "200 done -", &[], coding("gzip, gzip", gzip(&gzip(PAGE)))),
        says("gzip-cut", "200 done -", &["decode_corrupt"], coding("gzip", cut)),
        says("gzip-bomb", "200 done -", &["decode_capped"], coding("gzip", gzip(&vec![b'a'; 20 * MAX_DECODED]))),
        says("coding-unknown", "200 done -", &[], coding("x-own", PAGE.to_vec())),
    ]
}

fn answers() -> Vec<Fault> {
    let to = |location: &str| answer(&format!("302 Found\r\nLocation: {location}"), "text/plain", b"");
    let lines = "X-Line: y\r\n".repeat(20_000);
    vec![
        says("to-mail", "302 done -", &["redirect_nowhere"], to("mailto:a@h.test")),
        says("to-itself", "302 done -", &["redirect_self"], to("/")),
        says("to-inside", "302 done -", &[], to("http://10.0.0.1/secret")),
        says("nowhere", "302 done -", &["redirect_nowhere"], answer("302 Found", "text/plain", b"")),
        says("not-modified", "- not_modified_unasked -", &[], b"HTTP/1.1 304 Not Modified\r\n\r\n".to_vec()),
        fault("chain", "302 done -", &[], |stream, path| {
            let next = path.trim_matches('/').parse::<u32>().unwrap_or(0) + 1;
            send(stream, &answer(&format!("302 Found\r\nLocation: /{next}"), "text/plain", b""));
        }),
        fault("to-bytes", "302 done -", &[], |stream, path| {
            let to = b"HTTP/1.1 302 Found\r\nLocation: /\xc4\xe3?\xba\xc3\r\nContent-Length: 0\r\n\r\n";
            let page = answer("200 OK", "text/html", PAGE);
            send(stream, if path == "/" { to } else { &page });
        }),
        fault("no-location", "300 done -", &["redirect_nowhere"], |stream, path| {
            let status = if path == "/" { "300 Multiple Choices" } else { "200 OK" };
            send(stream, &answer(status, "text/html", b"<a href=/choice>one of them</a>"));
        }),
        says("refresh", "200 done -", &["refresh"], answer("200 OK\r\nRefresh: 0; url=/next", "text/html", PAGE)),
        says("many-lines", "200 done -", &[], answer(&format!("200 OK\r\n{}", lines.trim_end()), "text/html", PAGE)),
        says("challenge", "- challenge -", &[], answer("200 OK\r\ncf-mitigated: challenge", "text/html", PAGE)),
        // Not "there is none: all is allowed", which 403 alone would mean.
        says(
            "robots-challenge",
            "- challenge -",
            &[],
            answer("403 Forbidden\r\ncf-mitigated: challenge", "text/html", PAGE),
        ),
        says(
            "challenge-by-body",
            "- challenge -",
            &[],
            answer(
                "200 OK\r\nSet-Cookie: acw_tc=1",
                "text/html",
                b"<script>var arg1='ab';setCookie('acw_sc__v2',x)</script>",
            ),
        ),
    ]
}

fn markup() -> Vec<Fault> {
    let html = |body: &[u8]| answer("200 OK", "text/html", body);
    let half = MAX_BODY / 2;
    let utf16: Vec<u8> = "\u{feff}<title>zwei</title>".encode_utf16().flat_map(u16::to_le_bytes).collect();
    vec![
        says("deep", "200 done -", &[], html("<div>".repeat(half / 5).as_bytes())),
        says("deep-svg", "200 done -", &[], html(format!("<svg>{}", "<g>".repeat(half / 3)).as_bytes())),
        says("zeros", "200 done -", &[], html(&vec![0; half])),
        says("one-attribute", "200 done -", &[], html(format!("<a href='{}", "x".repeat(half)).as_bytes())),
        says("attributes", "200 done -", &[], html(format!("<a {}>", "a=1 ".repeat(half / 4)).as_bytes())),
        says("open-comment", "200 done -", &[], html(format!("<!--{}", "-".repeat(half)).as_bytes())),
        says("entities", "200 done -", &[], html("&amp;&#x41;&notin".repeat(half / 17).as_bytes())),
        says("utf-16", "200 done -", &[], html(&utf16)),
        says("cut-character", "200 done -", &[], answer("200 OK", "text/html; charset=gb2312", b"<p>\xd6\xd0\xce")),
        says("image-as-html", "200 done -", &[], html(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")),
    ]
}
