//! The sources of a configuration, merged in order of precedence, each value remembering where it came from.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value as Json;
use toml::{Table, Value};

use super::changeable::{HOST, check_changeable};
use super::error::ConfigError;
use super::file::FileForm;
use super::secrets;
use super::settings::Settings;
use super::shape;
use super::source::{self, Located};
use super::variables;
use crate::domain::host::ascii_pattern;

/// Largest configuration file that is read, bytes.
const MAX_FILE: u64 = 1 << 20;

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// A file and its line.
    File(PathBuf, usize),
    /// An environment variable.
    Env(String),
    /// A flag, as it is typed.
    Flag(String),
    /// Changed over HTTP while the crawl ran.
    Admin,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path, line) => write!(f, "{}:{line}", path.display()),
            Self::Env(name) => write!(f, "environment variable {name}"),
            Self::Flag(name) => f.write_str(name),
            Self::Admin => f.write_str("admin"),
        }
    }
}

/// A key with its value in force.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// Dotted key.
    pub key: String,
    /// The value as TOML; `None` when it is not set and has no default.
    pub value: Option<String>,
    /// The value as JSON, of its own type; null when it is not set.
    pub json: serde_json::Value,
    /// Who set it.
    pub origin: Origin,
}

/// Collects the sources; [`load`](Self::load) merges and checks them.
#[derive(Clone, Default, PartialEq)]
pub struct Layers {
    table: Table,
    origins: BTreeMap<String, Origin>,
    /// What flags say something of, be it that a key is not set, with the flag.
    flags: BTreeMap<String, String>,
    notices: Vec<String>,
}

/// Without the values: secrets may be among them.
impl fmt::Debug for Layers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Layers").field("origins", &self.origins).finish_non_exhaustive()
    }
}

impl Layers {
    /// Nothing but the defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file.
    ///
    /// # Errors
    /// It cannot be read, is no TOML, names an unknown key or holds a value of the wrong form.
    pub fn file(self, path: &Path) -> Result<Self, ConfigError> {
        let unread = |source| ConfigError::Read { path: path.to_owned(), source };
        let size = std::fs::metadata(path).map_err(unread)?.len();
        if size > MAX_FILE {
            return Err(unread(std::io::Error::other(format!("it has {size} bytes, at most {MAX_FILE} are read"))));
        }
        let text = std::fs::read_to_string(path).map_err(unread)?;
        self.text(path, &text)
    }

    /// Adds the text of a file; `path` is its name in errors.
    pub fn text(mut self, path: &Path, text: &str) -> Result<Self, ConfigError> {
        let (table, keys) = source::read_file(path, text)?;
        for Located { key, line, .. } in keys.into_iter().filter(|k| k.leaf) {
            self.origins.insert(key, Origin::File(path.to_owned(), line));
        }
        merge(&mut self.table, table);
        Ok(self)
    }

    /// Adds those environment variables that are named `LYCOSA_SECTION__KEY`.
    ///
    /// # Errors
    /// A variable of that form names an unknown key or holds a value of the wrong form.
    pub fn env<I: IntoIterator<Item = (String, String)>>(mut self, variables: I) -> Result<Self, ConfigError> {
        let variables: Vec<_> = variables.into_iter().collect();
        self.notices.extend(variables.iter().filter_map(|(name, _)| variables::misspelt(name)));
        let mut found: Vec<_> =
            variables.into_iter().filter_map(|(name, value)| Some((variables::key(&name)?, name, value))).collect();
        found.sort();
        for (key, name, value) in found {
            if let Some(problem) = variables::list_of_tables(&key) {
                return Err(fault(&Origin::Env(name), &key, problem));
            }
            self = self.raw(Origin::Env(name), &key, &value)?;
        }
        Ok(self)
    }

    /// Adds one `--set key=value`. An empty value takes the key back to its default.
    ///
    /// # Errors
    /// There is no `=`, the key is unknown, or the value has the wrong form.
    pub fn set(self, assignment: &str) -> Result<Self, ConfigError> {
        let origin = Origin::Flag("--set".into());
        let Some((key, value)) = source::split_assignment(assignment) else {
            return Err(ConfigError::Value {
                place: origin.to_string(),
                key: assignment.to_owned(),
                problem: "expected key=value, such as politeness.min_delay=2s".into(),
            });
        };
        self.raw(origin, key, value)
    }

    /// Adds the value of a flag of its own, such as `--max-pages`.
    ///
    /// # Errors
    /// The value has the wrong form for that key.
    pub fn flag(self, flag: &str, key: &str, value: Value) -> Result<Self, ConfigError> {
        self.candidates(Origin::Flag(flag.to_owned()), key, vec![value])
    }

    /// Lays a value over all sources, as it is set over HTTP while the crawl runs: of its key's own type, or `""` for the
    /// built-in default. `host.PATTERN` is a `[[host]]` section without its `match`; it goes before those of the file.
    ///
    /// # Errors
    /// The key is unknown or cannot change while the crawl runs, or the value has the wrong form.
    pub fn admin(self, key: &str, value: &Json) -> Result<Self, ConfigError> {
        if let Some(pattern) = key.strip_prefix(HOST) {
            return self.admin_host(key, pattern, value);
        }
        check_changeable(key)?;
        if *value == Json::String(String::new()) {
            let mut layers = self.raw(Origin::Admin, key, "")?;
            layers.origins.insert(key.to_owned(), Origin::Admin);
            return Ok(layers);
        }
        let value = toml_of(key, value)?;
        self.candidates(Origin::Admin, key, vec![value])
    }

