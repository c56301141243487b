//! Actors, from their cards.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::admin::ControlError;
use crate::admin::actors::{ActorKindView, ActorQuery, ActorState, ActorView, FaultView};
use crate::admin::paging::{Page, Paging, cursor};
use crate::base::sync::lock;
use crate::crawl::card::{Card, Life};
use crate::crawl::node::Node;
use crate::crawl::supervise::Kind;
use crate::telemetry::metrics::Registry;

/// A page of actors, by kind and instance.
///
/// # Errors
/// A bad limit or cursor.
pub fn actors(node: &Node, query: ActorQuery, paging: &Paging) -> Result<Page<ActorView>, ControlError> {
    let (limit, begin) = (paging.limit()?, paging.after()?);
    let mut cards = cards(node);
    cards.retain(|card| query.kind.is_none_or(|kind| kind == kind_view(card.kind())) && place(card) > begin);
    cards.sort_unstable_by_key(|card| place(card));
    let more = cards.len() > limit;
    cards.truncate(limit);
    let next = cards.last().filter(|_| more).map(|card| cursor(&place(card)));
    Ok(Page { items: cards.iter().map(|card| view(node, card)).collect(), next })
}

/// Restarts one; answers when its next life has begun.
///
/// # Errors
/// What was asked makes no sense now, or storage does not answer.
pub async fn restart(node: Arc<Node>, kind: ActorKindView, instance: &str) -> Result<ActorView, ControlError> {
    let instance = instance.to_owned();
    let found = cards(&node).into_iter().find(|c| kind_view(c.kind()) == kind && **c.instance() == *instance);
    let absent =
        || ControlError::Absent(format!("there is no such actor now: {kind:?} {instance}; see /api/v1/actors"));
    let card = found.ok_or_else(absent)?;
    if card.life() == Life::Stopped {
        return Err(ControlError::Refused("it has stopped for good; the node is coming to its end".into()));
    }
    let life = card.lives();
    card.ask_restart();
    card.lives_beyond(life).await;
    Ok(view(&node, &card))
}

/// The cards of all actors, in no order.
fn cards(node: &Node) -> Vec<Arc<Card>> {
    let doors = node.doors();
    let mut cards = vec![
        doors.supervisor.meter().card().clone(),
        doors.frontier.meter().card().clone(),
        doors.parser.meter().card().clone(),
        doors.deduper.meter().card().clone(),
        doors.store.meter().card().clone(),
    ];
    cards.extend(doors.fetchers.iter().map(|door| door.meter().card().clone()));
    cards.extend(lock(&node.actors.hosts).values().map(|door| door.meter().card().clone()));
    cards
}

/// Its place in the list: by kind, then instance; short names first, so that numbers stand in their order.
fn place(card: &Card) -> Vec<u8> {
    let name = card.instance().as_bytes();
    let mut place = vec![card.kind() as u8];
    if card.kind() == Kind::Fetcher {
        place.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
    }
    place.extend(name.iter().take(253));
    place
}

fn kind_view(kind: Kind) -> ActorKindView {
    match kind {
        Kind::Supervisor => ActorKindView::Supervisor,
        Kind::Frontier => ActorKindView::Frontier,
        Kind::Politeness => ActorKindView::Politeness,
        Kind::Fetcher => ActorKindView::Fetcher,
        Kind::Parser => ActorKindView::Parser,
        Kind::Deduper => ActorKindView::Deduper,
        Kind::Store => ActorKindView::Store,
    }
}

fn view(node: &Node, card: &Card) -> ActorView {
    let seconds = |share| card.quantile(share).map(|time| time.as_secs_f64());
    ActorView {
        kind: kind_view(card.kind()),
        instance: card.instance().to_string(),
        thread: card.thread().map(Into::into),
        state: match card.life() {
            Life::Running => ActorState::Running,
            Life::Restarting => ActorState::Restarting,
            Life::Stopped => ActorState::Stopped,
        },
        queue: card.queued(),
        handled: card.handled(),
        handle_p50_seconds: seconds(0.5),
        handle_p99_seconds: seconds(0.99),
        restarts: card.lives().saturating_sub(1),
        faults: card.faults(),
        last_fault: card.last_fault().map(|(at, why)| FaultView { at_ms: node.clock.date_of(at).0, why }),
        observed: observed(node, card),
    }
}

/// What it holds, from the registries: nothing is asked of the actor.
fn observed(node: &Node, card: &Card) -> BTreeMap<String, i64> {
    let held = |registries: &[Registry]| -> Vec<(&'static str, i64)> {
        registries.iter().map(|r| (r.as_str(), node.telemetry.metrics.entries_of(*r))).collect()
    };
    let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let found = match card.kind() {
        Kind::Supervisor => {
            vec![("deaths", number(Kind::ALL.iter().map(|kind| node.telemetry.metrics.restarts(*kind)).sum()))]
        }
        Kind::Frontier => held(&[Registry::ActiveHosts, Registry::RestingHosts, Registry::Leases, Registry::Heads]),
        Kind::Politeness => of_host(node, card),
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

fn of_host(node: &Node, card: &Card) -> Vec<(&'static str, i64)> {
    let Some(pace) = node.slots.pace_of(&node.prints.host(card.instance())) else { return Vec::new() };
    let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    vec![
        ("earliest_ms", number(pace.earliest().0)),
        ("backoff_steps", pace.backoff().into()),
        ("refusals", pace.hostile_run().into()),
    ]
}
