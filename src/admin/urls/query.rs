//! URLs: what is known of one, and all that decides over it.

use std::sync::PoisonError;
use std::time::Duration;

use crate::admin::ControlError;
use crate::admin::find::{Record, Target, Typed, host_state, unread};
use crate::admin::hosts::query::Row;
use crate::admin::hosts::robots::Look;
use crate::admin::schedule;
use crate::admin::urls::ranking::ranking;
use crate::admin::urls::{
    AgainView, AttemptView, Explanation, FoundView, HoldView, QueueView, RuleView, UrlHost, UrlState as State, UrlView,
    answer, deciding,
};
use crate::admin::views::{CanonicalView, CaptureView, json_name};
use crate::admin::waits::wait_of;
use crate::admin::why_idle::findings;
use crate::base::time::{UnixMillis, millis};
use crate::base::units::counted;
use crate::crawl::admit::{self, LINK, way};
use crate::crawl::node::Node;
use crate::domain::reason::Rejection;
use crate::domain::url::PageUrl;
use crate::storage::keys::{Key, KeyRange, SeenKey};
use crate::storage::tables::{Failed, Pages};
use crate::storage::values::{HostCounts, UrlState};
use crate::storage::{Family, StorageError, read};
use crate::warc::pick::way_at;

/// Queue entries counted before a URL.
const COUNTED: usize = 1_000;
/// An attempt of this process that lies so near to the moment of giving up is the last one, milliseconds: its commit came later.
const SAME: u64 = 60_000;
/// Captures shown as attempts.
const CAPTURES: usize = 16;

/// What is known of a URL.
pub(super) fn look_up(node: &Node, url: &str) -> Result<UrlView, ControlError> {
    let target = Target::typed(node, url)?.target;
    let record = Record::read(node, target.key).map_err(unread)?;
    let given_up = read::get::<Failed>(&*node.storage, &target.key).map_err(unread)?.map(|failed| failed.when.0);
    Ok(view(node, &target, &record, given_up))
}

/// All that decides over a URL.
pub(super) fn explain(node: &Node, url: &str) -> Result<Explanation, ControlError> {
    explained(node, Target::typed(node, url)?).map_err(unread)
}

fn state(record: &Record) -> (State, Option<&'static str>) {
    if record.leased { (State::Processing, None) } else { state_of(record.state) }
}

/// The same of a URL that is in nobody's hands.
pub(in crate::admin) fn state_of(state: Option<UrlState>) -> (State, Option<&'static str>) {
    match state {
        None => (State::Unknown, None),
        Some(UrlState::Waiting { .. }) => (State::Waiting, None),
        Some(UrlState::Done { how, .. }) => (State::Done, Some(how.as_str())),
        Some(UrlState::Error { reason }) => (State::Error, Some(reason.as_str())),
        Some(UrlState::Rejected { reason, .. }) => (State::Rejected, Some(reason.as_str())),
    }
}

fn view(node: &Node, target: &Target, record: &Record, given_up: Option<u64>) -> UrlView {
    let (state, reason) = state(record);
    let (rank, order, due) = match record.state {
        Some(UrlState::Waiting { rank, order, due, .. }) => (Some(rank), due.is_none().then_some(order), due),
        _ => (None, None, None),
    };
    let captured = record.page.as_ref().map(|(_, page)| page.fetched.0);
    let failed = || node.telemetry.attempts.of(&target.key.url).first().map(|attempt| attempt.at.0);
    let at_ms = match state {
        State::Done => captured,
        State::Error => given_up.or_else(failed).or(captured),
        _ => None,
    };
    UrlView {
        url: target.url.as_str().to_owned(),
        state,
        reason: reason.map(Into::into),
        at_ms,
        depth: record.depth(),
        rank,
        order,
        due_ms: due.map(|t| node.clock.date_of(t).0),
        warc: record.page.as_ref().and_then(|(_, page)| page.warc.clone()),
    }
}

/// The member whose host it is of, when that is not this one.
fn foreign(node: &Node, target: &Target) -> Option<String> {
    let share = node.crawl.share.as_ref()?;
    share.foreign(target.key.partition).map(|member| share.name_of(member))
}

