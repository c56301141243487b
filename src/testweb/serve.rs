//! The server: threads, the listener, what all connections share.

use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::watch;

use super::audit::{Audit, AuditClock, AuditEntry};
use super::config::{ConfigError, TestWebConfig};
use super::connection;
use super::place::Node;
use super::shape::Shape;
use crate::base::sync::lock;

/// Why the synthetic web cannot be served.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what its fields are")]
pub enum TestWebError {
    #[error("testweb settings: {0}")]
    Config(#[from] ConfigError),
    #[error("testweb cannot listen on {address}: {source}; choose another address with --listen")]
    Listen { address: SocketAddr, source: io::Error },
    #[error("testweb cannot start its runtime: {0}")]
    Runtime(io::Error),
}

pub(super) struct Web {
    pub(super) shape: Shape,
    pub(super) clock: AuditClock,
    audit: Mutex<Audit>,
    failures: Mutex<HashMap<Node, u8>>,
    connections: AtomicU32,
    requests: AtomicU64,
}

/// Flaky pages whose failures are counted; beyond that they succeed at once.
const MAX_FLAKY: usize = 4_000_000;

impl Web {
    fn new(mut config: TestWebConfig, clock: AuditClock) -> Self {
        config.changes_from.get_or_insert(clock.now_us() / 1_000_000);
        Self {
            shape: Shape::new(config),
            clock,
            audit: Mutex::default(),
            failures: Mutex::default(),
            connections: AtomicU32::new(0),
            requests: AtomicU64::new(0),
        }
    }

    /// Counts a request of a page, from 1.
    pub(super) fn next_request(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(super) fn audit(&self) -> MutexGuard<'_, Audit> {
        lock(&self.audit)
    }

    /// Counts a request of a flaky page; whether it fails once more.
    pub(super) fn fails_again(&self, node: Node, fails: u8) -> bool {
        let mut failures = lock(&self.failures);
        if failures.len() >= MAX_FLAKY && !failures.contains_key(&node) {
            return false;
        }
        let count = failures.entry(node).or_insert(0);
        *count = count.saturating_add(1);
        *count <= fails
    }

    /// Forgets the log and the failures.
    pub(super) fn clear(&self) {
        self.audit().clear();
        lock(&self.failures).clear();
    }
}

/// A running synthetic web on threads of its own; stops when dropped.
pub struct TestWeb {
    web: Arc<Web>,
    addr: SocketAddr,
    stop: watch::Sender<bool>,
    threads: Vec<JoinHandle<()>>,
}

impl TestWeb {
    /// Checks the settings, binds the address and serves.
    pub fn start(config: TestWebConfig) -> Result<Self, TestWebError> {
        Self::start_by(config, AuditClock::new())
    }

    /// The same by a clock of one's own.
    pub(super) fn start_by(config: TestWebConfig, clock: AuditClock) -> Result<Self, TestWebError> {
        config.check()?;
        let (address, threads) = (config.listen, config.threads);
        let failed = |source| TestWebError::Listen { address, source };
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let addr = listener.local_addr().map_err(failed)?;
        let (stop, _) = watch::channel(false);
        let mut web = Self { web: Arc::new(Web::new(config, clock)), addr, stop, threads: Vec::new() };
        for number in 0..threads {
            let listener = listener.try_clone().map_err(failed)?;
            web.spawn(number, listener)?;
        }
        Ok(web)
    }

    fn spawn(&mut self, number: usize, listener: TcpListener) -> Result<(), TestWebError> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(TestWebError::Runtime)?;
        let (web, mut stop) = (Arc::clone(&self.web), self.stop.subscribe());
        let work = move || {
            runtime.block_on(async {
                tokio::select! {
                    () = accept(web, listener) => {}
                    _ = stop.wait_for(|stop| *stop) => {}
                }
            });
            runtime.shutdown_background();
        };
        let name = format!("testweb-{number}");
        let thread = std::thread::Builder::new().name(name).spawn(work).map_err(TestWebError::Runtime)?;
        self.threads.push(thread);
        Ok(())
    }

    /// The address it listens on.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The shape it serves, as it is before anything changes.
    pub fn shape(&self) -> &Shape {
        &self.web.shape
    }

    /// The shape it serves now.
    pub fn shape_now(&self) -> Shape {
        self.web.shape.at(self.web.clock.now_us())
    }

    /// All requests answered so far, in the order in which the answers ended.
    pub fn audit(&self) -> Vec<AuditEntry> {
        self.audit_since(0)
    }

    /// The log from entry `since` on.
    pub fn audit_since(&self, since: usize) -> Vec<AuditEntry> {
        self.web.audit().entries(since, usize::MAX)
    }

    /// Number of requests answered so far.
    pub fn audit_len(&self) -> usize {
        self.web.audit().len()
    }

    /// Forgets the log, and the failures counted for flaky pages.
    pub fn clear_audit(&self) {
        self.web.clear();
    }

    /// Stops serving: connections are cut, threads ended.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for TestWeb {
    fn drop(&mut self) {
        // No receiver means that all threads have ended.
        let _ = self.stop.send(true);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

async fn accept(web: Arc<Web>, listener: TcpListener) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let number = web.connections.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(connection::serve(Arc::clone(&web), stream, number));
            }
            // Out of file descriptors, or the asker is gone already: others may have better luck soon.
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}
