//! What a format may be told beside which pages; each takes those that its row in the table names.

use clap::Args;
use serde::{Deserialize, Serialize};
use url::{Position, Url};
use utoipa::ToSchema;

use super::links::Level;
use super::{ExportError, Form};
use crate::base::units::parse_size;

/// What a format is told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// With the visible text of each page
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub text: bool,
    /// With the links of each page, as its metadata record has them
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub links: bool,
    /// With `X-Robots-Tag` of each page, and the place of the robots.txt that was in force when it was fetched
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub rights: bool,
    /// What the vertices of the graph are; hosts when nothing is said
    #[arg(long, value_name = "LEVEL", value_parser = level)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    /// With the texts of links, one a line: from, to and text, apart by tabs
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub anchors: bool,
    /// Begin another file after so many bytes, such as 100MB; without it `store.warc_max_size` of the crawl
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// The URL of the folder in which sitemaps will lie, with its `/`: an index names them in full
    #[arg(long, value_name = "URL")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
}

fn level(name: &str) -> Result<Level, String> {
    Level::named(name).ok_or_else(|| "expected page, host or domain".into())
}

impl Options {
    /// Checks that the format knows all that is said.
    ///
    /// # Errors
    /// The first that it does not, and those that it does.
    pub fn check(&self, form: &Form) -> Result<(), ExportError> {
        // What is not said is not written.
        let said = serde_json::to_value(self).unwrap_or_default();
        let said = said.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
        let Some(strange) = { said }.find(|name| !form.options.contains(name)) else { return self.checked() };
        let known: Vec<String> = form.options.iter().map(|name| format!("--{name}")).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        Err(ExportError::Asked(format!("the format {} has no option --{strange}; it has: {known}", form.name)))
    }

    /// That what is said means something.
    fn checked(&self) -> Result<(), ExportError> {
        if self.size == Some(0) {
            return Err(ExportError::Asked("--size 0: expected the bytes of a file, such as 100MB".into()));
        }
        let is_folder = |base: &Url| {
            matches!(base.scheme(), "http" | "https")
                && base.path().ends_with('/')
                && base[Position::AfterPath..].is_empty()
        };
        match &self.base {
            Some(base) if !base.parse().is_ok_and(|base| is_folder(&base)) => Err(ExportError::Asked(format!(
                "--base {base}: expected the URL of the folder in which the files will lie, such as https://example.org/maps/"
            ))),
            _ => Ok(()),
        }
    }
}
