//! Why nothing is happening: the blockers, each with a code, a sentence and what to do.

pub mod findings;

use actix_web::HttpResponse;
use actix_web::web::Data;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::bounded::reading;
use super::problem::{Answer, Refusal};
use super::status;
use crate::crawl::node::Node;

/// A blocker, for machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum IdleCode {
    /// Something is being fetched.
    NotIdle,
    /// The crawl is coming to its end.
    Draining,
    /// A disk is low on space or inodes.
    DiskLow,
    /// A disk refuses writes.
    DiskFault,
    /// Paused by the operator.
    Paused,
    /// `crawl.max_pages` leaves no room.
    LimitReached,
    /// There is nothing to fetch.
    FrontierEmpty,
    /// URLs are held back, for many pages of their shapes brought nothing new: it keeps nothing else waiting.
    HeldBack,
    /// `memory.max` is nearly used up.
    MemoryShort,
    /// All page permits are taken and the Store has a queue.
    StoreSlow,
    /// All page permits are taken and the parser has a queue.
    ParserSlow,
    /// All page permits are taken.
    PermitsTaken,
    /// Hosts wait between two requests.
    HostsWaiting,
    /// Hosts are paused or blocked by the operator.
    HostsHeld,
    /// Hosts are left alone for a while: back-off, Retry-After, refusals.
    HostsBackingOff,
    /// robots.txt of hosts cannot be reached.
    RobotsUnreachable,
    /// Names cannot be resolved.
    DnsFailing,
    /// URLs wait for their next try.
    RetriesWaiting,
    /// Hosts are about to be taken up.
    Starting,
    /// A checkpoint is under way.
    Checkpoint,
    /// An actor rests after its death.
    ActorRestarting,
    /// The system's clock was set; it holds nothing up, but dates may be wrong.
    ClockJumped,
}

/// One blocker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Finding {
    /// For machines.
    pub code: IdleCode,
    /// For people.
    pub sentence: String,
    /// What to do.
    pub advice: String,
    /// Until when, milliseconds since 1970, where that is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub until_ms: Option<u64>,
}

/// Why nothing is being fetched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WhyIdle {
    /// False when something is being fetched.
    pub idle: bool,
    /// In one line, as `idle_reason` of the status; empty when something is being fetched.
    pub answer: String,
    /// What blocks, the strongest first; never empty.
    pub findings: Vec<Finding>,
}

/// Why nothing is happening: what blocks, and what to do.
#[utoipa::path(get, path = "/api/v1/why-idle", tag = "crawl", responses((status = 200, body = WhyIdle), Refusal<503>))]
pub(super) async fn why_idle(node: Data<Node>) -> Answer {
    let look = move || {
        let status = status(&node);
        let findings = findings::findings(&node, &status);
        let answer = findings::idle_reason(&node, &status, &findings);
        let idle = findings.first().is_none_or(|first| first.code != IdleCode::NotIdle);
        Ok(WhyIdle { idle, answer, findings })
    };
    Ok(HttpResponse::Ok().json(reading(look).await?))
}
