//! Whether records fit together, and recounts: of one host, and of everything. Pure: it is given what was read; nothing of the ledger's
//! code is used.

use crate::base::time::UnixMillis;
use crate::domain::rank::Ranker;
use crate::domain::reach::Reach;
use crate::domain::reason::Failure;
use crate::storage::keys::QueueKey;
use crate::storage::values::{
    Counters, DoneKind, FrontierCounts, HostCounts, PageRecord, Place, QueueEntry, RANKS, UrlState, VisitCounts,
    VisitRow,
};

/// What an entry of `queue` or `due` is to the state of its URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bond {
    /// They belong together.
    Fits,
    /// The mark points here and says something else that is wrong (its depth).
    Inexact,
    /// There is no mark.
    Unmarked,
    /// The mark says that the URL is in `queue`, elsewhere.
    Queued { rank: u8, order: u64 },
    /// The mark says that the URL is in `due`, elsewhere.
    Due { time: UnixMillis },
    /// The URL is not waiting at all.
    Finished,
}

/// The bond between the mark that belongs to an entry and the state that its URL has.
pub fn bond(mark: &UrlState, state: Option<&UrlState>) -> Bond {
    let place = |state: &UrlState| match *state {
        UrlState::Waiting { due: Some(time), .. } => Bond::Due { time },
        UrlState::Waiting { rank, order, due: None, .. } => Bond::Queued { rank, order },
        _ => Bond::Finished,
    };
    let reach = |state: &UrlState| match *state {
        UrlState::Waiting { reach, .. } => Some(reach),
        _ => None,
    };
    match state {
        None => Bond::Unmarked,
        Some(state) if place(state) != place(mark) => place(state),
        Some(state) if reach(state) == reach(mark) => Bond::Fits,
        Some(_) => Bond::Inexact,
    }
}

/// The mark that belongs to a queue entry.
pub fn mark_of_entry(key: &QueueKey, entry: &QueueEntry) -> UrlState {
    UrlState::Waiting { rank: key.rank, order: key.order, reach: entry.reach(), due: None }
}

/// The mark that belongs to a retry; rank and order have no meaning for it.
pub fn mark_of_retry(time: UnixMillis, entry: &QueueEntry) -> UrlState {
    UrlState::Waiting { rank: 0, order: 0, reach: entry.reach(), due: Some(time) }
}

/// The mark that a capture says its URL has (the last column of the table in `docs/architecture.md`).
pub fn mark_of_page(page: &PageRecord) -> UrlState {
    match page.status {
        200..=399 => {
            UrlState::Done { captured: page.fetched, how: page.how, reach: Reach { depth: page.depth, limit: None } }
        }
        400..=499 => UrlState::Error { reason: Failure::Status4xx },
        500..=599 => UrlState::Error { reason: Failure::Status5xx },
        _ => UrlState::Error { reason: Failure::StatusOther },
    }
}

/// True when two entries are of one URL of a host.
pub fn same_url(a: &QueueEntry, b: &QueueEntry) -> bool {
    (a.scheme, a.port, &a.tail) == (b.scheme, b.port, &b.tail)
}

/// What is counted of one host in one crawl.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostTally {
    pub queued: [u64; RANKS],
    /// The lowest order of each rank that has entries.
    pub lowest: [Option<u64>; RANKS],
    pub due: u64,
    pub done: u64,
    pub repeats: u64,
    pub errors: u64,
    pub bytes: u64,
    /// Rows of pages that are visited again, what they ask for, and the first.
    pub visits: u64,
    pub load: u64,
    pub first_visit: Option<UnixMillis>,
    /// Visits that are queued, or tried again.
    pub visiting: u32,
}

impl HostTally {
    /// A queue entry. False when its rank does not exist.
    pub fn queue(&mut self, key: &QueueKey) -> bool {
        let rank = usize::from(key.rank);
        let (Some(n), Some(lowest)) = (self.queued.get_mut(rank), self.lowest.get_mut(rank)) else { return false };
        *n += 1;
        *lowest = Some(lowest.map_or(key.order, |l| l.min(key.order)));
        true
    }

