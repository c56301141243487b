//! What is kept and how safely: `[dedup] [store] [durability] [checkpoint] [disk]`.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::base::units::{duration, format_duration, optional_size, parse_duration, size};
use crate::content::mime;
use crate::domain::statuses;

/// `[dedup]`: the Bloom filter in front of the exact set of known URLs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DedupSection {
    /// URLs the filter is sized for at first.
    pub bloom_urls: u64,
    /// False-positive rate the size is computed from.
    pub bloom_fp: f64,
    /// Bits a URL, in place of `bloom_fp`.
    pub bloom_bits: Option<u32>,
    /// Number of hashes; computed when absent.
    pub bloom_hashes: Option<u32>,
}

impl Default for DedupSection {
    fn default() -> Self {
        Self { bloom_urls: 1_000_000, bloom_fp: 0.01, bloom_bits: None, bloom_hashes: None }
    }
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

/// `[store]`: files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StoreSection {
    /// The folder of everything the crawl keeps.
    pub data_dir: PathBuf,
    /// WARC and CDXJ files; relative to `data_dir`.
    pub warc_dir: PathBuf,
    /// Beginning of their names.
    pub warc_prefix: String,
    /// A new file is begun after so many bytes.
    #[serde(with = "size")]
    pub warc_max_size: u64,
    /// And after this time.
    #[serde(with = "duration")]
    pub warc_max_age: Duration,
    /// gzip level, 1 to 9.
    pub compression: u32,
    /// Memory for the database's caches and write buffers.
    #[serde(with = "size")]
    pub memory: u64,
    /// Media types that are fetched and read for links, but left out of the WARC: `type/subtype` or `type/*`.
    pub skip_types: Vec<String>,
    /// Statuses whose answers go into the WARC, `404` or `2xx`; all when empty.
    pub statuses: Vec<String>,
    /// How the body of an answer stands in the WARC.
    pub http_body: HttpBody,
    /// Where closed WARC and CDXJ files are copied: a folder or `s3://BUCKET/PREFIX`.
    pub upload: Option<String>,
    /// Such files are removed here once their copy is verified.
    pub delete_uploaded: bool,
}

impl Default for StoreSection {
    fn default() -> Self {
        Self {
            data_dir: "data".into(),
            warc_dir: "warc".into(),
            warc_prefix: "lycosa".into(),
            warc_max_size: 1_000_000_000,
            warc_max_age: Duration::from_secs(86_400),
            compression: 1,
            memory: 256 << 20,
            skip_types: Vec::new(),
            statuses: Vec::new(),
            http_body: HttpBody::default(),
            upload: None,
            delete_uploaded: false,
        }
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

/// `[durability]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DurabilitySection {
    /// `commit` or an interval.
    pub sync: Sync,
}

impl Default for DurabilitySection {
    fn default() -> Self {
        Self { sync: Sync::Every(Duration::from_secs(1)) }
    }
}

/// `[checkpoint]`: states of the crawl to go back to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CheckpointSection {
    /// One is made this often while something changes; `0s` for never.
    #[serde(with = "duration")]
    pub every: Duration,
    /// So many are kept; older ones are removed.
    pub keep: usize,
    /// Where; relative to `data_dir`.
    pub dir: PathBuf,
    /// Each is copied there too: a folder or `s3://BUCKET/PREFIX`.
    pub upload: Option<String>,
    /// The server that `s3://` speaks to, in place of `AWS_ENDPOINT`.
    pub s3_endpoint: Option<String>,
}

impl Default for CheckpointSection {
    fn default() -> Self {
        let every = Duration::from_secs(6 * 3_600);
        Self { every, keep: 3, dir: "checkpoints".into(), upload: None, s3_endpoint: None }
    }
}

/// `[disk]`: the crawl pauses before the disk is full, and does not end at once when it breaks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DiskSection {
    /// Free bytes; 10 GiB or 5 % of the disk, the larger, when absent.
    #[serde(with = "optional_size")]
    pub pause_below: Option<u64>,
    /// Size of the file that is given up when a write finds no space.
    #[serde(with = "size")]
    pub reserve: u64,
    /// How long a disk that refuses writes for another reason than space is tried again before the run ends.
    #[serde(with = "duration")]
    pub retry_for: Duration,
}

impl Default for DiskSection {
    fn default() -> Self {
        Self { pause_below: None, reserve: 64 << 20, retry_for: Duration::from_secs(600) }
    }
}

impl DiskSection {
    /// Free bytes below which the crawl pauses, on a disk of `total` bytes.
    pub fn pause_below(&self, total: u64) -> u64 {
        self.pause_below.unwrap_or_else(|| (10_u64 << 30).max(total / 20))
    }
}
