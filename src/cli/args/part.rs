//! Arguments of `lycosa split`, `merge` and `links`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Arguments of `lycosa split`.
#[derive(Clone, Debug, Args)]
pub struct SplitArgs {
    /// The data folder that is taken apart
    pub from: PathBuf,
    /// The new data folder; it must be new or empty
    #[arg(required_unless_present = "abandon")]
    pub to: Option<PathBuf>,
    /// How much of its URLs goes to the new folder
    #[arg(long, value_name = "N/M", default_value = "1/2")]
    pub share: String,
    /// The hosts that go, with all of their domains: a name, or *.DOMAIN; may be repeated
    #[arg(long, value_name = "PATTERN", conflicts_with = "share")]
    pub hosts: Vec<String>,
    /// The partitions that go, of 0-1023
    #[arg(long, value_name = "A-B", conflicts_with_all = ["share", "hosts"])]
    pub partitions: Option<String>,
    /// What the new folder is called among its like
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// What the folder that is taken apart is called, when it has no name yet
    #[arg(long, value_name = "NAME", default_value = "n1")]
    pub own_name: String,
    /// Take back a split that did not come to the point from which on it counts
    #[arg(long)]
    pub abandon: bool,
    /// Settings of both.
    #[command(flatten)]
    pub both: BothArgs,
}

/// Arguments of `lycosa merge`.
#[derive(Clone, Debug, Args)]
pub struct MergeArgs {
    /// The data folder that takes over
    pub into: PathBuf,
    /// The data folder that is no crawl of its own afterwards
    pub from: PathBuf,
    /// Settings of both.
    #[command(flatten)]
    pub both: BothArgs,
}

/// Arguments of `lycosa links`.
#[derive(Clone, Debug, Args)]
pub struct LinksArgs {
    /// What is to be done
    #[command(subcommand)]
    pub command: LinksCommand,
    /// Settings.
    #[command(flatten)]
    pub both: BothArgs,
}

/// What can be done with links that members have for each other.
#[derive(Clone, Debug, Subcommand)]
pub enum LinksCommand {
    /// Write what a part of a crawl found for the others into files, one for each
    Export {
        /// Its data folder
        data: PathBuf,
        /// The folder for the files
        #[arg(long, value_name = "DIR")]
        to: PathBuf,
    },
    /// Bring files of other parts; what is in them is taken in when the crawl runs next
    Import {
        /// The data folder of the part they are for
        data: PathBuf,
        /// The files
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
}

/// What these commands have in common.
#[derive(Clone, Debug, Default, Args)]
pub struct BothArgs {
    /// The crawl's configuration file
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// Set a key, such as store.memory=1GiB
    #[arg(long = "set", value_name = "KEY=VALUE", global = true)]
    pub sets: Vec<String>,
    /// No progress display, even in a terminal
    #[arg(long, global = true)]
    pub no_progress: bool,
    /// JSON
    #[arg(long, global = true)]
    pub json: bool,
}
