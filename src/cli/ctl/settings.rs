//! Settings of a running crawl: set, unset, shown, taken back, tried.

use std::io::Write;

use awc::http::Method;
use clap::Subcommand;
use serde_json::{Map, Value, json};

use super::door::Ask;
use super::jobs::started;
use super::unread;
use crate::admin::jobs::{JobState, JobView};
use crate::admin::settings::{ChangeView, Changed, SettingsView, TrialPart, TrialView};
use crate::cli::exit::{CliError, unless_gone};
use crate::config::{ConfigError, Layers, Origin};

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
        /// Also when the crawl would end at once, or most of the queue be turned away
        #[arg(long)]
        force: bool,
    },
    /// Take back the last change of the settings
    #[command(after_help = "Example: lycosa ctl undo")]
    Undo {
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

/// What a command asks.
///
/// # Errors
/// An assignment that no key takes.
pub(super) fn ask(command: &SettingsCommand) -> Result<Ask, CliError> {
    let patch = |query: &str, changes: Map<String, Value>| {
        let (path, body) = (format!("/api/v1/settings{query}"), Value::Object(changes).to_string());
        Ask { method: Method::PATCH, path, body }
    };
    Ok(match command {
        SettingsCommand::Set { assignments, all: true, .. } => {
            let changes: Map<String, Value> =
                assignments.iter().map(|text| assigned(text)).collect::<Result<_, _>>()?;
            Ask::post("/api/v1/settings/dry-run", Value::Object(changes).to_string())
        }
        SettingsCommand::Set { assignments, dry_run, readmit, force, .. } => {
            let changes = assignments.iter().map(|text| assigned(text)).collect::<Result<_, _>>()?;
            let query = match (dry_run, readmit, force) {
                (true, ..) => "?dry_run=true",
                (false, true, true) => "?readmit=true&force=true",
                (false, true, false) => "?readmit=true",
                (false, false, force) => forced(*force),
            };
            patch(query, changes)
        }
        SettingsCommand::Unset { keys, force } => {
            patch(forced(*force), keys.iter().map(|key| (key.clone(), Value::Null)).collect())
        }
        SettingsCommand::Undo { force } => Ask::post(format!("/api/v1/settings/undo{}", forced(*force)), String::new()),
        SettingsCommand::Settings { command: Some(SettingsPart::History), .. } => Ask::get("/api/v1/settings/history"),
        SettingsCommand::Settings { command: None, .. } => Ask::get("/api/v1/settings"),
    })
}

fn forced(force: bool) -> &'static str {
    if force { "?force=true" } else { "" }
}

