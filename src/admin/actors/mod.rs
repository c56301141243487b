//! Actors: the seven kinds, each instance; a restart of one.

mod query;

use std::collections::BTreeMap;
use std::sync::Arc;

use actix_web::web::{Data, Path, Query};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::bounded::ordered;
use super::control::ControlError;
use super::paging::{Page, Paging};
use super::problem::{Answer, Refusal, ok};
use crate::crawl::node::Node;
use crate::crawl::stats::Life;
use crate::telemetry::metrics::ActorKind;

/// A death.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FaultView {
    /// When, milliseconds since 1970.
    pub at_ms: u64,
    /// The panic's message, or `stopped`.
    pub why: String,
}

/// One actor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ActorView {
    /// Its kind.
    pub kind: ActorKind,
    /// Which of its kind: a host's name, a fetcher's number, `main` for the only one.
    pub instance: String,
    /// The thread it lives on.
    pub thread: Option<String>,
    /// How it is.
    pub state: Life,
    /// Messages in its mailbox.
    pub queue: u64,
    /// Messages handled.
    pub handled: u64,
    /// Half of them were handled within so many seconds, by the buckets of the histogram.
    pub handle_p50_seconds: Option<f64>,
    /// 99 of 100 of them.
    pub handle_p99_seconds: Option<f64>,
    /// Lives after the first one, begun after a death or because the operator asked for it.
    pub restarts: u64,
    /// Deaths; a restart that was asked for is none.
    pub faults: u64,
    /// The last death.
    pub last_fault: Option<FaultView>,
    /// What it holds, as it last told.
    pub observed: BTreeMap<String, i64>,
}

/// Which actors.
#[derive(Clone, Copy, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ActorQuery {
    /// Only actors of this kind.
    #[param(inline)]
    pub kind: Option<ActorKind>,
}

/// Every actor: state, mailbox, latency, deaths; a page at a time, for hosts have one each.
#[utoipa::path(get, path = "/api/v1/actors", tag = "actors", params(ActorQuery, Paging), responses(
    (status = 200, body = Page<ActorView>), Refusal<400>,
))]
pub(super) async fn actors(query: Query<ActorQuery>, paging: Query<Paging>, node: Data<Node>) -> Answer {
    ok(query::actors(&node, *query, &paging)?)
}

/// A clean restart of one actor through its supervision: nothing is lost, and it does not count as a death.
#[utoipa::path(post, path = "/api/v1/actors/{kind}/{instance}/restart", tag = "actors", params(
    ("kind" = ActorKind, Path, description = "one of the seven kinds of actor"),
    ("instance" = String, Path, description = "a host's name, a fetcher's number, `main` for the only one of its kind"),
), responses(
    (status = 200, body = ActorView), Refusal<400>, Refusal<404>, Refusal<409>, Refusal<503>,
))]
pub(super) async fn restart(path: Path<(String, String)>, node: Data<Node>) -> Answer {
    let (name, instance) = path.into_inner();
    let kinds: Vec<&str> = ActorKind::ALL.iter().map(|kind| kind.as_str()).collect();
    let unknown = || ControlError::Invalid(format!("kind: {name:?}: expected one of {}", kinds.join(", ")));
    let kind = ActorKind::named(&name).ok_or_else(unknown)?;
    ok(ordered(query::restart(Arc::clone(&node), kind, &instance), "`lycosa ctl actors`, its restarts").await?)
}
