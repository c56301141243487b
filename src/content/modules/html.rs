//! HTML and XHTML. A page whose values are wanted by name is kept whole beside its reader, and read into a tree at its end.

use std::sync::Arc;

use super::{Body, MimeModule, PageSink, ParseRules};
use crate::content::extract::{ExtractRules, tree};
use crate::content::html::{Page, PageReader};
use crate::content::mime::Kind;

/// The module for HTML and XHTML.
#[derive(Clone, Copy, Debug, Default)]
pub struct Html;

impl MimeModule for Html {
    fn name(&self) -> &'static str {
        "html"
    }

    fn takes(&self, body: &Body<'_>) -> bool {
        matches!(body.kind, Kind::Html | Kind::Xhtml)
    }

    fn open(&self, body: &Body<'_>, rules: &ParseRules) -> Box<dyn PageSink> {
        let extract = rules.extract.clone();
        let reader = PageReader::of_kind(body.kind, body.content_type, body.url, extract, rules.max_parse);
        if rules.fields.are_meant_for(body.url.as_str()) {
            let (url, rules, max) = (body.url.as_str().into(), rules.fields.clone(), rules.max_extract);
            return Box::new(FieldsReader { reader, wanted: true, bytes: Vec::new(), whole: true, url, rules, max });
        }
        Box::new(reader)
    }
}

impl PageSink for PageReader {
    fn push(&mut self, bytes: &[u8]) -> bool {
        Self::push(self, bytes)
    }

    fn finish(self: Box<Self>) -> Page {
        Self::finish(*self)
    }
}

/// Keeps at most `parse.max_extract` bytes.
struct FieldsReader {
    reader: PageReader,
    wanted: bool,
    bytes: Vec<u8>,
    whole: bool,
    url: Box<str>,
    rules: Arc<ExtractRules>,
    max: u64,
}

impl PageSink for FieldsReader {
    fn push(&mut self, bytes: &[u8]) -> bool {
        self.wanted = self.wanted && self.reader.push(bytes);
        self.whole = self.whole && self.bytes.len() as u64 + bytes.len() as u64 <= self.max;
        if self.whole {
            self.bytes.extend_from_slice(bytes);
        } else {
            self.bytes = Vec::new();
        }
        self.wanted || self.whole
    }

    fn finish(self: Box<Self>) -> Page {
        let Self { reader, bytes, whole, url, rules, .. } = *self;
        let page = reader.finish();
        if !whole {
            return Page { extract_skipped: true, ..page };
        }
        let text = page.charset.decode(&bytes).0;
        match tree(&text) {
            Ok(tree) => {
                let found = rules.on(&url, &tree);
                Page { extracted: found.values, extract_skipped: !found.whole, ..page }
            }
            Err(why) => {
                log::debug!("no values taken from a page: url={url} why={why}");
                Page { extract_skipped: true, ..page }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::super::MimeModules;
    use super::*;
    use crate::content::extract::{ExtractRule, Extracted};

    fn page(html: &[u8], max_extract: u64) -> Page {
        let url = Url::parse("http://a.test/x").unwrap();
        let rule = ExtractRule::new("title", "h1", "text", false, &[]).unwrap();
        let rules =
            ParseRules { fields: Arc::new(ExtractRules::new(vec![rule])), max_extract, ..ParseRules::default() };
        MimeModules::default().read(&Body::sniffed(&url, Some("text/html; charset=gbk"), html), &rules).unwrap()
    }

    #[test]
    fn values_are_taken_in_the_encoding_of_the_page_and_links_as_ever() {
        let page = page(b"<h1>\xd6\xd0\xce\xc4</h1><a href=x>y</a>", 1_000);
        assert_eq!(page.extracted.get("title"), Some(&Extracted::One("\u{4e2d}\u{6587}".into())));
        assert!(!page.extract_skipped && page.facts.links.len() == 1);
    }

    #[test]
    fn a_page_too_large_or_too_deep_has_its_links_and_no_values() {
        for (html, max) in
            [("<h1>x</h1><a href=x>y</a>".repeat(10), 100), ("<div>".repeat(1_000) + "<a href=x>y</a>", 1 << 20)]
        {
            let page = page(html.as_bytes(), max);
            assert!(page.extracted.is_empty() && page.extract_skipped && !page.facts.links.is_empty());
        }
    }
}
