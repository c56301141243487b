//! Every metric's name, in this folder alone. Labels come from fixed sets; no host names.
//!
//! | metric | type | labels |
//! |---|---|---|
//! | `lycosa_urls` | gauge | `crawl`, `state`: waiting, processing, done, error, rejected |
//! | `lycosa_conservation_difference` | gauge | `crawl`; discovered less the sum of all states, 0 by I2 |
//! | `lycosa_invariant_violations_total` | counter | `invariant`: I1 to I11; any is a fault of the program |
//! | `lycosa_frontier_urls` | gauge | `rank`: 0 (best) to 7; URLs in queues, those being fetched among them |
//! | `lycosa_frontier_retries` | gauge | |
//! | `lycosa_visits_planned`, `lycosa_visit_load` (a day) | gauge | |
//! | `lycosa_visit_lateness_seconds` | histogram | |
//! | `lycosa_credit_thousandths` | gauge | `holder`: accounts, purses, unpaid, lambda, notes |
//! | `lycosa_credit_difference`, `lycosa_credit_notes_open` | gauge | |
//! | `lycosa_credit_rounds_total`, `lycosa_credit_moved_total` | counter | |
//! | `lycosa_hosts` | gauge | `state`: active, waiting, parked, held |
//! | `lycosa_hosts_ordered` | gauge | `order`: paused, blocked, dropping, recrawling |
//! | `lycosa_hosts_blocked_total` | counter | `reason`: refusals, robots_unreachable |
//! | `lycosa_rejected_total` | counter | `reason` ([`Rejection`](crate::domain::reason::Rejection)) |
//! | `lycosa_errors_total`, `lycosa_retries_total` | counter | `reason` ([`Failure`](crate::domain::reason::Failure)) |
//! | `lycosa_responses_total` | counter | `class`: 1xx to 5xx, other |
//! | `lycosa_links_refused_total` | counter | `reason` |
//! | `lycosa_page_notes_total` | counter | `note` ([`Note`](crate::domain::note::Note)) |
//! | `lycosa_pages_stored_total`, `lycosa_revisits_total`, `lycosa_received_bytes_total` | counter | |
//! | `lycosa_near_duplicates_total`, `lycosa_near_cut_total` | counter | |
//! | `lycosa_sitemaps_total` | counter | `result`: done, cut, malformed |
//! | `lycosa_sitemap_urls_total` | counter | |
//! | `lycosa_visits_total` | counter | `visit` ([`Visit`](crate::domain::visit::Visit)) |
//! | `lycosa_reranked_total` | counter | |
//! | `lycosa_revisits_queued_total` | counter | `reason` ([`RequeueReason`](crate::domain::revisit::RequeueReason)) |
//! | `lycosa_in_flight` | gauge | `stage`: fetch, parse |
//! | `lycosa_fetch_phase_seconds` | histogram | `phase` ([`Phase`]) |
//! | `lycosa_dns_lookups_total` | counter | `result`: cached, answered, not_found, failed, timeout |
//! | `lycosa_dns_pending` | gauge | |
//! | `lycosa_politeness_lateness_seconds`, `lycosa_commit_lag_seconds` | histogram | |
//! | `lycosa_actor_handled_total`, `lycosa_actor_restarts_total`, `lycosa_actor_restarts_asked_total` | counter | `actor` ([`ActorKind`]) |
//! | `lycosa_actor_queue` | gauge | `actor` |
//! | `lycosa_actor_handle_seconds` | histogram | `actor` |
//! | `lycosa_permits` | gauge | `state`: free (requests that may go out now), taken, withheld (memory is short) |
//! | `lycosa_memory_max_bytes` | gauge | |
//! | `lycosa_memory_part_bytes` | gauge | `part`: database, seen_filter |
//! | `lycosa_registry_entries` | gauge | `registry` ([`Registry`]) |
//! | `lycosa_checkpoints_total`, `lycosa_uploads_total` | counter | `result`: done, failed |
//! | `lycosa_checkpoint_copied_bytes_total` | counter | `way`: sent, reused |
//! | `lycosa_checkpoint_last_timestamp_seconds` | gauge | |
//! | `lycosa_disk_free_bytes` | gauge | `folder`: data, warc, spill |
//! | `lycosa_paused` | gauge | `reason`: operator, disk_low, disk_fault, lease |
//! | `lycosa_lease_seconds`, `lycosa_members_missing` | gauge | |
//! | `lycosa_links_total` | counter | `way`: out, in |
//! | `lycosa_clock_ahead_seconds`, `lycosa_store_queue_bytes`, `lycosa_store_sync_age_seconds` | gauge | |
//! | `lycosa_feed_entries`, `lycosa_feed_unread` | gauge | |
//! | `lycosa_outbox_bytes` | gauge | `to`: other members of a crawl in parts, 256 at most |
//! | `lycosa_index_documents`, `lycosa_index_behind`, `lycosa_index_bytes` | gauge | |
//! | `lycosa_index_failures_total` | counter | |
//! | `lycosa_sink_behind`, `lycosa_sink_away` | gauge | `sink`: the names in the settings, 16 at most |
//! | `lycosa_sink_sent_total`, `lycosa_sink_rejected_total`, `lycosa_sink_failures_total` | counter | `sink` |
//! | `lycosa_clock_jumps_total` | counter | |
//! | `lycosa_commit_failures_total` | counter | `kind` ([`DiskFault`](crate::base::disk::DiskFault)) |
//! | `lycosa_storage_reopens_total` | counter | |
//! | `lycosa_storage_memory_bytes` | gauge | `part`: block_cache, memtables |
//! | `lycosa_storage_tables_bytes`, `lycosa_storage_compaction_pending_bytes` | gauge | |
//! | `lycosa_storage_stalled`, `lycosa_storage_background_errors` | gauge | |
//! | `lycosa_event_listeners` | gauge | |
//! | `lycosa_events_missed_total` | counter | |
//! | `lycosa_webhook_calls_total` | counter | `result` ([`Call`]) |
//! | `lycosa_log_errors_total` | counter | |
//! | `lycosa_build_info` | info | `version` |
//! | `process_*` | | [`ProcessCollector`] |

