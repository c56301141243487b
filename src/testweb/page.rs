//! Pages, written straight into a buffer: HTML, other documents, and sitemaps as sites write them (a namespace or none, white space,
//! CDATA, text files).

use std::io::Write as _;

use super::dice::{Salt, below, pick};
use super::href::Writer;
use super::place::{Map, Node, Place};
use super::shape::{GbkHow, Link, NofollowHow, Shape, Tag};
use super::words::{self, Charset};
use super::{markup, traps};

/// What the answer's head must say about a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct About {
    pub content_type: &'static str,
    pub robots_tag: Option<&'static str>,
}

/// Bytes of the news of a page that has changed, and which draw says what they are.
const NEWS: usize = 200;
const NEWS_DRAW: u32 = u32::MAX - 1;

/// Folder of pages: relative links start here, whichever page has the body.
const FOLDER: &str = "/p/";

/// Appends the body of page `content`.
pub(super) fn render(shape: &Shape, host: u32, content: u32, links: &[Link], out: &mut Vec<u8>) -> About {
    let broken = shape.hit(shape.config.broken, Salt::Broken, host, content);
    let base = base_of(shape, host, content);
    let folder = match base {
        Some((_, folder)) => folder,
        None if content == 0 => "/",
        None => FOLDER,
    };
    let page = Writer::new(shape, host, content, folder);
    let start = out.len();
    let size = size_of(shape, host, content);
    head(out, &page, links, base.map(|(href, _)| href), broken);
    body(out, &page, links, size.saturating_sub(out.len() - start), broken);
    let in_header = shape.page_nofollow(host, content) == Some(NofollowHow::Header);
    About { content_type: content_type(&page), robots_tag: in_header.then_some("nofollow") }
}

fn size_of(shape: &Shape, host: u32, content: u32) -> usize {
    let config = &shape.config;
    let draw = shape.dice.draw(Salt::Size, host, content, 0);
    if shape.hit(config.large, Salt::Large, host, content) {
        return config.large_size as usize + below(draw, config.large_size / 4) as usize;
    }
    (config.min_size + below(draw, config.max_size.saturating_sub(config.min_size).saturating_add(1))) as usize
}

/// The base element of a page: its href and the folder it gives.
fn base_of(shape: &Shape, host: u32, content: u32) -> Option<(String, &'static str)> {
    if !shape.hit(shape.config.base, Salt::Base, host, content) {
        return None;
    }
    let folder = "/base/dir/";
    let forms =
        [folder.to_owned(), format!("http://h{host}.test/base/dir/index.html"), "../base/./dir/x?y#z".to_owned()];
    let nth = shape.dice.draw(Salt::Base, host, content, 1) % 3;
    forms.into_iter().nth(nth as usize).map(|href| (href, folder))
}

