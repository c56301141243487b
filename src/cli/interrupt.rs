//! INT and TERM end a command that leaves nothing half done: it hears of them by a flag. The second one ends the process at once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;

use tokio::signal::unix::{SignalKind, signal};

use super::exit::Exit;

/// From here on the flag is set at the first signal.
pub(super) fn heed() -> io::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let (heard, (listening, listens)) = (flag.clone(), sync_channel(1));
    let work = move || {
        let listen = || -> io::Result<()> {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
                let _ = listening.send(Ok(()));
                tokio::select! { _ = term.recv() => {} _ = int.recv() => {} }
                heard.store(true, Ordering::Release);
                tokio::select! { _ = term.recv() => {} _ = int.recv() => {} }
                std::process::exit(Exit::Interrupted.code().into())
            })
        };
        if let Err(e) = listen() {
            let _ = listening.send(Err(e));
        }
    };
    std::thread::Builder::new().name("signals".into()).spawn(work)?;
    listens.recv().map_err(io::Error::other)??;
    Ok(flag)
}
