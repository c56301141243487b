//! What the pages of one space have yielded: whether it may be without end.

use smallvec::SmallVec;

/// Links to known pages of the space that are looked at, of one page.
pub(super) const MET: usize = 12;
/// Links that many pages of a space have, such as to its top.
const FIXED: usize = 8;
/// New URLs of its space that are many for one page.
const MANY: u32 = 3;
/// A page that leads to several new ones counts so many times as one that leads to the next alone.
const BRANCHING: u32 = 10;

/// What one page has brought to a space it belongs to.
#[derive(Debug, Default)]
pub(super) struct Brought {
    /// New URLs of the same space.
    pub inside: u32,
    /// New URLs beyond it.
    pub outside: u32,
    /// Known URLs of the same space, other than that of the page it was found on.
    pub met: SmallVec<[u32; MET]>,
}

/// The signs of one space, each since it was last contradicted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Yield {
    /// Pages in a row that brought nothing: no run of text or picture that is new, and no new URL beyond the space. One that led to
    /// three or more new URLs within counts twice.
    pub barren: u32,
    /// Pages in a row that led to new pages of the space alone, and to no known one: nothing crosses, nothing comes to an end.
    alone: u32,
    /// Pages taken in.
    pub pages: u32,
    fixed: [u32; FIXED],
    next: usize,
}

impl Yield {
    /// Takes in a page.
    pub(super) fn note(&mut self, news: bool, brought: &Brought) {
        self.pages = self.pages.saturating_add(1);
        let barren = !news && brought.outside == 0;
        let times = if brought.inside < MANY { 1 } else { 2 };
        self.barren = if barren { self.barren.saturating_add(times) } else { 0 };
        let crosses = self.crosses(&brought.met);
        self.alone = match brought.inside {
            0 => 0,
            _ if crosses || brought.outside > 0 => 0,
            1 => self.alone.saturating_add(1),
            _ => self.alone.saturating_add(BRANCHING),
        };
    }

    /// Whether so many pages in a row led on and on.
    pub(super) fn is_endless(&self, pages: u32) -> bool {
        pages > 0 && self.alone >= pages.saturating_mul(BRANCHING)
    }

    /// Whether a page links across: to a page of the space that others do not link to as well.
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
