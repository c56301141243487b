//! Checks a storage from outside: everything is read and counted anew, nothing of the ledger's code is used.

mod credit;
mod files;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Debug;
use std::path::Path;

use lycosa::base::time::UnixMillis;
use lycosa::domain::fingerprint::{CrawlId, Fingerprinter, UrlKey};
use lycosa::domain::reason::Rejection;
use lycosa::domain::url::{Canonicaliser, CleanRules, PageUrl};
use lycosa::domain::visit::Visit;
use lycosa::storage::keys::{DueKey, HostAt, HostCrawl, KeyRange, PageKey, QueueKey, SeenKey};
use lycosa::storage::tables::{self, Table};
use lycosa::storage::values::{
    Counters, DoneKind, FeedEntry, FeedLog, FrontierCounts, HostCounts, PageRecord, Place, QueueEntry, UrlState,
};
use lycosa::storage::{Storage, read};

/// What is stored, read whole.
pub struct Found {
    pub seen: HashMap<SeenKey, UrlState>,
    pub queue: HashMap<QueueKey, QueueEntry>,
    pub due: HashMap<DueKey, QueueEntry>,
    pub pages: HashMap<PageKey, PageRecord>,
    pub names: HashMap<HostAt, String>,
    /// Hosts that the operator holds.
    pub held: BTreeSet<HostAt>,
    pub counts: HashMap<HostCrawl, HostCounts>,
    pub counters: Counters,
    /// Time and URL of each line of `crawl.jsonl`, in its order, without those of URLs that the rules turned away when their turn
    /// came: other rules may readmit them, and then they have another line.
    pub lines: Vec<(UnixMillis, String)>,
    /// Errors that are not kept in full: of an older program, or damaged and repaired.
    pub unkept: Vec<SeenKey>,
    problems: Vec<String>,
    prints: Fingerprinter,
}

fn all<T: Table>(storage: &dyn Storage) -> Vec<(T::Key, T::Value)> {
    read::scan::<T>(storage, &KeyRange::all(), usize::MAX).unwrap()
}

/// Reads everything below `folder` and in `storage`, and fails with a list of all that does not fit.
pub fn fsck(storage: &dyn Storage, seed: u64, folder: Option<&Path>) -> Found {
    fsck_as(storage, seed, folder, false)
}

/// The same; with `again` URLs may have been fetched more than once, as the operator said.
pub fn fsck_as(storage: &dyn Storage, seed: u64, folder: Option<&Path>, again: bool) -> Found {
    let mut found = load(storage, seed, folder);
    found.queued_urls_are_waiting();
    found.waiting_urls_are_queued();
    found.hosts_are_counted_right(storage);
    found.the_counters_are_right();
    found.rejections_are_kept(storage);
    found.sitemaps_are_in_their_row(storage);
    found.visits_are_in_their_rows(storage);
    found.failures_are_kept(storage);
    found.better_ways_are_of_done_pages(storage);
    found.the_feed_says_what_became_of_every_page(storage);
    found.contents_point_to_captures(storage);
    let near = super::near::problems(storage, &found.prints, &found.seen, &found.pages);
    near.iter().for_each(|problem| found.wrong("near-duplicates", problem));
    found.credit_adds_up(storage);
    if let Some(folder) = folder {
        found.captures_are_in_the_archive(folder, again);
        found.lines_are_one_a_finished_url(again);
    }
    assert!(found.problems.is_empty(), "the storage does not fit together: {:#?}", found.problems);
    found
}

fn load(storage: &dyn Storage, seed: u64, folder: Option<&Path>) -> Found {
    let states = all::<tables::HostState>(storage);
    let held = states.iter().filter(|(_, state)| state.orders.holds()).map(|(at, _)| *at).collect();
    let names = states.into_iter().map(|(at, state)| (at, state.name)).collect();
    let lines = folder.map(files::lines_of).unwrap_or_default();
    Found {
        seen: all::<tables::Seen>(storage).into_iter().collect(),
        queue: all::<tables::Queue>(storage).into_iter().collect(),
        due: all::<tables::Due>(storage).into_iter().collect(),
        pages: all::<tables::Pages>(storage).into_iter().collect(),
        names,
        held,
        counts: all::<tables::HostCounts>(storage).into_iter().collect(),
        counters: read::meta(storage, CrawlId::default()).unwrap().unwrap_or_default(),
        lines,
        unkept: Vec::new(),
        problems: Vec::new(),
        prints: Fingerprinter::new(seed),
    }
}

impl Found {
    fn wrong(&mut self, what: &str, detail: impl Debug) {
        if self.problems.len() < 30 {
            self.problems.push(format!("{what}: {detail:?}"));
        }
    }

