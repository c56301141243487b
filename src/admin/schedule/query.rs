//! What is known of visits, read from the database.

use std::time::Duration;

use super::{DueLine, HostVisits, ScheduleView, UrlSchedule};
use crate::admin::ControlError;
use crate::admin::find::{Target, Typed, unread};
use crate::admin::hosts::query::Row;
use crate::admin::orders::command::range_of;
use crate::admin::paging::{Page, Paging, records};
use crate::base::time::UnixMillis;
use crate::base::units::{counted, roughly};
use crate::crawl::node::Node;
use crate::domain::refresh::Ended;
use crate::domain::visit::Visit;
use crate::storage::error::hex;
use crate::storage::keys::{HostAt, HostCrawl, Key, KeyRange, SeenKey, VisitKey};
use crate::storage::ledger::Scheduled;
use crate::storage::tables::{Failed, HostCounts, HostState, Pages, Visits};
use crate::storage::txn::Txn;
use crate::storage::values;
use crate::storage::{StorageError, read};
use crate::warc::date::iso;

type Result<T> = std::result::Result<T, ControlError>;

/// Pages of a host that are due and counted.
const DUE: usize = 1_000;
/// Captures looked at for one URL.
const CAPTURES: usize = 16;
const DAY: f64 = 86_400.0;

/// Of a URL as it was typed.
pub(super) fn typed(node: &Node, url: &str) -> Result<UrlSchedule> {
    let Typed { target, .. } = Target::typed(node, url)?;
    let schedule = of(node, target.key).map_err(unread)?;
    Ok(UrlSchedule { url: target.url.as_str().to_owned(), schedule })
}

/// Of a URL; none of one that waits, was turned away, or never was answered.
pub(in crate::admin) fn of(node: &Node, key: SeenKey) -> std::result::Result<Option<ScheduleView>, StorageError> {
    let rules = node.crawl.rules.ledger(node);
    let date = node.clock.date();
    let Some(scheduled) = rules.schedule_of(&Txn::new(&*node.storage), key, date)? else { return Ok(None) };
    let captures = read::scan::<Pages>(&*node.storage, &KeyRange::captures(key), CAPTURES)?;
    let changes = captures.iter().filter(|(_, page)| page.visit == Visit::Changed).count();
    let until_done = node.crawl.live().settings.crawl.until_done;
    let mut answer = sentence(&scheduled, (captures.len(), changes), (date, until_done));
    if node.crawl.orders.holds(&key.host) {
        answer += " Nothing of its host is asked for now, as the operator said.";
    }
    let Scheduled { next, last, cycle, by, habit, weight, stretch, .. } = scheduled;
    Ok(Some(ScheduleView {
        answer,
        next_ms: next.map(|next| next.0),
        last_ms: last.0,
        cycle,
        by: by.to_string(),
        changes_every_seconds: habit.rate.every().as_secs_f64(),
        visits: captures.len(),
        changes,
        weight,
        new_links: f64::from(habit.links) / 8.0,
        stretch,
    }))
}

fn sentence(s: &Scheduled, (visits, changes): (usize, usize), (date, until_done): (UnixMillis, bool)) -> String {
    let by = s.by;
    let every = roughly(s.habit.rate.every());
    let told = || match visits {
        0 | 1 => format!("taken for one that changes every {every}, as others of its host"),
        _ => format!(
            "{} in {}: about every {every}",
            counted(changes as u64, "change"),
            counted(visits as u64, "capture")
        ),
    };
    let Some(next) = s.next else {
        return match s.ended {
            _ if s.cycle == "off" => format!("It is not visited again: its cycle is off ({by})."),
            Ended::Gone(tries) => format!(
                "It is not visited again: it was gone at {}, and {} found it so.",
                iso(s.last),
                counted(tries.into(), "visit")
            ),
            Ended::Failed(tries) => format!(
                "It is not visited again: {} failed after it was given up at {}.",
                counted(tries.into(), "visit"),
                iso(s.last)
            ),
            Ended::Done if s.sitemap => "It is not visited again: sitemaps are read by sitemaps.revisit.".to_owned(),
            Ended::Done => format!(
                "No visit is planned yet, for it was fetched before its cycle became {} ({by}): `lycosa ctl schedule again` reckons them.",
                s.cycle
            ),
        };
    };
    let when = match next > date {
        true => format!("It is visited next at {} (in {})", iso(next), roughly(next.since(date))),
        false => format!(
            "Its visit is due since {} ({} ago) and waits for its host's turn",
            iso(next),
            roughly(date.since(next))
        ),
    };
    let why = match (s.ended, s.cycle.as_str()) {
        (Ended::Gone(_), _) => "it is gone, and looked for ever more seldom".to_owned(),
        (Ended::Failed(_), _) => "it was given up, and is tried ever more seldom".to_owned(),
        (Ended::Done, "adapt") => {
            format!("{}, weight {:.2}{}{} ({by})", told(), s.weight, stretched(s.stretch), announced(s.announced))
        }
        (Ended::Done, cycle) => format!("its cycle is {cycle} ({by})"),
    };
    let never = if until_done { "; but none is made while crawl.until_done is set" } else { "" };
    format!("{when}: {why}{never}.")
}

