//! Pages that come again under other URLs: with another session number, or with their parameters in another order.
//!
//! An *alias* is a URL without what may name nothing. That it names nothing is shown by pages: when page after page is as that of its alias
//! was. Until then every such URL is asked for.

use smallvec::SmallVec;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::shape::Shape;
use crate::domain::url::PageUrl;

/// Aliases that are remembered of one host: sets of so many.
const SETS: usize = 2_048;
const WAYS: usize = 4;
/// Pages in a row of one shape that were as that of their alias; from then on the alias names the page.
pub(super) const PROOF: u32 = 20;

/// What may name nothing in a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Idle {
    /// Identifiers, of the path or as the value of a parameter.
    Identifiers,
    /// The order of the parameters.
    Order,
}

/// The aliases of a URL.
pub(super) fn of(url: &PageUrl, shape: &Shape) -> impl Iterator<Item = (Idle, u64)> + use<> {
    let identifiers = shape.place.map(|alias| (Idle::Identifiers, alias));
    // With an identifier in it each order would be another: they would push out all others.
    let order = if shape.place.is_none() { in_order(url) } else { None };
    identifiers.into_iter().chain(order.map(|alias| (Idle::Order, alias)))
}

/// Pages in a row that were as that of their alias. One alias alone proves nothing: what is left when nothing but an identifier names
/// a page is the same for all of them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Proof {
    pub(super) pages: u32,
    last: u64,
}

impl Proof {
    /// Takes in a page under an alias: whether it was as the one before.
    pub(super) fn note(&mut self, same: bool, alias: u64) {
        let another = self.last != alias;
        self.last = alias;
        self.pages = if same { self.pages.saturating_add(u32::from(another)) } else { 0 };
    }
}

/// How an alias stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    Not,
    /// A URL was found for it.
    Found,
    /// A page was read.
    Read,
}

/// A part of each alias, and of what its page showed: those that came last.
#[derive(Debug, Default)]
pub(super) struct Aliases(Vec<[(u16, u16); WAYS]>);

impl Aliases {
    pub(super) fn known(&self, alias: u64) -> Known {
        match self.page_of(alias) {
            None => Known::Not,
            Some(0) => Known::Found,
            Some(_) => Known::Read,
        }
    }

    /// Takes in an alias that a URL was found for.
    pub(super) fn find(&mut self, alias: u64) {
        if self.known(alias) == Known::Not {
            self.put(alias, 0);
        }
    }

    /// Takes in a page under an alias; whether it is as the one before, when there was one.
    pub(super) fn read(&mut self, alias: u64, page: u64) -> Option<bool> {
        let page = ((page >> 48) as u16).max(1);
        let before = self.page_of(alias).filter(|before| *before != 0);
        self.put(alias, page);
        before.map(|before| before == page)
    }

    fn page_of(&self, alias: u64) -> Option<u16> {
        let set = self.0.get(alias as usize % SETS)?;
        set.iter().find(|(tag, _)| *tag == tag_of(alias)).map(|(_, page)| *page)
    }

    fn put(&mut self, alias: u64, page: u16) {
        self.0.resize(SETS, [(0, 0); WAYS]);
        let Some(set) = self.0.get_mut(alias as usize % SETS) else { return };
        let known = set.iter().position(|(tag, _)| *tag == tag_of(alias)).unwrap_or(WAYS - 1);
        if let Some(passed) = set.get_mut(..=known) {
            passed.rotate_right(1);
        }
        set[0] = (tag_of(alias), page);
    }
}

fn tag_of(alias: u64) -> u16 {
    ((alias >> 48) as u16).max(1) // 0 is an empty place
}

/// The URL with its parameters sorted, each once. Only of queries in which every part has a name: those without `=` may mean something by
/// their place. Parameters of one name keep their order.
fn in_order(url: &PageUrl) -> Option<u64> {
    let query = url.query()?;
    let parts: SmallVec<[&str; 8]> = query.split('&').filter(|part| !part.is_empty()).collect();
    if parts.len() < 2 || !parts.iter().all(|part| part.contains('=')) {
        return None;
    }
    let mut sorted = parts;
    sorted.sort_by_key(|part| part.split('=').next()); // stable
    sorted.dedup();
    let mut key = Xxh3::new();
    key.update(url.path().as_bytes());
    for part in &sorted {
        key.update(b"&");
        key.update(part.as_bytes());
    }
    Some(key.digest())
}

/// The parameters, each with its value, as numbers of sixteen bits; none of a query with fewer than two.
pub(super) fn pairs(url: &PageUrl) -> SmallVec<[u16; 8]> {
    let parts = url.query().unwrap_or_default().split('&').filter(|part| !part.is_empty());
    let pairs: SmallVec<[u16; 8]> = parts.map(|part| (xxh3_64(part.as_bytes()) >> 24) as u16).collect();
    if pairs.len() < 2 { SmallVec::new() } else { pairs }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::url::Canonicaliser;

    fn url(tail: &str) -> PageUrl {
        Canonicaliser::default().parse(&format!("http://a.test{tail}")).unwrap()
    }

    #[test]
    fn only_another_order_of_the_same_parameters_is_an_alias() {
        let same =
            |one: &str, other: &str| in_order(&url(one)).is_some() && in_order(&url(one)) == in_order(&url(other));
        assert!(same("/l?a=1&b=2", "/l?b=2&a=1"));
        assert!(same("/l?a=1&b=2&c=3", "/l?b=2&c=3&a=1"));
        assert!(same("/l?a=1&b=2", "/l?b=2&a=1&b=2"));
        for other in ["/l?b=1&a=2", "/m?b=2&a=1", "/l?b=2&a=1&c=3", "/l?b=2"] {
            assert!(!same("/l?a=1&b=2", other), "{other}");
        }
        assert!(!same("/l?a=1&a=2", "/l?a=2&a=1"), "the order of one name may matter");
        assert!(!same("/l?3&5", "/l?5&3"), "and that of parts without a name");
    }

    #[test]
    fn an_alias_is_found_then_read_then_compared() {
        let mut aliases = Aliases::default();
        let alias = |n: u32| xxh3_64(&n.to_le_bytes());
        assert_eq!(aliases.known(alias(1)), Known::Not);
        aliases.find(alias(1));
        assert_eq!(aliases.known(alias(1)), Known::Found);
        assert_eq!(aliases.read(alias(1), alias(7)), None);
        assert_eq!((aliases.known(alias(1)), aliases.read(alias(1), alias(7))), (Known::Read, Some(true)));
        assert_eq!(aliases.read(alias(1), alias(8)), Some(false));
        (0..3_000).for_each(|n| aliases.find(alias(n)));
        assert!((0..3_000).filter(|n| aliases.known(alias(*n)) == Known::Not).count() < 300);
        (0..50_000).for_each(|n| aliases.find(alias(n)));
        assert_eq!(aliases.0.len(), SETS);
    }
}
