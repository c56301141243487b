//! The runs that the pages of a host have shown, and what of a page is new to it.

use std::collections::HashMap;

use super::news::Run;

/// A line whose numbers alone are new is one of a clock or a counter when it is on pages of so many shapes.
const CLOCK_SHAPES: u32 = 3;
/// Such lines that are watched at a host.
const CLOCKS: usize = 256;
/// Runs of its pages that are known of one host: sets of so many.
pub(super) const SETS: usize = 128;
const WAYS: usize = 16;

/// What of a page is new to its host. A run is new in a reading when it is new as it stands as well: that a word of it happens to
/// stand in the URL makes no news.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct News {
    pub whole: bool,
    pub told: bool,
    pub words: bool,
}

/// The runs that were met last on the pages of a host.
#[derive(Debug, Default)]
pub(super) struct KnownRuns {
    whole: Recent,
    told: Recent,
    words: Recent,
    /// Lines of which only the numbers were new: on pages of which shapes, a bit each.
    clocks: HashMap<u32, u64>,
}

impl KnownRuns {
    /// Takes in what a page of this shape shows.
    pub(super) fn learn(&mut self, shape: u64, shown: &[Run]) -> News {
        let mut news = News::default();
        for run in shown {
            let (whole, told, words) =
                (self.whole.is_new(run.whole), self.told.is_new(run.told), self.words.is_new(run.words));
            if told && !words && run.words != 0 && self.is_clock(shape, run.words) {
                continue;
            }
            news.whole |= whole;
            news.told |= whole && told;
            news.words |= whole && words;
        }
        news
    }

    /// Whether a line in which only numbers are new is on pages of many shapes.
    fn is_clock(&mut self, shape: u64, line: u32) -> bool {
        if self.clocks.len() >= CLOCKS && !self.clocks.contains_key(&line) {
            self.clocks.clear();
        }
        let shapes = self.clocks.entry(line).or_default();
        *shapes |= 1 << (shape % 64);
        shapes.count_ones() >= CLOCK_SHAPES
    }
}

/// Hashes that came last, by a part of each. What is called known has been there (but for one in some thousands); what is called
/// new may have been forgotten.
#[derive(Debug, Default)]
pub(super) struct Recent(pub(super) Vec<[u16; WAYS]>);

impl Recent {
    pub(super) fn is_new(&mut self, run: u32) -> bool {
        if run == 0 {
            return false;
        }
        if self.0.is_empty() {
            self.0.resize(SETS, [0; WAYS]);
        }
        let tag = ((run >> 16) as u16).max(1); // 0 is an empty place
        let Some(set) = self.0.get_mut(run as usize % SETS) else { return false };
        let known = set.iter().position(|known| *known == tag);
        if let Some(passed) = set.get_mut(..=known.unwrap_or(WAYS - 1)) {
            passed.rotate_right(1); // what comes often stays
        }
        set[0] = tag;
        known.is_none()
    }
}
