//! Where a request must find room: its host, and what hosts share.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::base::time::UnixMillis;
use crate::config::GroupBy;
use crate::crawl::live::Live;
use crate::crawl::node::Node;
use crate::crawl::slot::{Group, Pacer, PacerRules, Pacers};
use crate::domain::host::registrable_domain;
use crate::domain::politeness::{Pace, PaceRules};
use crate::net::guard::is_public;
use crate::storage::keys::HostAt;
use crate::storage::read;

/// Where a request is to go.
pub(super) struct Place<'a> {
    pub host: &'a str,
    /// None where a proxy looks the name up.
    pub address: Option<IpAddr>,
    pub pacer: &'a Arc<Pacer>,
}

/// The pacers for a request, in the order in which they are taken; each has taken up the rules in force.
pub(super) fn pacers(node: &Node, live: &Live, place: &Place<'_>) -> Pacers {
    let Place { host, address, pacer } = *place;
    let rules = &node.crawl.rules.settings.politeness;
    let own = live.host_rules(host);
    pacer.take_up(live.generation, &own.pace, own.connections);
    let whole = |group| {
        let rules = || PacerRules::of(&own.pace, own.connections);
        let group = node.slots.group(group, node.telemetry.started, rules);
        group.take_up(live.generation, &own.pace, own.connections);
        group
    };
    let mut groups = Vec::new();
    match rules.group_by {
        GroupBy::Host => {}
        GroupBy::Domain => groups.push(whole(Group::Domain(registrable_domain(host).to_owned()))),
        GroupBy::Ip => groups.extend(address.map(|address| whole(Group::Address(address)))),
    }
    // A server that many sites share. Not for sites of the user's own, nor for private networks, where an address says little
    // (a proxy, a test).
    if let Some(address) = address.filter(|ip| rules.group_by != GroupBy::Ip && is_public(*ip) && !own.own_site) {
        groups.push(node.slots.group(Group::Address(address), UnixMillis(0), || PacerRules {
            pace: PaceRules { min_delay: Duration::ZERO, delay_factor: 0.0, ..own.pace.clone() },
            connections: usize::try_from(rules.per_ip_connections).unwrap_or(usize::MAX),
            between_starts: rules.per_ip_gap,
            heeds_throttling: false,
        }));
    }
    Pacers::new(groups, pacer.clone())
}

/// A host's pacer, with the gap that the operator says. Where there is none its state is read now, and not by whoever starts the host:
/// between that look and this one the Store may have written a back-off, and have let the former pacer go.
pub(super) fn own(node: &Node, at: HostAt, name: &str) -> Arc<Pacer> {
    let own = node.crawl.live().host_rules(name);
    let said = || node.crawl.orders.of(&at.host).min_delay;
    let pacer = node.slots.pacer(at.host, &own.pace, own.connections, || {
        let rules = said().map_or_else(|| own.pace.clone(), |delay| own.pace.with_min_delay(delay));
        let state = read::host_state(&*node.storage, at).ok().flatten().unwrap_or_default();
        stored_pace(node, &state.pace, &rules)
    });
    // Asked for when the pacer is in the registry: an order that comes later finds it there.
    if let delay @ Some(_) = said() {
        pacer.set_min_delay(delay);
    }
    pacer
}

/// The pace on disk. The former run may have ended before it stored what it last asked of this host: one full gap counts
/// from that end on, which after an unclean stop is the start of this process (I1).
fn stored_pace(node: &Node, bytes: &[u8], rules: &PaceRules) -> Pace {
    let mut pace = match Pace::decode(bytes) {
        Ok(pace) => pace.not_from_the_future(node.clock.now()),
        Err(e) if !bytes.is_empty() => {
            log::warn!("politeness state corrupt, reset: why={e}");
            Pace::new()
        }
        Err(_) => Pace::new(),
    };
    if let Some(stop) = node.crawl.last_stop {
        pace.wait_one_full_gap(stop, rules);
    }
    pace
}
