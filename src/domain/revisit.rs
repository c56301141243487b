//! When a URL that was fetched is fetched once more: what is said of it, and how often that has proved true.

use std::time::Duration;

use super::coded::codes;
use crate::base::time::UnixMillis;

codes! {
    /// Why a URL that was fetched is queued once more.
    RequeueReason {
        /// The operator wants its host crawled anew.
        Recrawl = 1, "recrawl";
        /// It is a sitemap, and `sitemaps.revisit` has passed.
        Sitemap = 2, "sitemap";
        /// A sitemap says that it was changed since.
        Lastmod = 3, "lastmod";
        /// It redirected, and a redirect leads back to it: with the cookies set on the way it may answer otherwise.
        Cookies = 4, "cookies";
        /// It redirected, and a redirect leads to it under another spelling: so asked it may answer otherwise.
        Spelling = 5, "spelling";
        /// The connection ended before its body did: what came is kept until something better comes.
        Cut = 6, "cut";
        /// A way to it was found by which more of its links may be followed.
        Depth = 7, "depth";
        /// It was gone or given up, and is tried once more.
        GivenUp = 8, "given_up";
    }
}

impl RequeueReason {
    /// True when it is a redirect that leads back to it.
    pub fn is_led(self) -> bool {
        matches!(self, Self::Cookies | Self::Spelling)
    }
}

/// What is remembered of the last fetch of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastVisit {
    /// When its request was sent.
    pub captured: UnixMillis,
    /// How often in a row it was found unchanged until then.
    pub unchanged: u8,
}

/// So many times the rest of a page that proved unchanged is doubled; no more.
const MOST_DOUBLINGS: u8 = 10;

impl LastVisit {
    /// Whether a sitemap's `lastmod` is reason to fetch the page again. Not when it lies in the future, for it would be newer than
    /// every visit; and not before the page has rested: `gap`, doubled for each time in a row that it had not changed after all.
    /// So a site that says "now" of every page at every reading is believed less and less.
    pub fn is_outdated_by(&self, lastmod: UnixMillis, now: UnixMillis, gap: Duration) -> bool {
        if self.captured > now {
            return lastmod <= now; // dated by a clock that was wrong: when it was fetched nobody knows
        }
        lastmod > self.captured && lastmod <= now && now.since(self.captured) >= self.rest(gap)
    }

    fn rest(&self, gap: Duration) -> Duration {
        gap.saturating_mul(1 << self.unchanged.min(MOST_DOUBLINGS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::cases::check;

    const HOUR: Duration = Duration::from_secs(3_600);
    const NOW: u64 = 2_000 * 3_600_000;

    #[test]
    fn a_page_is_outdated_by_a_later_date_that_is_past_when_it_has_rested() {
        let ago = |hours: &str| UnixMillis(NOW.saturating_add_signed(-hours.parse::<i64>().unwrap() * 3_600_000));
        check(include_str!("../../tests/data/visits.txt"), |[captured, unchanged, lastmod]| {
            let visit = LastVisit { captured: ago(captured), unchanged: unchanged.parse().unwrap() };
            [if visit.is_outdated_by(ago(lastmod), UnixMillis(NOW), HOUR) { "yes" } else { "no" }]
        });
        let visit = LastVisit { captured: ago("10"), unchanged: 0 };
        assert!(!visit.is_outdated_by(UnixMillis(NOW + 1), UnixMillis(NOW), HOUR), "a moment in the future");
    }

    #[test]
    fn a_site_that_says_now_at_every_reading_is_asked_ever_more_seldom() {
        let mut visit = LastVisit { captured: UnixMillis(0), unchanged: 0 };
        let mut visits = 0;
        for hour in 1..=24 * 365_u64 {
            let now = UnixMillis(hour * 3_600_000);
            if visit.is_outdated_by(now, now, HOUR) {
                visit = LastVisit { captured: now, unchanged: visit.unchanged.saturating_add(1) };
                visits += 1;
            }
        }
        assert_eq!(visits, 10 + 7, "after ten doublings every 1,024 hours");
    }
}