fn content_type(page: &Writer<'_>) -> &'static str {
    match (page.charset, page.shape.gbk_how(page.host, page.content)) {
        (Charset::Utf8 | Charset::Chinese, _) => "text/html; charset=utf-8",
        (Charset::Gbk, GbkHow::Header) => "text/html; charset=GB2312",
        (Charset::Gbk, _) => "text/html",
    }
}

fn head(out: &mut Vec<u8>, page: &Writer<'_>, links: &[Link], base: Option<String>, broken: bool) {
    let (host, content) = (page.host, page.content);
    out.extend_from_slice(b"<!DOCTYPE html>\n<html><head>\n");
    match (page.charset, page.shape.gbk_how(host, content)) {
        (Charset::Utf8 | Charset::Chinese, _) => out.extend_from_slice(b"<meta charset=\"utf-8\">\n"),
        (Charset::Gbk, GbkHow::Meta) => out.extend_from_slice(b"<meta charset=\"gb2312\">\n"),
        (Charset::Gbk, _) => {}
    }
    let word = match page.charset {
        Charset::Utf8 => "practice",
        Charset::Gbk | Charset::Chinese => words::chinese(content),
    };
    let text = format!(
        "<title>Page {content} of h{host}.test, {word}</title>\n\
         <meta name=\"description\" content=\"What page {content} of host {host} is about: {word}\">\n\
         <meta name=\"keywords\" content=\"{word}, page {content}, host {host}\">\n"
    );
    words::write(out, page.charset, &text);
    match page.shape.page_nofollow(host, content) {
        Some(NofollowHow::Meta) => out.extend_from_slice(b"<meta name=\"robots\" content=\"nofollow\">\n"),
        Some(NofollowHow::MetaNone) => out.extend_from_slice(b"<META NAME=\"ROBOTS\" CONTENT=\"NONE\">\n"),
        Some(NofollowHow::Header) | None => {}
    }
    if let Some(base) = base {
        let _ = writeln!(out, "<base href=\"{base}\">");
        if broken {
            out.extend_from_slice(b"<base href=\"/never/\">\n");
        }
    }
    for (index, link) in links.iter().enumerate().filter(|(_, link)| in_head(link)) {
        markup::head_link(out, page, link, index as u32);
    }
    out.extend_from_slice(b"</head>\n<body>\n");
}

fn body(out: &mut Vec<u8>, page: &Writer<'_>, links: &[Link], size: usize, broken: bool) {
    let (host, content) = (page.host, page.content);
    let start = out.len();
    let version = page.shape.text_version(host, content);
    // A change makes every third piece of the text another, and the news.
    let draw = |index: u32| match version {
        0 => page.shape.dice.draw(Salt::Text, host, content, index),
        _ if !index.is_multiple_of(3) => page.shape.dice.draw(Salt::Text, host, content, index),
        version => page.shape.dice.draw_at(Salt::Text, (host, content), version, index),
    };
    let _ = write!(out, "<h1>Page {content} of h{host}.test</h1>\n<p>");
    if version > 0 {
        words::fill(out, page.charset, NEWS, page.shape.dice.draw_at(Salt::Text, (host, content), version, NEWS_DRAW));
        out.extend_from_slice(b"</p>\n<p>");
    }
    let mut left = links.iter().filter(|link| !in_head(link)).count();
    for (index, link) in links.iter().enumerate().filter(|(_, link)| !in_head(link)) {
        let index = index as u32;
        // About 70 bytes a link, and the same room for each.
        let room = size.saturating_sub(out.len() - start).saturating_sub(left * 70) / (left + 1);
        words::fill(out, page.charset, room, draw(index));
        if broken && index.is_multiple_of(4) {
            markup::decoy(out, page, index);
        }
        markup::link(out, page, link, index, broken);
        out.extend_from_slice(if index % 4 == 3 { b"</p>\n<p>" } else { b" " });
        left -= 1;
    }
    // A Chinese page that does not say so must have enough text to be known by it, however many links it has.
    let least = if page.charset_known { 0 } else { 400 };
    let room = size.saturating_sub(out.len() - start).saturating_sub(20).max(least);
    words::fill(out, page.charset, room, draw(u32::MAX));
    match broken {
        true => markup::tail(out, page),
        false => out.extend_from_slice(b"</p>\n</body></html>\n"),
    }
}

fn in_head(link: &Link) -> bool {
    matches!(link.tag, Tag::LinkNext | Tag::Refresh | Tag::Canonical)
}

/// Appends the document of an address that is no page: see [`Place`]. `asked` is the path asked for.
pub(super) fn leaf(shape: &Shape, host: u32, place: Place, asked: &str, links: &[Link], out: &mut Vec<u8>) -> About {
    let html = About { content_type: "text/html; charset=utf-8", robots_tag: None };
    match place {
        Place::File(number) => {
            let bytes = (0..256u32).flat_map(|index| shape.dice.draw(Salt::File, host, number, index).to_le_bytes());
            out.extend(bytes);
            About { content_type: "application/octet-stream", robots_tag: None }
        }
        Place::Text(number) => {
            let _ = writeln!(out, "Text {number} of h{host}.test: <a href=\"/never/{number}\">no link</a>");
            words::fill(out, Charset::Utf8, 500, u64::from(number));
            About { content_type: "text/plain; charset=utf-8", robots_tag: None }
        }
        Place::Maze(trap) => {
            let _ = write!(out, "<!DOCTYPE html>\n<title>h{host}.test</title>\n");
            out.extend_from_slice(traps::page(trap, host, asked, shape.config.seed).as_bytes());
            html
        }
        _ => {
            let _ = write!(out, "<!DOCTYPE html>\n<title>{} of h{host}.test</title>\n<p>", escape(asked));
            words::fill(out, Charset::Utf8, 300, shape.dice.draw(Salt::Text, host, asked.len() as u32, 0));
            for link in links {
                let _ = write!(out, "\n<a href=\"{}\">further</a>", escape(&link.to.url()));
            }
            trap_links(shape, place, asked, out);
            html
        }
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

fn trap_links(shape: &Shape, place: Place, asked: &str, out: &mut Vec<u8>) {
    match place {
        Place::Calendar { year, month } => {
            let months = u64::from(year) * 12 + u64::from(month) - 1;
            for (name, at) in [("before", months.saturating_sub(1)), ("after", months + 1)] {
                let (year, month) = (at / 12, at % 12 + 1);
                let _ = write!(out, "\n<a href=\"/trap/calendar?y={year}&amp;m={month}\">the month {name}</a>");
            }
        }
        Place::Session(number) => {
            let session = xxhash_rust::xxh3::xxh3_64_with_seed(asked.as_bytes(), shape.config.seed);
            let next = (number + 1) % super::place::SESSION_PAGES;
            let form = pick(session, &["?sid=", ";jsessionid="], "?sid=");
            let _ = write!(out, "\n<a href=\"/trap/session/{next}{form}{session:016x}\">go on</a>");
        }
        Place::Relative => {
            let _ = write!(out, "\n<a href=\"a/\">deeper</a> <a href=\"b/\">deeper still</a>");
        }
        _ => {}
    }
}

/// Appends the sitemap at `node`, not compressed.
pub(super) fn sitemap(shape: &Shape, node: Node, out: &mut Vec<u8>) -> About {
    let named = shape.links(node).into_iter().map(|link| link.to);
    // Writing to a Vec cannot fail.
    let content_type = match node.place {
        Place::Map(Map::Index) => {
            let _ = writeln!(out, "\u{feff}<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<sitemapindex>");
            named.for_each(|to| {
                let _ = writeln!(out, "<sitemap><loc><![CDATA[{}]]></loc></sitemap>", to.url());
            });
            out.extend_from_slice(b"</sitemapindex>\n");
            "text/xml"
        }
        Place::Map(Map::Lines) => {
            named.for_each(|to| {
                let _ = writeln!(out, "{}", to.url());
            });
            "text/plain; charset=utf-8"
        }
        _ => {
            let _ = writeln!(out, "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">");
            for (i, to) in named.enumerate() {
                let url = to.url().replace('&', "&amp;");
                let _ = writeln!(out, "<url><loc>\n {url}\n</loc><priority>0.{}</priority></url>", i % 10);
            }
            out.extend_from_slice(b"</urlset>\n");
            "application/x-gzip"
        }
    };
    About { content_type, robots_tag: None }
}
