//! When a page is visited next, reckoned from its last visit, the rules of today and the host's stretch. Reads only: the ledger and those who
//! explain ask the same.

use super::again::DonePage;
use super::{LedgerRules, Result};
use crate::base::time::UnixMillis;
use crate::domain::priority::quality;
use crate::domain::refresh::{About, By, Cycle, Ended, Habit};
use crate::domain::statuses::is_gone;
use crate::domain::url::PageUrl;
use crate::storage::keys::SeenKey;
use crate::storage::tables::{Failed, HostCounts, Pages, Seeds, Seen};
use crate::storage::txn::Txn;
use crate::storage::values::{FailedValue, PageRecord, SeedValue, UrlState};

/// A page whose next visit is reckoned.
#[derive(Clone, Copy)]
pub(super) struct Page<'p> {
    url: &'p str,
    mime: Option<&'p str>,
    origin: Option<&'p str>,
    depth: u16,
    pub sitemap: bool,
}

impl<'p> Page<'p> {
    pub fn of(record: &'p PageRecord) -> Self {
        let PageRecord { url, mime, origin, depth, sitemap, .. } = record;
        let (mime, origin) = (mime.as_deref(), origin.as_deref());
        Self { url, mime, origin, depth: *depth, sitemap: sitemap.is_some() }
    }

    pub fn given_up(failed: &'p FailedValue) -> Self {
        let FailedValue { url, origin, depth, found, .. } = failed;
        Self { url, mime: None, origin: origin.as_deref(), depth: *depth, sitemap: found.is_sitemap() }
    }

    /// What rules ask of it.
    pub fn about<'r>(self, seed: Option<&'r SeedValue>) -> About<'r>
    where
        'p: 'r,
    {
        let (tags, of_seed) = seed.map_or((&[][..], None), |seed| (&seed.tags[..], seed.cycle.as_ref()));
        About { url: self.url, host: host_of(self.url), mime: self.mime, tags, of_seed }
    }
}

/// How the last visit of a URL left it.
pub(super) enum Last {
    /// It is there.
    Page(DonePage),
    /// It was given up; with its newest capture.
    Failed(FailedValue, PageRecord),
}

impl Last {
    /// Of a URL; none while it waits, or was turned away.
    pub fn of(txn: &Txn<'_>, seen: SeenKey) -> Result<Option<Self>> {
        Ok(match txn.get::<Seen>(&seen)? {
            Some(UrlState::Done { captured, how, reach }) => {
                let key = seen.page(captured);
                txn.get::<Pages>(&key)?.map(|page| Self::Page(DonePage { key, how, reach, page }))
            }
            Some(UrlState::Error { .. }) => {
                let Some(failed) = txn.get::<Failed>(&seen)? else { return Ok(None) };
                let Some(captured) = failed.captured else { return Ok(None) };
                txn.get::<Pages>(&seen.page(captured))?.map(|page| Self::Failed(failed, page))
            }
            _ => None,
        })
    }

    /// When it is visited next, as planned then.
    pub fn next(&self) -> Option<UnixMillis> {
        match self {
            Self::Page(done) => done.page.next,
            Self::Failed(failed, _) => failed.next,
        }
    }

    /// The page, what is known of its changes, and when and how its last visit ended.
    pub fn parts(&self) -> (Page<'_>, &Habit, (UnixMillis, Ended)) {
        match self {
            Self::Page(DonePage { page, .. }) => (Page::of(page), &page.habit, (page.fetched, Ended::Done)),
            Self::Failed(failed, page) => (Page::given_up(failed), &page.habit, (failed.when, ended(failed))),
        }
    }
}

/// How the last visit of a URL that was given up ended.
pub(super) fn ended(failed: &FailedValue) -> Ended {
    if failed.status.is_some_and(is_gone) { Ended::Gone(failed.visits) } else { Ended::Failed(failed.visits) }
}

