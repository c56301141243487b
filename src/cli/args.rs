//! What may be typed: the commands and their arguments.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use super::ctl::events::EventsArgs;
use super::ctl::host::HostArgs;
use super::ctl::look::LookCommand;
use super::ctl::report::ReportArgs;
use super::ctl::settings::SettingsCommand;
use super::exit::{CliError, Exit};
use super::testweb::TestwebArgs;
use crate::config::LogFormat;

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
    /// Talk to a running crawl
    Ctl(CtlArgs),
    /// States of a crawl to go back to: make, check, restore, carry elsewhere
    Checkpoint(CheckpointArgs),
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
    /// End when nothing is left, and print a summary
    #[arg(long)]
    pub until_done: bool,
    /// Stop after so many stored pages
    #[arg(long, value_name = "N")]
    pub max_pages: Option<u64>,
    /// Stop after this time, such as 30m
    #[arg(long, value_name = "TIME")]
    pub max_time: Option<String>,
    /// Stop after so many bytes received, such as 10GiB
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
    /// Follow redirects, each hop checked like the first
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

/// `lycosa inspect …`.
#[derive(Clone, Debug, Subcommand)]
pub enum InspectCommand {
    /// The canonical form of URLs
    Url {
        /// What relative URLs are resolved against
        #[arg(long, value_name = "URL")]
        base: Option<String>,
        /// JSON, with host, domain, partition
        #[arg(long)]
        json: bool,
        /// The URLs
        #[arg(required = true)]
        urls: Vec<String>,
    },
    /// Whether a robots.txt allows URLs, and the line that decides
    Robots {
        /// The crawler's name
        #[arg(long, value_name = "NAME")]
        agent: String,
        /// The robots.txt; `-` is standard input
        #[arg(long, value_name = "FILE|-")]
        robots: PathBuf,
        /// URLs or paths
        #[arg(required = true)]
        urls: Vec<String>,
    },
    /// What a sitemap or feed names, and which of it a sitemap there may name
    Sitemap {
        /// The file; `-` is standard input
        file: PathBuf,
        /// Its URL
        #[arg(long, value_name = "URL")]
        url: String,
        /// Its Content-Type header
        #[arg(long, value_name = "TYPE")]
        content_type: Option<String>,
        /// The host whose robots.txt names it, when that is another
        #[arg(long, value_name = "HOST")]
        named_by: Option<String>,
        /// JSON
        #[arg(long)]
        json: bool,
    },
    /// What is taken from a page: charset, title, directives, links, text
    Page {
        /// The page; `-` is standard input
        file: PathBuf,
        /// Its URL
        #[arg(long, value_name = "URL")]
        url: String,
        /// Its Content-Type header
        #[arg(long, value_name = "TYPE")]
        content_type: Option<String>,
        /// Also what the [[extract]] rules of this configuration file find
        #[arg(long, value_name = "FILE")]
        extract: Option<PathBuf>,
    },
}

/// `lycosa config …`.
#[derive(Clone, Debug, Subcommand)]
pub enum ConfigCommand {
    /// Write a file with every key, its default, unit and meaning
    Init {
        /// Where; `-` is standard output
        #[arg(default_value = "lycosa.toml")]
        file: PathBuf,
    },
    /// Show the settings in force
    Show {
        /// Configuration file (TOML)
        config: Option<PathBuf>,
        /// Show who set each
        #[arg(long)]
        origin: bool,
        /// JSON
        #[arg(long)]
        json: bool,
        /// Settings.
        #[command(flatten)]
        settings: SettingsArgs,
    },
    /// Check a configuration file
    Check(CheckArgs),
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

/// Arguments of `lycosa ctl`.
#[derive(Clone, Debug, Args)]
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

/// `lycosa ctl …`.
#[derive(Clone, Debug, Subcommand)]
pub enum CtlCommand {
    /// Show counts and rates
    Status,
    /// Exit code 0 when it takes work, 1 when it does not
    Health,
    /// Seeds
    #[command(subcommand)]
    Seeds(SeedsCommand),
    /// One host: pause, resume, drop, block, unblock, recrawl, delay
    Host(HostArgs),
    /// Reports: dead links, seeds, hosts, statuses, types
    Report(ReportArgs),
    /// Send no new requests
    Pause,
    /// Go on
    Resume,
    /// Make a checkpoint
    Checkpoint,
    /// Finish what is in flight, however long that takes, and end
    Drain,
    /// Finish what is in flight, for ten seconds at most, and end
    Stop,
    /// Show what happens as it happens, until interrupted
    Events(EventsArgs),
    /// Questions.
    #[command(flatten)]
    Look(LookCommand),
    /// Settings of the running crawl.
    #[command(flatten)]
    Settings(SettingsCommand),
}

/// `lycosa ctl seeds …`.
#[derive(Clone, Debug, Subcommand)]
pub enum SeedsCommand {
    /// Add start URLs
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
}

/// What is said of seeds.
#[derive(Clone, Debug, Default, Args)]
pub struct SeedSaid {
    /// Their place in the queue; 0 comes first
    #[arg(long, value_name = "0-7")]
    pub rank: Option<u8>,
    /// Links that are followed from them in a row
    #[arg(long, value_name = "N")]
    pub max_depth: Option<u16>,
    /// What they are called in the lines of crawl.jsonl; may be given several times
    #[arg(long = "tag", value_name = "TAG")]
    pub tags: Vec<String>,
}

/// Arguments of `lycosa checkpoint`.
#[derive(Clone, Debug, Args)]
pub struct CheckpointArgs {
    /// The crawl's configuration file
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// The data folder; of restore and import, where the state goes
    #[arg(long, value_name = "DIR", global = true)]
    pub data: Option<PathBuf>,
    /// Set a key, such as checkpoint.keep=5
    #[arg(long = "set", value_name = "KEY=VALUE", global = true)]
    pub sets: Vec<String>,
    /// JSON
    #[arg(long, global = true)]
    pub json: bool,
    /// What to do.
    #[command(subcommand)]
    pub command: CheckpointCommand,
}

/// `lycosa checkpoint …`. NAME may be `newest`.
#[derive(Clone, Debug, Subcommand)]
pub enum CheckpointCommand {
    /// Make one; a running crawl is asked to
    Create {
        /// Address of its admin endpoint; from the configuration when absent
        #[arg(long, value_name = "ADDR:PORT")]
        admin: Option<String>,
        /// File with its token; from the configuration when absent
        #[arg(long, value_name = "FILE")]
        token_file: Option<PathBuf>,
    },
    /// Show those there are
    List,
    /// Check every digest, the database, and that the archive is there
    Verify {
        /// Its name
        #[arg(default_value = "newest")]
        name: String,
    },
    /// Make a data folder of one: into a new folder (--data), or with --force in place of the present state
    Restore {
        /// Its name
        name: String,
        /// The data folder it was made of, when that is not the configuration's or --data
        #[arg(long, value_name = "DIR")]
        from: Option<PathBuf>,
        /// In place of a crawl's present state, which is set aside
        #[arg(long)]
        force: bool,
        /// Although archive files it refers to are missing
        #[arg(long)]
        incomplete: bool,
    },
    /// Copy one elsewhere, with all that is needed to go on there
    Export {
        /// Its name
        name: String,
        /// A folder or s3://BUCKET/PREFIX; it goes into a folder of its name there
        target: String,
        /// Leave the WARC and CDXJ files behind
        #[arg(long)]
        without_warc: bool,
    },
    /// Make a new data folder (--data) of an exported one
    Import {
        /// Where it was exported to: its own folder, or the one above for the newest
        source: String,
        /// Although archive files were left behind
        #[arg(long)]
        incomplete: bool,
    },
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
mod tests {
    use super::*;

