//! What is shown of an answer.

use std::time::Duration;

use serde::Serialize;

use super::judge::Judge;
use super::page::{LinkReport, PageReport, links};
use super::read::Read;
use super::report::Rows;
use super::session::{Reply, Robots};
use crate::base::time::UnixMillis;
use crate::base::units::roughly;
use crate::content::modules::usage;
use crate::crawl::parser::inspect::RedirectKind;
use crate::domain::outcome::Verdict;
use crate::domain::url::{PageUrl, UrlError};
use crate::net::HttpVersion;

#[derive(Debug, Serialize)]
pub(super) struct Answer {
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
    /// Whether it goes into the archive, and if not why not.
    stored: bool,
    not_stored: Option<String>,
    /// A firewall answered in place of the site.
    challenge: bool,
    redirect: Option<RedirectReport>,
    /// The media type that a crawl records.
    mime: String,
    /// What it is taken for, by its head and its first bytes; none where nobody looks.
    kind: Option<&'static str>,
    /// The module that reads such a body.
    module: Option<&'static str>,
    /// What `X-Robots-Tag` forbids this crawler; none when it says nothing.
    x_robots_tag: Vec<&'static str>,
    canonical: Option<String>,
    /// What robots.txt and the head say of the use of the content.
    usage: Option<String>,
    notes: Vec<&'static str>,
    page: Option<PageReport>,
    /// Those of the header `Link`, where no page was read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    links: Vec<LinkReport>,
    /// The type of a body that was not read as a page.
    not_parsed: Option<String>,
}

/// Where the answer leads at once; shown, not followed.
#[derive(Debug, Serialize)]
pub(super) struct RedirectReport {
    /// Canonical; `None` when it is no http(s) URL.
    to: Option<String>,
    /// `location`, `refresh_header` or `meta_refresh`.
    by: &'static str,
    written: Option<String>,
    /// What a crawl would do with it: `take`, or why it does not go there.
    verdict: String,
    #[serde(skip)]
    said: String,
}

impl RedirectReport {
    pub(super) fn to(url: &PageUrl, way: RedirectKind, written: Option<String>, verdict: String, goes: bool) -> Self {
        let by = if way == RedirectKind::Location { String::new() } else { format!(" by {}", way.said()) };
        let goes = if goes { "; --follow goes there" } else { "" };
        let said = format!("to {url}{by} ({verdict}){goes}");
        Self { to: Some(url.to_string()), by: way.as_str(), written, verdict, said }
    }

    pub(super) fn itself(url: Option<&PageUrl>) -> Self {
        let (by, said) = (RedirectKind::Location.as_str(), "to itself; a crawl goes no further".to_owned());
        Self { to: url.map(ToString::to_string), by, written: None, verdict: "itself".into(), said }
    }

    pub(super) fn nowhere(why: Option<UrlError>) -> Self {
        let (verdict, said) = match why {
            Some(why) => (why.rejection().to_string(), format!("to what is no http(s) URL ({})", why.rejection())),
            None => ("nowhere".to_owned(), "without a Location: it leads nowhere".to_owned()),
        };
        Self { to: None, by: RedirectKind::Location.as_str(), written: None, verdict, said }
    }
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

impl Answer {
    pub(super) fn new(
        judge: &Judge<'_>,
        url: &PageUrl,
        read: &Read,
        robots: &Robots,
        reply: &Reply,
        redirect: Option<RedirectReport>,
    ) -> Self {
        let (fetched, looked) = (&reply.fetched, &read.looked);
        let notes = looked.notes(fetched, &read.verdict, &read.head, &read.onward);
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        let not_stored = read.not_stored(judge, fetched.status);
        let page = PageReport::of(judge, read, url);
        Self {
            status: fetched.status,
            version: if fetched.version == HttpVersion::Http10 { "HTTP/1.0" } else { "HTTP/1.1" },
            address: fetched.peer.map(|peer| peer.to_string()),
            addresses: reply.addresses.iter().map(ToString::to_string).collect(),
            timings_ms: timings(reply),
            headers: fetched.headers.iter().map(|(name, value)| (name.clone(), text(value))).collect(),
            body_bytes: fetched.body.len(),
            wire_bytes: fetched.wire_bytes,
            cut: fetched.cut.map(|cut| cut.as_str()),
            tls_fault: fetched.tls_fault.clone(),
            verdict: verdict(judge, read, not_stored.as_deref()),
            stored: not_stored.is_none(),
            not_stored,
            challenge: read.challenge,
            redirect,
            mime: looked.mime.clone(),
            kind: looked.kind.map(|kind| kind.as_str()),
            module: looked.module,
            x_robots_tag: read.head.robots.names().collect(),
            canonical: looked.canonical(url, &read.verdict, &read.head),
            usage: usage(robots.usage.as_deref(), &fetched.headers),
            notes: notes.iter().map(|note| note.as_str()).collect(),
            not_parsed: read.not_parsed(fetched),
            links: if page.is_none() { links(judge, read, url) } else { Vec::new() },
            page,
        }
    }

