//! http and https: one GET over a connection of our own. Heads and bodies are read by [`head`](super::head) and
//! [`framing`](super::framing), which are pure; here is what waits.
//!
//! | file | what |
//! |---|---|
//! | `open` | TCP to the pinned address, or through a proxy |
//! | `tunnel` | `CONNECT` |
//! | `socks` | SOCKS 5 |
//! | `secure` | TLS |
//! | `connect` | the connection |
//! | `access` | credentials and cookies for one URL |
//! | `exchange` | request out, head in |
//! | `body` | body in, with its caps |
//!
//! A connection is read inside the fetch, never in a task: whoever drops the fetch closes it, and nothing goes on behind
//! anybody's back. A waiting connection of the pool is looked at when it is
//! taken out; one that the server has closed meanwhile is replaced by a fresh one without a word.

mod access;
mod body;
mod connect;
mod exchange;
mod open;
mod secure;
mod socks;
mod tunnel;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use tokio::time::Instant;

use crate::base::fault::{Fault as Injection, Faults};
use crate::document::SpillConfig;
use crate::domain::reason::Failure;
use crate::domain::url::Scheme;

use super::dns::without_server;
use super::guard::AddressPolicy;
use super::head::ParsedHead;
use super::pool::Pool;
use super::protocol::{FetchFault, FetchRequest, Fetched, Timings};
use super::proxy::Proxy;
use super::throttle::Throttle;
use super::tls::{TlsClient, TlsOld, TlsSetupError, TlsVerify};

pub use access::Access;
use connect::Link;
use open::Dial;
pub use open::Source;

/// What the http module needs for its life.
#[derive(Clone, Debug)]
pub struct HttpConfig {
    /// Which addresses may be connected to; checked before every connect.
    pub policy: Arc<AddressPolicy>,
    /// What to do about bad certificates.
    pub verify: TlsVerify,
    /// What to do about servers of old TLS.
    pub old: TlsOld,
    /// Certificates trusted beside Mozilla's.
    pub roots: Vec<CertificateDer<'static>>,
    /// Spill files of bodies; `memory_body` is each request's own.
    pub spill: SpillConfig,
    /// How long an unused connection is kept; zero: none is kept.
    pub idle: Duration,
    /// Unused connections kept at most.
    pub max_idle: usize,
    /// Where connections come from.
    pub source: Source,
    /// Credentials and cookies.
    pub access: Access,
    /// The bandwidth shared by all modules of a node.
    pub throttle: Option<Arc<Throttle>>,
    /// The exact bytes of bodies are kept too ([`Fetched::exact`]).
    pub exact: bool,
    /// Fault points.
    pub faults: Faults,
}

impl HttpConfig {
    /// Idle connections are kept 30 s, 256 at most; certificates are recorded.
    pub fn new(policy: Arc<AddressPolicy>, spill: SpillConfig) -> Self {
        let (idle, max_idle, faults) = (Duration::from_secs(30), 256, Faults::default());
        let (source, access, throttle) = (Source::default(), Access::default(), None);
        let (verify, old, roots, exact) = (TlsVerify::default(), TlsOld::default(), Vec::new(), false);
        Self { policy, verify, old, roots, spill, idle, max_idle, source, access, throttle, exact, faults }
    }
}

/// The module for http and https; one a fetcher. Its connections are its own. Needs a tokio runtime with IO and time.
#[derive(Debug)]
pub struct Http {
    config: HttpConfig,
    tls: TlsClient,
    pool: Pool<Key, Link>,
}

/// What a connection can be used again for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Key {
    scheme: Scheme,
    target: Option<SocketAddr>,
    host: String,
    via: Option<Arc<Proxy>>,
}

impl Key {
    fn of(request: &FetchRequest, target: Option<SocketAddr>) -> Self {
        let (host, via) = (request.url.authority(), request.via.clone());
        Self { scheme: request.url.scheme(), target, host, via }
    }
}

impl Http {
    /// A module without connections.
    pub fn new(config: HttpConfig) -> Result<Self, TlsSetupError> {
        let tls = TlsClient::new(config.verify, &config.roots)?.with_old(config.old);
        Ok(Self::with_tls(config, tls))
    }

