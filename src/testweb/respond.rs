//! From a request to the bytes of its answer.

use std::io::Write as _;
use std::time::Duration;

use super::dice::{Salt, below, unit};
use super::http::{self, Framing, Method, Request};
use super::page::{self, About};
use super::place::{Map, Node, Place, host_number};
use super::robots::REAL_ROBOTS;
use super::serve::Web;
use super::shape::{Answer, Shape};
use super::traps;

/// An answer, ready to be sent.
#[derive(Debug)]
pub(super) struct Reply {
    pub status: u16,
    pub wait: Duration,
    /// Whether the connection ends with it.
    pub close: bool,
}

/// A body and what its head must say.
struct Content {
    status: u16,
    about: About,
    extra: Option<(&'static str, String)>,
    framing: Framing,
    gzip: bool,
}

const TEXT: About = About { content_type: "text/plain; charset=utf-8", robots_tag: None };

impl Content {
    fn plain(status: u16) -> Self {
        Self { status, about: TEXT, extra: None, framing: Framing::Length, gzip: false }
    }
}

/// Writes the answer into `out`; `scratch` is a buffer to reuse.
pub(super) fn respond(web: &Web, request: &Request, out: &mut Vec<u8>, scratch: &mut Vec<u8>) -> Reply {
    scratch.clear();
    let config = &web.shape.config;
    let (node, content) = content(web, request, scratch);
    let gzip = content.gzip && request.accepts_gzip;
    let framing = match content.framing {
        Framing::Chunked if request.http10 => Framing::Eof,
        other => other,
    };
    let close = !request.keep_alive || !config.keep_alive || framing == Framing::Eof;
    http::status_line(out, content.status);
    http::header(out, "Server", "lycosa-testweb");
    http::header(out, "Content-Type", content.about.content_type);
    if let Some(value) = content.about.robots_tag {
        http::header(out, "X-Robots-Tag", value);
    }
    if let Some((name, value)) = &content.extra {
        http::header(out, name, value);
    }
    if gzip {
        http::header(out, "Content-Encoding", "gzip");
        *scratch = zipped(scratch);
    }
    if close {
        http::header(out, "Connection", "close");
    } else if request.http10 {
        http::header(out, "Connection", "keep-alive");
    }
    http::body(out, framing, scratch, request.method != Method::Head);
    let jitter = node.map_or(0, |node| web.shape.dice.draw(Salt::Jitter, node.host, page_of(node.place), 0));
    let jitter = (unit(jitter) * config.jitter_ms as f64) as u64;
    Reply { status: content.status, wait: Duration::from_millis(config.latency_ms + jitter), close }
}

/// Finds what was asked for and writes its payload.
fn content(web: &Web, request: &Request, payload: &mut Vec<u8>) -> (Option<Node>, Content) {
    let shape = &web.shape;
    if matches!(request.method, Method::Post | Method::Other) {
        payload.extend_from_slice(b"only GET and HEAD here\n");
        return (None, Content::plain(405));
    }
    let made_up = traps::made_up(&request.host).filter(|node| shape.answer(*node) == Answer::Leaf);
    if let Some(node) = made_up.filter(|_| request.path != "/robots.txt") {
        return (Some(node), found(web, node, &request.host, payload));
    }
    let Some(host) = host_number(&request.host).filter(|host| *host < shape.config.hosts) else {
        let _ = writeln!(
            payload,
            "no host {:?} here; hosts are h0.test to h{}.test, the start page is http://h0.test/",
            request.host,
            shape.config.hosts - 1
        );
        return (None, Content::plain(404));
    };
    if request.path == "/robots.txt" || request.path == REAL_ROBOTS {
        return (None, robots(shape, host, &request.path, payload));
    }
    match shape.find(host, &request.path) {
        Some(node) => (Some(node), found(web, node, &request.path, payload)),
        None => {
            let _ = writeln!(payload, "no page {:?} on h{host}.test", request.path);
            (None, Content::plain(404))
        }
    }
}

fn robots(shape: &Shape, host: u32, path: &str, payload: &mut Vec<u8>) -> Content {
    let mode = shape.robots(host);
    let (mut status, mut text) = if path == REAL_ROBOTS { mode.real_answer() } else { mode.answer() };
    if let Some(index) = shape.announced(host).filter(|_| matches!(status, 200 | 404)) {
        let text_of_404 = std::mem::replace(&mut status, 200) == 404;
        text = format!("{}Sitemap: {}\n", if text_of_404 { "" } else { &text }, index.url());
    }
    if (300..400).contains(&status) {
        return Content { extra: Some(("Location", text)), ..Content::plain(status) };
    }
    payload.extend_from_slice(text.as_bytes());
    Content::plain(status)
}

fn found(web: &Web, node: Node, asked: &str, payload: &mut Vec<u8>) -> Content {
    let shape = &web.shape;
    match shape.answer(node) {
        Answer::Page { content } => page(shape, node, content, payload),
        Answer::Flaky { fails, status } => match node.place {
            Place::Page { number, .. } if !web.fails_again(node, fails) => page(shape, node, number, payload),
            _ => error(shape, status, payload),
        },
        Answer::Redirect { status, to } => {
            let location = location(shape, node, to);
            let _ = writeln!(payload, "moved to <a href=\"{location}\">{location}</a>");
            Content { extra: Some(("Location", location)), ..Content::plain(status) }
        }
        Answer::Error { status } => error(shape, status, payload),
        Answer::Leaf if matches!(node.place, Place::Map(_)) => {
            let about = page::sitemap(shape, node, payload);
            if node.place == Place::Map(Map::Zipped) {
                *payload = zipped(payload);
            }
            Content { about, ..Content::plain(200) }
        }
        Answer::Leaf => {
            let about = page::leaf(shape, node.host, node.place, asked, &shape.links(node), payload);
            Content { about, ..Content::plain(200) }
        }
        Answer::Missing => Content::plain(404),
    }
}

fn page(shape: &Shape, node: Node, content: u32, payload: &mut Vec<u8>) -> Content {
    let about = page::render(shape, node.host, content, &shape.links(node), payload);
    let config = &shape.config;
    let draw = unit(shape.dice.draw(Salt::Framing, node.host, page_of(node.place), 0));
    let framing = match draw {
        draw if draw < config.chunked => Framing::Chunked,
        draw if draw < config.chunked + config.until_eof => Framing::Eof,
        _ => Framing::Length,
    };
    let gzip = shape.hit(config.gzip, Salt::Gzip, node.host, page_of(node.place));
    Content { status: 200, about, extra: None, framing, gzip }
}

fn error(shape: &Shape, status: u16, payload: &mut Vec<u8>) -> Content {
    let _ = writeln!(payload, "this page answers {status}");
    let extra = (status == 503).then(|| ("Retry-After", shape.config.retry_after.to_string()));
    Content { extra, ..Content::plain(status) }
}

/// The Location of a redirect: absolute, rooted, relative or without scheme.
fn location(shape: &Shape, from: Node, to: Node) -> String {
    let draw = shape.dice.draw(Salt::Location, from.host, page_of(from.place), hop_of(from.place));
    let form = below(draw, 4);
    let path = to.place.to_string();
    if form == 0 || (to.host != from.host && form < 3) {
        return to.url();
    }
    if form == 3 {
        return format!("//h{}.test{path}", to.host);
    }
    if form == 1 {
        return path;
    }
    let own = from.place.to_string();
    let folder = own.rfind('/').and_then(|at| own.get(..=at)).unwrap_or("/");
    let mut out = String::new();
    super::href::relative(&mut out, folder, &path);
    out
}

/// The page number an address has for its draws.
fn page_of(place: Place) -> u32 {
    match place {
        Place::Page { number, .. } | Place::Find { number, .. } => number,
        Place::Hop { page, .. } | Place::Loop { page, .. } => page,
        Place::Private(number) | Place::Open(number) | Place::Secret(number) | Place::Word(number) => number,
        Place::File(number) | Place::Text(number) | Place::Never(number) | Place::Session(number) => number,
        Place::Unlinked(number) => number,
        Place::Calendar { .. } | Place::Relative | Place::Maze(_) | Place::Map(_) => 0,
    }
}

fn hop_of(place: Place) -> u32 {
    match place {
        Place::Hop { left, .. } => u32::from(left),
        Place::Loop { at, .. } => 1 + u32::from(at),
        _ => 0,
    }
}

fn zipped(payload: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::with_capacity(payload.len() / 2), flate2::Compression::fast());
    // Writing to a Vec cannot fail.
    let _ = encoder.write_all(payload);
    encoder.finish().unwrap_or_default()
}
