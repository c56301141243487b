//! The door every found URL passes before the seen test: blocked hosts, traps, then scope and filters.

use super::node::Node;
use crate::domain::reason::Rejection;
use crate::storage::ledger::{LinkChange, NewUrl, Turned};

/// Judges found URLs by the rules in force; the seen test comes afterwards.
pub fn admit(node: &Node, found: impl IntoIterator<Item = NewUrl>) -> LinkChange {
    let scope = node.scope.read().unwrap_or_else(std::sync::PoisonError::into_inner);
    let blocks = node.orders.blocks();
    let mut out = LinkChange::default();
    for new in found {
        if blocks.on(new.url.host()) {
            out.turned.push(Turned { new, reason: Rejection::Blocked });
            continue;
        }
        let verdict = node.rules.traps.judge(&new.url).and_then(|()| scope.judge(&new.url, new.depth));
        let verdict = verdict.and_then(|()| {
            let too_many = new.hops > node.rules.settings.fetch.max_redirects;
            if too_many { Err(Rejection::Redirects) } else { Ok(()) }
        });
        match verdict {
            Ok(()) => out.new.push(new),
            Err(reason) => out.turned.push(Turned { new, reason }),
        }
    }
    out
}
