//! What is shown of pages.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::admin::views::CaptureView;

/// A page of captures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CapturePage {
    /// The captures, in key order: those of one URL stand together, the newest first.
    pub items: Vec<CaptureView>,
    /// The cursor of the next page; none when this is the last. A page may be short, or empty, and have a next one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub next: Option<String>,
    /// Captures looked at for this answer.
    pub looked_at: u64,
}

/// One capture of a URL, and the list of its captures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PageDetail {
    /// The capture asked for.
    pub capture: CaptureView,
    /// The newest hundred captures of the URL, newest first.
    pub captures: Vec<CaptureView>,
}
