//! When pages are visited next: of one URL and why then, of a host in the order of their times, and by host what is wanted beside what can
//! be had; and the jobs that reckon it anew, or visit pages now.

mod fresh;
mod query;
mod work;

use std::sync::Arc;

use actix_web::HttpRequest;
use actix_web::web::{Data, Payload, Query};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::body;
use super::bounded::{ordered, reading};
use super::csv::Row;
use super::jobs::JobView;
use super::paging::{How, Page, Paging, written};
use super::problem::{Answer, Refusal, accepted, ok};
use super::urls::UrlQuery;
use crate::crawl::node::Node;

pub(super) use query::of;

/// When a page is visited next, and what decides over it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScheduleView {
    /// In one sentence.
    pub answer: String,
    /// When, milliseconds since 1970; never when absent.
    pub next_ms: Option<u64>,
    /// When it was visited last.
    pub last_ms: u64,
    /// Its cycle: `off`, a duration, fields of cron, or `adapt`.
    pub cycle: String,
    /// Who says so: `rule 1 of [[schedule]]`, `its seed`, `refresh.cycle`.
    pub by: String,
    /// Mean time between two of its changes, as it was told so far, in seconds.
    pub changes_every_seconds: f64,
    /// Captures that are kept of it, at most 16 looked at.
    pub visits: usize,
    /// Those of them that brought another text.
    pub changes: usize,
    /// Its weight: by depth, rule, and new links that it brings.
    pub weight: f64,
    /// New links a visit, the mean of the last ones.
    pub new_links: f64,
    /// By how much intervals of its host are longer than its pages deserve, since more is wanted than can be had.
    pub stretch: f64,
}

/// The answer for one URL.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UrlSchedule {
    /// The URL in canonical form.
    pub url: String,
    /// When it is visited next; none of one that waits for its first visit, was turned away, or never was answered.
    pub schedule: Option<ScheduleView>,
}

/// A page that is visited next at a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DueLine {
    /// When, milliseconds since 1970.
    pub next: u64,
    /// Seconds between the visit before and this one, as planned.
    pub every_seconds: u32,
    /// The page; its key where its record is not there.
    pub url: String,
}

/// The visits of a host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HostVisits {
    /// The host.
    pub host: String,
    /// Pages that are visited again.
    pub pages: u64,
    /// When the first of them comes, milliseconds since 1970.
    pub first: u64,
    /// Visits a day that they ask for.
    pub load: f64,
    /// Visits a day that can be had: `refresh.share` of the requests that its gap allows.
    pub room: f64,
    /// By how much its intervals are longer than the pages deserve.
    pub stretch: f64,
    /// Visits that are queued or in hands.
    pub queued: u32,
    /// New pages that go before the next visits.
    pub owed: f64,
    /// Pages whose time has come and that wait for their turn; at most 1,000 are counted.
    pub due: usize,
    /// For how long the first of them waits; 0 where none does.
    pub late_seconds: u64,
    /// Why no visit is made whatever is due: `blocked`, `dropping` or `paused`, as the operator said.
    pub held: Option<String>,
}

/// How true some pages are, as far as that can be expected by what is known of their changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FreshLine {
    /// Of which pages: all, those of a depth, those of a rule.
    pub of: String,
    /// How many.
    pub pages: u64,
    /// The part of them that is as it was captured.
    pub fresh: f64,
    /// For how long a page is not as it was captured, in the mean, in hours; of one that is, 0.
    pub age_hours: f64,
    /// How long ago a page was visited, in the mean, in hours.
    pub visited_hours_ago: f64,
}

impl Row for FreshLine {
    const NAMES: &'static [&'static str] = &["of", "pages", "fresh", "age_hours", "visited_hours_ago"];
}

impl Row for DueLine {
    const NAMES: &'static [&'static str] = &["next", "every_seconds", "url"];
}

impl Row for HostVisits {
    const NAMES: &'static [&'static str] =
        &["host", "pages", "first", "load", "room", "stretch", "queued", "owed", "due", "late_seconds", "held"];
}

