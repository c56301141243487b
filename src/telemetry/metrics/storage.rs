//! Disks and the database, checkpoints and copies.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Unit;

use super::Metrics;
use super::parts::{Each, Register, Values, count, one_more, put, set, set_all};
use crate::base::disk::DiskFault;
use crate::base::time::UnixMillis;
use crate::storage::StorageStats;

/// What came of something.
const RESULTS: Values<'_> = ("result", &["done", "failed"]);
/// Folders whose file systems are looked at.
const FOLDERS: Values<'_> = ("folder", &["data", "warc", "spill"]);
/// Why nothing new is begun.
const PAUSES: Values<'_> = ("reason", &["operator", "disk_low", "disk_fault"]);

#[derive(Debug)]
pub(super) struct Stored {
    disk_free: Each<Gauge>,
    paused: Each<Gauge>,
    commit_failures: Each<Counter>,
    reopens: Counter,
    memory: Each<Gauge>,
    tables: Gauge,
    debt: Gauge,
    stalled: Gauge,
    background_errors: Gauge,
    sync_age: Gauge,
    store_queue: Gauge,
    checkpoints: Each<Counter>,
    checkpoint_last: Gauge,
    uploads: Each<Counter>,
}

impl Stored {
    pub fn new(r: &mut Register<'_>) -> Self {
        let lost = "Groups of pages that could not be committed, and failed tries to go on, by kind of fault";
        let last = "When the newest checkpoint of this run was made, since 1970";
        let reopens = "How often the database was opened again after a failed write";
        let memory = "Memory of the database: blocks kept, and writes not yet in a table file";
        let errors = "Errors of the database's background work since it was opened";
        let age = "Since the Store last brought everything committed to the disk (durability.sync)";
        let queue = "What the Deduper sent and the Store has not written";
        Self {
            disk_free: r.bytes("lycosa_disk_free", "Free space where a folder lies", FOLDERS),
            paused: r.gauges("lycosa_paused", "1 while nothing new is begun, by reason", PAUSES),
            commit_failures: r.counters_of::<DiskFault>("lycosa_commit_failures", lost),
            reopens: r.counter("lycosa_storage_reopens", reopens),
            memory: r.bytes("lycosa_storage_memory", memory, ("part", &["block_cache", "memtables"])),
            tables: r.gauge_in("lycosa_storage_tables", "Live table files of the database", Unit::Bytes),
            debt: r.gauge_in("lycosa_storage_compaction_pending", "What compaction has yet to rewrite", Unit::Bytes),
            stalled: r.gauge("lycosa_storage_stalled", "1 while the database slows down or stops writes"),
            background_errors: r.gauge("lycosa_storage_background_errors", errors),
            sync_age: r.gauge_in("lycosa_store_sync_age", age, Unit::Seconds),
            store_queue: r.gauge_in("lycosa_store_queue", queue, Unit::Bytes),
            checkpoints: r.counters("lycosa_checkpoints", "Checkpoints, by result", RESULTS),
            checkpoint_last: r.gauge_in("lycosa_checkpoint_last_timestamp", last, Unit::Seconds),
            uploads: r.counters("lycosa_uploads", "Archive files and checkpoints copied elsewhere, by result", RESULTS),
        }
    }
}

impl Metrics {
    /// What the database says of itself.
    pub fn storage(&self, stats: &StorageStats) {
        let stored = &self.0.stored;
        set_all(&stored.memory, &[stats.memory.saturating_sub(stats.memtables), stats.memtables]);
        put(&stored.tables, stats.disk);
        put(&stored.debt, stats.compaction_debt);
        put(&stored.stalled, stats.stalled.into());
        put(&stored.background_errors, stats.background_errors);
    }

    /// How long ago the Store synced, and how much waits before it.
    pub fn store(&self, sync_age: Duration, waiting: u64) {
        put(&self.0.stored.sync_age, sync_age.as_secs());
        put(&self.0.stored.store_queue, waiting);
    }

    /// A checkpoint was made at this moment, or failed.
    pub fn checkpoint(&self, made: Option<UnixMillis>) {
        self.0.stored.checkpoints.with(usize::from(made.is_none()), one_more);
        if let Some(at) = made {
            put(&self.0.stored.checkpoint_last, at.0 / 1_000);
        }
    }

    /// A file or a checkpoint was copied elsewhere, or failed to be.
    pub fn upload(&self, done: bool) {
        self.0.stored.uploads.with(usize::from(!done), one_more);
    }

    /// Free space where the folder of this number (data, warc, spill) lies.
    pub fn disk_free(&self, folder: usize, bytes: u64) {
        set(&self.0.stored.disk_free, folder, bytes);
    }

    /// Whether nothing new is begun: by the operator, for want of space, for another fault of a disk.
    pub fn paused(&self, reasons: [bool; 3]) {
        set_all(&self.0.stored.paused, &reasons.map(u64::from));
    }

    /// A group was not committed, or a try to go on failed.
    pub fn commit_failed(&self, fault: DiskFault) {
        count(&self.0.stored.commit_failures, fault);
    }

    /// The database was opened again.
    pub fn storage_reopened(&self) {
        self.0.stored.reopens.inc();
    }
}
