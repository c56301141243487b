//! Where pages are sent while they are crawled: `[[sink]]`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::base::kinds::names;
use crate::base::units::optional_duration;

names! {
    /// What a sink is.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    SinkKind {
        /// An index of OpenSearch or Elasticsearch.
        OpenSearch = "opensearch";
        /// A server that takes lines of JSON.
        Http = "http";
        /// Files with lines of JSON.
        Jsonl = "jsonl";
        /// Files with tables of captures.
        Parquet = "parquet";
    }
}

impl SinkKind {
    /// It writes files; the others call a server.
    pub fn is_files(self) -> bool {
        matches!(self, Self::Jsonl | Self::Parquet)
    }
}

/// `[[sink]]`: somebody who is handed each page after its commit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SinkSection {
    /// What it is called: 1 to 48 of a-z, 0-9, `-` and `_`.
    pub name: String,
    /// What it is.
    pub kind: SinkKind,
    /// The server; `net.allow` does not hold for it.
    pub url: Option<String>,
    /// The index of that server (`opensearch`).
    pub index: Option<String>,
    /// Where its files lie, relative to `store.data_dir`; `sinks/NAME` when absent.
    pub folder: Option<PathBuf>,
    /// Entries of the feed of a request, or of a file.
    pub batch: Option<usize>,
    /// So long is waited for a batch to fill.
    #[serde(default, with = "optional_duration")]
    pub every: Option<Duration>,
    /// With the visible text of each page.
    #[serde(default)]
    pub text: bool,
    /// File with the value of the header `Authorization`.
    pub auth_file: Option<PathBuf>,
}

impl SinkSection {
    /// Most entries of a batch.
    pub fn batch(&self) -> usize {
        self.batch.unwrap_or(if self.kind.is_files() { 10_000 } else { 500 })
    }

    /// How long is waited for a batch to fill.
    pub fn every(&self) -> Duration {
        self.every.unwrap_or(Duration::from_secs(if self.kind.is_files() { 60 } else { 1 }))
    }

    /// The name under which it reads the feed; nobody else can have one such.
    pub fn consumer(&self) -> String {
        format!("{SINK_CONSUMER}{}", self.name)
    }

    /// The folder of its files, by that of the crawl.
    pub fn folder(&self, data_dir: &Path) -> PathBuf {
        match &self.folder {
            Some(folder) => data_dir.join(folder),
            None => data_dir.join(SINKS).join(&self.name),
        }
    }
}

/// How the names of sinks among those who read the feed begin.
pub const SINK_CONSUMER: &str = "sink:";
/// The folder in the data folder where sinks have their own files.
pub const SINKS: &str = "sinks";
