//! Shows a running crawl: a live line when stderr is a terminal, else a line in the log now and then.

use std::io::{IsTerminal as _, Write};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::telemetry::summary;
use crate::telemetry::{StatusSnapshot, log as logging};

/// Gives the counts at this moment.
pub type Status = Arc<dyn Fn() -> StatusSnapshot + Send + Sync>;

/// How often the live line is drawn.
const TICK: Duration = Duration::from_millis(250);

/// A display that ends when dropped.
#[derive(Debug, Default)]
pub struct Progress {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Starts it. `live`: a terminal is wanted (and used when stderr is one); `every`: interval of log lines, zero for none.
    pub fn start(status: Status, live: bool, every: Duration) -> Self {
        let (stop, stopped) = mpsc::channel();
        let live = live && std::io::stderr().is_terminal();
        if !live && every.is_zero() {
            return Self::default();
        }
        let work = move || {
            if live { draw(&status, &stopped) } else { write(&status, &stopped, every) }
        };
        let thread = std::thread::Builder::new().name("progress".into()).spawn(work);
        let thread = thread.inspect_err(|e| log::warn!("no progress display: {e}")).ok();
        Self { stop: Some(stop), thread }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It owns nothing that a panic could leave half done.
            let _ = thread.join();
        }
    }
}

/// True until the display is dropped; waits for `interval` between.
fn goes_on(stopped: &mpsc::Receiver<()>, interval: Duration) -> bool {
    stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout)
}

/// A line at the foot of the terminal.
pub(super) fn live_line() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
        bar.set_style(style);
    }
    bar
}

fn draw(status: &Status, stopped: &mpsc::Receiver<()>) {
    let bar = live_line();
    let above = bar.clone();
    // Log lines are written above the live line. A terminal that is gone is no reason to stop crawling.
    logging::redirect(Some(Arc::new(move |line: &[u8]| {
        above.suspend(|| {
            let _ = std::io::stderr().lock().write_all(line);
        });
    })));
    while goes_on(stopped, TICK) {
        bar.set_message(summary::short(&status()));
        bar.tick();
    }
    logging::redirect(None);
    bar.finish_and_clear();
}

fn write(status: &Status, stopped: &mpsc::Receiver<()>, every: Duration) {
    while goes_on(stopped, every) {
        log::info!("{}", summary::line(&status()));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn status_is_asked_for_until_the_display_is_dropped() {
        let asked = Arc::new(AtomicU32::new(0));
        let (seen, wait) = mpsc::channel();
        let counter = asked.clone();
        let status: Status = Arc::new(move || {
            counter.fetch_add(1, Ordering::SeqCst);
            let _ = seen.send(());
            StatusSnapshot::default()
        });
        let progress = Progress::start(status, false, Duration::from_millis(1));
        wait.recv().unwrap();
        drop(progress);
        // The thread has been joined: its closure is gone, so nobody can ask again.
        while wait.try_recv().is_ok() {}
        assert_eq!(wait.try_recv(), Err(mpsc::TryRecvError::Disconnected));
        assert!(asked.load(Ordering::SeqCst) >= 1);
    }
}