/// Of which host.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct OfHost {
    /// The host.
    #[param(example = "example.org")]
    host: String,
}

/// Which pages are visited now; what is not said does not matter, but something must be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct VisitWhich {
    /// These pages.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub urls: Vec<String>,
    /// Pages of this host.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schema(example = "example.org")]
    pub host: Option<String>,
    /// Pages whose URL this regular expression fits.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schema(example = "/news/")]
    pub pattern: Option<String>,
    /// Pages that go back to a seed with this tag.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tag: Option<String>,
}

/// When a page is visited next, and why then.
#[utoipa::path(get, path = "/api/v1/schedule", tag = "schedule", params(UrlQuery), responses(
    (status = 200, body = UrlSchedule), Refusal<400>, Refusal<503>,
))]
pub(super) async fn schedule(query: Query<UrlQuery>, node: Data<Node>) -> Answer {
    ok(reading(move || query::typed(&node, &query.url)).await?)
}

/// Pages of a host that are visited again, in the order of their times.
#[utoipa::path(get, path = "/api/v1/schedule/due", tag = "schedule", params(OfHost, Paging, How), responses(
    (status = 200, content((Page<DueLine> = "application/json"), (String = "text/csv"))),
    Refusal<400>, Refusal<503>,
))]
pub(super) async fn due(request: HttpRequest, node: Data<Node>) -> Answer {
    let (which, paging, how): (OfHost, Paging, How) =
        (body::query(&request)?, body::query(&request)?, body::query(&request)?);
    let page = reading(move || query::due(&node, &which.host, &paging)).await?;
    Ok(written(how, &page, &page.items, page.next.as_ref()))
}

/// Hosts with pages that are visited again: what they ask for beside what can be had.
#[utoipa::path(get, path = "/api/v1/schedule/hosts", tag = "schedule", params(Paging, How), responses(
    (status = 200, content((Page<HostVisits> = "application/json"), (String = "text/csv"))),
    Refusal<400>, Refusal<503>,
))]
pub(super) async fn hosts(request: HttpRequest, node: Data<Node>) -> Answer {
    let (paging, how): (Paging, How) = (body::query(&request)?, body::query(&request)?);
    let page = reading(move || query::hosts(&node, &paging)).await?;
    Ok(written(how, &page, &page.items, page.next.as_ref()))
}

/// Reckons anew when every page is visited next, by the rules of today: wanted when they make visits sooner. A job goes through them.
#[utoipa::path(post, path = "/api/v1/schedule/reschedule", tag = "schedule", responses(
    (status = 202, body = JobView), Refusal<409>, Refusal<503>,
))]
pub(super) async fn reschedule(node: Data<Node>) -> Answer {
    accepted(ordered(work::reschedule(Arc::clone(&node)), "`lycosa ctl jobs`").await?)
}

/// How true the pages are, by what is known of their changes: by depth and by rule. A job goes through them; its result is `{"lines": […]}`.
#[utoipa::path(post, path = "/api/v1/reports/freshness", tag = "reports", responses(
    (status = 202, body = JobView), Refusal<409>, Refusal<503>,
))]
pub(super) async fn freshness(node: Data<Node>) -> Answer {
    accepted(ordered(fresh::start(Arc::clone(&node)), "`lycosa ctl jobs`").await?)
}

/// Visits pages now that are done: by URL, host, pattern, tag of their seed. A job goes through them.
#[utoipa::path(post, path = "/api/v1/urls/visit", tag = "schedule", request_body = VisitWhich, responses(
    (status = 202, body = JobView), Refusal<400>, Refusal<404>, Refusal<409>, Refusal<413>, Refusal<503>,
))]
pub(super) async fn visit(payload: Payload, node: Data<Node>) -> Answer {
    let which: VisitWhich = body::json(payload).await?;
    accepted(ordered(work::visit(Arc::clone(&node), which), "`lycosa ctl jobs`").await?)
}