    fn admin_host(self, key: &str, pattern: &str, value: &Json) -> Result<Self, ConfigError> {
        let Value::Table(mut section) = toml_of(key, value)? else {
            let problem = r#"expected an object such as {"min_delay": "2s"}"#.to_owned();
            return Err(fault(&Origin::Admin, key, problem));
        };
        let pattern = ascii_pattern(pattern);
        section.insert("match".into(), Value::from(pattern.as_str()));
        let mut sections = match self.table.get("host") {
            Some(Value::Array(sections)) => sections.clone(),
            _ => Vec::new(),
        };
        sections.retain(|s| s.get("match").and_then(Value::as_str).is_none_or(|known| ascii_pattern(known) != pattern));
        sections.insert(0, Value::Table(section));
        self.candidates(Origin::Admin, "host", vec![Value::Array(sections)]).map_err(|e| match e {
            ConfigError::Value { place, problem, .. } => ConfigError::Value { place, key: key.to_owned(), problem },
            other => other,
        })
    }

    fn raw(mut self, origin: Origin, key: &str, value: &str) -> Result<Self, ConfigError> {
        if value.is_empty() {
            let path = source::split_key(key);
            source::known(&path).map_err(|problem| fault(&origin, key, problem))?;
            source::remove(&mut self.table, &path);
            let key = path.join(".");
            self.origins.remove(&key);
            if let Origin::Flag(flag) = origin {
                self.flags.insert(key, flag);
            }
            return Ok(self);
        }
        let readings = source::readings(value).map_err(|problem| fault(&origin, key, problem))?;
        self.candidates(origin, key, readings)
    }

    /// Takes the first reading of a value that its key accepts; else tells what the first one lacked.
    fn candidates(mut self, origin: Origin, key: &str, readings: Vec<Value>) -> Result<Self, ConfigError> {
        let path = source::split_key(key);
        let mut first = None;
        for value in readings {
            let layer = source::nested(&path, value);
            if let Err((key, problem)) = shape::check(&layer) {
                return Err(fault(&origin, &key, problem));
            }
            match FileForm::deserialize(Value::Table(layer.clone())) {
                Ok(_) => {
                    source::remove(&mut self.table, &path);
                    merge(&mut self.table, layer);
                    if let Origin::Flag(flag) = &origin {
                        self.flags.insert(path.join("."), flag.clone());
                    }
                    self.origins.insert(path.join("."), origin);
                    return Ok(self);
                }
                Err(e) => first = first.or_else(|| Some(source::one_line(e.message()))),
            }
        }
        Err(fault(&origin, key, first.unwrap_or_else(|| "no value".into())))
    }

    /// Remarks that are no errors, such as an environment variable that looks like a key but is not read.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// Adds a remark.
    #[must_use]
    pub fn notice(mut self, text: String) -> Self {
        self.notices.push(text);
        self
    }

    /// The merged file form, not yet checked.
    ///
    /// # Errors
    /// None that a single layer would not have given.
    pub fn form(&self) -> Result<FileForm, ConfigError> {
        FileForm::deserialize(Value::Table(self.table.clone()))
            .map_err(|e| ConfigError::Syntax { place: "configuration".into(), problem: e.message().to_owned() })
    }

    /// Merges and checks.
    ///
    /// # Errors
    /// A value out of its range; the error names its origin, its key and what is allowed.
    pub fn load(&self) -> Result<Settings, ConfigError> {
        let settings = Settings::from_form(self.form()?);
        let mut settings = settings.map_err(|wrong| fault(&self.origin(&wrong.key), &wrong.key, wrong.problem))?;
        settings.source = Arc::new(self.clone());
        Ok(settings)
    }

    /// Who set a key.
    pub fn origin(&self, key: &str) -> Origin {
        let mut key = key;
        loop {
            if let Some(origin) = self.origins.get(key) {
                return origin.clone();
            }
            match key.rsplit_once(['.', '[']) {
                Some((parent, _)) => key = parent,
                None => return Origin::Default,
            }
        }
    }

    /// The flag of the command line that says something of a key, be it that it is not set.
    pub fn flag_of(&self, key: &str) -> Option<&str> {
        self.flags.get(key).map(String::as_str)
    }

    /// The same later in the same process: what was said since by other ways wins over its flags.
    pub(super) fn said_before(&self) -> Self {
        Self { flags: BTreeMap::new(), ..self.clone() }
    }

    /// Every key with its value in force and who set it, in the order of the sections.
    pub fn show(&self) -> Result<Vec<Shown>, ConfigError> {
        let shown = source::leaves(&self.form()?).into_iter();
        Ok(shown.map(|shown| Shown { origin: self.origin(&shown.key), ..shown }).collect())
    }
}

/// A value of JSON as one of TOML, which has no null and no number beyond 63 bits.
fn toml_of(key: &str, value: &Json) -> Result<Value, ConfigError> {
    Value::try_from(value).map_err(|e| fault(&Origin::Admin, key, format!("{value} cannot be set: {e}")))
}

fn fault(origin: &Origin, key: &str, problem: String) -> ConfigError {
    ConfigError::Value { place: origin.to_string(), key: key.to_owned(), problem: secrets::told(key, &problem) }
}

/// Lays `over` upon `base`: tables are merged, everything else replaced.
fn merge(base: &mut Table, over: Table) {
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => merge(below, above),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}
