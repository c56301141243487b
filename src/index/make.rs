//! Makes the document of a page: its tokens by field, its links, its card.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use serde::Serialize;
use xxhash_rust::xxh3::xxh3_64;

use super::entry::Entry;
use crate::content::html::Page;
use crate::content::modules::{HeaderDirectives, leads};
use crate::domain::card::{Block, Card, Find};
use crate::domain::fingerprint::{Fingerprinter, UrlKey};
use crate::domain::host::registrable_domain;
use crate::domain::text::cut_at;
use crate::domain::url::{Canonicaliser, PageUrl};
use crate::domain::words::{BLOCK_GAP, Kind, Stem, Token, TokenList, form, ranges, ranked, subtag, tag, tokens};
use crate::storage::newest::{Newest, id};
use crate::storage::values::PageRecord;
use crate::warc::again::Again;
use crate::warc::pick::Picked;

/// Tokens of a page's text that are taken in.
pub const MOST_TOKENS: usize = 50_000;
/// Bytes of a card as it is kept.
const CARD: usize = 4_096;

/// A page as it was read again from the archive.
pub struct Look {
    /// What it says.
    pub page: Page,
    /// Head or page say that its links are not to be followed.
    pub nofollow: bool,
    /// What its text is like.
    pub sim: Option<u64>,
}

impl Look {
    /// Of a stored answer to `url`; none when no module reads documents of its kind.
    pub fn of(again: &Again, url: &PageUrl, stored: &Picked) -> Option<Self> {
        let page = again.read(stored, url)?;
        let nofollow = again.head(stored).directives(Some(&page)).nofollow;
        let sim = page.facts.shown.print.map(|print| print.sim);
        Some(Self { page, nofollow, sim })
    }
}

/// How documents are made.
#[derive(Clone, Copy, Debug)]
pub struct Making<'r> {
    /// Canonical form of links.
    pub canon: &'r Canonicaliser,
    /// Keys of links.
    pub prints: &'r Fingerprinter,
    /// Bytes of text that are taken in.
    pub max_text: usize,
    /// How keywords are found.
    pub keywords: Find,
}

/// What is kept of a page for whoever finds it: its card, with what belongs to the capture.
#[derive(Serialize)]
struct Kept<'a> {
    url: &'a str,
    /// Milliseconds since 1970.
    captured: u64,
    status: u16,
    mime: &'a str,
    /// Not all of its text was taken in.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    text_cut: bool,
    /// It could not be read again: only title and URL are known.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unread: bool,
    #[serde(flatten)]
    card: &'a Card,
}

