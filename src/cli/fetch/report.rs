//! What is shown of a fetch, as text or JSON.

use std::fmt::Write as _;
use std::io::Write;
use std::time::Duration;

use serde::Serialize;

use super::session::{Reply, Robots, Session, body};
use crate::cli::exit::CliError;
use crate::domain::html::PageReader;
use crate::domain::mime::{Kind, sniff};
use crate::domain::url::PageUrl;
use crate::net::{Fetched, HttpVersion};
use crate::telemetry::log::escaped;

/// Everything worth knowing about one fetch.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    url: String,
    robots: RobotsReport,
    answer: Option<Answer>,
    #[serde(skip)]
    body: Vec<u8>,
}

#[derive(Debug, Serialize)]
struct RobotsReport {
    url: String,
    outcome: String,
    allowed: bool,
    line: String,
    crawl_delay_seconds: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Answer {
    status: u16,
    version: &'static str,
    address: String,
    addresses: Vec<String>,
    timings_ms: TimingsReport,
    headers: Vec<(String, String)>,
    body_bytes: u64,
    wire_bytes: u64,
    cut: Option<&'static str>,
    tls_fault: Option<String>,
    page: Option<PageReport>,
}

#[derive(Debug, Serialize)]
struct TimingsReport {
    dns: f64,
    connect: f64,
    tls: f64,
    first_byte: f64,
    body: f64,
    total: f64,
}

#[derive(Debug, Serialize)]
struct PageReport {
    charset: &'static str,
    title: Option<String>,
    noindex: bool,
    nofollow: bool,
    links: Vec<LinkReport>,
}

#[derive(Debug, Serialize)]
struct LinkReport {
    /// Canonical; `None` for what is no http(s) URL.
    url: Option<String>,
    href: String,
    kind: &'static str,
    nofollow: bool,
    text: String,
}

impl Report {
    /// A URL that robots.txt disallows.
    pub(super) fn refused(url: &PageUrl, robots: &Robots) -> Self {
        Self { url: url.to_string(), robots: robots_report(robots), answer: None, body: Vec::new() }
    }

    pub(super) fn new(session: &Session, url: &PageUrl, robots: &Robots, reply: &Reply) -> Result<Self, CliError> {
        let fetched = &reply.fetched;
        let unread = |e| CliError::new(format!("the body of {url} cannot be read: {e}"));
        let body = body(fetched, session.settings.fetch.max_decoded).map_err(unread)?;
        let answer = Answer {
            status: fetched.status,
            version: if fetched.version == HttpVersion::Http10 { "HTTP/1.0" } else { "HTTP/1.1" },
            address: fetched.peer.to_string(),
            addresses: reply.addresses.iter().map(ToString::to_string).collect(),
            timings_ms: timings(reply),
            headers: fetched
                .headers
                .iter()
                .map(|(n, v)| (n.clone(), String::from_utf8_lossy(v).into_owned()))
                .collect(),
            body_bytes: fetched.body.len(),
            wire_bytes: fetched.wire_bytes,
            cut: fetched.cut.map(|cut| cut.as_str()),
            tls_fault: fetched.tls_fault.clone(),
            page: page(session, url, fetched, &body),
        };
        Ok(Self { url: url.to_string(), robots: robots_report(robots), answer: Some(answer), body })
    }

    /// Whether there was an answer.
    pub(super) fn fetched(&self) -> bool {
        self.answer.is_some()
    }

    /// The body, content coding taken off.
    pub(super) fn write_body(&self, out: &mut dyn Write) -> std::io::Result<()> {
        out.write_all(&self.body)
    }