    /// A module with a TLS set-up of your own, whose `verify` and `old` count.
    pub fn with_tls(config: HttpConfig, tls: TlsClient) -> Self {
        Self { tls, pool: Pool::new(config.idle, config.max_idle), config }
    }

    /// Fetches one URL. Never panics on what a server sends; every phase has its time-out. Dropping it closes its connection.
    ///
    /// # Errors
    /// There is no answer.
    pub async fn fetch(&self, request: FetchRequest) -> Result<Fetched, FetchFault> {
        let start = Instant::now();
        let mut timings = Timings::default();
        let result = Box::pin(self.attempt(&request, &mut timings)).await;
        timings.total = start.elapsed();
        let told = |Fault { failure, detail, .. }| FetchFault { failure, detail, timings };
        result.map(|fetched| Fetched { timings, ..fetched }).map_err(told)
    }

    async fn attempt(&self, request: &FetchRequest, timings: &mut Timings) -> Result<Fetched, Fault> {
        let targets = self.targets(request)?;
        if let Some(mut link) = targets.iter().find_map(|a| self.pool.take(&Key::of(request, *a)))
            && link.settle().await
        {
            match self.over(link, request, timings).await {
                Err(fault) if fault.stale => {
                    log::debug!("connection was stale host={} retry=fresh", request.url.host())
                }
                other => return other,
            }
        }
        injected(self.config.faults.wait("net.connect").await)?;
        let dial = Dial { request, config: &self.config };
        let link = connect::connect(dial, &targets, &self.tls, timings).await?;
        injected(self.config.faults.wait("net.connected").await)?;
        self.over(link, request, timings).await
    }

    /// Those of the request's addresses that the policy allows (I7); an error when it allows none. Where a proxy looks the
    /// name up there is none to check, unless the host itself is an address.
    fn targets(&self, request: &FetchRequest) -> Result<Vec<Option<SocketAddr>>, Fault> {
        let host = request.url.host();
        let mut refused = None;
        if request.via.as_ref().is_some_and(|proxy| proxy.resolves) {
            return match literal(host, request.url.port()).map(|address| self.config.policy.check(host, address)) {
                Some(Err(why)) => Err(Fault::new(Failure::AddressRefused, why.to_string())),
                _ => Ok(vec![None]),
            };
        }
        let check = |address: &SocketAddr| match self.config.policy.check(host, *address) {
            Ok(()) => true,
            Err(why) => {
                refused = refused.take().or(Some(why));
                false
            }
        };
        let allowed: Vec<_> = request.addresses.iter().copied().filter(check).map(Some).collect();
        if allowed.is_empty() {
            let detail = refused.map_or_else(|| "the name has no address".to_owned(), |why| why.to_string());
            return Err(Fault::new(Failure::AddressRefused, detail));
        }
        Ok(allowed)
    }

    /// One exchange over a connection, which goes back to the pool if it can be used again.
    async fn over(&self, mut link: Link, request: &FetchRequest, timings: &mut Timings) -> Result<Fetched, Fault> {
        let answer = exchange::exchange(&mut link, request, &self.config, timings).await?;
        let exchange::Answer { parsed, request_head, response_head, form } = answer;
        let ParsedHead { status, version, headers } = parsed;
        injected(self.config.faults.wait("net.head").await)?;
        if link.is_trusted() && !request.anonymous {
            self.config.access.learn(&request.url, &headers);
        }
        let received = body::receive(&mut link, form, request, &self.config, timings).await?;
        injected(self.config.faults.wait("net.received").await)?;
        let fetched = Fetched {
            status,
            headers,
            request_head,
            response_head,
            body: received.document,
            exact: received.exact,
            cut: received.cut,
            peer: link.target,
            timings: *timings,
            tls_fault: link.tls_fault.map(|fault| fault.to_string()),
            notes: link.notes().chain(received.note).collect(),
            reused: link.uses > 1,
            version,
            wire_bytes: link.tap.bytes,
        };
        if received.ended && form.keeps && link.settle().await {
            self.pool.put(Key::of(request, link.target), link);
        }
        Ok(fetched)
    }
}

/// The address that a host is, where nobody need be asked for it.
fn literal(host: &str, port: u16) -> Option<SocketAddr> {
    without_server(host)?.first().map(|ip| SocketAddr::new(*ip, port))
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
