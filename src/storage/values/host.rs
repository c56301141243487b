//! What is kept of a host: its name and pace, its counts, its robots.txt; and lists of hosts.

use std::time::Duration;

use super::ValueError;
use super::wire::{Reader, Wire, fields, fields_of, put_bytes, variants};
use crate::base::time::UnixMillis;
use crate::domain::orders::HostOrders;
use crate::domain::refresh::announced::BELIEVED;
use crate::domain::refresh::interval::{look_again_after, stretched};
use crate::domain::refresh::{Announced, FEW, Habit, Rate, Unpaid};
use crate::domain::robots::RobotsCopy;

fields! {
    /// What is known of a host, whatever the crawl.
    #[derive(Default)]
    HostState {
        /// Lower-case ASCII name; compared on each load, because keys are hashes.
        name: String,
        /// Its pace, as politeness writes it.
        pace: Vec<u8>,
        /// What the operator has said of it.
        orders: HostOrders,
        /// How often its pages change.
        rate: Rate,
    }
}

fields_of!(Rate { ln, weight });
fields_of!(Announced { told, proved, missed });
fields_of!(HostOrders { paused, blocked, dropping, recrawling, min_delay });

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
        /// Of these, pages whose content is that of another.
        repeats: u64,
        /// URLs that ended in an error.
        errors: u64,
        /// Bytes of bodies received.
        bytes: u64,
        /// Its entry in `waiting` or `parked`, if it is not held.
        place: Place,
        /// Pages of it that are visited again.
        visits: VisitCounts,
    }
}

fields! {
    /// The pages of a host that are visited again.
    #[derive(Default, Copy)]
    VisitCounts {
        /// Rows in `visits`.
        rows: u64,
        /// None of them lies before this.
        first: UnixMillis,
        /// Visits that are queued or in hands.
        queued: u32,
        /// Of them, those that new pages have not paid for yet.
        unpaid: Unpaid,
        /// Its row in `visit_hosts`.
        row: Option<UnixMillis>,
        /// Visits a day, in millionths, that its rows ask for.
        load: u64,
        /// By how much their intervals are longer than the pages deserve, in 1/256.
        stretch: u32,
        /// When that was looked at.
        looked: UnixMillis,
        /// How true its sitemaps proved.
        announced: Announced,
    }
}

fields! {
    /// One row of `visits`.
    #[derive(Copy)]
    VisitRow {
        /// Seconds between the visit before and this one, as planned.
        every: u32,
    }
}

impl VisitRow {
    /// Of a visit so long after the one before.
    pub fn after(interval: Duration) -> Self {
        Self { every: u32::try_from(interval.as_secs()).unwrap_or(u32::MAX).max(1) }
    }

    /// Its part of [`VisitCounts::load`].
    pub fn load(self) -> u64 {
        86_400_000_000 / u64::from(self.every.max(1))
    }
}

impl VisitCounts {
    /// When the next turn begins, where this many URLs of the host wait, visits and new pages: not while most of a turn is under way, or
    /// new pages go first.
    pub fn turn(&self, waiting: u64) -> Option<UnixMillis> {
        let new_first = self.unpaid.is_much() && self.new_wait(waiting);
        (self.rows > 0 && self.queued <= FEW && !new_first).then_some(self.first)
    }

    /// Whether some of the URLs that wait are no visits.
    pub fn new_wait(&self, waiting: u64) -> bool {
        waiting > self.queued.into()
    }

    /// By how much intervals are stretched.
    pub fn stretched(&self) -> f64 {
        f64::from(self.stretch.max(STRETCH_ONE)) / f64::from(STRETCH_ONE)
    }

    /// By how much the interval of such a page is: longer where a sitemap tells of its changes.
    pub fn stretched_for(&self, habit: &Habit) -> f64 {
        self.stretched() * if self.tells_of(habit) { BELIEVED } else { 1.0 }
    }

