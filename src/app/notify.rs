//! Tells a service manager how the daemon is, by the protocol of sd_notify(3): ready, alive, reloading, stopping, and the state
//! in one line, which `systemctl status` shows. Without `NOTIFY_SOCKET` nothing is sent.

use std::sync::Arc;
use std::time::Duration;

use sd_notify::NotifyState;

use crate::admin::status;
use crate::crawl::node::Node;

/// How often the state is told when the manager has no watchdog.
const USUAL: Duration = Duration::from_secs(30);

pub(super) fn ready() {
    tell(&[NotifyState::Ready]);
}

/// It reads its settings again; [`ready`] tells when it has.
pub(super) fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[NotifyState::Reloading, now]),
        Err(_) => tell(&[NotifyState::Reloading]),
    }
}

/// It comes to its end.
pub(super) fn stopping(why: &str) {
    tell(&[NotifyState::Stopping, NotifyState::Status(why)]);
}

/// Tells again and again that it is alive, twice in the time that the manager allows, and what it does. It runs where limits
/// and signals are looked at: when that thread is stuck, nothing is told, and the manager ends the process.
pub(super) async fn keep(node: Arc<Node>) {
    let between = between();
    loop {
        let line = crate::telemetry::summary::line(&status(&node));
        at_work(&line);
        tokio::time::sleep(between).await;
    }
}

/// It is alive, and does this.
pub(super) fn at_work(what: &str) {
    tell(&[NotifyState::Watchdog, NotifyState::Status(what)]);
}

/// How often that is to be told.
pub(super) fn between() -> Duration {
    sd_notify::watchdog_enabled().map_or(USUAL, |most| most / 2)
}

fn tell(states: &[NotifyState<'_>]) {
    if let Err(e) = sd_notify::notify(states) {
        log::debug!("the service manager was not told: {e}");
    }
}
