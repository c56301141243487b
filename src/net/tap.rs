//! The stream under a connection: TCP, or TLS over it, that counts what passes and remembers the exact bytes of the
//! request and of the answer's head. WARC records are made of these, not of what a parser understood.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::head::{self, MAX_HEAD};
use super::http::Secure;

/// TCP, or TLS over it.
#[derive(Debug)]
pub enum Wire {
    /// http
    Plain(TcpStream),
    /// https
    Tls(Box<dyn Secure>),
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
    keep: Keep,
    /// The whole of the answer is wanted, not its head alone.
    all: bool,
    sent: Vec<u8>,
    received: Vec<u8>,
    bytes: u64,
    first_byte: Option<Instant>,
    unclosed: bool,
}

/// What is remembered of the bytes that come.
#[derive(Debug, Default, PartialEq, Eq)]
enum Keep {
    #[default]
    Nothing,
    Head,
    Body,
}

/// Bytes that are remembered at a time at most where the body is wanted: more than the parser reads before it gives a piece of
/// payload away, unless there is none in them.
const MAX_AHEAD: usize = 4 * MAX_HEAD;

impl TapLog {
    /// Forgets what passed; remembers what comes: the head, or with `all` what follows it too.
    pub fn begin(&self, all: bool) {
        *self.log() = Log { keep: Keep::Head, all, ..Log::default() };
    }

    /// The bytes sent and received so far; nothing more is remembered until the next `begin`, only counted.
    #[must_use]
    pub fn take(&self) -> (Vec<u8>, Vec<u8>) {
        let mut log = self.log();
        log.keep = Keep::Nothing;
        (std::mem::take(&mut log.sent), std::mem::take(&mut log.received))
    }

    /// Remembers the body, which began with `begun`. Whoever asks for it takes it away with [`drain`](Self::drain).
    pub fn keep_body(&self, begun: &[u8]) {
        let mut log = self.log();
        if log.all {
            log.keep = Keep::Body;
            log.received = begun.to_vec();
        }
    }

    /// What came of the body since it was last asked for; none when that was more than is remembered.
    #[must_use]
    pub fn drain(&self) -> Option<Vec<u8>> {
        let mut log = self.log();
        (log.keep == Keep::Body).then(|| std::mem::take(&mut log.received))
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
        match log.keep {
            Keep::Nothing => Ok(()),
            Keep::Head => log.head(bytes),
            Keep::Body => {
                log.body(bytes);
                Ok(())
            }
        }
    }

    fn sent(&self, bytes: &[u8]) {
        let mut log = self.log();
        if log.keep == Keep::Head && log.sent.len() + bytes.len() <= MAX_HEAD {
            log.sent.extend_from_slice(bytes);
        }
    }
}

impl Log {
    fn head(&mut self, bytes: &[u8]) -> io::Result<()> {
        // One read may bring the head and more body than there is room: look for the head's end after taking it in.
        let room = MAX_HEAD.saturating_sub(self.received.len());
        self.all &= self.received.len() + bytes.len() <= MAX_AHEAD;
        let kept = if self.all { bytes } else { bytes.get(..room).unwrap_or(bytes) };
        self.received.extend_from_slice(kept);
        if bytes.len() > room && head::final_head(&self.received).is_none() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, HeadTooLong));
        }
        Ok(())
    }

    fn body(&mut self, bytes: &[u8]) {
        if self.received.len() + bytes.len() <= MAX_AHEAD {
            self.received.extend_from_slice(bytes);
        } else {
            (self.keep, self.received) = (Keep::Nothing, Vec::new());
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
        log.begin(false);
        let mut bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n".to_vec();
        bytes.resize(bytes.len() + 300_000, b'x');
        log.received(&bytes).unwrap();
        assert_eq!(log.bytes(), bytes.len() as u64);
        assert!(head::final_head(&log.take().1).is_some());
    }

    #[test]
    fn a_body_is_handed_over_whole_and_never_gathered_without_end() {
        let (log, head) = (TapLog::default(), b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        log.begin(true);
        let bytes = [&head[..], &vec![b'0'; 300_000]].concat();
        log.received(&bytes).unwrap();
        let received = log.take().1;
        assert_eq!(received, bytes);
        log.keep_body(&received[head.len()..]);
        log.received(b"1\r\n").unwrap();
        assert_eq!(log.drain().unwrap().len(), 300_003);
        assert!(log.drain().unwrap().is_empty());
        log.received(&vec![b'0'; MAX_AHEAD]).unwrap();
        log.received(b"0").unwrap();
        assert!(log.drain().is_none() && log.take().1.is_empty());
    }

    #[test]
    fn a_head_without_an_end_is_refused_however_it_is_cut() {
        for piece in [1000, MAX_HEAD + 1] {
            let log = TapLog::default();
            log.begin(false);
            let head = [b"HTTP/1.1 200 OK\r\nX: ".to_vec(), vec![b'x'; MAX_HEAD + 1]].concat();
            assert!(head.chunks(piece).any(|c| log.received(c).is_err()), "{piece}");
        }
    }
}
