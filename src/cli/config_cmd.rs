//! Commands about settings: `lycosa config init|show`, `lycosa check-config FILE`, what `lycosa run --dry-run` checks beyond them (the
//! data folder, the admin endpoint's token, addresses of seeds), and SIGHUP, which has them read again.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use url::{Host, Url};

use super::args::{RunArgs, SettingsArgs};
use super::exit::CliError;
use super::gather::{layers, run_layers};
use super::run::failed;
use crate::admin::AdminError;
use crate::admin::auth::Keys;
use crate::admin::own::is_loopback;
use crate::app::{ReadAgain, RunError, StartError};
use crate::base::clock::Clock;
use crate::config::{Origin, Settings, Shown, admin_token_in_environment, is_changeable, without_credentials};
use crate::storage::folder::MARKER;
use crate::warc::{WarcError, folder};

/// The file with every key, as shipped.
pub const TEMPLATE: &str = include_str!("../../config/lycosa.toml");

/// Writes the template; never over an existing file.
pub fn init(file: &Path, out: &mut dyn Write) -> Result<(), CliError> {
    if file == Path::new("-") {
        return Ok(out.write_all(TEMPLATE.as_bytes())?);
    }
    let written =
        OpenOptions::new().write(true).create_new(true).open(file).and_then(|mut f| f.write_all(TEMPLATE.as_bytes()));
    match written {
        Ok(()) => Ok(writeln!(out, "{} written; crawl with: lycosa run {}", file.display(), file.display())?),
        Err(e) if e.kind() == ErrorKind::AlreadyExists => {
            Err(CliError::usage(format!("{} exists already and is left as it is; name another file", file.display())))
        }
        Err(e) => Err(CliError::new(format!("cannot write {}: {e}", file.display()))),
    }
}

/// Shows every key with its value in force, without what it should keep to itself; unset ones as comments.
pub fn show(
    config: Option<&Path>,
    args: &SettingsArgs,
    origin: bool,
    json: bool,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let layers = layers(config, args)?;
    let settings = layers.load()?;
    for shown in layers.show()?.into_iter().map(Shown::without_secrets) {
        let (shown, by_scope) = in_force(shown, &settings);
        if json {
            let row = json!({ "key": shown.key, "value": shown.json, "origin": shown.origin.to_string() });
            writeln!(out, "{row}")?;
            continue;
        }
        let line = match &shown.value {
            Some(value) => format!("{} = {value}", shown.key),
            None => format!("# {} is not set", shown.key),
        };
        match &shown.origin {
            _ if origin && by_scope => writeln!(out, "{line}  # for scope.mode = {:?}", mode(&settings))?,
            from if origin && *from != Origin::Default => writeln!(out, "{line}  # {from}")?,
            _ => writeln!(out, "{line}")?,
        }
    }
    Ok(())
}

/// A key that is not set and has a value all the same, by the mode of the scope; true then.
fn in_force(shown: Shown, settings: &Settings) -> (Shown, bool) {
    if shown.key != "crawl.max_depth" || shown.value.is_some() {
        return (shown, false);
    }
    let (json, value) = match settings.max_depth() {
        Some(links) => (json!(links), links.to_string()),
        None => (json!("none"), "\"none\"".to_owned()),
    };
    (Shown { json, value: Some(value), ..shown }, true)
}

fn mode(settings: &Settings) -> String {
    format!("{:?}", settings.scope.mode).to_lowercase()
}

/// Checks a file, with the environment over it, as a run does; prints `FILE: ok`, and a note for what a run would still need.
///
/// # Errors
/// What is wrong with it; or what of this machine is in the way of a run: files of secrets, the data folder, addresses. Then with exit code 1.
pub fn check(file: &Path, out: &mut dyn Write) -> Result<(), CliError> {
    let layers = layers(Some(file), &SettingsArgs::default())?;
    let settings = layers.load()?;
    settings.places()?;
    if let Err(elsewhere) = dry_run(&settings) {
        return Err(CliError::new(format!(
            "{}: a run on this machine would not start: {}",
            file.display(),
            elsewhere.line()
        )));
    }
    writeln!(out, "{}: ok", file.display())?;
    for notice in layers.notices() {
        writeln!(out, "note: {notice}")?;
    }
    if let Err(lacking) = settings.ready_to_run(true) {
        writeln!(out, "note: {lacking}")?;
    }
    Ok(())
}

/// Looks at what a run would stumble over at its start; contacts and makes nothing.
///
/// # Errors
/// What the run would say, with its exit code.
pub fn dry_run(settings: &Settings) -> Result<(), CliError> {
    startable(settings)?;
    addresses(settings)
}

