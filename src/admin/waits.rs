//! What a host waits for.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::admin::views::{WaitView, WaitWhy};
use crate::base::clock::Clock;
use crate::base::time::UnixMillis;
use crate::crawl::node::Node;
use crate::domain::fingerprint::HostKey;
use crate::domain::politeness::{Pace, PaceWhy};
use crate::domain::robots::RobotsAccess;
use crate::storage::keys::{HostAt, KeyRange};
use crate::storage::tables::{Due, Robots};
use crate::storage::values::{HostState, Place};
use crate::storage::{StorageError, read};

/// Schemes and ports of one host whose robots.txt are looked at.
const COPIES: usize = 8;
/// A name that could not be resolved is told for so long.
pub(crate) const DNS_LATELY: Duration = Duration::from_secs(600);

/// Until when a host waits, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    pub until: UnixMillis,
    pub why: WaitWhy,
}

impl Wait {
    pub fn view(self, clock: &Clock) -> WaitView {
        let seconds = self.until.since(clock.now()).as_secs_f64();
        WaitView { until_ms: clock.date_of(self.until).0, seconds, why: self.why, words: self.why.words().to_owned() }
    }
}

/// The politeness of a host as it stands: that in memory, else that on disk.
pub(crate) fn pace_of(node: &Node, at: HostAt, stored: Option<&HostState>) -> Pace {
    let on_disk = || stored.and_then(|state| Pace::decode(&state.pace).ok()).unwrap_or_default();
    node.slots.pace_of(&at.host).unwrap_or_else(on_disk)
}

/// What its pace alone asks for.
pub(crate) fn of_pace(pace: &Pace, now: UnixMillis) -> Option<Wait> {
    let why = match pace.why() {
        PaceWhy::Gap => WaitWhy::Gap,
        PaceWhy::CrawlDelay => WaitWhy::CrawlDelay,
        PaceWhy::RetryAfter => WaitWhy::RetryAfter,
        PaceWhy::Backoff => WaitWhy::Backoff,
        PaceWhy::Brake => WaitWhy::Brake,
        PaceWhy::Work => WaitWhy::Work,
    };
    (pace.earliest() > now).then(|| Wait { until: pace.earliest(), why })
}

/// What a host waits for now: its pace, or what it was parked for.
///
/// # Errors
/// The storage's own.
pub(crate) fn wait_of(
    node: &Node,
    at: HostAt,
    pace: &Pace,
    place: Place,
    now: UnixMillis,
) -> Result<Option<Wait>, StorageError> {
    let paced = of_pace(pace, now);
    let Place::Parked { time } = place else { return Ok(paced) };
    if time <= now || paced.is_some_and(|wait| wait.until >= time) {
        return Ok(paced);
    }
    let copies = read::scan::<Robots>(&*node.storage, &KeyRange::host(at), COPIES)?;
    let unreachable =
        copies.iter().any(|(_, kept)| kept.copy.failures > 0 && kept.copy.retry_at.is_some_and(|retry| retry >= time));
    let why = match (unreachable, dns_fails(node, now)) {
        (true, _) => WaitWhy::RobotsUnreachable,
        (false, true) => WaitWhy::DnsFailing,
        (false, false) => WaitWhy::Parked,
    };
    Ok(Some(Wait { until: time, why }))
}

/// Hosts of which URLs wait for a robots.txt that is out of reach, with the first time, among so many URLs that wait for a
/// time. Other URLs of such a host may go on.
///
/// # Errors
/// The storage's own.
pub(crate) fn robots_waits(
    node: &Node,
    urls: usize,
    now: UnixMillis,
) -> Result<BTreeMap<HostKey, UnixMillis>, StorageError> {
    let mut hosts = BTreeMap::new();
    let mut away = BTreeMap::new();
    for (key, entry) in read::scan::<Due>(&*node.storage, &KeyRange::all(), urls)? {
        let robots = key.seen().host_crawl().host_at().robots(entry.scheme, entry.port);
        let is_away = match away.get(&robots) {
            Some(is_away) => *is_away,
            None => {
                let kept = read::robots(&*node.storage, robots)?;
                let standing = kept.map(|kept| node.crawl.rules.robots.standing(&kept.copy, now));
                *away.entry(robots).or_insert(standing == Some(RobotsAccess::DisallowAll))
            }
        };
        if is_away && node.crawl.live().settings.politeness.respect_robots {
            let first = hosts.entry(key.host).or_insert(key.time);
            *first = key.time.min(*first);
        }
    }
    Ok(hosts)
}

/// True when a name server failed lately.
pub(crate) fn dns_fails(node: &Node, now: UnixMillis) -> bool {
    let failed = node.telemetry.troubles.last("dns_failed");
    failed.is_some_and(|(at, _)| now.since(at) < DNS_LATELY)
}
