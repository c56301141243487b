//! URLs that wait are given the places that the rules in force give them, by a job that walks the queues.
//!
//! New URLs stand where the rules in force say. A walk goes by the keys: what it moves to a later place it meets once more and leaves
//! there. So doing a part of it twice changes nothing, and what the end of the process cut short the next start does again.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use actix_web::web::{Data, Payload};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::runtime::Builder;
use utoipa::ToSchema;

use super::ControlError;
use super::body;
use super::bounded::ordered;
use super::commit::{chunks, commit, reading};
use super::jobs::JobView;
use super::orders::command::range_of;
use super::problem::{Answer, Refusal, accepted};
use crate::crawl::jobs::{Job, JobError};
use crate::crawl::live;
use crate::crawl::node::Node;
use crate::crawl::ranks::Places;
use crate::storage::keys::KeyRange;
use crate::storage::ledger::{Change, Rerank};
use crate::storage::tables::Queue;

/// URLs of one step: the Store takes so many moves at a time.
const CHUNK: usize = 256;
/// Longest wait for the note that it is done; without it the next start does it again.
const PATIENCE: Duration = Duration::from_secs(10);

/// Which waiting URLs are ranked anew.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RerankWhich {
    /// Those of this host; all when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "example.org")]
    pub host: Option<String>,
}

/// Gives waiting URLs the places that the rules in force give them, as a background job; each keeps its number, and what is being
/// fetched its place. Its result says how many moved.
#[utoipa::path(post, path = "/api/v1/urls/rerank", tag = "urls", request_body = RerankWhich, responses(
    (status = 202, body = JobView), Refusal<400>, Refusal<409>, Refusal<413>, Refusal<503>,
))]
pub(super) async fn rerank(payload: Payload, node: Data<Node>) -> Answer {
    let which: RerankWhich = body::json(payload).await?;
    accepted(ordered(asked(Arc::clone(&node), which), "`lycosa ctl jobs`").await?)
}

async fn asked(node: Arc<Node>, which: RerankWhich) -> Result<JobView, ControlError> {
    let range = range_of(&node, which.host.as_deref())?;
    let generation = match which.host {
        Some(_) => None,
        None => Some(live::rerank_is_due(&node).await?),
    };
    start(&node, range, which.host, generation).map_err(|e| ControlError::Refused(e.to_string()))
}

/// Starts the job over all queues; `generation`: when it is through that is noted.
///
/// # Errors
/// Others are running.
pub(super) fn start_all(node: &Arc<Node>, generation: u32) -> Result<JobView, JobError> {
    start(node, KeyRange::all(), None, Some(generation))
}

fn start(
    node: &Arc<Node>,
    range: KeyRange,
    host: Option<String>,
    generation: Option<u32>,
) -> Result<JobView, JobError> {
    let about = format!("waiting URLs are ranked anew: host={}", host.as_deref().unwrap_or("any"));
    let of_job = node.clone();
    node.jobs.start(&node.clock, "rerank", about, move |job| {
        let result = walk(&of_job, job, &range);
        let over = result.is_ok() || job.is_called_off();
        if let Some(generation) = generation.filter(|_| over) {
            noted(&of_job, generation);
        }
        result
    })
}

/// Goes on with what the last run did not come to the end of.
pub fn go_on(node: &Arc<Node>) {
    let Some(generation) = live::stored(node).ok().and_then(|record| record.rerank) else { return };
    if let Err(e) = start_all(node, generation) {
        log::warn!("waiting URLs are not ranked anew: {e}; start it with `lycosa ctl urls rerank`");
    }
}

fn walk(node: &Node, job: &Job, range: &KeyRange) -> Result<Value, JobError> {
    let (mut looked, mut moved) = (0_u64, 0_u64);
    for rows in chunks::<Queue>(&*node.storage, job, range.clone(), CHUNK) {
        let rows = rows?;
        let urls = reading(job, || Places::new(node).that_move(&rows))?;
        let n = if urls.is_empty() { 0 } else { hand_in(node, job, Rerank { urls, ..Rerank::default() })? };
        (looked, moved) = (looked + rows.len() as u64, moved + n);
        job.step(rows.len() as u64, n)?;
    }
    Ok(json!({ "looked": looked, "moved": moved, "generation": node.crawl.live.generation() }))
}

/// Has them moved; gives how many were.
fn hand_in(node: &Node, job: &Job, rerank: Rerank) -> Result<u64, JobError> {
    let moved = rerank.moved.clone();
    commit(node, job, &Change::Rerank(rerank))?;
    Ok(moved.load(Relaxed))
}

/// It is through, or called off: no start does it again.
fn noted(node: &Arc<Node>, generation: u32) {
    let noted = Builder::new_current_thread().enable_time().build().map(|runtime| {
        runtime.block_on(async { tokio::time::timeout(PATIENCE, live::reranked(node, generation)).await })
    });
    if !matches!(noted, Ok(Ok(Ok(())))) {
        log::warn!("saving the rerank marker failed, waiting URLs are ranked anew at the next start");
    }
}
