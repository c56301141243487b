//! Names to addresses (M19): IP literals and `localhost` without a server, overrides, our own cache, then
//! hickory-resolver on a thread of its own, so that any number of arbiters can ask and none of them owns its sockets.
//!
//! No search domains: a name in a URL is complete. Addresses come IPv4 first; unless `dns.family` says otherwise IPv6 is asked for
//! only when there is no IPv4, which halves the queries. Who asks for a name that is being asked for already waits for that answer.
//! Whether an address may be used is not decided here but in [`guard`](super::guard).

mod cache;
mod overrides;
mod worker;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cache::Cache;
use overrides::{Destination, Overrides};
use worker::Worker;

pub use overrides::OverrideError;
use serde::{Deserialize, Serialize};

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

/// How names are resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DnsConfig {
    /// Name servers; empty: those of the system (`/etc/resolv.conf`), with its `/etc/hosts`.
    pub servers: Vec<SocketAddr>,
    /// Host pattern to target, like curl's `--connect-to`: `("*.test", "127.0.0.1:8500")`. The target is an address or
    /// a name and replaces the port too, if it has one. An exact name wins over a pattern, a longer pattern over a shorter.
    pub overrides: Vec<(String, String)>,
    /// Addresses are believed at least that long.
    pub min_ttl: Duration,
    /// Addresses are believed at most that long.
    pub max_ttl: Duration,
    /// How long a name that does not exist is not asked for again, unless its zone says less (RFC 2308).
    pub nxdomain_ttl: Duration,
    /// How long a name whose servers failed is not asked for again.
    pub servfail_ttl: Duration,
    /// For one query to one server; a look-up may take a few of them.
    pub timeout: Duration,
    /// Which addresses are asked for.
    pub family: Family,
}

impl Default for DnsConfig {
    /// The system's servers, no overrides, 60 s, 6 h, 15 min, 60 s, 5 s.
    fn default() -> Self {
        Self {
            servers: Vec::new(),
            overrides: Vec::new(),
            min_ttl: Duration::from_secs(60),
            max_ttl: Duration::from_secs(6 * 3600),
            nxdomain_ttl: Duration::from_secs(15 * 60),
            servfail_ttl: Duration::from_secs(60),
            timeout: Duration::from_secs(5),
            family: Family::Auto,
        }
    }
}

/// Why a name has no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DnsFault {
    /// The name does not exist or has no address.
    #[error("the name does not exist or has no address")]
    NotFound,
    /// The servers failed or refused.
    #[error("the name servers failed: {0}")]
    Failed(String),
    /// The servers did not answer in time.
    #[error("the name servers did not answer in time")]
    NoAnswer,
}

