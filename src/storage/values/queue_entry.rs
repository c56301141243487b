//! One URL to fetch.

use super::ValueError;
use super::way::{put_way, take_way};
use super::wire::{Reader, Wire, fields};
use crate::base::time::UnixMillis;
use crate::domain::found_as::FoundAs;
use crate::domain::reach::Reach;
use crate::domain::revisit::RequeueReason;
use crate::domain::url::{PageUrl, Scheme, UrlError};

/// One URL to fetch; its host's name is in the host's state, so that a URL costs its tail only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueEntry {
    /// http or https.
    pub scheme: Scheme,
    /// The effective port.
    pub port: u16,
    /// Path and query, beginning with `/`.
    pub tail: String,
    /// Links from its seed.
    pub depth: u16,
    /// Links that are followed from that seed, as was said of it.
    pub limit: Option<u16>,
    /// Redirects that led here in a row.
    pub hops: u8,
    /// Fetches that failed so far.
    pub attempts: u8,
    /// True for a seed.
    pub seed: bool,
    /// As what it was found.
    pub found: FoundAs,
    /// When it was first found.
    pub discovered: UnixMillis,
    /// The seed it goes back to; `None` for a seed itself.
    pub origin: Option<String>,
    /// The page it was found on.
    pub via: Option<String>,
    /// When it was fetched last, and why it is queued once more; `None` for one that was not fetched yet.
    pub again: Option<LastTime>,
    /// How it is asked for, where that is not the canonical form ([`PageUrl::spelling`](crate::domain::url::PageUrl::spelling)).
    pub spelling: Option<String>,
}

impl QueueEntry {
    /// The URL on the host of this name.
    ///
    /// # Errors
    /// When they can be no canonical URL.
    pub fn url(&self, host: &str) -> Result<PageUrl, UrlError> {
        let url = PageUrl::from_parts(self.scheme, host, self.port, &self.tail)?;
        Ok(url.spelled(self.spelling.as_deref()))
    }
}

fields! {
    /// The last time of a URL that is fetched once more.
    LastTime {
        /// Its latest capture.
        captured: UnixMillis,
        /// Why it is queued again.
        why: RequeueReason,
    }
}

impl QueueEntry {
    /// The way to it.
    #[must_use]
    pub fn reach(&self) -> Reach {
        Reach { depth: self.depth, limit: self.limit }
    }
}

impl Wire for QueueEntry {
    fn put(&self, out: &mut Vec<u8>) {
        self.scheme.put(out);
        self.port.put(out);
        self.tail.put(out);
        self.depth.put(out);
        self.limit.put(out);
        self.hops.put(out);
        self.attempts.put(out);
        put_way((self.seed, self.found, self.again.is_some(), self.spelling.is_some()), out);
        self.discovered.put(out);
        self.origin.put(out);
        self.via.put(out);
        if let Some(again) = &self.again {
            again.put(out);
        }
        if let Some(spelling) = &self.spelling {
            spelling.put(out);
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, ValueError> {
        let (scheme, port, tail) = (Scheme::read(from)?, u16::read(from)?, String::read(from)?);
        let (depth, limit) = (u16::read(from)?, Option::read(from)?);
        let (hops, attempts) = (u8::read(from)?, u8::read(from)?);
        let (seed, found, again, spelled) = take_way(from)?;
        let discovered = UnixMillis::read(from)?;
        let (origin, via) = (Option::read(from)?, Option::read(from)?);
        let again = if again { Some(LastTime::read(from)?) } else { None };
        let spelling = if spelled { Some(String::read(from)?) } else { None };
        Ok(Self {
            scheme,
            port,
            tail,
            depth,
            limit,
            hops,
            attempts,
            seed,
            found,
            discovered,
            origin,
            via,
            again,
            spelling,
        })
    }
}
