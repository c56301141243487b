//! The configuration in force, and what of it changes while the crawl runs.

mod query;
mod views;

use std::collections::BTreeMap;
use std::sync::Arc;

use actix_web::HttpRequest;
use actix_web::http::StatusCode;
use actix_web::web::{Data, Path, Payload};
use serde::Deserialize;
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

pub use views::{
    Answered, ChangeView, Changed, ChangedView, ReadmitView, SettingView, SettingsView, TrialExample, TrialPart,
    TrialView,
};

use super::body;
use super::bounded::{ordered, reading, within};
use super::jobs::JobView;
use super::problem::{Answer, Problem, Refusal, accepted, ok};
use crate::crawl::live;
use crate::crawl::node::Node;

/// Values by dotted key.
pub type Changes = BTreeMap<String, Value>;

/// How a change is to be made.
#[derive(Clone, Copy, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct How {
    /// Change nothing; answer what it would do to a sample of the URLs there are.
    #[serde(default)]
    dry_run: bool,
    /// Judge rejected URLs again by the new rules, as a background job.
    #[serde(default)]
    readmit: bool,
    /// Rank waiting URLs anew by the new rules, as a background job.
    #[serde(default)]
    rerank: bool,
    /// Make it also when the crawl would end at once, or most of the queue be turned away.
    #[serde(default)]
    force: bool,
}

/// How a change is to be taken back.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct UndoHow {
    /// Rank waiting URLs anew by the rules that hold then, as a background job.
    #[serde(default)]
    rerank: bool,
    /// Also when the crawl would end at once, or most of the queue be turned away.
    #[serde(default)]
    force: bool,
}

/// The rules of one host, a site of your own.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct HostRulesView {
    /// Requests in flight at a time.
    #[schema(minimum = 1, maximum = 64)]
    max_connections: Option<u32>,
    /// Shortest gap, such as `2s`, in place of `politeness.min_delay`.
    min_delay: Option<String>,
    /// By how much more important than others its pages are.
    #[schema(minimum = 0.01, maximum = 100)]
    weight: Option<f64>,
}

/// The configuration in force, each value with who set it.
#[utoipa::path(get, path = "/api/v1/settings", tag = "settings", responses(
    (status = 200, body = SettingsView), Refusal<503>,
))]
pub(super) async fn settings(node: Data<Node>) -> Answer {
    ok(reading(move || query::settings(&node)).await?)
}

/// Where it is seen whether a change came into force after all.
fn in_force(node: &Data<Node>) -> String {
    format!(
        "`lycosa ctl settings history`, where nothing is newer than generation {} as long as it has not",
        node.crawl.live.generation()
    )
}

/// Changes settings: an object of dotted keys and values. `null` takes a key back to what file, environment and flags say, an
/// empty text to its built-in default. Answers when the change is committed and in force; all of it is made, or nothing. One that
/// ends the crawl at once, or turns more than half of the sampled queue away, is made only with `force`.
#[utoipa::path(patch, path = "/api/v1/settings", tag = "settings", params(How),
    request_body(content = Object, content_type = "application/json", example = json!({"politeness.min_delay": "2s"})),
    responses(
    (status = 200, body = Answered), Refusal<400>,
    (status = 409, body = Problem, content_type = "application/problem+json", description = "The key needs a restart, or `force` is needed."),
    Refusal<413>, Refusal<503>,
))]
pub(super) async fn change(request: HttpRequest, payload: Payload, node: Data<Node>) -> Answer {
    let how: How = body::query(&request)?;
    let changes: Changes = body::json(payload).await?;
    if how.dry_run {
        let tried = Answered::Tried(within(query::sample(Arc::clone(&node), changes)).await?);
        return ok(tried);
    }
    let made = ordered(query::change(Arc::clone(&node), changes, how), in_force(&node)).await?;
    ok(Answered::Made(Box::new(made)))
}

/// The last changes, the newest first.
#[utoipa::path(get, path = "/api/v1/settings/history", tag = "settings", responses(
    (status = 200, body = Vec<ChangeView>), Refusal<503>,
))]
pub(super) async fn history(node: Data<Node>) -> Answer {
    ok(reading(move || Ok(live::stored(&node)?.history.iter().rev().map(query::change_view).collect::<Vec<_>>()))
        .await?)
}

