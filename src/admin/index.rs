//! The index of pages: how far it is, and the order to make it anew.

use actix_web::web::Data;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::bounded::reading;
use super::control::ControlError;
use super::problem::{Answer, Refusal, ok};
use crate::crawl::node::Node;

/// What is done first when a new generation was asked for.
const REBUILD: &str = "rebuild";

/// The index of pages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct IndexView {
    /// Whether it is made (`index.enabled`).
    pub enabled: bool,
    /// What is being done: off, checking, following, waiting, held (the disk is low), resting (after a failure); `rebuild`: a new one was
    /// asked for and begins at once.
    pub doing: String,
    /// Documents that can be found.
    pub documents: u64,
    /// The last entry of the feed that they are true for.
    pub seq: u64,
    /// Entries of the feed that they lack.
    pub behind: u64,
    /// When the newest capture among them was made, milliseconds since 1970.
    pub captured_ms: u64,
    /// Number of the generation that answers.
    pub generation: u32,
    /// The generation that is being built to take its place.
    pub building: Option<BuildingView>,
    /// Bytes on disk.
    pub bytes: u64,
    /// Documents put in since the process began.
    pub added: u64,
    /// Those of them whose bytes could not be had: found by title and URL only.
    pub unread: u64,
    /// How often something went wrong since the process began.
    pub failures: u64,
    /// What went wrong last, until the index is opened again.
    pub error: Option<String>,
    /// Ids of pages of which it died three times: they are there without their text. The first hundred.
    pub bare: Vec<String>,
}

/// A generation that is being built.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BuildingView {
    /// Its number.
    pub generation: u32,
    /// The last entry of the feed that it has.
    pub seq: u64,
}

/// How far the index of pages is.
#[utoipa::path(get, path = "/api/v1/index", tag = "index", responses((status = 200, body = IndexView), Refusal<503>))]
pub(super) async fn status(node: Data<Node>) -> Answer {
    ok(reading(move || view(&node)).await?)
}

/// Makes the index anew, beside the one that answers until it has caught up.
#[utoipa::path(post, path = "/api/v1/index/rebuild", tag = "index",
    responses((status = 200, body = IndexView), Refusal<409>, Refusal<503>))]
pub(super) async fn rebuild(node: Data<Node>) -> Answer {
    ok(reading(move || {
        if !node.crawl.live().settings.index.enabled {
            let detail = "there is no index: switch it on with index.enabled, and it is made";
            return Err(ControlError::Refused(detail.into()));
        }
        #[cfg(feature = "search")]
        node.index.rebuild();
        Ok(IndexView { doing: REBUILD.into(), ..view(&node)? })
    })
    .await?)
}

#[cfg(feature = "search")]
fn view(node: &Node) -> Result<IndexView, ControlError> {
    let (told, reader) = (node.index.told(), node.index.reader());
    let unread = |e: crate::index::IndexError| ControlError::Unavailable(e.to_string());
    let stand = reader.as_ref().map(|reader| reader.stand()).transpose().map_err(unread)?.flatten().unwrap_or_default();
    let shown = node.crawl.progress.fed.borrow().unwrap_or(0);
    let building =
        (told.writes != told.answers).then_some(BuildingView { generation: told.writes, seq: told.written.seq });
    Ok(IndexView {
        enabled: node.crawl.live().settings.index.enabled,
        doing: if node.index.is_to_rebuild() { REBUILD } else { told.doing.as_str() }.into(),
        documents: reader.map_or(0, |reader| reader.documents()),
        seq: stand.seq,
        behind: shown.saturating_sub(stand.seq),
        captured_ms: stand.captured,
        generation: told.answers,
        building,
        bytes: told.bytes,
        added: told.added,
        unread: told.unread,
        failures: told.failures,
        error: told.error,
        bare: told.bare,
    })
}

#[cfg(not(feature = "search"))]
fn view(_: &Node) -> Result<IndexView, ControlError> {
    Err(ControlError::Unavailable("this program was built without the feature `search`: it has no index".into()))
}
