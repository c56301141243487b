//! What is kept of a URL: its state, and the URL itself while it waits, was given up or was turned away.

use super::wire::{Reader, Wire, fields, fields_of, put_each, read_each, variants};
use super::{DoneKind, ValueError};
use crate::base::time::UnixMillis;
use crate::domain::found_as::FoundAs;
use crate::domain::priority::Weight;
use crate::domain::reach::Reach;
use crate::domain::reason::{Failure, Rejection};
use crate::domain::refresh::Cycle;
use crate::domain::revisit::RequeueReason;
use crate::domain::url::{PageUrl, Scheme, UrlError};

/// The one state a URL is in (I2). Being fetched is not told apart from waiting: it exists in memory only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each name says it")]
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
        how: DoneKind,
        /// The best way known to it: that by which its links were judged, unless it stands in `nearer`.
        reach: Reach,
    },
    /// Given up.
    Error { reason: Failure },
    /// Turned away.
    Rejected {
        reason: Rejection,
        /// The generation of rules that said so.
        generation: u32,
        /// The best way known to it.
        reach: Reach,
    },
}

fields_of!(Reach { depth, limit });

variants! {
    UrlState "URL state" {
        0 => Waiting { rank, order, reach, due },
        1 => Done { captured, how, reach },
        2 => Error { reason },
        3 => Rejected { reason, generation, reach },
    }
}

const AGAIN: u8 = 0x40;
const SPELLED: u8 = 0x80;

/// As what a URL was found, in one byte: bit 0 says that it is a seed, the five above are [`FoundAs::code`], bit 6 says that it
/// was fetched before, bit 7 that it is asked for under another spelling than the canonical one.
fn put_way((seed, found, again, spelled): (bool, FoundAs, bool, bool), out: &mut Vec<u8>) {
    let bit = |is: bool, bit: u8| if is { bit } else { 0 };
    out.push(u8::from(seed) | (found.code() << 1) | bit(again, AGAIN) | bit(spelled, SPELLED));
}

/// Reads what [`put_way`] wrote; `may`: which of the last two bits there may be.
fn take_way(from: &mut Reader<'_>, may: u8) -> Result<(bool, FoundAs, bool, bool), ValueError> {
    let byte = u8::read(from)?;
    let code = (byte & !may) >> 1;
    let found = FoundAs::from_code(code).ok_or(ValueError::Tag("way of being found"))?;
    Ok((byte & 1 == 1, found, byte & AGAIN != 0, byte & SPELLED != 0))
}

/// Writes a URL: these fields in this order, the byte of [`put_way`], where it comes from, and what that byte says is there.
macro_rules! with_way {
    ($name:ident { $($field:ident),* } $may:expr $(, $again:ident)?) => {
        impl Wire for $name {
            fn put(&self, out: &mut Vec<u8>) {
                put_each!(self, out, $($field),*);
                let again = false $(|| self.$again.is_some())?;
                put_way((self.seed, self.found, again, self.spelling.is_some()), out);
                put_each!(self, out, discovered, origin, via);
                $(self.$again.iter().for_each(|again| again.put(out));)?
                self.spelling.iter().for_each(|spelling| spelling.put(out));
            }

            fn read(from: &mut Reader<'_>) -> Result<Self, ValueError> {
                read_each!(from, $($field),*);
                let (seed, found, _is_again, spelled) = take_way(from, $may)?;
                read_each!(from, discovered, origin, via);
                $(let $again = _is_again.then(|| Wire::read(from)).transpose()?;)?
                let spelling = spelled.then(|| Wire::read(from)).transpose()?;
                Ok(Self { $($field,)* seed, found, discovered, origin, via, $($again,)? spelling })
            }
        }
    };
}

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
    /// How important it is among the pages of its site, in hundredths, as a sitemap says.
    pub priority: Option<u8>,
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
    /// Whether it is a page that is visited again because its cycle says so.
    pub fn is_visit(&self) -> bool {
        self.again.is_some_and(|last| last.why == RequeueReason::Cycle)
    }

    /// A link found now, so many links from its seed, of which nothing else is known.
    pub fn new(url: &PageUrl, depth: u16, discovered: UnixMillis) -> Self {
        Self {
            scheme: url.scheme(),
            port: url.port(),
            tail: url.tail().to_owned(),
            depth,
            limit: None,
            hops: 0,
            attempts: 0,
            priority: None,
            seed: false,
            found: FoundAs::Link,
            discovered,
            origin: None,
            via: None,
            again: None,
            spelling: url.spelling().map(str::to_owned),
        }
    }

    /// The URL on the host of this name.
    ///
    /// # Errors
    /// When they can be no canonical URL.
    pub fn url(&self, host: &str) -> Result<PageUrl, UrlError> {
        let url = PageUrl::from_parts(self.scheme, host, self.port, &self.tail)?;
        Ok(url.spelled(self.spelling.as_deref()))
    }

    /// The way to it.
    pub fn reach(&self) -> Reach {
        Reach { depth: self.depth, limit: self.limit }
    }
}

