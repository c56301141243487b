//! What is shown of hosts. Times are milliseconds since 1970.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::admin::orders::OrdersView;
use crate::admin::views::{HostState, RobotsView, VerdictView, WaitView};

/// One host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HostView {
    /// Its name.
    pub name: String,
    /// Where it stands.
    pub state: HostState,
    /// URLs in its queue, those in hand included.
    pub queued: u64,
    /// The same by rank; rank 0 is fetched first.
    pub queued_by_rank: Vec<u64>,
    /// URLs that wait for their next try.
    pub due: u64,
    /// URLs done.
    pub done: u64,
    /// URLs given up.
    pub errors: u64,
    /// Bytes of bodies received.
    pub bytes: u64,
    /// What the operator ordered, such as `paused by the operator since …`.
    #[serde(default)]
    pub orders: Vec<String>,
    /// Requests a second that its pace allows: one for each answer's time and gap. 0 when it is not active.
    pub rate: f64,
    /// What it waits for; none when it may be asked now, or is not asked at all (`orders`).
    pub wait: Option<WaitView>,
}

/// A page of hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HostPage {
    /// The hosts: in key order, or sorted when that was asked for.
    pub items: Vec<HostView>,
    /// The cursor of the next page; none when this is the last.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub next: Option<String>,
    /// Hosts looked at for this answer.
    pub looked_at: u64,
    /// False when there are more hosts than were looked at: a sort is one of those looked at, and `next` goes on behind them.
    pub all_looked_at: bool,
}

/// What asks for a host's delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DelayFrom {
    /// `politeness.min_delay`, or that of a `[[host]]` section.
    MinDelay,
    /// The operator's order (`lycosa ctl host NAME delay`).
    Ordered,
    /// `politeness.delay_factor` times what the last answer took.
    AnswerTime,
    /// Crawl-delay of robots.txt.
    CrawlDelay,
}

/// When a host may be asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Schedule {
    /// The first moment of the next request; it may have passed.
    pub earliest_ms: u64,
    /// Seconds from the end of an answer to the next request.
    pub delay_seconds: f64,
    /// What asks for that delay.
    pub delay_from: DelayFrom,
    /// True when a `[[host]]` section has rules of its own for it.
    pub own_rules: bool,
    /// Requests in flight at a time.
    pub connections: u64,
    /// Steps of back-off; each doubles the delay. 0 when all is well.
    pub backoff_steps: u8,
    /// Refusals in a row.
    pub refusals: u32,
    /// When the last answer ended.
    pub last_answer_ms: Option<u64>,
    /// Seconds the last answer took.
    pub last_answer_seconds: f64,
}

/// Pages that a host may have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Budget {
    /// `traps.pages_per_host`.
    pub pages: u64,
    /// Used so far.
    pub used: u64,
    /// Left.
    pub left: u64,
}

/// All that is known of a host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HostDetail {
    /// Queue, counts, what it waits for.
    pub host: HostView,
    /// What the operator ordered, and since when.
    #[serde(default)]
    pub orders: OrdersView,
    /// When it may be asked.
    pub schedule: Schedule,
    /// Its addresses as resolved last; none are asked for here.
    pub addresses: Vec<String>,
    /// Why its name was not resolved.
    pub address_fault: Option<String>,
    /// Its page budget, if it has one.
    pub budget: Option<Budget>,
    /// robots.txt of each scheme and port.
    pub robots: Vec<RobotsView>,
}

/// A robots.txt as kept, with its verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RobotsText {
    /// What is known of it.
    pub robots: RobotsView,
    /// Its text; what is no UTF-8 is replaced.
    pub text: String,
    /// What it says of the URL asked for.
    pub verdict: Option<VerdictView>,
}
