//! `lycosa inspect page FILE --url URL [--content-type T]`: what the crawler sees in one page, as JSON.

use std::io::{self, Write};
use std::sync::Arc;

use encoding_rs::Encoding;
use serde_json::{Value, json};
use url::Url;

use crate::domain::extract::ExtractRules;
use crate::domain::html::{Link, Page};
use crate::domain::url::{Canonicaliser, CleanRules};
use crate::parse::{Body, HeadMarks, MimeModule, MimeModules, ParseRules};

/// Why the command could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum InspectPageError {
    /// The page's URL is no absolute URL.
    #[error("--url {url}: {fault}; write the URL the page came from, such as https://example.org/dir/page.html")]
    Url {
        /// As the user wrote it.
        url: String,
        /// What is wrong with it.
        fault: url::ParseError,
    },
    /// The output took no more.
    #[error("writing the answer: {0}")]
    Output(#[from] io::Error),
}

/// Writes one JSON object about the page `bytes` that came from `url` as `content_type`.
///
/// Keys: `charset` (WHATWG name), `charset_source` (`bom`, `header`, `meta`, `xml`, `guess`), `kind` and `module` (what it is taken
/// for and what reads it, or null), `notes` (as in a crawl), `title`, `description` (or null), `keywords` (list), `robots` (`noindex`, `nofollow`,
/// `noarchive`), `canonical`, `base` (absolute, or null), `links` (in document order; `url` is absolute and in canonical form
/// under the default cleaning rules, `kind`, `nofollow`, `text`), `text`. As in a
/// crawl a body that is no HTML, by the type given and its first bytes, has no links; of plain text `text` is the text.
/// Without a type it is taken for HTML. With rules in `fields` also `extracted`: what they find, by name, or null when the page is too
/// large or too deep for them.
///
/// # Errors
/// A `url` that is not absolute, or an output that fails.
pub fn run(
    bytes: &[u8],
    url: &str,
    content_type: Option<&str>,
    fields: Arc<ExtractRules>,
    out: &mut dyn Write,
) -> Result<(), InspectPageError> {
    let url = Url::parse(url).map_err(|fault| InspectPageError::Url { url: url.into(), fault })?;
    let content_type = content_type.or(Some("text/html"));
    let body = Body::sniffed(&url, content_type, bytes);
    let rules = ParseRules { fields, ..ParseRules::default() };
    let modules = MimeModules::default();
    let page = modules.read(&body, &rules);
    let notes: Vec<&str> = HeadMarks::default().notes(page.as_ref()).iter().map(|note| note.as_str()).collect();
    let mut report = report(&page.unwrap_or_default(), &url, rules.fields.are_meant_for(url.as_str()));
    report["kind"] = body.kind.as_str().into();
    report["module"] = modules.of(&body).map(MimeModule::name).into();
    report["notes"] = notes.into();
    serde_json::to_writer_pretty(&mut *out, &report).map_err(io::Error::from)?;
    writeln!(out)?;
    Ok(())
}

fn report(page: &Page, url: &Url, wanted: bool) -> Value {
    let facts = &page.facts;
    let base = facts.base_url(url);
    let canonicaliser = Canonicaliser::new(CleanRules::default());
    let links: Vec<Value> =
        facts.links.iter().map(|link| link_report(link, &base, page.charset, &canonicaliser)).collect();
    let mut report = json!({
        "charset": page.charset.name(),
        "charset_source": page.charset_source.as_str(),
        "title": facts.title,
        "description": facts.description,
        "keywords": facts.keywords,
        "robots": facts.robots,
        "canonical": facts.canonical,
        "base": facts.base,
        "links": links,
        "text": facts.text,
    });
    if wanted {
        report["extracted"] = if page.extract_skipped { Value::Null } else { json!(page.extracted) };
    }
    report
}

/// A link that has no canonical form is shown as far as it can be resolved.
fn link_report(link: &Link, base: &Url, charset: &'static Encoding, canonicaliser: &Canonicaliser) -> Value {
    let url = match canonicaliser.join(base, &link.href, Some(charset)) {
        Ok(url) => url.as_str().to_owned(),
        Err(_) => base.join(&link.href).map_or_else(|_| link.href.clone(), String::from),
    };
    json!({ "url": url, "kind": link.kind, "nofollow": link.nofollow, "text": link.text })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inspect(bytes: &[u8], content_type: Option<&str>) -> Value {
        let mut out = Vec::new();
        run(bytes, "http://h.test/dir/page.html", content_type, Arc::default(), &mut out).unwrap();
        serde_json::from_slice(&out).unwrap()
    }

    #[test]
    fn the_answer_has_all_keys() {
        let page = "<base href=/b/><title> A  &amp; B</title><meta name=description content=D><meta name=keywords content='x,y'>\
                    <meta name=robots content=noindex><link rel=canonical href=c><a rel=nofollow href='../x#f'>An <b>x</b></a>\
                    <p><a href=ftp://h/>f</a>";
        let want = json!({
            "charset": "UTF-8",
            "charset_source": "guess",
            "kind": "html",
            "module": "html",
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
        let error = run(b"", "page.html", None, Arc::default(), &mut Vec::new()).unwrap_err().to_string();
        assert!(error.starts_with("--url page.html: ") && error.contains("https://example.org/"), "{error}");
    }
}
