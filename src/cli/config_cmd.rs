//! `lycosa config init|show`.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::Path;

use serde_json::json;

use super::args::SettingsArgs;
use super::exit::CliError;
use super::gather::layers;
use crate::config::{Origin, Settings, Shown};

/// The file with every key, as shipped.
pub const TEMPLATE: &str = include_str!("../../config/lycosa.toml");

/// Writes the template; never over an existing file.
///
/// # Errors
/// The file exists already or cannot be written.
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
///
/// # Errors
/// A bad source or value.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn init_writes_a_file_that_passes_the_check_and_never_overwrites() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new.toml");
        let mut out = Vec::new();
        init(&path, &mut out).unwrap();
        super::super::check_config::run(&path, &mut out).unwrap();
        std::fs::write(&path, "mine").unwrap();
        let error = init(&path, &mut out).unwrap_err();
        assert!(error.message.contains("exists already"), "{error}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
    }

    #[test]
    fn values_in_json_have_their_own_type() {
        let mut out = Vec::new();
        show(None, &SettingsArgs::default(), false, true, &mut out).unwrap();
        let rows: Vec<serde_json::Value> =
            String::from_utf8(out).unwrap().lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        let value = |key: &str| rows.iter().find(|r| r["key"] == key).map(|r| r["value"].clone()).unwrap();
        assert_eq!(value("crawl.until_done"), false);
        assert_eq!(value("fetch.concurrency"), 200);
        assert_eq!(value("fetch.max_body"), "100MiB");
        assert_eq!(value("crawl.seeds"), json!([]));
        assert_eq!(value("crawl.max_time"), serde_json::Value::Null);
    }

    #[test]
    fn show_names_the_origin_of_what_somebody_set() {
        let args = SettingsArgs { sets: vec!["crawl.max_pages=5".into()], ..SettingsArgs::default() };
        let mut out = Vec::new();
        show(None, &args, true, false, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.lines().any(|l| l == "crawl.max_pages = 5  # --set"), "{text}");
        assert!(text.lines().any(|l| l == "# crawl.max_time is not set"), "{text}");
        assert!(text.lines().any(|l| l == "crawl.max_depth = \"none\"  # for scope.mode = \"hosts\""), "{text}");
        assert!(text.lines().any(|l| l == "fetch.max_body = \"100MiB\""), "{text}");
    }
}
