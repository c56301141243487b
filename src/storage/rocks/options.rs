//! How RocksDB is tuned. Why each figure: `docs/storage.md`.

use rocksdb::{
    BlockBasedIndexType, BlockBasedOptions, Cache, ColumnFamilyDescriptor, DBCompressionType, LogLevel, Options,
    WriteBufferManager,
};

use crate::base::fault::Faults;
use crate::storage::Family;

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

/// What can be chosen when a store is opened.
#[derive(Clone, Debug)]
pub struct RocksOptions {
    /// Cap on blocks, indexes, filters and memtables together, bytes. Soft: pinned blocks may exceed it for a moment.
    pub memory: usize,
    /// Files kept open.
    pub open_files: u32,
    /// Threads for flushes and compactions.
    pub background_jobs: u16,
    /// Seed of the hashes of a folder that is new; none: chosen at random. A folder that exists keeps its own.
    pub seed: Option<u64>,
    /// Fault points.
    pub faults: Faults,
}

impl Default for RocksOptions {
    fn default() -> Self {
        Self { memory: 256 * MIB, open_files: 512, background_jobs: 2, seed: None, faults: Faults::default() }
    }
}

/// The one memory budget that all families share.
pub(super) struct Budget {
    memory: usize,
    pub(super) cache: Cache,
    pub(super) memtables: WriteBufferManager,
}

impl Budget {
    /// Memtables get a quarter, charged to the cache, so that both stay under one cap.
    pub(super) fn new(memory: usize) -> Self {
        let memory = memory.max(16 * MIB);
        let cache = Cache::new_lru_cache(memory);
        let memtables = WriteBufferManager::new_write_buffer_manager_with_cache(memory / 4, false, cache.clone());
        Self { memory, cache, memtables }
    }
}

/// Options of the whole database.
pub(super) fn database(options: &RocksOptions, budget: &Budget) -> Options {
    let mut db = Options::default();
    db.create_if_missing(true);
    db.create_missing_column_families(true);
    db.set_write_buffer_manager(&budget.memtables);
    db.set_max_open_files(i32::try_from(options.open_files.max(64)).unwrap_or(i32::MAX));
    db.set_max_background_jobs(i32::from(options.background_jobs.max(2)));
    // A family that is seldom written would keep the log of all others alive; the cap also bounds the replay after a kill.
    db.set_max_total_wal_size((budget.memory / 2) as u64);
    // The Store is the only writer: nothing is gained by memory tables that several may fill at a time.
    db.set_allow_concurrent_memtable_write(false);
    db.set_bytes_per_sync(MIB as u64);
    db.set_wal_bytes_per_sync(512 * KIB as u64);
    db.set_log_level(LogLevel::Warn);
    db.set_max_log_file_size(8 * MIB);
    db.set_keep_log_file_num(4);
    db.set_stats_dump_period_sec(0);
    db
}

/// Every family with its options.
pub(super) fn families(budget: &Budget) -> Vec<ColumnFamilyDescriptor> {
    Family::ALL
        .iter()
        .map(|family| ColumnFamilyDescriptor::new(family.name(), family_options(*family, budget)))
        .collect()
}

/// How the rows of a family are used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rows {
    /// Written once, read seldom, most of the folder: small on its last level.
    Kept,
    /// Consumed from the front: files with many deletions are compacted soon, so that a scan that has lost its head does not walk long
    /// over them.
    Consumed,
    /// The Bloom filter stands before it, so nearly every look-up hits: the last level, nine tenths of the data, can do without a filter
    /// of its own.
    Hit,
    /// Looked up by key.
    Sought,
}

impl Rows {
    fn of(family: Family) -> Self {
        match family {
            Family::Pages | Family::Rejected | Family::Failed | Family::Nearer | Family::Robots | Family::Feed => {
                Self::Kept
            }
            Family::Queue | Family::Waiting | Family::Parked | Family::Due | Family::Sitemaps | Family::Notes => {
                Self::Consumed
            }
            Family::Visits | Family::VisitHosts | Family::NearMembers | Family::Outbox => Self::Consumed,
            Family::Seen => Self::Hit,
            Family::HostState | Family::HostCounts | Family::Content | Family::Near | Family::Seeds => Self::Sought,
            Family::Credit | Family::Meta => Self::Sought,
        }
    }
}

fn family_options(family: Family, budget: &Budget) -> Options {
    let mut options = Options::default();
    options.set_write_buffer_size((budget.memory / 16).clamp(MIB, 32 * MIB));
    options.set_max_write_buffer_number(4);
    options.set_compression_type(DBCompressionType::Lz4);
    options.set_block_based_table_factory(&table(family, budget));
    // Whether a memtable has a key at all is told without a search through it: most keys that are asked for lie in files, or
    // nowhere. A fiftieth of its room is some ten bits a key.
    if matches!(family, Family::Seen | Family::HostState | Family::HostCounts | Family::Content) {
        options.set_memtable_whole_key_filtering(true);
        options.set_memtable_prefix_bloom_ratio(0.02);
    }
    match Rows::of(family) {
        Rows::Kept => options.set_bottommost_compression_type(DBCompressionType::Zstd),
        Rows::Consumed => options.add_compact_on_deletion_collector_factory(4096, 2048, 0.5),
        Rows::Hit => options.set_optimize_filters_for_hits(true),
        Rows::Sought => {}
    }
    options
}

fn table(family: Family, budget: &Budget) -> BlockBasedOptions {
    let mut table = BlockBasedOptions::default();
    table.set_block_cache(&budget.cache);
    table.set_block_size(8 * KIB);
    table.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
    table.set_metadata_block_size(4 * KIB);
    table.set_cache_index_and_filter_blocks(true);
    table.set_pin_top_level_index_and_filter(true);
    table.set_pin_l0_filter_and_index_blocks_in_cache(true);
    // Rows are only scanned; a filter would never be asked.
    let scanned = family == Family::Feed || Rows::of(family) == Rows::Consumed;
    if !scanned {
        table.set_bloom_filter(10.0, false);
        table.set_partition_filters(true);
        table.set_optimize_filters_for_memory(true);
    }
    table
}
