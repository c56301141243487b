//! JSON Feed.

use super::{Body, MimeModule, PageSink, ParseRules};
use crate::content::charset::TextStream;
use crate::content::feed::{Feed, FeedLimits};
use crate::content::html::{Page, PageFacts};
use crate::content::json_feed;
use crate::content::mime::essence;

/// The longest feed, in bytes; it is read at its end, and what lies beyond is not read.
const LONGEST: u64 = 16 << 20;

/// The module for JSON Feed: whatever begins as one.
#[derive(Clone, Copy, Debug, Default)]
pub struct JsonFeed;

impl MimeModule for JsonFeed {
    fn name(&self) -> &'static str {
        "json-feed"
    }

    fn lists_urls(&self) -> bool {
        true
    }

    fn takes(&self, body: &Body<'_>) -> bool {
        let typed = essence(body.content_type.unwrap_or_default()) == "application/feed+json";
        json_feed::begins_as_json_feed(body.head, typed)
    }

    fn open(&self, body: &Body<'_>, rules: &ParseRules) -> Box<dyn PageSink> {
        // JSON is UTF-8 whatever its type says (RFC 8259, 8.1).
        let stream =
            TextStream::new(Some("application/json; charset=utf-8"), body.url, rules.sitemaps.max_bytes.min(LONGEST));
        let limits = FeedLimits { max_links: rules.extract.max_links, assets: rules.extract.assets };
        Box::new(Reader { stream, text: String::new(), limits })
    }
}

struct Reader {
    stream: TextStream,
    text: String,
    limits: FeedLimits,
}

impl PageSink for Reader {
    fn push(&mut self, bytes: &[u8]) -> bool {
        self.stream.push(bytes, |piece| self.text.push_str(piece))
    }

    fn finish(mut self: Box<Self>) -> Page {
        let decoded = self.stream.finish(|piece| self.text.push_str(piece));
        let Feed { title, links, cut } = json_feed::read(&self.text, self.limits);
        Page::of(PageFacts { title, links, links_cut: cut, ..PageFacts::default() }, decoded)
    }
}
