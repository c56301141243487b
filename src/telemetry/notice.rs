//! What the operator wants to be called for: given to the webhooks, and to nobody when there are none.

use std::sync::{Mutex, OnceLock};

use serde::Serialize;
use tokio::sync::mpsc;

use crate::base::kinds::kinds;
use crate::base::sync::lock;

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

/// Notices kept until it is known where they go.
const EARLY: usize = 8;

/// The way to the webhooks: bounded, never waited for. What is given before they are started is kept for them.
#[derive(Debug, Default)]
pub struct Notices {
    to: OnceLock<mpsc::Sender<Notice>>,
    early: Mutex<Vec<Notice>>,
}

impl Notices {
    /// Notices go there from now on, those given so far first.
    pub fn send_to(&self, to: mpsc::Sender<Notice>) {
        let mut early = lock(&self.early);
        early.drain(..).for_each(|notice| hand_over(&to, notice));
        let _ = self.to.set(to); // set once, at the start of a run
    }

    /// Gives a notice on; one too many is dropped, and told.
    pub fn give(&self, notice: impl FnOnce() -> Notice) {
        if let Some(to) = self.to.get() {
            return hand_over(to, notice());
        }
        let mut early = lock(&self.early);
        if let Some(to) = self.to.get() {
            hand_over(to, notice()); // set meanwhile
        } else if early.len() < EARLY {
            early.push(notice());
        }
    }
}

fn hand_over(to: &mpsc::Sender<Notice>, notice: Notice) {
    if let Err(mpsc::error::TrySendError::Full(lost)) = to.try_send(notice) {
        log::warn!("webhooks are too slow, a notice is lost: event={} reason={}", lost.event.as_str(), lost.reason);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_before_the_webhooks_are_started_is_told_to_them_first() {
        let notice = |n: u64| Notice {
            event: NoticeKind::Degraded,
            ts_ms: n,
            reason: "disk_low".into(),
            text: String::new(),
            host: None,
        };
        let notices = Notices::default();
        (0..20).for_each(|n| notices.give(|| notice(n)));
        let (to, mut come) = mpsc::channel(64);
        notices.send_to(to);
        notices.give(|| notice(99));
        let come: Vec<u64> = std::iter::from_fn(|| come.try_recv().ok()).map(|notice| notice.ts_ms).collect();
        assert_eq!(come, [0, 1, 2, 3, 4, 5, 6, 7, 99]);
    }
}