/// Shows an answer.
///
/// # Errors
/// It is none.
pub(super) fn tell(command: &SettingsCommand, answer: &str, out: &mut dyn Write) -> Result<(), CliError> {
    let told = match command {
        SettingsCommand::Set { all: true, readmit, .. } => {
            tried(&serde_json::from_str(answer).map_err(unread)?, *readmit, out)?
        }
        SettingsCommand::Set { dry_run: true, readmit, .. } => {
            trial(&serde_json::from_str(answer).map_err(unread)?, *readmit, out)
        }
        SettingsCommand::Set { .. } | SettingsCommand::Unset { .. } | SettingsCommand::Undo { .. } => {
            changed(&serde_json::from_str(answer).map_err(unread)?, out)
        }
        SettingsCommand::Settings { command: Some(SettingsPart::History), .. } => out.write_all(
            super::history::told(&serde_json::from_str::<Vec<ChangeView>>(answer).map_err(unread)?).as_bytes(),
        ),
        SettingsCommand::Settings { origin, .. } => {
            settings(&serde_json::from_str(answer).map_err(unread)?, *origin, out)
        }
    };
    unless_gone(told)
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

fn changed(made: &Changed, out: &mut dyn Write) -> std::io::Result<()> {
    let change = &made.change;
    if change.changed.is_empty() {
        writeln!(out, "nothing changed: it was so before (generation {})", change.generation)?;
    } else {
        writeln!(out, "in force, generation {}", change.generation)?;
    }
    for key in &change.changed {
        let after = if key.after.is_null() { "as configured".to_owned() } else { key.after.to_string() };
        writeln!(out, "{} = {}", key.key, crate::telemetry::log::escaped(&after))?;
    }
    if let Some(note) = &made.note {
        writeln!(out, "note: {note}")?;
    }
    if let Some(hint) = super::hint::after(made) {
        writeln!(out, "{hint}")?;
    }
    made.job.as_ref().map_or(Ok(()), |job| write!(out, "{}", started(job)))
}

/// A dry run of all URLs: its result, or that it goes on.
fn tried(job: &JobView, readmit: bool, out: &mut dyn Write) -> Result<std::io::Result<()>, CliError> {
    if job.state != JobState::Done {
        return Ok(write!(out, "{}", started(job)));
    }
    Ok(trial(&serde_json::from_value(job.result.clone()).map_err(unread)?, readmit, out))
}

/// Whether a job carries it out whose end is waited for.
pub(super) fn waits(command: &SettingsCommand) -> bool {
    matches!(command, SettingsCommand::Set { all: true, no_wait: false, .. })
}

fn settings(shown: &SettingsView, origin: bool, out: &mut dyn Write) -> std::io::Result<()> {
    for setting in &shown.settings {
        let value = crate::telemetry::log::escaped(&setting.value.to_string());
        let line = if setting.value.is_null() {
            format!("# {} is not set", setting.key)
        } else {
            format!("{} = {value}", setting.key)
        };
        match setting.origin.as_str() {
            from if origin && from != "default" => writeln!(out, "{line}  # {from}")?,
            _ => writeln!(out, "{line}")?,
        }
    }
    Ok(())
}

fn trial(view: &TrialView, readmit: bool, out: &mut dyn Write) -> std::io::Result<()> {
    for warning in &view.warnings {
        writeln!(out, "needs --force: {warning}")?;
    }
    let sample = if view.sample { ", a sample" } else { "" };
    let mut part = |what: &str, condition: &str, would: &str, part: &TrialPart| {
        writeln!(out, "{} of {} {what} URLs looked at{sample}", part.looked, part.of)?;
        for (reason, n) in &part.changing {
            writeln!(out, "  {condition}{n} would be {would}: {reason}")?;
        }
        for example in &part.examples {
            let text = format!("{} ({})", example.url, example.rule);
            writeln!(out, "    {}", crate::telemetry::log::escaped(&text))?;
        }
        Ok(())
    };
    part("queued", "", "turned away", &view.queued)?;
    part("rejected", if readmit { "" } else { "with --readmit " }, "readmitted, now", &view.rejected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_assignment_has_the_type_of_its_key() {
        let cases = [
            ("crawl.max_pages=5", "crawl.max_pages", json!(5)),
            ("crawl.max_pages=", "crawl.max_pages", json!("")),
            ("politeness.min_delay=2s", "politeness.min_delay", json!("2s")),
            ("scope.exclude=a,b", "scope.exclude", json!(["a", "b"])),
            ("crawl.until_done=true", "crawl.until_done", json!(true)),
            (r#"host.*.a.test={min_delay="2s"}"#, "host.*.a.test", json!({"min_delay": "2s"})),
        ];
        for (text, key, value) in cases {
            assert_eq!(assigned(text).unwrap(), (key.to_owned(), value), "{text}");
        }
        for (text, part) in [("crawl.max_page=5", "crawl.max_page"), ("x", "key=value"), ("host.a=5", "a table")] {
            let error = assigned(text).unwrap_err().to_string();
            assert!(error.contains(part) && !error.contains("--set"), "{error}");
        }
    }

    fn tried_with(assignments: Vec<String>, dry_run: bool, readmit: bool) -> SettingsCommand {
        SettingsCommand::Set { assignments, dry_run, all: false, no_wait: false, readmit, force: false }
    }

    fn shown(command: &SettingsCommand, answer: &Value) -> String {
        let mut out = Vec::new();
        tell(command, &answer.to_string(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_dry_run_without_readmit_says_that_rejected_urls_would_come_back_only_with_it() {
        let part = TrialPart { of: 9, looked: 9, changing: [("scope".to_owned(), 3)].into(), examples: Vec::new() };
        let view = json!(TrialView { rejected: part, ..TrialView::default() });
        let set = |readmit| tried_with(Vec::new(), true, readmit);
        assert!(shown(&set(false), &view).contains("\n  with --readmit 3 would be readmitted, now: scope\n"));
        assert!(shown(&set(true), &view).contains("\n  3 would be readmitted, now: scope\n"));
    }

    #[test]
    fn a_narrowing_that_is_taken_back_says_how_rejected_urls_come_back() {
        let change = |before: Value, after: Value| {
            let changed = json!([{"key": "scope.exclude", "before": before, "after": after}]);
            let change =
                json!({"generation": 3, "at": 0, "by": "admin", "undoes": null, "undone": false, "changed": changed});
            shown(&SettingsCommand::Undo { force: false }, &json!({"change": change, "job": null, "note": null}))
        };
        assert!(change(json!(["/a"]), json!(null)).contains("stay rejected; `lycosa ctl urls readmit`"));
        assert!(!change(json!(null), json!(["/a"])).contains("readmit"));
    }

    #[test]
    fn a_dry_run_of_all_is_a_job_and_its_result_is_told() {
        let set = SettingsCommand::Set {
            assignments: vec!["scope.mode=any".into()],
            dry_run: true,
            all: true,
            no_wait: false,
            readmit: false,
            force: false,
        };
        let asked = ask(&set).unwrap();
        assert_eq!((asked.path.as_str(), asked.body.as_str()), ("/api/v1/settings/dry-run", r#"{"scope.mode":"any"}"#));
        let part = TrialPart { of: 9, looked: 9, changing: [("scope".to_owned(), 3)].into(), examples: Vec::new() };
        let job = |state: &str, result: Value| {
            json!({"id": 6, "kind": "dry-run", "about": "", "state": state, "looked": 9, "changed": 0, "started": 0,
                "ended": null, "error": null, "result": result})
        };
        let done = job("done", json!(TrialView { queued: part, ..TrialView::default() }));
        assert!(shown(&set, &done).contains("9 of 9 queued URLs looked at\n  3 would be turned away: scope\n"));
        assert!(shown(&set, &job("running", Value::Null)).starts_with("job 6 (dry-run) has begun; "));
    }

    #[test]
    fn what_is_asked_is_told_by_the_command() {
        let set = |dry_run, readmit| tried_with(vec!["crawl.max_pages=5".into()], dry_run, readmit);
        let asked = |command: &SettingsCommand| ask(command).map(|a| (a.method.to_string(), a.path, a.body)).unwrap();
        let body = r#"{"crawl.max_pages":5}"#;
        let patch = |path: &str, body: &str| ("PATCH".to_owned(), path.to_owned(), body.to_owned());
        assert_eq!(asked(&set(false, false)), patch("/api/v1/settings", body));
        assert_eq!(asked(&set(true, true)), patch("/api/v1/settings?dry_run=true", body));
        assert_eq!(asked(&set(false, true)), patch("/api/v1/settings?readmit=true", body));
        let unset = |force| SettingsCommand::Unset { keys: vec!["log.level".into()], force };
        assert_eq!(asked(&unset(false)), patch("/api/v1/settings", r#"{"log.level":null}"#));
        assert_eq!(asked(&unset(true)), patch("/api/v1/settings?force=true", r#"{"log.level":null}"#));
        for (readmit, path) in [(false, "?force=true"), (true, "?readmit=true&force=true")] {
            let set = SettingsCommand::Set {
                assignments: vec!["crawl.max_pages=5".into()],
                dry_run: false,
                all: false,
                no_wait: false,
                readmit,
                force: true,
            };
            assert_eq!(asked(&set), patch(&format!("/api/v1/settings{path}"), body));
        }
        assert_eq!(asked(&SettingsCommand::Undo { force: true }).1, "/api/v1/settings/undo?force=true");
    }
}
