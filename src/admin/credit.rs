//! Link credit: who holds what, and the richest pages of a host.

use actix_web::HttpRequest;
use actix_web::web::Data;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::ControlError;
use super::body::query;
use super::bounded::reading;
use super::find::unread;
use super::orders::command::range_of;
use super::problem::{Answer, Refusal, ok};
use crate::crawl::node::Node;
use crate::domain::credit::SEED;
use crate::storage::keys::SeenKey;
use crate::storage::tables::{Credit, Failed};
use crate::storage::values::{CreditState, CreditValue, QueueEntry, UrlState};
use crate::storage::{StorageError, read};
use crate::telemetry::status::CreditSums;

/// Accounts of a host that are looked at.
const LOOKED_AT: usize = 100_000;
/// Pages shown.
const SHOWN: usize = 50;

/// Link credit; one is what a seed brings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CreditView {
    /// What all hold together; none where `frontier.credit` is off.
    pub sums: Option<CreditSums>,
    /// The richest pages of the host asked for.
    pub richest: Vec<RichPage>,
    /// False when the host has more pages than were looked at.
    pub all_looked_at: bool,
}

/// A page and what it holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RichPage {
    /// The page.
    pub url: String,
    /// Its credit; without dividends that it did not take yet.
    pub credit: f64,
    /// Whether it waits to be fetched. One that is done has what came since.
    pub waits: bool,
}

/// Of which host.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct OfHost {
    /// The host whose richest pages are shown.
    #[param(example = "example.org")]
    host: Option<String>,
}

/// Who holds link credit, and the richest pages of a host.
#[utoipa::path(get, path = "/api/v1/credit", tag = "urls", params(OfHost), responses(
    (status = 200, body = CreditView), Refusal<400>, Refusal<503>,
))]
pub(super) async fn credit(request: HttpRequest, node: Data<Node>) -> Answer {
    let which: OfHost = query(&request)?;
    ok(reading(move || view(&node, which.host.as_deref())).await?)
}

/// What all hold together; none without credit.
pub(super) fn sums(node: &Node) -> Result<Option<CreditSums>, StorageError> {
    node.crawl
        .rules
        .credit()
        .map_or(Ok(None), |_| Ok(read::meta::<CreditState>(&*node.storage, node.crawl.id)?.map(sums_of)))
}

fn sums_of(state: CreditState) -> CreditSums {
    let CreditState { sums, first, next, rounds, accounts, moved, .. } = state;
    CreditSums {
        issued: in_seeds(sums.issued),
        accounts: in_seeds(sums.accounts),
        purses: in_seeds(sums.purses),
        unpaid: in_seeds(sums.unpaid),
        lambda: in_seeds(sums.lambda),
        notes: in_seeds(sums.notes),
        difference: i64::try_from(sums.difference()).unwrap_or(i64::MAX),
        pages: accounts,
        notes_open: next.saturating_sub(first),
        rounds,
        moved,
    }
}

fn in_seeds(units: u128) -> f64 {
    units as f64 / SEED as f64
}

fn view(node: &Node, host: Option<&str>) -> Result<CreditView, ControlError> {
    let sums = sums(node).map_err(unread)?;
    let Some(host) = host else { return Ok(CreditView { sums, all_looked_at: true, ..CreditView::default() }) };
    let rows = read::scan::<Credit>(&*node.storage, &range_of(node, Some(host))?, LOOKED_AT).map_err(unread)?;
    let all_looked_at = rows.len() < LOOKED_AT;
    let mut pages: Vec<(u128, SeenKey)> = rows
        .into_iter()
        .filter_map(|(key, value)| match value {
            CreditValue::Account { balance, .. } if balance > 0 => Some((balance, key)),
            _ => None,
        })
        .collect();
    pages.sort_unstable_by_key(|(balance, key)| (std::cmp::Reverse(*balance), key.url.0));
    let rich = pages.into_iter().take(SHOWN).map(|(balance, key)| {
        let state = read::seen_state(&*node.storage, key)?;
        let waits = matches!(state, Some(UrlState::Waiting { .. }));
        let url = url_of(node, host, key, state)?.unwrap_or_else(|| "(not known)".to_owned());
        Ok(RichPage { url, credit: in_seeds(balance), waits })
    });
    let richest = rich.collect::<Result<_, StorageError>>().map_err(unread)?;
    Ok(CreditView { sums, richest, all_looked_at })
}

fn url_of(node: &Node, host: &str, key: SeenKey, state: Option<UrlState>) -> Result<Option<String>, StorageError> {
    use crate::storage::tables::{Due, Queue};
    let text = |entry: QueueEntry| entry.url(host).ok().map(|url| url.as_str().to_owned());
    Ok(match state {
        Some(UrlState::Waiting { rank, order, due: None, .. }) => {
            read::get::<Queue>(&*node.storage, &key.host_crawl().queue(rank, order))?.and_then(text)
        }
        Some(UrlState::Waiting { due: Some(time), .. }) => {
            read::get::<Due>(&*node.storage, &key.due(time))?.and_then(text)
        }
        Some(UrlState::Done { .. }) => read::latest_page(&*node.storage, key)?.map(|(_, page)| page.url),
        _ => read::get::<Failed>(&*node.storage, &key)?.map(|failed| failed.url),
    })
}
