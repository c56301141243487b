//! A naive crawler that knows nothing of the shape: it fetches, parses, follows.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use url::Url;

use super::client::{Response, get};
use crate::domain::robots::RobotsRules;
use crate::domain::scope::{Scope, ScopeMode, ScopeRules};
use crate::domain::url::{Canonicaliser, CleanRules, PageUrl};
use crate::testweb::{TestWeb, TruthQuery, TruthScope};

/// What a page says, however it was parsed.
#[derive(Debug, Default)]
pub struct Seen {
    pub base: Option<String>,
    /// Address and whether it is nofollow.
    pub links: Vec<(String, bool)>,
    pub nofollow: bool,
    pub encoding: Option<&'static encoding_rs::Encoding>,
}

/// Reads a page: its URL, content type and bytes.
pub type Reader = fn(&Url, &str, &[u8]) -> Seen;

/// The URLs fetched from the start page, robots.txt apart.
pub fn walk(web: &TestWeb, query: &TruthQuery, reader: Reader) -> BTreeSet<String> {
    let canonical = Canonicaliser::new(CleanRules::default());
    let start = canonical.parse(&web.start_url()).unwrap();
    let mode = match query.scope {
        TruthScope::Hosts => ScopeMode::Hosts,
        TruthScope::Domains => ScopeMode::Domains,
        TruthScope::Any => ScopeMode::Any,
    };
    let rules = ScopeRules { mode, max_depth: query.depth, ..ScopeRules::default() };
    let mut scope = Scope::new(rules, std::slice::from_ref(&start)).unwrap();
    if let Some(location) = get(web.addr(), "h0.test", "/").header("location") {
        // A seed's redirect joins the scope.
        scope.join_host(canonical.join(&start.to_url(), location, None).unwrap().host());
    }
    let mut walker = Walker { web, canonical, scope, robots: BTreeMap::new(), best: BTreeMap::new(), reader };
    let mut queue = VecDeque::from([(start, 0u16, 0u16)]);
    let mut fetched = BTreeSet::new();
    while let Some((url, depth, hops)) = queue.pop_front() {
        if !walker.wants(&url, depth, hops, query.max_redirects) {
            continue;
        }
        let response = walker.fetch(&url);
        fetched.insert(url.to_string());
        match response.header("location") {
            Some(location) => {
                let to = walker.canonical.join(&url.to_url(), location, None).unwrap();
                queue.push_front((to, depth, hops + 1));
            }
            None if response.status == 200 => {
                queue.extend(walker.links(&url, &response).into_iter().map(|to| (to, depth + 1, 0)));
            }
            None => {}
        }
    }
    fetched
}

struct Walker<'a> {
    web: &'a TestWeb,
    canonical: Canonicaliser,
    scope: Scope,
    robots: BTreeMap<String, RobotsRules>,
    /// Depth at which a URL was fetched.
    best: BTreeMap<String, u16>,
    reader: Reader,
}

impl Walker<'_> {
    fn wants(&mut self, url: &PageUrl, depth: u16, hops: u16, max_redirects: u16) -> bool {
        let better = self.best.get(url.as_str()).is_none_or(|known| depth < *known);
        let wanted = better
            && hops <= max_redirects
            && self.scope.judge(url, depth).is_ok()
            && self.robots_of(url.host()).allows(url.tail());
        if wanted {
            self.best.insert(url.to_string(), depth);
        }
        wanted
    }

    fn robots_of(&mut self, host: &str) -> &RobotsRules {
        let web = self.web;
        self.robots.entry(host.to_owned()).or_insert_with(|| {
            let mut response = get(web.addr(), host, "/robots.txt");
            if let Some(location) = response.header("location").map(str::to_owned) {
                response = get(web.addr(), host, &location);
            }
            match response.status {
                200 => RobotsRules::parse(&response.body, &["Lycosa"]),
                400..500 => RobotsRules::allow_all(),
                _ => RobotsRules::disallow_all(),
            }
        })
    }

    /// Three tries, as flaky pages need.
    fn fetch(&self, url: &PageUrl) -> Response {
        let mut response = Response::default();
        for _ in 0..3 {
            response = get(self.web.addr(), url.host(), url.tail());
            if response.status < 500 {
                break;
            }
        }
        response
    }

    fn links(&self, url: &PageUrl, response: &Response) -> Vec<PageUrl> {
        let content_type = response.header("content-type").unwrap_or_default();
        if !content_type.starts_with("text/html") {
            return Vec::new();
        }
        let page = url.to_url();
        let seen = (self.reader)(&page, content_type, &response.body);
        if seen.nofollow || response.header("x-robots-tag").is_some_and(|tag| tag.contains("nofollow")) {
            return Vec::new();
        }
        let base = seen.base.as_deref().map_or_else(|| page.clone(), |base| page.join(base).unwrap());
        let followed = seen.links.iter().filter(|(_, nofollow)| !nofollow);
        followed.filter_map(|(href, _)| self.canonical.join(&base, href, seen.encoding).ok()).collect()
    }
}

/// A reader by the `select` crate (html5ever's tree): independent of this project's own tokenizer.
pub fn by_select(_page: &Url, content_type: &str, bytes: &[u8]) -> Seen {
    use select::document::Document;
    use select::predicate::Name;
    let utf8 = content_type.contains("utf-8");
    let encoding = if utf8 { encoding_rs::UTF_8 } else { encoding_rs::GBK };
    let (text, _, faulty) = encoding.decode(bytes);
    assert!(!faulty, "a page is well encoded");
    let document = Document::from(text.as_ref());
    let mut seen = Seen { encoding: Some(encoding), ..Seen::default() };
    seen.base = document.find(Name("base")).find_map(|node| node.attr("href")).map(str::to_owned);
    for (element, attribute) in [("a", "href"), ("area", "href"), ("iframe", "src"), ("link", "href")] {
        for node in document.find(Name(element)) {
            let rel = node.attr("rel").unwrap_or_default().to_ascii_lowercase();
            if element == "link" && !matches!(rel.as_str(), "next" | "canonical") {
                continue;
            }
            let href = node.attr(attribute).unwrap_or_default().trim();
            let worth = !href.is_empty() && !href.starts_with('#');
            seen.links.extend(worth.then(|| (href.to_owned(), rel.contains("nofollow"))));
        }
    }
    for node in document.find(Name("meta")) {
        let content = node.attr("content").unwrap_or_default();
        if node.attr("http-equiv") == Some("refresh") {
            seen.links.push((content.split_once("url=").unwrap().1.to_owned(), false));
        }
        if node.attr("name").is_some_and(|name| name.eq_ignore_ascii_case("robots")) {
            let content = content.to_ascii_lowercase();
            seen.nofollow |= content.contains("nofollow") || content.contains("none");
        }
    }
    seen
}

/// A reader by this project's own charset detection, tokenizer and extractor.
pub fn by_lycosa(page: &Url, content_type: &str, bytes: &[u8]) -> Seen {
    use crate::content::html::{ExtractOptions, PageReader};
    let mut reader = PageReader::new(Some(content_type), page, ExtractOptions::default(), 10 << 20);
    for piece in bytes.chunks(1_000) {
        assert!(reader.push(piece));
    }
    let read = reader.finish();
    Seen {
        base: Some(read.facts.base_url(page).to_string()),
        links: read.facts.links.iter().map(|link| (link.href.clone(), link.nofollow)).collect(),
        nofollow: read.facts.robots.nofollow,
        encoding: Some(read.charset),
    }
}
