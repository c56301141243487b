//! What is shown of a fetch, as text or JSON.

use std::fmt::Write as _;
use std::io::Write;
use std::time::Duration;

use serde::Serialize;

use super::page::{Judge, PageReport, Read, RedirectReport};
use super::session::{NoAnswer, Reply, Robots, Session, body};
use crate::cli::exit::CliError;
use crate::cli::why;
use crate::config::units::roughly;
use crate::domain::outcome::{Verdict, judge};
use crate::domain::scope::Scope;
use crate::domain::url::{PageUrl, UrlError};
use crate::net::answer::outcome_of;
use crate::net::{Fetched, HttpVersion};
use crate::parse::usage;
use crate::telemetry::log::escaped;
use crate::telemetry::trouble::ROBOTS_UNREACHABLE;

/// Everything worth knowing about one fetch.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    /// Redirects that were followed to get to `url`.
    hops: Vec<Hop>,
    url: String,
    robots: Option<RobotsReport>,
    answer: Option<Answer>,
    /// Why there is no answer, though one was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<FailedReport>,
    #[serde(skip)]
    body: Vec<u8>,
}

/// A request without an answer.
#[derive(Debug, Serialize)]
struct FailedReport {
    /// The reason, by its name in `domain::reason`.
    reason: &'static str,
    detail: String,
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
    /// What it says of the use of the URL's content.
    usage: Option<String>,
}

#[derive(Debug, Serialize)]
struct Answer {
    status: u16,
    version: &'static str,
    /// None where a proxy looked the name up.
    address: Option<String>,
    addresses: Vec<String>,
    timings_ms: TimingsReport,
    headers: Vec<(String, String)>,
    body_bytes: u64,
    wire_bytes: u64,
    cut: Option<&'static str>,
    tls_fault: Option<String>,
    /// What a crawl would make of it.
    verdict: String,
    redirect: Option<RedirectReport>,
    /// What it is taken for, by its head and its first bytes.
    kind: &'static str,
    /// The module that reads such a body.
    module: Option<&'static str>,
    /// What `X-Robots-Tag` forbids this crawler; none when it says nothing.
    x_robots_tag: Vec<&'static str>,
    canonical: Option<String>,
    /// What robots.txt and the head say of the use of the content.
    usage: Option<String>,
    notes: Vec<&'static str>,
    page: Option<PageReport>,
    /// The type of a body that was not read as a page.
    not_parsed: Option<String>,
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

impl Report {
    /// A URL that robots.txt disallows, or of a host whose robots.txt is out of reach.
    pub(super) fn refused(url: &PageUrl, hops: Vec<Hop>, robots: &Robots) -> Self {
        let robots = Some(robots_report(robots));
        Self { hops, url: url.to_string(), robots, answer: None, failed: None, body: Vec::new() }
    }

    /// A URL, or its robots.txt, that gave no answer.
    pub(super) fn failed(url: &PageUrl, hops: Vec<Hop>, robots: Option<&Robots>, fault: &NoAnswer) -> Self {
        let failed = FailedReport { reason: fault.reason(), detail: fault.to_string() };
        let robots = robots.map(robots_report);
        Self { hops, url: url.to_string(), robots, answer: None, failed: Some(failed), body: Vec::new() }
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
        let (body, notes) = body(fetched, session.rules.settings.fetch.max_decoded).map_err(unread)?;
        let judge = Judge::new(session, scope);
        let read = Read::of(session, url, fetched, &body, notes);
        let answer = Answer {
            status: fetched.status,
            version: if fetched.version == HttpVersion::Http10 { "HTTP/1.0" } else { "HTTP/1.1" },
            address: fetched.peer.map(|peer| peer.to_string()),
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
            verdict: verdict(session, fetched, read.module.is_some()),
            redirect: redirect.map(|to| judge.redirect(to)),
            kind: read.kind,
            module: read.module,
            x_robots_tag: read.head.robots.names().collect(),
            canonical: read.head.canonical(read.page.as_ref(), &url.to_url()),
            usage: usage(robots.usage.as_deref(), &fetched.headers),
            notes: read.notes(fetched),
            not_parsed: read.not_parsed(fetched, &body),
            page: read.report(&judge, url, body.len() as u64),
        };
        let robots = Some(robots_report(robots));
        Ok(Self { hops, url: url.to_string(), robots, answer: Some(answer), failed: None, body })
    }

