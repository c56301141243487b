//! What the operator wants to be called for: given to the webhooks, and to nobody when there are none.

use std::sync::OnceLock;

use serde::Serialize;
use tokio::sync::mpsc;

use super::kinds::kinds;

kinds! {
    /// What a webhook can be called for, and its name in `webhook.on`.
    NoticeKind {
        /// The crawl has ended by itself, at a limit or by a fault.
        Finished = "finished",
        /// The node is worse off than before.
        Degraded = "degraded",
        /// A host gives nothing but refusals, or its robots.txt stays out of reach.
        HostBlocked = "host_blocked",
    }
}

/// One notice.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Notice {
    /// Of which kind.
    pub event: NoticeKind,
    /// When, milliseconds since 1970.
    pub ts_ms: u64,
    /// Why, as one word: a state, a reason.
    pub reason: String,
    /// The same for people.
    pub text: String,
    /// The host, where it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

/// The way to the webhooks: bounded, never waited for.
#[derive(Debug, Default)]
pub struct Notices(OnceLock<mpsc::Sender<Notice>>);

impl Notices {
    /// Notices go there from now on.
    pub fn send_to(&self, to: mpsc::Sender<Notice>) {
        let _ = self.0.set(to); // set once, at the start of a run
    }

    /// Gives a notice on; one too many is dropped, and told.
    pub fn give(&self, notice: impl FnOnce() -> Notice) {
        let Some(to) = self.0.get() else { return };
        if let Err(mpsc::error::TrySendError::Full(lost)) = to.try_send(notice()) {
            log::warn!("webhooks are too slow, a notice is lost: event={} reason={}", lost.event.as_str(), lost.reason);
        }
    }
}
