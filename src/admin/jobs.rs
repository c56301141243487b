//! Background jobs: list, look, cancel.

use std::time::Duration;

use actix_web::web::{Data, Path};

use super::bounded::reading;
use super::control::ControlError;
use super::problem::{Answer, Refusal, ok};
pub use crate::crawl::jobs::{JobElsewhere, JobState, JobView};
use crate::crawl::node::Node;

/// How long the answer to a cancel waits for the job's end.
const PATIENCE: Duration = Duration::from_secs(5);

/// The last jobs of this process, the newest first.
#[utoipa::path(get, path = "/api/v1/jobs", tag = "jobs", responses((status = 200, body = Vec<JobView>)))]
pub(super) async fn jobs(node: Data<Node>) -> Answer {
    ok(node.jobs.all())
}

/// One job.
#[utoipa::path(get, path = "/api/v1/jobs/{id}", tag = "jobs", params(("id" = u64, Path)), responses(
    (status = 200, body = JobView), Refusal<400>, Refusal<404>,
))]
pub(super) async fn job(id: Path<String>, node: Data<Node>) -> Answer {
    let id = number(&id)?;
    ok(node.jobs.get(id).ok_or_else(|| unknown(id))?)
}

/// Tells a job to stop; what it has done stands. The order that a job of `drop` or `recrawl` carries out ends with it. The
/// answer waits up to five seconds for its end: the cancel counts, also over a restart, once its state is `cancelled`.
#[utoipa::path(delete, path = "/api/v1/jobs/{id}", tag = "jobs", params(("id" = u64, Path)), responses(
    (status = 200, body = JobView), Refusal<400>, Refusal<404>, Refusal<503>,
))]
pub(super) async fn cancel(id: Path<String>, node: Data<Node>) -> Answer {
    let id = number(&id)?;
    ok(reading(move || node.jobs.cancel(id, PATIENCE).ok_or_else(|| unknown(id))).await?)
}

fn number(id: &str) -> Result<u64, ControlError> {
    id.parse().map_err(|_| ControlError::Invalid(format!("{id:?} is no number of a job; see `lycosa ctl jobs`")))
}

fn unknown(id: u64) -> ControlError {
    ControlError::Absent(format!("there is no job {id} in this process; see `lycosa ctl jobs`"))
}
