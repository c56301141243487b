//! `lycosa run`: settings, checks, then the crawl.

use std::fmt::Write as _;
use std::io::{ErrorKind, Write};

use super::args::RunArgs;
use super::exit::{CliError, Exit, unless_gone};
use super::gather::{as_member, run_layers};
use super::progress::Progress;
use super::{checkpoint, config_cmd, why};
use crate::admin::AdminError;
use crate::app::{self, Ended, Outcome, ReadAgain, RunError, StartError};
use crate::base::disk::DiskFault;
use crate::base::units::{counted, format_duration};
use crate::config::{Settings, without_credentials};
use crate::crawl::node::Stop;
use crate::telemetry::log::escaped;
use crate::telemetry::summary;

/// Checks everything and crawls.
///
/// # Errors
/// Bad settings (exit code 2), or whatever ended the crawl.
pub fn run(args: &RunArgs, rust_log: Option<&str>, out: &mut dyn Write) -> Result<Exit, CliError> {
    let layers = run_layers(args)?;
    let settings = layers.load()?;
    crate::telemetry::log::init(&settings.log, rust_log);
    for notice in layers.notices() {
        log::warn!("{notice}");
    }
    let settings = as_member(settings)?;
    if let Some(name) = args.take_place.as_ref().filter(|name| settings.cluster.node.as_ref() != Some(name)) {
        let is = settings.member();
        return Err(CliError::usage(format!(
            "this folder is the member {is}: --as {name} needs an empty folder (--data DIR)"
        )));
    }
    let comes_along = args.from.is_some() || settings.cluster.spare || args.take_place.is_some();
    match comes_along {
        false => settings.ready_to_run(args.config.is_some())?,
        true => settings.contact_for(&settings.crawl.seeds)?, // its seeds come along
    }
    settings.places()?;
    if args.dry_run {
        config_cmd::dry_run(&settings)?;
        out.write_all(plan(&settings).as_bytes())?;
        return Ok(Exit::Done);
    }
    let restored = checkpoint::settled(&settings, args.from.is_some() || settings.is_member())?;
    let settings = as_member(settings)?; // it may be one since a moment ago
    config_cmd::startable(&settings)?; // what another start would not cure, before anything is made
    if let Some(from) = args.from.as_ref().filter(|_| !restored) {
        checkpoint::restored_from(&settings, from)?;
    }
    let hangup = config_cmd::on_hangup(args, &settings);
    start(settings, args, hangup, out)
}

/// Hands over to the composition root; shows progress meanwhile and a summary at the end.
fn start(settings: Settings, args: &RunArgs, hangup: ReadAgain, out: &mut dyn Write) -> Result<Exit, CliError> {
    let (live, every) = (!args.no_progress, settings.log.summary);
    let watched = |look| Progress::start(look, live, every);
    let until_done = settings.crawl.until_done;
    let begin = app::Begin { held_back: args.readmit_held_back, takes_place: args.take_place.is_some() };
    let outcome = match app::run(settings, begin, hangup, watched).map_err(failed)? {
        Ended::Crawl(outcome) => *outcome,
        Ended::Erasing => {
            unless_gone(out.write_all(b"stopped while a host was being erased; the next start goes on with that\n"))?;
            return Ok(if until_done { Exit::Interrupted } else { Exit::Done });
        }
        Ended::Waiting(why) => {
            unless_gone(writeln!(out, "{why}"))?;
            return Ok(Exit::Done);
        }
    };
    let exit = exit_of(&outcome);
    let told = match &outcome.stop {
        Stop::Replaced(why) => format!("replaced: {why}"),
        Stop::Left(why) => why.clone(),
        Stop::Supervisor(why) | Stop::Disk(why) => format!("{}: {why}", exit.as_str()),
        _ if exit == Exit::NothingStored => {
            format!("{}: {}", exit.as_str(), why::nothing_fetched(&outcome.status, &outcome.refused))
        }
        Stop::Done if outcome.status.waiting > 0 => done_but_for(outcome.status.waiting, outcome.never_tried),
        Stop::Asked | Stop::Drained | Stop::Erase | Stop::Moves if exit == Exit::Done && outcome.status.waiting > 0 => {
            "stopped".to_owned()
        }
        _ => exit.as_str().to_owned(),
    };
    let mut text = summary::table(&outcome.status, &told);
    for note in why::notes(&outcome, typed().as_deref()) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "note: {}", escaped(&note));
    }
    unless_gone(out.write_all(text.as_bytes()))?;
    Ok(exit)
}

