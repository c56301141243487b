//! Shows how far a command is.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;

use super::progress::live_line;

/// How often the line of a [`Watch`] is drawn.
const DRAWN: Duration = Duration::from_millis(100);
/// How often it is logged without a terminal.
const LOGGED: Duration = Duration::from_secs(10);

/// Shows how far a command is: a live line when stderr is a terminal, else a line in the log now and then.
pub(super) struct Watch {
    bar: Option<ProgressBar>,
    last: Instant,
}

impl Watch {
    /// `live`: a terminal is wanted.
    pub fn start(live: bool) -> Self {
        let bar = (live && std::io::stderr().is_terminal()).then(live_line);
        Self { bar, last: Instant::now() }
    }

    /// Tells how far it is, when it is time.
    pub fn tell(&mut self, text: impl FnOnce() -> String) {
        let every = if self.bar.is_some() { DRAWN } else { LOGGED };
        if self.last.elapsed() < every {
            return;
        }
        self.last = Instant::now();
        match &self.bar {
            Some(bar) => {
                bar.set_message(text());
                bar.tick();
            }
            None => log::info!("{}", text()),
        }
    }

    /// Prints something above the live line.
    pub fn pause(&self, print: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
