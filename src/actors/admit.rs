//! The door every found URL passes before the seen test, and again before its request: blocked hosts, traps, then scope and
//! filters.

use std::sync::PoisonError;

use super::lease::Lease;
use super::node::Node;
use crate::app::Live;
use crate::domain::found_as::FoundAs;
use crate::domain::reason::Rejection;
use crate::domain::scope::Scope;
use crate::domain::sitemap::is_announced;
use crate::domain::time::UnixMillis;
use crate::domain::url::PageUrl;
use crate::storage::ledger::{LinkChange, NewUrl, Turned};

/// Judges found URLs by the rules in force; the seen test comes afterwards.
pub fn admit(node: &Node, found: impl IntoIterator<Item = NewUrl>) -> LinkChange {
    let scope = node.scope.read().unwrap_or_else(PoisonError::into_inner);
    let live = node.live(); // under the scope's lock, so that both are of one generation
    let mut out = LinkChange { generation: live.generation, ..LinkChange::default() };
    let (blocks, now) = (node.orders.blocks(), node.clock.now());
    for new in found {
        if blocks.on(new.url.host()) {
            out.turned.push(Turned { new, reason: Rejection::Blocked });
            continue;
        }
        let way = (new.found, new.via.as_deref());
        let verdict = judge(&live, &scope, &new.url, new.depth, way, now).and_then(|()| match new.limit {
            Some(limit) if new.depth > limit => Err(Rejection::TooDeep), // as was said of its seed
            _ if new.hops > node.rules.settings.fetch.max_redirects => Err(Rejection::Redirects),
            _ => Ok(()),
        });
        match verdict {
            Ok(()) => out.new.push(new),
            Err(reason) => out.turned.push(Turned { new, reason }),
        }
    }
    out
}

/// The way of an ordinary link.
pub const LINK: (FoundAs, Option<&str>) = (FoundAs::Link, None);

/// What rules say of a URL found at a depth, as what and where. For a sitemap that was announced, those for pages do not count.
///
/// # Errors
/// Why it is turned away.
pub fn judge(
    live: &Live,
    scope: &Scope,
    url: &PageUrl,
    depth: u16,
    (found, via): (FoundAs, Option<&str>),
    now: UnixMillis,
) -> Result<(), Rejection> {
    live.traps.judge(url, now)?;
    if found.is_sitemap() && is_announced(url, via) { scope.judge_sitemap(url) } else { scope.judge(url, depth) }
}

/// The verdict of [`judge`], and the rule that gave it in words.
pub fn explain(
    live: &Live,
    scope: &Scope,
    url: &PageUrl,
    depth: u16,
    (found, via): (FoundAs, Option<&str>),
    now: UnixMillis,
) -> (Result<(), Rejection>, String) {
    match live.traps.explain(url, now) {
        Err((reason, rule)) => (Err(reason), rule),
        Ok(()) if found.is_sitemap() && is_announced(url, via) => match scope.judge_sitemap(url) {
            Ok(()) => (Ok(()), "a sitemap that was announced: rules for pages do not count".to_owned()),
            Err(reason) => (Err(reason), "hosts and patterns that are never wanted".to_owned()),
        },
        Ok(()) => scope.explain(url, depth),
    }
}

/// Judges a queued URL by the rules in force, unless they are those it was queued under: of generation `since`. Gives the
/// generation that judged it.
///
/// # Errors
/// Why it is turned away, and the generation that says so.
pub fn judge_queued(node: &Node, lease: &Lease, since: u32) -> Result<u32, (Rejection, u32)> {
    if node.live.generation() == since {
        return Ok(since);
    }
    let scope = node.scope.read().unwrap_or_else(PoisonError::into_inner);
    let live = node.live();
    let (entry, url) = (&lease.entry, &lease.url);
    let way = (entry.found, entry.via.as_deref());
    let verdict = judge(&live, &scope, url, entry.depth, way, node.clock.now());
    verdict.map_err(|reason| (reason, live.generation))?;
    Ok(live.generation)
}
