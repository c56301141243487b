//! A URL given up.

use super::ValueError;
use super::way::{put_way, take_way};
use super::wire::{Reader, Wire};
use crate::base::time::UnixMillis;
use crate::domain::found_as::FoundAs;
use crate::domain::reason::Failure;

/// A URL given up, in full, so that it can be told of and tried again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedValue {
    /// The URL.
    pub url: String,
    /// Why.
    pub reason: Failure,
    /// The status of the last answer, if there was one.
    pub status: Option<u16>,
    /// When it was given up.
    pub when: UnixMillis,
    /// The capture of that answer.
    pub captured: Option<UnixMillis>,
    /// Fetches that failed.
    pub attempts: u8,
    /// Links from its seed.
    pub depth: u16,
    /// Links that are followed from that seed, as was said of it.
    pub limit: Option<u16>,
    /// Redirects that led here in a row.
    pub hops: u8,
    /// True for a seed.
    pub seed: bool,
    /// As what it was found.
    pub found: FoundAs,
    /// When it was first found.
    pub discovered: UnixMillis,
    /// The seed it goes back to; `None` for a seed itself.
    pub origin: Option<String>,
    /// The page it was first found on.
    pub via: Option<String>,
    /// How it was asked for, where that is not the canonical form.
    pub spelling: Option<String>,
}

impl Wire for FailedValue {
    fn put(&self, out: &mut Vec<u8>) {
        self.url.put(out);
        self.reason.put(out);
        self.status.put(out);
        self.when.put(out);
        self.captured.put(out);
        self.attempts.put(out);
        self.depth.put(out);
        self.limit.put(out);
        self.hops.put(out);
        put_way((self.seed, self.found, false, self.spelling.is_some()), out);
        self.discovered.put(out);
        self.origin.put(out);
        self.via.put(out);
        if let Some(spelling) = &self.spelling {
            spelling.put(out);
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, ValueError> {
        let (url, reason, status) = (String::read(from)?, Failure::read(from)?, Option::read(from)?);
        let (when, captured, attempts) = (UnixMillis::read(from)?, Option::read(from)?, u8::read(from)?);
        let (depth, limit, hops) = (u16::read(from)?, Option::read(from)?, u8::read(from)?);
        let (seed, found, again, spelled) = take_way(from)?;
        if again {
            return Err(ValueError::Tag("way of being found"));
        }
        let discovered = UnixMillis::read(from)?;
        let (origin, via) = (Option::read(from)?, Option::read(from)?);
        let spelling = if spelled { Some(String::read(from)?) } else { None };
        Ok(Self {
            url,
            reason,
            status,
            when,
            captured,
            attempts,
            depth,
            limit,
            hops,
            seed,
            found,
            discovered,
            origin,
            via,
            spelling,
        })
    }
}
