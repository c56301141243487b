//! The audit log: who asked what when, in as little memory as it takes.

use std::collections::HashMap;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// One request and its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// When the request head had been read, wall-clock microseconds since 1970.
    pub t_request_us: u64,
    /// When the last byte of the answer was handed to the socket (or the answer broke off), same clock.
    pub t_end_us: u64,
    /// Host of the request, without port, lower case.
    pub host: String,
    /// Path and query that were asked for, percent-encodings read as servers read them.
    pub path: String,
    /// User-Agent.
    pub user_agent: String,
    /// Status answered.
    pub status: u16,
    /// Bytes of the answer, head included.
    pub bytes: u32,
    /// Number of the connection it came by, from 0.
    pub connection: u32,
    /// False when the asker went away before the answer's end.
    pub complete: bool,
}

impl AuditEntry {
    /// The URL asked for, as a crawler that reaches the web by name writes it.
    pub fn url(&self) -> String {
        format!("http://{}{}", self.host, self.path)
    }
}

/// 40 bytes and the path an entry; names are kept once.
#[derive(Debug, Default)]
pub(super) struct Audit {
    rows: Vec<Row>,
    paths: String,
    names: Vec<Box<str>>,
    numbers: HashMap<Box<str>, u32>,
    dropped: u64,
}

#[derive(Debug, Clone, Copy)]
struct Row {
    t_request_us: u64,
    took_us: u32,
    path_end: u32,
    host: u32,
    agent: u32,
    bytes: u32,
    connection: u32,
    status: u16,
    complete: bool,
}

/// Entries kept; later ones are counted only.
const MAX_ROWS: usize = 20_000_000;
/// Bytes of a path that are kept.
const MAX_PATH: usize = 2_048;
/// Host names and user agents kept; any further one becomes `(other)`.
const MAX_NAMES: usize = 2_000_000;

impl Audit {
    pub(super) fn push(&mut self, entry: &AuditEntry) {
        let path = cut(&entry.path, MAX_PATH);
        let path_end = u32::try_from(self.paths.len() + path.len());
        let (Ok(path_end), true) = (path_end, self.rows.len() < MAX_ROWS) else {
            self.dropped += 1;
            return;
        };
        self.paths.push_str(path);
        let row = Row {
            t_request_us: entry.t_request_us,
            took_us: u32::try_from(entry.t_end_us.saturating_sub(entry.t_request_us)).unwrap_or(u32::MAX),
            path_end,
            host: self.number(cut(&entry.host, 255)),
            agent: self.number(cut(&entry.user_agent, 512)),
            bytes: entry.bytes,
            connection: entry.connection,
            status: entry.status,
            complete: entry.complete,
        };
        self.rows.push(row);
    }

    fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let name = if self.names.len() < MAX_NAMES { name } else { "(other)" };
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.names.len() as u32;
        self.names.push(name.into());
        self.numbers.insert(name.into(), number);
        number
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Entries that found no room.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// At most `limit` entries from number `since` on, in the order in which the answers ended.
    pub(super) fn entries(&self, since: usize, limit: usize) -> Vec<AuditEntry> {
        let until = since.saturating_add(limit).min(self.rows.len());
        (since..until).filter_map(|index| self.entry(index)).collect()
    }

    fn entry(&self, index: usize) -> Option<AuditEntry> {
        let row = self.rows.get(index)?;
        let start = index.checked_sub(1).and_then(|before| self.rows.get(before)).map_or(0, |before| before.path_end);
        let name = |number: u32| self.names.get(number as usize).map_or_else(String::new, |name| name.to_string());
        Some(AuditEntry {
            t_request_us: row.t_request_us,
            t_end_us: row.t_request_us + u64::from(row.took_us),
            host: name(row.host),
            path: self.paths.get(start as usize..row.path_end as usize).unwrap_or_default().to_owned(),
            user_agent: name(row.agent),
            status: row.status,
            bytes: row.bytes,
            connection: row.connection,
            complete: row.complete,
        })
    }
}

/// At most `most` bytes of the text, whole characters only.
fn cut(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text.get(..end).unwrap_or_default()
}

/// The clock of the log and of all that changes: microseconds since 1970 that never run backwards.
#[derive(Debug, Clone)]
pub(super) enum AuditClock {
    /// The clock on the wall.
    Wall { wall_us: u64, start: Instant },
    /// One that is turned by hand.
    #[cfg(test)]
    Hand(std::sync::Arc<std::sync::atomic::AtomicU64>),
}

impl AuditClock {
    pub(super) fn new() -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self::Wall { wall_us: u64::try_from(wall.as_micros()).unwrap_or(u64::MAX), start: Instant::now() }
    }

    pub(super) fn now_us(&self) -> u64 {
        match self {
            Self::Wall { wall_us, start } => {
                wall_us.saturating_add(u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX))
            }
            #[cfg(test)]
            Self::Hand(at_us) => at_us.load(std::sync::atomic::Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn record(host: &str, path: &str, t_request_us: u64) -> AuditEntry {
        AuditEntry {
            t_request_us,
            t_end_us: t_request_us + 5,
            host: host.to_owned(),
            path: path.to_owned(),
            user_agent: "agent/1".to_owned(),
            status: 200,
            bytes: 7,
            connection: 3,
            complete: true,
        }
    }

    proptest! {
        #[test]
        fn what_is_noted_is_told_in_order(noted in prop::collection::vec(("[a-c]", "/.{0,12}", 0..1u64 << 50), 0..40), since in 0..50usize) {
            let mut audit = Audit::default();
            for (host, path, at) in &noted {
                audit.push(&record(host, path, *at));
            }
            let told: Vec<_> = audit.entries(since, usize::MAX).into_iter().map(|e| (e.host, e.path, e.t_request_us)).collect();
            prop_assert_eq!(&told[..], noted.get(since..).unwrap_or_default());
            prop_assert_eq!(audit.len(), noted.len());
        }
    }

    #[test]
    fn long_paths_and_names_are_cut_at_a_character() {
        let mut audit = Audit::default();
        let path = "é".repeat(3_000);
        audit.push(&record("h0.test", &path, 1));
        audit.push(&record("h0.test", "/after", 2));
        let entries = audit.entries(0, 10);
        assert_eq!((entries[0].path.len(), entries[1].path.as_str()), (MAX_PATH, "/after"));
    }

    #[test]
    fn a_million_entries_take_little_memory() {
        assert!(std::mem::size_of::<Row>() <= 40);
        let mut audit = Audit::default();
        (0..1_000).for_each(|at| audit.push(&record("h7.test", "/p/7", at)));
        assert_eq!((audit.names.len(), audit.paths.len()), (2, 4_000));
    }

    #[test]
    fn a_cleared_log_begins_anew() {
        let mut audit = Audit::default();
        audit.push(&record("h7.test", "/p/7", 1));
        audit.clear();
        assert_eq!((audit.len(), audit.dropped(), audit.entries(0, 9).len()), (0, 0, 0));
        audit.push(&record("h8.test", "/p/8", 2));
        assert_eq!(audit.entries(0, 9)[0].url(), "http://h8.test/p/8");
    }
}
