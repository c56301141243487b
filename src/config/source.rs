//! Reading one source: a file with its lines, the name of an environment variable, the text of an assignment.

use std::path::Path;

use serde_json::Value as Json;
use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

use super::error::ConfigError;
use super::file::FileForm;
use super::layers::{Origin, Shown};
use super::{secrets, shape};

/// Tables whose keys are the user's own: shown and located as one value.
pub(super) const OPEN_TABLES: [&str; 2] = ["dns.overrides", "fetch.headers"];

/// A key of a file with its line, counted from 1.
pub(super) struct Located {
    pub key: String,
    pub line: usize,
    /// A value rather than a table of further keys.
    pub leaf: bool,
}

/// Parses and checks the form of one file.
pub(super) fn read_file(path: &Path, text: &str) -> Result<(Table, Vec<Located>), ConfigError> {
    let parsed = DeTable::parse(text).map_err(|e| ConfigError::Syntax {
        place: place(path, text, e.span().map_or(0, |s| s.start)),
        problem: one_line(e.message()),
    })?;
    let mut keys = Vec::new();
    locate(text, "", parsed.get_ref(), &mut keys);
    let table = toml::from_str::<Table>(text)
        .map_err(|e| ConfigError::Syntax { place: place(path, text, 0), problem: one_line(e.message()) })?;
    if let Err((key, problem)) = shape::check(&table) {
        let line = keys.iter().find(|k| k.key == key).map_or(1, |k| k.line);
        return Err(ConfigError::Value { place: format!("{}:{line}", path.display()), key, problem });
    }
    if let Err(e) = toml::from_str::<FileForm>(text) {
        let at = e.span().map_or(0, |s| s.start);
        let line = line_of(text, at);
        let key = keys.iter().rev().find(|k| k.line <= line && k.line > 0).map(|k| k.key.clone());
        let key = keys.iter().find(|k| k.line == line).map(|k| k.key.clone()).or(key).unwrap_or_default();
        let problem = secrets::told(&key, &one_line(e.message()));
        return Err(ConfigError::Value { place: place(path, text, at), key, problem });
    }
    Ok((table, keys))
}

fn place(path: &Path, text: &str, at: usize) -> String {
    format!("{}:{}", path.display(), line_of(text, at))
}

fn line_of(text: &str, at: usize) -> usize {
    1 + text.as_bytes().iter().take(at).filter(|b| **b == b'\n').count()
}

/// A parser's message may have several lines, and names types of Rust; an error of ours has one, in words.
pub(super) fn one_line(message: &str) -> String {
    let line = message.lines().map(str::trim).filter(|l| !l.is_empty()).collect::<Vec<_>>().join("; ");
    match line.rsplit_once(", expected ") {
        Some((before, "u8" | "u16" | "u32" | "u64" | "usize")) => {
            format!("{before}, expected a whole number from 0 on that is not too large")
        }
        _ => line,
    }
}

fn locate(text: &str, prefix: &str, table: &DeTable<'_>, into: &mut Vec<Located>) {
    for (name, value) in table {
        let key = join(prefix, name.get_ref());
        let inner = match value.get_ref() {
            DeValue::Table(inner) if !OPEN_TABLES.contains(&key.as_str()) => Some(inner),
            _ => None,
        };
        into.push(Located { line: line_of(text, name.span().start), key: key.clone(), leaf: inner.is_none() });
        if let Some(inner) = inner {
            locate(text, &key, inner, into);
        }
        if let DeValue::Array(items) = value.get_ref() {
            for (i, item) in items.iter().enumerate() {
                if let DeValue::Table(inner) = item.get_ref() {
                    locate(text, &format!("{key}[{i}]"), inner, into);
                }
            }
        }
    }
}

pub(super) fn join(prefix: &str, name: &str) -> String {
    if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") }
}

/// Cuts `key=value` at the first `=` outside quotes.
pub(super) fn split_assignment(text: &str) -> Option<(&str, &str)> {
    let mut quoted = false;
    let at = text.char_indices().find(|(_, c)| {
        quoted ^= *c == '"';
        *c == '=' && !quoted
    })?;
    let (key, value) = (text.get(..at.0)?.trim(), text.get(at.0 + 1..)?.trim());
    (!key.is_empty()).then_some((key, value))
}

/// Cuts a dotted key; parts may stand in double quotes: `dns.overrides."*.test"`.
pub(super) fn split_key(key: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut quoted = false;
    for c in key.chars() {
        match c {
            '"' => quoted = !quoted,
            '.' if !quoted => parts.push(String::new()),
            _ => {
                if let Some(part) = parts.last_mut() {
                    part.push(c);
                }
            }
        }
    }
    parts
}

