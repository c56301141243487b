//! What is shown of a fetch, as text or JSON.

use std::fmt::Write as _;
use std::io::Write;
use std::time::Duration;

use serde::Serialize;

use super::entries;
use super::session::{Reply, Robots, Session, body};
use crate::cli::exit::CliError;
use crate::cli::why;
use crate::domain::html::{Directives, Link, Page};
use crate::domain::scope::Scope;
use crate::domain::url::{PageUrl, UrlError};
use crate::net::{Fetched, HttpVersion};
use crate::parse::Body;
use crate::telemetry::log::escaped;
use crate::telemetry::trouble::ROBOTS_UNREACHABLE;

/// Everything worth knowing about one fetch.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    /// Redirects that were followed to get to `url`.
    hops: Vec<Hop>,
    url: String,
    robots: RobotsReport,
    answer: Option<Answer>,
    #[serde(skip)]
    body: Vec<u8>,
}

/// A redirect that was followed.
#[derive(Debug, Serialize)]
pub(super) struct Hop {
    url: String,
    status: u16,
    to: String,
}

impl Hop {
    pub(super) fn new(at: &PageUrl, reply: &Reply, to: &PageUrl) -> Self {
        Self { url: at.to_string(), status: reply.fetched.status, to: to.to_string() }
    }
}

#[derive(Debug, Serialize)]
struct RobotsReport {
    url: String,
    outcome: String,
    allowed: bool,
    reachable: bool,
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
    redirect: Option<RedirectReport>,
    page: Option<PageReport>,
    /// The type of a body that was not read as a page.
    not_parsed: Option<String>,
}

/// Where the answer redirects to; shown, not followed.
#[derive(Debug, Serialize)]
struct RedirectReport {
    /// Canonical; `None` when it is no http(s) URL.
    to: Option<String>,
    verdict: String,
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
    description: Option<String>,
    keywords: Vec<String>,
    canonical: Option<String>,
    base: Option<String>,
    noindex: bool,
    nofollow: bool,
    noarchive: bool,
    decoded_bytes: u64,
    /// How reading it as a sitemap ended; its entries are the links.
    sitemap: Option<&'static str>,
    links_cut: bool,
    links: Vec<LinkReport>,
}

#[derive(Debug, Serialize)]
pub(super) struct LinkReport {
    /// Canonical; `None` for what is no http(s) URL.
    pub url: Option<String>,
    pub href: String,
    pub kind: &'static str,
    pub nofollow: bool,
    /// Its text; of an entry of a sitemap what else it says.
    pub text: String,
    /// What a crawl would do with it: `take`, or the reason it is turned away, with the rule.
    pub verdict: String,
}

impl Report {
    /// A URL that robots.txt disallows, or of a host whose robots.txt is out of reach.
    pub(super) fn refused(url: &PageUrl, hops: Vec<Hop>, robots: &Robots) -> Self {
        Self { hops, url: url.to_string(), robots: robots_report(robots), answer: None, body: Vec::new() }
    }

    pub(super) fn new(
        session: &Session,
        scope: &Scope,
        url: &PageUrl,
        hops: Vec<Hop>,
        robots: &Robots,
        reply: &Reply,
        redirect: Option<Result<PageUrl, UrlError>>,
    ) -> Result<Self, CliError> {
        let fetched = &reply.fetched;
        let unread = |e| CliError::new(format!("the body of {url} cannot be read: {e}"));
        let body = body(fetched, session.rules.settings.fetch.max_decoded).map_err(unread)?;
        let judge = Judge { session, scope };
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
            redirect: redirect.map(|to| judge.redirect(to)),
            not_parsed: not_parsed(session, url, fetched, &body),
            page: page(&judge, url, fetched, &body),
        };
        Ok(Self { hops, url: url.to_string(), robots: robots_report(robots), answer: Some(answer), body })
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
        for hop in &self.hops {
            rows.add("redirect", &format!("{} {} to {}", hop.status, hop.url, hop.to));
        }
        rows.add("url", &self.url);
        let robots = &self.robots;
        rows.add("robots.txt", &format!("{} {}", robots.url, robots.outcome));
        rows.add("", &format!("{}: {}", if robots.allowed { "allow" } else { "disallow" }, robots.line));
        if let Some(delay) = robots.crawl_delay_seconds {
            rows.add("", &format!("Crawl-delay: {delay} s"));
        }
        match &self.answer {
            Some(answer) => answer.rows(&mut rows),
            None if robots.reachable => {
                rows.add("not fetched", why::advice("robots"));
            }
            None => rows.add("not fetched", why::advice(ROBOTS_UNREACHABLE)),
        }
        rows.0
    }
}

