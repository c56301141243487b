//! What may be typed after `lycosa search`.

use clap::Args;

use crate::cli::args::AtRestArgs;

/// What comes first, and how much is told: shared with `lycosa ctl search`.
#[derive(Clone, Debug, Args)]
pub struct Wanted {
    /// Words, "phrases", -word, a OR b, word*, title: url: key: host: site: lang: mime: links: since: before: (in quotes, or behind --)
    #[arg(required = true)]
    pub query: Vec<String>,
    /// At most so many pages, 1 to 100
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u8).range(1..=100))]
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
    /// Which crawl.
    #[command(flatten)]
    pub at_rest: AtRestArgs,
}