    /// An entry of the queue, or a retry: whether it is a visit.
    pub fn entry(&mut self, entry: &QueueEntry) {
        self.visiting += u32::from(entry.is_visit());
    }

    /// A row of `visits`.
    pub fn visit(&mut self, time: UnixMillis, row: VisitRow) {
        self.visits += 1;
        self.load = self.load.saturating_add(row.load());
        self.first_visit = Some(self.first_visit.map_or(time, |first| first.min(time)));
    }

    pub fn state(&mut self, state: &UrlState) {
        match state {
            UrlState::Done { how, .. } => {
                self.done += 1;
                self.repeats += u64::from(*how == DoneKind::Duplicate);
            }
            UrlState::Error { .. } => self.errors += 1,
            UrlState::Waiting { .. } | UrlState::Rejected { .. } => {}
        }
    }

    /// The counts as they should be; heads and place are those stored.
    pub fn counts(&self, stored: &HostCounts) -> HostCounts {
        let Self { queued, due, done, repeats, errors, bytes, visits: rows, load, visiting, .. } = *self;
        let first = self.first_visit.map_or(stored.visits.first, |first| first.min(stored.visits.first));
        let visits = VisitCounts { rows, load, first, queued: visiting, ..stored.visits };
        HostCounts { queued, due, done, repeats, errors, bytes, visits, ..stored.clone() }
    }

    /// The heads as they should be: as stored where nothing live lies below.
    pub fn heads(&self, stored: &[u64; RANKS]) -> [u64; RANKS] {
        let mut heads = *stored;
        for (head, lowest) in heads.iter_mut().zip(self.lowest) {
            *head = lowest.map_or(*head, |l| l.min(*head));
        }
        heads
    }
}

/// Where a host with these counts belongs (I9); `None` when it needs a new place in `waiting`.
pub fn right_place(counts: &HostCounts, held: bool) -> Option<Place> {
    match (counts.best_rank(), counts.place) {
        (None, _) => Some(Place::None),
        (Some(_), _) if held => Some(Place::Held),
        (Some(_), Place::Held) => None,
        (Some(_), parked @ Place::Parked { .. }) => Some(parked),
        (Some(rank), Place::Waiting { order, .. }) => Some(Place::Waiting { rank, order }),
        (Some(_), Place::None) => None,
    }
}

/// What is counted of a whole crawl.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// The counters; `next_seq` and `next_commit` are the lowest that may be given out.
    pub counters: Counters,
}

impl Totals {
    /// Nothing counted yet; media types are counted by the names that are stored.
    pub fn like(stored: &Counters) -> Self {
        let types = stored.types.keys().map(|name| (name.clone(), (0, 0))).collect();
        Self { counters: Counters { types, ..Counters::default() } }
    }

    pub fn state(&mut self, state: &UrlState) {
        let c = &mut self.counters;
        c.discovered += 1;
        match state {
            UrlState::Waiting { .. } => c.queued += 1,
            UrlState::Done { how, .. } => {
                c.done += 1;
                c.redirects += u64::from(*how == DoneKind::Redirect);
            }
            UrlState::Error { reason } => c.add_error(*reason),
            UrlState::Rejected { reason, .. } => c.add_rejected(*reason),
        }
    }

    pub fn page(&mut self, page: &PageRecord) {
        let c = &mut self.counters;
        c.pages_stored += 1;
        c.revisits += u64::from(page.how.is_revisit());
        c.bytes = c.bytes.saturating_add(page.bytes);
        c.fetch_ms = c.fetch_ms.saturating_add(u64::from(page.took_ms));
        c.add_status(page.status);
        c.count_type(page.mime.as_deref(), page.bytes, true);
    }

    /// A host, by what was counted of it and the place it has.
    pub fn host(&mut self, tally: &HostTally, place: Place) {
        let counted = tally.counts(&HostCounts { place, ..HostCounts::default() });
        let frontier = &mut self.counters.frontier;
        frontier.change(&FrontierCounts::of(&counted), &FrontierCounts::default());
        self.place(&place);
    }

