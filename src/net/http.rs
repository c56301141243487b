//! http and https.

use std::sync::Arc;
use std::time::Duration;

use crate::document::SpillConfig;
use crate::domain::reason::Failure;
use crate::domain::url::Scheme;

use super::guard::AddressPolicy;
use super::protocol::{FetchFault, FetchFuture, FetchRequest, Protocol, Timings};
use super::tls::{TlsClient, TlsSetupError, TlsVerify};

/// What the http module needs for its life.
#[derive(Clone, Debug)]
pub struct HttpConfig {
    /// Which addresses may be connected to; checked before every connect.
    pub policy: Arc<AddressPolicy>,
    /// What to do about bad certificates.
    pub verify: TlsVerify,
    /// Spill files of bodies; `memory_body` is each request's own.
    pub spill: SpillConfig,
    /// How long an unused connection is kept; zero: none is kept.
    pub idle: Duration,
    /// Unused connections kept at most.
    pub max_idle: usize,
}

impl HttpConfig {
    /// Idle connections are kept 30 s, 256 at most; certificates are recorded.
    #[must_use]
    pub fn new(policy: Arc<AddressPolicy>, spill: SpillConfig) -> Self {
        Self { policy, verify: TlsVerify::default(), spill, idle: Duration::from_secs(30), max_idle: 256 }
    }
}

/// The module for http and https; one a fetcher. Its connections are its own.
#[derive(Debug)]
pub struct Http {
    config: HttpConfig,
    tls: TlsClient,
}

impl Http {
    /// A module without connections.
    ///
    /// # Errors
    /// TLS cannot be set up.
    pub fn new(config: HttpConfig) -> Result<Self, TlsSetupError> {
        let tls = TlsClient::new(config.verify)?;
        Ok(Self { config, tls })
    }
}

impl Protocol for Http {
    fn schemes(&self) -> &[Scheme] {
        &[Scheme::Http, Scheme::Https]
    }

    fn fetch(&self, request: FetchRequest) -> FetchFuture<'_> {
        Box::pin(async move {
            let _ = (&self.config, &self.tls, request);
            Err(FetchFault { failure: Failure::BadHttp, detail: "not yet".to_owned(), timings: Timings::default() })
        })
    }
}
