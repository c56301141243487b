//! From markup to [`PageFacts`].

use url::Url;

use super::facts::PageFacts;

/// What to take from a page and how much of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtractOptions {
    /// Also report images, scripts, style sheets and media.
    pub assets: bool,
    /// No more links than this.
    pub max_links: usize,
    /// No more text than this many bytes.
    pub max_text: usize,
    /// Names of ours that a `<meta name>` may address besides `robots`, for instance `lycosa`.
    pub agent_tokens: Vec<String>,
}

impl Default for ExtractOptions {
    fn default() -> Self {
        Self { assets: false, max_links: 10_000, max_text: 1 << 20, agent_tokens: vec!["lycosa".into()] }
    }
}

/// Takes markup in pieces and collects the facts of the page.
#[derive(Debug)]
pub struct Extractor {
    facts: PageFacts,
}

impl Extractor {
    /// For the page at `page_url`.
    #[must_use]
    pub fn new(_page_url: &Url, _opts: ExtractOptions) -> Self {
        Self { facts: PageFacts::default() }
    }

    /// The next piece of the page, cut anywhere.
    pub fn feed(&mut self, _chunk: &str) {}

    /// The page has ended.
    #[must_use]
    pub fn finish(self) -> PageFacts {
        self.facts
    }
}
