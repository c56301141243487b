//! hyper's client, set up as the program does it, over bytes that lie ready: nothing waits, so an exchange that does not
//! come to its end within a bounded number of steps hangs.

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http1::Connection;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::net::http1;

/// An answer as hyper reads it.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    /// The payload that arrived.
    pub body: Vec<u8>,
    /// The body came to its end, and did not break off.
    pub whole: bool,
}

/// What hyper makes of a server that sends `wire` in pieces of `size` bytes and closes; none when it refuses the head.
pub fn answer(wire: &[u8], size: usize) -> Option<Answer> {
    let patience = wire.len() * 2 + 100;
    let io = TokioIo::new(Script { wire: wire.to_vec(), at: 0, size, asked: false });
    let (mut sender, connection) = ready(patience, http1::builder().handshake(io)).ok()?;
    let mut line = Line { connection: Some(Box::pin(connection)), patience };
    let sent = sender.send_request(Request::new(Empty::<Bytes>::new()));
    let (parts, mut incoming) = line.drive(sent).ok()?.into_parts();
    let mut body = Vec::new();
    let whole = loop {
        match line.drive(incoming.frame()) {
            None => break true,
            Some(Err(_)) => break false,
            Some(Ok(frame)) => body.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data)),
        }
    };
    Some(Answer { status: parts.status.as_u16(), headers: parts.headers, body, whole })
}

type Engine = Connection<TokioIo<Script>, Empty<Bytes>>;

/// A connection that is moved on while something is waited for.
struct Line {
    connection: Option<Pin<Box<Engine>>>,
    patience: usize,
}

impl Line {
    fn drive<T>(&mut self, future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        let both = std::future::poll_fn(|cx| {
            if self.connection.as_mut().is_some_and(|connection| connection.as_mut().poll(cx).is_ready()) {
                self.connection = None;
            }
            future.as_mut().poll(cx)
        });
        ready(self.patience, both)
    }
}

/// Polls at most `patience` times.
fn ready<T>(patience: usize, future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut cx = Context::from_waker(Waker::noop());
    for _ in 0..patience {
        if let Poll::Ready(value) = future.as_mut().poll(&mut cx) {
            return value;
        }
    }
    panic!("it hangs: all bytes are there, and {patience} steps were not enough");
}

/// Sends what it was given as soon as it was asked.
struct Script {
    wire: Vec<u8>,
    at: usize,
    size: usize,
    asked: bool,
}

impl AsyncRead for Script {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if !self.asked {
            return Poll::Pending;
        }
        let end = self.wire.len().min(self.at + self.size.min(buf.remaining()));
        buf.put_slice(&self.wire[self.at..end]);
        self.at = end;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Script {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.asked = true;
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