/// When a page is visited next, and why then.
#[derive(Clone, Debug, PartialEq)]
pub struct Scheduled {
    /// When; never when absent.
    pub next: Option<UnixMillis>,
    /// When its last visit was.
    pub last: UnixMillis,
    /// How that ended.
    pub ended: Ended,
    /// Its cycle, as written.
    pub cycle: String,
    /// Who says so.
    pub by: By,
    /// It is a sitemap: it has a cycle of its own.
    pub sitemap: bool,
    /// What is known of its changes.
    pub habit: Habit,
    /// Its weight, with all factors.
    pub weight: f64,
    /// By how much its host's intervals are longer than the pages deserve.
    pub stretch: f64,
    /// Sitemaps tell of its changes, and are believed: it comes more seldom.
    pub announced: bool,
}

/// What the rules say of a page.
pub(super) struct Reckoned<'r> {
    pub next: Option<UnixMillis>,
    weight: f64,
    cycle: &'r Cycle,
    by: By,
}

impl LedgerRules {
    /// When a page is visited next that stands so, by these rules at this date.
    pub(super) fn schedule<'r>(
        &'r self,
        (seen, seed): (SeenKey, Option<&'r SeedValue>),
        (page, habit, visited): (Page<'r>, &Habit, (UnixMillis, Ended)),
        (stretch, quality, date): (f64, f64, UnixMillis),
    ) -> Reckoned<'r> {
        let plan = self.refresh.plan(&page.about(seed), date);
        let links = f64::from(habit.links) / 8.0;
        let weight = match plan.cycle {
            Cycle::Off => 1.0,
            _ => self.weight_for_visits(seed, (page.url, page.depth), (quality, plan.weight, links)),
        };
        let next = plan.next(visited, habit, (weight, stretch), &seen.url.0);
        Reckoned { next: next.filter(|_| !page.sitemap), weight, cycle: plan.cycle, by: plan.by } // a sitemap has a row of its own
    }

    /// When a URL is visited next; none while it waits, was turned away, or never was answered.
    ///
    /// # Errors
    /// The storage's own.
    pub fn schedule_of(&self, txn: &Txn<'_>, seen: SeenKey, date: UnixMillis) -> Result<Option<Scheduled>> {
        let Some(last) = Last::of(txn, seen)? else { return Ok(None) };
        let counts = txn.get::<HostCounts>(&seen.host_crawl())?.unwrap_or_default();
        let (page, habit, (visited, ended)) = last.parts();
        let (stretch, announced) = (counts.visits.stretched(), counts.visits.tells_of(habit));
        let sitemap = page.sitemap;
        let seed = self.seed_of(txn, last.parts().0)?;
        let quality = quality(counts.done, counts.repeats, counts.errors);
        let host = (counts.visits.stretched_for(habit), quality, date);
        let reckoned = self.schedule((seen, seed.as_ref()), last.parts(), host);
        let Reckoned { weight, cycle, by, .. } = reckoned;
        let (next, cycle) = (last.next(), cycle.to_string());
        Ok(Some(Scheduled {
            next,
            last: visited,
            ended,
            cycle,
            by,
            sitemap,
            habit: *habit,
            weight,
            stretch,
            announced,
        }))
    }

    /// What was said of the seed that a page goes back to, where visits can depend on it.
    pub(super) fn seed_of(&self, txn: &Txn<'_>, page: Page<'_>) -> Result<Option<SeedValue>> {
        if self.refresh.is_off() {
            return Ok(None);
        }
        let Ok(seed) = PageUrl::from_canonical(page.origin.unwrap_or(page.url)) else { return Ok(None) };
        txn.get::<Seeds>(&SeenKey::of(&self.prints, self.crawl, &seed))
    }
}

/// The host of a canonical URL.
pub(super) fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split('/').next().unwrap_or(rest);
    authority
        .rsplit_once(':')
        .filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()))
        .map_or(authority, |(host, _)| host)
}
