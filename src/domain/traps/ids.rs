//! Pages that come again under other identifiers, in their path or as the value of a parameter: a whole site under ever new
//! session numbers.
//!
//! A *place* is a URL with its identifiers left out and its numbers kept. When page after page shows what its place has shown
//! before, under another identifier, the identifiers name nothing.

use super::news::Run;

/// Places whose page is remembered.
const PAGES: usize = 1_024;
/// Bits of the places found.
const BITS: usize = 1 << 16;

/// What is known of a host's places.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// Part of a place, and of what its page showed: a later one takes the room of an earlier one.
    pages: Vec<(u16, u16)>,
    found: Vec<u64>,
    /// Pages in a row that showed what their place had shown.
    same: u32,
}

impl Places {
    /// Whether a place is found once more where identifiers name nothing, as so many pages in a row have shown.
    pub(super) fn know(&self, place: u64, pages: u32) -> bool {
        pages > 0 && self.same >= pages && self.has(place)
    }

    /// Whether a URL was found for a place.
    pub(super) fn has(&self, place: u64) -> bool {
        bits(place).all(|(word, bit)| self.found.get(word).is_some_and(|w| w & bit != 0))
    }

    /// Takes in a place that a URL was found for.
    pub(super) fn find(&mut self, place: u64) {
        self.found.resize(BITS / 64, 0);
        for (word, bit) in bits(place) {
            if let Some(word) = self.found.get_mut(word) {
                *word |= bit;
            }
        }
    }

    /// Takes in the page of a place.
    pub(super) fn note(&mut self, place: u64, shown: &[Run]) {
        self.pages.resize(PAGES, (0, 0));
        let told = shown.iter().fold(0_u32, |sum, run| sum.wrapping_add(run.told.wrapping_mul(run.told | 1)));
        let page = ((place >> 32) as u16 | 1, (told ^ (told >> 16)) as u16); // 0 is an empty place
        let Some(known) = self.pages.get_mut(place as usize % PAGES) else { return };
        if known.0 == page.0 {
            self.same = if known.1 == page.1 { self.same.saturating_add(1) } else { 0 };
        }
        *known = page;
    }
}

/// Two bits of a place: the word and the bit in it.
fn bits(place: u64) -> impl Iterator<Item = (usize, u64)> {
    [place as usize % BITS, (place >> 20) as usize % BITS].into_iter().map(|at| (at / 64, 1 << (at % 64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: u32) -> [Run; 1] {
        [Run { whole: text, told: text, words: text }]
    }

    #[test]
    fn identifiers_name_nothing_when_page_after_page_is_that_of_its_place() {
        let mut places = Places::default();
        let place = |n: u32| xxhash_rust::xxh3::xxh3_64(&n.to_le_bytes());
        (0..10).for_each(|n| places.find(place(n)));
        for round in 0..2 {
            (0..10).for_each(|n| places.note(place(n), &page(n)));
            assert_eq!(places.know(place(3), 10), round == 1);
        }
        assert!(!places.know(place(77), 10), "a place that is new");
        assert!(!places.know(place(3), 0), "switched off");
        places.note(place(4), &page(99));
        assert!(!places.know(place(3), 1), "a page of its own");
    }
}
