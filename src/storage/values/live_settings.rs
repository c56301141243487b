//! What was changed while the crawl ran.

use std::collections::BTreeMap;

use super::wire::fields;
use crate::base::time::UnixMillis;

fields! {
    /// Settings changed over HTTP, which lie over those of file, environment and flags at every start; and the last changes.
    #[derive(Default)]
    LiveSettings {
        /// Dotted key (`host.PATTERN` for one host's section) to its value as JSON text.
        overlay: BTreeMap<String, String>,
        /// The last changes, oldest first.
        history: Vec<SettingsChange>,
        /// The generation whose rejected URLs are still to be judged again; none when that was done.
        readmit: Option<u32>,
    }
}

fields! {
    /// One change of the settings.
    SettingsChange {
        /// The number of the rules it made.
        generation: u32,
        /// When.
        at: UnixMillis,
        /// By whom: `admin` (over HTTP), `reload` (SIGHUP) or `start` (a flag took it back).
        by: String,
        /// The generation that it took back.
        undoes: Option<u32>,
        /// True once it was taken back itself.
        undone: bool,
        /// What it changed.
        changed: Vec<ChangedKey>,
    }
}

fields! {
    /// One key of a change. Values are JSON text; of a change over HTTP `None` is "as file, environment and flags say".
    ChangedKey {
        /// The dotted key.
        key: String,
        /// Before.
        before: Option<String>,
        /// Since.
        after: Option<String>,
    }
}