    fn same<T: PartialEq + Debug>(&mut self, what: &str, stored: T, counted: T) {
        if stored != counted {
            self.wrong(what, format!("stored {stored:?}, counted {counted:?}"));
        }
    }

    /// The key of a URL, from the URL alone.
    pub fn key(&self, url: &PageUrl) -> SeenKey {
        let at = HostAt::of(&self.prints, url.host());
        at.crawl(CrawlId::default()).url(self.prints.url(url))
    }

    fn url_of(&self, at: HostAt, entry: &QueueEntry) -> Option<PageUrl> {
        entry.url(self.names.get(&at)?).ok()
    }

    fn queued_urls_are_waiting(&mut self) {
        for (key, entry) in self.queue.clone() {
            let Some(url) = self.url_of(key.host_crawl().host_at(), &entry) else {
                self.wrong("a queue entry whose host has no name", key);
                continue;
            };
            let state = self.seen.get(&self.key(&url)).copied();
            let fits = matches!(state, Some(UrlState::Waiting { rank, order, due: None, reach })
                if (rank, order, reach) == (key.rank, key.order, entry.reach()));
            if !fits {
                self.wrong("a queue entry without its seen mark", (url.as_str(), key, state));
            }
        }
        for (key, entry) in self.due.clone() {
            let url = self.url_of(key.seen().host_crawl().host_at(), &entry);
            let state = self.seen.get(&key.seen()).copied();
            let fits = matches!(state, Some(UrlState::Waiting { due: Some(time), reach, .. })
                if (time, reach) == (key.time, entry.reach()));
            if !fits || url.is_none_or(|url| self.key(&url) != key.seen()) {
                self.wrong("a retry without its seen mark", (key, state));
            }
        }
    }

    /// Each page that is visited again has one row, at the time that its last visit says; each host its first; and numbers of both.
    fn visits_are_in_their_rows(&mut self, storage: &dyn Storage) {
        let rows: BTreeMap<_, _> = all::<tables::Visits>(storage).into_iter().collect();
        let mut wanted = BTreeSet::new();
        for (seen, state) in &self.seen {
            let UrlState::Done { captured, .. } = state else { continue };
            let next = self.pages.get(&seen.page(*captured)).and_then(|page| page.next);
            wanted.extend(next.map(|next| seen.visit(next)));
        }
        for (seen, failed) in all::<tables::Failed>(storage) {
            wanted.extend(failed.next.map(|next| seen.visit(next)));
        }
        self.same("rows of visits", rows.keys().copied().collect::<BTreeSet<_>>(), wanted);
        let mut tallies: HashMap<_, (u64, u64, u32)> = HashMap::new();
        let mut first: HashMap<_, UnixMillis> = HashMap::new();
        for (key, row) in &rows {
            let tally = tallies.entry(key.seen().host_crawl()).or_default();
            (tally.0, tally.1) = (tally.0 + 1, tally.1 + row.load());
            let first = first.entry(key.seen().host_crawl()).or_insert(key.time);
            *first = key.time.min(*first);
        }
        let queued = self.queue.iter().map(|(key, entry)| (key.host_crawl(), entry));
        let due = self.due.iter().map(|(key, entry)| (key.seen().host_crawl(), entry));
        for (at, _) in queued.chain(due).filter(|(_, entry)| entry.is_visit()) {
            tallies.entry(at).or_default().2 += 1;
        }
        let hosts: BTreeMap<_, _> =
            all::<tables::VisitHosts>(storage).into_iter().map(|(key, ())| (key.host_at(), key.time)).collect();
        self.same("hosts with visits, each once", hosts.len(), all::<tables::VisitHosts>(storage).len());
        for (at, counts) in self.counts.clone() {
            let visits = counts.visits;
            let counted = tallies.get(&at).copied().unwrap_or_default();
            self.same("visits of a host", (visits.rows, visits.load, visits.queued), counted);
            if first.get(&at).is_some_and(|first| *first < visits.first) {
                self.wrong("a visit before the first", (at, visits));
            }
            let new_wait = counts.queued_total() + counts.due > visits.queued.into();
            let new_first = visits.unpaid.visits() > 4.0 && new_wait;
            let wanted = visits.rows > 0 && visits.queued <= 12 && !new_first && !self.held.contains(&at.host_at());
            self.same("I9: a host's row of visits", visits.row, wanted.then_some(visits.first));
            let there = visits.row.is_none_or(|time| hosts.get(&at.host_at()) == Some(&time));
            self.same("I9: as its counts say", there, true);
        }
        let told = self.counts.values().filter(|counts| counts.visits.row.is_some()).count();
        self.same("I9: rows of hosts with visits", hosts.len(), told);
    }

