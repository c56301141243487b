//! Feeds: RSS, RDF, Atom.

use super::xml::{Expected, XmlReader, root_of};
use super::{Body, MimeModule, PageSink, ParseRules};
use crate::content::feed::Collector;
use crate::content::mime::Kind;

/// The module for feeds: whatever begins as one, unless it is declared to be no document.
#[derive(Clone, Copy, Debug, Default)]
pub struct Feed;

impl MimeModule for Feed {
    fn name(&self) -> &'static str {
        "feed"
    }

    fn takes(&self, body: &Body<'_>) -> bool {
        let root = || root_of(body.content_type, body.head);
        matches!(body.kind, Kind::Xml | Kind::Text) && root().is_some_and(|root| Collector::reads(&root))
    }

    fn open(&self, body: &Body<'_>, rules: &ParseRules) -> Box<dyn PageSink> {
        Box::new(XmlReader::new(body, rules, Expected::Xml, false))
    }
}
