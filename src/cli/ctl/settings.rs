//! Settings of a running crawl: set, unset, shown, taken back, tried.

use awc::http::Method;
use clap::Subcommand;
use serde_json::{Map, Value, json};

use super::door::Ask;
use super::jobs::started;
use super::told::{self, InForce};
use super::{read, unread};
use crate::admin::jobs::{JobState, JobView};
use crate::admin::settings::{SettingView, SettingsView};
use crate::cli::exit::CliError;
use crate::config::{ConfigError, Layers, Origin};
use crate::telemetry::log::escaped;

/// The commands.
#[derive(Clone, Debug, Subcommand)]
pub enum SettingsCommand {
    /// Change settings while the crawl runs
    #[command(
        after_help = "Examples: lycosa ctl set politeness.min_delay=2s\n          lycosa ctl set scope.exclude=/private/ --dry-run --all"
    )]
    Set {
        /// The values; host.PATTERN={min_delay="2s"} is the section of one host; an empty value is the built-in default
        #[arg(required = true, value_name = "KEY=VALUE")]
        assignments: Vec<String>,
        /// Change nothing; show what it would do to a sample of the URLs there are
        #[arg(long)]
        dry_run: bool,
        /// With --dry-run: look at all URLs there are, as a job
        #[arg(long, requires = "dry_run")]
        all: bool,
        /// With --all: start the job and do not wait for its end
        #[arg(long, requires = "all")]
        no_wait: bool,
        /// Judge rejected URLs again by the new rules
        #[arg(long)]
        readmit: bool,
        /// Rank waiting URLs anew by the new rules
        #[arg(long)]
        rerank: bool,
        /// Also when the crawl would end at once, or most of the queue be turned away
        #[arg(long)]
        force: bool,
    },
    /// Take keys back to what file, environment and flags say
    #[command(after_help = "Example: lycosa ctl unset scope.exclude")]
    Unset {
        /// The keys
        #[arg(required = true, value_name = "KEY")]
        keys: Vec<String>,
        /// Rank waiting URLs anew by the rules that hold then
        #[arg(long)]
        rerank: bool,
        /// Also when the crawl would end at once, or most of the queue be turned away
        #[arg(long)]
        force: bool,
    },
    /// Take back the last change of the settings
    #[command(after_help = "Examples: lycosa ctl undo\n          lycosa ctl undo --rerank")]
    Undo {
        /// Rank waiting URLs anew by the rules that hold then
        #[arg(long)]
        rerank: bool,
        /// Also when the crawl would end at once, or most of the queue be turned away
        #[arg(long)]
        force: bool,
    },
    /// Show the settings in force, or their last changes
    #[command(
        args_conflicts_with_subcommands = true,
        after_help = "Examples: lycosa ctl settings --origin\n          lycosa ctl settings history"
    )]
    Settings {
        /// Show who set each
        #[arg(long)]
        origin: bool,
        /// What of them; without it they are shown.
        #[command(subcommand)]
        command: Option<SettingsPart>,
    },
}

/// Of the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Subcommand)]
pub enum SettingsPart {
    /// Show the last changes, the newest first
    #[command(after_help = "Example: lycosa ctl settings history")]
    History,
}

pub(super) fn ask(command: &SettingsCommand) -> Result<Ask, CliError> {
    let patch = |query: &str, changes: Map<String, Value>| {
        let (path, body) = (format!("/api/v1/settings{query}"), Value::Object(changes).to_string());
        Ask { method: Method::PATCH, path, body }
    };
    Ok(match command {
        SettingsCommand::Set { assignments, dry_run, all, readmit, rerank, force, .. } => {
            let changes = assignments.iter().map(|text| assigned(text)).collect::<Result<_, _>>()?;
            match dry_run {
                _ if *all => Ask::post("/api/v1/settings/dry-run", Value::Object(changes).to_string()),
                true => patch("?dry_run=true", changes),
                false => patch(&asked(&[("readmit", *readmit), ("rerank", *rerank), ("force", *force)]), changes),
            }
        }
        SettingsCommand::Unset { keys, rerank, force } => {
            let changes = keys.iter().map(|key| (key.clone(), Value::Null)).collect();
            patch(&asked(&[("rerank", *rerank), ("force", *force)]), changes)
        }
        SettingsCommand::Undo { rerank, force } => {
            let how = asked(&[("rerank", *rerank), ("force", *force)]);
            Ask::post(format!("/api/v1/settings/undo{how}"), String::new())
        }
        SettingsCommand::Settings { command: Some(SettingsPart::History), .. } => Ask::get("/api/v1/settings/history"),
        SettingsCommand::Settings { command: None, .. } => Ask::get("/api/v1/settings"),
    })
}

