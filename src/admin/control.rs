//! What the admin endpoint can do to a crawl; the composition root implements it.

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;

pub use crate::crawl::control::{ControlError, RejectedSeed, SeedReport};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::config::SeedSection;
use crate::domain::priority::Weight;
use crate::domain::refresh::Cycle;
use crate::domain::url::with_schemes;
use crate::recovery::checkpoint::manifest::Summary;
use crate::recovery::checkpoint::shelf::Listing;
use crate::telemetry::StatusSnapshot;

/// A future that a [`Control`] returns; it may be awaited on the admin thread only.
pub type Reply<T> = Pin<Box<dyn Future<Output = Result<T, ControlError>>>>;

/// A seed as it is handed in, with what is said of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewSeed {
    /// Its URL.
    #[schema(example = "https://example.org/")]
    pub url: String,
    /// Its own place in the queue, in place of that of its depth: 0 comes first.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schema(minimum = 0, maximum = 7)]
    pub rank: Option<u8>,
    /// By how much more important than others it is, with all pages that go back to it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schema(value_type = Option<f64>, minimum = 0.01, maximum = 100)]
    pub weight: Option<Weight>,
    /// Links that are followed from it in a row; none when it is the seed alone that is wanted (0).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_depth: Option<u16>,
    /// What it is called in the lines of `crawl.jsonl` of pages that go back to it.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    #[schema(max_items = 16)]
    pub tags: Vec<String>,
    /// When pages that go back to it are visited again: `off`, a duration, fields of cron, or `adapt`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schema(value_type = Option<String>, example = "6h")]
    pub cycle: Option<Cycle>,
    /// Its URL was written without a scheme.
    #[serde(skip)]
    pub guessed: bool,
}

impl NewSeed {
    /// The same with a whole URL: without a scheme it means https, and http when https does not answer.
    #[must_use]
    pub fn with_scheme(mut self) -> Self {
        if let Some([https, _]) = with_schemes(&self.url) {
            (self.url, self.guessed) = (https, true);
        }
        self
    }
}

impl From<String> for NewSeed {
    fn from(url: String) -> Self {
        Self { url, ..Self::default() }
    }
}

impl From<SeedSection> for NewSeed {
    fn from(seed: SeedSection) -> Self {
        let SeedSection { url, rank, weight, max_depth, tags, cycle, guessed } = seed;
        Self { url, rank, weight, max_depth, tags, cycle, guessed }
    }
}

/// The running crawl as the admin endpoint sees it. Cheap calls are plain; what waits for a commit returns a future.
pub trait Control: Send + Sync {
    /// Counts at this moment.
    fn status(&self) -> StatusSnapshot;
    /// Whether it takes work: storage open, actors running. The text says what is missing.
    fn ready(&self) -> Result<(), String>;
    /// Adds seeds; answers when they are committed.
    fn seeds(&self, seeds: Vec<NewSeed>) -> Reply<SeedReport>;
    /// No new requests until [`resume`](Self::resume).
    fn pause(&self) -> Result<(), ControlError>;
    /// Goes on.
    fn resume(&self) -> Result<(), ControlError>;
    /// Finishes what is in flight, however long that takes, and ends the process.
    fn drain(&self) -> Result<(), ControlError>;
    /// Finishes what is in flight, ten seconds long at most, and ends the process.
    fn stop(&self) -> Result<(), ControlError>;
    /// Makes a checkpoint; answers when it is whole. Refuses when `of` is given and is not its data folder.
    fn checkpoint(&self, of: Option<PathBuf>) -> Reply<Summary>;
    /// The checkpoints there are.
    fn checkpoints(&self) -> Result<Listing, ControlError>;
    /// The metrics in Prometheus' text form.
    fn metrics_text(&self) -> String;
}
