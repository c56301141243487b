//! What may be typed after `lycosa export`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};

use super::SettingsArgs;
use crate::export::{ALSO, FORMATS, Options, Select};

/// The formats, each with what it is.
pub(in crate::cli) fn formats() -> PossibleValuesParser {
    PossibleValuesParser::new(FORMATS.iter().map(|form| {
        let also = ALSO.iter().filter(|(_, name)| *name == form.name).map(|(also, _)| *also);
        PossibleValue::new(form.name).help(form.about).aliases(also)
    }))
}

/// Arguments of `lycosa export`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples: lycosa export jsonl --data data --to pages.jsonl.zst\n          \
                        lycosa export jsonl --data data --to new.jsonl --site example.org --after 4100")]
pub struct ExportArgs {
    /// Which format
    #[arg(value_parser = formats())]
    pub format: String,
    /// What is made: a file or a folder, by the format; a manifest lies beside or in it
    #[arg(long, value_name = "PATH")]
    pub to: PathBuf,
    /// The crawl's configuration file (TOML)
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The data folder
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Replace what is there already
    #[arg(long)]
    pub force: bool,
    /// JSON
    #[arg(long)]
    pub json: bool,
    /// No progress display, even in a terminal
    #[arg(long)]
    pub no_progress: bool,
    /// Which pages.
    #[command(flatten, next_help_heading = "Which pages")]
    pub select: Select,
    /// What the format is told.
    #[command(flatten, next_help_heading = "Of some formats")]
    pub options: Options,
    /// Settings.
    #[command(flatten, next_help_heading = "Settings")]
    pub settings: SettingsArgs,
}
