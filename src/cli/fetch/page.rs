//! What is shown of a document: what it is taken for, what was read of it, and what a crawl would do with its links.

use serde::Serialize;

use super::entries;
use super::report::Rows;
use super::session::Session;
use crate::domain::html::{Directives, Link, Page};
use crate::domain::mime::Declared;
use crate::domain::note::Note;
use crate::domain::scope::Scope;
use crate::domain::url::{PageUrl, UrlError};
use crate::net::Fetched;
use crate::parse::{Body, HeadMarks, MimeModule};

/// Where the answer redirects to; shown, not followed.
#[derive(Debug, Serialize)]
pub(super) struct RedirectReport {
    /// Canonical; `None` when it is no http(s) URL.
    pub to: Option<String>,
    pub verdict: String,
}

#[derive(Debug, Serialize)]
pub(super) struct PageReport {
    charset: &'static str,
    /// What told the encoding: `bom`, `header`, `meta`, `xml` or `guess`.
    charset_source: &'static str,
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

/// What was read of a body, as a crawl reads it.
pub(super) struct Read {
    pub head: HeadMarks,
    pub kind: &'static str,
    pub module: Option<&'static str>,
    pub page: Option<Page>,
    /// Its host's robots.txt names it as a sitemap.
    named: bool,
    /// What was odd about the answer and its coding.
    odd: Vec<Note>,
}

impl Read {
    pub(super) fn of(session: &Session, url: &PageUrl, fetched: &Fetched, body: &[u8], odd: Vec<Note>) -> Self {
        let (rules, at) = (&session.rules, url.to_url());
        let content_type = fetched.header("content-type");
        let head = HeadMarks::of(&fetched.headers, &rules.settings.agent.robots_tokens);
        let declared = Declared { content_type: content_type.as_deref(), nosniff: head.nosniff };
        let named = session.names_as_sitemap(url);
        let seen = Body::declared(&at, declared, body).found_as_sitemap(named);
        let module = rules.modules.of(&seen).filter(|_| !body.is_empty()).map(MimeModule::name);
        let page = module.and_then(|_| rules.modules.read(&seen, &rules.parse));
        Self { head, kind: seen.kind.as_str(), module, page, named, odd }
    }

    /// The notes a crawl would keep, by name.
    pub(super) fn notes(&self, fetched: &Fetched) -> Vec<&'static str> {
        let mut notes = self.odd.clone();
        if (200..300).contains(&fetched.status) {
            notes.extend(self.head.notes(self.page.as_ref()));
        }
        notes.sort_unstable();
        notes.dedup();
        notes.iter().map(|note| note.as_str()).collect()
    }

    /// What a body is that no module reads; `None` for what one does, and for no body.
    pub(super) fn not_parsed(&self, fetched: &Fetched, body: &[u8]) -> Option<String> {
        if body.is_empty() || self.module.is_some() {
            return None;
        }
        let declared = fetched.header("content-type").unwrap_or_default();
        let essence = declared.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        Some(match essence.as_str() {
            "" => "no Content-Type, and its first bytes are not HTML".into(),
            "text/html" | "application/xhtml+xml" => format!("sent as {essence}, but its first bytes are not HTML"),
            other => other.to_owned(),
        })
    }

    /// What is taken from a document; `None` for what no module reads.
    pub(super) fn report(&self, judge: &Judge<'_>, url: &PageUrl, decoded_bytes: u64) -> Option<PageReport> {
        let page = self.page.as_ref()?;
        let (facts, base) = (&page.facts, page.facts.base_url(&url.to_url()));
        let robots: Directives = self.head.directives(Some(page));
        Some(PageReport {
            charset: page.charset.name(),
            charset_source: page.charset_source.as_str(),
            title: facts.title.clone(),
            description: facts.description.clone(),
            keywords: facts.keywords.clone(),
            canonical: facts.canonical.clone(),
            base: facts.base.clone(),
            noindex: robots.noindex,
            nofollow: robots.nofollow,
            noarchive: robots.noarchive,
            decoded_bytes,
            links_cut: facts.links_cut,
            sitemap: facts.sitemap.as_ref().map(|map| map.end.as_str()),
            links: match &facts.sitemap {
                Some(map) => entries::reports(judge, url, page, map, self.named),
                None => facts.links.iter().map(|link| judge.link(link, page, &base, robots.nofollow)).collect(),
            },
        })
    }
}

impl PageReport {
    pub(super) fn rows(&self, rows: &mut Rows) {
        rows.add("charset", &format!("{} (told by: {})", self.charset, self.charset_source));
        if let Some(end) = self.sitemap {
            rows.add("sitemap", end);
        }
        rows.add("title", self.title.as_deref().unwrap_or("-"));
        let told = [("description", &self.description), ("base", &self.base)];
        for (name, value) in told {
            if let Some(value) = value {
                rows.add(name, value);
            }
        }
        if !self.keywords.is_empty() {
            rows.add("keywords", &self.keywords.join(", "));
        }
        let robots = Directives { noindex: self.noindex, nofollow: self.nofollow, noarchive: self.noarchive };
        let names: Vec<&str> = robots.names().collect();
        rows.add("directives", if names.is_empty() { "none".into() } else { names.join(" ") }.as_str());
        let taken = self.links.iter().filter(|l| l.verdict == TAKE).count();
        let cut = if self.links_cut { ", more were cut off" } else { "" };
        rows.add("links", &format!("{}, of which a crawl takes {taken}{cut}", self.links.len()));
        for link in &self.links {
            let nofollow = if link.nofollow { " nofollow" } else { "" };
            let url = link.url.as_ref().map_or_else(|| format!("(none) {}", link.href), Clone::clone);
            let verdict = if link.verdict == TAKE { String::new() } else { format!("  [{}]", link.verdict) };
            let said = match self.sitemap {
                Some(_) if !link.text.is_empty() => format!(" ({})", link.text),
                _ => String::new(),
            };
            rows.add("", &format!("{}{nofollow} {url}{said}{verdict}", link.kind));
        }
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

impl<'a> Judge<'a> {
    pub(super) fn new(session: &'a Session, scope: &'a Scope) -> Self {
        Self { session, scope }
    }

    pub(super) fn verdict(&self, url: &PageUrl, depth: u16) -> String {
        if let Err(reason) = self.session.traps.judge(url, self.session.clock.now()) {
            return reason.to_string();
        }
        match self.scope.explain(url, depth) {
            (Ok(()), _) => self.session.forbidden(url).map_or_else(|| TAKE.into(), |line| format!("{ROBOTS}{line}")),
            (Err(reason), rule) => format!("{reason}: {rule}"),
        }
    }

    pub(super) fn redirect(&self, to: Result<PageUrl, UrlError>) -> RedirectReport {
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
