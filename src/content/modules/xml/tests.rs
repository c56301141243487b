//! The case tables of `tests/data/sitemap` and `tests/data/feed`; their form is described there.

use std::fmt::Write as _;
use std::io::Write as _;

use proptest::prelude::*;
use url::Url;

use crate::content::html::{ExtractOptions, LinkKind, Page};
use crate::content::modules::{Body, MimeModule, MimeModules, ParseRules};
use crate::content::sitemap::{End, SitemapLimits};
use crate::domain::cases::unescaped;

const TABLES: [(&str, &str); 3] = [
    ("xml", include_str!("../../../../tests/data/sitemap/xml.txt")),
    ("types", include_str!("../../../../tests/data/sitemap/types.txt")),
    ("feeds", include_str!("../../../../tests/data/feed/feeds.txt")),
];

#[derive(Default)]
struct Case {
    name: String,
    found: bool,
    url: String,
    content_type: String,
    coding: String,
    max: usize,
    max_bytes: u64,
    assets: bool,
    body: Vec<u8>,
    module: Option<String>,
    expected: Vec<String>,
}

impl Case {
    fn new(name: &str, found: bool) -> Self {
        Self {
            name: name.to_owned(),
            found,
            url: "http://h.test/sitemap.xml".into(),
            content_type: "application/xml".into(),
            max: 100,
            max_bytes: 1 << 20,
            ..Self::default()
        }
    }

    /// As it is sent.
    fn bytes(&self) -> Vec<u8> {
        let text = || String::from_utf8(self.body.clone()).unwrap();
        match self.coding.as_str() {
            "gzip" => zipped(&self.body),
            "gzip-cut" => {
                let whole = zipped(&self.body);
                whole[..whole.len() - 8].to_vec()
            }
            "utf-16le" => text().encode_utf16().flat_map(u16::to_le_bytes).collect(),
            "utf-16be" => text().encode_utf16().flat_map(u16::to_be_bytes).collect(),
            _ => self.body.clone(),
        }
    }

    fn rules(&self) -> ParseRules {
        let extract = ExtractOptions { max_links: self.max, assets: self.assets, ..ExtractOptions::default() };
        let sitemaps = SitemapLimits { max_urls: self.max, max_bytes: self.max_bytes };
        ParseRules { extract, sitemaps, ..ParseRules::default() }
    }

    /// Who reads it, and what that gives.
    fn read(&self, bytes: &[u8], pieces: &[usize]) -> (&'static str, Option<Page>) {
        let (modules, url) = (MimeModules::default(), Url::parse(&self.url).unwrap());
        let body = Body::sniffed(&url, Some(&self.content_type), bytes).found_as_sitemap(self.found);
        let Some(module) = modules.of(&body) else { return ("none", None) };
        let mut sink = module.open(&body, &self.rules());
        let mut rest = bytes;
        for size in pieces.iter().cycle() {
            let (piece, later) = rest.split_at((*size).clamp(1, rest.len().max(1)).min(rest.len()));
            rest = later;
            if !sink.push(piece) || rest.is_empty() {
                break;
            }
        }
        (module.name(), Some(sink.finish()))
    }
}

fn zipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// In the words of the tables.
fn told(page: &Page) -> Vec<String> {
    let mut lines = Vec::new();
    for entry in page.facts.sitemap.iter().flat_map(|map| &map.entries) {
        let mut line = format!("{} {}", if entry.file { "file" } else { "entry" }, entry.loc);
        if let Some(lastmod) = entry.lastmod {
            write!(line, " lastmod={}", lastmod.0 / 1_000).unwrap();
        }
        if let Some(priority) = entry.priority {
            write!(line, " priority={priority}").unwrap();
        }
        lines.push(line);
    }
    lines.extend(page.facts.sitemap.iter().map(|map| format!("end {}", map.end.as_str())));
    lines.extend(page.facts.title.iter().map(|title| format!("title {title}")));
    for link in &page.facts.links {
        let text = if link.text.is_empty() { String::new() } else { format!(" | {}", link.text) };
        lines.push(format!("{} {}{text}", if link.kind == LinkKind::Asset { "asset" } else { "feed" }, link.href));
    }
    lines.sort_by_key(|line| line.starts_with("end ")); // wherever it stands in the table
    lines
}

fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for (table, text) in TABLES {
        let mut expecting = false;
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("#case ") {
                cases.push(Case::new(&format!("{table}: {name}"), table != "feeds"));
                expecting = false;
                continue;
            }
            let case = cases.last_mut().unwrap();
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            match word {
                "#expect" => expecting = true,
                "module" => case.module = Some(rest.to_owned()),
                "" => {}
                _ if expecting => case.expected.push(String::from_utf8(unescaped(line)).unwrap()),
                "|" => {
                    if !case.body.is_empty() {
                        case.body.push(b'\n');
                    }
                    case.body.extend(unescaped(rest));
                }
                "found:" => case.found = rest != "no",
                "url:" => case.url = rest.into(),
                "type:" => case.content_type = rest.into(),
                "as:" => case.coding = rest.into(),
                "max:" => case.max = rest.parse().unwrap(),
                "assets:" => case.assets = rest == "yes",
                other => panic!("unknown word `{other}` in case `{}`", case.name),
            }
        }
    }
    for case in &mut cases {
        case.expected.sort_by_key(|line| line.starts_with("end "));
    }
    cases
}

#[test]
fn every_case_of_the_tables_holds_whatever_the_pieces() {
    let cases = cases();
    assert!(cases.len() >= 65, "only {} cases were found", cases.len());
    let mut wrong = String::new();
    for case in &cases {
        let bytes = case.bytes();
        for size in [1, 7, 1 << 20] {
            let (module, page) = case.read(&bytes, &[size]);
            let module_is_right = case.module.as_deref().is_none_or(|wanted| wanted == module);
            let found = match module {
                "sitemap" | "feed" | "json-feed" => page.as_ref().map(told).unwrap_or_default(),
                _ => Vec::new(),
            };
            if !module_is_right || found != case.expected {
                let want = (&case.module, &case.expected);
                writeln!(wrong, "{} in pieces of {size}: {module} {found:#?}, should be {want:#?}", case.name).unwrap();
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

proptest! {
    #[test]
    fn a_damaged_document_says_the_same_whatever_the_pieces(
        which: prop::sample::Index,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        pieces in prop::collection::vec(1_usize..60, 1..8),
        cut: prop::sample::Index,
    ) {
        let cases = cases();
        let case = which.get(&cases);
        let mut body = case.body.clone();
        body.truncate(5_000);
        for (place, byte) in &damage {
            if body.is_empty() {
                break;
            }
            let place = place.index(body.len());
            body[place] = b"<>&;/![]-\"'= \n\xef\x00ax"[usize::from(*byte) % 18];
        }
        let keep = cut.index(body.len() + 1);
        body.truncate(if keep % 3 == 0 { keep } else { body.len() });
        let (_, whole) = case.read(&body, &[usize::MAX]);
        let (_, apart) = case.read(&body, &pieces);
        prop_assert_eq!(whole.as_ref().map(told), apart.as_ref().map(told));
    }
}

fn sitemap_case() -> Case {
    Case { max: 50_000, ..Case::new("made", true) }
}

#[test]
fn of_more_than_fifty_thousand_addresses_the_rest_is_cut() {
    let mut body = String::from("<urlset>");
    for n in 0..50_001 {
        write!(body, "<url><loc>http://h.test/{n}</loc></url>").unwrap();
    }
    let case = Case { max_bytes: 50 << 20, ..sitemap_case() };
    let map = case.read(body.as_bytes(), &[usize::MAX]).1.unwrap().facts.sitemap.unwrap();
    assert_eq!((map.entries.len(), map.end), (50_000, End::Cut));
    assert_eq!(map.entries.last().unwrap().loc, "http://h.test/49999");
}

#[test]
fn no_more_bytes_are_read_than_wanted_also_of_a_bomb() {
    let mut body = b"<urlset><url><loc>http://h.test/a</loc></url>".to_vec();
    body.resize(60 << 20, b' ');
    let zipped = zipped(&body);
    assert!(zipped.len() < 1 << 20);
    let case = Case { coding: "gzip".into(), ..sitemap_case() };
    for bytes in [&zipped, &body] {
        let (_, page) = case.read(bytes, &[32 << 10]);
        let page = page.unwrap();
        assert_eq!((page.bytes, page.cut), (1 << 20, true));
        let map = page.facts.sitemap.unwrap();
        assert_eq!((map.entries.len(), map.end), (1, End::Cut));
    }
}

#[test]
fn a_tag_beyond_all_bounds_ends_the_document_and_what_came_before_counts_but_a_text_is_skipped() {
    let first = "<urlset><url><loc>http://h.test/a</loc></url>";
    let (long, end) = ("x".repeat(super::pump::MAX_TOKEN), "<url><loc>http://h.test/b</loc></url></urlset>");
    let tag = format!("<a b=\"{long}\"/>");
    for token in [&tag, &format!("<!--{long}-->"), &format!("{long}y"), &format!("<![CDATA[{long}]]>")] {
        for (pieces, closed) in [(32 << 10, true), (usize::MAX, true), (32 << 10, false)] {
            let body = if closed { format!("{first}{token}{end}") } else { format!("{first}{token}") };
            let case = Case { max_bytes: 50 << 20, ..sitemap_case() };
            let url = Url::parse(&case.url).unwrap();
            let head = Body::sniffed(&url, Some("text/xml"), body.as_bytes());
            let mut sink = crate::content::modules::Sitemap.open(&head, &case.rules());
            let wanted = body.as_bytes().chunks(pieces.min(body.len())).all(|piece| sink.push(piece));
            let map = sink.finish().facts.sitemap.unwrap();
            let expected = match (*token == tag, closed) {
                (true, _) => (1, false, End::Malformed),
                (false, true) => (2, true, End::Done),
                (false, false) => (1, true, End::Cut),
            };
            assert_eq!((map.entries.len(), wanted, map.end), expected, "{} {pieces} {closed}", &token[..5]);
        }
    }
}

#[test]
fn a_million_elements_inside_each_other_take_bounded_room() {
    let body = format!("<urlset>{}", "<url>".repeat(1_000_000 / 5));
    let (_, page) = sitemap_case().read(body.as_bytes(), &[32 << 10]);
    assert_eq!(page.unwrap().facts.sitemap.unwrap().end, End::Cut);
}

#[test]
fn a_feed_is_known_by_its_root_behind_long_remarks_and_gives_the_pages_that_entries_consist_of() {
    let read = |content_type: &str, body: &str| {
        let url = Url::parse("http://h.test/f").unwrap();
        let head = Body::sniffed(&url, Some(content_type), body.as_bytes());
        let mut sink =
            crate::content::modules::MimeModules::default().of(&head).unwrap().open(&head, &ParseRules::default());
        sink.push(body.as_bytes());
        sink.finish().facts.links.iter().map(|link| link.href.clone()).collect::<Vec<_>>()
    };
    let item = "<channel><item><link>http://h.test/1</link></item></channel></rss>";
    for remarks in [5_000, 30_000] {
        let body = format!("<?xml version='1.0'?><!--{}--><rss>{item}", "x".repeat(remarks));
        assert_eq!(read("application/rss+xml", &body), ["http://h.test/1"], "{remarks}");
    }
    let entry =
        |of: &str| format!("<feed xmlns='http://www.w3.org/2005/Atom'><entry><content {of} src='/a'/></entry></feed>");
    assert_eq!(read("application/atom+xml", &entry("type='text/html'")), ["/a"], "RFC 4287, 4.1.3.2");
    assert_eq!(read("application/atom+xml", &entry("type='image/png'")), [""; 0]);
}
