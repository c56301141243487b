//! Values taken from pages by name: `[[extract]]`.

use serde::{Deserialize, Serialize};

/// `[[extract]]`: one value, or list of values, of every page that it is meant for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExtractSection {
    /// Its key in `extracted`: letters, digits, `_`, `-`, `.`.
    pub name: String,
    /// CSS selector.
    pub selector: String,
    /// `text`, `html`, or `attr:NAME`.
    #[serde(default = "text")]
    pub take: String,
    /// A list of all that fit (at most 100), not the first only.
    #[serde(default)]
    pub many: bool,
    /// Regular expressions on the page's URL; all pages when there are none.
    #[serde(default)]
    pub urls: Vec<String>,
}

fn text() -> String {
    "text".into()
}
