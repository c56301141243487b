//! Near-duplicates, group by group: each page that was marked, beside the leader of its group.

use actix_web::HttpRequest;
use actix_web::web::Data;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::admin::body::query;
use crate::admin::control::ControlError;
use crate::admin::csv::Row;
use crate::admin::find::unread;
use crate::admin::orders::command::range_of;
use crate::admin::paging::{How, Page, Paging, records};
use crate::admin::problem::{Answer, Refusal};
use crate::crawl::node::Node;
use crate::domain::near::{Near, Sketch, same_title};
use crate::storage::keys::SeenKey;
use crate::storage::read;
use crate::storage::tables::NearMembers;
use crate::storage::values::PageRecord;

/// Which groups.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct WhichGroups {
    /// Groups whose leader is of this host.
    pub host: Option<String>,
}

/// A page that is near to another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NearPage {
    /// The leader of its group: the first page with such a text. Pages of one group follow each other.
    pub group: String,
    /// That page's title.
    pub group_title: Option<String>,
    /// The page.
    pub url: String,
    /// Its title.
    pub title: Option<String>,
    /// Bits of 256 in which their sketches differed when it was captured: each some eight thousandths of their text.
    pub distance: u8,
    /// Both titles are the same, digits and all.
    pub same_title: bool,
    /// By their newest captures both texts are near still: false when the leader's has changed since.
    pub still: bool,
    /// Its answer is in the archive.
    pub stored: bool,
}

impl Row for NearPage {
    const NAMES: &'static [&'static str] =
        &["group", "group_title", "url", "title", "distance", "same_title", "still", "stored"];
}

/// Near-duplicates: pages whose text is that of another page of their domain but for a little, in the order of that page's key.
#[utoipa::path(get, path = "/api/v1/reports/near-duplicates", tag = "reports", params(WhichGroups, Paging, How), responses(
    (status = 200, content((Page<NearPage> = "application/json"), (String = "text/csv"))),
    Refusal<400>, Refusal<503>,
))]
pub(in crate::admin) async fn near_duplicates(request: HttpRequest, node: Data<Node>) -> Answer {
    let WhichGroups { host } = query(&request)?;
    super::page(&request, move |paging| pages(&node, host.as_deref(), paging)).await
}

/// Marked pages in the order of their groups.
///
/// # Errors
/// What was asked makes no sense now, or storage does not answer.
fn pages(node: &Node, host: Option<&str>, paging: &Paging) -> Result<Page<NearPage>, ControlError> {
    let looked = records::<NearMembers>(node, paging.part(range_of(node, host)?)?, |()| true).map_err(unread)?;
    let next = looked.next();
    let (mut items, mut leader) = (Vec::with_capacity(looked.items.len()), None::<(SeenKey, Option<PageRecord>)>);
    for (key, ()) in looked.items {
        let newest = |key| read::latest_page(&*node.storage, key).map(|found| found.map(|(_, page)| page));
        if leader.as_ref().is_none_or(|(known, _)| *known != key.leader()) {
            leader = Some((key.leader(), newest(key.leader()).map_err(unread)?));
        }
        let page = newest(key.page()).map_err(unread)?;
        let first = leader.as_ref().and_then(|(_, page)| page.as_ref());
        items.extend(page.and_then(|page| line(first, page)));
    }
    Ok(Page { items, next })
}

pub(super) fn line(leader: Option<&PageRecord>, page: PageRecord) -> Option<NearPage> {
    let Some(Near::Like { url: group, distance }) = page.remarks.near else { return None };
    let leads = leader.filter(|leader| leader.remarks.near == Some(Near::Leader)).and_then(|leader| leader.print);
    let [one, other] = [leads, page.print].map(|print| print.as_ref().and_then(Sketch::of));
    let still = one.zip(other).is_some_and(|(leader, own)| leader.distance(&own).is_some());
    let group_title = leader.and_then(|leader| leader.title.clone());
    let same_title = same_title(group_title.as_deref(), page.title.as_deref());
    let (url, title, stored) = (page.url, page.title, page.warc.is_some());
    Some(NearPage { group, group_title, url, title, distance, same_title, still, stored })
}