    fn sitemaps_are_in_their_row(&mut self, storage: &dyn Storage) {
        let failed: HashMap<_, _> = all::<tables::Failed>(storage).into_iter().collect();
        let rows: BTreeSet<_> = all::<tables::Sitemaps>(storage).into_iter().map(|(key, ())| key).collect();
        for key in &rows {
            let fits = match self.seen.get(&key.seen()) {
                Some(UrlState::Done { captured, .. }) => *captured == key.time,
                Some(UrlState::Error { .. }) => failed.get(&key.seen()).is_some_and(|kept| kept.when == key.time),
                _ => false,
            };
            if !fits {
                self.wrong("a sitemap's row that is not its last visit", key);
            }
        }
        for (key, state) in self.seen.clone() {
            let UrlState::Done { captured, .. } = state else { continue };
            let sitemap = self.pages.get(&key.page(captured)).is_some_and(|page| page.sitemap.is_some());
            if sitemap && !rows.contains(&key.due(captured)) {
                self.wrong("a sitemap that would not be read again", key);
            }
        }
    }

    fn waiting_urls_are_queued(&mut self) {
        for (key, state) in self.seen.clone() {
            let UrlState::Waiting { rank, order, due, .. } = state else { continue };
            let there = match due {
                Some(time) => self.due.contains_key(&key.due(time)),
                None => self.queue.contains_key(&key.host_crawl().queue(rank, order)),
            };
            if !there {
                self.wrong("a waiting URL that is in no queue", (key, state));
            }
        }
    }

    fn hosts_are_counted_right(&mut self, storage: &dyn Storage) {
        let mut places: HashMap<HostAt, Vec<Place>> = HashMap::new();
        for (key, ()) in all::<tables::Waiting>(storage) {
            places.entry(key.host_at()).or_default().push(Place::Waiting { rank: key.rank, order: key.order });
        }
        for (key, ()) in all::<tables::Parked>(storage) {
            places.entry(key.host_at()).or_default().push(Place::Parked { time: key.time });
        }
        let recounted = self.recount();
        let hosts: BTreeSet<_> = recounted.keys().chain(self.counts.keys()).copied().collect();
        for host in hosts {
            let stored = self.counts.get(&host).copied_or_default();
            let counted = recounted.get(&host).copied_or_default();
            let name = self.names.get(&host.host_at()).cloned();
            let plain = |c: &HostCounts| (c.queued, c.due, c.done, c.repeats, c.errors, c.bytes);
            self.same(&format!("counts of {name:?}"), plain(&stored), plain(&counted));
            for (rank, n) in counted.queued.iter().enumerate() {
                if *n > 0 && stored.heads[rank] > counted.heads[rank] {
                    self.wrong("a live queue entry below the head", (name.as_ref(), rank, stored.heads, counted.heads));
                }
            }
            let own = places.remove(&host.host_at()).unwrap_or_default();
            let wanted = if matches!(stored.place, Place::None | Place::Held) { vec![] } else { vec![stored.place] };
            self.same(&format!("I9: places of {name:?}"), wanted, own);
            let placed = stored.place != Place::None;
            self.same(&format!("I9: {name:?} is in a row"), placed, counted.queued_total() > 0);
            let held = self.held.contains(&host.host_at()) && placed;
            self.same(&format!("I9: {name:?} is held"), stored.place == Place::Held, held);
            if let Place::Waiting { rank, .. } = stored.place {
                self.same(&format!("rank of {name:?}"), Some(rank), counted.best_rank());
            }
        }
        if !places.is_empty() {
            self.wrong("I9: places of hosts that are not counted", places);
        }
    }

    fn recount(&self) -> HashMap<HostCrawl, HostCounts> {
        let mut counts: HashMap<HostCrawl, HostCounts> = HashMap::new();
        for key in self.queue.keys() {
            let host = counts.entry(key.host_crawl()).or_default();
            let rank = usize::from(key.rank);
            host.heads[rank] = if host.queued[rank] == 0 { key.order } else { host.heads[rank].min(key.order) };
            host.queued[rank] += 1;
        }
        for key in self.due.keys() {
            counts.entry(key.seen().host_crawl()).or_default().due += 1;
        }
        for (key, state) in &self.seen {
            let host = counts.entry(key.host_crawl()).or_default();
            match state {
                UrlState::Done { how, .. } => {
                    host.done += 1;
                    host.repeats += u64::from(*how == DoneKind::Duplicate);
                }
                UrlState::Error { .. } => host.errors += 1,
                UrlState::Waiting { .. } | UrlState::Rejected { .. } => {}
            }
        }
        for (key, page) in &self.pages {
            counts.entry(key.seen().host_crawl()).or_default().bytes += page.bytes;
        }
        counts
    }