fields! {
    /// The last time of a URL that is fetched once more.
    #[derive(Copy)]
    LastTime {
        /// Its latest capture.
        captured: UnixMillis,
        /// Why it is queued again.
        why: RequeueReason,
        /// Visits in a row that found it given up still.
        visits: u8,
    }
}

impl LastTime {
    /// Of one that was there.
    pub fn new(captured: UnixMillis, why: RequeueReason) -> Self {
        Self { captured, why, visits: 0 }
    }
}

with_way!(QueueEntry { scheme, port, tail, depth, limit, hops, attempts, priority } AGAIN | SPELLED, again);

fields! {
    /// A page that is done, and to which a way was found since that leads further.
    NearerValue {
        /// The way by which its links were judged.
        judged: Reach,
        /// How it is queued once more, by the better way.
        entry: QueueEntry,
    }
}

fields! {
    /// A URL turned away, in full, so that widened rules can readmit it.
    RejectedValue {
        /// The URL.
        url: String,
        /// Why.
        reason: Rejection,
        /// The generation of rules that said so.
        generation: u32,
        /// Depth of the shortest path known.
        depth: u16,
        /// The page it was found on.
        via: Option<String>,
        /// The seed it goes back to; `None` for a seed itself.
        origin: Option<String>,
        /// As what it was found.
        found: FoundAs,
        /// How it is asked for, where that is not the canonical form.
        spelling: Option<String>,
    }
}

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
    /// Its latest capture: of that answer, or an earlier one.
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
    /// When it is visited next: its row in `visits`.
    pub next: Option<UnixMillis>,
    /// Visits in a row that found it given up still.
    pub visits: u8,
}

with_way!(FailedValue { url, reason, status, when, captured, attempts, depth, limit, hops, next, visits } SPELLED);

fields! {
    /// A seed, and what was said of it when it was added.
    SeedValue {
        /// The seed.
        url: String,
        /// When it was first added.
        added: UnixMillis,
        /// Its own place in the queue: 0 comes first.
        rank: Option<u8>,
        /// By how much more important than others it is, with all that goes back to it.
        weight: Option<Weight>,
        /// Links that are followed from it in a row.
        max_depth: Option<u16>,
        /// What it is called.
        tags: Vec<String>,
        /// When pages that go back to it are visited again.
        cycle: Option<Cycle>,
        /// It was written without a scheme: http is asked when https does not answer.
        guessed: bool,
    }
}

impl SeedValue {
    /// True when something was said of it by its name.
    pub fn says(&self) -> bool {
        self.rank.is_some()
            || self.weight.is_some()
            || self.max_depth.is_some()
            || !self.tags.is_empty()
            || self.cycle.is_some()
    }
}