fn explained(node: &Node, typed: Typed) -> Result<Explanation, StorageError> {
    let Typed { target, text, assumed } = &typed;
    let now = node.clock.now();
    let url = &target.url;
    let record = Record::read(node, target.key)?;
    let (state, reason) = state(&record);
    let counts = read::host_counts(&*node.storage, target.key.host_crawl())?;
    let key = target.host().robots(url.scheme(), url.port());
    let robots = Look::new(node, key, read::robots(&*node.storage, key)?.as_ref(), now);
    let waits = matches!(state, State::Waiting | State::Processing);
    let hold = findings::hold(node).map(hold).or_else(|| held(node, target)).filter(|_| waits);
    let host = counts.clone().map(|counts| host(node, target, counts)).transpose()?;
    let mut queue = queue(node, target.key, &record, counts.as_ref())?;
    if let (Some(queue), None) = (&mut queue, &hold) {
        queue.earliest_ms = earliest(queue, host.as_ref(), node.clock.date());
    }
    let mut explanation = Explanation {
        answer: String::new(),
        facts: Vec::new(),
        assumed: assumed.clone(),
        canonical: CanonicalView::new(text, url),
        state,
        reason: reason.map(Into::into),
        rules: rules(node, url, &record),
        robots_verdict: robots.verdict(url.tail()),
        robots: robots.view,
        ranking: ranking(node, target, &record, counts.as_ref())?,
        queue,
        host,
        hold,
        attempts: attempts(node, target.key, state)?,
        found: found(node, target, &record)?,
        page: record.page.as_ref().map(|(_, page)| CaptureView::from(page)),
        schedule: schedule::of(node, target.key)?,
    };
    let date = node.clock.date();
    explanation.answer = match foreign(node, target) {
        Some(member) => {
            format!("Its host belongs to member {member} of this crawl, who judges and fetches it: ask there.")
        }
        None => answer(&explanation, date),
    };
    explanation.facts = deciding(&explanation, date);
    Ok(explanation)
}

/// How it was found, by whatever is kept of it: its queue entry, its record as an error or rejection, or its metadata in the archive.
fn found(node: &Node, target: &Target, record: &Record) -> Result<Option<FoundView>, StorageError> {
    if let Some(entry) = &record.entry {
        return Ok(Some(FoundView { via: entry.via.clone(), seed: entry.seed }));
    }
    if let Some(rejected) = &record.rejected {
        return Ok(Some(FoundView { via: rejected.via.clone(), seed: false }));
    }
    if let Some(failed) = read::get::<Failed>(&*node.storage, &target.key)? {
        return Ok(Some(FoundView { via: failed.via, seed: failed.seed }));
    }
    let dir = node.crawl.rules.settings.warc_dir();
    let way = record.page.as_ref().and_then(|(_, page)| {
        let place = page.warc.as_ref()?;
        way_at(&dir, &place.file, place.offset, &page.asked())
    });
    Ok(way.map(|way| FoundView { seed: way.via.is_none() && way.hops.is_empty(), via: way.via }))
}

fn hold(finding: crate::admin::why_idle::Finding) -> HoldView {
    HoldView { code: json_name(finding.code), sentence: finding.sentence }
}

/// What the operator has said of its host.
fn held(node: &Node, target: &Target) -> Option<HoldView> {
    let host = &target.host().host;
    let told = Some(node.crawl.orders.told(host)).filter(|told| node.crawl.orders.holds(host) && !told.is_empty())?;
    Some(HoldView { code: "host_held".to_owned(), sentence: format!("its host is {}", told.join(", ")) })
}

/// As every found URL is judged (`crawl::admit`): traps, then scope and filters, then redirects.
fn rules(node: &Node, url: &PageUrl, record: &Record) -> RuleView {
    let depth = record.depth().unwrap_or(1);
    let hops = record.entry.as_ref().map_or(0, |entry| entry.hops);
    let scope = node.crawl.scope.read().unwrap_or_else(PoisonError::into_inner);
    let entry = record.entry.as_ref();
    let way = entry.map_or(LINK, |entry| way(entry.found, entry.via.as_deref(), entry.origin.as_deref()));
    let (verdict, rule) = admit::explain(&node.crawl.live(), &scope, url, depth, way);
    if node.crawl.orders.blocks().on(url.host()) {
        let (reason, rule) =
            (Some(Rejection::Blocked.as_str().to_owned()), "its host is blocked by the operator".into());
        return RuleView { accepted: false, reason, rule, depth };
    }
    let max = node.crawl.live().settings.fetch.max_redirects;
    let (verdict, rule) = match verdict {
        Ok(()) if hops > max => (
            Err(Rejection::Redirects),
            format!("{} in a row: fetch.max_redirects allows {max}", counted(u64::from(hops), "redirect")),
        ),
        verdict => (verdict, rule),
    };
    let reason = verdict.err().map(|reason| reason.as_str().to_owned());
    RuleView { accepted: reason.is_none(), reason, rule, depth }
}

