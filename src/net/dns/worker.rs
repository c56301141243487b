//! The thread that speaks to name servers: hickory-resolver on a runtime of its own.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::proto::rr::{Name, RData, RecordType};
use tokio::sync::{Semaphore, mpsc, oneshot};

use super::{DnsConfig, DnsFault};

/// Look-ups under way at one time; more wait in the channel.
const CONCURRENT: usize = 256;
/// Look-ups waiting for the thread; more wait at their callers.
const WAITING: usize = 1024;
/// Queries a look-up may take in sequence: two families, each tried twice.
const QUERIES: u32 = 4;
/// Addresses kept of one answer.
const MAX_ADDRESSES: usize = 16;

/// Addresses and how long the servers vouch for them.
type Found = Result<(Arc<[IpAddr]>, Duration), DnsFault>;

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
    pub(super) fn start(config: &DnsConfig) -> Self {
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
        let gone = || DnsFault::Failed("the resolver's thread is gone".to_owned());
        self.jobs.send(Job { host: host.to_owned(), reply }).await.map_err(|_| gone())?;
        answer.await.unwrap_or_else(|_| Err(gone()))
    }
}

fn run(config: &DnsConfig, inbox: mpsc::Receiver<Job>) {
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(serve(config, inbox)),
        Err(error) => log::error!("dns runtime not started error=\"{error}\""),
    }
}

async fn serve(config: &DnsConfig, mut inbox: mpsc::Receiver<Job>) {
    let resolver = Arc::new(build(config).map_err(|e| format!("no usable name server configuration: {e}")));
    let limit = config.timeout.saturating_mul(QUERIES);
    let slots = Arc::new(Semaphore::new(CONCURRENT));
    while let Some(job) = inbox.recv().await {
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { return };
        let resolver = Arc::clone(&resolver);
        // A panic here drops `reply`, which the asker sees as a failed look-up.
        tokio::spawn(async move {
            let found = match &*resolver {
                Ok(resolver) => tokio::time::timeout(limit, look_up(resolver, &job.host))
                    .await
                    .unwrap_or_else(|_| Err(DnsFault::Failed(format!("no answer within {} s", limit.as_secs_f32())))),
                Err(text) => Err(DnsFault::Failed(text.clone())),
            };
            let _ = job.reply.send(found);
            drop(slot);
        });
    }
}

fn build(config: &DnsConfig) -> Result<TokioResolver, NetError> {
    let system = config.servers.is_empty();
    let mut builder = if system {
        TokioResolver::builder_tokio()?
    } else {
        let servers = config.servers.iter().map(|address| name_server(*address)).collect();
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
    options.negative_max_ttl = Some(config.nxdomain_ttl);
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

/// IPv4, and IPv6 if there is none.
async fn look_up(resolver: &TokioResolver, host: &str) -> Found {
    // The final dot keeps search domains away.
    let Ok(name) = Name::from_ascii(format!("{}.", host.trim_end_matches('.'))) else {
        return Err(DnsFault::NotFound);
    };
    let first = match ask(resolver, &name, RecordType::A).await {
        Ok(found) => return Ok(found),
        Err(error) if error.is_nx_domain() => return Err(DnsFault::NotFound),
        Err(error) => fault(&error),
    };
    match ask(resolver, &name, RecordType::AAAA).await {
        Ok(found) => Ok(found),
        Err(error) if first == DnsFault::NotFound => Err(fault(&error)),
        Err(_) => Err(first),
    }
}

async fn ask(resolver: &TokioResolver, name: &Name, kind: RecordType) -> Result<(Arc<[IpAddr]>, Duration), NetError> {
    let lookup = resolver.lookup(name.clone(), kind).await?;
    let ips: Arc<[IpAddr]> = lookup
        .answers()
        .iter()
        .filter_map(|record| match &record.data {
            RData::A(a) => Some(IpAddr::from(a.0)),
            RData::AAAA(a) => Some(IpAddr::from(a.0)),
            _ => None,
        })
        .take(MAX_ADDRESSES)
        .collect();
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
        NetError::Timeout => DnsFault::Failed("no answer in time".to_owned()),
        other => DnsFault::Failed(other.to_string()),
    }
}