    pub(super) fn json(&self) -> String {
        // Only maps with keys that are no text can fail, and there are none.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Lines of `name  value`; nothing in them moves a cursor.
    pub(super) fn text(&self) -> String {
        let mut rows = Rows::default();
        rows.add("url", &self.url);
        let robots = &self.robots;
        rows.add("robots.txt", &format!("{} {}", robots.url, robots.outcome));
        rows.add("", &format!("{}: {}", if robots.allowed { "allow" } else { "disallow" }, robots.line));
        if let Some(delay) = robots.crawl_delay_seconds {
            rows.add("", &format!("Crawl-delay: {delay} s"));
        }
        match &self.answer {
            Some(answer) => answer.rows(&mut rows),
            None => rows.add("not fetched", "robots.txt disallows it (--ignore-robots fetches it all the same)"),
        }
        rows.0
    }
}

impl Answer {
    fn rows(&self, rows: &mut Rows) {
        let t = &self.timings_ms;
        rows.add("status", &format!("{} {}", self.version, self.status));
        rows.add("address", &format!("{} of {}", self.address, self.addresses.join(", ")));
        rows.add("time", &format!("{:.1} ms without name resolution", t.total));
        let phases =
            [("dns", t.dns), ("connect", t.connect), ("tls", t.tls), ("first byte", t.first_byte), ("body", t.body)];
        for (name, ms) in phases {
            rows.add("", &format!("{name:<10} {ms:>9.1} ms"));
        }
        let cut = self.cut.map(|why| format!(", cut: {why}")).unwrap_or_default();
        rows.add("bytes", &format!("{} body, {} received{cut}", self.body_bytes, self.wire_bytes));
        if let Some(fault) = &self.tls_fault {
            rows.add("certificate", fault);
        }
        for (i, (name, value)) in self.headers.iter().enumerate() {
            rows.add(if i == 0 { "headers" } else { "" }, &format!("{name}: {value}"));
        }
        if let Some(page) = &self.page {
            page.rows(rows);
        }
    }
}

impl PageReport {
    fn rows(&self, rows: &mut Rows) {
        rows.add("charset", self.charset);
        rows.add("title", self.title.as_deref().unwrap_or("-"));
        rows.add("directives", &format!("noindex={} nofollow={}", self.noindex, self.nofollow));
        rows.add("links", &self.links.len().to_string());
        for link in &self.links {
            let nofollow = if link.nofollow { " nofollow" } else { "" };
            let url = link.url.as_ref().map_or_else(|| format!("(none) {}", link.href), Clone::clone);
            rows.add("", &format!("{}{nofollow} {url}", link.kind));
        }
    }
}

#[derive(Default)]
struct Rows(String);

impl Rows {
    fn add(&mut self, name: &str, value: &str) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.0, "{name:<12} {}", escaped(value));
    }
}

fn robots_report(robots: &Robots) -> RobotsReport {
    RobotsReport {
        url: robots.url.clone(),
        outcome: robots.outcome.clone(),
        allowed: robots.allowed,
        line: robots.line.clone(),
        crawl_delay_seconds: robots.crawl_delay.map(|d| d.as_secs_f64()),
    }
}

fn timings(reply: &Reply) -> TimingsReport {
    let ms = |d: Duration| d.as_secs_f64() * 1_000.0;
    let t = &reply.fetched.timings;
    TimingsReport {
        dns: ms(reply.dns),
        connect: ms(t.connect),
        tls: ms(t.tls),
        first_byte: ms(t.first_byte),
        body: ms(t.body),
        total: ms(t.total),
    }
}

/// What is taken from an HTML page; `None` for anything else.
fn page(session: &Session, url: &PageUrl, fetched: &Fetched, body: &[u8]) -> Option<PageReport> {
    let content_type = fetched.header("content-type");
    if !matches!(sniff(content_type.as_deref(), body), Kind::Html | Kind::Xhtml) {
        return None;
    }
    let settings = &session.settings;
    let at = url.to_url();
    let mut reader =
        PageReader::new(content_type.as_deref(), &at, settings.extract_options(), settings.parse.max_parse);
    reader.push(body);
    let page = reader.finish();
    let base = page.facts.base_url(&at);
    let canonical =
        |href: &str| session.canonicaliser.join(&base, href, Some(page.charset)).ok().map(|u| u.to_string());
    let links = page.facts.links.iter().map(|link| LinkReport {
        url: canonical(&link.href),
        href: link.href.clone(),
        kind: link.kind.as_str(),
        nofollow: link.nofollow,
        text: link.text.clone(),
    });
    Some(PageReport {
        charset: page.charset.name(),
        links: links.collect(),
        title: page.facts.title,
        noindex: page.facts.robots.noindex,
        nofollow: page.facts.robots.nofollow,
    })
}
