//! The modules in force.

use std::fmt;
use std::sync::Arc;

use super::{Body, Feed, Html, JsonFeed, MimeModule, ParseRules, Sitemap, Text};
use crate::content::html::Page;

/// MIME modules; of several that take a body the one added last reads it.
#[derive(Clone)]
pub struct MimeModules {
    modules: Vec<Arc<dyn MimeModule>>,
}

/// HTML, plain text, feeds, sitemaps.
impl Default for MimeModules {
    fn default() -> Self {
        Self { modules: vec![Arc::new(Text), Arc::new(Html), Arc::new(JsonFeed), Arc::new(Feed), Arc::new(Sitemap)] }
    }
}

impl fmt::Debug for MimeModules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.modules.iter().map(|m| m.name())).finish()
    }
}

impl MimeModules {
    /// With one more, which is asked first.
    #[must_use]
    pub fn with(mut self, module: Arc<dyn MimeModule>) -> Self {
        self.modules.push(module);
        self
    }

    /// The module that reads this body, if one does.
    pub fn of(&self, body: &Body<'_>) -> Option<&dyn MimeModule> {
        self.modules.iter().rev().find(|m| m.takes(body)).map(|m| &**m)
    }

    /// Reads a body whose `head` is the whole of it; `None` when no module takes it.
    pub fn read(&self, whole: &Body<'_>, rules: &ParseRules) -> Option<Page> {
        let mut sink = self.of(whole)?.open(whole, rules);
        sink.push(whole.head);
        Some(sink.finish())
    }
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::super::PageSink;
    use super::*;

    /// Takes pages of one path only, and reads them as HTML.
    struct Special;

    impl MimeModule for Special {
        fn name(&self) -> &'static str {
            "special"
        }

        fn takes(&self, body: &Body<'_>) -> bool {
            body.url.path() == "/special"
        }

        fn open(&self, body: &Body<'_>, rules: &ParseRules) -> Box<dyn PageSink> {
            Html.open(body, rules)
        }
    }

    fn name(modules: &MimeModules, path: &str, content_type: &str) -> Option<&'static str> {
        let url = Url::parse("http://h.test").unwrap().join(path).unwrap();
        modules.of(&Body::sniffed(&url, Some(content_type), b"")).map(MimeModule::name)
    }

    #[test]
    fn a_body_is_read_by_the_module_that_was_added_last_of_those_that_take_it() {
        let standard = MimeModules::default();
        let own = standard.clone().with(Arc::new(Special));
        for (modules, path, content_type, wanted) in [
            (&standard, "/special", "text/html", Some("html")),
            (&standard, "/", "application/xhtml+xml", Some("html")),
            (&standard, "/", "text/plain", Some("text")),
            (&standard, "/", "application/pdf", None),
            (&own, "/special", "application/pdf", Some("special")),
            (&own, "/", "text/html", Some("html")),
        ] {
            assert_eq!(name(modules, path, content_type), wanted, "{path} {content_type}");
        }
    }

    #[test]
    fn a_module_of_ones_own_reads_what_it_takes() {
        let url = Url::parse("http://h.test/special").unwrap();
        let body = Body::sniffed(&url, Some("application/x-own"), b"<a href=x>");
        let modules = MimeModules::default().with(Arc::new(Special));
        let rules = ParseRules::default();
        assert_eq!(modules.read(&body, &rules).unwrap().facts.links.len(), 1);
    }
}