fn queue(
    node: &Node,
    key: SeenKey,
    record: &Record,
    counts: Option<&HostCounts>,
) -> Result<Option<QueueView>, StorageError> {
    let (Some(UrlState::Waiting { rank, order, due, .. }), Some(entry)) = (record.state, &record.entry) else {
        return Ok(None);
    };
    let (before, before_is_exact) = match (due, counts) {
        (None, Some(counts)) => before(node, key, (rank, order), counts)?,
        _ => (0, true),
    };
    Ok(Some(QueueView {
        rank,
        order,
        before,
        before_is_exact,
        due_ms: due.map(|t| node.clock.date_of(t).0),
        earliest_ms: None,
        failed_attempts: entry.attempts,
        seed: entry.seed,
        discovered_ms: entry.discovered.0,
        via: entry.via.clone(),
        origin: entry.origin.clone(),
        again: entry
            .again
            .as_ref()
            .map(|last| AgainView { captured_ms: last.captured.0, reason: last.why.as_str().to_owned() }),
    }))
}

/// URLs of the host that stand before it, and whether that is all of them.
fn before(
    node: &Node,
    key: SeenKey,
    (rank, order): (u8, u64),
    counts: &HostCounts,
) -> Result<(u64, bool), StorageError> {
    let better: u64 = counts.queued.iter().take(rank.into()).sum();
    let host = key.host_crawl();
    let head = counts.heads.get(usize::from(rank)).copied().unwrap_or_default();
    let from = KeyRange::queue_rank(host, rank, head).from;
    let until = host.queue(rank, order).encode();
    if from >= until {
        return Ok((better, true));
    }
    let same = node.storage.scan(Family::Queue, &from, &until, COUNTED)?.len();
    Ok((better.saturating_add(same as u64), same < COUNTED))
}

/// When its turn can come: what is before it comes first, a gap apart.
fn earliest(queue: &QueueView, host: Option<&UrlHost>, now: UnixMillis) -> Option<u64> {
    let host = host.filter(|_| queue.before_is_exact)?;
    let begin = host.wait.as_ref().map_or(now.0, |wait| wait.until_ms).max(queue.due_ms.unwrap_or(0));
    let gap = Duration::try_from_secs_f64(host.schedule.delay_seconds).unwrap_or_default();
    let rounds = queue.before.checked_div(host.schedule.connections.max(1)).unwrap_or_default();
    Some(begin.saturating_add(millis(gap).saturating_mul(rounds)))
}

fn host(node: &Node, target: &Target, counts: HostCounts) -> Result<UrlHost, StorageError> {
    let (at, now) = (target.host(), node.clock.now());
    let stored = read::host_state(&*node.storage, at)?.unwrap_or_default();
    let (place, queued) = (counts.place, counts.queued_total());
    let row = Row::new(node, at, stored, counts);
    let wait = wait_of(node, at, &row.pace, place, now)?.filter(|_| !node.crawl.orders.holds(&at.host));
    let state = host_state(node, at, place);
    Ok(UrlHost { state, wait: wait.map(|wait| wait.view(&node.clock)), queued, schedule: row.schedule(node) })
}

/// The one that it was given up for, failures of this process, and captures, newest first.
fn attempts(node: &Node, key: SeenKey, state: State) -> Result<Vec<AttemptView>, StorageError> {
    let failed = node.telemetry.attempts.of(&key.url);
    let mut failed: Vec<AttemptView> = failed
        .into_iter()
        .map(|a| AttemptView { at_ms: a.at.0, outcome: a.reason.to_owned(), status: a.status })
        .collect();
    if state == State::Error
        && let Some(end) = read::get::<Failed>(&*node.storage, &key)?
        && failed.iter().all(|attempt| attempt.at_ms.abs_diff(end.when.0) > SAME)
    {
        failed.push(AttemptView { at_ms: end.when.0, outcome: end.reason.as_str().to_owned(), status: end.status });
    }
    let captures = read::scan::<Pages>(&*node.storage, &KeyRange::captures(key), CAPTURES)?;
    let captures = captures.into_iter().map(|(_, page)| AttemptView {
        at_ms: page.fetched.0,
        outcome: page.how.as_str().to_owned(),
        status: Some(page.status),
    });
    let mut all: Vec<AttemptView> = captures.filter(|c| !failed.iter().any(|f| f.status == c.status)).collect();
    all.extend(failed);
    all.sort_by_key(|attempt| std::cmp::Reverse(attempt.at_ms));
    Ok(all)
}