    /// Whether sitemaps tell of a page's changes, and are believed.
    pub fn tells_of(&self, habit: &Habit) -> bool {
        habit.named && self.announced.is_true()
    }

    /// The mean interval of its rows.
    pub fn mean_interval(&self) -> Duration {
        let seconds = u128::from(self.rows) * 86_400_000_000 / u128::from(self.load.max(1));
        Duration::from_secs(u64::try_from(seconds).unwrap_or(u64::MAX))
    }

    /// Its time has come at `date`: how late it is says by how much more is wanted than can be had.
    /// `most`: the greatest interval that there is.
    pub fn look(&mut self, date: UnixMillis, most: Duration) {
        let mean = self.mean_interval();
        if date.since(self.looked) >= look_again_after(mean) {
            let late = if mean < most.mul_f64(0.9) { date.since(self.first) } else { Duration::ZERO }; // longer helps no more
            let stretch = stretched(self.stretched(), late, mean);
            (self.stretch, self.looked) = ((stretch * f64::from(STRETCH_ONE)).round() as u32, date);
        }
    }
}

/// A stretch of 1.
const STRETCH_ONE: u32 = 256;

impl HostCounts {
    /// URLs that are done or were given up; those that are being visited again are so still.
    pub fn finished(&self) -> u64 {
        self.done.saturating_add(self.errors).saturating_add(self.visits.queued.into())
    }

    /// URLs that wait, those being fetched among them.
    pub fn waiting(&self) -> u64 {
        self.queued_total().saturating_add(self.due)
    }

    /// URLs in `queue`, all ranks together.
    pub fn queued_total(&self) -> u64 {
        self.queued.iter().fold(0, |sum, n| sum.saturating_add(*n))
    }

    /// The best rank that has URLs.
    pub fn best_rank(&self) -> Option<u8> {
        self.queued.iter().position(|n| *n > 0).and_then(|rank| u8::try_from(rank).ok())
    }
}

variants! {
    Place "place" {
        0 => None {},
        1 => Waiting { rank, order },
        2 => Parked { time },
        3 => Held {},
    }
}

/// Bytes of a robots.txt that are kept (RFC 9309 section 2.5 asks for at least 500 KiB).
pub const ROBOTS_TEXT_CAP: usize = 500 * 1024;

/// Shorter texts are stored as they are.
const PACK_FROM: usize = 512;
const LEVEL: i32 = 3;

/// A robots.txt as fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RobotsValue {
    /// What is known of it.
    pub copy: RobotsCopy,
    /// The text; what lies beyond [`ROBOTS_TEXT_CAP`] is not stored. Packed with zstd when that pays.
    pub text: Vec<u8>,
}

fields_of!(RobotsCopy { status, fetched, failures, retry_at });

impl Wire for RobotsValue {
    fn put(&self, out: &mut Vec<u8>) {
        self.copy.put(out);
        let text = self.text.get(..ROBOTS_TEXT_CAP).unwrap_or(&self.text);
        let packed = pack(text);
        packed.is_some().put(out);
        put_bytes(packed.as_deref().unwrap_or(text), out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, ValueError> {
        let copy = Wire::read(from)?;
        let (packed, stored) = (bool::read(from)?, from.take_bytes()?);
        let text = if packed {
            zstd::bulk::decompress(stored, ROBOTS_TEXT_CAP).map_err(|_| ValueError::Packed)?
        } else {
            stored.to_vec()
        };
        Ok(Self { copy, text })
    }
}

/// The packed text, when it is long enough to try and shorter for it.
fn pack(text: &[u8]) -> Option<Vec<u8>> {
    if text.len() < PACK_FROM {
        return None;
    }
    zstd::bulk::compress(text, LEVEL).ok().filter(|packed| packed.len() < text.len())
}

/// A host that joined the scope while crawling, as a seed or by a seed's redirect; whatever `scope.mode` was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinedHost(pub String);

/// Hosts of which orders of the operator stand; what they are is in their [`HostState`](super::HostState).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OrderedHosts(pub Vec<String>);
