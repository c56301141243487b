//! TCP and TLS to the pinned address, and the connection made of them.

use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Empty;
use hyper::client::conn::http1::{Connection, SendRequest};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::domain::reason::Failure;
use crate::domain::url::Scheme;

use super::super::http1::builder;
use super::super::protocol::{FetchRequest, Timings};
use super::super::tap::{Tap, TapLog, Wire};
use super::super::tls::{TlsClient, handshake_fault};
use super::Fault;

type Engine = Connection<TokioIo<Tap>, Empty<Bytes>>;

/// A connection to one server, with its log.
pub(super) struct Link {
    pub(super) sender: SendRequest<Empty<Bytes>>,
    /// None once the connection has ended.
    engine: Option<Pin<Box<Engine>>>,
    log: TapLog,
    peer: SocketAddr,
    tls_fault: Option<String>,
    uses: u32,
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Link").field("peer", &self.peer).field("uses", &self.uses).finish_non_exhaustive()
    }
}

impl Link {
    pub(super) fn log(&self) -> &TapLog {
        &self.log
    }

    pub(super) fn peer(&self) -> SocketAddr {
        self.peer
    }

    pub(super) fn tls_fault(&self) -> Option<&str> {
        self.tls_fault.as_deref()
    }

    /// Requests sent over it, the present one included.
    pub(super) fn uses(&self) -> u32 {
        self.uses
    }

    /// Starts a request's log.
    pub(super) fn begin(&mut self) {
        self.uses = self.uses.saturating_add(1);
        self.log.begin();
    }

    /// Waits for `future`, which hangs on this connection, and moves the connection on meanwhile.
    pub(super) async fn drive<T>(&mut self, future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        poll_fn(|cx| {
            if self.engine.as_mut().is_some_and(|engine| engine.as_mut().poll(cx).is_ready()) {
                self.engine = None;
            }
            future.as_mut().poll(cx)
        })
        .await
    }

    /// Whether it is ready for another request, without waiting: the answer is whole, nothing came after it, and
    /// neither side has closed.
    pub(super) async fn settle(&mut self) -> bool {
        for _ in 0..2 {
            let ready = poll_fn(|cx| {
                if self.engine.as_mut().is_none_or(|engine| engine.as_mut().poll(cx).is_ready()) {
                    self.engine = None;
                    return Poll::Ready(false);
                }
                Poll::Ready(matches!(self.sender.poll_ready(cx), Poll::Ready(Ok(()))))
            })
            .await;
            if ready {
                return true;
            }
        }
        false
    }
}

/// A fresh connection to the first of `addresses` that accepts.
pub(super) async fn connect(
    request: &FetchRequest,
    addresses: &[SocketAddr],
    tls: &TlsClient,
    timings: &mut Timings,
) -> Result<Link, Fault> {
    let (tcp, peer) = open(addresses, request.limits.connect, timings).await?;
    let (wire, tls_fault) = match request.url.scheme() {
        Scheme::Http => (Wire::Plain(tcp), None),
        Scheme::Https => {
            let (stream, fault) = secure(request, tcp, tls, timings).await?;
            (Wire::Tls(Box::new(stream)), fault)
        }
    };
    let log = TapLog::default();
    let io = TokioIo::new(Tap::new(wire, log.clone()));
    let (sender, engine) =
        builder().handshake(io).await.map_err(|error| Fault::new(Failure::Reset, error.to_string()))?;
    Ok(Link { sender, engine: Some(Box::pin(engine)), log, peer, tls_fault, uses: 0 })
}

/// One address after the other, for one connection at a time is polite (I1). Each has its share of the time that is left,
/// so that a dead one does not use up that of the next.
async fn open(
    addresses: &[SocketAddr],
    limit: Duration,
    timings: &mut Timings,
) -> Result<(TcpStream, SocketAddr), Fault> {
    let start = Instant::now();
    let mut first = None;
    for (address, left) in addresses.iter().zip((1..=addresses.len()).rev()) {
        let share = limit.saturating_sub(start.elapsed()) / u32::try_from(left).unwrap_or(u32::MAX);
        let opened = open_one(*address, share).await;
        timings.connect = start.elapsed();
        match opened {
            Ok(tcp) => return Ok((tcp, *address)),
            Err(fault) => {
                log::debug!("no connection: {} others={}", fault.detail, left - 1);
                first = first.or(Some(fault));
            }
        }
    }
    Err(first.unwrap_or_else(|| Fault::new(Failure::AddressRefused, "the name has no address")))
}

async fn open_one(address: SocketAddr, limit: Duration) -> Result<TcpStream, Fault> {
    let tcp = match timeout(limit, TcpStream::connect(address)).await {
        Ok(Ok(tcp)) => tcp,
        Ok(Err(error)) if error.kind() == io::ErrorKind::TimedOut => {
            return Err(Fault::new(Failure::ConnectTimeout, format!("{address}: {error}")));
        }
        Ok(Err(error)) => return Err(Fault::new(Failure::ConnectRefused, format!("{address}: {error}"))),
        Err(_) => {
            let detail = format!("{address}: no connection within {} s", limit.as_secs_f32());
            return Err(Fault::new(Failure::ConnectTimeout, detail));
        }
    };
    // One small write a request; waiting to fill a packet would only delay it.
    tcp.set_nodelay(true).map_err(|error| Fault::new(Failure::Reset, format!("{address}: {error}")))?;
    Ok(tcp)
}

async fn secure(
    request: &FetchRequest,
    tcp: TcpStream,
    tls: &TlsClient,
    timings: &mut Timings,
) -> Result<(TlsStream<TcpStream>, Option<String>), Fault> {
    let start = Instant::now();
    let name = server_name(request.url.host())?;
    let limit = request.limits.tls;
    let result = timeout(limit, TlsConnector::from(tls.config()).connect(name.clone(), tcp)).await;
    timings.tls = start.elapsed();
    let stream = result
        .map_err(|_| Fault::new(Failure::TlsTimeout, format!("no TLS within {} s", limit.as_secs_f32())))?
        .map_err(|error| Fault::new(Failure::Tls, handshake_fault(&error)))?;
    let fault = tls.fault(&name, stream.get_ref().1.peer_certificates());
    Ok((stream, fault))
}

fn server_name(host: &str) -> Result<ServerName<'static>, Fault> {
    let bare = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
    ServerName::try_from(bare.to_owned())
        .map_err(|_| Fault::new(Failure::Tls, format!("{host} is no name that TLS can ask for")))
}
