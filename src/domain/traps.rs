//! Endless spaces seen from the URL alone: too long, too deep, going round in circles, too many parameters.

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::reason::Rejection;
use super::url::PageUrl;

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
}

impl Default for TrapRules {
    fn default() -> Self {
        Self { max_url_length: 2_000, max_segments: 20, max_repeats: 2, max_params: 20 }
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
        let segments: SmallVec<[&str; 24]> = url.path().split('/').filter(|segment| !segment.is_empty()).collect();
        if over(segments.len(), self.max_segments) {
            return Err(Rejection::Segments);
        }
        if self.max_repeats > 0 && (succession(&segments, self.max_repeats) || anywhere(&segments, self.max_repeats)) {
            return Err(Rejection::Repeats);
        }
        let params = url.query().map_or(0, |query| query.split('&').filter(|part| !part.is_empty()).count());
        if over(params, self.max_params) { Err(Rejection::Params) } else { Ok(()) }
    }
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
