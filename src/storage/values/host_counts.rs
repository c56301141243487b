//! What is counted for a host, and where it waits.

use super::ValueError;
use super::wire::{Reader, Wire, fields};
use crate::base::time::UnixMillis;

/// Ranks a queue can have.
pub const RANKS: usize = 8;

/// Where a host with URLs stands (I9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Place {
    /// Nowhere: it has no URL to fetch.
    #[default]
    None,
    /// In `waiting`.
    Waiting {
        /// Its best rank.
        rank: u8,
        /// Its place in the row.
        order: u64,
    },
    /// In `parked`.
    Parked {
        /// Not before this.
        time: UnixMillis,
    },
    /// In no row: the operator holds the host.
    Held,
}

fields! {
    /// What Store counts for one host in one crawl.
    #[derive(Default)]
    HostCounts {
        /// URLs in `queue`, by rank; those being fetched are still among them.
        queued: [u64; RANKS],
        /// By rank: no live queue entry lies below this order. Never past an uncommitted lease.
        heads: [u64; RANKS],
        /// URLs in `due`.
        due: u64,
        /// URLs done.
        done: u64,
        /// URLs that ended in an error.
        errors: u64,
        /// Bytes of bodies received.
        bytes: u64,
        /// Its entry in `waiting` or `parked`, if it is not held.
        place: Place,
    }
}

impl HostCounts {
    /// URLs in `queue`, all ranks together.
    #[must_use]
    pub fn queued_total(&self) -> u64 {
        self.queued.iter().fold(0, |sum, n| sum.saturating_add(*n))
    }

    /// The best rank that has URLs.
    #[must_use]
    pub fn best_rank(&self) -> Option<u8> {
        self.queued.iter().position(|n| *n > 0).and_then(|rank| u8::try_from(rank).ok())
    }
}

impl Wire for Place {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::None => out.push(0),
            Self::Waiting { rank, order } => {
                out.push(1);
                rank.put(out);
                order.put(out);
            }
            Self::Parked { time } => {
                out.push(2);
                time.put(out);
            }
            Self::Held => out.push(3),
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, ValueError> {
        Ok(match from.byte()? {
            0 => Self::None,
            1 => Self::Waiting { rank: u8::read(from)?, order: u64::read(from)? },
            2 => Self::Parked { time: UnixMillis::read(from)? },
            3 => Self::Held,
            _ => return Err(ValueError::Tag("place")),
        })
    }
}