/// The same without a look at the seeds: what keeps a run from its start.
///
/// # Errors
/// What the run would say, with its exit code.
pub fn startable(settings: &Settings) -> Result<(), CliError> {
    let folder = crate::storage::folder::look(&settings.store.data_dir).map_err(StartError::from);
    folder.map_err(|e| failed(RunError::from(e)))?;
    if let Some(listen) = settings.admin_listen {
        token(settings, listen).map_err(|e| failed(RunError::from(e)))?;
    }
    let access = settings.access(&Clock::real());
    access.map_err(|e| failed(StartError::from(e).into()))?;
    settings.learn_words()?;
    settings.tls_roots().map_err(|e| failed(StartError::from(e).into()))?;
    let source = settings.source().check();
    source.map_err(|(address, source)| failed(StartError::Source { address, source }.into()))?;
    crate::app::memory_plan(settings).map_err(|e| failed(StartError::from(e).into()))?;
    crate::app::check_webhooks(settings).map_err(|e| failed(e.into()))?;
    crate::app::check_sinks(settings).map_err(|e| failed(e.into()))?;
    archive(settings).map_err(|e| failed(StartError::from(e).into()))
}

/// The archive of a crawl that begins must not be that of another one.
fn archive(settings: &Settings) -> Result<(), WarcError> {
    let dir = settings.warc_dir();
    let begins = !settings.store.data_dir.join(MARKER).exists();
    match begins.then(|| folder::owner(&dir)).flatten() {
        Some(note) => Err(WarcError::Foreign { dir, note }),
        None => Ok(()),
    }
}

fn token(settings: &Settings, listen: SocketAddr) -> Result<(), AdminError> {
    Keys::check(settings)?;
    let files = settings.admin.token_file.is_some() || settings.admin.read_token_file.is_some();
    let any = files || admin_token_in_environment();
    if any || is_loopback(listen) { Ok(()) } else { Err(AdminError::NeedsToken(listen)) }
}

/// Seeds whose host is an address need no name server to be judged.
fn addresses(settings: &Settings) -> Result<(), CliError> {
    let policy = settings.address_policy(settings.admin_listen.into_iter().collect()).map_err(CliError::usage)?;
    for url in settings.crawl.seeds.iter().filter_map(|seed| Url::parse(&seed.url).ok()) {
        let ip = match url.host() {
            Some(Host::Ipv4(ip)) => IpAddr::V4(ip),
            Some(Host::Ipv6(ip)) => IpAddr::V6(ip),
            _ => continue,
        };
        let address = SocketAddr::new(ip, url.port_or_known_default().unwrap_or(80));
        let shown = without_credentials(url.as_str());
        let refused = |why| CliError::usage(format!("the seed {shown} would not be crawled: {why}"));
        policy.check(url.host_str().unwrap_or_default(), address).map_err(refused)?;
    }
    Ok(())
}

/// What SIGHUP does first: reads file, environment and flags once more, and names those changes that take effect at the next
/// start. Seeds are not read again (`lycosa ctl seeds add` adds them).
pub fn on_hangup(args: &RunArgs, in_force: &Settings) -> ReadAgain {
    let args = RunArgs { seeds_file: None, ..args.clone() };
    let in_force = in_force.clone();
    Arc::new(move || match run_layers(&args).and_then(|layers| Ok(layers.load()?)) {
        Ok(new) => {
            log::info!("settings read again: log_level={:?}", new.log.level);
            let waiting = waiting(&in_force, &new);
            if !waiting.is_empty() {
                log::warn!("changed settings that take effect at the next start: keys={}", waiting.join(","));
            }
            Some(new)
        }
        Err(e) => {
            log::warn!("settings not taken up, the former ones hold: {}", e.line());
            None
        }
    })
}

/// The keys that differ and cannot be taken up while running.
fn waiting(old: &Settings, new: &Settings) -> Vec<String> {
    let (Ok(old), Ok(new)) = (old.source.show(), new.source.show()) else { return Vec::new() };
    let differ = old.into_iter().zip(new).filter(|(old, new)| old.json != new.json).map(|(old, _)| old.key);
    differ.filter(|key| !is_changeable(key) && key != "crawl.seeds").collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Layers;

    #[test]
    fn init_writes_a_file_that_passes_the_check_and_never_overwrites() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new.toml");
        let mut out = Vec::new();
        init(&path, &mut out).unwrap();
        check(&path, &mut out).unwrap();
        std::fs::write(&path, "mine").unwrap();
        let error = init(&path, &mut out).unwrap_err();
        assert!(error.message.contains("exists already"), "{error}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
    }

    #[test]
    fn only_what_needs_a_restart_is_named() {
        let settings = |sets: &[&str]| sets.iter().fold(Layers::new(), |l, s| l.set(s).unwrap()).load().unwrap();
        let old = settings(&[]);
        assert!(waiting(&old, &settings(&["log.level=debug", "crawl.seeds=http://a.test/"])).is_empty());
        let new = settings(&["politeness.min_delay=3s", "crawl.name=x", "log.summary=1s", "fetch.concurrency=3"]);
        assert_eq!(waiting(&old, &new), ["crawl.name", "fetch.concurrency", "log.summary"]);
    }
}
