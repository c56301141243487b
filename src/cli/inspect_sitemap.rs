//! `lycosa inspect sitemap FILE --url URL [--named-by HOST] [--json]`: what a sitemap or feed names, and what of it counts.

use std::io::{self, Write};

use serde::Serialize;

use super::exit::CliError;
use crate::content::html::Page;
use crate::content::modules::Body;
use crate::content::sitemap::Sites;
use crate::crawl::rules::Rules;
use crate::domain::reason::Rejection;
use crate::telemetry::log::escaped;

/// What was asked about a file.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    pub url: &'a str,
    /// Its type; XML when not given.
    pub content_type: Option<&'a str>,
    /// The host whose robots.txt names it; its own when not given.
    pub named_by: Option<&'a str>,
    /// JSON in place of lines.
    pub json: bool,
}

#[derive(Serialize)]
struct Report {
    module: &'static str,
    /// How reading a sitemap ended: `done`, `cut` or `malformed`.
    end: Option<&'static str>,
    charset: &'static str,
    title: Option<String>,
    entries: Vec<EntryReport>,
}

#[derive(Serialize)]
struct EntryReport {
    /// `ok`, or why a crawl turns it away whatever its rules: `sitemap_foreign`, `malformed`, `scheme`, `too_long`.
    verdict: &'static str,
    kind: &'static str,
    /// In canonical form, or as written when it has none.
    url: String,
    said: String,
}

/// Writes what the file names: one object, or one line an entry: verdict, kind, URL, and what else is said of it.
pub fn run(bytes: &[u8], asked: &Asked<'_>, rules: &Rules, out: &mut dyn Write) -> Result<(), CliError> {
    let canon = &rules.canon;
    let at = canon.parse(asked.url).map_err(|fault| {
        let what = "write the URL the file came from, such as https://example.org/sitemap.xml";
        CliError::usage(format!("--url {}: {fault}; {what}", asked.url))
    })?;
    let (url, modules) = (at.to_url(), &rules.modules);
    let content_type = asked.content_type.or(Some("application/xml"));
    let body = Body::sniffed(&url, content_type, bytes).found_as_sitemap(true);
    let module = modules.of(&body).filter(|module| module.lists_urls()).map(|module| module.name());
    let module =
        module.ok_or_else(|| CliError::usage("it is neither a sitemap nor a feed, by its type and its first bytes"))?;
    let page = modules.read(&body, &rules.parse).unwrap_or_default();
    let via = asked.named_by.map(|host| format!("http://{host}/robots.txt"));
    let sites = Sites::of(&at, via.as_deref(), true);
    let verdict = |href: &str, is_entry: bool| match canon.join(&url, href, Some(page.charset)) {
        Ok(url) if is_entry && !sites.hold(&url) => (Rejection::SitemapForeign.as_str(), url.to_string()),
        Ok(url) => ("ok", url.to_string()),
        Err(e) => (e.rejection().as_str(), href.to_owned()),
    };
    write(&report(module, &page, verdict), asked.json, out)?;
    Ok(())
}

fn report(module: &'static str, page: &Page, verdict: impl Fn(&str, bool) -> (&'static str, String)) -> Report {
    let facts = &page.facts;
    let row = |href: &str, kind: &'static str, said: String, is_entry| {
        let (verdict, url) = verdict(href, is_entry);
        EntryReport { verdict, kind, url, said }
    };
    let named = facts.sitemap.iter().flat_map(|map| &map.entries);
    let named = named.map(|entry| row(&entry.loc, entry.kind().as_str(), entry.said(), true));
    let links = facts.links.iter().map(|link| row(&link.href, link.kind.as_str(), link.text.clone(), false));
    Report {
        module,
        end: facts.sitemap.as_ref().map(|map| map.end.as_str()),
        charset: page.charset.name(),
        title: facts.title.clone(),
        entries: named.chain(links).collect(),
    }
}

fn write(report: &Report, json: bool, out: &mut dyn Write) -> io::Result<()> {
    if json {
        serde_json::to_writer_pretty(&mut *out, report)?;
        return writeln!(out);
    }
    let end = report.end.map(|end| format!(", {end}")).unwrap_or_default();
    writeln!(out, "{} of {} entries{end}, charset {}", report.module, report.entries.len(), report.charset)?;
    for entry in &report.entries {
        let said = if entry.said.is_empty() { String::new() } else { format!("  {}", escaped(&entry.said)) };
        writeln!(out, "{:<15} {:<13} {}{said}", entry.verdict, entry.kind, escaped(&entry.url))?;
    }
    Ok(())
}
