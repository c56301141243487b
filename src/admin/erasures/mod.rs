//! Erasures of hosts: the order, which a run carries out once its files are closed, and the certificates of those that are done.

#[cfg(feature = "rocksdb")]
mod at_rest;

use std::sync::Arc;

use actix_web::web::{Data, Path, Query};
use serde::{Deserialize, Serialize};
#[cfg(not(feature = "rocksdb"))]
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

#[cfg(feature = "rocksdb")]
use at_rest::{erasures, kept, note, under_way};

use crate::admin::bounded::reading;
use crate::admin::control::ControlError;
use crate::admin::orders::HostOrdered;
use crate::admin::orders::command::{Named, order};
use crate::admin::problem::{Answer, Refusal, ok};
use crate::crawl::node::{Node, Stop};
use crate::domain::orders::HostOrder;
use crate::storage::read;
use crate::telemetry::StateChange;
use crate::warc::folder;

/// What is erased of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Purge {
    /// All that was received from it, and all that is keyed by it.
    Own,
}

/// An erasure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ErasureView {
    /// Name of its certificate.
    pub id: String,
    /// When it began, and when it was done; none while it is ordered.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub began: Option<String>,
    /// See there.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ended: Option<String>,
    /// Whether nothing was left.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub erased: Option<bool>,
}

/// Which erasures.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct WhichErasures {
    /// Only those of this host. Certificates do not tell names, but show whether one is theirs.
    #[param(min_length = 1, max_length = 253)]
    host: Option<String>,
}

/// Erasures of hosts: the one that is ordered, then those that are done, the newest first; at most a thousand.
#[utoipa::path(get, path = "/api/v1/erasures", tag = "hosts", params(WhichErasures), responses(
    (status = 200, body = Vec<ErasureView>), Refusal<400>, Refusal<503>,
))]
pub(super) async fn list(which: Query<WhichErasures>, node: Data<Node>) -> Answer {
    let listed = move || {
        let host = which.host.as_deref().map(|host| Named::of(&node, host)).transpose()?;
        erasures(&node, host.as_ref().map(|host| host.name.as_str()))
    };
    ok(reading(listed).await?)
}

/// A certificate, as it is kept in `erasures/`.
#[utoipa::path(get, path = "/api/v1/erasures/{id}", tag = "hosts", params(
    ("id" = String, Path, description = "its name"),
), responses((status = 200, body = Object), Refusal<400>, Refusal<404>, Refusal<503>))]
pub(super) async fn certificate(id: Path<String>, node: Data<Node>) -> Answer {
    let absent = |id: &str| ControlError::Absent(format!("there is no certificate {id:?}; see `lycosa ctl erasures`"));
    ok(reading(move || kept(&node, &id)?.ok_or_else(|| absent(&id))).await?)
}

/// Blocks a host and orders that all that was received from it is erased: for that the crawl closes its files, and begins again after it.
///
/// # Errors
/// What was asked makes no sense now, or storage does not answer.
pub(super) async fn purge(node: Arc<Node>, host: &str) -> Result<HostOrdered, ControlError> {
    // One after the other from the look to the note: of two orders at once the second is refused, and its host stays as it is.
    static TURN: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
    let _turn = TURN.lock().await;
    let host = Named::of(&node, host)?;
    may_be_erased(&node, &host)?;
    let ordered = order(node.clone(), &host.name, HostOrder::Block).await?;
    let of_read = node.clone();
    let erasure = reading(move || note(&of_read, &host.name)).await?;
    node.changed(
        StateChange::Erasing,
        format!(
            "erasure of a host ordered, for which the crawl closes its files: host={} id={}",
            ordered.host, erasure.id
        ),
    );
    node.stop_with(Stop::Erase);
    Ok(HostOrdered { erasure: Some(erasure), ..ordered })
}

/// What can be seen beforehand of what an erasure needs.
fn may_be_erased(node: &Node, host: &Named) -> Result<(), ControlError> {
    let unread = |e: crate::storage::StorageError| ControlError::Unavailable(e.to_string());
    let known = read::host_state(&*node.storage, host.at).map_err(unread)?.unwrap_or_default().name;
    if known.is_empty() {
        return Err(ControlError::Absent(format!(
            "nothing is known of the host {}: there is nothing to erase",
            host.name
        )));
    }
    if let Some(why) = node.disk.why() {
        let why = format!("an erasure needs room on the disk, and one that works: {why}; `block` alone can be had now");
        return Err(ControlError::Refused(why));
    }
    let settings = &node.crawl.rules.settings;
    let dir = settings.warc_dir();
    if !folder::is_claimed(&dir) {
        let why = format!("the archive is not in {}: is its disk mounted?", dir.display());
        return Err(ControlError::Refused(why));
    }
    under_way(node, &host.name)
}

#[cfg(not(feature = "rocksdb"))]
fn erasures(_: &Node, _: Option<&str>) -> Result<Vec<ErasureView>, ControlError> {
    Ok(Vec::new())
}

#[cfg(not(feature = "rocksdb"))]
fn kept(_: &Node, _: &str) -> Result<Option<Value>, ControlError> {
    Ok(None)
}

#[cfg(not(feature = "rocksdb"))]
fn under_way(_: &Node, _: &str) -> Result<(), ControlError> {
    Err(ControlError::Refused("built without RocksDB: there is no data folder to erase in".into()))
}

#[cfg(not(feature = "rocksdb"))]
fn note(_: &Node, _: &str) -> Result<ErasureView, ControlError> {
    Err(ControlError::Refused("built without RocksDB: there is no data folder to erase in".into()))
}
