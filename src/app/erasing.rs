//! Between two lives of a crawl: a host is erased in this process, which answers meanwhile that it is, and can be ended.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::oneshot;

use super::erase::{Way, erase};
use super::run::{AtRest, RunError, entrance};
use super::signals::Ending;
use super::{notify, webhooks};
use crate::admin::erasing::Erasing;
use crate::admin::{AdminServer, Listening};
use crate::base::clock::{Clock, Stopwatch};
use crate::base::fault::Faults;
use crate::config::Settings;
use crate::recovery::erase::{Certificate, EraseError, Far, Pending, STEPS, pending};
use crate::storage::StorageError;

/// How often it is told how far it is.
const TOLD: Duration = Duration::from_secs(10);
/// How often it is looked whether what is waited for has ended.
const LOOK: Duration = Duration::from_millis(20);

/// What an erasure in this process needs.
pub(super) struct Between<'b> {
    pub settings: &'b Settings,
    pub listening: Option<&'b Listening>,
    pub ending: &'b Ending,
    pub faults: &'b Faults,
}

impl Between<'_> {
    /// Carries out the erasure that is ordered, or did not come to its end, if there is one. `before`: whether what the
    /// last life left to itself has come to its end, which may still read what is to be overwritten.
    ///
    /// # Errors
    /// [`RunError::Erase`], also [`EraseError::Interrupted`]; the next call goes on.
    pub fn erase(&self, runtime: &Runtime, before: Vec<AtRest>) -> Result<(), RunError> {
        let Some(Pending { id, host }) = pending(&self.settings.store.data_dir)? else { return Ok(()) };
        log::info!("a host is erased, and the crawl waits for that: host={host} id={id}");
        let erasing = Arc::new(Erasing::new(id, Clock::real().date(), self.ending.asked.clone()));
        let serve =
            |listening: &Listening| AdminServer::erasing(listening.again()?, entrance(self.settings)?, erasing.clone());
        let _server = self.listening.map(serve).transpose()?;
        let (settings, faults, stop) = (self.settings.clone(), self.faults.clone(), self.ending.clone());
        let (done, mut ended) = oneshot::channel();
        let tell = erasing.clone();
        let work = move || {
            let erased = come_to_rest(before, &stop).and_then(|()| {
                let way = Way { keep_checkpoints: false, stop: stop.asked, faults };
                erase(&settings, &host, way, &mut told(&tell))
            });
            let _ = done.send(erased);
        };
        std::thread::Builder::new().name("erase".into()).spawn(work)?;
        notify::ready(); // it may be the first that this process does, and take long
        let ended = runtime.block_on(async {
            loop {
                notify::at_work(&erasing.sentence());
                tokio::select! {
                    ended = &mut ended => break ended,
                    () = tokio::time::sleep(notify::between().min(TOLD)) => {}
                }
            }
        });
        let certificate = ended.map_err(|_| io::Error::other("the thread that erases a host panicked; see the log"))?;
        tell_end(self.settings, certificate)
    }
}

/// Waits for what the last life left to itself.
fn come_to_rest(before: Vec<AtRest>, ending: &Ending) -> Result<(), EraseError> {
    for at_rest in before {
        while !at_rest() {
            if ending.is_asked() {
                return Err(EraseError::Interrupted);
            }
            std::thread::sleep(LOOK);
        }
    }
    Ok(())
}

/// Tells the endpoint at once, and the log now and then.
fn told(erasing: &Erasing) -> impl FnMut(Far) {
    let (mut last, mut step) = (Stopwatch::start(), 0);
    move |far: Far| {
        erasing.tell(far);
        if far.step != step || last.elapsed() >= TOLD {
            (last, step) = (Stopwatch::start(), far.step);
            log::info!("erasing: step={step}/{STEPS} {}={}", far.what, far.done);
        }
    }
}

fn tell_end(settings: &Settings, ended: Result<Certificate, EraseError>) -> Result<(), RunError> {
    match ended {
        Ok(certificate) if certificate.erased => {
            log::info!(
                "a host is erased, the crawl goes on: certificate={}",
                certificate.path(&settings.store.data_dir).display()
            );
            Ok(())
        }
        Ok(certificate) => {
            let path = certificate.path(&settings.store.data_dir);
            log::error!(
                "something of a host is left after its erasure, the crawl goes on: see `after` in the certificate: certificate={}",
                path.display()
            );
            Ok(())
        }
        Err(error) => {
            use EraseError::{Interrupted, Storage, Unclean};
            if !matches!(error, Interrupted | Unclean(_) | Storage(StorageError::Locked { .. })) {
                webhooks::tell_failed(
                    settings,
                    "erasure",
                    &format!("a host could not be erased, and the crawl waits for that: {error}"),
                );
            }
            Err(error.into())
        }
    }
}
