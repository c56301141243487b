//! What is kept and how safely: `[dedup] [store] [feed] [export] [durability] [checkpoint] [disk]`.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::section;
use crate::base::units::{duration, format_duration, optional_duration, optional_size, parse_duration, size};
use crate::content::mime;
use crate::domain::statuses;
use crate::warc::member::Compression;

section! {
    /// `[dedup]`: the Bloom filter in front of the exact set of known URLs; near-duplicates.
    DedupSection {
        /// URLs the filter is sized for at first.
        bloom_urls: u64 = 1_000_000;
        /// False-positive rate the size is computed from.
        bloom_fp: f64 = 0.01;
        /// Bits a URL, in place of `bloom_fp`.
        bloom_bits: Option<u32> = None;
        /// Number of hashes; computed when absent.
        bloom_hashes: Option<u32> = None;
        /// Whether near-duplicates are looked for.
        near: NearMode = NearMode::Mark;
        /// Whether a near-duplicate with the title of what it is near to is stored.
        near_store: bool = true;
        /// Whether its links are followed.
        near_follow: bool = true;
    }
}

/// What becomes of near-duplicates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NearMode {
    /// They are marked.
    #[default]
    Mark,
    /// They are not looked for.
    Off,
}

impl DedupSection {
    /// Bits and hashes of a filter for `urls` keys: m >= -n ln p / (ln 2)^2 and k = (m/n) ln 2, unless the user says otherwise.
    pub fn filter_size(&self, urls: u64) -> (u64, u32) {
        let per_url = self.bits_per_url();
        let bits = (per_url * urls as f64).ceil().clamp(64.0, 1e13);
        let hashes = (per_url * std::f64::consts::LN_2).round().clamp(1.0, 64.0);
        (bits as u64, self.bloom_hashes.unwrap_or(hashes as u32))
    }

    /// Bytes of a filter for `urls` keys.
    pub fn filter_bytes(&self, urls: u64) -> u64 {
        self.filter_size(urls).0.div_ceil(64).saturating_mul(8)
    }

    /// Keys for which a filter of `bytes` is made.
    pub fn filter_urls(&self, bytes: u64) -> u64 {
        (bytes as f64 * 8.0 / self.bits_per_url()) as u64
    }

    fn bits_per_url(&self) -> f64 {
        let ln2 = std::f64::consts::LN_2;
        self.bloom_bits.map_or_else(|| -self.bloom_fp.ln() / (ln2 * ln2), f64::from)
    }
}

/// How the body of an answer stands in the WARC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HttpBody {
    /// Without transfer coding, the head saying so.
    #[default]
    Dechunked,
    /// As it came, head and all.
    Exact,
}

section! {
    /// `[store]`: files.
    StoreSection {
        /// The folder of everything the crawl keeps.
        data_dir: PathBuf = "data".into();
        /// WARC and CDXJ files; relative to `data_dir`.
        warc_dir: PathBuf = "warc".into();
        /// Beginning of their names.
        warc_prefix: String = "lycosa".into();
        /// A new file is begun after so many bytes.
        warc_max_size: u64 as "size" = 1_000_000_000;
        /// And after this time.
        warc_max_age: Duration as "duration" = Duration::from_secs(86_400);
        /// How records are compressed: a gzip level, 1 to 9, `zstd` or `zstd:LEVEL`.
        compression: Compression = Compression::default();
        /// Memory for the database's caches and write buffers.
        memory: u64 as "size" = 256 << 20;
        /// Media types that are fetched and read for links, but left out of the WARC: `type/subtype` or `type/*`.
        skip_types: Vec<String> = Vec::new();
        /// Statuses whose answers go into the WARC, `404` or `2xx`; all when empty.
        statuses: Vec<String> = Vec::new();
        /// How the body of an answer stands in the WARC.
        http_body: HttpBody = HttpBody::default();
        /// Response records have a `WARC-Block-Digest`, as all others do.
        block_digest: bool = false;
        /// Where closed WARC and CDXJ files are copied: a folder or `s3://BUCKET/PREFIX`.
        upload: Option<String> = None;
        /// Such files are removed here once their copy is verified.
        delete_uploaded: bool = false;
    }
}

impl StoreSection {
    /// Whether an answer of this status goes into the WARC.
    pub fn keeps_status(&self, status: u16) -> bool {
        self.statuses.is_empty() || statuses::is_among(&self.statuses, status)
    }

    /// Whether a page of this media type is left out of the archive.
    pub fn leaves_out(&self, mime: &str) -> bool {
        mime::is_among(&self.skip_types, mime)
    }
}

section! {
    /// `[feed]`: what became of each page, for whoever takes the pages on.
    FeedSection {
        /// Entries are kept so long; for ever when absent.
        keep: Option<Duration> as "optional_duration" = None;
    }
}

section! {
    /// `[export]`: pages in forms that others read.
    ExportSection {
        /// Where exports lie that a running crawl makes; relative to `data_dir`.
        dir: PathBuf = "exports".into();
    }
}

/// When commits are forced to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sync {
    /// Each.
    Commit,
    /// All of this interval together: at most so much is fetched again after a power loss.
    Every(Duration),
}

impl Serialize for Sync {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Commit => s.serialize_str("commit"),
            Self::Every(d) => s.serialize_str(&format_duration(*d)),
        }
    }
}

impl<'de> Deserialize<'de> for Sync {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = String::deserialize(d)?;
        if text == "commit" {
            return Ok(Self::Commit);
        }
        let every = parse_duration(&text).map_err(|e| serde::de::Error::custom(format!("{e}, or \"commit\"")))?;
        if every.is_zero() {
            return Err(serde::de::Error::custom("an interval of zero; write \"commit\" to sync each commit"));
        }
        Ok(Self::Every(every))
    }
}

section! {
    /// `[durability]`.
    DurabilitySection {
        /// `commit` or an interval.
        sync: Sync = Sync::Every(Duration::from_secs(1));
    }
}

section! {
    /// `[checkpoint]`: states of the crawl to go back to.
    CheckpointSection {
        /// One is made this often while something changes; `0s` for never.
        every: Duration as "duration" = Duration::from_secs(6 * 3_600);
        /// So many are kept; older ones are removed.
        keep: usize = 3;
        /// Where; relative to `data_dir`.
        dir: PathBuf = "checkpoints".into();
        /// Each is copied there too: a folder or `s3://BUCKET/PREFIX`.
        upload: Option<String> = None;
        /// The server that `s3://` speaks to, in place of `AWS_ENDPOINT`.
        s3_endpoint: Option<String> = None;
    }
}

section! {
    /// `[disk]`: the crawl pauses before the disk is full, and does not end at once when it breaks.
    DiskSection {
        /// Free bytes; 10 GiB or 5 % of the disk, the larger, when absent.
        pause_below: Option<u64> as "optional_size" = None;
        /// Size of the file that is given up when a write finds no space.
        reserve: u64 as "size" = 64 << 20;
        /// How long a disk that refuses writes for another reason than space is tried again before the run ends.
        retry_for: Duration as "duration" = Duration::from_secs(600);
    }
}

impl DiskSection {
    /// Free bytes below which the crawl pauses, on a disk of `total` bytes.
    pub fn pause_below(&self, total: u64) -> u64 {
        self.pause_below.unwrap_or_else(|| (10_u64 << 30).max(total / 20))
    }
}
