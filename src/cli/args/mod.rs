//! What may be typed: the commands and their arguments.

mod checkpoint;
mod ctl;
mod export;
mod index;
mod inspect;
mod part;
mod search;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use checkpoint::{CheckpointArgs, CheckpointCommand};
pub use ctl::{CtlArgs, CtlCommand, IndexOrder, SeedSaid, SeedsCommand};
pub use export::ExportArgs;
pub(super) use export::formats;
pub use index::{IndexArgs, IndexCommand};
pub use inspect::{ConfigCommand, InspectCommand, RulesArgs};
pub use part::{BothArgs, LinksArgs, LinksCommand, MergeArgs, SplitArgs};
pub use search::{SearchArgs, Wanted};

use super::diff::Which;
use super::exit::{CliError, Exit};
use super::gather::{layers, with_data};
use crate::config::{LogFormat, Settings};
use crate::testweb::TestwebArgs;

/// A polite, resumable web crawler.
#[derive(Debug, Parser)]
#[command(name = "lycosa", version, about, propagate_version = true, after_help = EXIT_CODES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 done, 1 error, 2 bad arguments or configuration, 3 disk, 9 no page fetched,\n\
    11 interrupted, 12 limit of failures, 14 limit of size, 15 limit of time, 70 stopped by the supervisor.\n\
    Settings: defaults < CONFIG < environment LYCOSA_SECTION__KEY < flags; `lycosa config show --origin` shows them.";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Crawl: start, or go on where the data folder left off
    Run(Box<RunArgs>),
    /// Serve a synthetic web to practise and measure on
    Testweb(Box<TestwebArgs>),
    /// Fetch one URL and show what happened: address, timings, robots.txt, headers, links
    Fetch(Box<FetchArgs>),
    /// Show what the crawler makes of a URL, a robots.txt or a page, without a network
    #[command(subcommand)]
    Inspect(InspectCommand),
    /// Make, show or check a configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Check a configuration file (the same as `config check`)
    CheckConfig(CheckArgs),
    /// Check that everything in a data folder fits together; repair it with --repair
    Check(Box<FolderArgs>),
    /// Erase everything that was received from a host, in a data folder at rest, and write a certificate of it
    Erase(Box<EraseArgs>),
    /// Take a crawl at rest apart: some of its hosts become a data folder that goes on by itself
    Split(SplitArgs),
    /// Put two parts of a crawl at rest together again
    Merge(MergeArgs),
    /// What parts of a crawl found for each other, carried in files
    Links(LinksArgs),
    /// Write the pages of a data folder at rest in a form that others read (a running crawl: ctl export)
    Export(Box<ExportArgs>),
    /// Show what changed between two captures of a page, of a crawl at rest
    Diff(DiffArgs),
    /// Read stored pages again by the crawl's own parser, under its rules or others, without a network
    Replay(Box<ReplayArgs>),
    /// Talk to a running crawl
    Ctl(CtlArgs),
    /// States of a crawl to go back to: make, check, restore, carry elsewhere
    Checkpoint(CheckpointArgs),
    /// The index of pages of a crawl at rest: make it, look at it, compare it with what is stored
    Index(IndexArgs),
    /// Search the pages of a crawl at rest
    Search(SearchArgs),
    /// Print the completions of a shell, such as: lycosa completions bash > /etc/bash_completion.d/lycosa
    Completions {
        /// Which
        shell: clap_complete::Shell,
    },
}

/// Sources of settings that every command shares.
#[derive(Clone, Debug, Default, Args)]
pub struct SettingsArgs {
    /// Set a key, such as politeness.min_delay=2s; an empty value takes it back to its default
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// How sites can reach you: a mail address or an http(s) URL; required for public addresses
    #[arg(long, value_name = "MAIL|URL")]
    pub contact: Option<String>,
    /// Also connect to these addresses, although they are not public; or a host pattern
    #[arg(long, value_name = "CIDR[:PORT]")]
    pub allow_net: Vec<String>,
}