    fn the_counters_are_right(&mut self) {
        let c = self.counters.clone();
        let (mut done, mut waiting, mut redirects) = (0, 0, 0);
        let (mut errors, mut rejected): (BTreeMap<u8, u64>, BTreeMap<u8, u64>) = Default::default();
        for state in self.seen.values() {
            match state {
                UrlState::Waiting { .. } => waiting += 1,
                UrlState::Done { how, .. } => {
                    done += 1;
                    redirects += u64::from(*how == DoneKind::Redirect);
                }
                UrlState::Error { reason } => *errors.entry(reason.code()).or_default() += 1,
                UrlState::Rejected { reason, .. } => *rejected.entry(reason.code()).or_default() += 1,
            }
        }
        self.same("I2: discovered", c.discovered, self.seen.len() as u64);
        self.same("I2: queued, done, redirects", (c.queued, c.done, c.redirects), (waiting, done, redirects));
        self.same("I2: queue and retries", c.queued, (self.queue.len() + self.due.len()) as u64);
        self.same("I2: errors", c.errors.clone(), errors);
        self.same("I2: rejections", c.rejected.clone(), rejected);
        let pages: Vec<&PageRecord> = self.pages.values().collect();
        let revisits = pages.iter().filter(|p| p.how.is_revisit()).count() as u64;
        let bytes = pages.iter().map(|p| p.bytes).sum::<u64>();
        let stored = (pages.len() as u64, revisits, bytes);
        let mut statuses: BTreeMap<u16, u64> = BTreeMap::new();
        pages.iter().for_each(|p| *statuses.entry(p.status).or_default() += 1);
        let mut types: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for page in &pages {
            let name = page.mime.clone().unwrap_or_else(|| "unknown".into());
            let name = if c.types.contains_key(&name) { name } else { "other".into() };
            let (n, bytes) = types.entry(name).or_default();
            (*n, *bytes) = (*n + 1, *bytes + page.bytes);
        }
        self.same("pages, revisits, bytes", (c.pages_stored, c.revisits, c.bytes), stored);
        self.same("statuses", c.statuses.clone(), statuses);
        let stored: BTreeMap<_, _> = c.types.clone().into_iter().filter(|(_, (n, _))| *n > 0).collect();
        self.same("media types", stored, types);
        let place = |p: fn(&Place) -> bool| self.counts.values().filter(|c| p(&c.place)).count() as u64;
        let waiting = place(|p| matches!(p, Place::Waiting { .. }));
        let parked = place(|p| matches!(p, Place::Parked { .. }));
        let held = place(|p| *p == Place::Held);
        self.same("hosts waiting, parked", (c.hosts_waiting, c.hosts_parked), (waiting, parked));
        let mut frontier = FrontierCounts { retries: self.due.len() as u64, ..FrontierCounts::default() };
        self.queue.keys().for_each(|key| frontier.ranks[usize::from(key.rank)] += 1);
        frontier.hosts_held = held;
        frontier.visits = self.counts.values().map(|c| c.visits.rows).sum();
        frontier.visit_load = self.counts.values().map(|c| c.visits.load).sum();
        self.same("queues by rank, retries, hosts held", c.frontier, frontier);
    }

    fn rejections_are_kept(&mut self, storage: &dyn Storage) {
        let kept: HashMap<_, _> = all::<tables::Rejected>(storage).into_iter().collect();
        for (key, value) in &kept {
            let state = self.seen.get(key).copied();
            if !matches!(state, Some(UrlState::Rejected { reason, .. }) if reason == value.reason) {
                self.wrong("a kept rejection without its seen mark", (&value.url, state));
            }
        }
        for (key, state) in self.seen.clone() {
            if matches!(state, UrlState::Rejected { reason, .. } if reason != Rejection::Collision && !kept.contains_key(&key))
            {
                self.wrong("a rejected URL that is not kept", (key, state));
            }
        }
    }

    fn failures_are_kept(&mut self, storage: &dyn Storage) {
        let kept: HashMap<_, _> = all::<tables::Failed>(storage).into_iter().collect();
        self.same("kept failures", self.counters.failed, kept.len() as u64);
        for (key, value) in &kept {
            let state = self.seen.get(key).copied();
            if !matches!(state, Some(UrlState::Error { reason }) if reason == value.reason) {
                self.wrong("a kept failure without its seen mark", (&value.url, state));
            }
        }
        let errors = self.seen.iter().filter(|(_, state)| matches!(state, UrlState::Error { .. }));
        self.unkept = errors.map(|(key, _)| *key).filter(|key| !kept.contains_key(key)).collect();
    }

