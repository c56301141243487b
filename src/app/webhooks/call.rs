//! One call of a webhook: body, signature, tries.

use std::rc::Rc;
use std::time::Duration;

use awc::http::StatusCode;
use hmac::{Hmac, KeyInit, Mac};
use rustls::pki_types::CertificateDer;
use serde::Serialize;
use sha2::Sha256;

use super::Hook;
use crate::app::call::{self, CallError, Post};
use crate::config::server_only;
use crate::crawl::node::Node;
use crate::net::tls::TlsSetupError;
use crate::telemetry::StatusSnapshot;
use crate::telemetry::metrics::{Call, Metrics};
use crate::telemetry::notice::Notice;

/// Longest wait for an answer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Waits before the tries after the first.
const WAITS: [Duration; 4] =
    [Duration::from_secs(1), Duration::from_secs(5), Duration::from_secs(30), Duration::from_secs(120)];

#[derive(Serialize)]
struct Body<'a> {
    #[serde(flatten)]
    notice: &'a Notice,
    crawl: &'a str,
    node: &'a str,
    status: &'a StatusSnapshot,
}

/// A notice as it is sent.
#[derive(Clone)]
pub(super) struct Message {
    event: &'static str,
    sent_s: u64,
    json: Rc<str>,
}

impl Message {
    pub fn new(node: &Node, notice: &Notice, status: StatusSnapshot) -> Self {
        let (crawl, host) = (&node.crawl.rules.settings.crawl.name, &node.crawl.rules.host_name);
        let body = Body { notice, crawl, node: host, status: &status };
        let json = serde_json::to_string(&body).unwrap_or_default();
        Self { event: notice.event.as_str(), sent_s: notice.ts_ms / 1_000, json: json.into() }
    }

    /// `sha256=` and the HMAC-SHA256 of `TIMESTAMP.BODY`, so that an old message cannot be sent anew as a fresh one.
    fn signature(&self, secret: &str) -> Option<String> {
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).ok()?;
        mac.update(format!("{}.{}", self.sent_s, self.json).as_bytes());
        Some(format!("sha256={}", data_encoding::HEXLOWER.encode(&mac.finalize().into_bytes())))
    }
}

enum Failed {
    /// It may go well later.
    Now(String),
    /// It will not.
    Always(String),
}

#[derive(Clone)]
pub(super) struct Caller {
    client: call::Caller,
    metrics: Metrics,
}

impl Caller {
    /// # Errors
    /// TLS that cannot be set up.
    pub fn new(metrics: Metrics, roots: &[CertificateDer<'static>]) -> Result<Self, TlsSetupError> {
        Ok(Self { client: call::Caller::new(roots)?, metrics })
    }

    /// Calls until it is taken, or given up.
    pub async fn tell(&self, hook: &Hook, message: &Message) {
        let mut waits = WAITS.into_iter();
        loop {
            let (why, wait) = match self.call(hook, message).await {
                Ok(()) => return self.metrics.webhook(Call::Done),
                Err(Failed::Always(why)) => (why, None),
                Err(Failed::Now(why)) => (why, waits.next()),
            };
            let place = server_only(&hook.url);
            let Some(wait) = wait else {
                log::warn!("a webhook was not called: to={place} event={} why={why:?}", message.event);
                return self.metrics.webhook(Call::Failed);
            };
            let (event, in_s) = (message.event, wait.as_secs());
            log::info!("a webhook is called again: to={place} event={event} in_s={in_s} why={why:?}");
            self.metrics.webhook(Call::Retried);
            tokio::time::sleep(wait).await;
        }
    }

    async fn call(&self, hook: &Hook, message: &Message) -> Result<(), Failed> {
        let mut headers = vec![
            ("Content-Type", "application/json".to_owned()),
            ("X-Lycosa-Event", message.event.to_owned()),
            ("X-Lycosa-Timestamp", message.sent_s.to_string()),
        ];
        let signature = hook.secret.as_ref().and_then(|secret| message.signature(secret));
        headers.extend(signature.map(|signature| ("X-Lycosa-Signature", signature)));
        let body = message.json.to_string().into();
        let post = Post { url: &hook.url, headers: &headers, body, timeout: TIMEOUT, most: 0 };
        let answer = self.client.post(&post).await.map_err(|error| match error {
            CallError::Url(why) => Failed::Always(why),
            CallError::Failed(why) => Failed::Now(why),
        })?;
        match StatusCode::from_u16(answer.status).unwrap_or_default() {
            status if status.is_success() => Ok(()),
            status @ (StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS) => {
                Err(Failed::Now(status.to_string()))
            }
            status if status.is_server_error() => Err(Failed::Now(status.to_string())),
            status => Err(Failed::Always(format!("{status}: correct [[webhook]] url"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_is_the_hmac_of_time_and_body() {
        let message = Message { event: "finished", sent_s: 1_700_000_000, json: "{\"event\":\"finished\"}".into() };
        // printf '%s' '1700000000.{"event":"finished"}' | openssl dgst -sha256 -hmac correct-horse-battery
        let expected = "sha256=51b5db8068956985fd7479f9865f6ad92f8a14e1e31fd32388ee87f7285409f3";
        assert_eq!(message.signature("correct-horse-battery").as_deref(), Some(expected));
    }
}
