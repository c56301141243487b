//! The sinks: where pages are handed on to, and how far each is.

use actix_web::web::Data;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::feed::query::shown;
use super::problem::{Answer, Refusal, ok};
use crate::crawl::node::Node;
use crate::sink::Served;

/// A sink of the settings. Counts are of this process; times milliseconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SinkView {
    /// Its name.
    pub name: String,
    /// `opensearch`, `http`, `jsonl` or `parquet`.
    pub kind: String,
    /// Its server, or its folder.
    pub to: String,
    /// What it does: off, sending, waiting, away (its server is away or busy), refused (its server refuses all), held (the disk is low), resting (after a failure here).
    pub doing: String,
    /// The last entry of the feed that it is done with.
    pub after: u64,
    /// Entries that it has not handed on.
    pub behind: u64,
    /// Documents or lines that were taken, or rows written, those that took a document away too.
    pub sent: u64,
    /// Documents that were taken away.
    pub removed: u64,
    /// What was refused for good: it is listed in `sinks/NAME.rejected.jsonl`.
    pub rejected: u64,
    /// Entries that were passed over, for the sink died of each three times; listed there too.
    pub skipped: u64,
    /// The first hundred of them.
    pub skipped_entries: Vec<u64>,
    /// Requests that failed, and other failures.
    pub failures: u64,
    /// Since when its server takes nothing.
    pub away_since_ms: Option<u64>,
    /// Since when it waits for the answer to a request.
    pub asked_since_ms: Option<u64>,
    /// What went wrong last, until it is over.
    pub error: Option<String>,
}

/// All sinks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SinksView {
    /// In the order of the settings.
    pub sinks: Vec<SinkView>,
    /// The last entry of the feed.
    pub high: u64,
}

/// Where pages are handed on to (`[[sink]]`), and how far each sink is.
#[utoipa::path(get, path = "/api/v1/sinks", tag = "feed", responses((status = 200, body = SinksView), Refusal<503>))]
pub(super) async fn sinks(node: Data<Node>) -> Answer {
    let high = shown(&node)?;
    ok(SinksView { sinks: node.sinks.iter().map(|sink| view(sink, high)).collect(), high })
}

fn view(sink: &Served, high: u64) -> SinkView {
    let told = sink.told();
    SinkView {
        name: sink.name.clone(),
        kind: sink.kind.to_owned(),
        to: sink.to.clone(),
        doing: told.doing.as_str().to_owned(),
        after: told.after,
        behind: high.saturating_sub(told.after),
        sent: told.sent,
        removed: told.removed,
        rejected: told.rejected,
        skipped: told.skipped,
        skipped_entries: told.skipped_entries,
        failures: told.failures,
        away_since_ms: told.away_since.map(|at| at.0),
        asked_since_ms: told.asked_since.map(|at| at.0),
        error: told.error,
    }
}
