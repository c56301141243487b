//! One connection: read a request head, answer, note it, again.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::audit::AuditEntry;
use super::control::Control;
use super::history::history;
use super::http::{self, Framing, Head, Method, Request};
use super::respond::{Reply, respond};
use super::serve::Web;
use super::truth::truth;

/// A connection that asks nothing for so long is closed.
const IDLE: Duration = Duration::from_secs(75);
/// Largest request body that is read (and ignored).
const MAX_BODY: usize = 1 << 20;
/// Audit entries sent in one piece.
const AUDIT_PIECE: usize = 4_096;

/// Serves the connection until either side ends it. Faults of the other side end it quietly.
pub(super) async fn serve(web: Arc<Web>, stream: TcpStream, number: u32) {
    let _ = stream.set_nodelay(true);
    let mut connection = Connection { web, stream, number, input: Vec::new(), request: Request::default() };
    while let Ok(true) = connection.exchange().await {}
    let _ = connection.stream.shutdown().await;
}

struct Connection {
    web: Arc<Web>,
    stream: TcpStream,
    number: u32,
    /// Bytes read and not used yet.
    input: Vec<u8>,
    request: Request,
}

impl Connection {
    /// One request and its answer; whether another may follow.
    async fn exchange(&mut self) -> io::Result<bool> {
        let Some(head) = self.read_head().await? else { return Ok(false) };
        let t_request_us = self.web.clock.now_us();
        if let Head::Bad(status) = head {
            let mut out = http::head(status, &[("Connection", "close")]);
            http::body(&mut out, Framing::Length, b"", true);
            self.stream.write_all(&out).await?;
            return Ok(false);
        }
        if !self.skip_body().await? {
            return Ok(false);
        }
        match Control::read(&self.request) {
            Some(control) => self.control(control).await,
            None => self.page(t_request_us).await,
        }
    }

    /// Reads until a head is whole; `None` when the other side is done.
    async fn read_head(&mut self) -> io::Result<Option<Head>> {
        loop {
            if !self.input.is_empty() {
                match self.request.parse(&self.input) {
                    Head::Partial => {}
                    Head::Whole(length) => {
                        self.input.drain(..length);
                        return Ok(Some(Head::Whole(length)));
                    }
                    bad => return Ok(Some(bad)),
                }
            }
            if !self.read_more().await? {
                return Ok(None);
            }
        }
    }

    async fn read_more(&mut self) -> io::Result<bool> {
        if self.input.is_empty() {
            // An idle connection keeps no buffer.
            self.input = Vec::new();
            match timeout(IDLE, self.stream.readable()).await {
                Ok(readable) => readable?,
                Err(_) => return Ok(false),
            }
        }
        self.input.reserve(1_024);
        let read = timeout(IDLE, self.stream.read_buf(&mut self.input)).await;
        Ok(matches!(read, Ok(Ok(length)) if length > 0))
    }

    async fn skip_body(&mut self) -> io::Result<bool> {
        let length = self.request.content_length;
        if length > MAX_BODY {
            return Ok(false);
        }
        while self.input.len() < length {
            if !self.read_more().await? {
                return Ok(false);
            }
        }
        self.input.drain(..length);
        Ok(true)
    }

    async fn page(&mut self, t_request_us: u64) -> io::Result<bool> {
        let Reply { bytes, status, wait, close } = respond(&self.web, &self.request, t_request_us);
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
        Ok(self.send(&bytes, t_request_us, status).await && !close)
    }

