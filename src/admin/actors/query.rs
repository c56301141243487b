//! Actors, from their statistics (`crawl/stats.rs`).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::admin::ControlError;
use crate::admin::actors::{ActorQuery, ActorView, FaultView};
use crate::admin::paging::{Page, Paging, cursor};
use crate::base::sync::lock;
use crate::crawl::node::Node;
use crate::crawl::stats::{ActorStats, Life};
use crate::crawl::supervise::Kind;
use crate::telemetry::metrics::Registry;

/// A page of actors, by kind and instance.
pub(super) fn actors(node: &Node, query: ActorQuery, paging: &Paging) -> Result<Page<ActorView>, ControlError> {
    let (limit, begin) = (paging.limit()?, paging.after()?);
    let mut stats = stats(node);
    stats.retain(|stats| query.kind.is_none_or(|kind| kind == stats.kind) && place(stats) > begin);
    stats.sort_unstable_by_key(|stats| place(stats));
    let more = stats.len() > limit;
    stats.truncate(limit);
    let next = stats.last().filter(|_| more).map(|stats| cursor(&place(stats)));
    Ok(Page { items: stats.iter().map(|stats| view(node, stats)).collect(), next })
}

/// Restarts one; answers when its next life has begun.
pub(super) async fn restart(node: Arc<Node>, kind: Kind, instance: &str) -> Result<ActorView, ControlError> {
    let instance = instance.to_owned();
    let found = stats(&node).into_iter().find(|c| c.kind == kind && *c.instance == *instance);
    let absent =
        || ControlError::Absent(format!("there is no such actor now: {kind:?} {instance}; see `lycosa ctl actors`"));
    let stats = found.ok_or_else(absent)?;
    if stats.life() == Life::Stopped {
        return Err(ControlError::Refused("it has stopped for good; the node is coming to its end".into()));
    }
    let life = stats.lives();
    stats.ask_restart();
    stats.lives_beyond(life).await;
    if stats.lives() == life {
        return Err(absent()); // it retired meanwhile
    }
    Ok(view(&node, &stats))
}

/// The statistics of all actors, in no order.
fn stats(node: &Node) -> Vec<Arc<ActorStats>> {
    let mailboxes = node.mailboxes();
    let mut stats = vec![
        mailboxes.supervisor.meter.stats.clone(),
        mailboxes.frontier.meter.stats.clone(),
        mailboxes.parser.meter.stats.clone(),
        mailboxes.deduper.meter.stats.clone(),
        mailboxes.store.meter.stats.clone(),
    ];
    stats.extend(mailboxes.fetchers.iter().map(|mailbox| mailbox.meter.stats.clone()));
    stats.extend(lock(&node.actors.hosts).values().map(|mailbox| mailbox.meter.stats.clone()));
    stats
}

/// Its place in the list: by kind, then instance; short names first, so that numbers stand in their order.
fn place(stats: &ActorStats) -> Vec<u8> {
    let name = stats.instance.as_bytes();
    let mut place = vec![stats.kind as u8];
    if stats.kind == Kind::Fetcher {
        place.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
    }
    place.extend(name.iter().take(253));
    place
}

fn view(node: &Node, stats: &ActorStats) -> ActorView {
    let seconds = |share| stats.quantile(share).map(|time| time.as_secs_f64());
    ActorView {
        kind: stats.kind,
        instance: stats.instance.to_string(),
        thread: stats.thread().map(Into::into),
        state: stats.life(),
        queue: stats.queued(),
        handled: stats.handled(),
        handle_p50_seconds: seconds(0.5),
        handle_p99_seconds: seconds(0.99),
        restarts: stats.lives().saturating_sub(1),
        faults: stats.faults(),
        last_fault: stats.last_fault().map(|(at, why)| FaultView { at_ms: node.clock.date_of(at).0, why }),
        observed: observed(node, stats),
    }
}

/// What it holds, from the registries: nothing is asked of the actor.
fn observed(node: &Node, stats: &ActorStats) -> BTreeMap<String, i64> {
    let held = |registries: &[Registry]| -> Vec<(&'static str, i64)> {
        registries.iter().map(|r| (r.as_str(), node.telemetry.metrics.entries_of(*r))).collect()
    };
    let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let found = match stats.kind {
        Kind::Supervisor => {
            vec![("deaths", number(Kind::ALL.iter().map(|kind| node.telemetry.metrics.restarts(*kind)).sum()))]
        }
        Kind::Frontier => held(&[Registry::ActiveHosts, Registry::RestingHosts, Registry::Leases, Registry::Heads]),
        Kind::Politeness => of_host(node, stats),
        Kind::Fetcher => {
            let free = node.permits.fetches.available_permits();
            let all = node.crawl.rules.settings.fetch.concurrency.saturating_sub(free);
            vec![("requests_of_all_fetchers", number(all as u64))]
        }
        Kind::Parser => vec![("pages_being_parsed", number(node.permits.parsing.load(Ordering::Relaxed)))],
        Kind::Deduper => held(&[Registry::PendingUrls, Registry::PendingContents, Registry::PopularUrls]),
        Kind::Store => {
            let mut held = held(&[Registry::LedgerHosts]);
            held.extend([
                ("epoch", number(node.crawl.epoch.now())),
                ("commits", number(*node.crawl.progress.committed.borrow())),
            ]);
            held
        }
    };
    found.into_iter().map(|(name, n)| (name.to_owned(), n)).collect()
}

fn of_host(node: &Node, stats: &ActorStats) -> Vec<(&'static str, i64)> {
    let Some(pace) = node.slots.pace_of(&node.prints.host(&stats.instance)) else { return Vec::new() };
    let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    vec![
        ("earliest_ms", number(pace.earliest().0)),
        ("backoff_steps", pace.backoff().into()),
        ("refusals", pace.hostile_run().into()),
    ]
}
