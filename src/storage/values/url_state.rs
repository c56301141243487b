//! The state of a URL.

use super::wire::{Reader, Wire};
use super::{DoneKind, ValueError};
use crate::base::time::UnixMillis;
use crate::domain::reach::Reach;
use crate::domain::reason::{Failure, Rejection};

/// The one state a URL is in (I2). Being fetched is not told apart from waiting: it exists in memory only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UrlState {
    /// In `queue` at this rank and order, or in `due`.
    Waiting {
        /// Rank in the queue, also of an entry in `due`.
        rank: u8,
        /// Order in the queue; without meaning for an entry in `due`.
        order: u64,
        /// The best way known to it.
        reach: Reach,
        /// Its time in `due`, when it lies there and not in `queue`.
        due: Option<UnixMillis>,
    },
    /// Fetched.
    Done {
        /// Time of the latest capture, which with this key makes its key in `pages`.
        captured: UnixMillis,
        /// How it ended.
        how: DoneKind,
        /// The way to it by which its links were judged.
        reach: Reach,
    },
    /// Given up.
    Error {
        /// Why.
        reason: Failure,
    },
    /// Turned away.
    Rejected {
        /// Why.
        reason: Rejection,
        /// The generation of rules that said so.
        generation: u32,
        /// The best way known to it.
        reach: Reach,
    },
}

/// The value of `seen`.
pub type SeenValue = UrlState;

impl Wire for Reach {
    fn put(&self, out: &mut Vec<u8>) {
        self.depth.put(out);
        self.limit.put(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, ValueError> {
        Ok(Self { depth: u16::read(from)?, limit: Option::read(from)? })
    }
}

impl Wire for UrlState {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Waiting { rank, order, reach, due } => {
                out.push(0);
                rank.put(out);
                order.put(out);
                reach.put(out);
                due.put(out);
            }
            Self::Done { captured, how, reach } => {
                out.push(1);
                captured.put(out);
                how.put(out);
                reach.put(out);
            }
            Self::Error { reason } => {
                out.push(2);
                reason.put(out);
            }
            Self::Rejected { reason, generation, reach } => {
                out.push(3);
                reason.put(out);
                generation.put(out);
                reach.put(out);
            }
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, ValueError> {
        Ok(match from.byte()? {
            0 => Self::Waiting {
                rank: u8::read(from)?,
                order: u64::read(from)?,
                reach: Reach::read(from)?,
                due: Option::read(from)?,
            },
            1 => {
                Self::Done { captured: UnixMillis::read(from)?, how: DoneKind::read(from)?, reach: Reach::read(from)? }
            }
            2 => Self::Error { reason: Failure::read(from)? },
            3 => Self::Rejected {
                reason: Rejection::read(from)?,
                generation: u32::read(from)?,
                reach: Reach::read(from)?,
            },
            _ => return Err(ValueError::Tag("URL state")),
        })
    }
}
