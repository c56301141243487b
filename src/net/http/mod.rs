//! http and https (M20, M21): one GET over a connection of our own, with hyper's HTTP/1 parser in its most lenient
//! setting over a [tapped](super::tap) stream.
//!
//! | file | what |
//! |---|---|
//! | `connect` | TCP and TLS to the pinned address |
//! | `exchange` | request out, head in |
//! | `body` | body in, with its caps |
//!
//! The connection's own future is polled inside the fetch, never in a task: whoever drops the fetch closes the
//! connection, and nothing goes on behind anybody's back. A waiting connection of the pool is looked at when it is
//! taken out; one that the server has closed meanwhile is replaced by a fresh one without a word.

mod body;
mod connect;
mod exchange;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::document::SpillConfig;
use crate::domain::reason::Failure;
use crate::domain::url::Scheme;
use crate::fault::{Fault as Injection, Faults};

use super::guard::AddressPolicy;
use super::pool::Pool;
use super::protocol::{FetchFault, FetchFuture, FetchRequest, Fetched, Protocol, Timings};
use super::tls::{TlsClient, TlsSetupError, TlsVerify};

use connect::Link;

/// What the http module needs for its life.
#[derive(Clone, Debug)]
pub struct HttpConfig {
    /// Which addresses may be connected to; checked before every connect.
    pub policy: Arc<AddressPolicy>,
    /// What to do about bad certificates.
    pub verify: TlsVerify,
    /// Spill files of bodies; `memory_body` is each request's own.
    pub spill: SpillConfig,
    /// How long an unused connection is kept; zero: none is kept.
    pub idle: Duration,
    /// Unused connections kept at most.
    pub max_idle: usize,
    /// Fault points.
    pub faults: Faults,
}

impl HttpConfig {
    /// Idle connections are kept 30 s, 256 at most; certificates are recorded.
    #[must_use]
    pub fn new(policy: Arc<AddressPolicy>, spill: SpillConfig) -> Self {
        let (idle, max_idle, faults) = (Duration::from_secs(30), 256, Faults::default());
        Self { policy, verify: TlsVerify::default(), spill, idle, max_idle, faults }
    }
}

/// The module for http and https; one a fetcher. Its connections are its own. Needs a tokio runtime with IO and time.
#[derive(Debug)]
pub struct Http {
    policy: Arc<AddressPolicy>,
    spill: SpillConfig,
    tls: TlsClient,
    pool: Pool<Key, Link>,
    faults: Faults,
}

/// What a connection can be used again for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Key {
    scheme: Scheme,
    address: SocketAddr,
    host: String,
}

impl Key {
    fn of(request: &FetchRequest, address: SocketAddr) -> Self {
        Self { scheme: request.url.scheme(), address, host: request.url.authority() }
    }
}

impl Http {
    /// A module without connections.
    ///
    /// # Errors
    /// TLS cannot be set up.
    pub fn new(config: HttpConfig) -> Result<Self, TlsSetupError> {
        let tls = TlsClient::new(config.verify)?;
        Ok(Self::with_tls(config, tls))
    }

    /// A module with a TLS set-up of your own, whose `verify` counts.
    #[must_use]
    pub fn with_tls(config: HttpConfig, tls: TlsClient) -> Self {
        let HttpConfig { policy, spill, idle, max_idle, faults, .. } = config;
        Self { policy, spill, tls, pool: Pool::new(idle, max_idle), faults }
    }

    /// Connections waiting to be used again.
    #[must_use]
    pub fn idle_connections(&self) -> usize {
        self.pool.len()
    }

    async fn fetch_one(&self, request: &FetchRequest) -> Result<Fetched, FetchFault> {
        let start = Instant::now();
        let mut timings = Timings::default();
        let result = self.attempt(request, &mut timings).await;
        timings.total = start.elapsed();
        result.map(|fetched| Fetched { timings, ..fetched }).map_err(|Fault { failure, detail, .. }| FetchFault {
            failure,
            detail,
            timings,
        })
    }

    async fn attempt(&self, request: &FetchRequest, timings: &mut Timings) -> Result<Fetched, Fault> {
        let addresses = self.allowed(request)?;
        if let Some(mut link) = addresses.iter().find_map(|a| self.pool.take(&Key::of(request, *a)))
            && link.settle().await
        {
            match self.over(link, request, timings).await {
                Err(fault) if fault.stale => {
                    log::debug!("connection was stale host={} retry=fresh", request.url.host())
                }
                other => return other,
            }
        }
        injected(self.faults.wait("net.connect").await)?;
        let link = connect::connect(request, &addresses, &self.tls, timings).await?;
        injected(self.faults.wait("net.connected").await)?;
        self.over(link, request, timings).await
    }

    /// Those of the request's addresses that the policy allows (I7); an error when it allows none.
    fn allowed(&self, request: &FetchRequest) -> Result<Vec<SocketAddr>, Fault> {
        let mut refused = None;
        let check = |address: &SocketAddr| match self.policy.check(request.url.host(), *address) {
            Ok(()) => true,
            Err(why) => {
                refused = refused.take().or(Some(why));
                false
            }
        };
        let allowed: Vec<SocketAddr> = request.addresses.iter().copied().filter(check).collect();
        if allowed.is_empty() {
            let detail = refused.map_or_else(|| "the name has no address".to_owned(), |why| why.to_string());
            return Err(Fault::new(Failure::AddressRefused, detail));
        }
        Ok(allowed)
    }

    /// One exchange over a connection, which goes back to the pool if it can be used again.
    async fn over(&self, mut link: Link, request: &FetchRequest, timings: &mut Timings) -> Result<Fetched, Fault> {
        let answer = exchange::exchange(&mut link, request, timings, &self.faults).await?;
        injected(self.faults.wait("net.head").await)?;
        let received = body::receive(&mut link, answer.body, request, &self.spill, timings, &self.faults).await?;
        injected(self.faults.wait("net.received").await)?;
        let fetched = Fetched {
            status: answer.status,
            headers: answer.headers,
            request_head: answer.request_head,
            response_head: answer.response_head,
            body: received.document,
            cut: received.cut,
            peer: link.peer(),
            timings: *timings,
            tls_fault: link.tls_fault().map(str::to_owned),
            notes: Vec::new(),
            reused: link.uses() > 1,
            version: answer.version,
            wire_bytes: link.log().bytes(),
        };
        if fetched.cut.is_none() && !answer.ambiguous && link.settle().await {
            self.pool.put(Key::of(request, link.peer()), link);
        }
        Ok(fetched)
    }
}

impl Protocol for Http {
    fn schemes(&self) -> &[Scheme] {
        &[Scheme::Http, Scheme::Https]
    }

    fn fetch(&self, request: FetchRequest) -> FetchFuture<'_> {
        Box::pin(async move { self.fetch_one(&request).await })
    }
}

/// A step that was told to fail does so as a broken connection.
fn injected(fault: Option<Injection>) -> Result<(), Fault> {
    match fault {
        Some(Injection::Error) => Err(Fault::new(Failure::Reset, "fault injected")),
        _ => Ok(()),
    }
}

/// A fetch that failed, inside this module.
#[derive(Debug)]
struct Fault {
    failure: Failure,
    detail: String,
    /// A used connection ended before a byte of the answer: worth a fresh one, for the request was not answered.
    stale: bool,
}

impl Fault {
    fn new(failure: Failure, detail: impl Into<String>) -> Self {
        Self { failure, detail: detail.into(), stale: false }
    }
}

#[cfg(test)]
mod tests;