    pub(super) fn rows(&self, rows: &mut Rows) {
        rows.add("status", &format!("{} {}", self.version, self.status));
        rows.add("verdict", &self.verdict);
        if self.challenge {
            rows.add("challenge", "a firewall answered in place of the site; its page is no content");
        }
        self.transfer_rows(rows);
        for (i, (name, value)) in self.headers.iter().enumerate() {
            rows.add(if i == 0 { "headers" } else { "" }, &format!("{name}: {value}"));
        }
        rows.add_some("redirect", self.redirect.as_ref().map(|redirect| &redirect.said));
        rows.add("kind", &self.kind_said());
        rows.add_some("x-robots-tag", (!self.x_robots_tag.is_empty()).then(|| self.x_robots_tag.join(" ")));
        rows.add_some("notes", (!self.notes.is_empty()).then(|| self.notes.join(" ")));
        rows.add_some("canonical", self.canonical.as_ref());
        rows.add_some("usage", self.usage.as_ref());
        if let Some(page) = &self.page {
            page.rows(rows);
        }
        rows.add_some("page", self.not_parsed.as_ref().map(|kind| format!("not parsed: {kind}")));
        self.links.iter().for_each(|link| rows.add("links", &link.line(false)));
    }

    fn transfer_rows(&self, rows: &mut Rows) {
        let t = &self.timings_ms;
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
        rows.add_some("certificate", self.tls_fault.as_ref());
    }

    fn kind_said(&self) -> String {
        match (self.kind, self.module) {
            (Some(kind), Some(module)) => format!("{kind}, read by the module {module}"),
            (Some(kind), None) => format!("{kind}, read by no module"),
            (None, _) if (200..300).contains(&self.status) && !self.challenge => "no body".into(),
            (None, _) => "not looked at: only pages are read".into(),
        }
    }
}

/// What a crawl would make of the first such answer.
fn verdict(judge: &Judge<'_>, read: &Read, not_stored: Option<&str>) -> String {
    let is_read = read.looked.module.is_some();
    let again = |at: UnixMillis| roughly(at.since(judge.session.clock.now()));
    match (read.verdict, not_stored) {
        (Verdict::StoreHalf { at }, why) => {
            let (wait, read) = (again(at), if is_read { " and read for links" } else { "" });
            let kept = why.map_or_else(|| format!("stored{read}"), |why| format!("not stored: {why}"));
            format!("the connection cut it: {kept}, tried again after {wait}")
        }
        (Verdict::Store, Some(why)) if is_read => format!("read for links, not stored: {why}"),
        (Verdict::Store | Verdict::StoreOnly(None), Some(why)) => format!("not stored: {why}"),
        (Verdict::StoreOnly(Some(failure)), Some(why)) => format!("not stored: {why}; ends as error {failure}"),
        (Verdict::Follow, Some(why)) if read.next().is_some() => {
            format!("not stored: {why}; its target is the next URL")
        }
        (Verdict::Follow, Some(why)) => format!("not stored: {why}"),
        (Verdict::Store, None) if is_read => "stored and read for links".into(),
        (Verdict::Store | Verdict::StoreOnly(None), _) => "stored".into(),
        (Verdict::StoreOnly(Some(failure)), _) => format!("stored; ends as error {failure}"),
        (Verdict::Follow, _) if read.next().is_some() => "stored; its target is the next URL".into(),
        (Verdict::Follow, _) => "stored".into(),
        (Verdict::KeepHalf, _) => "done with the half that was kept".into(),
        (Verdict::NotModified, _) => "unchanged since the last capture".into(),
        (Verdict::Retry { at, reason }, _) => format!("{reason}: not stored, tried again after {}", again(at)),
        (Verdict::Fail(failure), _) => format!("not stored; ends as error {failure}"),
        (Verdict::Reject(rejection), _) => format!("turned away: {rejection}"),
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
