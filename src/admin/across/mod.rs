//! Near-duplicates across domains: texts that lead a group in their domain, compared with those of all others by a job, kept until the next.

mod groups;
mod job;

use actix_web::HttpRequest;
use actix_web::web::Data;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::kept::About;
use crate::admin::body::query;
use crate::admin::bounded::reading;
use crate::admin::csv::Row;
use crate::admin::jobs::JobView;
use crate::admin::paging::{How, Paging, written};
use crate::admin::problem::{Answer, Refusal, accepted};
use crate::base::time::UnixMillis;
use crate::crawl::node::Node;

/// A page whose text is near to that of a page of another domain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AcrossPage {
    /// The page that it is near to. Pages of one group follow each other.
    pub group: String,
    /// That page's title.
    pub group_title: Option<String>,
    /// The page: it leads the near-duplicates of its own domain, if there are any.
    pub url: String,
    /// Its title.
    pub title: Option<String>,
    /// Bits of 256 in which their sketches differ.
    pub distance: u8,
    /// Both titles are the same, digits and all.
    pub same_title: bool,
}

/// How the report was made, and what is not in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AcrossAbout {
    /// When, milliseconds since 1970.
    #[schema(value_type = u64)]
    pub made: UnixMillis,
    /// Texts compared: those that lead in their domain.
    pub texts: u64,
    /// Pages listed.
    pub listed: u64,
    /// True when there are more: a million is the most.
    pub listed_cut: bool,
    /// Comparisons left out, where very many texts share a band of their sketch.
    pub cut: u64,
}

/// A page of the report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AcrossReport {
    /// How it was made; none when there is no report yet: POST makes one.
    pub about: Option<AcrossAbout>,
    /// Pages, group by group.
    pub items: Vec<AcrossPage>,
    /// The cursor of the next page; none when this is the last.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub next: Option<String>,
}

impl About for AcrossAbout {
    const NAME: &'static str = "near-duplicates-across";
    const COMMAND: &'static str = "near-duplicates --across";

    fn made(&self) -> UnixMillis {
        self.made
    }
}

impl Row for AcrossPage {
    const NAMES: &'static [&'static str] = &["group", "group_title", "url", "title", "distance", "same_title"];
}

/// Near-duplicates across domains, as the last job found them.
#[utoipa::path(get, path = "/api/v1/reports/near-duplicates/across", tag = "reports", params(Paging, How), responses(
    (status = 200, content((AcrossReport = "application/json"), (String = "text/csv"))), Refusal<400>, Refusal<503>,
))]
pub(super) async fn told(request: HttpRequest, node: Data<Node>) -> Answer {
    let paging = query(&request)?;
    let page = reading(move || job::told(&node, &paging)).await?;
    Ok(written(query(&request)?, &page, &page.items, page.next.as_ref()))
}

/// Compares the texts of all domains: a job, whose result replaces the report made before.
#[utoipa::path(post, path = "/api/v1/reports/near-duplicates/across", tag = "reports", responses(
    (status = 202, body = JobView), Refusal<409>, Refusal<503>,
))]
pub(super) async fn find(node: Data<Node>) -> Answer {
    accepted(job::start(&node)?)
}
