//! Endless subtrees: limits of a URL; what many URLs and pages of a host show, see [`Shapes`].

mod aliases;
mod counted;
mod date;
mod known;
mod shape;
mod shapes;
mod yields;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::reason::Rejection;
use super::url::PageUrl;

pub use shapes::{Finder, HeldShape, Refusal, ShapeRules, Shapes, Turn};

/// The longest sequence of segments looked at as one repeated thing; bounds the work on hostile paths.
const MAX_BLOCK: usize = 32;

/// Limits of a URL. 0 switches one off; what is not set is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrapRules {
    /// The longest URL, in bytes of its canonical form.
    pub max_url_length: usize,
    /// The most path segments; empty ones (`//`, a final `/`) are not counted.
    pub max_segments: Option<usize>,
    /// How often path segments may stand one after another: more than this many copies in direct succession of one
    /// segment, or of one sequence of up to 32 segments, are too many (with 2: `/a/a/a`, `/a/b/a/b/a/b`). So are more than
    /// twice as many copies, anywhere in the path, of one segment with a letter in it (with 2: `/a/1/a/2/a/3/a/4/a`).
    /// Empty segments are not counted; case matters.
    pub max_repeats: Option<usize>,
    /// The most query parameters: parts between `&`, empty ones not counted.
    pub max_params: Option<usize>,
}

impl Default for TrapRules {
    fn default() -> Self {
        Self { max_url_length: 2_000, max_segments: None, max_repeats: None, max_params: None }
    }
}

impl TrapRules {
    /// Whether the URL passes; the first limit exceeded decides, in the order of the fields.
    ///
    /// # Errors
    /// `TooLong`, `Segments`, `Repeats` or `Params`.
    pub fn judge(&self, url: &PageUrl) -> Result<(), Rejection> {
        if over(url.as_str().len(), self.max_url_length) {
            return Err(Rejection::TooLong);
        }
        if self.max_segments.is_some() || self.max_repeats.is_some() {
            let segments = segments(url);
            if over(segments.len(), self.max_segments.unwrap_or(0)) {
                return Err(Rejection::Segments);
            }
            if repeats(&segments, self.max_repeats.unwrap_or(0)) {
                return Err(Rejection::Repeats);
            }
        }
        if self.max_params.is_some_and(|most| over(params(url), most)) { Err(Rejection::Params) } else { Ok(()) }
    }

    /// The verdict of [`TrapRules::judge`], and when that is no the rule that gave it, in words.
    ///
    /// # Errors
    /// As [`TrapRules::judge`].
    pub fn explain(&self, url: &PageUrl) -> Result<(), (Rejection, String)> {
        self.judge(url).map_err(|reason| {
            let limit = |set: Option<usize>| set.unwrap_or(0);
            let rule = match reason {
                Rejection::TooLong => {
                    format!("{} bytes are more than max_url_length {}", url.as_str().len(), self.max_url_length)
                }
                Rejection::Segments => {
                    let (n, most) = (segments(url).len(), limit(self.max_segments));
                    format!("{n} path segments are more than max_segments {most}")
                }
                Rejection::Params => {
                    format!("{} parameters are more than max_params {}", params(url), limit(self.max_params))
                }
                _ => {
                    let most = limit(self.max_repeats);
                    format!("path segments are repeated more often than max_repeats {most} allows")
                }
            };
            (reason, rule)
        })
    }
}

fn repeats(segments: &[&str], max: usize) -> bool {
    max > 0 && (succession(segments, max) || anywhere(segments, max))
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
    use crate::domain::cases::check;
    use crate::domain::url::{Canonicaliser, CleanRules};

    fn url(tail: &str) -> PageUrl {
        let rules = CleanRules { max_url_length: 50_000, ..CleanRules::default() };
        Canonicaliser::new(rules).parse(&format!("http://a.org{tail}")).unwrap()
    }

    /// With the limits that a user may set.
    const LIMITS: TrapRules =
        TrapRules { max_url_length: 2_000, max_segments: Some(20), max_repeats: Some(2), max_params: Some(20) };

    /// The verdict with limits. Without them the same URLs pass.
    fn by_limits(tail: &str) -> Result<(), Rejection> {
        let verdict = LIMITS.judge(&url(tail));
        if verdict != Err(Rejection::TooLong) {
            assert_eq!(TrapRules::default().judge(&url(tail)), Ok(()), "{tail}");
        }
        verdict
    }

    #[test]
    fn a_url_at_each_limit_passes_and_one_beyond_it_does_not() {
        let nested = |n: usize| (0..n).map(|nth| format!("/{nth}")).collect::<String>();
        assert_eq!(by_limits(&nested(20)), Ok(()));
        assert_eq!(by_limits(&format!("{}/", nested(20))), Ok(()));
        assert_eq!(by_limits(&nested(21)), Err(Rejection::Segments));
        let query = |n: usize| format!("/?{}", (0..n).map(|nth| format!("a{nth}=1&")).collect::<String>());
        assert_eq!(by_limits(&query(20)), Ok(()));
        assert_eq!(by_limits(&query(21)), Err(Rejection::Params));
        let long = |n: usize| format!("/{}", "x".repeat(n - "http://a.org/".len()));
        assert_eq!(by_limits(&long(2_000)), Ok(()));
        assert_eq!(by_limits(&long(2_001)), Err(Rejection::TooLong));
    }

    #[test]
    fn copies_of_segments_are_counted_as_the_table_says() {
        check(include_str!("../../../tests/data/repeats.txt"), |[path]| {
            [by_limits(path).map_or_else(Rejection::as_str, |()| "fine")]
        });
    }

    #[test]
    fn the_rule_that_says_no_is_named_with_its_limit() {
        let explained = |tail: &str| LIMITS.explain(&url(tail));
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
    fn a_limit_of_zero_is_no_limit() {
        let (max_segments, max_repeats, max_params) = (Some(0), Some(0), Some(0));
        let none = TrapRules { max_url_length: 0, max_segments, max_repeats, max_params };
        assert_eq!(none.judge(&url(&format!("{}?{}", "/a".repeat(3_000), "b&".repeat(3_000)))), Ok(()));
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
