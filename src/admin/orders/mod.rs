//! What the operator says of a host: pause, resume, drop, block, unblock, recrawl, delay.

pub mod command;

use std::sync::Arc;
use std::time::Duration;

use actix_web::HttpResponse;
use actix_web::web::{Data, Path, Payload, Query};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::body::{json, nothing};
use super::bounded::ordered;
use super::control::ControlError;
use super::erasures::{self, ErasureView, Purge};
use super::jobs::JobView;
use super::problem::{Answer, Refusal, ok};
use crate::base::time::{UnixMillis, millis};
use crate::base::units::parse_duration;
use crate::crawl::node::Node;
use crate::domain::orders::{HostOrder, HostOrders};

/// Longest gap that can be asked for.
const LONGEST: Duration = Duration::from_secs(86_400);

/// What stands for a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OrdersView {
    /// Paused since, milliseconds since 1970.
    #[schema(value_type = Option<u64>)]
    pub paused: Option<UnixMillis>,
    /// Blocked since.
    #[schema(value_type = Option<u64>)]
    pub blocked: Option<UnixMillis>,
    /// Its queue is being dropped since.
    #[schema(value_type = Option<u64>)]
    pub dropping: Option<UnixMillis>,
    /// What was fetched before this moment is being queued again.
    #[schema(value_type = Option<u64>)]
    pub recrawling: Option<UnixMillis>,
    /// Its own least gap between two requests, milliseconds.
    pub min_delay_ms: Option<u64>,
}

impl From<HostOrders> for OrdersView {
    fn from(orders: HostOrders) -> Self {
        let HostOrders { paused, blocked, dropping, recrawling, min_delay } = orders;
        Self { paused, blocked, dropping, recrawling, min_delay_ms: min_delay.map(millis) }
    }
}

/// A command that was carried out, or that a job carries out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HostOrdered {
    /// The host.
    pub host: String,
    /// What stands for it now.
    pub orders: OrdersView,
    /// False when nothing is known of the host: the order stands for what may be found of it, or its name is mistyped.
    #[serde(default = "yes")]
    pub known: bool,
    /// The job that goes through its URLs, if there is one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub job: Option<JobView>,
    /// What is to be erased, if that was ordered.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub erasure: Option<ErasureView>,
}

fn yes() -> bool {
    true
}

/// The body of `delay`.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Delay {
    /// Such as "5s", at most "24h"; null for that of the settings.
    #[schema(required = true, example = "5s")]
    #[serde(deserialize_with = "Option::deserialize")]
    min_delay: Option<String>,
}

async fn carried_out(node: Data<Node>, host: Path<String>, order: HostOrder) -> Answer {
    let look = format!("`lycosa ctl host {host}`, its orders, and `lycosa ctl jobs`");
    ok(ordered(command::order(Arc::clone(&node), &host, order), look).await?)
}

/// Describes one of the commands, and carries it out.
macro_rules! commands {
    ($($(#[$doc:meta])* $name:ident $path:literal => $command:expr;)*) => {$(
        $(#[$doc])*
        #[utoipa::path(post, path = $path, tag = "hosts",
            params(("host" = String, Path, description = "a host name, as in its URLs", example = "example.org")),
            responses(
                (status = 200, body = HostOrdered),
                Refusal<400>, Refusal<404>, Refusal<409>, Refusal<413>, Refusal<503>,
        ))]
        pub(super) async fn $name(host: Path<String>, payload: Payload, node: Data<Node>) -> Answer {
            nothing(payload).await?;
            carried_out(node, host, $command).await
        }
    )*};
}

commands! {
    /// Sends no new requests to the host, until `resume`, also after a restart; what is in flight ends.
    pause "/api/v1/hosts/{host}/pause" => HostOrder::Pause;
    /// Goes on with the host at once.
    resume "/api/v1/hosts/{host}/resume" => HostOrder::Resume;
    /// Turns away what is queued of the host, as a job (rejected: `dropped`).
    drop_queue "/api/v1/hosts/{host}/drop" => HostOrder::Drop;
    /// Takes the block back: links to the host that are found from now on are queued again.
    unblock "/api/v1/hosts/{host}/unblock" => HostOrder::Unblock;
    /// Queues what was fetched of the host once more, as a job; older captures are kept.
    recrawl "/api/v1/hosts/{host}/recrawl" => HostOrder::Recrawl;
}

/// What else becomes of a host that is blocked.
#[derive(Clone, Copy, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Blocking {
    /// `own`: everything that was received from it, and all that is keyed by it, is erased. For that the crawl closes its files and begins anew
    /// in the same process; meanwhile the endpoint answers 503 and says how far it is. It cannot be taken back.
    #[param(inline)]
    purge: Option<Purge>,
}

/// Blocks the host for good: nothing of it is requested or queued any more; a job turns away its queue (`blocked`).
#[utoipa::path(post, path = "/api/v1/hosts/{host}/block", tag = "hosts",
    params(("host" = String, Path, description = "a host name, as in its URLs", example = "example.org"), Blocking),
    responses(
        (status = 200, body = HostOrdered), (status = 202, body = HostOrdered, description = "It is to be erased, too."),
        Refusal<400>, Refusal<404>, Refusal<409>, Refusal<413>, Refusal<503>,
))]
pub(super) async fn block(host: Path<String>, also: Query<Blocking>, payload: Payload, node: Data<Node>) -> Answer {
    nothing(payload).await?;
    let Some(Purge::Own) = also.purge else { return carried_out(node, host, HostOrder::Block).await };
    let ordered =
        ordered(erasures::purge(Arc::clone(&node), &host), "`lycosa ctl status`, and `lycosa ctl erasures`").await?;
    Ok(HttpResponse::Accepted().json(ordered))
}

/// Sets the least gap between two requests to the host; `null` takes it back to the settings. A Crawl-delay of robots.txt
/// that asks for more holds all the same.
#[utoipa::path(put, path = "/api/v1/hosts/{host}/delay", tag = "hosts", request_body = Delay,
    params(("host" = String, Path, description = "a host name, as in its URLs", example = "example.org")),
    responses(
        (status = 200, body = HostOrdered), Refusal<400>, Refusal<404>, Refusal<409>, Refusal<413>, Refusal<503>,
))]
pub(super) async fn delay(host: Path<String>, payload: Payload, node: Data<Node>) -> Answer {
    let Delay { min_delay } = json(payload).await?;
    let delay = min_delay.map(|text| parse_duration(&text)).transpose().map_err(ControlError::Invalid)?;
    if delay.is_some_and(|delay| delay > LONGEST) {
        return Err(
            ControlError::Invalid("min_delay: at most 24h; to stop requests altogether pause the host".into()).into()
        );
    }
    carried_out(node, host, HostOrder::MinDelay(delay)).await
}
