//! What pages bring: taken in before their links are judged, and counted behind them.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::super::aliases::{self, pairs};
use super::super::shape::Shape;
use super::super::yields::{Brought, MET, News};
use super::{OfHost, SHOWN, Shapes, domain, hash};
use crate::domain::fingerprint::HostKey;
use crate::domain::textprint::Shown;
use crate::domain::url::PageUrl;

/// A page whose links are being judged.
#[derive(Debug)]
pub struct Finder {
    pub(super) host: HostKey,
    pub(super) shape: Shape,
    pub(super) domain: u64,
    pub(super) from_sibling: bool,
    url: PageUrl,
    own: u64,
    /// The page it was found on.
    via: Option<u64>,
    /// Its shape, where that is another one of the same host.
    led_by: Option<u64>,
    news: Option<OfPage>,
    in_shape: Brought,
    in_subtree: Brought,
    /// It leads to the first URL of another shape, elsewhere on its host.
    astray: bool,
    pub(super) redirects: bool,
}

/// What a page that was read brought by itself.
#[derive(Clone, Copy, Debug)]
struct OfPage {
    /// To its shape.
    shape: bool,
    /// To its subtree.
    subtree: bool,
    word: bool,
    number: bool,
    /// To its host.
    host: bool,
}

impl Finder {
    /// The page at this URL, found on the page `via`.
    pub fn new(host: HostKey, url: &PageUrl, via: Option<&str>) -> Self {
        let of_domain = domain(url);
        let via = via.and_then(|via| PageUrl::from_canonical(via).ok());
        let sibling = |via: &PageUrl| via.host() != url.host() && domain(via) == of_domain;
        let shape = Shape::of(url);
        let of_host = via.as_ref().filter(|via| via.host() == url.host());
        Self {
            host,
            shape,
            domain: of_domain,
            own: hash(url),
            from_sibling: via.as_ref().is_some_and(sibling),
            via: via.as_ref().map(hash),
            led_by: of_host.map(|via| Shape::of(via).key).filter(|key| *key != shape.key),
            url: url.clone(),
            news: None,
            in_shape: Brought::default(),
            in_subtree: Brought::default(),
            astray: false,
            redirects: false,
        }
    }

    /// Takes in a link to a known URL.
    pub fn met(&mut self, host: HostKey, url: &PageUrl) {
        let full = self.in_shape.met.len() >= MET && self.in_subtree.met.len() >= MET;
        if full || host != self.host {
            return;
        }
        let to = hash(url);
        if to == self.own {
            return;
        }
        let shape = Shape::kin(url);
        let back = Some(to) == self.via;
        let add = |brought: &mut Brought| {
            brought.back |= back;
            if !back && brought.met.len() < MET {
                brought.met.push(to as u32);
            }
        };
        if shape.key == self.shape.key {
            add(&mut self.in_shape);
        }
        if shape.subtree == self.shape.subtree {
            add(&mut self.in_subtree);
        }
    }

    /// Whether it showed anything new; of a page that was not read nobody says that it did not.
    pub(super) fn has_news(&self) -> bool {
        self.news.is_none_or(|news| news.shape && news.subtree)
    }

    /// It is a redirect, and shows nothing itself.
    pub fn is_redirect(&mut self) {
        self.redirects = true;
    }

    /// Whether its host had not shown what it shows.
    pub(super) fn is_new_to_host(&self) -> bool {
        self.news.is_none_or(|news| news.host)
    }

    /// Whether it had a word, or a picture, that is new to its host.
    pub(super) fn has_words(&self) -> bool {
        self.news.is_none_or(|news| news.word)
    }

    /// Takes in a link to a URL of another member's host, which is new as far as is known here: the shapes of that host are not.
    pub fn leads_abroad(&mut self) {
        for brought in [&mut self.in_shape, &mut self.in_subtree] {
            brought.found += 1;
            brought.outside += 1;
        }
    }

    /// Takes in a link to a new URL: whether it is of the same shape, and of the same subtree; `counts`: pages of its shape bring
    /// something, as far as is known; `unknown`: it is the first of its shape.
    pub(super) fn leads_to(&mut self, host: HostKey, shape: &Shape, counts: bool, unknown: bool) {
        let same_host = host == self.host;
        let same_shape = same_host && shape.key == self.shape.key;
        let same_subtree = same_host && shape.subtree == self.shape.subtree;
        self.astray |= same_host && !same_subtree && unknown;
        for (same, brought) in [(same_shape, &mut self.in_shape), (same_subtree, &mut self.in_subtree)] {
            brought.inside += u32::from(same);
            brought.found += 1;
            brought.kin += u32::from(same && (same_shape || unknown));
            brought.outside += u32::from(!same && counts);
        }
    }
}