/// What a value typed on a command line may mean: TOML, else plain text, else a list cut at commas.
///
/// What begins as a list, a table or a quoted text of TOML is meant as one. The problem says why it is none.
pub(super) fn readings(text: &str) -> Result<Vec<Value>, String> {
    if text.starts_with(['[', '{', '"', '\'']) && !begins_with_address(text) {
        let value = structured(text)?;
        let alone = value.is_str().then(|| Value::Array(vec![value.clone()]));
        return Ok(std::iter::once(value).chain(alone).collect());
    }
    let toml = (!text.contains('\n'))
        .then(|| toml::from_str::<Table>(&format!("v = {text}")).ok())
        .flatten()
        .and_then(|mut t| t.remove("v"));
    let list = text.split(',').map(|part| Value::String(part.trim().to_owned())).collect();
    Ok(toml.into_iter().chain([Value::String(text.to_owned()), Value::Array(list)]).collect())
}

/// `[::1]:7700` is no list.
fn begins_with_address(text: &str) -> bool {
    let address = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    address.is_some_and(|(address, _)| address.parse::<std::net::Ipv6Addr>().is_ok())
}

fn structured(text: &str) -> Result<Value, String> {
    let read = toml::from_str::<Table>(&format!("v = {text}")).map_err(|e| one_line(e.message()));
    let value = read.and_then(|mut table| match table.remove("v") {
        Some(value) if table.is_empty() => Ok(value),
        _ => Err("more than one value".into()),
    });
    value.map_err(|problem| {
        let first = text.chars().next().unwrap_or_default();
        format!(
            "a value that begins with {first} is read as TOML, and this is none: {problem}; every text needs quotes, and a \
             backslash stands for itself in '…' but is written twice in \"…\": '/p/\\d+' or \"/p/\\\\d+\""
        )
    })
}

/// The table that holds `value` at `path`.
pub(super) fn nested(path: &[String], value: Value) -> Table {
    let mut parts = path.iter().rev();
    let mut table = Table::new();
    if let Some(last) = parts.next() {
        table.insert(last.clone(), value);
    }
    for part in parts {
        table = Table::from_iter([(part.clone(), Value::Table(table))]);
    }
    table
}

/// Takes the value at `path` out.
pub(super) fn remove(table: &mut Table, path: &[String]) {
    match path {
        [last] => {
            table.remove(last);
        }
        [first, rest @ ..] => {
            if let Some(Value::Table(inner)) = table.get_mut(first) {
                remove(inner, rest);
            }
        }
        [] => {}
    }
}

/// Whether a key exists; the problem says which do.
pub(super) fn known(path: &[String]) -> Result<(), String> {
    let key = path.join(".");
    let all = leaves(&FileForm::default());
    let open = OPEN_TABLES.iter().any(|t| key.starts_with(&format!("{t}.")));
    if open || all.iter().any(|leaf| leaf.key == key) {
        return Ok(());
    }
    Err("no such key; `lycosa config show` lists them all".into())
}

/// Whether a section is a list of tables: `[[schedule]]`.
pub(super) fn is_list_of_tables(section: &str) -> bool {
    leaves(&FileForm::default()).iter().any(|leaf| leaf.key == section && leaf.json.is_array())
}

/// Every key in the order of the sections, with its value, as if nobody had set it.
pub(super) fn leaves(form: &FileForm) -> Vec<Shown> {
    let mut found = Vec::new();
    let (Ok(json), Ok(toml)) = (serde_json::to_value(form), Table::try_from(form)) else { return found };
    for section in SECTIONS.split(' ') {
        if let Some(value) = json.get(section) {
            collect(section, value, toml.get(section), &mut found);
        }
    }
    found
}

/// The order in which sections are shown and written; a test checks that none is missing.
const SECTIONS: &str = "agent crawl scope frontier politeness robots fetch proxy cookies credentials parse sitemaps \
    refresh schedule traps net dns tls dedup store feed export index durability checkpoint cluster disk supervision memory admin log webhook sink host priority extract";

fn collect(key: &str, json: &Json, toml: Option<&Value>, into: &mut Vec<Shown>) {
    match json {
        Json::Object(fields) if !OPEN_TABLES.contains(&key) => {
            for (name, inner) in fields {
                collect(&join(key, name), inner, toml.and_then(|t| t.get(name)), into);
            }
        }
        _ => {
            let (key, value) = (key.to_owned(), toml.map(ToString::to_string));
            into.push(Shown { key, value, json: json.clone(), origin: Origin::Default });
        }
    }
}