/// Which crawl at rest is meant, and whether it is told to a program.
#[derive(Clone, Debug, Default, Args)]
pub struct AtRestArgs {
    /// The crawl's configuration file
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// The crawl's data folder
    #[arg(long, value_name = "DIR", global = true)]
    pub data: Option<PathBuf>,
    /// Set a key, such as store.warc_dir=/archive
    #[arg(long = "set", value_name = "KEY=VALUE", global = true)]
    pub sets: Vec<String>,
    /// JSON
    #[arg(long, global = true)]
    pub json: bool,
}

impl AtRestArgs {
    /// The settings that are meant.
    ///
    /// # Errors
    /// A setting that is none.
    pub fn load(&self) -> Result<Settings, CliError> {
        let given = SettingsArgs { sets: self.sets.clone(), ..SettingsArgs::default() };
        Ok(with_data(layers(self.config.as_deref(), &given)?, self.data.as_deref())?.load()?)
    }
}

/// Arguments of `lycosa run`.
#[derive(Clone, Debug, Default, Args)]
pub struct RunArgs {
    /// Configuration file (TOML)
    pub config: Option<PathBuf>,
    /// Start URL; may be repeated
    #[arg(long = "seed", value_name = "URL")]
    pub seeds: Vec<String>,
    /// File with start URLs, one a line; `-` is standard input
    #[arg(long = "seeds", value_name = "FILE|-")]
    pub seeds_file: Option<PathBuf>,
    /// Folder for everything the crawl keeps
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// First restore the newest whole copy of a checkpoint from a folder or s3://BUCKET/PREFIX into the data folder, which must be new
    /// or empty; PLACE@NAME for another one
    #[arg(long, value_name = "PLACE")]
    pub from: Option<String>,
    /// Take the place of this member of a crawl on several machines, with an empty data folder: waits until it has not been heard of for a
    /// whole lease, then goes on with its newest copy
    #[arg(long = "as", value_name = "NAME", conflicts_with = "from")]
    pub take_place: Option<String>,
    /// End when nothing is left, and print a summary
    #[arg(long)]
    pub until_done: bool,
    /// Make an index of the pages beside the crawl, for the search
    #[arg(long)]
    pub index: bool,
    /// First take up what was held back because many pages of its shape brought nothing new
    #[arg(long)]
    pub readmit_held_back: bool,
    /// Stop after so many stored pages
    #[arg(long, value_name = "N")]
    pub max_pages: Option<u64>,
    /// Stop after this time, such as 30m
    #[arg(long, value_name = "TIME")]
    pub max_time: Option<String>,
    /// Stop when the bodies received add up to so many bytes, such as 10GiB
    #[arg(long, value_name = "SIZE")]
    pub max_bytes: Option<String>,
    /// Stop after so many URLs given up as errors
    #[arg(long, value_name = "N")]
    pub max_failures: Option<u64>,
    /// Take so many pages of one host at most
    #[arg(long, value_name = "N")]
    pub max_pages_per_host: Option<u64>,
    /// Form of the log lines
    #[arg(long, value_name = "FORM")]
    pub log_format: Option<LogFormat>,
    /// Check everything, contact nothing, write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// No progress display, even in a terminal
    #[arg(long)]
    pub no_progress: bool,
    /// Settings.
    #[command(flatten)]
    pub settings: SettingsArgs,
}

/// Arguments of `lycosa fetch`.
#[derive(Clone, Debug, Args)]
pub struct FetchArgs {
    /// What to fetch
    pub url: String,
    /// Configuration file (TOML)
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Follow redirects and refreshes to their end, each hop checked like the first
    #[arg(long)]
    pub follow: bool,
    /// Write the body to standard output, the report to standard error
    #[arg(long)]
    pub body: bool,
    /// JSON
    #[arg(long)]
    pub json: bool,
    /// Settings.
    #[command(flatten)]
    pub settings: SettingsArgs,
}

/// Arguments of `lycosa check-config`.
#[derive(Clone, Debug, Args)]
pub struct CheckArgs {
    /// The file
    pub file: PathBuf,
}

