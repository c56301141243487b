//! The server.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use tokio::sync::watch;

use super::audit::{Audit, AuditEntry};
use super::clock::AuditClock;
use super::config::{ConfigError, TestWebConfig};
use super::shape::Shape;

/// Why the synthetic web cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum TestWebError {
    /// A setting is impossible.
    #[error("testweb settings: {0}")]
    Config(#[from] ConfigError),
    /// The address cannot be had.
    #[error("testweb cannot listen on {address}: {source}; choose another address with --listen")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// Threads or the runtime cannot be had.
    #[error("testweb cannot start its runtime: {0}")]
    Runtime(io::Error),
}

/// What all connections share.
pub(super) struct Web {
    pub(super) shape: Shape,
    pub(super) audit: Mutex<Audit>,
    pub(super) clock: AuditClock,
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
        config.check()?;
        let address = config.listen;
        let listener =
            std::net::TcpListener::bind(address).map_err(|source| TestWebError::Listen { address, source })?;
        let addr = listener.local_addr().map_err(|source| TestWebError::Listen { address, source })?;
        let web = Web { shape: Shape::new(config), audit: Mutex::default(), clock: AuditClock::new() };
        let (stop, _) = watch::channel(false);
        Ok(Self { web: Arc::new(web), addr, stop, threads: Vec::new() })
    }

    /// The address it listens on.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The shape it serves.
    pub fn shape(&self) -> &Shape {
        &self.web.shape
    }

    /// All requests answered so far, in the order in which the answers ended.
    pub fn audit(&self) -> Vec<AuditEntry> {
        self.web.audit.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).entries(0, usize::MAX)
    }

    /// Stops serving: connections are cut, threads ended.
    pub fn stop(self) {}
}

impl Drop for TestWeb {
    fn drop(&mut self) {
        let _ = self.stop.send(true);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
