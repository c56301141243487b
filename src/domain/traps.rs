//! Endless spaces seen from the URL alone: too long, too deep, going round in circles, too many parameters.

mod counted;
mod date;
mod ids;
mod known;
mod news;
mod permuted;
mod shape;
mod shapes;
mod yields;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::reason::Rejection;
use super::time::UnixMillis;
use super::url::PageUrl;

pub use news::{PageRuns, Run, Shown};
pub use shapes::{Finder, ShapeRules, Shapes};

/// The longest sequence of segments looked at as one repeated thing; bounds the work on hostile paths.
const MAX_BLOCK: usize = 32;

/// What no page's URL has. A limit of 0 switches its check off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrapRules {
    /// The longest URL, in bytes of its canonical form.
    pub max_url_length: usize,
    /// The most path segments; empty ones (`//`, a final `/`) are not counted.
    pub max_segments: usize,
    /// How often path segments may stand one after another: more than this many copies in direct succession of one
    /// segment, or of one sequence of up to 32 segments, are a trap (with 2: `/a/a/a`, `/a/b/a/b/a/b`). So are more than
    /// twice as many copies, anywhere in the path, of one segment with a letter in it (with 2: `/a/1/a/2/a/3/a/4/a`).
    /// Empty segments are not counted; case matters.
    pub max_repeats: usize,
    /// The most query parameters: parts between `&`, empty ones not counted.
    pub max_params: usize,
    /// Whether a month more than two years ahead is turned away, and in a query one before 1970.
    pub calendar: bool,
}

impl Default for TrapRules {
    fn default() -> Self {
        Self { max_url_length: 2_000, max_segments: 20, max_repeats: 2, max_params: 20, calendar: true }
    }
}

impl TrapRules {
    /// Whether the URL passes; the first limit exceeded decides, in the order of the fields.
    ///
    /// # Errors
    /// `TooLong`, `Segments`, `Repeats`, `Params` or `Calendar`.
    pub fn judge(&self, url: &PageUrl, now: UnixMillis) -> Result<(), Rejection> {
        if over(url.as_str().len(), self.max_url_length) {
            return Err(Rejection::TooLong);
        }
        let segments = segments(url);
        if over(segments.len(), self.max_segments) {
            return Err(Rejection::Segments);
        }
        if self.max_repeats > 0 && (succession(&segments, self.max_repeats) || anywhere(&segments, self.max_repeats)) {
            return Err(Rejection::Repeats);
        }
        if over(params(url), self.max_params) {
            return Err(Rejection::Params);
        }
        if self.calendar && date::is_out_of_time(url, now) { Err(Rejection::Calendar) } else { Ok(()) }
    }

    /// The verdict of [`TrapRules::judge`], and when that is no the rule that gave it, in words.
    ///
    /// # Errors
    /// As [`TrapRules::judge`].
    pub fn explain(&self, url: &PageUrl, now: UnixMillis) -> Result<(), (Rejection, String)> {
        self.judge(url, now).map_err(|reason| {
            let rule = match reason {
                Rejection::TooLong => {
                    format!("{} bytes are more than max_url_length {}", url.as_str().len(), self.max_url_length)
                }
                Rejection::Segments => {
                    format!("{} path segments are more than max_segments {}", segments(url).len(), self.max_segments)
                }
                Rejection::Calendar => {
                    "it names a month of a year that no page can be about (traps.calendar)".to_owned()
                }
                Rejection::Params => format!("{} parameters are more than max_params {}", params(url), self.max_params),
                _ => format!("path segments are repeated more often than max_repeats {} allows", self.max_repeats),
            };
            (reason, rule)
        })
    }
}

fn segments(url: &PageUrl) -> SmallVec<[&str; 24]> {
    url.path().split('/').filter(|segment| !segment.is_empty()).collect()
}

fn params(url: &PageUrl) -> usize {
    url.query().map_or(0, |query| query.split('&').filter(|part| !part.is_empty()).count())
}

fn over(count: usize, limit: usize) -> bool {
    limit > 0 && count > limit
}

/// Whether some block of segments stands more than `max` times in direct succession.
fn succession(segments: &[&str], max: usize) -> bool {
    let longest = (segments.len() / max.saturating_add(1)).min(MAX_BLOCK);
    (1..=longest).any(|block| {
        let mut equal = 0;
        segments.iter().zip(segments.iter().skip(block)).any(|(here, there)| {
            equal = if here == there { equal + 1 } else { 0 };
            equal >= block.saturating_mul(max)
        })
    })
}

