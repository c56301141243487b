//! The stream under a connection: TCP, or TLS over it, that counts what passes.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::http::Secure;

/// TCP, or TLS over it.
#[derive(Debug)]
pub enum Wire {
    /// http
    Plain(TcpStream),
    /// https
    Tls(Box<dyn Secure>),
}

/// A wire, and what passed over it since the last [`begin`](Self::begin).
#[derive(Debug)]
pub struct Tap {
    wire: Wire,
    bytes: u64,
    first_byte: Option<Instant>,
    unclosed: bool,
}

impl Tap {
    /// Over a wire.
    #[must_use]
    pub fn new(wire: Wire) -> Self {
        Self { wire, bytes: 0, first_byte: None, unclosed: false }
    }

    /// Forgets what passed.
    pub fn begin(&mut self) {
        (self.bytes, self.first_byte) = (0, None);
    }

    /// Bytes received.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// When the first byte was received.
    #[must_use]
    pub fn first_byte(&self) -> Option<Instant> {
        self.first_byte
    }

    /// Whether TLS ended without the alert that should close it.
    #[must_use]
    pub fn unclosed(&self) -> bool {
        self.unclosed
    }

    fn poll_wire(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match &mut self.wire {
            Wire::Plain(tcp) => Pin::new(tcp).poll_read(cx, buf),
            // Many servers end TLS without its closing alert, and browsers and curl take that for the end (RFC 9112, section
            // 9.8, would have a body without length and chunks called incomplete). It is noted.
            Wire::Tls(tls) => match ready!(Pin::new(tls).poll_read(cx, buf)) {
                Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
                    self.unclosed = true;
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
        ready!(self.poll_wire(cx, buf))?;
        let came = buf.filled().len().saturating_sub(before);
        self.bytes += came as u64;
        if came > 0 && self.first_byte.is_none() {
            self.first_byte = Some(Instant::now());
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Tap {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.wire {
            Wire::Plain(tcp) => Pin::new(tcp).poll_write(cx, buf),
            Wire::Tls(tls) => Pin::new(tls).poll_write(cx, buf),
        }
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
