//! The thread that speaks to name servers: hickory-resolver on a runtime of its own.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::proto::rr::{Name, RData, Record, RecordType};
use tokio::sync::{Semaphore, mpsc, oneshot};

use super::{DnsFault, DnsSection, Family, server};
use crate::base::sync::lock;

/// Look-ups under way at one time; more wait in the channel. As many as there are hosts at a time, so that names whose servers are
/// slow do not hold up the others.
const CONCURRENT: usize = 1024;
/// Look-ups waiting for the thread; more wait at their callers.
const WAITING: usize = 1024;
/// Queries a look-up may take in sequence: two families, each tried twice.
pub(super) const QUERIES: u32 = 4;
/// Addresses kept of one answer.
const MAX_ADDRESSES: usize = 16;

/// Addresses, or why there are none; each with how long the servers vouch for it.
type Found = Result<(Arc<[IpAddr]>, Duration), (DnsFault, Option<Duration>)>;

struct Job {
    host: String,
    reply: oneshot::Sender<Found>,
}

/// The door to the thread; the thread ends when it is dropped.
#[derive(Debug)]
pub(super) struct Worker {
    jobs: mpsc::Sender<Job>,
}

impl Worker {
    pub(super) fn start(config: &DnsSection) -> Self {
        let (jobs, inbox) = mpsc::channel(WAITING);
        let config = config.clone();
        let thread = std::thread::Builder::new().name("lycosa-dns".to_owned());
        if let Err(error) = thread.spawn(move || run(&config, inbox)) {
            log::error!("dns thread not started error=\"{error}\"");
        }
        Self { jobs }
    }

    pub(super) async fn look_up(&self, host: &str) -> Found {
        let (reply, answer) = oneshot::channel();
        let gone = || (DnsFault::Failed("the resolver's thread is gone".to_owned()), None);
        self.jobs.send(Job { host: host.to_owned(), reply }).await.map_err(|_| gone())?;
        answer.await.unwrap_or_else(|_| Err(gone()))
    }
}

fn run(config: &DnsSection, inbox: mpsc::Receiver<Job>) {
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(serve(config, inbox)),
        Err(error) => log::error!("dns runtime not started error=\"{error}\""),
    }
}

async fn serve(config: &DnsSection, mut inbox: mpsc::Receiver<Job>) {
    let resolver = Arc::new(build(config).map_err(|e| format!("no usable name server configuration: {e}")));
    let limit = config.timeout.saturating_mul(QUERIES);
    let slots = Arc::new(Semaphore::new(CONCURRENT));
    let (asked, family) = (Asked::default(), config.family);
    while let Some(Job { host, reply }) = inbox.recv().await {
        let Some(asking) = asked.join(host, reply) else { continue };
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { return };
        let resolver = Arc::clone(&resolver);
        // A panic here drops the replies, which their askers see as a failed look-up.
        tokio::spawn(async move {
            let found = match &*resolver {
                Ok(resolver) => tokio::time::timeout(limit, look_up(resolver, &asking.host, family))
                    .await
                    .unwrap_or(Err((DnsFault::NoAnswer, None))),
                Err(text) => Err((DnsFault::Failed(text.clone()), None)),
            };
            asking.answer(&found);
            drop(slot);
        });
    }
}

type Waiting = HashMap<String, Vec<oneshot::Sender<Found>>>;

/// The names being asked for, each with everybody who waits for it.
#[derive(Clone, Default)]
struct Asked(Arc<Mutex<Waiting>>);

impl Asked {
    /// Waits with the others; gives the look-up to be made when there are none.
    fn join(&self, host: String, reply: oneshot::Sender<Found>) -> Option<Asking> {
        let mut waiting = lock(&self.0);
        if let Some(others) = waiting.get_mut(&host) {
            others.push(reply);
            return None;
        }
        waiting.insert(host.clone(), vec![reply]);
        Some(Asking { asked: self.clone(), host })
    }
}

/// One look-up; those who wait are told when it is dropped, at the latest.
struct Asking {
    asked: Asked,
    host: String,
}

impl Asking {
    fn answer(self, found: &Found) {
        let waiting = lock(&self.asked.0).remove(&self.host).unwrap_or_default();
        for reply in waiting {
            let _ = reply.send(found.clone());
        }
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        lock(&self.asked.0).remove(&self.host);
    }
}

