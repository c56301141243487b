//! What is shown of a document: what was read of it, and what a crawl would do with its links.

use std::collections::HashSet;

use serde::Serialize;

use super::judge::{Judge, Links, TAKE};
use super::read::Read;
use super::report::Rows;
use crate::content::html::{Directives, Page};
use crate::content::modules::{FoundLink, leads};
use crate::content::sitemap::{Choice, Chooser, Entry, Sitemap, Sites, by_urgency};
use crate::domain::url::PageUrl;

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
    /// What the rules of `[[extract]]` find, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    extracted: Option<serde_json::Value>,
}

#[derive(Debug, Serialize)]
pub(super) struct LinkReport {
    /// Canonical; `None` for what is no http(s) URL.
    pub url: Option<String>,
    pub href: String,
    pub kind: &'static str,
    /// It stands in the header `Link`.
    pub in_header: bool,
    pub nofollow: bool,
    /// Its text; of an entry of a sitemap what else it says.
    pub text: String,
    /// What a crawl would do with it: `take`, or the reason it is not taken, with the rule.
    pub verdict: String,
}

impl PageReport {
    /// Of a document; `None` for what no module reads.
    pub(super) fn of(judge: &Judge<'_>, read: &Read, url: &PageUrl) -> Option<Self> {
        let page = read.looked.page.as_ref()?;
        let facts = &page.facts;
        let robots: Directives = read.head.directives(Some(page));
        let extracted = Some(&page.extracted).filter(|values| !values.is_empty());
        Some(Self {
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
            decoded_bytes: read.looked.decoded,
            links_cut: facts.links_cut,
            links: links(judge, read, url),
            sitemap: facts.sitemap.as_ref().map(|map| map.end.as_str()),
            extracted: extracted.and_then(|values| serde_json::to_value(values).ok()),
        })
    }

    pub(super) fn rows(&self, rows: &mut Rows) {
        rows.add("charset", &format!("{} (told by: {})", self.charset, self.charset_source));
        rows.add_some("sitemap", self.sitemap);
        rows.add("title", self.title.as_deref().unwrap_or("-"));
        rows.add_some("description", self.description.as_ref());
        rows.add_some("base", self.base.as_ref());
        rows.add_some("keywords", (!self.keywords.is_empty()).then(|| self.keywords.join(", ")));
        let robots = Directives { noindex: self.noindex, nofollow: self.nofollow, noarchive: self.noarchive };
        let names: Vec<&str> = robots.names().collect();
        rows.add("directives", if names.is_empty() { "none".into() } else { names.join(" ") }.as_str());
        rows.add_some("extracted", self.extracted.as_ref().map(ToString::to_string));
        let cut = if self.links_cut { ", more were cut off" } else { "" };
        let taken = self.links.iter().filter(|link| link.verdict == TAKE).count();
        rows.add("links", &format!("{}, of which a crawl takes {taken}{cut}", self.links.len()));
        self.links.iter().for_each(|link| rows.add("", &link.line(self.sitemap.is_some())));
    }
}

impl LinkReport {
    fn of(url: Option<String>, kind: &'static str, verdict: String) -> Self {
        Self { url, href: String::new(), kind, in_header: false, nofollow: false, text: String::new(), verdict }
    }

    pub(super) fn line(&self, with_text: bool) -> String {
        let place = if self.in_header { " in the header Link" } else { "" };
        let nofollow = if self.nofollow { " nofollow" } else { "" };
        let url = self.url.as_ref().map_or_else(|| format!("(none) {}", self.href), Clone::clone);
        let said = if with_text && !self.text.is_empty() { format!(" ({})", self.text) } else { String::new() };
        let verdict = if self.verdict == TAKE { String::new() } else { format!("  [{}]", self.verdict) };
        format!("{}{place}{nofollow} {url}{said}{verdict}", self.kind)
    }
}

/// Where an answer leads, with what a crawl would do about it: entries of a sitemap, or links of page and head, and with
/// `crawl.ascend` the folders above what it takes.
pub(super) fn links(judge: &Judge<'_>, read: &Read, url: &PageUrl) -> Vec<LinkReport> {
    if !read.verdict.parses() {
        return Vec::new();
    }
    let page = read.looked.page.as_ref();
    if let Some((page, map)) = page.and_then(|page| Some((page, page.facts.sitemap.as_ref()?))) {
        return entries(judge, read, url, page, map);
    }
    let mut links = Links::new(judge, url, read.next().map(|(next, _)| next));
    let (mut reports, mut followed) = (Vec::new(), Vec::new());
    for lead in leads(&judge.session.live.canon, url, page, &read.head) {
        let verdict = links.link(&lead.url, lead.kind, read.shuns(&lead));
        followed.extend(lead.url.clone().ok().filter(|_| !read.shuns(&lead)));
        reports.push(report(&lead, verdict));
    }
    if judge.session.rules.settings.crawl.ascend {
        let folders = read.next().map(|(next, _)| next).into_iter().chain(&followed).flat_map(|url| links.folders(url));
        reports.extend(
            folders.map(|(url, verdict)| LinkReport::of(Some(url.to_string()), "folder", verdict)).collect::<Vec<_>>(),
        );
    }
    reports
}

fn report(lead: &FoundLink<'_>, verdict: String) -> LinkReport {
    LinkReport {
        href: lead.href.to_owned(),
        in_header: lead.in_header,
        nofollow: lead.nofollow,
        text: lead.text.to_owned(),
        ..LinkReport::of(lead.url.as_ref().ok().map(ToString::to_string), lead.kind.as_str(), verdict)
    }
}

/// The entries of the sitemap at `url`, in the order of the file; judged in the order in which a crawl takes them.
fn entries(judge: &Judge<'_>, read: &Read, url: &PageUrl, page: &Page, map: &Sitemap) -> Vec<LinkReport> {
    let (rules, (found, via)) = (&judge.session.rules, read.way());
    let named = map.entries.iter().map(|entry| entry.loc.as_str());
    let joiner = judge.session.live.canon.joiner_of(named, url.to_url(), Some(page.charset));
    let sites = Sites::of(url, via, found.is_sitemap()).given(judge.is_seed);
    let mut chooser = Chooser::new(sites, found, rules.settings.sitemaps.file_rules());
    let mut known: HashSet<PageUrl> = read.next().into_iter().map(|(next, _)| next).chain([url]).cloned().collect();
    let mut report = |entry: &Entry| {
        let at = joiner.join(&entry.loc);
        let verdict = match &at {
            Err(e) => e.rejection().to_string(),
            _ if read.nofollow() => "nofollow".into(),
            Ok(at) if at == url => "itself".into(),
            Ok(at) if !known.insert(at.clone()) => "known: listed above".into(),
            Ok(at) => match chooser.choose(entry, at) {
                Choice::Take => judge.found(at, (chooser.found_as(entry), Some(url.as_str()))),
                Choice::TurnAway(reason) => reason.to_string(),
                Choice::LeaveOut => "left out: sitemaps.use, sitemaps.max_files".into(),
            },
        };
        let url = at.ok().map(|at| at.to_string());
        LinkReport {
            href: entry.loc.clone(),
            text: entry.said(),
            ..LinkReport::of(url, entry.kind().as_str(), verdict)
        }
    };
    let order = rules.ranker.order();
    let mut all: Vec<_> = by_urgency(&map.entries, order).into_iter().map(|entry| (entry, report(entry))).collect();
    all.sort_by_key(|(entry, _)| std::ptr::from_ref::<Entry>(entry)); // they lie in one list
    all.into_iter().map(|(_, report)| report).collect()
}
