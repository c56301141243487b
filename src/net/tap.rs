//! The stream under a connection: TCP, or TLS over it, that counts what passes.

use std::fmt::Debug;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

/// TCP, or TLS over it, whichever library speaks that. An end without the closing alert of TLS is `UnexpectedEof`.
pub trait Wire: AsyncRead + AsyncWrite + Debug + Send + Sync + Unpin {}

impl<T: AsyncRead + AsyncWrite + Debug + Send + Sync + Unpin> Wire for T {}

/// A wire, and what passed over it since the last [`begin`](Self::begin).
#[derive(Debug)]
pub struct Tap {
    wire: Box<dyn Wire>,
    /// Bytes received.
    pub bytes: u64,
    /// When the first byte was received.
    pub first_byte: Option<Instant>,
    /// Whether TLS ended without the alert that should close it.
    pub unclosed: bool,
}

impl Tap {
    /// Over a wire.
    pub fn new(wire: Box<dyn Wire>) -> Self {
        Self { wire, bytes: 0, first_byte: None, unclosed: false }
    }

    /// Forgets what passed.
    pub fn begin(&mut self) {
        (self.bytes, self.first_byte) = (0, None);
    }

    fn poll_wire(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match ready!(Pin::new(&mut self.wire).poll_read(cx, buf)) {
            // Many servers end TLS without its closing alert, and browsers and curl take that for the end (RFC 9112, section
            // 9.8, would have a body without length and chunks called incomplete). It is noted. TCP alone never ends so.
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
                self.unclosed = true;
                Poll::Ready(Ok(()))
            }
            other => Poll::Ready(other),
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

/// What is written to a stream goes on to the one in this field.
macro_rules! writes_to {
    ($stream:ident . $inner:tt) => {
        impl AsyncWrite for $stream {
            fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
                Pin::new(&mut self.$inner).poll_write(cx, buf)
            }

            fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                Pin::new(&mut self.$inner).poll_flush(cx)
            }

            fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                Pin::new(&mut self.$inner).poll_shutdown(cx)
            }
        }
    };
}
#[cfg(feature = "old-tls")]
pub(super) use writes_to;

writes_to!(Tap.wire);
