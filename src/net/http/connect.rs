//! A connection: TCP or TLS over it, and hyper's parser on top.

use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use http_body_util::Empty;
use hyper::client::conn::http1::{Connection, SendRequest};
use hyper_util::rt::TokioIo;

use crate::domain::note::Note;
use crate::domain::reason::Failure;
use crate::domain::url::Scheme;

use super::super::http1::builder;
use super::super::protocol::Timings;
use super::super::proxy::Proxy;
use super::super::tap::{Tap, TapLog, Wire};
use super::super::throttle::PIECE;
use super::super::tls::{TlsClient, TlsFault, TlsOld};
use super::Fault;
use super::open::{Dial, open};
use super::secure::{Secured, secure};

type Engine = Connection<TokioIo<Tap>, Empty<Bytes>>;

/// A connection to one server, with its log.
pub(super) struct Link {
    pub(super) sender: SendRequest<Empty<Bytes>>,
    /// None once the connection has ended.
    engine: Option<Pin<Box<Engine>>>,
    log: TapLog,
    target: Option<SocketAddr>,
    relay: Option<Arc<Proxy>>,
    tls_fault: Option<TlsFault>,
    /// It speaks old TLS, and what `tls.old` says of that.
    old: Option<TlsOld>,
    uses: u32,
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Link").field("target", &self.target).field("uses", &self.uses).finish_non_exhaustive()
    }
}

impl Link {
    pub(super) fn log(&self) -> &TapLog {
        &self.log
    }

    /// The address at its far end; none where a proxy looks the name up.
    pub(super) fn target(&self) -> Option<SocketAddr> {
        self.target
    }

    /// The proxy that reads our requests and sends them on, rather than giving a tunnel.
    pub(super) fn relay(&self) -> Option<&Proxy> {
        self.relay.as_deref()
    }

    pub(super) fn tls_fault(&self) -> Option<TlsFault> {
        self.tls_fault
    }

    /// Whether credentials and cookies may go over it: the server is who it says, and TLS is not of the kind that can be broken.
    pub(super) fn is_trusted(&self) -> bool {
        self.tls_fault.is_none() && self.old.is_none_or(|old| old == TlsOld::Off)
    }

    /// What was odd about TLS.
    pub(super) fn notes(&self) -> impl Iterator<Item = Note> + use<> {
        let fault = self.tls_fault.map(|fault| fault.kind.note());
        fault.into_iter().chain(self.old.map(|_| Note::TlsOld))
    }

    /// Requests sent over it, the present one included.
    pub(super) fn uses(&self) -> u32 {
        self.uses
    }

    /// Starts a request's log; with `all` it remembers the answer's body too.
    pub(super) fn begin(&mut self, all: bool) {
        self.uses = self.uses.saturating_add(1);
        self.log.begin(all);
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

/// A fresh connection to the first of `targets` that accepts.
pub(super) async fn connect(
    dial: Dial<'_>,
    targets: &[Option<SocketAddr>],
    tls: &TlsClient,
    throttled: bool,
    timings: &mut Timings,
) -> Result<Link, Fault> {
    let request = dial.request;
    let (tcp, target) = open(dial, targets, timings).await?;
    let (wire, tls_fault, old) = match request.url.scheme() {
        Scheme::Http => (Wire::Plain(tcp), None, false),
        Scheme::Https => {
            let Secured { stream, fault, old } = secure(dial, tcp, target, tls, timings).await?;
            (Wire::Tls(stream), fault, old)
        }
    };
    let old = old.then(|| tls.old());
    let log = TapLog::default();
    let tap = Tap::new(wire, log.clone()).in_pieces(if throttled { PIECE } else { usize::MAX });
    let shaken = builder().handshake(TokioIo::new(tap)).await;
    let (sender, engine) = shaken.map_err(|error| Fault::new(Failure::Reset, error.to_string()))?;
    let reads = |proxy: &Arc<Proxy>| target.is_none() && request.url.scheme() == Scheme::Http && !proxy.is_socks();
    let relay = request.via.clone().filter(reads);
    Ok(Link { sender, engine: Some(Box::pin(engine)), log, target, relay, tls_fault, old, uses: 0 })
}
