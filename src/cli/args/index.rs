//! What may be typed after `lycosa index`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::SettingsArgs;

/// Arguments of `lycosa index`.
#[derive(Clone, Debug, Args)]
pub struct IndexArgs {
    /// The crawl's configuration file
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// The crawl's data folder
    #[arg(long, value_name = "DIR", global = true)]
    pub data: Option<PathBuf>,
    /// Set a key, such as index.memory=256MiB
    #[arg(long = "set", value_name = "KEY=VALUE", global = true)]
    pub sets: Vec<String>,
    /// JSON
    #[arg(long, global = true)]
    pub json: bool,
    /// No progress display, even in a terminal
    #[arg(long, global = true)]
    pub no_progress: bool,
    /// What to do.
    #[command(subcommand)]
    pub command: IndexCommand,
}

impl IndexArgs {
    /// Those that every command shares.
    pub fn settings(&self) -> SettingsArgs {
        SettingsArgs { sets: self.sets.clone(), ..SettingsArgs::default() }
    }
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
