//! Disks and the database, checkpoints and copies.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Unit;

use super::Metrics;
use super::parts::{Each, Values, count, follow, one_more, put, set, set_all};
use crate::base::disk::DiskFault;
use crate::base::time::UnixMillis;
use crate::storage::StorageStats;

/// What came of something.
const RESULTS: Values<'_> = ("result", &["done", "failed"]);
/// Folders whose file systems are looked at.
const FOLDERS: Values<'_> = ("folder", &["data", "warc", "spill"]);
/// Why nothing new is begun.
const PAUSES: Values<'_> = ("reason", &["operator", "disk_low", "disk_fault", "lease"]);

/// Which member of a crawl in parts.
type OfMember = [(&'static str, String); 1];
/// Which sink.
type OfSink = [(&'static str, String); 1];

metrics! {
    Stored {
        disk_free: Each<Gauge> = bytes("lycosa_disk_free", "Free space where a folder lies", FOLDERS);
        paused: Each<Gauge> = gauges("lycosa_paused", "1 while nothing new is begun, by reason", PAUSES);
        commit_failures: Each<Counter> = counters_of::<DiskFault>(
            "lycosa_commit_failures",
            "Groups of pages that could not be committed, and failed tries to go on, by kind of fault"
        );
        reopens: Counter =
            counter("lycosa_storage_reopens", "How often the database was opened again after a failed write");
        memory: Each<Gauge> = bytes(
            "lycosa_storage_memory",
            "Memory of the database: blocks kept, and writes not yet in a table file",
            ("part", &["block_cache", "memtables"])
        );
        tables: Gauge = gauge_in("lycosa_storage_tables", "Live table files of the database", Unit::Bytes);
        debt: Gauge = gauge_in("lycosa_storage_compaction_pending", "What compaction has yet to rewrite", Unit::Bytes);
        stalled: Gauge = gauge("lycosa_storage_stalled", "1 while the database slows down or stops writes");
        background_errors: Gauge =
            gauge("lycosa_storage_background_errors", "Errors of the database's background work since it was opened");
        sync_age: Gauge = gauge_in(
            "lycosa_store_sync_age",
            "Since the Store last brought everything committed to the disk (durability.sync)", Unit::Seconds
        );
        store_queue: Gauge =
            gauge_in("lycosa_store_queue", "What the Deduper sent and the Store has not written", Unit::Bytes);
        feed: Gauge = gauge("lycosa_feed_entries", "Number of the last entry of the feed that is shown");
        feed_unread: Gauge = gauge(
            "lycosa_feed_unread",
            "Entries of the feed that the slowest consumer which holds has not read; 0 when none holds"
        );
        outbox: Family<OfMember, Gauge> =
            family("lycosa_outbox_bytes", "Rows of links that are kept for another member of a crawl in parts");
        index: Gauge = gauge("lycosa_index_documents", "Documents of the index of pages that can be found");
        index_behind: Gauge = gauge("lycosa_index_behind", "Entries of the feed that they lack");
        index_bytes: Gauge = gauge_in("lycosa_index", "The index of pages on disk", Unit::Bytes);
        index_failures: Counter = counter("lycosa_index_failures", "How often following the feed into the index failed");
        sink_behind: Family<OfSink, Gauge> = family("lycosa_sink_behind", "Entries of the feed that a sink has not handed on");
        sink_away: Family<OfSink, Gauge> = family("lycosa_sink_away", "1 while the server of a sink takes nothing");
        sink_sent: Family<OfSink, Counter> =
            counter_family("lycosa_sink_sent", "Documents, lines or rows that a sink has handed on, those taken away too");
        sink_rejected: Family<OfSink, Counter> =
            counter_family("lycosa_sink_rejected", "Documents and lines that were refused for good, and entries passed over");
        sink_failures: Family<OfSink, Counter> =
            counter_family("lycosa_sink_failures", "Requests that failed, and other failures of a sink");
        checkpoints: Each<Counter> = counters("lycosa_checkpoints", "Checkpoints, by result", RESULTS);
        checkpoint_last: Gauge = gauge_in(
            "lycosa_checkpoint_last_timestamp",
            "When the newest checkpoint of this run was made, since 1970", Unit::Seconds
        );
        uploads: Each<Counter> =
            counters("lycosa_uploads", "Archive files and checkpoints copied elsewhere, by result", RESULTS);
        copied: Each<Counter> = counters(
            "lycosa_checkpoint_copied_bytes",
            "Bytes of the copies of checkpoints elsewhere: sent, and there already; without archive files",
            ("way", &["sent", "reused"])
        );
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

    /// How far the feed is, and how many of its entries are kept for somebody.
    pub fn feed(&self, shown: u64, unread: u64) {
        put(&self.0.stored.feed, shown);
        put(&self.0.stored.feed_unread, unread);
    }

    /// What is kept for another member.
    pub fn outbox(&self, to: &str, bytes: u64) {
        put(&self.0.stored.outbox.get_or_create(&[("to", to.to_owned())]), bytes);
    }

    /// How far the index of pages is: documents, entries that they lack, bytes.
    pub fn index(&self, documents: u64, behind: u64, bytes: u64) {
        put(&self.0.stored.index, documents);
        put(&self.0.stored.index_behind, behind);
        put(&self.0.stored.index_bytes, bytes);
    }

    /// Following the feed into the index failed.
    pub fn index_failed(&self) {
        one_more(&self.0.stored.index_failures);
    }

    /// How far a sink is: entries behind, whether its server is away; and so far: sent, rejected, failures.
    pub fn sink(&self, name: &str, (behind, is_away): (u64, bool), totals: [u64; 3]) {
        let (stored, of) = (&self.0.stored, [("sink", name.to_owned())]);
        put(&stored.sink_behind.get_or_create(&of), behind);
        put(&stored.sink_away.get_or_create(&of), is_away.into());
        let counters = [&stored.sink_sent, &stored.sink_rejected, &stored.sink_failures];
        counters.iter().zip(totals).for_each(|(family, total)| follow(&family.get_or_create(&of), total));
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

    /// A checkpoint was copied elsewhere: bytes sent, bytes that were there.
    pub fn copied(&self, sent: u64, reused: u64) {
        for (way, bytes) in [sent, reused].into_iter().enumerate() {
            self.0.stored.copied.with(way, |counter| {
                counter.inc_by(bytes);
            });
        }
    }

    /// Free space where the folder of this number (data, warc, spill) lies.
    pub fn disk_free(&self, folder: usize, bytes: u64) {
        set(&self.0.stored.disk_free, folder, bytes);
    }

    /// Whether nothing new is begun: by the operator, for want of space, for another fault of a disk.
    pub fn paused(&self, reasons: [bool; 4]) {
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
