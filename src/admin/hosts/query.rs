//! Hosts, from the records on disk and the registries in memory.

use std::cmp::Reverse;

use crate::admin::ControlError;
use crate::admin::find::{Target, host_state, unread};
use crate::admin::hosts::look::{Wanted, look};
use crate::admin::hosts::robots::Look;
use crate::admin::hosts::{
    Budget, DelayFrom, HostDetail, HostPage, HostQuery, HostSort, HostView, RobotsText, Schedule,
};
use crate::admin::orders::command::Named;
use crate::admin::paging::{Looked, Paging, cursor};
use crate::admin::views::{HostState as Standing, RobotsView};
use crate::admin::waits::{pace_of, wait_of};
use crate::base::time::UnixMillis;
use crate::crawl::node::Node;
use crate::domain::politeness::{Pace, PaceRules, PaceWhy};
use crate::domain::url::Scheme;
use crate::storage::keys::{HostAt, KeyRange, after};
use crate::storage::tables::Robots;
use crate::storage::values::{HostCounts, HostState, Place};
use crate::storage::{StorageError, read};

/// robots.txt shown of one host, one for each scheme and port.
const COPIES: usize = 50;

pub(super) fn hosts(node: &Node, query: &HostQuery, paging: &Paging) -> Result<HostPage, ControlError> {
    let (limit, begin, wanted) = (paging.limit()?, paging.after()?, Wanted::read(query)?);
    if let Some(sort) = query.sort {
        return sorted_page(node, &wanted, sort, limit, place(&begin)?).map_err(unread);
    }
    let from = if begin.is_empty() { begin } else { after(&begin) };
    page(node, &wanted, limit, from).map_err(unread)
}

pub(super) fn host(node: &Node, name: &str) -> Result<HostDetail, ControlError> {
    let row = Row::known(node, &named(node, name)?)?;
    row.detail(node).map_err(unread)
}

/// Its robots.txt, and what that says of a URL.
pub(super) fn robots(node: &Node, name: &str, url: Option<&str>) -> Result<RobotsText, ControlError> {
    let host = named(node, name)?;
    let target = url.map(|url| Target::typed(node, url)).transpose()?.map(|typed| typed.target);
    if let Some(other) = target.as_ref().filter(|target| target.url.host() != host.name) {
        let detail = format!("url: expected a URL of {}, not of {}", host.name, other.url.host());
        return Err(ControlError::Invalid(detail));
    }
    robots_text(node, &host, target.as_ref())
}

/// The host of a path or query.
pub(in crate::admin) fn named(node: &Node, name: &str) -> Result<Named, ControlError> {
    let wrong =
        |_| ControlError::Invalid("host: expected a name as example.org, or an address; IPv6 in brackets".into());
    Named::of(node, name).map_err(wrong)
}

fn absent(name: &str) -> ControlError {
    ControlError::Absent(format!("nothing is known of the host {name}: nobody found a link to it yet"))
}

/// What is read of one host.
pub(in crate::admin) struct Row {
    at: HostAt,
    pub state: HostState,
    counts: HostCounts,
    pub pace: Pace,
    pub standing: Standing,
}

impl Row {
    pub fn new(node: &Node, at: HostAt, state: HostState, counts: HostCounts) -> Self {
        let pace = pace_of(node, at, Some(&state));
        Self { at, standing: host_state(node, at, counts.place), state, counts, pace }
    }

    fn known(node: &Node, Named { name, at }: &Named) -> Result<Self, ControlError> {
        let at = *at;
        let state = read::host_state(&*node.storage, at).map_err(unread)?.filter(|state| state.name == *name);
        let counts = read::host_counts(&*node.storage, at.crawl(node.crawl.id)).map_err(unread)?;
        Ok(Self::new(node, at, state.ok_or_else(|| absent(name))?, counts.unwrap_or_default()))
    }

    /// What its pacer goes by: the settings, or what the operator has said.
    fn rules(&self, node: &Node) -> PaceRules {
        let own = node.crawl.live().host_rules(&self.state.name).pace;
        match node.crawl.orders.of(&self.at.host).min_delay {
            Some(gap) => own.with_min_delay(gap),
            None => own,
        }
    }

    /// Requests a second that the pace allows.
    fn rate(&self, node: &Node) -> f64 {
        let round = (self.pace.gap(&self.rules(node)) + self.pace.last_took()).as_secs_f64();
        match self.standing {
            Standing::Active if round > 0.0 => 1.0 / round,
            _ => 0.0,
        }
    }

    fn next(&self) -> UnixMillis {
        match self.counts.place {
            _ if matches!(self.standing, Standing::Idle | Standing::Held) => UnixMillis(u64::MAX),
            Place::Parked { time } => time.max(self.pace.earliest()),
            _ => self.pace.earliest(),
        }
    }

    fn view(&self, node: &Node) -> Result<HostView, StorageError> {
        let now = node.clock.now();
        let wait = wait_of(node, self.at, &self.pace, self.counts.place, now)?;
        Ok(HostView {
            name: self.state.name.clone(),
            state: self.standing,
            queued: self.counts.queued_total(),
            queued_by_rank: self.counts.queued.to_vec(),
            due: self.counts.due,
            done: self.counts.done,
            errors: self.counts.errors,
            bytes: self.counts.bytes,
            orders: node.crawl.orders.told(&self.at.host),
            rate: self.rate(node),
            wait: wait.filter(|_| !node.crawl.orders.holds(&self.at.host)).map(|wait| wait.view(&node.clock)),
        })
    }