impl DnsFault {
    /// The reason as stored.
    #[must_use]
    pub fn failure(&self) -> crate::domain::reason::Failure {
        match self {
            Self::NotFound => crate::domain::reason::Failure::DnsNotFound,
            Self::Failed(_) | Self::NoAnswer => crate::domain::reason::Failure::DnsFailed,
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
    #[must_use]
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
    config: DnsConfig,
    overrides: Overrides,
    worker: Worker,
    cache: Mutex<Cache>,
    hits: AtomicU64,
    misses: AtomicU64,
    not_found: AtomicU64,
    failed: AtomicU64,
    timed_out: AtomicU64,
    pending: AtomicU64,
}

impl Resolver {
    /// A resolver and its thread, which ends with the last clone. A system without usable `/etc/resolv.conf` shows as
    /// failed look-ups only.
    ///
    /// # Errors
    /// An override cannot be read.
    pub fn new(config: DnsConfig) -> Result<Self, OverrideError> {
        let overrides = Overrides::parse(&config.overrides)?;
        let worker = Worker::start(&config);
        Ok(Self {
            shared: Arc::new(Shared {
                overrides,
                worker,
                cache: Mutex::new(Cache::new(CACHE_NAMES)),
                hits: AtomicU64::new(0),
                misses: AtomicU64::new(0),
                not_found: AtomicU64::new(0),
                failed: AtomicU64::new(0),
                timed_out: AtomicU64::new(0),
                pending: AtomicU64::new(0),
                config,
            }),
        })
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
    #[must_use]
    pub fn known(&self, host: &str) -> Option<Result<Vec<IpAddr>, DnsFault>> {
        let name = match self.shared.overrides.find(host) {
            Some((Destination::Address(ip), _)) => return Some(Ok(vec![*ip])),
            Some((Destination::Name(name), _)) => name,
            None => host,
        };
        let answer = without_server(name).map(Ok).or_else(|| self.cache().get(name, Instant::now()))?;
        Some(answer.map(|ips| ips.to_vec()))
    }

    /// The target an override of the configuration gives a host, if one does.
    #[must_use]
    pub fn is_overridden(&self, host: &str) -> bool {
        self.shared.overrides.find(host).is_some()
    }

    /// The counters since the start.
    #[must_use]
    pub fn stats(&self) -> DnsStats {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let Shared { hits, misses, not_found, failed, timed_out, pending, .. } = &*self.shared;
        DnsStats {
            hits: read(hits),
            misses: read(misses),
            not_found: read(not_found),
            failed: read(failed),
            timed_out: read(timed_out),
            pending: read(pending),
        }
    }

    /// A look-up that takes longer hangs: what a name may take, and the same again for its turn.
    #[must_use]
    pub fn patience(&self) -> Duration {
        self.shared.config.timeout.saturating_mul(2 * worker::QUERIES + 2)
    }

    /// Names with an answer in the cache; bounded.
    #[must_use]
    pub fn names_kept(&self) -> usize {
        self.cache().len()
    }

    async fn addresses(&self, host: &str) -> Answer {
        if let Some(ips) = without_server(host) {
            return Ok(ips);
        }
        let shared = &*self.shared;
        if let Some(known) = self.cache().get(host, Instant::now()) {
            shared.hits.fetch_add(1, Ordering::Relaxed);
            return known;
        }
        shared.misses.fetch_add(1, Ordering::Relaxed);
        let pending = Pending::new(&shared.pending);
        let found = shared.worker.look_up(host).await;
        drop(pending);
        let (answer, ttl) = match found {
            Ok((ips, ttl)) => (Ok(ips), ttl.max(shared.config.min_ttl).min(shared.config.max_ttl)),
            Err((fault @ DnsFault::NotFound, ttl)) => {
                // A zone that says less than the least is asked as often as one whose addresses change.
                let least = shared.config.min_ttl.min(shared.config.nxdomain_ttl);
                (
                    Err(fault),
                    ttl.map_or(shared.config.nxdomain_ttl, |ttl| ttl.max(least).min(shared.config.nxdomain_ttl)),
                )
            }
            Err((fault, _)) => (Err(fault), shared.config.servfail_ttl),
        };
        let counter = match &answer {
            Ok(_) => None,
            Err(DnsFault::NotFound) => Some(&shared.not_found),
            Err(DnsFault::Failed(_)) => Some(&shared.failed),
            Err(DnsFault::NoAnswer) => Some(&shared.timed_out),
        };
        if let Some(counter) = counter {
            counter.fetch_add(1, Ordering::Relaxed);
        }
        self.cache().put(host, answer.clone(), Instant::now(), ttl);
        answer
    }

    fn cache(&self) -> std::sync::MutexGuard<'_, Cache> {
        self.shared.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One look-up under way.
struct Pending<'c>(&'c AtomicU64);

impl<'c> Pending<'c> {
    fn new(count: &'c AtomicU64) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// IP literals, and `localhost` with all names under it (RFC 6761 section 6.3).
fn without_server(host: &str) -> Option<Arc<[IpAddr]>> {
    let bare = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
    if let Ok(ip) = bare.parse::<IpAddr>() {
        return Some(Arc::from([ip]));
    }
    let name = host.strip_suffix('.').unwrap_or(host);
    (name == "localhost" || name.ends_with(".localhost"))
        .then(|| Arc::from([IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST)]))
}

#[cfg(test)]
mod tests;
