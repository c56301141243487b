//! Signals: TERM and INT end a run, be it in an erasure between two lives of its crawl; HUP reads the settings again, USR1 writes the state to
//! the log.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
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

/// Whether somebody wants the process to end.
#[derive(Clone)]
pub(super) struct Ending {
    /// Set by the first TERM or INT, and by who asks the endpoint for it while a host is erased.
    pub asked: Arc<AtomicBool>,
    heard: watch::Receiver<bool>,
}

impl Ending {
    /// From here on TERM and INT no longer end the process: the first one asks it to end, a second one ends it at once. They are heard on a
    /// thread of their own, for while the runtime is busy.
    pub fn listen() -> io::Result<Self> {
        let (asked, (hear, heard)) = (Arc::<AtomicBool>::default(), watch::channel(false));
        let (of_thread, (listening, listens)) = (asked.clone(), sync_channel(1));
        let work = move || {
            let listen = || -> io::Result<()> {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
                runtime.block_on(async {
                    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
                    // While nobody heeds these two they do nothing.
                    let _caught = (signal(SignalKind::hangup())?, signal(SignalKind::user_defined1())?);
                    let _ = listening.send(Ok(()));
                    tokio::select! { _ = term.recv() => {} _ = int.recv() => {} }
                    log::info!("signal received: finishing what is in flight; a second one ends at once");
                    of_thread.store(true, Ordering::Release);
                    hear.send_replace(true);
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
                })
            };
            if let Err(e) = listen() {
                let _ = listening.send(Err(e));
            }
        };
        std::thread::Builder::new().name("signals".into()).spawn(work)?;
        listens.recv().map_err(io::Error::other)??;
        Ok(Self { asked, heard })
    }

    /// True once somebody wants that.
    pub fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Acquire)
    }

    /// True once a signal asked for it.
    #[cfg(feature = "cluster")]
    pub fn by_signal(&self) -> bool {
        *self.heard.borrow()
    }

    /// Waits for a signal.
    async fn heard(&self) {
        if self.heard.clone().wait_for(|heard| *heard).await.is_err() {
            std::future::pending().await
        }
    }
}

/// TERM and INT end the run. HUP reads the settings again, USR1 writes the state to the log.
///
/// # Errors
/// The system's.
pub(super) fn heed(node: Arc<Node>, hangup: ReadAgain, ending: Ending) -> io::Result<JoinHandle<()>> {
    let (mut hup, mut usr1) = (signal(SignalKind::hangup())?, signal(SignalKind::user_defined1())?);
    Ok(tokio::spawn(async move {
        loop {
            tokio::select! {
                () = ending.heard() => return node.stop_with(Stop::Asked),
                _ = hup.recv() => {
                    notify::reloading();
                    tokio::spawn(take_up(node.clone(), hangup()));
                }
                _ = usr1.recv() => log::info!("state: {}", crate::telemetry::summary::line(&status(&node))),
            }
        }
    }))
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