    /// Whether there was an answer.
    pub(super) fn fetched(&self) -> bool {
        self.answer.is_some()
    }

    /// Why there is none, when one was asked for.
    pub(super) fn fault(&self) -> Option<String> {
        self.failed.as_ref().map(|failed| format!("{}: {}", self.url, failed.detail))
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
        if let Some(robots) = &self.robots {
            robots.rows(&mut rows);
        }
        match (&self.answer, &self.robots) {
            (Some(answer), _) => answer.rows(&mut rows),
            (None, Some(robots)) if self.failed.is_none() => {
                let why = if robots.reachable { "robots" } else { ROBOTS_UNREACHABLE };
                rows.add("not fetched", why::advice(why));
            }
            (None, _) => rows.add("failed", self.failed.as_ref().map_or("", |failed| &failed.detail)),
        }
        rows.0
    }
}

/// What a crawl would make of the first such answer.
fn verdict(session: &Session, fetched: &Fetched, is_read: bool) -> String {
    let (rules, now) = (session.rules.settings.retry_rules(), session.clock.now());
    let outcome = outcome_of(Ok(fetched), false, now);
    match judge(&outcome, 0, now, &rules) {
        Verdict::Store if is_read => "stored and read for links".into(),
        Verdict::Store | Verdict::StoreOnly(None) => "stored".into(),
        Verdict::StoreOnly(Some(failure)) => format!("stored; ends as error {failure}"),
        Verdict::Follow => "stored; its target is the next URL".into(),
        Verdict::NotModified => "unchanged since the last capture".into(),
        Verdict::Retry { at, reason } => format!("{reason}: not stored, tried again after {}", roughly(at.since(now))),
        Verdict::Fail(failure) => format!("not stored; ends as error {failure}"),
        Verdict::Reject(rejection) => format!("turned away: {rejection}"),
    }
}

impl RobotsReport {
    fn rows(&self, rows: &mut Rows) {
        rows.add("robots.txt", &format!("{} {}", self.url, self.outcome));
        rows.add("", &format!("{}: {}", if self.allowed { "allow" } else { "disallow" }, self.line));
        if let Some(delay) = self.crawl_delay_seconds {
            rows.add("", &format!("Crawl-delay: {delay} s"));
        }
    }
}

impl Answer {
    fn rows(&self, rows: &mut Rows) {
        let t = &self.timings_ms;
        rows.add("status", &format!("{} {}", self.version, self.status));
        rows.add("verdict", &self.verdict);
        match &self.address {
            Some(address) => rows.add("address", &format!("{address} of {}", self.addresses.join(", "))),
            None => rows.add("address", "known to the proxy only"),
        }
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
        if !self.notes.is_empty() {
            rows.add("notes", &self.notes.join(" "));
        }
        for (i, (name, value)) in self.headers.iter().enumerate() {
            rows.add(if i == 0 { "headers" } else { "" }, &format!("{name}: {value}"));
        }
        if let Some(redirect) = &self.redirect {
            let to = redirect.to.as_deref().unwrap_or("what is no http(s) URL");
            rows.add("redirect", &format!("to {to} ({}); --follow goes there", redirect.verdict));
        }
        let reader =
            self.module.map_or("read by no module".to_owned(), |module| format!("read by the module {module}"));
        rows.add("kind", &format!("{}, {reader}", self.kind));
        if !self.x_robots_tag.is_empty() {
            rows.add("x-robots-tag", &self.x_robots_tag.join(" "));
        }
        if !self.notes.is_empty() {
            rows.add("notes", &self.notes.join(" "));
        }
        for (name, value) in [("canonical", &self.canonical), ("usage", &self.usage)] {
            if let Some(value) = value {
                rows.add(name, value);
            }
        }
        if let Some(page) = &self.page {
            page.rows(rows);
        }
        if let Some(kind) = &self.not_parsed {
            rows.add("page", &format!("not parsed: {kind}"));
        }
    }
}

#[derive(Default)]
pub(super) struct Rows(String);

impl Rows {
    pub(super) fn add(&mut self, name: &str, value: &str) {
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
        usage: robots.usage.clone(),
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
