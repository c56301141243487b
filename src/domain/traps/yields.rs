//! What the pages of one shape, or one subtree, have yielded: whether it may be without end.

use smallvec::SmallVec;

/// Links to known pages of the subtree that are looked at, of one page.
pub(super) const MET: usize = 12;
/// Links that many pages of a subtree have, such as to its top.
const FIXED: usize = 8;
/// New URLs of its kin that are many for one page.
const MANY: u32 = 3;
/// A page of a calendar counts as often as it has new URLs, at most so many times.
const OF_CALENDAR: u32 = 25;
/// A page that leads to the next alone counts so many times as one that leads back as well, and one that leads to several new ones.
const ONWARD: u32 = 4;
const BRANCHING: u32 = 10;
/// Pages that are enough to say what a shape brings.
const FEW: u32 = 3;
/// Pages that lead on and on count a fifth of those that bring nothing new.
const ON_AND_ON: u32 = 5;

/// What the links of one page have brought to a subtree it belongs to.
#[derive(Debug, Default)]
pub(super) struct Brought {
    /// New URLs of the same subtree.
    pub inside: u32,
    /// Those of them that are of the page's own shape, or of one that nobody knew: from others nothing need lead on.
    pub kin: u32,
    /// New URLs beyond it, where pages bring something.
    pub outside: u32,
    /// New URLs wherever they are.
    pub found: u32,
    /// Whether it leads back to the page it was found on.
    pub back: bool,
    /// Known URLs of the same subtree, other than that of the page it was found on.
    pub met: SmallVec<[u32; MET]>,
}

/// What a page itself has brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct News {
    /// Its text, or a picture, is new.
    pub content: bool,
    /// A word is new.
    pub word: bool,
    /// A number is new.
    pub number: bool,
    /// It is of a calendar.
    pub calendar: bool,
}

impl News {
    pub(super) const NONE: Self = Self { content: false, word: false, number: false, calendar: false };
}

/// The signs of one subtree, each since it was last contradicted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Yield {
    /// Pages in a row that led on and brought nothing: no new text or picture, and no new URL beyond the subtree. One counts twice that led
    /// to three or more of its kin, and one of a calendar as often as it led to new ones.
    pub without_novelty: u32,
    /// Pages in a row that brought no new word, and led to new pages of the subtree alone, and to no known one: nothing crosses,
    /// nothing comes to an end.
    alone: u32,
    /// Pages in a row without anything new in themselves, wherever they lead.
    dull: u32,
    /// How often it was held back and taken up again.
    pardons: u32,
    /// Pages taken in.
    pub pages: u32,
    fixed: [u32; FIXED],
    next: usize,
}

impl Yield {
    /// Takes in a page; `before`: what spoke against the shape that led to it.
    pub(super) fn note(&mut self, news: News, brought: &Brought, before: u32) {
        self.pages = self.pages.saturating_add(1);
        self.dull = if news.content || news.number { 0 } else { self.dull.saturating_add(1) };
        let without_novelty = !news.content && brought.outside == 0;
        let times = match brought.found {
            0 => 0, // what leads nowhere is no part of what never ends
            found if news.calendar && brought.kin > 0 => found.clamp(2, OF_CALENDAR),
            _ if brought.kin >= MANY => 2,
            _ => 1,
        };
        self.without_novelty = match without_novelty {
            true if times == 0 => self.without_novelty,
            true => self.without_novelty.max(before).saturating_add(times),
            false if news.word || brought.outside > 0 => 0,
            false => self.without_novelty / 2, // what is known by its words, put together anew
        };
        let crosses = self.crosses(&brought.met);
        self.alone = match brought.inside {
            0 => 0,
            _ if news.word || crosses || brought.outside > 0 => 0,
            _ if brought.kin == 0 => self.alone.saturating_add(1),
            1 if brought.back => self.alone.saturating_add(1),
            1 => self.alone.saturating_add(ONWARD),
            _ => self.alone.saturating_add(BRANCHING),
        };
    }

    /// Whether so many pages in a row brought nothing new.
    pub(super) fn is_without_novelty(&self, pages: u32) -> bool {
        pages > 0 && self.without_novelty >= self.most(pages)
    }

    /// Whether pages led on and on without a new word.
    pub(super) fn is_endless(&self, pages: u32) -> bool {
        pages > 0 && self.alone >= self.most(pages).saturating_mul(ON_AND_ON)
    }

    /// Whether they have done so for a while.
    pub(super) fn leads_on(&self, pages: u32) -> bool {
        pages > 0 && self.alone >= pages / 2
    }

    /// Whether one of its last pages brought something, of a few at least.
    pub(super) fn is_fruitful(&self, pages: u32) -> bool {
        self.pages >= FEW && self.without_novelty < pages / 50 && self.alone < BRANCHING
    }

    /// Whether a new URL of it is no news by itself.
    pub(super) fn is_dull(&self, pages: u32) -> bool {
        pages > 0 && self.dull >= pages / 4
    }

    /// What was counted against it is forgotten. Where that was enough to hold it back, the next time takes ten times as much.
    pub(super) fn pardon(&mut self, pages: u32) {
        if self.is_without_novelty(pages) || self.is_endless(pages) {
            self.pardons += 1;
        }
        (self.without_novelty, self.alone, self.dull) = (0, 0, 0);
    }

    fn most(&self, pages: u32) -> u32 {
        pages.saturating_mul(10_u32.saturating_pow(self.pardons))
    }

    /// Whether a page links across: to a page of the subtree that others do not link to as well.
    fn crosses(&mut self, met: &[u32]) -> bool {
        let mut crosses = false;
        for link in met {
            if !self.fixed.contains(link) {
                crosses = true;
                if let Some(place) = self.fixed.get_mut(self.next % FIXED) {
                    *place = *link;
                }
                self.next = self.next.wrapping_add(1);
            }
        }
        crosses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_words_put_together_anew_halve_what_speaks_against_a_shape_and_a_new_word_or_a_way_out_clears_it() {
        let dull = Brought { inside: 1, kin: 1, found: 1, ..Brought::default() };
        let without_novelty = || {
            let mut pages = Yield::default();
            (0..100).for_each(|_| pages.note(News::NONE, &dull, 0));
            assert!(pages.is_without_novelty(100));
            pages
        };
        let anew = News { content: true, ..News::NONE };
        let out = Brought { outside: 1, found: 1, ..Brought::default() };
        for (news, brought, left) in [(anew, &dull, 50), (News { word: true, ..anew }, &dull, 0), (anew, &out, 0)] {
            let mut pages = without_novelty();
            pages.note(news, brought, 0);
            assert_eq!(pages.without_novelty, left, "{news:?} {brought:?}");
        }
    }
}
