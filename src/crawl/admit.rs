//! The door every found URL passes before the seen test, and again before its request: blocked hosts, traps, then scope and
//! filters.

use std::sync::PoisonError;

use super::lease::Lease;
use super::node::Node;
use crate::base::sync::lock;
use crate::content::sitemap::{is_announced, is_named_by_seed};
use crate::crawl::live::Live;
use crate::domain::found_as::FoundAs;
use crate::domain::partition::Partition;
use crate::domain::rank::Ranker;
use crate::domain::reason::Rejection;
use crate::domain::scope::Scope;
use crate::domain::url::PageUrl;
use crate::storage::ledger::{ForeignUrl, LinkChange, NewUrl, RejectedUrl};

/// Judges found URLs by the rules in force; the seen test comes afterwards.
pub fn admit(node: &Node, found: impl IntoIterator<Item = NewUrl>) -> LinkChange {
    let scope = node.crawl.scope.read().unwrap_or_else(PoisonError::into_inner);
    let live = node.crawl.live(); // under the scope's lock, so that both are of one generation
    let mut out = LinkChange { generation: live.generation, ..LinkChange::default() };
    let blocks = node.crawl.orders.blocks();
    for new in found {
        if is_foreign(node, &new.url) {
            out.foreign.push(ForeignUrl { new, refused: None, units: 0 });
            continue;
        }
        if blocks.on(new.url.host()) {
            out.turned.push(RejectedUrl { new, reason: Rejection::Blocked });
            continue;
        }
        let way = way(new.found, new.via.as_deref(), new.origin.as_deref());
        let by_its_way = match new.limit {
            Some(limit) if new.depth > limit => Err(Rejection::TooDeep), // as was said of its seed
            _ if new.hops > node.crawl.rules.settings.fetch.max_redirects => Err(Rejection::Redirects),
            _ => Ok(()),
        };
        let verdict = judge(&live, &scope, &new.url, new.depth, way).and(by_its_way);
        match verdict {
            Ok(()) => out.new.push(new),
            Err(reason) => out.turned.push(RejectedUrl { new, reason }),
        }
    }
    out
}

/// Whether a URL is of another member's host, who judges it: its scope, its orders and its traps are not known here.
pub fn is_foreign(node: &Node, url: &PageUrl) -> bool {
    let share = node.crawl.share.as_ref();
    share.is_some_and(|share| share.foreign(Partition::of_host(url.host())).is_some())
}

/// URLs that their page says are not to be followed: turned away here, or handed over with that reason.
pub fn refuse(node: &Node, out: &mut LinkChange, refused: impl IntoIterator<Item = RejectedUrl>) {
    for RejectedUrl { new, reason } in refused {
        match is_foreign(node, &new.url) {
            true => out.foreign.push(ForeignUrl { new, refused: Some(reason), units: 0 }),
            false => out.turned.push(RejectedUrl { new, reason }),
        }
    }
}

/// As what a URL was found, and where; see [`way`].
pub type Way<'v> = (FoundAs, Option<&'v str>);

/// The way of an ordinary link.
pub const LINK: Way<'static> = (FoundAs::Link, None);

/// As what and where a URL was found that goes back to the seed `origin`. Where the seed itself names a sitemap nobody else led to it.
pub fn way<'v>(found: FoundAs, via: Option<&'v str>, origin: Option<&str>) -> Way<'v> {
    (found, via.filter(|_| !is_named_by_seed(found, via, origin)))
}

/// What rules say of a URL found at a depth, as what and where. For a sitemap that was announced, those for pages do not count.
///
/// # Errors
/// Why it is turned away.
pub fn judge(live: &Live, scope: &Scope, url: &PageUrl, depth: u16, way: Way<'_>) -> Result<(), Rejection> {
    live.traps.judge(url)?;
    if is_announced(url, way.0, way.1) { scope.judge_sitemap(url) } else { scope.judge(url, depth) }
}

/// The verdict of [`judge`], and the rule that gave it in words.
pub fn explain(live: &Live, scope: &Scope, url: &PageUrl, depth: u16, way: Way<'_>) -> (Result<(), Rejection>, String) {
    match live.traps.explain(url) {
        Err((reason, rule)) => (Err(reason), rule),
        Ok(()) if is_announced(url, way.0, way.1) => match scope.judge_sitemap(url) {
            Ok(()) => (Ok(()), "a sitemap that was announced: rules for pages do not count".to_owned()),
            Err(reason) => (Err(reason), "hosts and patterns that are never wanted".to_owned()),
        },
        Ok(()) => scope.explain(url, depth),
    }
}

/// Why a URL was turned away: the reason, and the rule that gave it in words.
pub fn why(node: &Node, RejectedUrl { new, reason }: &RejectedUrl) -> String {
    let scope = node.crawl.scope.read().unwrap_or_else(PoisonError::into_inner);
    let way = way(new.found, new.via.as_deref(), new.origin.as_deref());
    match explain(&node.crawl.live(), &scope, &new.url, new.depth, way) {
        (Err(found), rule) if found == *reason => format!("{reason}: {rule}"),
        _ if *reason == Rejection::Redirects => {
            let most = node.crawl.rules.settings.fetch.max_redirects;
            format!("{reason}: more than {most} in a row (fetch.max_redirects)")
        }
        _ if *reason == Rejection::Blocked => {
            let host = new.url.host();
            format!(
                "{reason}: its host is blocked by the operator's order; `lycosa ctl host {host} unblock` takes that back"
            )
        }
        _ => reason.to_string(),
    }
}

/// Judges a queued URL by the rules in force, unless they are those it was queued under: of generation `since`. One that comes last is
/// judged by its shape as well, which may have brought nothing new since it was found. Gives the generation that judged it.
///
/// # Errors
/// Why it is turned away, and the generation that says so.
pub fn judge_queued(node: &Node, lease: &Lease, since: u32) -> Result<u32, (Rejection, u32)> {
    let (entry, url, live) = (&lease.entry, &lease.url, node.crawl.live());
    if Ranker::is_last(lease.core().queue_key.order) {
        let host = lease.core().queue_key.host;
        let mut shapes = lock(&node.crawl.shapes);
        if let Err(refusal) = shapes.judge_again(host, url, entry.via.as_deref(), &live.shapes) {
            shapes.hold(host, url, refusal);
            drop(shapes);
            node.crawl.tell_held_back();
            return Err((refusal.reason, live.generation));
        }
    }
    if live.generation == since {
        return Ok(since);
    }
    let scope = node.crawl.scope.read().unwrap_or_else(PoisonError::into_inner);
    let live = node.crawl.live();
    let way = way(entry.found, entry.via.as_deref(), entry.origin.as_deref());
    let verdict = judge(&live, &scope, url, entry.depth, way);
    verdict.map_err(|reason| (reason, live.generation))?;
    Ok(live.generation)
}
