//! When a page is visited next, reckoned from its last visit, the rules of today and the host's stretch. Reads only: the ledger and those who
//! explain ask the same.

use super::{LedgerRules, Result};
use crate::base::time::UnixMillis;
use crate::domain::refresh::interval::weight;
use crate::domain::refresh::{About, Cycle, Ended, Habit};
use crate::domain::statuses::is_gone;
use crate::domain::url::PageUrl;
use crate::storage::keys::{PageKey, SeenKey};
use crate::storage::tables::{Failed, HostCounts, Pages, Seeds, Seen};
use crate::storage::txn::Txn;
use crate::storage::values::{FailedValue, PageRecord, UrlState};

/// A page whose next visit is reckoned.
#[derive(Clone, Copy)]
pub(super) struct Page<'p> {
    url: &'p str,
    mime: Option<&'p str>,
    origin: Option<&'p str>,
    depth: u16,
    sitemap: bool,
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
    pub fn about(self, tags: &'p [String]) -> About<'p> {
        About { url: self.url, host: host_of(self.url), mime: self.mime, tags }
    }
}

/// How the last visit of a URL left it.
pub(super) enum Last {
    /// It is there.
    Page(PageKey, PageRecord),
    /// It was given up; with its newest capture.
    Failed(FailedValue, PageRecord),
}

impl Last {
    /// Of a URL; none while it waits, or was turned away.
    pub fn of(txn: &Txn<'_>, seen: SeenKey) -> Result<Option<Self>> {
        Ok(match txn.get::<Seen>(&seen)? {
            Some(UrlState::Done { captured, .. }) => {
                txn.get::<Pages>(&seen.page(captured))?.map(|page| Self::Page(seen.page(captured), page))
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
            Self::Page(_, page) => page.next,
            Self::Failed(failed, _) => failed.next,
        }
    }

    /// The page, what is known of its changes, and when and how its last visit ended.
    pub fn parts(&self) -> (Page<'_>, &Habit, (UnixMillis, Ended)) {
        match self {
            Self::Page(_, page) => (Page::of(page), &page.habit, (page.fetched, Ended::Done)),
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
    /// Number of the rule of `[[schedule]]` that says so, from 1 on.
    pub rule: Option<usize>,
    /// What is known of its changes.
    pub habit: Habit,
    /// Its weight, with all factors.
    pub weight: f64,
    /// By how much its host's intervals are longer than the pages deserve.
    pub stretch: f64,
}

/// What the rules say of a page.
pub(super) struct Reckoned<'r> {
    pub next: Option<UnixMillis>,
    weight: f64,
    cycle: &'r Cycle,
    rule: Option<usize>,
}

impl LedgerRules {
    /// When a page is visited next that stands so, by these rules at this date.
    pub(super) fn schedule(
        &self,
        txn: &Txn<'_>,
        seen: SeenKey,
        (page, habit, visited): (Page<'_>, &Habit, (UnixMillis, Ended)),
        (stretch, date): (f64, UnixMillis),
    ) -> Result<Reckoned<'_>> {
        let tags = self.tags(txn, page)?;
        let plan = self.refresh.plan(&page.about(&tags), date);
        let links = f64::from(habit.links) / 8.0;
        let weight = weight(self.ranker.importance(page.depth), 1.0, 1.0, plan.weight, links);
        let next = plan.next(visited, habit, (weight, stretch), &seen.url.0);
        Ok(Reckoned { next: next.filter(|_| !page.sitemap), weight, cycle: plan.cycle, rule: plan.rule }) // a sitemap has a row of its own
    }

    /// When a URL is visited next; none while it waits, was turned away, or never was answered.
    ///
    /// # Errors
    /// The storage's own.
    pub fn schedule_of(&self, txn: &Txn<'_>, seen: SeenKey, date: UnixMillis) -> Result<Option<Scheduled>> {
        let Some(last) = Last::of(txn, seen)? else { return Ok(None) };
        let counts = txn.get::<HostCounts>(&seen.host_crawl())?.unwrap_or_default();
        let stretch = counts.visits.stretched();
        let (_, habit, (visited, ended)) = last.parts();
        let Reckoned { weight, cycle, rule, .. } = self.schedule(txn, seen, last.parts(), (stretch, date))?;
        let (next, cycle) = (last.next(), cycle.to_string());
        Ok(Some(Scheduled { next, last: visited, ended, cycle, rule, habit: *habit, weight, stretch }))
    }

    /// Tags of the seed that a page goes back to, where a rule asks for them.
    pub(super) fn tags(&self, txn: &Txn<'_>, page: Page<'_>) -> Result<Vec<String>> {
        if self.refresh.rules.iter().all(|rule| rule.chosen.tags.is_empty()) {
            return Ok(Vec::new());
        }
        let Ok(seed) = PageUrl::from_canonical(page.origin.unwrap_or(page.url)) else { return Ok(Vec::new()) };
        let key = SeenKey::of(&self.prints, self.crawl, &seed);
        Ok(txn.get::<Seeds>(&key)?.map(|seed| seed.tags).unwrap_or_default())
    }
}

/// The host of a canonical URL.
fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split('/').next().unwrap_or(rest);
    authority
        .rsplit_once(':')
        .filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()))
        .map_or(authority, |(host, _)| host)
}
