//! What may be typed after `lycosa index`.

use clap::{Args, Subcommand};

use super::AtRestArgs;

/// Arguments of `lycosa index`.
#[derive(Clone, Debug, Args)]
pub struct IndexArgs {
    /// Which crawl.
    #[command(flatten)]
    pub at_rest: AtRestArgs,
    /// No progress display, even in a terminal
    #[arg(long, global = true)]
    pub no_progress: bool,
    /// What to do.
    #[command(subcommand)]
    pub command: IndexCommand,
}

/// `lycosa index …`.
#[derive(Clone, Debug, Subcommand)]
pub enum IndexCommand {
    /// Take in what the index lacks; interrupted, it goes on the next time
    #[command(after_help = "Example: lycosa index build --data crawl")]
    Build {
        /// Make it anew, whatever there is
        #[arg(long)]
        fresh: bool,
    },
    /// How far it is
    #[command(after_help = "Example: lycosa index status --data crawl")]
    Status,
    /// Compare each document with what is stored; exit code 1 when something differs
    #[command(after_help = "Example: lycosa index verify --data crawl")]
    Verify,
}