/// What is asked for beside a change, as a query.
fn asked(flags: &[(&str, bool)]) -> String {
    let set: Vec<String> = flags.iter().filter(|(_, set)| *set).map(|(name, _)| format!("{name}=true")).collect();
    if set.is_empty() { String::new() } else { format!("?{}", set.join("&")) }
}

/// What an answer says, with what is in force now.
pub(super) fn told(command: &SettingsCommand, answer: &str, now: &InForce) -> Result<String, CliError> {
    Ok(match command {
        SettingsCommand::Set { all: true, readmit, .. } => {
            let job: JobView = read(answer)?;
            match job.state {
                JobState::Done => told::tried(&serde_json::from_value(job.result).map_err(unread)?, now, *readmit),
                _ => started(&job),
            }
        }
        SettingsCommand::Set { dry_run: true, readmit, .. } => told::tried(&read(answer)?, now, *readmit),
        SettingsCommand::Set { .. } | SettingsCommand::Unset { .. } | SettingsCommand::Undo { .. } => {
            told::made(&read(answer)?, now)
        }
        SettingsCommand::Settings { command: Some(SettingsPart::History), .. } => {
            told::history(&read::<Vec<_>>(answer)?)
        }
        SettingsCommand::Settings { origin, .. } => settings(&read(answer)?, *origin),
    })
}

/// A key and its value, read as `--set` reads it.
fn assigned(text: &str) -> Result<(String, Value), ConfigError> {
    let wrong = |key: &str, problem: String| ConfigError::Value { place: "ctl set".into(), key: key.into(), problem };
    if let Some((key, value)) = text.split_once('=').filter(|(key, _)| key.starts_with("host.")) {
        let read = toml::from_str::<Map<String, Value>>(&format!("v = {value}"));
        let section = read.ok().and_then(|mut table| table.remove("v")).filter(Value::is_object);
        let section = section.ok_or_else(|| wrong(key, r#"expected a table such as {min_delay="2s"}"#.into()))?;
        return Ok((key.to_owned(), section));
    }
    let layers = Layers::new().set(text).map_err(|e| match e {
        ConfigError::Value { key, problem, .. } => wrong(&key, problem),
        other => other,
    })?;
    let shown = layers.show()?.into_iter().find(|shown| shown.origin != Origin::Default);
    let key = text.split('=').next().unwrap_or_default().trim().to_owned();
    Ok(shown.map_or((key, json!("")), |shown| (shown.key, shown.json))) // an empty value leaves nothing set
}

/// Whether the values in force belong to what is told of it.
pub(super) fn is_change(command: &SettingsCommand) -> bool {
    !matches!(command, SettingsCommand::Settings { .. })
}

/// Whether a job carries it out whose end is waited for.
pub(super) fn waits(command: &SettingsCommand) -> bool {
    matches!(command, SettingsCommand::Set { all: true, no_wait: false, .. })
}

fn settings(shown: &SettingsView, origin: bool) -> String {
    let line = |setting: &SettingView| {
        let line = match setting.value.is_null() {
            true => format!("# {} is not set", setting.key),
            false => format!("{} = {}", setting.key, escaped(&setting.value.to_string())),
        };
        match setting.origin.as_str() {
            from if origin && from != "default" => format!("{line}  # {from}\n"),
            _ => line + "\n",
        }
    };
    shown.settings.iter().map(line).collect()
}