/// Arguments of `lycosa check`.
#[derive(Clone, Debug, Default, Args)]
pub struct FolderArgs {
    /// Configuration file (TOML) of the crawl
    pub config: Option<PathBuf>,
    /// The data folder
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Read every record of the WARC files and compare its digests
    #[arg(long)]
    pub full: bool,
    /// Mend what is found; without it nothing is changed
    #[arg(long)]
    pub repair: bool,
    /// Search every file for what is left of a host that was erased
    #[arg(long, value_name = "HOST", conflicts_with_all = ["full", "repair"])]
    pub erased: Option<String>,
    /// JSON
    #[arg(long)]
    pub json: bool,
    /// No progress display, even in a terminal
    #[arg(long)]
    pub no_progress: bool,
    /// Settings.
    #[command(flatten)]
    pub settings: SettingsArgs,
}

/// Arguments of `lycosa erase`.
#[derive(Clone, Debug, Default, Args)]
#[command(
    after_help = "Example: lycosa erase www.example.org --data crawl --dry-run\nIf it is ended early, the same command goes on."
)]
pub struct EraseArgs {
    /// Its name, such as www.example.org
    pub host: String,
    /// Only say what there is
    #[arg(long)]
    pub dry_run: bool,
    /// Leave the checkpoints, which still hold it
    #[arg(long)]
    pub keep_checkpoints: bool,
    /// No progress display, even in a terminal
    #[arg(long)]
    pub no_progress: bool,
    /// Which folder.
    #[command(flatten)]
    pub at_rest: AtRestArgs,
}

/// Arguments of `lycosa diff`.
#[derive(Clone, Debug, Default, Args)]
#[command(
    after_help = "Examples: lycosa diff https://example.org/ --data crawl\n          lycosa diff https://example.org/ --data crawl --from 2026-11-01 --to 2026-11-28"
)]
pub struct DiffArgs {
    /// Which captures.
    #[command(flatten)]
    pub which: Which,
    /// The data folder
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// JSON
    #[arg(long)]
    pub json: bool,
    /// Settings.
    #[command(flatten)]
    pub rules: RulesArgs,
}

/// Arguments of `lycosa replay`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Exit codes: 0 done, 1 something differs or a record is damaged, 2 bad arguments, 11 interrupted.\n\
    Examples: lycosa replay --data crawl --config crawl.toml --what links --compare\n          lycosa replay --data crawl --config new.toml --what scope --compare\n          lycosa replay --warc other.warc.gz --what card > cards.jsonl"
)]
pub struct ReplayArgs {
    /// The data folder of a crawl at rest, whose archive is read
    #[arg(long, value_name = "DIR", conflicts_with = "warc")]
    pub data: Option<PathBuf>,
    /// WARC files of any crawler instead: gzip, zstd or plain
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub warc: Vec<PathBuf>,
    /// What is told of each page
    #[arg(long, value_enum)]
    pub what: ReplayWhat,
    /// Tell only what differs from what the live run wrote
    #[arg(long)]
    pub compare: bool,
    /// No progress display, even in a terminal
    #[arg(long)]
    pub no_progress: bool,
    /// Settings.
    #[command(flatten)]
    pub rules: RulesArgs,
}

/// What a replay tells of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReplayWhat {
    /// All that it leads to, as the metadata records of the archive list it
    Links,
    /// Whether it, and each link of it, is taken or turned away, and why
    Scope,
    /// What the rules of [[extract]] find
    #[allow(rustdoc::broken_intra_doc_links, reason = "the text of --help, in which nothing is escaped")]
    Extract,
    /// Its card: title, abstract, keywords, language, links
    Card,
}

/// Help and version are printed; a mistake becomes one line, with what was expected.
///
/// # Errors
/// The mistake, with the exit code 2.
pub fn explain(error: &clap::Error) -> Result<Exit, CliError> {
    use clap::error::ErrorKind;
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let _ = error.print();
            Ok(Exit::Done)
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            Ok(Exit::Usage)
        }
        _ => Err(CliError::usage(mistake(&error.render().to_string()))),
    }
}

/// The parser's paragraphs without usage and help hint, joined.
fn mistake(text: &str) -> String {
    let told = |l: &&str| !l.is_empty() && !l.starts_with("Usage:") && !l.starts_with("For more information");
    let lines: Vec<&str> = text.lines().map(str::trim).filter(told).collect();
    format!("{}; `--help` shows what may be typed", lines.join(" ").trim_start_matches("error: "))
}

#[cfg(test)]
mod tests;
