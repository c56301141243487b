//! The links of a page as they come, bounded by what they refer to.

use std::hash::{BuildHasher, RandomState};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::facts::{Link, LinkKind};
use crate::domain::fingerprint::KeySet;

/// Of references that are known repeats are kept too, with their texts, while a page has fewer links than this.
const REPEATS: usize = 10_000;
/// Spellings of references for each URL that a page may lead to: `/a`, `a`, `http://h.test/a`. Which of them lead to one URL is told
/// when they are resolved; fragments are no spellings.
const SPELLINGS: usize = 4;

/// Links in the order of the page. Those that say nothing new are left out of a page that has very many.
#[derive(Debug)]
pub(super) struct LinkList {
    /// What there was room for.
    pub(super) list: Vec<Link>,
    /// Hashes of references without fragments, of a kind, followed or not.
    known: KeySet<u64>,
    /// Drawn by lot, so that no page can prepare collisions.
    seed: u64,
    max: usize,
    /// There are links that have no room here.
    pub(super) cut: bool,
}

impl LinkList {
    /// For a page that may lead to `max` URLs.
    pub(super) fn new(max: usize) -> Self {
        Self { list: Vec::new(), known: KeySet::default(), seed: RandomState::new().hash_one(0), max, cut: false }
    }

    /// Whether there is room for a link. A reference that was not seen before and has none is told of by `cut`.
    pub(super) fn takes(&mut self, kind: LinkKind, href: &str, nofollow: bool) -> bool {
        let reference = href.as_bytes();
        let reference = memchr::memchr(b'#', reference).and_then(|at| reference.get(..at)).unwrap_or(reference);
        let way = (kind as u64) << 1 | u64::from(nofollow);
        let hash = xxh3_64_with_seed(reference, self.seed.wrapping_add(way));
        if self.known.contains(&hash) {
            return self.list.len() < REPEATS.min(self.max);
        }
        if self.known.len() >= self.max.saturating_mul(SPELLINGS) {
            self.cut = true;
            return false;
        }
        self.known.insert(hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(max: usize, hrefs: impl Iterator<Item = String>) -> (Vec<String>, bool) {
        let mut list = LinkList::new(max);
        for href in hrefs {
            if list.takes(LinkKind::A, &href, false) {
                list.list.push(Link { href, kind: LinkKind::A, nofollow: false, text: String::new() });
            }
        }
        (list.list.into_iter().map(|link| link.href).collect(), list.cut)
    }

    #[test]
    fn the_last_page_named_is_found_whatever_was_repeated_before_it() {
        let repeats = (0..300_000).map(|n| format!("/p/{}#{n}", n % 50));
        let (kept, cut) = links(100_000, repeats.chain(["/last".to_owned()]));
        assert_eq!((kept.len(), kept.last().map(String::as_str), cut), (REPEATS + 1, Some("/last"), false));
    }

    #[test]
    fn what_is_new_is_kept_to_the_bound_and_that_there_was_more_is_told() {
        let (kept, cut) = links(3, (0..12).map(|n| format!("/{n}")));
        assert_eq!((kept.len(), cut), (12, false));
        let (kept, cut) = links(3, (0..13).map(|n| format!("/{n}")));
        assert_eq!((kept.len(), cut), (12, true));
        assert_eq!(links(0, ["/a".to_owned()].into_iter()), (Vec::new(), true));
    }

    #[test]
    fn a_reference_that_may_be_followed_here_and_not_there_is_not_one() {
        let mut list = LinkList::new(1);
        let [a, b] = [true, false].map(|nofollow| list.takes(LinkKind::A, "/a", nofollow));
        assert!(a && b && list.takes(LinkKind::Asset, "/a", false));
    }
}
