//! Names to addresses: IP literals and `localhost` without a server, overrides, our own cache, then
//! hickory-resolver on a thread of its own, so that any number of arbiters can ask and none of them owns its sockets.
//!
//! No search domains: a name in a URL is complete. Addresses come IPv4 first; unless `dns.family` says otherwise IPv6 is asked for
//! only when there is no IPv4, which halves the queries. Who asks for a name that is being asked for already waits for that answer.
//! Whether an address may be used is not decided here but in [`guard`](super::guard).

mod cache;
mod overrides;
mod worker;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cache::Cache;
use overrides::{Destination, Overrides};
use worker::Worker;

pub use overrides::{OverrideError, is_target, target_address};
use serde::{Deserialize, Serialize};

use crate::base::section::section;
use crate::base::sync::lock;
use crate::base::units::duration;
use crate::domain::reason::Failure;

/// Names kept in the cache at most.
const CACHE_NAMES: usize = 100_000;

/// Which addresses of a name are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Family {
    /// IPv4, and IPv6 when there is no IPv4.
    #[default]
    #[serde(rename = "auto")]
    Auto,
    /// Both, in turns, IPv4 first.
    #[serde(rename = "both")]
    Both,
    /// IPv4 only.
    #[serde(rename = "4")]
    V4,
    /// IPv6 only.
    #[serde(rename = "6")]
    V6,
}

section! {
    /// `[dns]`: how names are resolved.
    #[derive(Eq)]
    DnsSection {
        /// `ADDRESS[:PORT]` of name servers; empty: those of the system (`/etc/resolv.conf`), with its `/etc/hosts`.
        servers: Vec<String> = Vec::new();
        /// Host pattern to target, like curl's `--connect-to`: `"*.test" = "127.0.0.1:8500"`. The target is an address
        /// or a name and replaces the port too, if it has one. An exact name wins over a pattern, a longer pattern over
        /// a shorter.
        overrides: BTreeMap<String, String> = BTreeMap::new();
        /// Which addresses of a name are asked for.
        family: Family = Family::Auto;
        /// For one query to one server; a look-up may take a few of them.
        timeout: Duration as "duration" = Duration::from_secs(5);
        /// Addresses are believed at least that long.
        min_ttl: Duration as "duration" = Duration::from_secs(60);
        /// Addresses are believed at most that long.
        max_ttl: Duration as "duration" = Duration::from_secs(6 * 3600);
        /// How long a name that does not exist is not asked for again, unless its zone says less (RFC 2308).
        nxdomain: Duration as "duration" = Duration::from_secs(15 * 60);
        /// How long a name whose servers failed is not asked for again.
        servfail: Duration as "duration" = Duration::from_secs(60);
    }
}

/// `ADDRESS[:PORT]` of a name server.
pub fn server(text: &str) -> Option<SocketAddr> {
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    text.parse().or_else(|_| bare.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, 53))).ok()
}

/// Why a name has no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what its fields are")]
pub enum DnsFault {
    #[error("the name does not exist or has no address")]
    NotFound,
    #[error("the name servers failed: {0}")]
    Failed(String),
    #[error("the name servers did not answer in time")]
    NoAnswer,
}

impl DnsFault {
    /// The reason as stored.
    pub fn failure(&self) -> Failure {
        match self {
            Self::NotFound => Failure::DnsNotFound,
            Self::Failed(_) | Self::NoAnswer => Failure::DnsFailed,
        }
    }
}

/// How often the cache had an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DnsStats {
    /// Answered from the cache (also "not found").
    pub hits: u64,
    /// Asked of a server.
    pub misses: u64,
    /// Of these, names that do not exist or have no address.
    pub not_found: u64,
    /// Of these, those that the servers failed on or refused.
    pub failed: u64,
    /// Of these, those without an answer in time.
    pub timed_out: u64,
    /// Being asked for now.
    pub pending: u64,
}

impl DnsStats {
    /// Look-ups that gave no address.
    pub fn faults(&self) -> u64 {
        self.not_found + self.failed + self.timed_out
    }
}

type Answer = Result<Arc<[IpAddr]>, DnsFault>;

/// Resolves names; clones share cache, counters and thread.
#[derive(Clone, Debug)]
pub struct Resolver {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    config: DnsSection,
    overrides: Overrides,
    worker: Worker,
    cache: Mutex<Cache>,
    stats: Mutex<DnsStats>,
}

