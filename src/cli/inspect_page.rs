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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Layers;

    fn inspect(bytes: &[u8], content_type: Option<&str>) -> Value {
        inspect_by(bytes, content_type, &[])
    }

    fn rules(sets: &[&str]) -> Rules {
        let layers = sets.iter().fold(Layers::new(), |layers, set| layers.set(set).unwrap());
        let mut rules = Rules::new(layers.load().unwrap(), String::new());
        rules.parse.extract.max_text = 1_000;
        rules.parse.extract.card = true;
        rules
    }

    fn inspect_by(bytes: &[u8], content_type: Option<&str>, sets: &[&str]) -> Value {
        let mut out = Vec::new();
        run(bytes.to_vec(), &asked("http://h.test/dir/page.html", content_type), &rules(sets), &mut out).unwrap();
        serde_json::from_slice(&out).unwrap()
    }

    fn asked<'a>(url: &'a str, content_type: Option<&'a str>) -> Asked<'a> {
        Asked { url, content_type, card: false, find: Find::Fill }
    }

    #[test]
    fn the_answer_has_all_keys() {
        let page = "<base href=/b/><title> A  &amp; B</title><meta name=description content=D><meta name=keywords content='x,y'>\
                    <meta name=robots content=noindex><link rel=canonical href=c><a rel=nofollow href='../x#f'>An <b>x</b></a>\
                    <p><a href=ftp://h/>f</a>";
        let want = json!({
            "charset": "UTF-8",
            "charset_source": "guess",
            "mime": "text/html",
            "kind": "html",
            "module": "html",
            "bytes": page.len(),
            "redirect": null,
            "sitemap": null,
            "notes": ["noindex"],
            "title": "A & B",
            "description": "D",
            "keywords": ["x", "y"],
            "robots": { "noindex": true, "nofollow": false, "noarchive": false },
            "canonical": "http://h.test/b/c",
            "base": "http://h.test/b/",
            "links": [
                { "url": "http://h.test/b/c", "kind": "link", "nofollow": false, "text": "" },
                { "url": "http://h.test/x", "kind": "a", "nofollow": true, "text": "An x" },
                { "url": "ftp://h/", "kind": "a", "nofollow": false, "text": "f" },
            ],
            "text": "An x f",
            "card": {
                "title": "A & B",
                "abstract": "D",
                "abstract_from": "description",
                "description": "D",
                "keywords": [],
                "language": null,
                "out_links": 2,
            },
        });
        assert_eq!(inspect(page.as_bytes(), None), want);
    }

    #[test]
    fn what_is_missing_is_null_and_the_charset_is_that_of_the_page() {
        let got = inspect(b"<meta charset=gb2312><a href='?q=\xd6\xd0'>\xd6\xd0\xce\xc4</a>", Some("text/html"));
        assert_eq!(got["charset"], "GBK");
        assert_eq!(got["title"], Value::Null);
        assert_eq!(got["links"][0]["text"], "中文");
        assert_eq!(got["links"][0]["url"], "http://h.test/dir/page.html?q=%D6%D0");
    }

    #[test]
    fn what_is_no_html_has_no_links_and_plain_text_is_its_own_text() {
        let bytes = b"see <a href=/x>x</a>\n";
        let text = inspect(bytes, Some("text/plain"));
        assert_eq!((&text["links"], &text["text"]), (&json!([]), &json!("see <a href=/x>x</a>\n")));
        let other = inspect(bytes, Some("application/pdf"));
        assert_eq!((&other["links"], &other["text"]), (&json!([]), &json!("")));
        assert_eq!(inspect(b"%PDF-1.7 <a href=/x>x</a>", Some("text/html"))["links"], json!([]));
    }

    #[test]
    fn a_relative_url_is_an_error_that_says_what_to_write() {
        let error = run(Vec::new(), &asked("page.html", None), &rules(&[]), &mut Vec::new()).unwrap_err().to_string();
        assert!(error.starts_with("--url page.html: ") && error.contains("https://example.org/"), "{error}");
    }

    #[test]
    fn the_card_of_a_page_is_shown_in_lines() {
        let page = "<html lang=zh><title>狼蛛</title><meta name=keywords content='蜘蛛,\u{9b}毒液'><a href=/x>首页</a>\
                    <p>狼蛛是一类不结网捕食的蜘蛛，靠追逐猎物为生。";
        let lines = |find| {
            let mut out = Vec::new();
            let asked = Asked { card: true, find, ..asked("http://h.test/", None) };
            run(page.as_bytes().to_vec(), &asked, &rules(&[]), &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let head = "title\t狼蛛\nabstract\tcontent\t狼蛛是一类不结网捕食的蜘蛛，靠追逐猎物为生。\nlanguage\tzh\n\
                    keyword\tmeta\t蜘蛛\nkeyword\tmeta\t毒液\n";
        assert_eq!(lines(Find::First), format!("{head}links\t1\n"));
        let filled = lines(Find::Fill);
        assert!(filled.starts_with(&format!("{head}keyword\ttitle\t狼蛛\nkeyword\ttext\t")), "{filled}");
    }

    #[test]
    fn what_is_no_text_has_no_card() {
        assert_eq!(inspect(b"%PDF-1.7", Some("application/pdf"))["card"], Value::Null);
    }

    #[test]
    fn the_settings_of_a_crawl_hold() {
        let page = b"<img srcset='/s.png 2x' src=/i.png><a href=/x?own=1&q=2>x</a><a href=/y>y</a><meta http-equiv=refresh content='0;url=/z'>";
        let urls = |report: &Value| -> Vec<String> {
            report["links"]
                .as_array()
                .unwrap()
                .iter()
                .map(|link| link["url"].as_str().unwrap()[13..].to_owned())
                .collect()
        };
        let plain = inspect(page, None);
        assert_eq!(urls(&plain), ["/x?own=1&q=2", "/y", "/z"]);
        assert_eq!((&plain["redirect"], &plain["notes"]), (&Value::Null, &json!([])));
        let all = inspect_by(page, None, &["parse.assets=true"]);
        assert_eq!(urls(&all)[..2], ["/i.png", "/s.png"]);
        let few = inspect_by(page, None, &["parse.max_links_per_page=1"]);
        assert_eq!((urls(&few).len(), &few["notes"]), (1, &json!(["links_cut"])));
        let behind = [&[b' '; 1_024][..], page].concat();
        let cut = inspect_by(&behind, None, &["parse.max_parse=1KiB"]);
        assert_eq!((urls(&cut).len(), &cut["notes"]), (0, &json!(["parse_cut"])));
    }

    #[test]
    fn a_file_that_was_compressed_is_unpacked_and_every_kind_says_what_reads_it() {
        let packed = |text: &[u8]| {
            let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            gz.write_all(text).unwrap();
            gz.finish().unwrap()
        };
        let page = inspect(&packed(b"<title>T</title><a href=/x>x</a>"), None);
        assert_eq!(
            (&page["title"], &page["module"], &page["notes"]),
            (&"T".into(), &"html".into(), &json!(["decode_extra"]))
        );
        let map = b"<urlset><url><loc>/y</loc><priority>0.8</priority></url></urlset>";
        for bytes in [map.to_vec(), packed(map)] {
            let map = inspect(&bytes, Some("application/xml"));
            assert_eq!(
                (&map["module"], &map["sitemap"], &map["kind"]),
                (&"sitemap".into(), &"done".into(), &"xml".into())
            );
            assert_eq!(
                map["links"],
                json!([{ "url": "http://h.test/y", "kind": "sitemap-entry", "nofollow": false, "text": "priority 0.8" }])
            );
        }
        let pdf = inspect(b"%PDF-1.7", Some("application/pdf"));
        assert_eq!(
            (&pdf["mime"], &pdf["module"], &pdf["kind"]),
            (&"application/pdf".into(), &Value::Null, &"other".into())
        );
    }
}