impl Making<'_> {
    /// The document of a page as it was read; none when there is no text in it. `seq`: the entry of the feed.
    pub fn page(&self, newest: &Newest, url: &PageUrl, seq: u64, look: &Look) -> Option<Entry> {
        let card = look.page.facts.card(url.as_str(), self.keywords)?;
        let kept_for = look.page.facts.for_card.as_deref();
        let blocks = kept_for.map(|kept| &*kept.blocks).unwrap_or_default();
        let mut entry = self.known(newest, url, seq, &card);
        let declared = kept_for.and_then(|kept| tag(kept.language.as_deref()?));
        entry.lang_kinds = declared.iter().flat_map(|declared| ranges(declared)).skip(1).collect();
        if declared.as_deref().and_then(subtag) != entry.lang {
            entry.lang_kinds.clear(); // its text is in another
        }
        let text_cut = self.texts(&mut entry, blocks, card.language.as_deref()) || look.page.facts.text_cut;
        if !look.nofollow {
            self.links(&mut entry, url, &look.page);
        }
        entry.out_links = card.out_links;
        entry.simhash = look.sim;
        entry.card = kept(newest, url, text_cut, false, card);
        Some(entry)
    }

    /// The document of a page whose bytes cannot be had: what is known without them.
    pub fn unread(&self, newest: &Newest, url: &PageUrl, seq: u64) -> Entry {
        let card = Card { title: newest.page.title.clone(), out_links: newest.page.out_links, ..Card::default() };
        let mut entry = self.known(newest, url, seq, &card);
        entry.out_links = newest.page.out_links;
        entry.card = kept(newest, url, false, true, card);
        entry
    }

    /// What does not hang on the text.
    fn known(&self, newest: &Newest, url: &PageUrl, seq: u64, card: &Card) -> Entry {
        let Newest { key, page, changed, stale, .. } = newest;
        let listed = |texts: &[&str]| {
            let mut list = Texts::new(usize::MAX);
            texts.iter().for_each(|text| list.add(text));
            list.tokens
        };
        let words = url.as_str().split_once("://").map_or(url.as_str(), |(_, rest)| rest);
        let words = percent_encoding::percent_decode_str(words).decode_utf8_lossy();
        let keys: Vec<&str> = card.keywords.iter().map(|keyword| &*keyword.word).collect();
        Entry {
            id: id(*key),
            host: url.host().to_owned(),
            site: registrable_domain(url.host()).to_owned(),
            title: listed(card.title.as_deref().as_slice()),
            keys: listed(&keys),
            url: listed(&[&words]),
            descr: listed(card.description.as_deref().as_slice()),
            own: link_key(key.url),
            seq,
            captured: page.fetched.0,
            changed: changed.0,
            depth: page.depth,
            content: page.content.and_then(|digest| digest.0.first_chunk().copied()).map_or(0, u64::from_be_bytes),
            near: near_mark(page),
            status: if page.status == 304 { 200 } else { page.status },
            stale: *stale,
            lang: card.language.clone(),
            mime: page.mime.clone().unwrap_or_default(),
            ..Entry::default()
        }
    }

    /// Tokens of headings and text, words and stems; true when not all was taken in.
    fn texts(&self, entry: &mut Entry, blocks: &[Block], language: Option<&str>) -> bool {
        let mut stems = language.and_then(Stem::of).map(Stems::new);
        let (mut heads, mut text) = (Texts::new(MOST_TOKENS), Texts::new(MOST_TOKENS));
        let mut left = self.max_text;
        let bytes = blocks.iter().map(|block| block.text.len()).fold(0, usize::saturating_add).min(left);
        text.tokens.reserve(bytes + bytes / 4);
        for block in blocks {
            if left == 0 || text.full() {
                return finished(entry, heads, text, true);
            }
            let cut = cut_at(&block.text, left);
            left = if cut.len() < block.text.len() { 0 } else { left - cut.len() };
            let formed = form(cut);
            text.add_formed(&formed, |token| stems.iter_mut().for_each(|stems| stems.add(token, &mut entry.stems)));
            if block.heading {
                heads.add_formed(&formed, |_| {});
            }
            ranked(&formed, |word| {
                if entry.words.len() < MOST_TOKENS {
                    entry.words.push(word, 0);
                }
            });
        }
        let cut = left == 0 || text.full();
        finished(entry, heads, text, cut)
    }

    /// Where it links to without nofollow, as [`Card::out_links`] counts links, each target once, and itself never.
    fn links(&self, entry: &mut Entry, url: &PageUrl, page: &Page) {
        let head = HeaderDirectives::default();
        for lead in leads(self.canon, url, Some(page), &head) {
            let Ok(target) = lead.url else { continue };
            if lead.nofollow || !lead.kind.leads() || target == *url {
                continue;
            }
            let key = link_key(self.prints.url(&target));
            entry.links.push(key);
            if registrable_domain(target.host()) != entry.site {
                entry.links_ext.push(key);
            }
        }
        for links in [&mut entry.links, &mut entry.links_ext] {
            links.sort_unstable();
            links.dedup();
        }
    }
}

/// As what the target of a link stands in the index.
pub fn link_key(url: UrlKey) -> u64 {
    url.0.first_chunk().copied().map_or(0, u64::from_be_bytes)
}

fn finished(entry: &mut Entry, heads: Texts, text: Texts, cut: bool) -> bool {
    (entry.heads, entry.text) = (heads.tokens, text.tokens);
    cut
}

/// Tokens of several texts; no phrase crosses from one to the next.
struct Texts {
    tokens: TokenList,
    place: u32,
    most: usize,
}

impl Texts {
    fn new(most: usize) -> Self {
        Self { tokens: TokenList::default(), place: 0, most }
    }

