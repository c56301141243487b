//! A connection: TCP or TLS over it.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use bytes::{BufMut, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadBuf};

use crate::domain::note::Note;
use crate::domain::url::Scheme;

use super::super::protocol::Timings;
use super::super::proxy::Proxy;
use super::super::tap::{Tap, Wire};
use super::super::throttle::PIECE;
use super::super::tls::{TlsClient, TlsFault, TlsOld};
use super::Fault;
use super::open::{Dial, open};
use super::secure::{Secured, secure};

/// Bytes taken from the wire at a time at most, where nobody waits between them.
const READ: usize = 32 * 1024;

/// A connection to one server.
#[derive(Debug)]
pub(super) struct Link {
    /// What passed since the last request began.
    pub(super) tap: Tap,
    /// Came, and not taken yet.
    unread: BytesMut,
    /// Bytes taken from the wire at a time at most.
    piece: usize,
    /// The address at its far end; none where a proxy looks the name up.
    pub(super) target: Option<SocketAddr>,
    /// The proxy that reads our requests and sends them on, rather than giving a tunnel.
    pub(super) relay: Option<Arc<Proxy>>,
    pub(super) tls_fault: Option<TlsFault>,
    /// It speaks old TLS, and what `tls.old` says of that.
    old: Option<TlsOld>,
    /// Requests sent over it, the present one included.
    pub(super) uses: u32,
}

impl Link {
    /// Whether credentials and cookies may go over it: the server is who it says, and TLS is not of the kind that can be broken.
    pub(super) fn is_trusted(&self) -> bool {
        self.tls_fault.is_none() && self.old.is_none_or(|old| old == TlsOld::Off)
    }

    /// What was odd about TLS.
    pub(super) fn notes(&self) -> impl Iterator<Item = Note> + use<> {
        let fault = self.tls_fault.map(|fault| fault.note);
        fault.into_iter().chain(self.old.map(|_| Note::TlsOld))
    }

    /// A request begins.
    pub(super) fn begin(&mut self) {
        self.uses = self.uses.saturating_add(1);
        self.tap.begin();
    }

    pub(super) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.tap.write_all(bytes).await?;
        self.tap.flush().await
    }

    /// What came and was not taken; whoever reads it takes it from the beginning.
    pub(super) fn unread(&mut self) -> &mut BytesMut {
        &mut self.unread
    }

    /// Waits for more; 0 at the end of the connection. May be dropped while it waits: no byte is lost.
    pub(super) async fn read_more(&mut self) -> io::Result<usize> {
        self.unread.reserve(self.piece);
        self.tap.read_buf(&mut (&mut self.unread).limit(self.piece)).await
    }

    /// Whether it is ready for another request, without waiting: nothing came after the answer, and the server has not closed.
    pub(super) async fn settle(&mut self) -> bool {
        if !self.unread.is_empty() {
            return false;
        }
        self.unread = BytesMut::new(); // no room is kept for a connection that waits
        let mut byte = [0];
        let stream = &mut self.tap;
        poll_fn(|cx| {
            let looked = Pin::new(&mut *stream).poll_read(cx, &mut ReadBuf::new(&mut byte));
            Poll::Ready(looked.is_pending())
        })
        .await
    }
}

/// A fresh connection to the first of `targets` that accepts.
pub(super) async fn connect(
    dial: Dial<'_>,
    targets: &[Option<SocketAddr>],
    tls: &TlsClient,
    timings: &mut Timings,
) -> Result<Link, Fault> {
    let request = dial.request;
    let (tcp, target) = open(dial, targets, timings).await?;
    let (wire, tls_fault, old) = match request.url.scheme() {
        Scheme::Http => (Box::new(tcp) as Box<dyn Wire>, None, false),
        Scheme::Https => {
            let Secured { stream, fault, old } = secure(dial, tcp, target, tls, timings).await?;
            (stream, fault, old)
        }
    };
    let old = old.then_some(tls.old);
    let reads = |proxy: &Arc<Proxy>| target.is_none() && request.url.scheme() == Scheme::Http && !proxy.is_socks();
    let relay = request.via.clone().filter(reads);
    let piece = if dial.config.throttle.is_some() { PIECE } else { READ };
    Ok(Link { tap: Tap::new(wire), unread: BytesMut::new(), piece, target, relay, tls_fault, old, uses: 0 })
}
