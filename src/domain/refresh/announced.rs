//! Sitemaps that tell of changes: how true a host's `<lastmod>` proved.
//!
//! Where they are true and miss little, pages that they name need not be looked at as often: the sitemap tells.

/// Dates that must have been followed before they are believed.
const ENOUGH: u16 = 20;
/// Of so many in a hundred a change must have been found; so many changes in a hundred may have gone untold.
const TRUE: u32 = 90;
const UNTOLD: u32 = 5;
/// From so many on the past counts half: a site may change its ways.
const REMEMBERED: u16 = 400;
/// Pages that a true sitemap names are visited by their cycle so many times as seldom.
pub const BELIEVED: f64 = 4.0;

/// What visits have shown of a host's dates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Announced {
    /// Visits because of a date.
    pub told: u16,
    /// Those of them that found a change.
    pub proved: u16,
    /// Changes of named pages that a cycle found, and no date had told.
    pub missed: u16,
}

impl Announced {
    /// After a visit because of a date.
    #[must_use]
    pub fn after_told(self, changed: bool) -> Self {
        let Self { told, proved, missed } = self.bounded();
        Self { told: told + 1, proved: proved + u16::from(changed), missed }
    }

    /// After a visit by its cycle found a named page changed.
    #[must_use]
    pub fn after_missed(self) -> Self {
        let bounded = self.bounded();
        Self { missed: bounded.missed + 1, ..bounded }
    }

    /// Whether the dates are to be believed.
    pub fn is_true(self) -> bool {
        let [told, proved, missed] = [self.told, self.proved, self.missed].map(u32::from);
        self.told >= ENOUGH && proved * 100 >= told * TRUE && missed * 100 <= (proved + missed) * UNTOLD
    }

    fn bounded(self) -> Self {
        let Self { told, proved, missed } = self;
        let half = told.max(missed) >= REMEMBERED;
        let of = |n: u16| if half { n / 2 } else { n };
        Self { told: of(told), proved: of(proved), missed: of(missed) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(told: usize, changed: usize, missed: usize) -> Announced {
        let told = (0..told).fold(Announced::default(), |all, n| all.after_told(n < changed));
        (0..missed).fold(told, |all, _| all.after_missed())
    }

    #[test]
    fn dates_are_believed_when_twenty_were_followed_nine_of_ten_proved_true_and_few_changes_went_untold() {
        for (told, changed, missed, believed) in [
            (19, 19, 0, false),
            (20, 20, 0, true),
            (20, 18, 0, true),
            (20, 17, 0, false),
            (20, 20, 1, true),
            (20, 20, 2, false),
            (0, 0, 30, false),
        ] {
            assert_eq!(after(told, changed, missed).is_true(), believed, "{told} {changed} {missed}");
        }
    }

    #[test]
    fn a_site_that_begins_to_lie_is_not_believed_for_long_and_one_that_begins_to_tell_the_truth_is() {
        let lies = (0..100).scan(after(5_000, 5_000, 0), |all, _| {
            *all = all.after_told(false);
            Some(all.is_true())
        });
        assert!(lies.into_iter().any(|believed| !believed));
        let mut truth = after(5_000, 0, 5_000);
        (0..5_000).for_each(|_| truth = truth.after_told(true));
        assert!(truth.is_true() && truth.told <= REMEMBERED, "{truth:?}");
    }
}
