//! Signals: TERM and INT end a run, HUP reads the settings again, USR1 writes the state to the log.

use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;

use super::notify;
use super::run::ReadAgain;
use crate::admin::status;
use crate::base::clock::Stopwatch;
use crate::config::Settings;
use crate::crawl::node::{Node, Stop};

/// Longest wait for settings that were read again to be committed.
const RELOAD: Duration = Duration::from_secs(10);
/// A second signal within this time of the first means the same.
const SAME_SIGNAL: Duration = Duration::from_millis(500);

/// The signals that are heeded.
pub(super) struct Signals {
    term: Signal,
    int: Signal,
    hup: Signal,
    usr1: Signal,
}

impl Signals {
    /// From here on a signal no longer ends the process.
    pub(super) fn listen() -> std::io::Result<Self> {
        Ok(Self {
            term: signal(SignalKind::terminate())?,
            int: signal(SignalKind::interrupt())?,
            hup: signal(SignalKind::hangup())?,
            usr1: signal(SignalKind::user_defined1())?,
        })
    }
}

/// TERM and INT end the run; a second one ends the process at once. HUP reads the settings again, USR1 writes the state to
/// the log.
pub(super) fn heed(node: Arc<Node>, hangup: ReadAgain, signals: Signals) -> JoinHandle<()> {
    let Signals { mut term, mut int, mut hup, mut usr1 } = signals;
    second_signal_ends_all();
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = term.recv() => {}
                _ = int.recv() => {}
                _ = hup.recv() => {
                    notify::reloading();
                    tokio::spawn(take_up(node.clone(), hangup()));
                    continue;
                }
                _ = usr1.recv() => {
                    log::info!("state: {}", crate::telemetry::summary::line(&status(&node)));
                    continue;
                }
            }
            log::info!("signal received: finishing what is in flight; a second one ends at once");
            node.stop_with(Stop::Asked);
            return;
        }
    })
}

/// Takes up what may change of settings that were read again.
async fn take_up(node: Arc<Node>, settings: Option<Settings>) {
    if let Some(settings) = settings {
        match tokio::time::timeout(RELOAD, crate::crawl::live::reload(&node, &settings)).await {
            Ok(Ok(_)) => {}
            Ok(Err(e)) => log::warn!("settings not taken up, the former ones hold: {e}"),
            Err(_) => log::warn!("settings not taken up yet: the store does not commit them"),
        }
    }
    notify::ready();
}

/// A thread that ends the process at the second signal, for while the runtime is busy with the drain.
fn second_signal_ends_all() {
    let spawned = std::thread::Builder::new().name("signals".into()).spawn(|| {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        runtime.block_on(async {
            let (Ok(mut term), Ok(mut int)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt())) else {
                return;
            };
            tokio::select! { _ = term.recv() => {} _ = int.recv() => {} }
            // `timeout` and shells signal a process and its group: what comes at once means the same.
            let first = Stopwatch::start();
            loop {
                tokio::select! { _ = term.recv() => {} _ = int.recv() => {} }
                if first.elapsed() >= SAME_SIGNAL {
                    break;
                }
            }
            log::warn!("second signal: ending at once; the next start repairs what was in flight");
            std::process::exit(crate::base::exit::Exit::Interrupted.code().into());
        });
    });
    if let Err(e) = spawned {
        log::warn!("a second signal will not end the process at once: {e}");
    }
}
