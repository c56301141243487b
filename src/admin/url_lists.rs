//! URLs turned away, and URLs given up: listed by reason and host, a page at a time.

use actix_web::HttpRequest;
use actix_web::web::Data;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::ControlError;
use super::body::query;
use super::bounded::reading;
use super::csv::Row;
use super::find::unread;
use super::orders::command::range_of;
use super::paging::{How, Paging, records, written};
use super::problem::{Answer, Refusal};
use super::reports::DeadLink;
use super::reports::query::dead_link;
use super::retry::reasons;
use crate::crawl::node::Node;
use crate::domain::reason::Rejection;
use crate::storage::tables::{Failed, Rejected, Table};

/// A URL turned away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RejectedUrl {
    /// The URL.
    pub url: String,
    /// Why.
    pub reason: String,
    /// The page it was found on; none of a seed.
    pub via: Option<String>,
    /// Links from the nearest seed, on the shortest path known.
    pub depth: u16,
    /// The generation of rules that said so.
    pub generation: u32,
}

/// One page of a list of URLs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UrlPage<T> {
    /// The URLs: those of one host stand together.
    pub items: Vec<T>,
    /// The cursor of the next page; none when this is the last. A page may be short, or empty, and have a next one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub next: Option<String>,
    /// URLs looked at for this answer.
    pub looked_at: u64,
}

/// Which URLs.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Which {
    /// Only those of this reason: of rejected URLs one of `rejected_by_reason` of the status, such as `scope`; of failed ones
    /// one of `errors_by_reason`, or a group of them: `timeout`, `dns`, `connect`, `tls`, `status`.
    #[param(example = "scope")]
    reason: Option<String>,
    /// Only those of this host.
    host: Option<String>,
}

impl Row for RejectedUrl {
    const NAMES: &'static [&'static str] = &["url", "reason", "via", "depth", "generation"];
}

/// URLs turned away, by reason and host; those of one host stand together. Kept while `scope.record_rejected` is on.
#[utoipa::path(get, path = "/api/v1/urls/rejected", tag = "urls", params(Which, Paging, How), responses(
    (status = 200, content((UrlPage<RejectedUrl> = "application/json"), (String = "text/csv"))),
    Refusal<400>, Refusal<503>,
))]
pub(super) async fn rejected(request: HttpRequest, node: Data<Node>) -> Answer {
    answer::<Rejected, _, _>(
        &request,
        node,
        rejection,
        |value| value.reason,
        |value| RejectedUrl {
            reason: value.reason.as_str().to_owned(),
            url: value.url,
            via: value.via,
            depth: value.depth,
            generation: value.generation,
        },
    )
    .await
}

/// URLs that ended in an error, by reason and host, those included that failed on this machine's own account.
#[utoipa::path(get, path = "/api/v1/urls/failed", tag = "urls", params(Which, Paging, How), responses(
    (status = 200, content((UrlPage<DeadLink> = "application/json"), (String = "text/csv"))),
    Refusal<400>, Refusal<503>,
))]
pub(super) async fn failed(request: HttpRequest, node: Data<Node>) -> Answer {
    answer::<Failed, _, _>(&request, node, reasons, |value| value.reason, dead_link).await
}

/// `named`: the reasons that a name stands for.
async fn answer<T: Table<Value: 'static>, F: PartialEq + 'static, R: Row + Send + 'static>(
    request: &HttpRequest,
    node: Data<Node>,
    named: fn(&str) -> Result<Vec<F>, ControlError>,
    reason: fn(&T::Value) -> F,
    shown: fn(T::Value) -> R,
) -> Answer {
    let (which, paging, how): (Which, Paging, How) = (query(request)?, query(request)?, query(request)?);
    let list = move || {
        let part = paging.part(range_of(&node, which.host.as_deref())?)?;
        let reasons = which.reason.as_deref().map(named).transpose()?;
        let wanted = |value: &T::Value| reasons.as_ref().is_none_or(|reasons| reasons.contains(&reason(value)));
        let looked = records::<T>(&node, part, wanted).map_err(unread)?;
        let (next, looked_at) = (looked.next(), looked.looked_at);
        Ok(UrlPage { items: looked.items.into_iter().map(|(_, value)| shown(value)).collect(), next, looked_at })
    };
    let page = reading(list).await?;
    Ok(written(how, &page, &page.items, page.next.as_ref()))
}

fn rejection(name: &str) -> Result<Vec<Rejection>, ControlError> {
    let found = Rejection::ALL.iter().copied().find(|reason| reason.as_str() == name);
    let unknown = || {
        let all: Vec<&str> = Rejection::ALL.iter().map(|reason| reason.as_str()).collect();
        ControlError::Invalid(format!("reason: {name:?} is none of a rejection; there are {}", all.join(", ")))
    };
    found.map(|reason| vec![reason]).ok_or_else(unknown)
}