impl Resolver {
    /// A resolver and its thread, which ends with the last clone. A system without usable `/etc/resolv.conf` shows as
    /// failed look-ups only.
    ///
    /// # Errors
    /// An override cannot be read.
    pub fn new(config: DnsSection) -> Result<Self, OverrideError> {
        let overrides = Overrides::parse(&config.overrides)?;
        let worker = Worker::start(&config);
        let (cache, stats) = (Mutex::new(Cache::new(CACHE_NAMES)), Mutex::default());
        Ok(Self { shared: Arc::new(Shared { config, overrides, worker, cache, stats }) })
    }

    /// The addresses of a URL's host and port, best first, never empty. `host` is as in a canonical URL: lower-case
    /// ASCII, IPv6 in brackets.
    ///
    /// # Errors
    /// The name has no address, or nobody could say.
    pub async fn resolve(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, DnsFault> {
        let (answer, port) = match self.shared.overrides.find(host) {
            Some((Destination::Address(ip), new)) => (Ok(Arc::from([*ip])), new.unwrap_or(port)),
            Some((Destination::Name(name), new)) => (self.addresses(name).await, new.unwrap_or(port)),
            None => (self.addresses(host).await, port),
        };
        answer.map(|ips| ips.iter().map(|ip| SocketAddr::new(*ip, port)).collect())
    }

    /// The addresses of a name, or why there are none, if that is known without asking anybody.
    pub fn known(&self, host: &str) -> Option<Result<Vec<IpAddr>, DnsFault>> {
        let name = match self.shared.overrides.find(host) {
            Some((Destination::Address(ip), _)) => return Some(Ok(vec![*ip])),
            Some((Destination::Name(name), _)) => name,
            None => host,
        };
        let answer = without_server(name).map(Ok).or_else(|| lock(&self.shared.cache).get(name, Instant::now()))?;
        Some(answer.map(|ips| ips.to_vec()))
    }

    /// The counters since the start.
    pub fn stats(&self) -> DnsStats {
        *lock(&self.shared.stats)
    }

    /// A look-up that takes longer hangs: what a name may take, and the same again for its turn.
    pub fn patience(&self) -> Duration {
        self.shared.config.timeout.saturating_mul(2 * worker::QUERIES + 2)
    }

    /// Names with an answer in the cache; bounded.
    pub fn names_kept(&self) -> usize {
        lock(&self.shared.cache).len()
    }

    async fn addresses(&self, host: &str) -> Answer {
        if let Some(ips) = without_server(host) {
            return Ok(ips);
        }
        let shared = &*self.shared;
        if let Some(known) = lock(&self.shared.cache).get(host, Instant::now()) {
            lock(&shared.stats).hits += 1;
            return known;
        }
        let pending = Pending::new(&shared.stats);
        let found = shared.worker.look_up(host).await;
        drop(pending);
        let (answer, ttl) = match found {
            Ok((ips, ttl)) => (Ok(ips), ttl.max(shared.config.min_ttl).min(shared.config.max_ttl)),
            Err((fault @ DnsFault::NotFound, ttl)) => {
                // A zone that says less than the least is asked as often as one whose addresses change.
                let least = shared.config.min_ttl.min(shared.config.nxdomain);
                (Err(fault), ttl.map_or(shared.config.nxdomain, |ttl| ttl.max(least).min(shared.config.nxdomain)))
            }
            Err((fault, _)) => (Err(fault), shared.config.servfail),
        };
        match &answer {
            Ok(_) => {}
            Err(DnsFault::NotFound) => lock(&shared.stats).not_found += 1,
            Err(DnsFault::Failed(_)) => lock(&shared.stats).failed += 1,
            Err(DnsFault::NoAnswer) => lock(&shared.stats).timed_out += 1,
        }
        lock(&shared.cache).put(host, answer.clone(), Instant::now(), ttl);
        answer
    }
}

/// One look-up under way.
struct Pending<'s>(&'s Mutex<DnsStats>);

impl<'s> Pending<'s> {
    fn new(stats: &'s Mutex<DnsStats>) -> Self {
        let mut counts = lock(stats);
        (counts.misses, counts.pending) = (counts.misses + 1, counts.pending + 1);
        Self(stats)
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        lock(self.0).pending -= 1;
    }
}

/// IP literals, and `localhost` with all names under it (RFC 6761 section 6.3).
pub(super) fn without_server(host: &str) -> Option<Arc<[IpAddr]>> {
    let bare = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
    if let Ok(ip) = bare.parse::<IpAddr>() {
        return Some(Arc::from([ip]));
    }
    let name = host.trim_end_matches('.');
    (name == "localhost" || name.ends_with(".localhost"))
        .then(|| Arc::from([IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST)]))
}

#[cfg(test)]
mod tests;