/// Declares a part of the metrics: each with how it is registered, by which method of [`parts::Register`].
macro_rules! metrics {
    ($name:ident { $($field:ident: $type:ty = $register:ident $(::<$labels:ty>)? ($($given:expr),*);)* }) => {
        #[derive(Debug)]
        pub(super) struct $name { $($field: $type,)* }

        impl $name {
            pub fn new(r: &mut super::parts::Register<'_>) -> Self {
                Self { $($field: r.$register$(::<$labels>)?($($given),*),)* }
            }
        }
    };
}

mod actors;
mod form;
mod names;
mod pages;
mod parts;
mod program;
mod storage;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry as Names;

use super::process::ProcessCollector;
use crate::base::time::UnixMillis;

pub use form::Form;
pub use names::{ActorKind, Call, Phase, Registry};

#[derive(Debug)]
struct Inner {
    registry: Names,
    pages: pages::Pages,
    actors: actors::Actors,
    stored: storage::Stored,
    program: program::Program,
}

/// Handles to all metrics. Clones share them; counting is one atomic addition.
#[derive(Clone, Debug)]
pub struct Metrics(Arc<Inner>);

impl Metrics {
    /// Registers every metric. `started`: when this process began.
    pub fn new(started: UnixMillis) -> Self {
        let mut registry = Names::default();
        let mut register = parts::Register(&mut registry);
        let (pages, actors) = (pages::Pages::new(&mut register), actors::Actors::new(&mut register));
        let build = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        register.0.register("lycosa_build", "The program", build);
        let (stored, program) = (storage::Stored::new(&mut register), program::Program::new(&mut register));
        registry.register_collector(Box::new(ProcessCollector::new(started)));
        Self(Arc::new(Inner { registry, pages, actors, stored, program }))
    }

    /// All metrics as OpenMetrics text; [`Form`] writes them otherwise.
    pub fn text(&self) -> String {
        self.0.program.refresh();
        let mut text = String::new();
        match encode(&mut text, &self.0.registry) {
            Ok(()) => text,
            Err(_) => "# EOF\n".to_owned(),
        }
    }
}