fn stretched(stretch: f64) -> String {
    if stretch > 1.005 { format!(", its host stretched {stretch:.1} times") } else { String::new() }
}

fn announced(announced: bool) -> &'static str {
    if announced { ", four times as seldom, for its sitemap tells of changes" } else { "" }
}

/// Pages of a host in the order of their times.
pub(super) fn due(node: &Node, host: &str, paging: &Paging) -> Result<Page<DueLine>> {
    let looked = records::<Visits>(node, paging.part(range_of(node, Some(host))?)?, |_| true).map_err(unread)?;
    let next = looked.next();
    let line = |(key, row): (VisitKey, values::VisitRow)| {
        let url = url_of(node, key.seen())?.unwrap_or_else(|| hex(&key.seen().encode()));
        Ok(DueLine { next: key.time.0, every_seconds: row.every, url })
    };
    let items = looked.items.into_iter().map(line).collect::<std::result::Result<_, StorageError>>().map_err(unread)?;
    Ok(Page { items, next })
}

fn url_of(node: &Node, seen: SeenKey) -> std::result::Result<Option<String>, StorageError> {
    if let Some((_, page)) = read::latest_page(&*node.storage, seen)? {
        return Ok(Some(page.url));
    }
    Ok(read::get::<Failed>(&*node.storage, &seen)?.map(|failed| failed.url))
}

/// Hosts with visits.
pub(super) fn hosts(node: &Node, paging: &Paging) -> Result<Page<HostVisits>> {
    let part = paging.part(KeyRange::all())?;
    let looked = records::<HostCounts>(node, part, |counts| counts.visits.rows > 0).map_err(unread)?;
    let next = looked.next();
    let keys: Vec<HostAt> = looked.items.iter().map(|(key, _)| key.host_at()).collect();
    let states = read::get_many::<HostState>(&*node.storage, &keys).map_err(unread)?;
    let refresh = node.crawl.live().settings.refresh_rules();
    let share = refresh.share;
    let line = |((key, counts), state): ((HostCrawl, values::HostCounts), Option<values::HostState>)| {
        let (due, late) = due_now(node, key).map_err(unread)?;
        let state = state.unwrap_or_default();
        let new_wait = counts.visits.new_wait(counts.waiting());
        let (host, visits, held) = (state.name.clone(), counts.visits, state.orders.held().map(str::to_owned));
        let row = Row::new(node, key.host_at(), state, counts);
        let schedule = row.schedule(node);
        let turn = Duration::try_from_secs_f64(schedule.delay_seconds).unwrap_or_default() + row.pace.last_took();
        let room = share * DAY / turn.as_secs_f64().max(0.001) * schedule.connections as f64;
        Ok(HostVisits {
            host,
            pages: visits.rows,
            first: visits.first.0,
            load: visits.load as f64 / 1e6,
            room,
            stretch: visits.stretched(),
            queued: visits.queued,
            owed: if new_wait { refresh.new_first(visits.unpaid) } else { 0.0 },
            due,
            late_seconds: late.as_secs(),
            held,
        })
    };
    let items = looked.items.into_iter().zip(states).map(line).collect::<Result<_>>()?;
    Ok(Page { items, next })
}

/// Pages of a host whose time has come, and for how long the first of them waits.
fn due_now(node: &Node, host: HostCrawl) -> std::result::Result<(usize, Duration), StorageError> {
    let now = node.clock.date();
    let rows = read::scan::<Visits>(&*node.storage, &KeyRange::visits(host, now), DUE)?;
    let late = rows.first().map(|(first, _)| now.since(first.time)).unwrap_or_default();
    Ok((rows.len(), late))
}
