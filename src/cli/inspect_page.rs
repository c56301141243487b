//! `lycosa inspect page FILE --url URL [--content-type T] [--card] [--first-source] [--config FILE] [--set KEY=VALUE]`: what the crawler
//! sees in one page or other document, as JSON, or its card in lines.

use std::io::{self, Write};

use serde_json::{Value, json};
use url::Url;

use super::exit::CliError;
use crate::content::html::Page;
use crate::content::modules::{HeaderDirectives, leads};
use crate::crawl::parser::inspect::{Inspection, Redirect};
use crate::crawl::rules::Rules;
use crate::document::Document;
use crate::domain::card::{Card, Find, Keyword};
use crate::domain::outcome::Verdict;
use crate::domain::url::{PageUrl, UrlError};
use crate::net::Fetched;
use crate::telemetry::log::escaped;

/// Room for a piece of a body.
const PIECE: usize = 32 * 1024;

/// What was asked about a file.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The URL it came from.
    pub url: &'a str,
    /// Its type; HTML when not given.
    pub content_type: Option<&'a str>,
    /// Its card in lines, in place of all in JSON.
    pub card: bool,
    /// How the keywords of its card are found.
    pub find: Find,
}

/// Writes one JSON object about the page `bytes` that came from a URL with a content type, read as a crawl with these rules reads an
/// answer with that body and type. Without a type it is taken for HTML. A text or XML that was compressed with gzip is unpacked
/// (and noted, for a server would have had to say so).
///
/// Keys: `charset` (WHATWG name), `charset_source` (`bom`, `header`, `meta`, `xml`, `guess`), `mime`, `kind` and `module` (the type
/// that is recorded, what it is taken for, and what reads it, or null), `bytes` (compression taken off), `notes` (as in a crawl),
/// `title`, `description` (or null), `keywords` (list), `robots` (`noindex`, `nofollow`, `noarchive`), `canonical`, `base` (absolute,
/// or null), `redirect` (where a refresh leads at once, or null), `sitemap` (how reading one ended, or null), `links` (in document
/// order, of a sitemap its entries; `url` is absolute and in canonical form, `kind`, `nofollow`, `text`), `text`. As in a crawl a body
/// that no module reads has no links; of plain text `text` is the text. Where rules of `[[extract]]` are meant for it also
/// `extracted`: what they find, by name, or null when the page is too large or too deep for them. `card`: that of a page of HTML or plain
/// text (`docs/card.md`), else null.
pub fn run(bytes: Vec<u8>, asked: &Asked<'_>, rules: &Rules, out: &mut dyn Write) -> Result<(), CliError> {
    let url = rules.canon.parse(asked.url).map_err(|fault| {
        let what = "write the URL the page came from, such as https://example.org/dir/page.html";
        CliError::usage(format!("--url {}: {fault}; {what}", asked.url))
    })?;
    let content_type = asked.content_type.unwrap_or("text/html");
    let headers = vec![("Content-Type".to_owned(), content_type.as_bytes().to_vec())];
    let fetched = Fetched::saved(200, headers, Document::from_bytes(bytes));
    let (head, verdict) = (HeaderDirectives::default(), Verdict::Store);
    let looked = rules.inspector().look((&url, false), &fetched, &verdict, &head, &mut vec![0; PIECE]);
    let looked = looked.bounded(&rules.canon, &url, rules.settings.parse.max_links_per_page);
    let card = looked.page.as_ref().and_then(|page| page.facts.card(url.as_str(), asked.find));
    if asked.card {
        return Ok(card_lines(&card.unwrap_or_default(), out)?);
    }
    let onward = Redirect::of(&rules.canon, &url, &fetched, &verdict, looked.page.as_ref());
    let notes = looked.notes(&fetched, &verdict, &head, &onward);
    let mut report = report(&looked, &url, rules);
    report["notes"] = notes.iter().map(|note| note.as_str()).collect();
    report["card"] = json!(card);
    report["redirect"] = onward.target().map(|(to, _)| to.as_str()).into();
    serde_json::to_writer_pretty(&mut *out, &report).map_err(io::Error::from)?;
    writeln!(out)?;
    Ok(())
}

/// A line for each thing that the card says: its name, a tab, for keywords and the abstract where they come from and a tab, and the text.
fn card_lines(card: &Card, out: &mut dyn Write) -> io::Result<()> {
    let mut line = |name: &str, text: Option<&String>| match text {
        Some(text) => writeln!(out, "{name}\t{}", escaped(text)),
        None => Ok(()),
    };
    line("title", card.title.as_ref())?;
    let from = card.abstract_from.map(|from| format!("abstract\t{from}"));
    line(&from.unwrap_or_default(), card.lead.as_ref())?;
    line("description", card.description.as_ref())?;
    line("language", card.language.as_ref())?;
    for Keyword { word, from } in &card.keywords {
        line(&format!("keyword\t{from}"), Some(word))?;
    }
    line("links", Some(&card.out_links.to_string()))
}

fn report(looked: &Inspection, url: &PageUrl, rules: &Rules) -> Value {
    let nothing = Page::default();
    let page = looked.page.as_ref().unwrap_or(&nothing);
    let facts = &page.facts;
    let mut report = json!({
        "charset": page.charset.name(),
        "charset_source": page.charset_source.as_str(),
        "mime": looked.mime,
        "kind": looked.kind.map(|kind| kind.as_str()),
        "module": looked.module,
        "bytes": looked.decoded,
        "title": facts.title,
        "description": facts.description,
        "keywords": facts.keywords,
        "robots": facts.robots,
        "canonical": facts.canonical,
        "base": facts.base,
        "sitemap": facts.sitemap.as_ref().map(|map| map.end.as_str()),
        "links": links(page, url, rules),
        "text": facts.text,
    });
    if rules.parse.fields.are_meant_for(url.as_str()) {
        report["extracted"] = if page.extract_skipped { Value::Null } else { json!(page.extracted) };
    }
    report
}

/// A link that has no canonical form is shown as far as it can be resolved.
fn links(page: &Page, url: &PageUrl, rules: &Rules) -> Vec<Value> {
    let base = page.facts.base_url(&url.to_url());
    let shown = |url: Result<PageUrl, UrlError>, href: &str, base: &Url| match url {
        Ok(url) => url.as_str().to_owned(),
        Err(_) => base.join(href).map_or_else(|_| href.to_owned(), String::from),
    };
    let entries = || page.facts.sitemap.iter().flat_map(|map| &map.entries);
    let joiner = rules.canon.joiner_of(entries().map(|entry| entry.loc.as_str()), url.to_url(), Some(page.charset));
    let named = entries().map(|entry| {
        let url = shown(joiner.join(&entry.loc), &entry.loc, joiner.base());
        json!({ "url": url, "kind": entry.kind(), "nofollow": false, "text": entry.said() })
    });
    let head = HeaderDirectives::default();
    let linked = leads(&rules.canon, url, Some(page), &head).map(|lead| {
        let url = shown(lead.url, lead.href, &base);
        json!({ "url": url, "kind": lead.kind, "nofollow": lead.nofollow, "text": lead.text })
    });
    named.chain(linked).collect()
}
