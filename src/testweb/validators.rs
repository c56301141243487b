//! ETag, Last-Modified and 304 (RFC 9110, sections 8.8 and 13.1): as they are, or as some servers have them.

use std::str::FromStr;
use std::time::{Duration, UNIX_EPOCH};

use super::dice::{Salt, pick};
use super::http::Request;
use super::shape::Shape;
use crate::base::kinds::kinds;

kinds! {
    /// What the validators of pages are.
    #[derive(Default)]
    Validators {
        /// There are none.
        #[default]
        None = "none",
        /// True: an ETag, a Last-Modified, or both, and 304 when nothing has changed. Pages with noise have none.
        True = "true",
        /// An ETag that never changes, and 304 to everybody who names any.
        Always304 = "always-304",
        /// Another ETag in each answer, and never 304.
        NewEtag = "new-etag",
    }
}

impl FromStr for Validators {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::named(text)
            .ok_or_else(|| format!("no validators are called {text:?}; known: none, true, always-304, new-etag"))
    }
}

/// What is said of a page's age.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Said {
    pub etag: Option<String>,
    pub modified: Option<String>,
    /// Whether the answer is 304.
    pub unchanged: bool,
}

/// Which a page with true validators has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    Both,
    Etag,
    Modified,
}

impl Said {
    /// Of a content with this name (another for each that shows it otherwise), to this request, the `nth` of all.
    pub(super) fn of(shape: &Shape, (host, content, name): (u32, u32, u32), request: &Request, nth: u64) -> Self {
        let tag = |time: u64| format!("\"{:016x}\"", shape.dice.draw_at(Salt::Validators, (host, content), time, name));
        let asked = !request.if_none_match.is_empty() || !request.if_modified_since.is_empty();
        match shape.config.validators {
            Validators::None => Self::default(),
            Validators::True if shape.noise(host, content).is_some() => Self::default(),
            Validators::True => Self::truth(shape, (host, content), &tag, request),
            Validators::Always304 => Self { etag: Some(tag(0)), modified: None, unchanged: asked },
            Validators::NewEtag => Self { etag: Some(tag(nth)), ..Self::default() },
        }
    }

    fn truth(shape: &Shape, (host, content): (u32, u32), tag: &dyn Fn(u64) -> String, request: &Request) -> Self {
        let changed_us = shape.last_change(host, content).map_or(shape.first_us(), |change| change.at_us);
        // Whole seconds: rounded up, and not told before they are over, so that no later change has the same.
        let second = changed_us.div_ceil(1_000_000);
        let modified = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(second));
        let etag = tag(changed_us);
        let unchanged = if request.if_none_match.is_empty() {
            httpdate::parse_http_date(&request.if_modified_since)
                .is_ok_and(|since| since >= UNIX_EPOCH + Duration::from_micros(changed_us))
        } else {
            request.if_none_match.split(',').any(|known| matches!(known.trim(), "*") || known.trim() == etag)
        };
        let draw = shape.dice.draw(Salt::Validators, host, content, 0);
        let which = pick(draw, &[Which::Both, Which::Both, Which::Etag, Which::Modified], Which::Both);
        Self {
            etag: Some(etag).filter(|_| which != Which::Modified),
            modified: Some(modified).filter(|_| which != Which::Etag && second * 1_000_000 <= shape.at_us),
            unchanged,
        }
    }
}