fn build(config: &DnsSection) -> Result<TokioResolver, NetError> {
    let system = config.servers.is_empty();
    let mut builder = if system {
        TokioResolver::builder_tokio()?
    } else {
        let servers = config.servers.iter().filter_map(|text| server(text)).map(name_server).collect();
        TokioResolver::builder_with_config(
            ResolverConfig::from_parts(None, Vec::new(), servers),
            TokioRuntimeProvider::default(),
        )
    };
    let options = builder.options_mut();
    options.timeout = config.timeout;
    options.attempts = 2;
    options.cache_size = 256; // ours stands before it
    options.positive_max_ttl = Some(config.max_ttl);
    options.negative_max_ttl = Some(config.nxdomain);
    options.max_active_requests = CONCURRENT * 2;
    options.use_hosts_file = if system { ResolveHosts::Always } else { ResolveHosts::Never };
    options.try_tcp_on_error = true;
    options.case_randomization = false;
    builder.build()
}

fn name_server(address: SocketAddr) -> NameServerConfig {
    let (mut udp, mut tcp) = (ConnectionConfig::udp(), ConnectionConfig::tcp());
    udp.port = address.port();
    tcp.port = address.port();
    NameServerConfig::new(address.ip(), true, vec![udp, tcp])
}

async fn look_up(resolver: &TokioResolver, host: &str, family: Family) -> Found {
    // The final dot keeps search domains away.
    let Ok(name) = Name::from_ascii(format!("{}.", host.trim_end_matches('.'))) else {
        return Err((DnsFault::NotFound, None));
    };
    match family {
        Family::V4 => ask(resolver, &name, RecordType::A).await,
        Family::V6 => ask(resolver, &name, RecordType::AAAA).await,
        Family::Auto => match ask(resolver, &name, RecordType::A).await {
            Err(first) => ask(resolver, &name, RecordType::AAAA).await.map_err(|second| worse(first, second)),
            found => found,
        },
        Family::Both => {
            let (v4, v6) = tokio::join!(ask(resolver, &name, RecordType::A), ask(resolver, &name, RecordType::AAAA));
            match (v4, v6) {
                (Ok(v4), Ok(v6)) => Ok(in_turns(&v4, &v6)),
                (Err(first), Err(second)) => Err(worse(first, second)),
                (Ok(found), _) | (_, Ok(found)) => Ok(found),
            }
        }
    }
}

/// Of two faults the one that may pass: a name is missing only if no family has it.
fn worse(first: (DnsFault, Option<Duration>), second: (DnsFault, Option<Duration>)) -> (DnsFault, Option<Duration>) {
    if first.0 == DnsFault::NotFound { second } else { first }
}

/// Addresses of both families in turns, for so long as both are vouched for.
fn in_turns(v4: &(Arc<[IpAddr]>, Duration), v6: &(Arc<[IpAddr]>, Duration)) -> (Arc<[IpAddr]>, Duration) {
    let longest = v4.0.len().max(v6.0.len());
    let mixed = (0..longest).flat_map(|at| [v4.0.get(at), v6.0.get(at)]).flatten().copied().take(MAX_ADDRESSES);
    (mixed.collect(), v4.1.min(v6.1))
}

async fn ask(resolver: &TokioResolver, name: &Name, kind: RecordType) -> Found {
    records(resolver, name, kind).await.map_err(|error| (fault(&error), negative_ttl(&error)))
}

/// How long the zone vouches for a name's absence (RFC 2308, 5).
fn negative_ttl(error: &NetError) -> Option<Duration> {
    match error {
        NetError::Dns(DnsError::NoRecordsFound(none)) => none.negative_ttl.map(|s| Duration::from_secs(s.into())),
        _ => None,
    }
}

async fn records(
    resolver: &TokioResolver,
    name: &Name,
    kind: RecordType,
) -> Result<(Arc<[IpAddr]>, Duration), NetError> {
    let lookup = resolver.lookup(name.clone(), kind).await?;
    let address = |record: &Record| match &record.data {
        RData::A(a) => Some(IpAddr::from(a.0)),
        RData::AAAA(a) => Some(IpAddr::from(a.0)),
        _ => None,
    };
    let ips: Arc<[IpAddr]> = lookup.answers().iter().filter_map(address).take(MAX_ADDRESSES).collect();
    if ips.is_empty() {
        let none = hickory_resolver::net::NoRecords::new(lookup.query().clone(), ResponseCode::NoError);
        return Err(none.into());
    }
    Ok((ips, lookup.valid_until().saturating_duration_since(Instant::now())))
}

/// What an error of the look-up means for the name.
fn fault(error: &NetError) -> DnsFault {
    match error {
        NetError::Dns(DnsError::NoRecordsFound(none)) => match none.response_code {
            ResponseCode::NXDomain | ResponseCode::NoError => DnsFault::NotFound,
            code => DnsFault::Failed(format!("the server answered {code}")),
        },
        NetError::Timeout => DnsFault::NoAnswer,
        other => DnsFault::Failed(other.to_string()),
    }
}
