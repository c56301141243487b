//! Sections are tables. Serde would take a list for one as well, as the values of its first fields: `fetch.timeouts = ["1s"]`.

use serde_json::Value as Json;
use toml::{Table, Value};

use super::file::FileForm;
use super::source::{OPEN_TABLES, join};

/// Sections of which there are several.
const LISTS: [&str; 7] = ["host", "priority", "webhook", "sink", "credentials", "extract", "schedule"];

/// The key that is wrong, and how.
type Wrong = (String, String);

/// Checks that every section, and every one of several, is given as a table.
pub(super) fn check(given: &Table) -> Result<(), Wrong> {
    let form = serde_json::to_value(FileForm::default()).unwrap_or_default();
    for name in LISTS {
        let items = given.get(name).and_then(Value::as_array).into_iter().flatten();
        if let Some(i) = items.enumerate().find_map(|(i, item)| (!item.is_table()).then_some(i)) {
            return Err((
                name.to_owned(),
                format!("entry {i} is no table; each is one with keys of its own, [[{name}]]"),
            ));
        }
    }
    tables("", &form, given)
}

fn tables(at: &str, form: &Json, given: &Table) -> Result<(), Wrong> {
    for (name, value) in given {
        let key = join(at, name);
        let Some(Json::Object(fields)) = form.get(name).filter(|_| !OPEN_TABLES.contains(&key.as_str())) else {
            continue;
        };
        let Value::Table(inner) = value else {
            let keys: Vec<String> = fields.keys().map(|field| join(&key, field)).collect();
            return Err((key, format!("it is no value but a table of keys; set one of {}", keys.join(", "))));
        };
        tables(&key, &Json::Object(fields.clone()), inner)?;
    }
    Ok(())
}
