//! Parameters in another order: the same page once more. Which order is asked for is that found first.

use smallvec::SmallVec;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::domain::url::PageUrl;

/// URLs with several parameters that are remembered of one host.
const ROOM: usize = 512;

/// A place for each key by its hash; a later one takes the place of an earlier one.
#[derive(Debug, Default)]
pub(super) struct Orders(Vec<(u32, u32)>);

impl Orders {
    /// Whether the same parameters have been found in another order. What was found is not counted again by that.
    pub(super) fn know_another(&mut self, url: &PageUrl) -> bool {
        let Some((key, order)) = order(url) else { return false };
        if self.0.is_empty() {
            self.0.resize(ROOM, (0, 0));
        }
        let tag = (key >> 32) as u32 | 1; // 0 is an empty place
        let Some(place) = self.0.get_mut(key as usize % ROOM) else { return false };
        if place.0 == tag {
            return place.1 != order;
        }
        *place = (tag, order);
        false
    }
}

/// The URL with its parameters sorted, and how they really stand. Only of queries in which every part has a name of its own or the
/// same name as others: those without `=` may mean something by their place. Parameters of one name keep their order.
fn order(url: &PageUrl) -> Option<(u64, u32)> {
    let query = url.query()?;
    let parts: SmallVec<[&str; 8]> = query.split('&').filter(|part| !part.is_empty()).collect();
    if parts.len() < 2 || !parts.iter().all(|part| part.contains('=')) {
        return None;
    }
    let mut sorted = parts;
    sorted.sort_by_key(|part| part.split('=').next()); // stable
    let mut key = Xxh3::new();
    key.update(url.path().as_bytes());
    for part in &sorted {
        key.update(b"&");
        key.update(part.as_bytes());
    }
    Some((key.digest(), xxh3_64(query.as_bytes()) as u32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::url::Canonicaliser;

    fn known(seen: &[&str], asked: &str) -> bool {
        let url = |tail: &str| Canonicaliser::default().parse(&format!("http://a.test{tail}")).unwrap();
        let mut orders = Orders::default();
        assert!(seen.iter().all(|tail| !orders.know_another(&url(tail))));
        orders.know_another(&url(asked))
    }

    #[test]
    fn only_another_order_of_the_same_parameters_is_known() {
        assert!(known(&["/l?a=1&b=2"], "/l?b=2&a=1"));
        assert!(known(&["/l?a=1&b=2&c=3"], "/l?b=2&c=3&a=1"));
        for other in ["/l?a=1&b=2", "/l?b=1&a=2", "/m?b=2&a=1", "/l?b=2&a=1&c=3", "/l?b=2"] {
            assert!(!known(&["/l?a=1&b=2"], other), "{other}");
        }
        assert!(!known(&["/l?a=1&a=2"], "/l?a=2&a=1"), "the order of one name may matter");
        assert!(!known(&["/l?3&5"], "/l?5&3"), "and that of parts without a name");
    }

    #[test]
    fn the_room_is_bounded() {
        let mut orders = Orders::default();
        for n in 0..5 * ROOM {
            orders.know_another(&Canonicaliser::default().parse(&format!("http://a.test/?a={n}&b={n}")).unwrap());
        }
        assert_eq!(orders.0.len(), ROOM);
    }
}
