//! Link credit: who holds what, and the richest pages of a host, or of all.

use std::cmp::Reverse;

use actix_web::HttpRequest;
use actix_web::web::Data;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::ControlError;
use super::body::query;
use super::bounded::reading;
use super::find::unread;
use super::orders::command::range_of;
use super::paging::{self, Paging};
use super::problem::{Answer, Refusal, ok};
use crate::crawl::node::Node;
use crate::domain::credit::SEED;
use crate::storage::keys::{Key, SeenKey};
use crate::storage::tables::{Credit, Due, Failed, Queue};
use crate::storage::values::{CreditState, CreditValue, UrlState};
use crate::storage::{StorageError, read};
use crate::telemetry::status::CreditSums;

/// Accounts that are looked at for one answer.
const LOOKED_AT: usize = 100_000;
/// Pages shown.
const SHOWN: usize = 50;

/// Link credit; one is what a seed brings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CreditView {
    /// What all hold together; none where `frontier.credit` is off.
    pub sums: Option<CreditSums>,
    /// The richest pages among those looked at, at most 50: of the host asked for, or of all.
    pub richest: Vec<RichPage>,
    /// Accounts that were looked at for this answer.
    pub looked_at: usize,
    /// Where the next answer goes on looking; none when all were looked at.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub next: Option<String>,
}

/// A page and what it holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RichPage {
    /// The page.
    pub url: String,
    /// Its credit; without dividends that it did not take yet.
    pub credit: f64,
    /// The part of all credit that this is, 0 to 1.
    pub share: f64,
    /// Whether it waits to be fetched. One that is done has what came since.
    pub waits: bool,
    /// Its rank, while it waits.
    pub rank: Option<u8>,
}

/// Of which host.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct OfHost {
    /// The host whose richest pages are shown; those of all hosts without it.
    #[param(example = "example.org")]
    host: Option<String>,
    /// Where to go on: `next` of the answer before. One answer looks at 100,000 accounts.
    cursor: Option<String>,
}

/// Who holds link credit, and the richest pages of a host or of all.
#[utoipa::path(get, path = "/api/v1/credit", tag = "urls", params(OfHost), responses(
    (status = 200, body = CreditView), Refusal<400>, Refusal<503>,
))]
pub(super) async fn credit(request: HttpRequest, node: Data<Node>) -> Answer {
    let OfHost { host, cursor } = query(&request)?;
    ok(reading(move || view(&node, host.as_deref(), cursor)).await?)
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

fn view(node: &Node, host: Option<&str>, cursor: Option<String>) -> Result<CreditView, ControlError> {
    let (_, range) = Paging { limit: None, cursor }.part(range_of(node, host)?)?;
    let Some(sums) = sums(node).map_err(unread)? else { return Ok(CreditView::default()) };
    let rows = read::scan::<Credit>(&*node.storage, &range, LOOKED_AT).map_err(unread)?;
    let looked_at = rows.len();
    let next = rows.last().filter(|_| looked_at == LOOKED_AT).map(|(key, _)| paging::cursor(&key.encode()));
    let mut pages: Vec<(u128, SeenKey)> = rows
        .into_iter()
        .filter_map(|(key, value)| match value {
            CreditValue::Account { balance, .. } if balance > 0 => Some((balance, key)),
            _ => None,
        })
        .collect();
    pages.sort_unstable_by_key(|(balance, key)| (Reverse(*balance), key.url.0));
    let all = sums.issued;
    let rich = pages.into_iter().take(SHOWN).map(|(balance, key)| rich(node, key, in_seeds(balance), all));
    let richest = rich.collect::<Result<_, StorageError>>().map_err(unread)?;
    Ok(CreditView { sums: Some(sums), richest, looked_at, next })
}

fn rich(node: &Node, key: SeenKey, credit: f64, all: f64) -> Result<RichPage, StorageError> {
    let state = read::seen_state(&*node.storage, key)?;
    let rank = match state {
        Some(UrlState::Waiting { rank, .. }) => Some(rank),
        _ => None,
    };
    let url = url_of(node, key, state)?.unwrap_or_else(|| "(not known)".to_owned());
    Ok(RichPage { url, credit, share: if all > 0.0 { credit / all } else { 0.0 }, waits: rank.is_some(), rank })
}

fn url_of(node: &Node, key: SeenKey, state: Option<UrlState>) -> Result<Option<String>, StorageError> {
    let entry = match state {
        Some(UrlState::Waiting { rank, order, due: None, .. }) => {
            read::get::<Queue>(&*node.storage, &key.host_crawl().queue(rank, order))?
        }
        Some(UrlState::Waiting { due: Some(time), .. }) => read::get::<Due>(&*node.storage, &key.due(time))?,
        Some(UrlState::Done { .. }) => return Ok(read::latest_page(&*node.storage, key)?.map(|(_, page)| page.url)),
        _ => return Ok(read::get::<Failed>(&*node.storage, &key)?.map(|failed| failed.url)),
    };
    let host = read::host_state(&*node.storage, key.host_crawl().host_at())?.unwrap_or_default().name;
    Ok(entry.and_then(|entry| entry.url(&host).ok()).map(|url| url.as_str().to_owned()))
}
