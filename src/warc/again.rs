//! What a stored response says, read again as the crawl read it: content codings taken off, then title, text, links, card.

use std::io::Read;

use super::pick::Picked;
use crate::content::html::Page;
use crate::content::mime::{Declared, is_nosniff};
use crate::content::modules::{Body, HeaderDirectives, MimeModules, ParseRules, ROOT_WITHIN, bound};
use crate::document::decoded_as;
use crate::domain::url::{Canonicaliser, PageUrl};

/// How a crawl reads what it is answered.
#[derive(Clone, Debug)]
pub struct Again {
    /// The modules in force.
    pub modules: MimeModules,
    /// What they take out.
    pub rules: ParseRules,
    /// Bytes of a body decoded at most.
    pub max_decoded: u64,
    /// Canonical form of links.
    pub canon: Canonicaliser,
}

impl Again {
    /// The body with its content codings taken off, as far as that goes.
    pub fn document(&self, stored: &Picked) -> Vec<u8> {
        let coding = stored.field_list("content-encoding").unwrap_or_default();
        let content_type = stored.field_list("content-type");
        let mut document = Vec::new();
        // What is read before a fault of the coding is what there is; a body in memory has no other.
        let _ =
            decoded_as(&*stored.body, &coding, content_type.as_deref(), self.max_decoded).read_to_end(&mut document);
        document
    }

    /// What a stored response to `url` says; none when no module reads it.
    pub fn read(&self, stored: &Picked, url: &PageUrl) -> Option<Page> {
        self.page(stored, &self.document(stored), url, false)
    }

    /// What its head says to robots.
    pub fn head(&self, stored: &Picked) -> HeaderDirectives {
        let fields: Vec<_> = stored.fields().into_iter().map(|(name, value)| (name, value.into_bytes())).collect();
        HeaderDirectives::of(&fields, &self.rules.extract.agent_tokens)
    }

    /// What `document`, the body of a stored response to `url`, says; none when no module reads it. `sitemap`: it was found as one.
    pub fn page(&self, stored: &Picked, document: &[u8], url: &PageUrl, sitemap: bool) -> Option<Page> {
        if document.is_empty() {
            return None;
        }
        let at = url.to_url();
        let content_type = stored.field_list("content-type");
        let nosniff = stored.field("x-content-type-options").is_some_and(|value| is_nosniff(&value));
        let declared = Declared { content_type: content_type.as_deref(), nosniff };
        let head = document.get(..ROOT_WITHIN).unwrap_or(document);
        let body = Body::declared(&at, declared, head).found_as_sitemap(sitemap);
        let mut sink = self.modules.of(&body)?.open(&body, &self.rules);
        sink.push(document);
        let mut page = sink.finish();
        bound(&mut page, &self.canon, url, self.rules.extract.max_links);
        Some(page)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::domain::card::Find;
    use crate::warc::reader::WarcHeader;

    #[test]
    fn a_response_is_read_as_it_came_in_its_coding_and_charset() {
        let html = encoding_rs::GBK.encode("<title>蜘蛛</title><p>狼蛛不结网。<a href=x>y</a>").0.into_owned();
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(&html).unwrap();
        let head =
            b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=gbk\r\nContent-Encoding: gzip\r\n\r\n".to_vec();
        let stored = Picked { header: WarcHeader::default(), head, body: packed.finish().unwrap() };
        let mut rules = ParseRules::default();
        rules.extract.card = true;
        let again =
            Again { modules: MimeModules::default(), rules, max_decoded: 1 << 20, canon: Canonicaliser::default() };
        let document = again.document(&stored);
        assert_eq!(document, html);
        let url = PageUrl::from_canonical("http://h.test/").unwrap();
        let page = again.page(&stored, &document, &url, false).unwrap();
        assert_eq!((page.facts.text.as_str(), page.facts.links.len()), ("狼蛛不结网。y", 1));
        assert_eq!(page.facts.card(url.as_str(), Find::Fill).unwrap().title.as_deref(), Some("蜘蛛"));
        assert!(again.page(&stored, b"", &url, false).is_none());
        let picture = Picked {
            header: WarcHeader::default(),
            head: b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n".to_vec(),
            body: Vec::new(),
        };
        assert!(again.page(&picture, b"\x89PNG\r\n\x1a\n", &url, false).is_none());
    }
}
