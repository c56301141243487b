//! From a request to the bytes of its answer.

use std::io::Write as _;
use std::time::{Duration, UNIX_EPOCH};

use super::dice::{Salt, below, unit};
use super::http::{self, Framing, Method, Request};
use super::page::{self, About};
use super::place::{Map, Node, Place, host_number};
use super::robots::REAL_ROBOTS;
use super::serve::Web;
use super::shape::{Answer, Shape};
use super::traps;
use super::validators::Said;

/// An answer, ready to be sent.
#[derive(Debug)]
pub(super) struct Reply {
    pub bytes: Vec<u8>,
    pub status: u16,
    pub wait: Duration,
    /// Whether the connection ends with it.
    pub close: bool,
}

/// A body and what its head must say.
struct Content {
    status: u16,
    payload: Vec<u8>,
    about: About,
    said: Said,
    extra: Option<(&'static str, String)>,
    framing: Framing,
    gzip: bool,
}

const TEXT: About = About { content_type: "text/plain; charset=utf-8", robots_tag: None };

impl Content {
    fn plain(status: u16, payload: impl Into<Vec<u8>>) -> Self {
        let (about, said, framing) = (TEXT, Said::default(), Framing::Length);
        Self { status, payload: payload.into(), about, said, extra: None, framing, gzip: false }
    }
}

/// The answer to a request at this moment.
pub(super) fn respond(web: &Web, request: &Request, at_us: u64) -> Reply {
    let asked = Asked { web, shape: web.shape.at(at_us), request };
    let config = &asked.shape.config;
    let (node, mut content) = content(&asked);
    let framing = match content.framing {
        Framing::Chunked if request.http10 => Framing::Eof,
        other => other,
    };
    let close = !request.keep_alive || !config.keep_alive || framing == Framing::Eof;
    let mut headers = vec![("Server", "lycosa-testweb"), ("Content-Type", content.about.content_type)];
    headers.extend(content.about.robots_tag.map(|value| ("X-Robots-Tag", value)));
    headers.extend(content.said.etag.as_deref().map(|value| ("ETag", value)));
    let date = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_micros(at_us));
    if let Some(modified) = content.said.modified.as_deref() {
        headers.extend([("Last-Modified", modified), ("Date", &date)]);
    }
    headers.extend(content.extra.as_ref().map(|(name, value)| (*name, value.as_str())));
    if content.gzip && request.accepts_gzip {
        headers.push(("Content-Encoding", "gzip"));
        content.payload = zipped(&content.payload);
    }
    if close || request.http10 {
        headers.push(("Connection", if close { "close" } else { "keep-alive" }));
    }
    let mut out = http::head(content.status, &headers);
    http::body(&mut out, framing, &content.payload, request.method != Method::HEAD);
    let jitter = node.map_or(0, |node| asked.shape.dice.draw(Salt::Jitter, node.host, page_of(node.place), 0));
    let jitter = (unit(jitter) * config.jitter_ms as f64) as u64;
    Reply { bytes: out, status: content.status, wait: Duration::from_millis(config.latency_ms + jitter), close }
}

/// A request, and the web at its moment.
struct Asked<'a> {
    web: &'a Web,
    shape: Shape,
    request: &'a Request,
}

/// Finds what was asked for.
fn content(asked: &Asked<'_>) -> (Option<Node>, Content) {
    let Asked { shape, request, .. } = asked;
    if !matches!(request.method, Method::GET | Method::HEAD) {
        return (None, Content::plain(405, "only GET and HEAD here\n"));
    }
    let made_up = traps::made_up(&request.host).filter(|node| shape.answer(*node) == Answer::Leaf);
    if let Some(node) = made_up.filter(|_| request.path != "/robots.txt") {
        return (Some(node), found(asked, node, &request.host));
    }
    let Some(host) = host_number(&request.host).filter(|host| *host < shape.config.hosts) else {
        let (host, last) = (&request.host, shape.config.hosts - 1);
        let known = format!("hosts are h0.test to h{last}.test, the start page is http://h0.test/");
        return (None, Content::plain(404, format!("no host {host:?} here; {known}\n")));
    };
    if request.path == "/robots.txt" || request.path == REAL_ROBOTS {
        return (None, robots(shape, host, &request.path));
    }
    match shape.find(host, &request.path) {
        Some(node) => (Some(node), found(asked, node, &request.path)),
        None => (None, Content::plain(404, format!("no page {:?} on h{host}.test\n", request.path))),
    }
}

