//! The sinks as the rest of the program sees them: what each does, and how far it is.

use std::path::Path;
use std::sync::Mutex;

use crate::base::kinds::names;
use crate::base::sync::lock;
use crate::base::time::UnixMillis;
use crate::config::{SinkSection, server_only};

names! {
    /// What a sink does.
    #[derive(Default)]
    Doing {
        /// It was not started, or has ended.
        #[default]
        Off = "off";
        /// Sends, or writes.
        Sending = "sending";
        /// Has sent all there is, or waits for a batch to fill.
        Waiting = "waiting";
        /// Its server is away, or takes nothing: it is tried again.
        Away = "away";
        /// Its server answers, and refuses whatever it is sent: something is to be corrected, and it is tried again.
        Refused = "refused";
        /// Rests while the disk is low.
        Held = "held";
        /// Rests after something went wrong here.
        Resting = "resting";
    }
}

/// Entries listed that ended it three times.
const LISTED: usize = 100;

/// How far a sink is; counts since the process began.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// What is being done.
    pub doing: Doing,
    /// The last entry of the feed that it is done with.
    pub after: u64,
    /// Documents or lines that were taken, or rows written.
    pub sent: u64,
    /// Documents that were taken away.
    pub removed: u64,
    /// What was never taken.
    pub rejected: u64,
    /// Entries of which it died three times, passed over; how many, and the first hundred.
    pub skipped: u64,
    /// Their numbers.
    pub skipped_entries: Vec<u64>,
    /// How often a request, or the sink itself, failed.
    pub failures: u64,
    /// Since when nothing is taken.
    pub away_since: Option<UnixMillis>,
    /// Since when it waits for the answer to a request.
    pub asked_since: Option<UnixMillis>,
    /// It was away, and has not caught up yet.
    pub catches_up: bool,
    /// What went wrong last; none once it is over.
    pub error: Option<String>,
}

impl Told {
    /// An entry is passed over.
    pub fn skip(&mut self, entry: u64) {
        self.skipped += 1;
        if self.skipped_entries.len() < LISTED {
            self.skipped_entries.push(entry);
        }
    }
}

/// A sink of the settings.
#[derive(Debug)]
pub struct Served {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: &'static str,
    /// Where its pages go: the server, or the folder.
    pub to: String,
    told: Mutex<Told>,
}

impl Served {
    /// Of the settings.
    pub fn of(section: &SinkSection, data_dir: &Path) -> Self {
        let to = match &section.url {
            Some(url) => server_only(url),
            None => section.folder(data_dir).display().to_string(),
        };
        Self { name: section.name.clone(), kind: section.kind.as_str(), to, told: Mutex::default() }
    }

    /// How far it is.
    pub fn told(&self) -> Told {
        lock(&self.told).clone()
    }

    /// Something is to be told.
    pub fn tell<T>(&self, change: impl FnOnce(&mut Told) -> T) -> T {
        change(&mut lock(&self.told))
    }
}