    fn typed(line: &str) -> Result<Cli, CliError> {
        Cli::try_parse_from(line.split(' ')).map_err(|e| explain(&e).unwrap_err())
    }

    #[test]
    fn the_arguments_are_well_defined() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn every_command_of_the_manual_is_understood() {
        let lines = [
            "lycosa run",
            "lycosa run crawl.toml --seed http://a.test/ --seed http://b.test/ --seeds - --contact me@x.org --data d",
            "lycosa run --until-done --max-pages 5 --max-time 1h --max-bytes 1GB --max-pages-per-host 7 --dry-run",
            "lycosa run --max-failures 9",
            "lycosa run --allow-net 127.0.0.1/32:8500 --set a.b=c --log-format json --no-progress",
            "lycosa testweb --listen 127.0.0.1:0 --hosts 3 --pages 5 --seed 1",
            "lycosa fetch http://a.test/ --json --follow",
            "lycosa inspect url --base http://a.test/ x y",
            "lycosa inspect robots --agent Lycosa --robots robots.txt /x",
            "lycosa inspect page page.html --url http://a.test/ --content-type text/html",
            "lycosa config init -",
            "lycosa config show --origin x.toml",
            "lycosa config check x.toml",
            "lycosa check-config x.toml",
            "lycosa check x.toml --data d --full --json",
            "lycosa check --repair --no-progress --set a.b=c",
            "lycosa ctl status --json",
            "lycosa ctl --admin 127.0.0.1:7700 seeds add http://a.test/",
            "lycosa ctl seeds add --file -",
            "lycosa ctl pause",
            "lycosa ctl resume",
            "lycosa ctl stop",
            "lycosa ctl set politeness.min_delay=2s scope.exclude=/x --dry-run",
            "lycosa ctl set scope.mode=any --readmit --json",
            "lycosa ctl unset scope.mode",
            "lycosa ctl undo",
            "lycosa ctl settings --origin",
            "lycosa ctl urls readmit --reason scope --host a.test",
            "lycosa ctl checkpoint --json",
            "lycosa checkpoint create --data d --admin 127.0.0.1:7700",
            "lycosa checkpoint list --config crawl.toml --json",
            "lycosa checkpoint verify",
            "lycosa checkpoint verify newest --data d",
            "lycosa checkpoint restore newest --data new --from old --force --incomplete",
            "lycosa checkpoint export newest s3://bucket/prefix --without-warc",
            "lycosa checkpoint import /mnt/copies --data new --incomplete --set checkpoint.s3_endpoint=http://127.0.0.1:9000",
        ];
        for line in lines {
            assert!(typed(line).is_ok(), "{line}: {}", typed(line).unwrap_err());
        }
    }

    #[test]
    fn a_mistake_is_one_line_that_names_it() {
        for (line, part) in [
            ("lycosa rum", "'rum'"),
            ("lycosa run --max-pages x", "--max-pages"),
            ("lycosa run --sed x", "--seed"),
            ("lycosa fetch", "<URL>"),
            ("lycosa run --log-format xml", "json"),
        ] {
            let error = typed(line).unwrap_err();
            assert_eq!(error.exit, Exit::Usage);
            assert!(error.message.contains(part) && !error.message.contains('\n'), "{error}");
        }
    }
}
