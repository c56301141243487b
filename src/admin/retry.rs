//! URLs that were given up, back into the queue: by reason, host, time, status of the last answer.

use std::sync::Arc;

use actix_web::web::{Data, Payload};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::ControlError;
use super::body;
use super::bounded::ordered;
use super::commit::{chunks, commit, reading};
use super::jobs::JobView;
use super::orders::command::range_of;
use super::problem::{Answer, Refusal, accepted};
use crate::base::time::{UnixMillis, millis};
use crate::base::units::parse_duration;
use crate::crawl::jobs::{Job, JobError};
use crate::crawl::node::Node;
use crate::domain::reason::Failure;
use crate::storage::keys::{KeyRange, SeenKey};
use crate::storage::ledger::Change;
use crate::storage::read;
use crate::storage::tables::Failed;
use crate::storage::values::{FailedValue, UrlState};

/// Records of one step.
const CHUNK: usize = 256;

/// Which errors are tried again; what is not said does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RetryWhich {
    /// A reason such as `reset`, or a group of them: `timeout`, `dns`, `connect`, `tls`, `status`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schema(example = "timeout")]
    pub reason: Option<String>,
    /// Of this host alone.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schema(example = "example.org")]
    pub host: Option<String>,
    /// Given up within this time, such as "2h".
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schema(example = "2h")]
    pub since: Option<String>,
    /// Whose last answer had this status.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schema(minimum = 100, maximum = 999, example = 503)]
    pub status: Option<u16>,
}

/// Queues URLs again that ended in an error, as if they were new; a job goes through them.
#[utoipa::path(post, path = "/api/v1/urls/retry", tag = "urls", request_body = RetryWhich, responses(
    (status = 202, body = JobView), Refusal<400>, Refusal<409>, Refusal<413>, Refusal<503>,
))]
pub(super) async fn retry(payload: Payload, node: Data<Node>) -> Answer {
    let which = body::json(payload).await?;
    accepted(ordered(start(Arc::clone(&node), which), "`lycosa ctl jobs`").await?)
}

/// Which failures are meant.
struct Which {
    reasons: Vec<Failure>,
    range: KeyRange,
    since: UnixMillis,
    status: Option<u16>,
}

impl Which {
    fn of(node: &Node, asked: &RetryWhich) -> Result<Self, ControlError> {
        let reasons = asked.reason.as_deref().map_or_else(|| Ok(Failure::ALL.to_vec()), reasons)?;
        let range = range_of(node, asked.host.as_deref())?;
        let since = asked.since.as_deref().map(parse_duration).transpose().map_err(ControlError::Invalid)?;
        let since = since.map_or(UnixMillis(0), |ago| UnixMillis(node.clock.date().0.saturating_sub(millis(ago))));
        if asked.status.is_some_and(|status| !(100..=999).contains(&status)) {
            return Err(ControlError::Invalid("status: expected 100 to 999".into()));
        }
        Ok(Self { reasons, range, since, status: asked.status })
    }

    fn holds(&self, failed: &FailedValue) -> bool {
        self.reasons.contains(&failed.reason)
            && failed.when >= self.since
            && self.status.is_none_or(|status| failed.status == Some(status))
    }
}

/// The reasons that a name stands for: its own, or those of a group.
pub(super) fn reasons(name: &str) -> Result<Vec<Failure>, ControlError> {
    let of =
        |fits: &dyn Fn(&str) -> bool| Failure::ALL.iter().copied().filter(|f| fits(f.as_str())).collect::<Vec<_>>();
    let found = match name {
        "timeout" => of(&|f| f.ends_with("_timeout") || f == "too_slow"),
        "dns" | "connect" | "tls" | "status" => of(&|f| f.starts_with(name)),
        _ => of(&|f| f == name),
    };
    if found.is_empty() {
        let known: Vec<&str> = Failure::ALL.iter().map(|f| f.as_str()).collect();
        let why = format!("{name:?} is no reason; expected timeout, dns, connect, tls, status, {}", known.join(", "));
        return Err(ControlError::Invalid(why));
    }
    Ok(found)
}

/// What the job is to do, for people.
fn about(asked: &RetryWhich) -> String {
    let or_any = |text: &Option<String>| text.clone().unwrap_or_else(|| "any".into());
    let RetryWhich { reason, host, since, status } = asked;
    let (reason, host, status) = (or_any(reason), or_any(host), or_any(&status.map(|status| status.to_string())));
    let since = since.as_ref().map(|since| format!(" since={since}")).unwrap_or_default();
    format!("URLs given up are queued again: reason={reason} host={host} status={status}{since}")
}

/// Starts a job that queues them again.
///
/// # Errors
/// What was asked makes no sense now, or storage does not answer.
pub async fn start(node: Arc<Node>, asked: RetryWhich) -> Result<JobView, ControlError> {
    let which = Which::of(&node, &asked)?;
    let about = about(&asked);
    let of_job = node.clone();
    let job = node.jobs.start(&node.clock, "retry", about, move |job| work(&of_job, job, &which));
    job.map_err(|e| ControlError::Refused(e.to_string()))
}

fn work(node: &Node, job: &Job, which: &Which) -> Result<Value, JobError> {
    let mut queued = 0;
    for rows in chunks::<Failed>(&*node.storage, job, which.range.clone(), CHUNK) {
        let rows = rows?;
        let urls: Vec<SeenKey> = rows.iter().filter(|(_, failed)| which.holds(failed)).map(|(key, _)| *key).collect();
        let now = if urls.is_empty() { 0 } else { try_again(node, job, urls)? };
        queued += now;
        job.step(rows.len() as u64, now)?;
    }
    Ok(json!({ "queued": queued }))
}

fn try_again(node: &Node, job: &Job, urls: Vec<SeenKey>) -> Result<u64, JobError> {
    commit(node, job, &Change::TryAgain(urls.clone()))?;
    let states = reading(job, || read::seen_states(&*node.storage, &urls))?;
    Ok(states.iter().filter(|state| !matches!(state, Some(UrlState::Error { .. }))).count() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_one_or_a_group_of_them() {
        assert_eq!(reasons("reset").unwrap(), [Failure::Reset]);
        assert_eq!(reasons("dns").unwrap(), [Failure::DnsNotFound, Failure::DnsFailed]);
        assert_eq!(reasons("status").unwrap(), [Failure::Status4xx, Failure::Status5xx, Failure::StatusOther]);
        assert!(reasons("timeout").unwrap().contains(&Failure::TooSlow));
        assert!(reasons("weather").unwrap_err().to_string().contains("connect_refused"));
    }
}