    /// Sends all of `out` and notes it; whether all of it went.
    ///
    /// The time is taken before the last call that hands bytes over: the asker cannot have seen the answer's end before
    /// it, so that no request is called early that was not. The log is locked over that call: who has seen the answer's
    /// end finds it in the log.
    async fn send(&mut self, out: &[u8], t_request_us: u64, status: u16) -> bool {
        let mut sent = 0;
        loop {
            let lost = self.stream.writable().await.is_err();
            let mut audit = self.web.audit();
            let t_end_us = self.web.clock.now_us();
            let written = match out.get(sent..) {
                Some(rest) if !lost && !rest.is_empty() => self.stream.try_write(rest),
                _ => Ok(0),
            };
            let ended = match written {
                Ok(length) => {
                    sent += length;
                    length == 0 || sent == out.len()
                }
                Err(fault) => fault.kind() != io::ErrorKind::WouldBlock,
            };
            if ended {
                let Request { host, path, user_agent, .. } = &self.request;
                audit.push(&AuditEntry {
                    t_request_us,
                    t_end_us,
                    host: host.clone(),
                    path: path.clone(),
                    user_agent: user_agent.clone(),
                    status,
                    bytes: u32::try_from(sent).unwrap_or(u32::MAX),
                    connection: self.number,
                    complete: sent == out.len(),
                });
                return sent == out.len();
            }
        }
    }

    async fn control(&mut self, control: Control) -> io::Result<bool> {
        let (status, text) = match control {
            Control::Audit { since } => return self.audit(since).await,
            Control::Changes { since_us, limit } => return self.changes(since_us, limit).await,
            Control::Truth(query, at_us) => {
                let shape = self.web.shape.at(at_us.unwrap_or_else(|| self.web.clock.now_us()));
                let urls = tokio::task::spawn_blocking(move || truth(&shape, &query)).await;
                (200, urls.map_err(io::Error::other)?.iter().map(|url| format!("{url}\n")).collect())
            }
            Control::Clear => {
                self.web.clear();
                (200, "cleared\n".to_owned())
            }
            Control::Wrong(status, sentence) => (status, format!("{sentence}\n")),
        };
        let headers = [("Content-Type", "text/plain; charset=utf-8"), ("Connection", "close")];
        let mut out = http::head(status, if self.request.keep_alive { &headers[..1] } else { &headers });
        http::body(&mut out, Framing::Length, text.as_bytes(), self.request.method != Method::HEAD);
        self.stream.write_all(&out).await?;
        Ok(self.request.keep_alive)
    }

    async fn changes(&mut self, since_us: u64, limit: usize) -> io::Result<bool> {
        let shape = self.web.shape.at(self.web.clock.now_us());
        let history = tokio::task::spawn_blocking(move || history(&shape, since_us, limit)).await;
        let history = history.map_err(io::Error::other)?;
        let (next, more) = (history.next_us.to_string(), history.more.to_string());
        let kind = ("Content-Type", "application/jsonl");
        let headers = [kind, ("X-Changes-Next", &*next), ("X-Changes-More", &*more), ("Connection", "close")];
        let mut out = http::head(200, if self.request.keep_alive { &headers[..3] } else { &headers });
        let mut lines = Vec::new();
        for change in &history.changes {
            serde_json::to_writer(&mut lines, change).map_err(io::Error::other)?;
            lines.push(b'\n');
        }
        http::body(&mut out, Framing::Length, &lines, self.request.method != Method::HEAD);
        self.stream.write_all(&out).await?;
        Ok(self.request.keep_alive)
    }

    /// Sends the log in pieces, so that a long one is never in memory twice.
    async fn audit(&mut self, since: usize) -> io::Result<bool> {
        let (until, dropped) = {
            let audit = self.web.audit();
            (audit.len(), audit.dropped())
        };
        let (next, dropped) = (until.max(since).to_string(), dropped.to_string());
        let kind = ("Content-Type", "application/jsonl");
        let headers = [kind, ("X-Audit-Next", &*next), ("X-Audit-Dropped", &*dropped), ("Connection", "close")];
        let mut out = http::head(200, &headers);
        http::body(&mut out, Framing::Eof, b"", false);
        self.stream.write_all(&out).await?;
        let mut at = since;
        while at < until && self.request.method != Method::HEAD {
            let entries = self.web.audit().entries(at, AUDIT_PIECE.min(until - at));
            if entries.is_empty() {
                break; // cleared meanwhile
            }
            at += entries.len();
            out.clear();
            for entry in &entries {
                serde_json::to_writer(&mut out, entry).map_err(io::Error::other)?;
                out.push(b'\n');
            }
            self.stream.write_all(&out).await?;
        }
        Ok(false)
    }
}