fn robots(shape: &Shape, host: u32, path: &str) -> Content {
    let mode = shape.robots(host);
    let (mut status, mut text) = if path == REAL_ROBOTS { mode.real_answer() } else { mode.answer() };
    if let Some(index) = shape.announced(host).filter(|_| matches!(status, 200 | 404)) {
        let text_of_404 = std::mem::replace(&mut status, 200) == 404;
        text = format!("{}Sitemap: {}\n", if text_of_404 { "" } else { &text }, index.url());
    }
    if (300..400).contains(&status) {
        return Content { extra: Some(("Location", text)), ..Content::plain(status, "") };
    }
    Content::plain(status, text)
}

fn found(asked: &Asked<'_>, node: Node, name: &str) -> Content {
    let shape = &asked.shape;
    match shape.answer(node) {
        Answer::Page { content } => page(asked, node, content),
        Answer::Flaky { fails, status } => match node.place {
            Place::Page { number, .. } if !asked.web.fails_again(node, fails) => page(asked, node, number),
            _ => error(shape, status),
        },
        Answer::Redirect { status, to } => {
            let location = location(shape, node, to);
            let text = format!("moved to <a href=\"{location}\">{location}</a>\n");
            Content { extra: Some(("Location", location)), ..Content::plain(status, text) }
        }
        Answer::Error { status } => error(shape, status),
        Answer::Leaf => {
            let mut payload = Vec::new();
            let about = match node.place {
                Place::Map(_) => page::sitemap(shape, node, &mut payload),
                place => page::leaf(shape, node.host, place, name, &shape.links(node), &mut payload),
            };
            let payload = if node.place == Place::Map(Map::Zipped) { zipped(&payload) } else { payload };
            Content { about, ..Content::plain(200, payload) }
        }
        Answer::Missing => Content::plain(404, ""),
    }
}

fn page(asked: &Asked<'_>, node: Node, content: u32) -> Content {
    let (shape, nth) = (&asked.shape, asked.web.next_request());
    let near = match node.place {
        Place::Page { number, .. } => shape.near_to(node.host, number).map(|(_, near)| (number, near)),
        _ => None,
    };
    let name = near.map_or(content, |(number, _)| number);
    let said = Said::of(shape, (node.host, content, name), asked.request, nth);
    if said.unchanged {
        return Content { said, framing: Framing::None, ..Content::plain(304, "") };
    }
    let mut payload = Vec::with_capacity(16 << 10);
    let about = page::render(shape, node.host, content, &shape.links(node), &mut payload);
    if let Some(near) = near {
        shape.make_near(node.host, content, near, &mut payload);
    }
    shape.make_noise(node.host, content, nth, &mut payload);
    let config = &shape.config;
    let draw = unit(shape.dice.draw(Salt::Framing, node.host, page_of(node.place), 0));
    let framing = match draw {
        draw if draw < config.chunked => Framing::Chunked,
        draw if draw < config.chunked + config.until_eof => Framing::Eof,
        _ => Framing::Length,
    };
    let gzip = shape.hit(config.gzip, Salt::Gzip, node.host, page_of(node.place));
    Content { status: 200, payload, about, said, extra: None, framing, gzip }
}

fn error(shape: &Shape, status: u16) -> Content {
    let extra = (status == 503).then(|| ("Retry-After", shape.config.retry_after.to_string()));
    Content { extra, ..Content::plain(status, format!("this page answers {status}\n")) }
}

/// The Location of a redirect: absolute, rooted, relative or without scheme.
fn location(shape: &Shape, from: Node, to: Node) -> String {
    let draw = shape.dice.draw(Salt::Location, from.host, page_of(from.place), hop_of(from.place));
    let path = to.place.to_string();
    match below(draw, 4) {
        3 => format!("//h{}.test{path}", to.host),
        form if form == 0 || to.host != from.host => to.url(),
        1 => path,
        _ => {
            let own = from.place.to_string();
            let folder = own.rfind('/').and_then(|at| own.get(..=at)).unwrap_or("/");
            let mut out = String::new();
            super::href::relative(&mut out, folder, &path);
            out
        }
    }
}

/// The page number an address has for its draws.
fn page_of(place: Place) -> u32 {
    match place {
        Place::Page { number, .. } | Place::Find { number, .. } => number,
        Place::Hop { page, .. } | Place::Loop { page, .. } => page,
        Place::Private(number) | Place::Open(number) | Place::Secret(number) | Place::Word(number) => number,
        Place::File(number) | Place::Text(number) | Place::Never(number) | Place::Session(number) => number,
        Place::Unlinked(number) | Place::New { page: number, .. } => number,
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