/// That URLs are left, and whether they were ever tried.
fn done_but_for(left: u64, never_tried: u64) -> String {
    let urls = counted(left, "URL");
    match never_tried {
        0 => format!("done, but for {urls}"),
        1 if left == 1 => format!("done, but for {urls}, never tried"),
        n => format!("done, but for {urls}, {n} of them never tried"),
    }
}

/// The command that was typed, as a shell takes it, without what is done once. One that may hold secrets is not repeated.
fn typed() -> Option<String> {
    let words: Option<Vec<String>> = std::env::args_os().skip(1).map(|word| word.into_string().ok()).collect();
    let words = words?.into_iter().filter(|word| word != why::HELD_BACK).collect::<Vec<_>>();
    shell_words(&words).map(|words| format!("lycosa {words}"))
}

/// Words as a shell takes them; `None` for none, for too many, and for what may hold secrets.
fn shell_words(words: &[String]) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    let quoted = |word: &String| match !word.is_empty() && word.chars().all(plain) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    };
    let text = words.iter().map(quoted).collect::<Vec<_>>().join(" ");
    let secret = ["credentials", "headers", "proxy", "webhook", "sink", "password", "token"];
    let may_tell = !secret.iter().any(|part| text.contains(part)) && without_credentials(&text) == text;
    (!words.is_empty() && text.len() <= 500 && may_tell).then_some(text)
}

/// A run that could not begin: by a mistake of who called it, which another start does not cure, or by a disk.
pub(super) fn failed(error: RunError) -> CliError {
    #[cfg(feature = "rocksdb")]
    if let RunError::Erase(error) = error {
        return super::erase::failed(error);
    }
    #[cfg(feature = "cluster")]
    if let RunError::Member(error) = error {
        return CliError::usage(error);
    }
    if is_usage(&error) {
        return CliError::usage(error);
    }
    let fault = match &error {
        RunError::Start(e) => e.fault(),
        _ => None,
    };
    let is_broken = matches!(&error, RunError::Start(StartError::Storage(e)) if e.is_broken());
    let (exit, advice) = match fault {
        Some(DiskFault::Full) => (Exit::Disk, "; free some space, then start again"),
        Some(DiskFault::ReadOnly) => (Exit::Disk, "; make it writable, then start again"),
        Some(DiskFault::Io) => (Exit::Disk, "; look at the disk and at the system's log, then start again"),
        _ if is_broken => (Exit::Disk, BROKEN),
        Some(DiskFault::Damaged | DiskFault::Other) | None => (Exit::Error, ""),
    };
    CliError { exit, message: format!("{error}{advice}") }
}

/// A taken port, a folder in use or of something else, a secret that cannot be read.
fn is_usage(error: &RunError) -> bool {
    use crate::storage::StorageError as S;
    use crate::warc::WarcError as W;
    use ErrorKind::{AlreadyExists, NotADirectory, NotFound, PermissionDenied};
    let RunError::Start(error) = error else {
        return matches!(error, RunError::Admin(_) | RunError::Webhooks(_) | RunError::Sinks(_))
            && !matches!(error, RunError::Admin(AdminError::Start(_)));
    };
    let refused =
        |source: &std::io::Error| matches!(source.kind(), PermissionDenied | NotADirectory | NotFound | AlreadyExists);
    match error {
        StartError::Storage(S::NotADataFolder { .. } | S::Version { .. } | S::Locked { .. }) => true,
        StartError::Storage(S::Folder { source, .. }) | StartError::Io { source, .. } => refused(source),
        StartError::Archive(W::InUse { .. } | W::Foreign { .. } | W::Unclaimed { .. }) => true,
        StartError::Archive(W::Io { source, .. }) => refused(source),
        StartError::Memory(_) | StartError::Access(_) | StartError::Source { .. } | StartError::Scope(_) => true,
        StartError::Allow(_)
        | StartError::Dns(_)
        | StartError::Tls(_)
        | StartError::Words(_)
        | StartError::Share(_) => true,
        _ => false,
    }
}