    /// A host, by its counts as they are stored.
    pub fn counts(&mut self, stored: &HostCounts) {
        self.counters.frontier.change(&FrontierCounts::of(stored), &FrontierCounts::default());
        self.place(&stored.place);
    }

    fn place(&mut self, place: &Place) {
        match place {
            Place::None | Place::Held => {}
            Place::Waiting { order, .. } => {
                self.counters.hosts_waiting += 1;
                self.order(*order);
            }
            Place::Parked { .. } => self.counters.hosts_parked += 1,
        }
    }

    /// An order is in use.
    pub fn order(&mut self, order: u64) {
        self.counters.next_seq = self.counters.next_seq.max(Ranker::number_of(order).saturating_add(1));
    }
}

/// The names of counters that differ, with what is stored and what was counted.
pub fn differences(stored: &Counters, counted: &Counters) -> Vec<String> {
    let (Ok(serde_json::Value::Object(a)), Ok(serde_json::Value::Object(b))) =
        (serde_json::to_value(stored), serde_json::to_value(counted))
    else {
        return vec!["the counters".into()];
    };
    let told = |name: &String| !matches!(name.as_str(), "next_seq" | "next_commit" | "fed");
    let differ = a.iter().filter(|(name, value)| told(name) && b.get(*name) != Some(value));
    differ.map(|(name, value)| format!("{name} {value}, counted {}", b.get(name).unwrap_or(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::rank::Order;

    #[test]
    fn the_number_of_an_order_comes_back_whatever_the_order_of_the_crawl() {
        for order in [Order::Breadth, Order::Depth, Order::Mixed, Order::Best] {
            let ranker = Ranker::new(order, vec![10.0, 5.0, 1.0], 8);
            for number in [0, 1, 7, 1 << 20, (1 << 47) - 1] {
                for depth in [0, 1, 300] {
                    assert_eq!(Ranker::number_of(ranker.place(depth, None, number).order), number, "{order:?} {depth}");
                }
                assert_eq!(Ranker::number_of(ranker.host_order(number)), number);
            }
        }
    }

    #[test]
    fn a_head_is_lowered_to_the_first_entry_and_never_raised() {
        let mut tally = HostTally::default();
        tally.lowest[0] = Some(5);
        tally.lowest[1] = Some(9);
        assert_eq!(tally.heads(&[8, 3, 7, 0, 0, 0, 0, 0])[..3], [5, 3, 7]);
    }

    #[test]
    fn a_host_belongs_where_its_best_url_says() {
        let placed = |queued: u64, place| {
            right_place(&HostCounts { queued: [0, queued, 0, 0, 0, 0, 0, 0], place, ..Default::default() }, false)
        };
        let waiting = |rank| Place::Waiting { rank, order: 4 };
        let parked = Place::Parked { time: crate::base::time::UnixMillis(9) };
        assert_eq!(placed(0, waiting(1)), Some(Place::None));
        assert_eq!(placed(2, waiting(0)), Some(waiting(1)));
        assert_eq!(placed(2, parked), Some(parked));
        assert_eq!((placed(2, Place::None), placed(2, Place::Held)), (None, None));
        let held = |queued| right_place(&HostCounts { queued, place: waiting(0), ..Default::default() }, true);
        assert_eq!((held([0; RANKS]), held([3; RANKS])), (Some(Place::None), Some(Place::Held)));
    }

    #[test]
    fn differing_counters_are_named() {
        let stored = Counters { done: 3, next_seq: 9, ..Counters::default() };
        assert_eq!(differences(&stored, &Counters { done: 4, ..stored.clone() }), ["done 3, counted 4"]);
        assert!(differences(&stored, &Counters { next_seq: 1, ..stored.clone() }).is_empty());
        let counted =
            |retries| Counters { frontier: FrontierCounts { retries, ..Default::default() }, ..stored.clone() };
        assert_eq!(differences(&counted(1), &counted(2)), ["retries 1, counted 2"]);
    }
}