impl Shapes {
    /// Takes in what a page shows, before its links are judged. Not for one that was not read, or not to its end.
    pub fn read(&mut self, page: &mut Finder, shown: &Shown) {
        let of_host = self.of_host(page.host);
        page.news = Some(of_host.read(page, shown));
        let first = !std::mem::replace(&mut of_host.has_pages, true);
        if first && page.from_sibling {
            let made_up = self.shows(page.domain, shown);
            self.of_host(page.host).made_up = made_up;
        }
    }

    /// Counts a page that was read, behind its links; a redirect against its own shape alone.
    pub fn count(&mut self, page: &Finder) {
        if page.redirects {
            return self.of_host(page.host).shapes.of(page.shape.key).yields.note(News::NONE, &page.in_shape, 0);
        }
        let (Some(news), Some(of_host)) = (page.news, self.hosts.get_mut(&page.host)) else { return };
        let calendar = page.shape.calendar;
        let of = |content| News { content, word: news.word, number: news.number, calendar };
        // Shapes that lead to each other share what speaks against them.
        let led_by = page.led_by.and_then(|key| of_host.shapes.known(key));
        let before = led_by.map_or(0, |count| count.yields.without_novelty);
        let count = of_host.shapes.of(page.shape.key);
        count.yields.note(of(news.shape), &page.in_shape, before);
        count.leaves = if page.in_subtree.found == 0 { count.leaves.saturating_add(1) } else { 0 };
        of_host.subtrees.of(page.shape.subtree).note(of(news.subtree), &page.in_subtree, 0);
        match (news.host, page.astray) {
            (true, _) => of_host.astray = 0,
            (false, true) => of_host.astray = of_host.astray.saturating_add(1),
            (false, false) => {}
        }
    }

    /// The first page of a host that another host of its domain led to: whether it shows nothing new.
    fn shows(&mut self, domain: u64, shown: &Shown) -> bool {
        if self.shown.len() >= SHOWN && !self.shown.contains_key(&domain) {
            self.shown.clear();
        }
        let of_domain = self.shown.entry(domain).or_default();
        let new = of_domain.texts.is_new(mix(shown.told.words, media_of(shown)));
        of_domain.without_novelty = if new { 0 } else { of_domain.without_novelty.saturating_add(1) };
        of_domain.without_novelty > 0
    }
}

impl OfHost {
    fn read(&mut self, page: &Finder, shown: &Shown) -> OfPage {
        let told = &shown.told;
        let media = shown.media.iter().filter(|address| self.media.is_new(spread(**address))).count() > 0;
        let mut new = |words: &[u16]| words.iter().filter(|word| self.words.is_new(**word)).count() > 0;
        let (word, number) = (new(&told.vocabulary) || told.many, new(&told.numbers));
        // Where there is no word at all, numbers are what is told.
        let (word, words) = if told.words == 0 { (number, told.whole) } else { (word, told.words) };
        let pairs = pairs(&page.url);
        // Known values in a new combination, one of three or more new at most, and known words in a new order: what filters show.
        let fresh = pairs.iter().filter(|pair| new(&[**pair])).count();
        let combined = !pairs.is_empty() && fresh <= usize::from(pairs.len() > 2) && !word;
        let text = |texts: &mut super::Recent, subtree: u64| texts.is_new(mix(words, subtree)) && !combined;
        let count = self.shapes.of(page.shape.key);
        let as_before = mix(told.whole, media_of(shown));
        for (idle, alias) in aliases::of(&page.url, &page.shape) {
            let same = self.aliases.read(alias, as_before);
            if let (Some(same), Some(proof)) = (same, count.same.get_mut(idle as usize)) {
                proof.note(same, alias);
            }
        }
        let (shape, subtree) = (text(&mut self.texts, page.shape.key), text(&mut self.texts, page.shape.subtree));
        let host = text(&mut self.texts, 0) || media;
        OfPage { shape: shape || media, subtree: subtree || media, word: word || media, number, host }
    }
}

fn media_of(shown: &Shown) -> u64 {
    shown.media.iter().fold(0, |sum, address| mix(sum, u64::from(*address)))
}

fn spread(address: u32) -> u64 {
    xxh3_64_with_seed(&address.to_le_bytes(), 1)
}

fn mix(one: u64, other: u64) -> u64 {
    xxh3_64_with_seed(&one.to_le_bytes(), other)
}
