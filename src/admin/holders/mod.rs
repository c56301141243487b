//! Dead links with all pages that hold them: found by a job in the archive, kept until the next one.

pub mod job;

use actix_web::HttpRequest;
use actix_web::web::{Data, Payload};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::admin::body::{json, query};
use crate::admin::bounded::reading;
use crate::admin::csv::Row;
use crate::admin::jobs::JobView;
use crate::admin::kept::About;
use crate::admin::paging::{How, Paging, written};
use crate::admin::problem::{Answer, Refusal, accepted};
use crate::base::time::UnixMillis;
use crate::crawl::node::Node;

/// Which dead links.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WhichDead {
    /// Links to this host alone.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schema(example = "example.org")]
    pub host: Option<String>,
}

/// A dead link on one page that holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HeldLink {
    /// The dead URL.
    pub url: String,
    /// Why it was given up.
    pub reason: String,
    /// The status of the last answer, if there was one.
    pub status: Option<u16>,
    /// A page that holds it, by its newest capture; the page it was first found on when `pages` is 0.
    pub page: Option<String>,
    /// How it holds it: element and attribute, as `a/@href`, or `location` of a redirect.
    pub context: Option<String>,
    /// Pages that hold it, also those that are not listed; 0 when no record that was read does.
    pub pages: u64,
}

/// How the report was made, and what is not in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HoldersAbout {
    /// When, milliseconds since 1970.
    #[schema(value_type = u64)]
    pub made: UnixMillis,
    /// The host it was asked for, if it was for one.
    pub host: Option<String>,
    /// Dead URLs looked for.
    pub dead: u64,
    /// True when there are more: the first 500,000 in the order of their keys were looked for.
    pub dead_cut: bool,
    /// Pages listed, at most 100 of a URL.
    pub listed: u64,
    /// True when not all of these are: a million is the most.
    pub listed_cut: bool,
    /// Archive files read.
    pub files: u64,
    /// Records of pages read.
    pub records: u64,
    /// Links that records leave out, because their page has too many.
    pub links_omitted: u64,
    /// Archive files that were not read to their end, with the reason: the first hundred.
    pub not_read: Vec<String>,
    /// How many there are.
    pub not_read_total: u64,
}

/// A page of the report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HoldersPage {
    /// How it was made; none when there is no report yet: POST makes one.
    pub about: Option<HoldersAbout>,
    /// Dead URLs in the order of their keys, each with its pages.
    pub items: Vec<HeldLink>,
    /// The cursor of the next page; none when this is the last.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub next: Option<String>,
}

impl About for HoldersAbout {
    const NAME: &'static str = "dead-links-holders";
    const COMMAND: &'static str = "dead-links --holders";

    fn made(&self) -> UnixMillis {
        self.made
    }
}

impl Row for HeldLink {
    const NAMES: &'static [&'static str] = &["url", "reason", "status", "page", "context", "pages"];
}

/// Dead links with the pages that hold them, as the last job found them.
#[utoipa::path(get, path = "/api/v1/reports/dead-links/holders", tag = "reports", params(Paging, How), responses(
    (status = 200, content((HoldersPage = "application/json"), (String = "text/csv"))), Refusal<400>, Refusal<503>,
))]
pub(super) async fn held(request: HttpRequest, node: Data<Node>) -> Answer {
    let paging = query(&request)?;
    let page = reading(move || job::held(&node, &paging)).await?;
    Ok(written(query(&request)?, &page, &page.items, page.next.as_ref()))
}

/// Looks for the pages that hold dead links, in the archive: a job reads its records once, and its result replaces the
/// report made before. Archive files that were copied elsewhere and removed here cannot be read; the report names them.
#[utoipa::path(post, path = "/api/v1/reports/dead-links/holders", tag = "reports", request_body = WhichDead, responses(
    (status = 202, body = JobView), Refusal<400>, Refusal<409>, Refusal<413>, Refusal<503>,
))]
pub(super) async fn find(payload: Payload, node: Data<Node>) -> Answer {
    let which = json(payload).await?;
    accepted(job::start(&node, which)?)
}
