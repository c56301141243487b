//! What may be typed after `lycosa inspect` and `lycosa config`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{CheckArgs, SettingsArgs};

/// The settings that what is inspected is read by.
#[derive(Clone, Debug, Default, Args)]
pub struct RulesArgs {
    /// Configuration file (TOML) whose rules hold, such as parse.assets and [[extract]]
    #[allow(rustdoc::broken_intra_doc_links, reason = "the text of --help, in which nothing is escaped")]
    #[arg(long, visible_alias = "extract", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Set a key, such as parse.assets=true; an empty value takes it back to its default
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
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
        /// Settings.
        #[command(flatten)]
        rules: RulesArgs,
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
        /// Settings.
        #[command(flatten)]
        rules: RulesArgs,
    },
    /// What is taken from a page: charset, title, directives, links, text, card
    Page {
        /// The page or other document, compressed with gzip or not; `-` is standard input
        file: PathBuf,
        /// Its URL
        #[arg(long, value_name = "URL")]
        url: String,
        /// Its Content-Type header
        #[arg(long, value_name = "TYPE")]
        content_type: Option<String>,
        /// Its card alone, in lines: title, abstract, keywords, language, links
        #[arg(long)]
        card: bool,
        /// Keywords from the first source that has any, not from one after another until there are ten
        #[arg(long)]
        first_source: bool,
        /// Settings.
        #[command(flatten)]
        rules: RulesArgs,
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