/// Whether some segment with a letter occurs more than `2 * max` times.
fn anywhere(segments: &[&str], max: usize) -> bool {
    let limit = max.saturating_mul(2);
    if segments.len() <= limit {
        return false;
    }
    let mut sorted: SmallVec<[&str; 24]> =
        segments.iter().copied().filter(|segment| segment.bytes().any(|b| b.is_ascii_alphabetic())).collect();
    sorted.sort_unstable();
    sorted.iter().zip(sorted.iter().skip(limit)).any(|(first, last)| first == last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::url::Canonicaliser;

    /// In 2026.
    const NOW: UnixMillis = UnixMillis(1_780_000_000_000);

    fn judged(rules: TrapRules, tail: &str) -> Result<(), Rejection> {
        let rules_of_text = crate::domain::url::CleanRules { max_url_length: 50_000, ..Default::default() };
        let url = Canonicaliser::new(rules_of_text).parse(&format!("http://a.org{tail}")).unwrap();
        rules.judge(&url, NOW)
    }

    fn by_default(tail: &str) -> Result<(), Rejection> {
        judged(TrapRules::default(), tail)
    }

    #[test]
    fn a_url_at_each_limit_passes_and_one_beyond_it_does_not() {
        let nested = |n: usize| (0..n).map(|nth| format!("/{nth}")).collect::<String>();
        assert_eq!(by_default(&nested(20)), Ok(()));
        assert_eq!(by_default(&format!("{}/", nested(20))), Ok(()));
        assert_eq!(by_default(&nested(21)), Err(Rejection::Segments));
        let query = |n: usize| format!("/?{}", (0..n).map(|nth| format!("a{nth}=1&")).collect::<String>());
        assert_eq!(by_default(&query(20)), Ok(()));
        assert_eq!(by_default(&query(21)), Err(Rejection::Params));
        let long = |n: usize| format!("/{}", "x".repeat(n - "http://a.org/".len()));
        assert_eq!(by_default(&long(2_000)), Ok(()));
        assert_eq!(by_default(&long(2_001)), Err(Rejection::TooLong));
    }

    #[test]
    fn copies_in_direct_succession_are_counted_for_segments_and_for_sequences() {
        for fine in ["/a/a", "/a/a/b/a", "/a/b/a/b", "/2011/11/11/11-title", "/x/a/b/c/a/b/c", "/a/b/a/a/b/a", "/a/A/a"]
        {
            assert_eq!(by_default(fine), Ok(()), "{fine}");
        }
        for trap in ["/a/a/a", "/a//a///a/", "/x/a/a/a/y", "/a/b/a/b/a/b", "/z/a/b/c/a/b/c/a/b/c/y", "/1/1/1"] {
            assert_eq!(by_default(trap), Err(Rejection::Repeats), "{trap}");
        }
    }

    #[test]
    fn copies_anywhere_are_counted_for_segments_with_a_letter() {
        assert_eq!(by_default("/a/1/a/2/a/3/a/4"), Ok(()));
        assert_eq!(by_default("/a/1/a/2/a/3/a/4/a"), Err(Rejection::Repeats));
        assert_eq!(by_default("/0/a/0/b/0/c/0/d/0"), Ok(()));
    }

    #[test]
    fn the_rule_that_says_no_is_named_with_its_limit() {
        let canon = crate::domain::url::Canonicaliser::new(crate::domain::url::CleanRules {
            max_url_length: 50_000,
            ..Default::default()
        });
        let explained =
            |tail: &str| TrapRules::default().explain(&canon.parse(&format!("http://a.org{tail}")).unwrap(), NOW);
        assert_eq!(explained("/a"), Ok(()));
        for (tail, reason, part) in [
            (format!("/{}", "x".repeat(2_000)), Rejection::TooLong, "2013 bytes are more than max_url_length 2000"),
            ("/1/2/3".repeat(7), Rejection::Segments, "21 path segments are more than max_segments 20"),
            ("/a/a/a".into(), Rejection::Repeats, "max_repeats 2"),
            (format!("/?{}", "a=1&".repeat(21)), Rejection::Params, "21 parameters are more than max_params 20"),
        ] {
            let (found, rule) = explained(&tail).unwrap_err();
            assert!(found == reason && rule.contains(part), "{found} {rule}");
        }
    }

    #[test]
    fn months_that_no_page_can_be_about_are_turned_away() {
        for trap in [
            "/c?y=2031&m=5",
            "/c?month=5&year=2031",
            "/c?date=2031-05-01",
            "/c?date=20310501",
            "/c?cal=1231-05",
            "/2031/05/",
            "/cal/2031-02/",
            "/cal/2031-02-28",
            "/c?week=3&year=2040",
        ] {
            assert_eq!(by_default(trap), Err(Rejection::Calendar), "{trap}");
        }
        for fine in [
            "/c?y=2028&m=5",
            "/c?y=1999&m=12",
            "/2031/",
            "/2031",
            "/archive/1850/12/24",
            "/climate?year=1850&month=12",
            "/news/2567/08/7.html",
            "/news?year=2567&month=8",
            "/news?year=1402&month=8",
            "/news?date=5787-08-08",
            "/plz/2207/08/",
            "/paper/1850-12-24/1",
            "/paper/2031-13",
            "/plan/2031-02-28-what-will-be",
            "/phone/2031-0512",
            "/item?id=2031&m=1x",
            "/c?year=2031",
            "/c?y=31&m=5",
            "/9999/05/",
            "/rfc/2031/5",
            "/c?date=2031",
            "/c?from=20319",
        ] {
            assert_eq!(by_default(fine), Ok(()), "{fine}");
        }
        let off = TrapRules { calendar: false, ..TrapRules::default() };
        assert_eq!(judged(off, "/c?y=2031&m=5"), Ok(()));
    }

    #[test]
    fn a_limit_of_zero_is_no_limit() {
        let none = TrapRules { max_url_length: 0, max_segments: 0, max_repeats: 0, max_params: 0, calendar: false };
        assert_eq!(judged(none, &format!("{}?{}", "/a".repeat(3_000), "b&".repeat(3_000))), Ok(()));
    }

    proptest::proptest! {
        #[test]
        fn the_quick_count_of_succession_agrees_with_the_plain_one(segments in proptest::collection::vec("[ab]", 0..12), max in 1_usize..4) {
            let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
            let plain = (1..=segments.len()).any(|block| segments.windows(block * (max + 1)).any(|window| {
                window.chunks(block).all(|chunk| chunk == &window[..block])
            }));
            proptest::prop_assert_eq!(succession(&segments, max), plain);
        }
    }
}
