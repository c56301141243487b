//! The commands of the `lycosa` program.

pub mod args;
#[cfg(feature = "rocksdb")]
mod at_rest;
#[cfg(feature = "rocksdb")]
mod check;
mod checkpoint;
mod config_cmd;
mod ctl;
mod diff;
#[cfg(feature = "rocksdb")]
mod erase;
pub mod exit;
#[cfg(feature = "rocksdb")]
mod export;
mod fetch;
mod gather;
mod hits;
#[cfg(all(feature = "rocksdb", feature = "search"))]
mod index;
mod inspect;
mod inspect_page;
mod inspect_sitemap;
#[cfg(feature = "rocksdb")]
mod interrupt;
#[cfg(feature = "rocksdb")]
mod part;
mod progress;
#[cfg(feature = "rocksdb")]
mod replay;
mod run;
#[cfg(all(feature = "rocksdb", feature = "search"))]
mod search;
#[cfg(test)]
mod tests;
#[cfg(feature = "rocksdb")]
mod watch;
mod why;

use std::io::Write;

use clap::CommandFactory as _;

use args::{Cli, Command, ConfigCommand};
pub use exit::{CliError, Exit};
use exit::{Safe, in_json};

use crate::config::LogSection;

#[cfg(feature = "rocksdb")]
use check::run as check_folder;

#[cfg(feature = "rocksdb")]
use replay::run as replay_pages;

#[cfg(not(feature = "rocksdb"))]
fn replay_pages(_: &args::ReplayArgs, _: &mut dyn Write) -> Result<Exit, CliError> {
    Err(CliError::usage("built without RocksDB: there is no data folder to replay"))
}

#[cfg(not(feature = "rocksdb"))]
fn check_folder(_: &args::FolderArgs, _: Option<&str>, _: &mut dyn Write) -> Result<Exit, CliError> {
    Err(CliError::usage("built without RocksDB: there is no data folder to check"))
}

#[cfg(feature = "rocksdb")]
use erase::run as erase_host;

#[cfg(not(feature = "rocksdb"))]
fn erase_host(_: &args::EraseArgs, _: &mut dyn Write) -> Result<Exit, CliError> {
    Err(CliError::usage("built without RocksDB: there is no data folder to erase in"))
}

#[cfg(feature = "rocksdb")]
use part::{links as carry_links, merge as merge_folders, split as split_folder};

#[cfg(not(feature = "rocksdb"))]
const NO_PARTS: &str = "built without RocksDB: there is no data folder to take apart";

#[cfg(not(feature = "rocksdb"))]
fn split_folder(_: &args::SplitArgs, _: &mut dyn Write) -> Result<Exit, CliError> {
    Err(CliError::usage(NO_PARTS))
}

#[cfg(not(feature = "rocksdb"))]
fn merge_folders(_: &args::MergeArgs, _: &mut dyn Write) -> Result<Exit, CliError> {
    Err(CliError::usage(NO_PARTS))
}

#[cfg(not(feature = "rocksdb"))]
fn carry_links(_: &args::LinksArgs, _: &mut dyn Write) -> Result<Exit, CliError> {
    Err(CliError::usage(NO_PARTS))
}

#[cfg(feature = "rocksdb")]
use export::run as export_folder;

#[cfg(not(feature = "rocksdb"))]
fn export_folder(_: &args::ExportArgs, _: Option<&str>, _: &mut dyn Write) -> Result<Exit, CliError> {
    Err(CliError::usage("built without RocksDB: there is no data folder to export"))
}

#[cfg(all(feature = "rocksdb", feature = "search"))]
use index::run as index_of_folder;

#[cfg(not(all(feature = "rocksdb", feature = "search")))]
fn index_of_folder(_: &args::IndexArgs, _: &mut dyn Write) -> Result<Exit, CliError> {
    Err(CliError::usage("built without RocksDB or the feature `search`: there is no index"))
}

#[cfg(all(feature = "rocksdb", feature = "search"))]
use search::run as search_folder;

#[cfg(not(all(feature = "rocksdb", feature = "search")))]
fn search_folder(_: &args::SearchArgs, _: &mut dyn Write) -> Result<Exit, CliError> {
    Err(CliError::usage("built without RocksDB or the feature `search`: there is no index"))
}

/// Carries out what was typed.
///
/// # Errors
/// One line for stderr and the exit code.
pub fn execute(cli: Cli, raw: &mut dyn Write) -> Result<Exit, CliError> {
    let rust_log = std::env::var("RUST_LOG").ok();
    let out = &mut Safe(raw);
    if !matches!(cli.command, Command::Run(_) | Command::Check(_) | Command::Export(_)) {
        let quiet = LogSection { level: "warn".into(), ..LogSection::default() };
        crate::telemetry::log::init(&quiet, rust_log.as_deref());
    }
    match cli.command {
        Command::Run(args) => run::run(&args, rust_log.as_deref(), out),
        Command::Check(args) => {
            let done = check_folder(&args, rust_log.as_deref(), out);
            in_json(args.json, done, out)
        }
        Command::Erase(args) => {
            let done = erase_host(&args, out);
            in_json(args.at_rest.json, done, out)
        }
        Command::Export(args) => {
            let done = export_folder(&args, rust_log.as_deref(), out);
            in_json(args.json, done, out)
        }
        Command::Split(args) => {
            let done = split_folder(&args, out);
            in_json(args.both.json, done, out)
        }
        Command::Merge(args) => {
            let done = merge_folders(&args, out);
            in_json(args.both.json, done, out)
        }
        Command::Links(args) => {
            let done = carry_links(&args, out);
            in_json(args.both.json, done, out)
        }
        Command::Testweb(args) => crate::testweb::run(*args).map(|()| Exit::Done).map_err(CliError::new),
        Command::Fetch(args) => fetch::run(&args, out.0), // with --body as it came
        Command::Inspect(command) => inspect::run(&command, out),
        Command::Config(ConfigCommand::Init { file }) => config_cmd::init(&file, out).map(|()| Exit::Done),
        Command::Config(ConfigCommand::Show { config, origin, json, settings }) => {
            config_cmd::show(config.as_deref(), &settings, origin, json, out).map(|()| Exit::Done)
        }
        Command::Config(ConfigCommand::Check(args)) | Command::CheckConfig(args) => {
            config_cmd::check(&args.file, out).map(|()| Exit::Done)
        }
        Command::Checkpoint(args) => {
            let done = checkpoint::run(&args, out);
            in_json(args.at_rest.json, done, out)
        }
        Command::Index(args) => {
            let done = index_of_folder(&args, out);
            in_json(args.at_rest.json, done, out)
        }
        Command::Search(args) => {
            let done = search_folder(&args, out);
            in_json(args.at_rest.json, done, out)
        }
        Command::Replay(args) => replay_pages(&args, out.0), // each line is escaped
        Command::Diff(args) => {
            let done = diff::run(&args, out.0).map(|()| Exit::Done); // coloured, what is of the page escaped
            in_json(args.json, done, out)
        }
        Command::Ctl(args) => {
            let done = ctl::run(&args, out.0); // an archive file as it is kept
            in_json(args.json && !args.command.is_lines(), done, out)
        }
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "lycosa", &mut text);
            out.write_all(&text)?;
            Ok(Exit::Done)
        }
    }
}