    pub(in crate::admin) fn schedule(&self, node: &Node) -> Schedule {
        let own = node.crawl.live().host_rules(&self.state.name);
        let (rules, ordered) = (self.rules(node), node.crawl.orders.of(&self.at.host).min_delay);
        let gap = self.pace.gap(&rules);
        let delay_from = match self.pace.gap_why(&rules) {
            PaceWhy::CrawlDelay => DelayFrom::CrawlDelay,
            _ if gap > rules.min_delay => DelayFrom::AnswerTime,
            _ if ordered.is_some() => DelayFrom::Ordered,
            _ => DelayFrom::MinDelay,
        };
        Schedule {
            earliest_ms: node.clock.date_of(self.pace.earliest()).0,
            delay_seconds: gap.as_secs_f64(),
            delay_from,
            own_rules: node.crawl.live().settings.host_rules(&self.state.name).is_some(),
            connections: own.connections as u64,
            backoff_steps: self.pace.backoff(),
            refusals: self.pace.hostile_run(),
            last_answer_ms: self.pace.last_end().map(|at| node.clock.date_of(at).0),
            last_answer_seconds: self.pace.last_took().as_secs_f64(),
        }
    }

    fn detail(&self, node: &Node) -> Result<HostDetail, StorageError> {
        let now = node.clock.now();
        let known = node.net.resolver.known(&self.state.name);
        let (addresses, address_fault) = match known {
            Some(Ok(ips)) => (ips.iter().map(ToString::to_string).collect(), None),
            Some(Err(fault)) => (Vec::new(), Some(fault.failure().as_str().to_owned())),
            None => (Vec::new(), None),
        };
        let used = self.counts.done.saturating_add(self.counts.errors);
        let budget = |pages: u64| Budget { pages, used, left: pages.saturating_sub(used) };
        let copies = read::scan::<Robots>(&*node.storage, &KeyRange::host(self.at), COPIES)?;
        let look = |(key, copy): &(crate::storage::keys::RobotsKey, _)| -> RobotsView {
            Look::new(node, *key, Some(copy), now).view
        };
        Ok(HostDetail {
            host: self.view(node)?,
            orders: node.crawl.orders.of(&self.at.host).into(),
            schedule: self.schedule(node),
            addresses,
            address_fault,
            budget: node.crawl.live().settings.pages_per_host().map(budget),
            robots: copies.iter().map(look).collect(),
        })
    }
}

fn robots_text(node: &Node, host: &Named, target: Option<&Target>) -> Result<RobotsText, ControlError> {
    Row::known(node, host)?;
    let at = host.at;
    let (key, kept) = match target.map(|target| at.robots(target.url.scheme(), target.url.port())) {
        Some(key) => (key, read::robots(&*node.storage, key).map_err(unread)?),
        None => {
            let first = read::scan::<Robots>(&*node.storage, &KeyRange::host(at), 1).map_err(unread)?.pop();
            first.map_or((at.robots(Scheme::Https, 443), None), |(key, kept)| (key, Some(kept)))
        }
    };
    let look = Look::new(node, key, kept.as_ref(), node.clock.now());
    let text = kept.map(|kept| String::from_utf8_lossy(&kept.text).into_owned()).unwrap_or_default();
    let verdict = target.map(|target| look.verdict(target.url.tail()));
    Ok(RobotsText { robots: look.view, text, verdict })
}

/// Where a page of a sorted list begins.
fn place(begin: &[u8]) -> Result<usize, ControlError> {
    let wrong = || ControlError::Invalid("cursor: expected `next` of a page of the same list".into());
    if begin.is_empty() {
        return Ok(0);
    }
    let place = u64::from_be_bytes(begin.try_into().map_err(|_| wrong())?);
    usize::try_from(place).map_err(|_| wrong())
}

/// Hosts in key order, from a key on.
fn page(node: &Node, wanted: &Wanted, limit: usize, begin: Vec<u8>) -> Result<HostPage, StorageError> {
    let looked = look(node, wanted, begin, limit)?;
    let items = looked.items.iter().flatten().map(|row| row.view(node)).collect::<Result<_, _>>()?;
    Ok(HostPage { items, next: looked.next(), looked_at: looked.looked_at, all_looked_at: looked.all })
}

/// A page of the first hosts, sorted. The order is made anew for each page.
fn sorted_page(
    node: &Node,
    wanted: &Wanted,
    sort: HostSort,
    limit: usize,
    first: usize,
) -> Result<HostPage, StorageError> {
    let Looked { items, looked_at, all, .. } = look(node, wanted, Vec::new(), usize::MAX)?;
    let mut rows: Vec<Row> = items.into_iter().flatten().collect();
    sorted(node, &mut rows, sort);
    let end = first.saturating_add(limit);
    let next = (rows.len() > end).then(|| cursor(&(end as u64).to_be_bytes()));
    let items = rows.iter().skip(first).take(limit).map(|row| row.view(node)).collect::<Result<_, _>>()?;
    Ok(HostPage { items, next, looked_at, all_looked_at: all })
}

fn sorted(node: &Node, rows: &mut [Row], sort: HostSort) {
    match sort {
        HostSort::Queue => rows.sort_by_key(|row| Reverse(row.counts.queued_total())),
        HostSort::Errors => rows.sort_by_key(|row| Reverse(row.counts.errors)),
        HostSort::Next => rows.sort_by_key(Row::next),
        HostSort::Name => rows.sort_by(|a, b| a.state.name.cmp(&b.state.name)),
        HostSort::Rate => rows.sort_by(|a, b| b.rate(node).total_cmp(&a.rate(node))),
    }
}