/// Takes back the last change made over HTTP that was not taken back yet.
#[utoipa::path(post, path = "/api/v1/settings/undo", tag = "settings", params(UndoHow), responses(
    (status = 200, body = Changed), Refusal<400>,
    (status = 409, body = Problem, content_type = "application/problem+json", description = "There is none, or `force` is needed."),
    Refusal<413>, Refusal<503>,
))]
pub(super) async fn undo(request: HttpRequest, payload: Payload, node: Data<Node>) -> Answer {
    let how: UndoHow = body::query(&request)?;
    body::nothing(payload).await?;
    ok(ordered(query::undo(Arc::clone(&node), how), in_force(&node)).await?)
}

/// What a change would do to all URLs there are, as a background job; its result is a TrialView.
#[utoipa::path(post, path = "/api/v1/settings/dry-run", tag = "settings",
    request_body(content = Object, content_type = "application/json", example = json!({"scope.exclude": ["/private/"]})),
    responses(
    (status = 202, body = JobView), Refusal<400>, Refusal<409>, Refusal<413>, Refusal<503>,
))]
pub(super) async fn trial(payload: Payload, node: Data<Node>) -> Answer {
    let changes: Changes = body::json(payload).await?;
    accepted(ordered(query::trial(Arc::clone(&node), changes), "`lycosa ctl jobs`").await?)
}

/// Sets the rules of one host, or of all below a name (`*.example.org`): they go before those of the file.
#[utoipa::path(put, path = "/api/v1/settings/hosts/{pattern}", tag = "settings",
    params(("pattern" = String, Path, description = "A host, or `*.example.org`.")),
    request_body(content = HostRulesView, content_type = "application/json"),
    responses(
    (status = 200, body = Changed), Refusal<400>, Refusal<413>, Refusal<503>,
))]
pub(super) async fn set_host(pattern: Path<String>, payload: Payload, node: Data<Node>) -> Answer {
    let rules: HostRulesView = body::json(payload).await?;
    let mut section = serde_json::Map::new();
    section.extend(rules.max_connections.map(|n| ("max_connections".to_owned(), Value::from(n))));
    section.extend(rules.min_delay.map(|text| ("min_delay".to_owned(), Value::from(text))));
    section.extend(rules.weight.map(|weight| ("weight".to_owned(), Value::from(weight))));
    if section.is_empty() {
        return Err(Problem::new(StatusCode::BAD_REQUEST, "nothing is set: name max_connections, min_delay or weight"));
    }
    let changes = Changes::from([(key_of(&pattern), Value::Object(section))]);
    ok(ordered(query::change(Arc::clone(&node), changes, How::default()), in_force(&node)).await?)
}

/// Forgets what was set for a host over HTTP: what the file says of it holds again.
#[utoipa::path(delete, path = "/api/v1/settings/hosts/{pattern}", tag = "settings",
    params(("pattern" = String, Path, description = "A host, or `*.example.org`.")),
    responses(
    (status = 200, body = Changed), Refusal<400>,
    (status = 404, body = Problem, content_type = "application/problem+json", description = "Nothing was set for it."),
    Refusal<503>,
))]
pub(super) async fn forget_host(pattern: Path<String>, node: Data<Node>) -> Answer {
    ok(ordered(query::forget_host(Arc::clone(&node), key_of(&pattern)), in_force(&node)).await?)
}

fn key_of(pattern: &str) -> String {
    format!("host.{}", pattern.to_ascii_lowercase())
}

/// Judges rejected URLs again by the rules in force, as a background job; what they admit is queued.
#[utoipa::path(post, path = "/api/v1/urls/readmit", tag = "urls",
    request_body(content = ReadmitView, content_type = "application/json"),
    responses(
    (status = 202, body = JobView), Refusal<400>,
    (status = 409, body = Problem, content_type = "application/problem+json", description = "Two jobs are running."),
    Refusal<413>, Refusal<503>,
))]
pub(super) async fn readmit(payload: Payload, node: Data<Node>) -> Answer {
    let which: ReadmitView = body::json(payload).await?;
    accepted(query::readmit(&node, which)?)
}