impl Answer {
    fn rows(&self, rows: &mut Rows) {
        let t = &self.timings_ms;
        rows.add("status", &format!("{} {}", self.version, self.status));
        rows.add("address", &format!("{} of {}", self.address, self.addresses.join(", ")));
        rows.add("time", &format!("{:.1} ms (the connection was opened for robots.txt)", t.total));
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
        if let Some(redirect) = &self.redirect {
            let to = redirect.to.as_deref().unwrap_or("what is no http(s) URL");
            rows.add("redirect", &format!("to {to} ({}); --follow goes there", redirect.verdict));
        }
        if let Some(page) = &self.page {
            page.rows(rows);
        }
        if let Some(kind) = &self.not_parsed {
            rows.add("page", &format!("not parsed: {kind}"));
        }
    }
}

impl PageReport {
    fn rows(&self, rows: &mut Rows) {
        rows.add("charset", self.charset);
        if let Some(end) = self.sitemap {
            rows.add("sitemap", end);
        }
        rows.add("title", self.title.as_deref().unwrap_or("-"));
        let told = [("description", &self.description), ("canonical", &self.canonical), ("base", &self.base)];
        for (name, value) in told {
            if let Some(value) = value {
                rows.add(name, value);
            }
        }
        if !self.keywords.is_empty() {
            rows.add("keywords", &self.keywords.join(", "));
        }
        let directives = [(self.noindex, "noindex"), (self.nofollow, "nofollow"), (self.noarchive, "noarchive")];
        let directives: Vec<&str> = directives.iter().filter(|(set, _)| *set).map(|(_, name)| *name).collect();
        rows.add("directives", if directives.is_empty() { "none".into() } else { directives.join(" ") }.as_str());
        let taken = self.links.iter().filter(|l| l.verdict == TAKE).count();
        let cut = if self.links_cut { ", more were cut off" } else { "" };
        rows.add("links", &format!("{}, of which a crawl takes {taken}{cut}", self.links.len()));
        for link in &self.links {
            let nofollow = if link.nofollow { " nofollow" } else { "" };
            let url = link.url.as_ref().map_or_else(|| format!("(none) {}", link.href), Clone::clone);
            let verdict = if link.verdict == TAKE { String::new() } else { format!("  [{}]", link.verdict) };
            let said = if self.sitemap.is_none() || link.text.is_empty() {
                String::new()
            } else {
                format!(" ({})", link.text)
            };
            rows.add("", &format!("{}{nofollow} {url}{said}{verdict}", link.kind));
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
        reachable: robots.reachable,
        line: robots.line.clone(),
        crawl_delay_seconds: robots.crawl_delay.map(|d| d.as_secs_f64()),
    }
}

fn timings(reply: &Reply) -> TimingsReport {
    let ms = |d: Duration| d.as_secs_f64() * 1_000.0;
    let t = &reply.fetched.timings;
    TimingsReport {
        dns: ms(reply.opened.dns),
        connect: ms(reply.opened.connect),
        tls: ms(reply.opened.tls),
        first_byte: ms(t.first_byte),
        body: ms(t.body),
        total: ms(reply.opened.dns + reply.opened.connect + reply.opened.tls + t.first_byte + t.body),
    }
}

/// The verdict on a link that a crawl follows.
const TAKE: &str = "take";

/// How the verdict begins on a URL that the robots.txt read forbids; the deciding line follows.
const ROBOTS: &str = "robots: ";

/// What a crawl from this URL would do with what it finds: the same rules, in the same order.
pub(super) struct Judge<'a> {
    pub session: &'a Session,
    scope: &'a Scope,
}

