//! The stream under a connection: TCP, or TLS over it, that counts what passes and remembers the exact bytes of the
//! request and of the answer's head. WARC records are made of these, not of what a parser understood.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_rustls::client::TlsStream;

use super::head::{self, MAX_HEAD};

/// TCP, or TLS over it.
#[derive(Debug)]
pub enum Wire {
    /// http
    Plain(TcpStream),
    /// https
    Tls(Box<TlsStream<TcpStream>>),
}

/// A wire with its log.
#[derive(Debug)]
pub struct Tap {
    wire: Wire,
    log: TapLog,
    /// Bytes taken from the wire at a time at most.
    most: usize,
}

/// What passed since the last [`begin`](Self::begin); shared with the [`Tap`].
#[derive(Clone, Debug, Default)]
pub struct TapLog {
    inner: Arc<Mutex<Log>>,
}

#[derive(Debug, Default)]
struct Log {
    recording: bool,
    sent: Vec<u8>,
    received: Vec<u8>,
    bytes: u64,
    first_byte: Option<Instant>,
    unclosed: bool,
}

impl TapLog {
    /// Forgets what passed; remembers what comes.
    pub fn begin(&self) {
        *self.log() = Log { recording: true, ..Log::default() };
    }

    /// The bytes sent and received so far; nothing more is remembered until the next `begin`, only counted.
    #[must_use]
    pub fn take(&self) -> (Vec<u8>, Vec<u8>) {
        let mut log = self.log();
        log.recording = false;
        (std::mem::take(&mut log.sent), std::mem::take(&mut log.received))
    }

    /// Bytes received.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.log().bytes
    }

    /// When the first byte was received.
    #[must_use]
    pub fn first_byte(&self) -> Option<Instant> {
        self.log().first_byte
    }

    /// Whether TLS ended without the alert that should close it.
    #[must_use]
    pub fn unclosed(&self) -> bool {
        self.log().unclosed
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn received(&self, bytes: &[u8]) -> io::Result<()> {
        let mut log = self.log();
        log.bytes += bytes.len() as u64;
        if log.first_byte.is_none() && !bytes.is_empty() {
            log.first_byte = Some(Instant::now());
        }
        if log.recording {
            // One read may bring the head and more body than there is room: look for the head's end after taking it in.
            let room = MAX_HEAD.saturating_sub(log.received.len());
            log.received.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
            if bytes.len() > room && head::final_head(&log.received).is_none() {
                return Err(io::Error::new(io::ErrorKind::InvalidData, HeadTooLong));
            }
        }
        Ok(())
    }

    fn sent(&self, bytes: &[u8]) {
        let mut log = self.log();
        if log.recording && log.sent.len() + bytes.len() <= MAX_HEAD {
            log.sent.extend_from_slice(bytes);
        }
    }
}

/// The head, or the informational heads before it, never ended.
#[derive(Debug, thiserror::Error)]
#[error("the head of the answer is longer than {MAX_HEAD} bytes")]
pub struct HeadTooLong;

impl Tap {
    /// A tapped wire.
    #[must_use]
    pub fn new(wire: Wire, log: TapLog) -> Self {
        Self { wire, log, most: usize::MAX }
    }

    /// The same that takes at most so many bytes at a time, for whoever waits between them.
    #[must_use]
    pub fn in_pieces(self, most: usize) -> Self {
        Self { most, ..self }
    }
}

impl Tap {
    fn poll_wire(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match &mut self.wire {
            Wire::Plain(tcp) => Pin::new(tcp).poll_read(cx, buf),
            // Many servers end TLS without its closing alert. A body with a length or chunks is judged by these; one that
            // only the end of the connection delimits is not whole then (RFC 9112 section 9.8).
            Wire::Tls(tls) => match ready!(Pin::new(tls).poll_read(cx, buf)) {
                Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
                    self.log.log().unclosed = true;
                    Poll::Ready(Ok(()))
                }
                other => Poll::Ready(other),
            },
        }
    }
}

impl AsyncRead for Tap {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        if buf.remaining() > self.most {
            let most = self.most;
            let mut piece = ReadBuf::new(buf.initialize_unfilled_to(most));
            ready!(self.poll_wire(cx, &mut piece))?;
            let n = piece.filled().len();
            buf.advance(n);
        } else {
            ready!(self.poll_wire(cx, buf))?;
        }
        self.log.received(buf.filled().get(before..).unwrap_or_default())?;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Tap {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let n = ready!(match &mut self.wire {
            Wire::Plain(tcp) => Pin::new(tcp).poll_write(cx, buf),
            Wire::Tls(tls) => Pin::new(tls).poll_write(cx, buf),
        })?;
        self.log.sent(buf.get(..n).unwrap_or_default());
        Poll::Ready(Ok(n))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.wire {
            Wire::Plain(tcp) => Pin::new(tcp).poll_flush(cx),
            Wire::Tls(tls) => Pin::new(tls).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.wire {
            Wire::Plain(tcp) => Pin::new(tcp).poll_shutdown(cx),
            Wire::Tls(tls) => Pin::new(tls).poll_shutdown(cx),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_that_brings_the_head_and_a_large_body_at_once_is_taken() {
        let log = TapLog::default();
        log.begin();
        let mut bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n".to_vec();
        bytes.resize(bytes.len() + 300_000, b'x');
        log.received(&bytes).unwrap();
        assert_eq!(log.bytes(), bytes.len() as u64);
        assert!(head::final_head(&log.take().1).is_some());
    }

    #[test]
    fn a_head_without_an_end_is_refused_however_it_is_cut() {
        for piece in [1000, MAX_HEAD + 1] {
            let log = TapLog::default();
            log.begin();
            let head = [b"HTTP/1.1 200 OK\r\nX: ".to_vec(), vec![b'x'; MAX_HEAD + 1]].concat();
            assert!(head.chunks(piece).any(|c| log.received(c).is_err()), "{piece}");
        }
    }
}
