//! HTML and XHTML.

use super::fields::FieldsReader;
use super::{Body, MimeModule, PageSink, ParseRules};
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
            return Box::new(FieldsReader::new(reader, body.url, rules));
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