/// What to do about a database that cannot be opened.
pub(super) const BROKEN: &str =
    "; look at the disk; if the database is damaged, restore a checkpoint (`lycosa checkpoint list`) or a copy";

fn exit_of(outcome: &Outcome) -> Exit {
    let nothing = !outcome.status.fetched_any();
    match outcome.stop {
        Stop::Supervisor(_) => Exit::Supervisor,
        Stop::Disk(_) => Exit::Disk,
        Stop::Replaced(_) => Exit::Usage,  // the same command would do the same
        _ if !outcome.clean => Exit::Disk, // something could not be closed
        Stop::Bytes => Exit::SizeLimit,
        Stop::Time => Exit::TimeLimit,
        Stop::Failures => Exit::FailureLimit,
        Stop::Left(_) => Exit::Done,
        Stop::Asked | Stop::Drained | Stop::Erase | Stop::Moves if outcome.until_done => Exit::Interrupted,
        Stop::Done | Stop::Pages if nothing => Exit::NothingStored,
        Stop::Done | Stop::Pages | Stop::Asked | Stop::Drained | Stop::Erase | Stop::Moves => Exit::Done,
    }
}

/// What a run with these settings would do.
pub(super) fn plan(s: &Settings) -> String {
    let limit = |text: Option<String>| text.unwrap_or_else(|| "none".into());
    let rows = [
        ("seeds", without_credentials(&s.crawl.seed_urls().join(" "))),
        ("scope", format!("{:?}", s.scope.mode).to_lowercase()),
        ("order", format!("{:?}", s.crawl.order).to_lowercase()),
        ("depth", limit(s.max_depth().map(|n| n.to_string()))),
        ("pages", limit(s.crawl.max_pages.map(|n| n.to_string()))),
        ("time", limit(s.crawl.max_time.map(format_duration))),
        ("user agent", s.agent.user_agent.clone()),
        ("from", limit(s.agent.from.clone())),
        ("gap", format!("{} or more between requests to a host", format_duration(s.politeness.min_delay))),
        ("data", s.store.data_dir.display().to_string()),
        ("WARC", s.warc_dir().display().to_string()),
        ("admin", limit(s.admin_listen.map(|a| format!("http://{a}")))),
    ];
    let member = s.is_member().then(|| {
        let role = if s.cluster.spare { "a spare" } else { "the member" };
        ("cluster", format!("{}, as {role} {}", s.cluster.name.as_deref().unwrap_or_default(), s.member()))
    });
    let mut text = rows.iter().chain(&member).fold(String::new(), |mut text, (name, value)| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{name:<10}  {value}");
        text
    });
    text.push_str("all settings are good; nothing was contacted or written (--dry-run)\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_seed_or_a_missing_contact_is_bad_usage() {
        for seed in ["https://example.org/", "example.org"] {
            let args = RunArgs { seeds: vec![seed.to_owned()], dry_run: true, ..RunArgs::default() };
            assert_eq!(run(&args, None, &mut Vec::new()).unwrap_err().exit, Exit::Usage);
        }
    }

    #[test]
    fn the_command_that_goes_on_is_told_as_a_shell_takes_it_and_without_secrets() {
        let told = |words: &[&str]| shell_words(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert_eq!(
            told(&["run", "--seed", "http://a.test/?a=1&b=2", "--set", "scope.include=['/x']"]).unwrap(),
            r"run --seed 'http://a.test/?a=1&b=2' --set 'scope.include=['\''/x'\'']'"
        );
        let secret: [&[&str]; 3] =
            [&["run", "--seed", "http://me:secret@a.test/"], &["run", "--set", "fetch.headers={A=\"b\"}"], &[]];
        for words in secret {
            assert_eq!(told(words), None);
        }
    }
}
