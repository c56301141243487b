//! Why nothing is happening: the blockers, each with a code, a sentence and what to do.

pub mod findings;

use actix_web::web::Data;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::bounded::reading;
use super::problem::{Answer, Refusal, ok};
use super::status;
use crate::base::kinds::kinds;
use crate::crawl::node::Node;

kinds! {
    /// A blocker, for machines.
    IdleCode {
        /// Something is being fetched.
        NotIdle = "not_idle",
        /// The crawl is coming to its end.
        Draining = "draining",
        /// The lease by which this member works is over.
        LeaseOver = "lease_over",
        /// A disk is low on space or inodes.
        DiskLow = "disk_low",
        /// A disk refuses writes.
        DiskFault = "disk_fault",
        /// Paused by the operator.
        Paused = "paused",
        /// `crawl.max_pages` leaves no room.
        LimitReached = "limit_reached",
        /// There is nothing to fetch.
        FrontierEmpty = "frontier_empty",
        /// There is nothing to do here, and other members have something, or are not heard of.
        WaitsForMembers = "waits_for_members",
        /// URLs are held back, for many pages of their shapes brought nothing new: it keeps nothing else waiting.
        HeldBack = "held_back",
        /// `memory.max` is nearly used up.
        MemoryShort = "memory_short",
        /// All page permits are taken and the Store has a queue.
        StoreSlow = "store_slow",
        /// All page permits are taken and the parser has a queue.
        ParserSlow = "parser_slow",
        /// All page permits are taken.
        PermitsTaken = "permits_taken",
        /// Hosts wait between two requests.
        HostsWaiting = "hosts_waiting",
        /// Hosts are paused or blocked by the operator.
        HostsHeld = "hosts_held",
        /// Hosts are left alone for a while: back-off, Retry-After, refusals.
        HostsBackingOff = "hosts_backing_off",
        /// robots.txt of hosts cannot be reached.
        RobotsUnreachable = "robots_unreachable",
        /// Names cannot be resolved.
        DnsFailing = "dns_failing",
        /// Visits are due, and `refresh.max_rate` lets so many a second begin.
        VisitsBounded = "visits_bounded",
        /// URLs wait for their next try.
        RetriesWaiting = "retries_waiting",
        /// Hosts are about to be taken up.
        Starting = "starting",
        /// A checkpoint is under way.
        Checkpoint = "checkpoint",
        /// An actor rests after its death.
        ActorRestarting = "actor_restarting",
        /// The system's clock was set; it holds nothing up, but dates may be wrong.
        ClockJumped = "clock_jumped",
    }
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
    /// The member that it is of, among several.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub node: Option<String>,
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
    ok(reading(look).await?)
}
