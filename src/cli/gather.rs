//! From arguments, environment and file to settings.

use std::io::Read;
use std::path::Path;

use toml::Value;

use super::args::{RunArgs, SettingsArgs};
use super::exit::CliError;
use crate::config::{ConfigError, Layers, LogFormat, is_seed, without_credentials};
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

/// Layers of `lycosa run`.
pub fn run_layers(args: &RunArgs) -> Result<Layers, CliError> {
    let mut layers = layers(args.config.as_deref(), &args.settings)?;
    let mut seeds = args.seeds.clone();
    if let Some(file) = &args.seeds_file {
        let list = seed_file(file)?;
        seeds.extend(list.good);
        layers = list.notices.into_iter().fold(layers, Layers::notice);
    }
    if !seeds.is_empty() {
        layers = layers.flag("--seed", "crawl.seeds", Value::from(seeds))?;
    }
    layers = with_data(layers, args.data.as_deref())?;
    let format = args.log_format.map(|f| Value::from(if f == LogFormat::Json { "json" } else { "text" }));
    let number = |n: Option<u64>| n.map(|n| Value::Integer(i64::try_from(n).unwrap_or(i64::MAX)));
    let flags = [
        ("--until-done", "crawl.until_done", args.until_done.then_some(Value::Boolean(true))),
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

/// A file of seeds, as far as it could be read.
struct SeedFile {
    good: Vec<String>,
    notices: Vec<String>,
}

/// Bad lines told one by one; the rest of them is told by number.
const TOLD: usize = 10;

/// Reads a file of seeds, one a line; empty lines and those that begin with `#` are skipped. A line that is no URL costs
/// a remark with its number, so that one of thousands does not keep the rest from being crawled.
fn seed_file(file: &Path) -> Result<SeedFile, CliError> {
    let name = file.display();
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
        _ => Ok(SeedFile { good, notices }),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_flags_win_over_set_and_are_named_in_errors() {
        let args = RunArgs {
            seeds: vec!["http://a.test/".into()],
            max_pages: Some(5),
            max_time: Some("soon".into()),
            settings: SettingsArgs { sets: vec!["crawl.max_pages=9".into()], ..SettingsArgs::default() },
            ..RunArgs::default()
        };
        let error = run_layers(&args).unwrap_err();
        assert_eq!(error.exit, crate::cli::Exit::Usage);
        assert!(error.message.starts_with("--max-time: crawl.max_time: \"soon\""), "{error}");
        let settings = run_layers(&RunArgs { max_time: Some("30m".into()), ..args }).unwrap().load().unwrap();
        assert_eq!(settings.crawl.max_pages, Some(5));
        assert_eq!(settings.crawl.seed_urls(), ["http://a.test/"]);
    }

    #[test]
    fn a_contact_is_a_mail_address_or_a_page() {
        let contact = |c: &str| SettingsArgs { contact: Some(c.into()), ..SettingsArgs::default() };
        let mail = layers(None, &contact("me@example.org")).unwrap().load().unwrap();
        assert_eq!(mail.agent.from.as_deref(), Some("me@example.org"));
        let page = layers(None, &contact("https://example.org/bot")).unwrap().load().unwrap();
        assert!(page.agent.user_agent.contains("+https://example.org/bot"));
        let error = layers(None, &contact("me")).unwrap().load().unwrap_err().to_string();
        assert!(error.starts_with("--contact: agent.email: "), "{error}");
    }

    #[test]
    fn allowed_networks_add_to_those_of_the_settings() {
        let args = SettingsArgs {
            sets: vec!["net.allow=10.0.0.0/8".into()],
            allow_net: vec!["127.0.0.1/32:8500".into()],
            ..SettingsArgs::default()
        };
        let settings = layers(None, &args).unwrap().load().unwrap();
        assert_eq!(settings.net.allow, ["10.0.0.0/8", "127.0.0.1/32:8500"]);
    }

    #[test]
    fn seeds_come_from_a_file_one_a_line() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "# mine\nhttp://b.test/\n\n http://c.test/ \n").unwrap();
        let args = RunArgs {
            seeds_file: Some(file.path().into()),
            seeds: vec!["http://a.test/".into()],
            ..RunArgs::default()
        };
        let settings = run_layers(&args).unwrap().load().unwrap();
        assert_eq!(settings.crawl.seed_urls(), ["http://a.test/", "http://b.test/", "http://c.test/"]);
        let missing = RunArgs { seeds_file: Some("/nonexistent".into()), ..RunArgs::default() };
        assert!(run_layers(&missing).unwrap_err().message.contains("/nonexistent"));
    }

    #[test]
    fn a_seed_without_a_scheme_means_https_first_wherever_it_stands() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "b.test/x\rhttp://c.test/\r").unwrap();
        let args =
            RunArgs { seeds_file: Some(file.path().into()), seeds: vec!["a.test:8080".into()], ..RunArgs::default() };
        let settings = run_layers(&args).unwrap().load().unwrap();
        assert_eq!(settings.crawl.seed_urls(), ["https://a.test:8080", "https://b.test/x", "http://c.test/"]);
        assert_eq!(settings.crawl.seeds.iter().map(|seed| seed.guessed).collect::<Vec<_>>(), [true, true, false]);
        let set = Layers::new().set("crawl.seeds=[{url=\"localhost\", rank=1}]").unwrap().load().unwrap();
        assert_eq!((set.crawl.seed_urls(), set.crawl.seeds[0].guessed), (vec!["https://localhost"], true));
    }

    #[test]
    fn bad_lines_of_a_seed_file_are_named_and_skipped_unless_all_are_bad() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let args = RunArgs { seeds_file: Some(file.path().into()), ..RunArgs::default() };
        std::fs::write(file.path(), "\u{feff}# mine\r\nexample\r\nhttp://a.test/\r\nftp://b.test/\r\n").unwrap();
        let layers = run_layers(&args).unwrap();
        assert_eq!(layers.load().unwrap().crawl.seed_urls(), ["http://a.test/"]);
        let notices = layers.notices();
        assert!(
            notices.len() == 2 && notices[0].contains(":2: \"example\"") && notices[1].contains(":4:"),
            "{notices:?}"
        );
        std::fs::write(file.path(), b"http://a.test/\nhttp://b\xff.test/\nhttp://c.test/\n").unwrap();
        let layers = run_layers(&args).unwrap();
        assert_eq!(layers.load().unwrap().crawl.seed_urls(), ["http://a.test/", "http://c.test/"]);
        assert!(
            layers.notices()[0].contains(":2: ") && layers.notices()[0].contains("UTF-8"),
            "{:?}",
            layers.notices()
        );
        std::fs::write(file.path(), "example\n".repeat(1_000)).unwrap();
        let error = run_layers(&args).unwrap_err();
        assert!(error.exit == crate::cli::Exit::Usage && error.message.contains(":1:"), "{error}");
        std::fs::write(file.path(), "nonsense\n".repeat(1_000) + "http://a.test/").unwrap();
        assert_eq!(run_layers(&args).unwrap().notices().len(), TOLD + 1);
        std::fs::write(file.path(), "# nothing\n").unwrap();
        assert_eq!(run_layers(&args).unwrap_err().exit, crate::cli::Exit::Usage);
    }
}