    fn better_ways_are_of_done_pages(&mut self, storage: &dyn Storage) {
        let waiting = all::<tables::Nearer>(storage);
        self.same("better ways that wait", self.counters.nearer, waiting.len() as u64);
        for (key, value) in waiting {
            let state = self.seen.get(&key).copied();
            let last = value.entry.again.as_ref().map(|last| last.captured);
            let fits = matches!(state, Some(UrlState::Done { captured, reach, .. })
                if (Some(captured), reach) == (last, value.entry.reach()));
            let url = self.url_of(key.host_crawl().host_at(), &value.entry);
            if !fits || url.is_none_or(|url| self.key(&url) != key) {
                self.wrong("a better way that is not that of a done page", (key, state, value));
            }
        }
        let too_deep = self.counters.rejected.contains_key(&Rejection::TooDeep.code());
        if too_deep && !self.counters.too_deep {
            self.wrong("a URL is too deep, and the counters do not say so", ());
        }
    }

    /// I10, as far as it can be seen at rest: numbers that were given out, and as the newest entry of each page its state.
    fn the_feed_says_what_became_of_every_page(&mut self, storage: &dyn Storage) {
        let log: FeedLog = read::meta(storage, ()).unwrap().unwrap_or_default();
        let entries = all::<tables::Feed>(storage);
        let numbers: Vec<u64> = entries.iter().map(|(key, _)| key.number).collect();
        let given = log.trimmed + 1..=self.counters.fed;
        if let Some(number) = numbers.iter().find(|number| !given.contains(number)) {
            self.wrong("I10: an entry of the feed whose number was not given out", (number, given));
        }
        let newest: HashMap<SeenKey, FeedEntry> = entries.into_iter().map(|(_, entry)| (entry.page, entry)).collect();
        for (key, state) in self.seen.clone() {
            let entry = newest.get(&key);
            let fits = match (state, entry) {
                (UrlState::Waiting { .. }, _) => true,
                (UrlState::Rejected { .. }, entry) => entry.is_none_or(|entry| entry.kind == Visit::Rejected),
                (_, None) => log.trimmed > 0,
                (UrlState::Done { captured, how, .. }, Some(entry)) => {
                    entry.captured == Some(captured) && (entry.kind == Visit::Redirect) == (how == DoneKind::Redirect)
                }
                (UrlState::Error { reason }, Some(entry)) => {
                    matches!(entry.kind, Visit::Failed | Visit::Gone) && entry.why == Some(reason.code())
                }
            };
            if !fits {
                self.wrong("I10: a page whose newest entry in the feed says something else", (key, state, entry));
            }
        }
    }

    fn contents_point_to_captures(&mut self, storage: &dyn Storage) {
        for (key, value) in all::<tables::Content>(storage) {
            match self.pages.get(&value.first) {
                Some(page) if page.asked() == value.url => {}
                other => self.wrong(
                    "a content whose first capture is not there",
                    (key, value.url, other.map(|p| &p.url).cloned()),
                ),
            }
        }
        for (key, state) in self.seen.clone() {
            let UrlState::Done { captured: at, .. } = state else { continue };
            if !self.pages.contains_key(&key.page(at)) {
                self.wrong("a URL done whose capture is not there", (key, state));
            }
        }
    }

    /// Captures of each URL.
    pub fn captures(&self) -> BTreeMap<String, usize> {
        let mut captures = BTreeMap::new();
        self.pages.values().for_each(|page| *captures.entry(page.url.clone()).or_default() += 1);
        captures
    }

    /// The state of a URL.
    pub fn state_of(&self, url: &str) -> Option<UrlState> {
        let url = Canonicaliser::new(CleanRules::default()).parse(url).ok()?;
        self.seen.get(&self.key(&url)).copied()
    }

    /// URLs with a capture.
    pub fn captured(&self) -> BTreeSet<String> {
        self.pages.values().map(|p| p.url.clone()).collect()
    }

    /// Keys of URLs that are done.
    pub fn done(&self) -> BTreeSet<UrlKey> {
        self.seen.iter().filter(|(_, s)| matches!(s, UrlState::Done { .. })).map(|(k, _)| k.url).collect()
    }
}

trait OrDefault {
    fn copied_or_default(self) -> HostCounts;
}

impl OrDefault for Option<&HostCounts> {
    fn copied_or_default(self) -> HostCounts {
        self.cloned().unwrap_or_default()
    }
}