    fn full(&self) -> bool {
        self.tokens.len() >= self.most
    }

    fn add(&mut self, text: &str) {
        self.add_formed(&form(text), |_| {});
    }

    fn add_formed(&mut self, formed: &str, mut each: impl FnMut(Token<'_>)) {
        let Self { tokens: list, most, .. } = self;
        let end = tokens(formed, self.place, |token| {
            list.push(token.text, token.place);
            each(token);
            list.len() < *most
        });
        self.place = end.saturating_add(BLOCK_GAP);
    }
}

/// Stems of the words of a page: most of them come again and again.
struct Stems {
    stem: Stem,
    /// The term of each word met, none of one that has no ending.
    known: HashMap<String, Option<String>, RandomState>,
}

impl Stems {
    fn new(stem: Stem) -> Self {
        Self { stem, known: HashMap::default() }
    }

    fn add(&mut self, token: Token<'_>, list: &mut TokenList) {
        if token.kind != Kind::Word {
            return;
        }
        if let Some(known) = self.known.get(token.text) {
            return known.iter().for_each(|term| list.push(term, 0));
        }
        let bare = self.stem.bare(token.text);
        let term = (bare != token.text).then(|| self.stem.term(&bare));
        term.iter().for_each(|term| list.push(term, 0));
        self.known.insert(token.text.to_owned(), term);
    }
}

/// As JSON of at most [`CARD`] bytes: what there is no room for is left out, the longest first.
fn kept(newest: &Newest, url: &PageUrl, text_cut: bool, unread: bool, mut card: Card) -> String {
    let shorter: [fn(&mut Card); 4] = [
        |card| card.description = None,
        |card| (card.lead, card.abstract_from) = (None, None),
        |card| card.keywords.clear(),
        |card| {
            card.title = None;
        },
    ];
    let json = |card: &Card| {
        let page = &newest.page;
        let mime = page.mime.as_deref().unwrap_or_default();
        let kept =
            Kept { url: url.as_str(), captured: page.fetched.0, status: page.status, mime, text_cut, unread, card };
        serde_json::to_string(&kept).unwrap_or_default()
    };
    let mut text = json(&card);
    for shorten in shorter {
        if text.len() <= CARD {
            break;
        }
        shorten(&mut card);
        text = json(&card);
    }
    text
}

/// A digest of the leader of a page's group and of its own title: pages whose texts are near are one among results only where their titles say
/// the same too, for pages of one template are near as well.
fn near_mark(page: &PageRecord) -> u64 {
    let Some(near) = &page.remarks.near else { return 0 };
    let leader = near.like().map_or(&*page.url, |(leader, _)| leader);
    let title = page.title.as_deref().unwrap_or_default();
    xxh3_64(format!("{leader}\n{title}").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::time::UnixMillis;
    use crate::content::html::{ExtractOptions, PageReader};
    use crate::domain::fingerprint::CrawlId;
    use crate::domain::near::Near;
    use crate::storage::keys::SeenKey;
    use crate::storage::values::DoneKind;

    const URL: &str = "http://www.example.org/dir/wolf-spiders";

    fn made(html: &str, max_text: usize) -> Entry {
        let (canon, prints) = (Canonicaliser::default(), Fingerprinter::new(1));
        let making = Making { canon: &canon, prints: &prints, max_text, keywords: Find::Fill };
        let url = canon.parse(URL).unwrap();
        let options = ExtractOptions { card: true, ..ExtractOptions::default() };
        let mut reader = PageReader::new(Some("text/html; charset=utf-8"), &url.to_url(), options, 64 << 20);
        reader.push(html.as_bytes());
        let page = PageRecord { status: 200, ..PageRecord::new(&url, UnixMillis(7), DoneKind::Stored) };
        let key = SeenKey::of(&prints, CrawlId::default(), &url);
        let newest = Newest { key, page, changed: UnixMillis(5), stale: false, place: None };
        let nofollow = html.contains("content=nofollow");
        making.page(&newest, &url, 9, &Look { page: reader.finish(), nofollow, sim: Some(3) }).unwrap()
    }

    fn words(list: &TokenList) -> Vec<(&str, u32)> {
        list.iter().collect()
    }

    #[test]
    fn a_member_of_a_group_has_the_mark_of_its_leader_where_their_titles_are_the_same() {
        let page = |url: &str, title: &str, near: Option<Near>| {
            let url = Canonicaliser::default().parse(url).unwrap();
            let mut page = PageRecord::new(&url, UnixMillis(7), DoneKind::Stored);
            (page.title, page.remarks.near) = (Some(title.to_owned()), near);
            near_mark(&page)
        };
        let like = || page("http://a.test/1", "Spiders", Some(Near::Leader));
        let member = |title: &str, of: &str| {
            page("http://a.test/2", title, Some(Near::Like { url: of.to_owned(), distance: 1 }))
        };
        assert_eq!(member("Spiders", "http://a.test/1"), like());
        for (title, of) in [("Webs", "http://a.test/1"), ("Spiders", "http://a.test/3")] {
            assert_ne!(member(title, of), like());
        }
        assert_eq!(page("http://a.test/1", "Spiders", None), 0);
    }

    #[test]
    fn a_page_is_taken_apart_into_its_fields() {
        let html = "<html lang=en><title>Wolf Spiders</title><h1>Hunting</h1><p>They hunted prey.<p>狼蛛与搜索引擎<a href='/a#x'>a</a>\
                    <a href='http://other.test/'>b</a><a rel=nofollow href=/c>c</a><a href=/a>again</a><a href=''>itself</a><img src=/i.png>";
        let entry = made(html, 1 << 20);
        assert_eq!((&*entry.host, &*entry.site), ("www.example.org", "example.org"));
        assert_eq!(words(&entry.title), [("wolf", 0), ("spiders", 1)]);
        assert_eq!(words(&entry.heads), [("hunting", 0)]);
        assert_eq!(words(&entry.text)[..3], [("hunting", 0), ("they", 11), ("hunted", 12)], "no phrase crosses blocks");
        assert!(
            words(&entry.text).iter().any(|(token, _)| *token == "狼蛛")
                && entry.words.iter().any(|(word, _)| word == "搜索引擎")
        );
        assert!(entry.stems.iter().any(|(stem, _)| stem == "en:hunt"), "{:?}", entry.stems);
        assert!(entry.url.iter().any(|(word, _)| word == "wolf"));
        assert_eq!((entry.links.len(), entry.links_ext.len(), entry.out_links), (2, 1, 4));
        let key = link_key(Fingerprinter::new(1).url(&Canonicaliser::default().parse("http://other.test/").unwrap()));
        assert_eq!(entry.links_ext, [key]);
        assert_eq!((entry.seq, entry.captured, entry.changed, entry.status), (9, 7, 5, 200));
        let card: serde_json::Value = serde_json::from_str(&entry.card).unwrap();
        assert_eq!(
            (&card["url"], &card["title"], &card["text_cut"]),
            (&URL.into(), &"Wolf Spiders".into(), &serde_json::Value::Null)
        );
    }

    #[test]
    fn a_page_whose_links_are_not_to_be_followed_links_nowhere() {
        let entry = made("<meta name=robots content=nofollow><a href=/a>a</a>", 1 << 20);
        assert!(entry.links.is_empty() && entry.links_ext.is_empty());
    }

    #[test]
    fn what_is_too_much_is_cut_and_said() {
        let cut = |entry: &Entry| serde_json::from_str::<serde_json::Value>(&entry.card).unwrap()["text_cut"] == true;
        let long = format!("<title>t</title><p>{}", "spider ".repeat(MOST_TOKENS + 10));
        let entry = made(&long, 1 << 20);
        assert_eq!((entry.text.len(), cut(&entry)), (MOST_TOKENS, true));
        let entry = made(&long, 700);
        assert_eq!((entry.text.len(), cut(&entry)), (100, true));
        assert!(!cut(&made("<p>spider", 700)));
        let wide = "\u{1}".repeat(5_000);
        let entry = made(
            &format!("<title>{wide}</title><meta name=description content='{wide}'><p>{}", "w\"x ".repeat(900)),
            1 << 20,
        );
        assert!(entry.card.len() <= CARD && entry.card.contains(URL), "{}", entry.card.len());
    }
}