impl Judge<'_> {
    pub(super) fn verdict(&self, url: &PageUrl, depth: u16) -> String {
        if let Err(reason) = self.session.traps.judge(url, self.session.clock.now()) {
            return reason.to_string();
        }
        match self.scope.explain(url, depth) {
            (Ok(()), _) => self.session.forbidden(url).map_or_else(|| TAKE.into(), |line| format!("{ROBOTS}{line}")),
            (Err(reason), rule) => format!("{reason}: {rule}"),
        }
    }

    fn redirect(&self, to: Result<PageUrl, UrlError>) -> RedirectReport {
        match to {
            Ok(to) => RedirectReport {
                verdict: match self.verdict(&to, 0) {
                    verdict if verdict == TAKE || verdict.starts_with(ROBOTS) => verdict,
                    other => format!("{other}; a seed's redirect joins the scope"),
                },
                to: Some(to.to_string()),
            },
            Err(e) => RedirectReport { to: None, verdict: e.rejection().to_string() },
        }
    }

    fn link(&self, link: &Link, page: &Page, base: &url::Url, nofollow: bool) -> LinkReport {
        let url = self.session.rules.canon.join(base, &link.href, Some(page.charset));
        let verdict = match &url {
            _ if nofollow || link.nofollow => "nofollow".into(),
            Ok(url) => self.verdict(url, 1),
            Err(e) => e.rejection().to_string(),
        };
        LinkReport {
            url: url.ok().map(|u| u.to_string()),
            href: link.href.clone(),
            kind: link.kind.as_str(),
            nofollow: link.nofollow,
            text: link.text.clone(),
            verdict,
        }
    }
}

/// What a body is that no module reads; `None` for what one does, and for no body.
fn not_parsed(session: &Session, url: &PageUrl, fetched: &Fetched, body: &[u8]) -> Option<String> {
    let declared = fetched.header("content-type");
    let at = url.to_url();
    let seen = Body::sniffed(&at, declared.as_deref(), body).found_as_sitemap(session.names_as_sitemap(url));
    if body.is_empty() || session.rules.modules.of(&seen).is_some() {
        return None;
    }
    let essence = declared.as_deref().unwrap_or_default().split(';').next().unwrap_or_default().trim();
    Some(match essence.to_ascii_lowercase().as_str() {
        "" => "no Content-Type, and its first bytes are not HTML".into(),
        html @ ("text/html" | "application/xhtml+xml") => format!("sent as {html}, but its first bytes are not HTML"),
        other => other.to_owned(),
    })
}

/// What is taken from a document; `None` for what no module reads.
fn page(judge: &Judge<'_>, url: &PageUrl, fetched: &Fetched, body: &[u8]) -> Option<PageReport> {
    let content_type = fetched.header("content-type");
    let (rules, at) = (&judge.session.rules, url.to_url());
    let settings = &rules.settings;
    let expected = judge.session.names_as_sitemap(url);
    let seen = Body::sniffed(&at, content_type.as_deref(), body).found_as_sitemap(expected);
    let page = rules.modules.read(&seen, &rules.parse)?;
    let base = page.facts.base_url(&at);
    let header = fetched.headers.iter().filter(|(n, _)| n.eq_ignore_ascii_case("x-robots-tag"));
    let header: Vec<_> = header.map(|(_, v)| String::from_utf8_lossy(v).into_owned()).collect();
    let tokens = &settings.agent.robots_tokens;
    let robots = page.facts.robots.and(Directives::from_header(header.iter().map(String::as_str), tokens));
    let links = match &page.facts.sitemap {
        Some(map) => entries::reports(judge, url, &page, map, expected),
        None => page.facts.links.iter().map(|link| judge.link(link, &page, &base, robots.nofollow)).collect(),
    };
    Some(PageReport {
        charset: page.charset.name(),
        links,
        title: page.facts.title,
        description: page.facts.description,
        keywords: page.facts.keywords,
        canonical: page.facts.canonical,
        base: page.facts.base,
        noindex: robots.noindex,
        nofollow: robots.nofollow,
        noarchive: robots.noarchive,
        decoded_bytes: body.len() as u64,
        sitemap: page.facts.sitemap.as_ref().map(|map| map.end.as_str()),
        links_cut: page.facts.links_cut,
    })
}
