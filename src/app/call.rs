//! Calls to addresses that the operator has named: webhooks and sinks.
//!
//! The rules for addresses that pages lead to (`net.allow`) do not hold here: loopback and private networks are called like any other.
//! Redirects are not followed, so no answer can lead elsewhere.

use std::time::Duration;

use awc::error::SendRequestError;
use awc::http::header::RETRY_AFTER;
use awc::{Client, Connector};
use bytes::Bytes;
use rustls::pki_types::CertificateDer;

use crate::net::tls::{TlsClient, TlsSetupError, TlsVerify};

/// Longest wait for a connection.
const CONNECT: Duration = Duration::from_secs(10);

/// A POST.
pub(super) struct Post<'p> {
    pub url: &'p str,
    /// Beside `User-Agent`.
    pub headers: &'p [(&'static str, String)],
    pub body: Bytes,
    /// Longest wait for the whole answer.
    pub timeout: Duration,
    /// Bytes of the answer that are read; a longer one is none.
    pub most: usize,
}

/// What came back.
pub(super) struct Answered {
    pub status: u16,
    pub retry_after: Option<String>,
    pub body: Bytes,
}

/// Why nothing did.
#[derive(Debug, thiserror::Error)]
pub(super) enum CallError {
    /// It never will.
    #[error("{0}")]
    Url(String),
    /// It may later.
    #[error("{0}")]
    Failed(String),
}

/// Who calls: the authorities that it trusts.
#[derive(Clone)]
pub(super) struct Caller {
    tls: TlsClient,
}

impl Caller {
    /// # Errors
    /// TLS that cannot be set up.
    pub fn new(roots: &[CertificateDer<'static>]) -> Result<Self, TlsSetupError> {
        Ok(Self { tls: TlsClient::new(TlsVerify::Strict, roots)? })
    }

    /// A connection of its own for each call: nothing is kept between.
    pub async fn post(&self, post: &Post<'_>) -> Result<Answered, CallError> {
        let asked = tokio::time::timeout(post.timeout, self.ask(post));
        asked.await.unwrap_or_else(|_| Err(CallError::Failed(format!("no answer in {:?}", post.timeout))))
    }

    async fn ask(&self, post: &Post<'_>) -> Result<Answered, CallError> {
        let connector = Connector::new().rustls_0_23(std::sync::Arc::clone(&self.tls.config)).timeout(CONNECT);
        let client = Client::builder().connector(connector).disable_redirects().timeout(post.timeout).finish();
        let request =
            client.post(post.url).insert_header(("User-Agent", concat!("lycosa/", env!("CARGO_PKG_VERSION"))));
        let headers = post.headers.iter();
        let request = headers.fold(request, |request, (name, value)| request.insert_header((*name, value.as_str())));
        let mut answer = request.send_body(post.body.clone()).await.map_err(|error| match error {
            SendRequestError::Url(e) => CallError::Url(e.to_string()),
            e => CallError::Failed(e.to_string()),
        })?;
        let retry_after = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let body = if post.most == 0 { Ok(Bytes::new()) } else { answer.body().limit(post.most).await };
        let body = body.map_err(|e| CallError::Failed(format!("its answer did not come whole: {e}")))?;
        Ok(Answered { status: answer.status().as_u16(), retry_after, body })
    }
}
