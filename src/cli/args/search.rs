//! What may be typed after `lycosa search`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::args::SettingsArgs;

/// What comes first, and how much is told: shared with `lycosa ctl search`.
#[derive(Clone, Debug, Args)]
pub struct Wanted {
    /// Words, "phrases", -word, a OR b, word*, title: url: key: host: site: lang: mime: links: since: before: (in quotes, or behind --)
    #[arg(required = true)]
    pub query: Vec<String>,
    /// At most so many pages
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub limit: u8,
    /// By relevance, priority, out_links, in_links or newest
    #[arg(long, default_value = "relevance")]
    pub sort: String,
    /// How each page came to its place
    #[arg(long)]
    pub explain: bool,
}

impl Wanted {
    /// The query in one piece.
    pub fn text(&self) -> String {
        self.query.join(" ")
    }
}

/// Arguments of `lycosa search`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Examples: lycosa search wolf spider --data crawl\n          lycosa search 搜索引擎 site:example.org --data crawl\n\
    The whole language: docs/search.md. Of a running crawl: lycosa ctl search"
)]
pub struct SearchArgs {
    /// What is looked for.
    #[command(flatten)]
    pub wanted: Wanted,
    /// The crawl's data folder
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// The crawl's configuration file
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Set a key, such as store.warc_dir=/archive
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// JSON
    #[arg(long)]
    pub json: bool,
}

impl SearchArgs {
    /// Those that every command shares.
    pub fn settings(&self) -> SettingsArgs {
        SettingsArgs { sets: self.sets.clone(), ..SettingsArgs::default() }
    }
}
