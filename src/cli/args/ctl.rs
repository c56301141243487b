//! What may be typed after `lycosa ctl`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use crate::base::units::parse_duration;
use crate::cli::ctl::events::EventsArgs;
use crate::cli::ctl::export::{ExportArgs, ExportsArgs};
use crate::cli::ctl::feed::FeedArgs;
use crate::cli::ctl::host::HostArgs;
use crate::cli::ctl::look::{LookCommand, PagingArgs};
use crate::cli::ctl::report::ReportArgs;
use crate::cli::ctl::settings::SettingsCommand;
use crate::cli::ctl::snapshot::SnapshotArgs;
use crate::cli::ctl::urls::UrlsCommand;
use crate::cli::diff::Which;
use crate::domain::priority::Weight;
use crate::domain::refresh::Cycle;

/// Arguments of `lycosa ctl`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Every command takes --json. Exit codes: 0 done, 1 the crawl refuses or does not answer, 2 bad arguments.\n\
    Examples: lycosa ctl status\n          lycosa ctl explain example.org/page\n          lycosa ctl --config crawl.toml why-idle"
)]
pub struct CtlArgs {
    /// Address of the admin endpoint; from the configuration when absent
    #[arg(long, value_name = "ADDR:PORT", global = true)]
    pub admin: Option<String>,
    /// File with its token; from the configuration when absent
    #[arg(long, value_name = "FILE", global = true)]
    pub token_file: Option<PathBuf>,
    /// The crawl's configuration file
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// Ask this member of a crawl on several machines, and no other
    #[arg(long, value_name = "NAME", global = true)]
    pub node: Option<String>,
    /// Longest wait for an answer, such as 5s; 60s by itself, an hour for a checkpoint
    #[arg(long, value_name = "TIME", global = true, value_parser = parse_duration)]
    pub timeout: Option<Duration>,
    /// JSON
    #[arg(long, global = true)]
    pub json: bool,
    /// The data folder that the crawl must have; any when absent
    #[arg(skip)]
    pub folder: Option<PathBuf>,
    /// What to do.
    #[command(subcommand)]
    pub command: CtlCommand,
}

impl CtlCommand {
    /// Whether it shows what comes, a line each, so that an error is no line among them.
    pub fn is_lines(&self) -> bool {
        match self {
            Self::Events(_) => true,
            Self::Feed(feed) => feed.is_lines(),
            _ => false,
        }
    }
}

/// `lycosa ctl …`.
#[derive(Clone, Debug, Subcommand)]
pub enum CtlCommand {
    /// Show counts and rates
    #[command(after_help = "Example: lycosa ctl status --json")]
    Status,
    /// Exit code 0 when it takes work, 1 when it does not
    #[command(after_help = "Example: lycosa ctl health")]
    Health,
    /// Questions.
    #[command(flatten)]
    Look(LookCommand),
    /// Write a stored page to a file or to standard output
    Snapshot(SnapshotArgs),
    /// What changed between two captures of a page, by the blocks of its text
    #[command(
        after_help = "Examples: lycosa ctl diff https://example.org/\n          lycosa ctl diff example.org/doc --from 7d"
    )]
    Diff(Which),
    /// Show what happens as it happens, until interrupted
    Events(EventsArgs),
    /// What became of each page, in the order of the commits; who reads it, and how far each is
    Feed(FeedArgs),
    /// Where pages are handed on to, and how far each sink is
    #[command(after_help = "Example: lycosa ctl sinks")]
    Sinks,
    /// Have the pages written in a form that others read, while the crawl goes on
    Export(Box<ExportArgs>),
    /// List exports that a running crawl made, or download one
    Exports(ExportsArgs),
    /// The index of pages: how far it is
    #[command(after_help = "Examples: lycosa ctl index\n          lycosa ctl index rebuild")]
    Index {
        /// What to do with it; without this it is shown.
        #[command(subcommand)]
        order: Option<IndexOrder>,
    },
    /// Whole reports as CSV, or with --json one object a line: dead links, seeds, hosts, statuses, types, changes, near-duplicates
    Report(ReportArgs),
    /// Start URLs: add some, list them
    #[command(subcommand)]
    Seeds(SeedsCommand),
    /// URLs turned away or given up: list them, queue them again
    #[command(subcommand)]
    Urls(UrlsCommand),
    /// One host: pause, resume, drop, block, unblock, recrawl, delay
    Host(HostArgs),
    /// Erasures of hosts: the one that is ordered, and those that are done; or a certificate
    #[command(after_help = "Examples: lycosa ctl erasures\n          lycosa ctl erasures --host example.org")]
    Erasures {
        /// The certificate of this name; without it all are listed
        #[arg(value_name = "ID", conflicts_with = "host")]
        id: Option<String>,
        /// Only those of this host
        #[arg(long, value_name = "HOST")]
        host: Option<String>,
    },
    /// Settings of the running crawl.
    #[command(flatten)]
    Settings(SettingsCommand),
    /// Send no new requests
    #[command(after_help = "Example: lycosa ctl pause")]
    Pause,
    /// Go on
    #[command(after_help = "Example: lycosa ctl resume")]
    Resume,
    /// Make a checkpoint
    #[command(after_help = "Example: lycosa ctl checkpoint")]
    Checkpoint,
    /// List checkpoints
    #[command(after_help = "Example: lycosa ctl checkpoints")]
    Checkpoints,
    /// Finish what is in flight, however long that takes, and end
    #[command(after_help = "Example: lycosa ctl drain")]
    Drain,
    /// Finish what is in flight, for ten seconds at most, and end
    #[command(after_help = "Example: lycosa ctl stop")]
    Stop,
}

/// `lycosa ctl index …`.
#[derive(Clone, Copy, Debug, Subcommand)]
pub enum IndexOrder {
    /// Make it anew, beside the one that answers until it has caught up
    #[command(after_help = "Example: lycosa ctl index rebuild")]
    Rebuild,
}

/// `lycosa ctl seeds …`.
#[derive(Clone, Debug, Subcommand)]
pub enum SeedsCommand {
    /// Add start URLs
    #[command(
        after_help = "Examples: lycosa ctl seeds add https://example.org/\n          lycosa ctl seeds add --rank 0 --tag news --file seeds.txt"
    )]
    Add {
        /// The URLs
        urls: Vec<String>,
        /// File with URLs, one a line; `-` is standard input
        #[arg(long, value_name = "FILE|-")]
        file: Option<PathBuf>,
        /// What is said of all of them
        #[command(flatten)]
        said: SeedSaid,
    },
    /// List start URLs: crawled or not, and why (all of them at once: `lycosa ctl report seeds`)
    #[command(after_help = "Example: lycosa ctl seeds list --limit 20")]
    List {
        /// Which part.
        #[command(flatten)]
        paging: PagingArgs,
    },
}

/// What is said of seeds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub struct SeedSaid {
    /// Their place in the queue; 0 comes first
    #[arg(long, value_name = "0-7")]
    pub rank: Option<u8>,
    /// By how much more important than others they are, with all pages that go back to them
    #[arg(long, value_name = "0.01-100")]
    pub weight: Option<Weight>,
    /// Links that are followed from them in a row
    #[arg(long, value_name = "N")]
    pub max_depth: Option<u16>,
    /// What they are called in the lines of crawl.jsonl; may be given several times
    #[arg(long = "tag", value_name = "TAG")]
    pub tags: Vec<String>,
    /// When pages that go back to them are visited again: off, a duration, fields of cron, adapt
    #[arg(long, value_name = "CYCLE")]
    pub cycle: Option<Cycle>,
}
