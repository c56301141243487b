//! Reads what is stored of a page again, as the crawl read it, and for its card.

use super::{Inspection, Inspector};
use crate::content::modules::{HeaderDirectives, ParseRules};
use crate::crawl::rules::Rules;
use crate::document::Document;
use crate::domain::outcome::Verdict;
use crate::domain::url::PageUrl;
use crate::net::Fetched;
use crate::warc::pick::Picked;

/// Bytes of a document read at a time.
const PIECE: usize = 32 * 1024;

/// Reads stored pages again.
pub struct Saved<'r> {
    rules: &'r Rules,
    parse: ParseRules,
}

impl<'r> Saved<'r> {
    /// By the rules of a crawl.
    pub fn new(rules: &'r Rules) -> Self {
        let mut parse = rules.parse.clone();
        parse.extract.card = true;
        parse.fields = Default::default();
        Self { rules, parse }
    }

    /// What a stored answer of this URL says.
    pub fn look(&self, url: &PageUrl, picked: Picked) -> (Inspection, HeaderDirectives) {
        let headers: Vec<_> = picked.fields().into_iter().map(|(name, value)| (name, value.into_bytes())).collect();
        let head = HeaderDirectives::of(&headers, &self.rules.settings.agent.robots_tokens);
        let fetched = Fetched::saved(200, headers, Document::from_bytes(picked.body));
        let inspector = Inspector { rules: &self.parse, ..self.rules.inspector() };
        let looked = inspector.look((url, false), &fetched, &Verdict::Store, &head, &mut vec![0; PIECE]);
        (looked.bounded(&self.rules.canon, url, self.rules.settings.parse.max_links_per_page), head)
    }
}

#[cfg(feature = "search")]
impl crate::index::Eyes for Saved<'_> {
    fn look(&self, url: &PageUrl, response: Picked) -> Option<crate::index::Look> {
        let (looked, head) = self.look(url, response);
        let page = looked.page?;
        let nofollow = head.directives(Some(&page)).nofollow;
        let sim = looked.shown.and_then(|shown| shown.print).map(|print| print.sim);
        Some(crate::index::Look { page, nofollow, sim })
    }
}
