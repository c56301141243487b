//! From arguments, environment and file to settings.

use std::io::Read;
use std::path::Path;

use toml::Value;

use super::args::{RunArgs, SettingsArgs};
use super::exit::CliError;
use crate::config::{ConfigError, Layers, LogFormat, Settings, is_seed, without_credentials};
use crate::domain::login::login_refused;
use crate::domain::seed::{in_utf8, seed_lines};

/// Largest file of seeds, robots.txt or page that is read, bytes.
const MAX_INPUT: u64 = 256 << 20;

/// The environment as text; variables that are none cannot be ours.
fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// Layers of a file (if any), the environment and the shared flags.
pub fn layers(config: Option<&Path>, args: &SettingsArgs) -> Result<Layers, ConfigError> {
    let mut layers = match config {
        Some(path) => Layers::new().file(path)?,
        None => Layers::new(),
    };
    layers = layers.env(environment())?;
    for set in &args.sets {
        layers = layers.set(set)?;
    }
    if let Some(contact) = &args.contact {
        let key = if contact.contains("://") { "agent.url" } else { "agent.email" };
        layers = layers.flag("--contact", key, Value::from(contact.as_str()))?;
    }
    if !args.allow_net.is_empty() {
        let all = [layers.form()?.net.allow, args.allow_net.clone()].concat();
        layers = layers.flag("--allow-net", "net.allow", Value::from(all))?;
    }
    Ok(layers)
}

/// The same with another data folder, if one is named.
pub fn with_data(layers: Layers, data: Option<&Path>) -> Result<Layers, ConfigError> {
    match data {
        Some(data) => layers.flag("--data", "store.data_dir", Value::from(data.to_string_lossy().into_owned())),
        None => Ok(layers),
    }
}

/// The settings of the member that a data folder is, in a crawl on several machines.
///
/// # Errors
/// What the folder says of itself cannot be read.
#[cfg(feature = "cluster")]
pub(super) fn as_member(mut settings: Settings) -> Result<Settings, CliError> {
    crate::app::as_member(&mut settings).map_err(CliError::usage)?;
    Ok(settings)
}

#[cfg(not(feature = "cluster"))]
pub(super) fn as_member(settings: Settings) -> Result<Settings, CliError> {
    Ok(settings)
}

/// Layers of `lycosa run`.
pub fn run_layers(args: &RunArgs) -> Result<Layers, CliError> {
    let mut layers = layers(args.config.as_deref(), &args.settings)?;
    let mut seeds = args.seeds.clone();
    if let Some(file) = &args.seeds_file {
        let (good, notices) = seed_file(file)?;
        seeds.extend(good);
        layers = notices.into_iter().fold(layers, Layers::notice);
    }
    if let Some(name) = &args.take_place {
        layers = layers.flag("--as", "cluster.node", Value::from(name.as_str()))?;
        layers = layers.flag("--as", "cluster.spare", Value::from(false))?;
    }
    if !seeds.is_empty() {
        layers = layers.flag("--seed", "crawl.seeds", Value::from(seeds))?;
    }
    layers = with_data(layers, args.data.as_deref())?;
    let format = args.log_format.map(|f| Value::from(if f == LogFormat::Json { "json" } else { "text" }));
    let number = |n: Option<u64>| n.map(|n| Value::Integer(i64::try_from(n).unwrap_or(i64::MAX)));
    let flags = [
        ("--until-done", "crawl.until_done", args.until_done.then_some(Value::Boolean(true))),
        ("--index", "index.enabled", args.index.then_some(Value::Boolean(true))),
        ("--max-pages", "crawl.max_pages", number(args.max_pages)),
        ("--max-time", "crawl.max_time", args.max_time.clone().map(Value::from)),
        ("--max-bytes", "crawl.max_bytes", args.max_bytes.clone().map(Value::from)),
        ("--max-failures", "crawl.max_failures", number(args.max_failures)),
        ("--max-pages-per-host", "traps.pages_per_host", number(args.max_pages_per_host)),
        ("--log-format", "log.format", format),
    ];
    for (flag, key, value) in flags {
        if let Some(value) = value {
            layers = layers.flag(flag, key, value)?;
        }
    }
    Ok(layers)
}

/// Bad lines told one by one; the rest of them is told by number.
const TOLD: usize = 10;

/// Reads a file of seeds, one a line; empty lines and those that begin with `#` are skipped. A line that is no URL costs
/// a remark with its number, so that one of thousands does not keep the rest from being crawled. Gives both.
fn seed_file(file: &Path) -> Result<(Vec<String>, Vec<String>), CliError> {
    let name = file.display();
    if file.to_str().is_some_and(|name| name.contains("://")) {
        let problem = "expected a file with one URL a line; a single URL is given with --seed URL";
        return Err(CliError::usage(format!("--seeds {}: {problem}", without_credentials(&name.to_string()))));
    }
    let (list, mut good, mut notices, mut bad) = (read_input(file)?, Vec::new(), Vec::new(), 0_usize);
    for (number, line) in seed_lines(&in_utf8(&list)) {
        let why = match line {
            Ok(url) if login_refused(url).is_some() => login_refused(url).unwrap_or_default(),
            Ok(url) if is_seed(url) => {
                good.push(url.to_owned());
                continue;
            }
            Ok(line) => {
                let shown: String = without_credentials(line).chars().take(200).collect();
                format!("{shown:?} is no http or https URL; {FULL}")
            }
            Err(shown) => format!("{shown:?} is not UTF-8 text"),
        };
        bad += 1;
        if bad <= TOLD {
            notices.push(format!("seed skipped: {name}:{number}: {why}"));
        }
    }
    if bad > TOLD {
        notices.push(format!("seeds skipped: {} more lines of {name} are no http or https URL", bad - TOLD));
    }
    match (good.is_empty(), notices.first()) {
        (true, Some(first)) => Err(CliError::usage(format!("--seeds {name}: no line is a seed; {first}"))),
        (true, None) => Err(CliError::usage(format!("--seeds {name}: it holds no URL; write one a line"))),
        _ => Ok((good, notices)),
    }
}

/// What a seed must look like.
const FULL: &str = "write it in full, such as https://example.org/";

/// A file's bytes, or standard input's for `-`.
///
/// # Errors
/// It cannot be read or is larger than 256 MiB.
pub fn read_input(path: &Path) -> Result<Vec<u8>, CliError> {
    let fault = |e: std::io::Error| CliError::usage(format!("cannot read {}: {e}", path.display()));
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        std::io::stdin().lock().take(MAX_INPUT + 1).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(MAX_INPUT + 1).read_to_end(&mut bytes))
    };
    if read.map_err(fault)? as u64 > MAX_INPUT {
        return Err(CliError::usage(format!("{} is larger than {MAX_INPUT} bytes", path.display())));
    }
    Ok(bytes)
}
