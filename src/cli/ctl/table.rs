//! Lists and facts for people: columns as wide as a terminal shows them, nothing in them that steers it.

use std::time::Duration;

use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use crate::base::time::UnixMillis;
use crate::base::units::human_size;
use crate::telemetry::log::escaped;
use crate::warc::date::iso;

/// How a value is shown.
#[derive(Clone, Copy)]
pub(super) enum Form {
    Plain,
    /// Milliseconds since 1970, as a moment in UTC.
    Time,
    /// Bytes.
    Size,
    /// Seconds, as a time in the unit that suits it.
    Latency,
}

/// A column: its heading, where in an item its value stands, and how that is shown.
pub(super) struct Column(pub &'static str, pub &'static str, pub Form);

/// A list, or one page of it with the way to the next.
pub(super) fn listed(answer: &Value, columns: &[Column]) -> String {
    let items = answer.get("items").unwrap_or(answer).as_array();
    let items: Vec<&Value> = items.into_iter().flatten().collect();
    let next = answer.get("next").and_then(Value::as_str);
    let mut text = match (items.is_empty(), next) {
        (false, _) => table(&items, columns),
        (true, None) => "none\n".to_owned(),
        (true, Some(_)) => "none among those looked at\n".to_owned(),
    };
    if answer.get("all_looked_at") == Some(&Value::Bool(false)) {
        text.push_str("there are more hosts than were looked at for this order\n");
    }
    if let Some(next) = next {
        text.push_str(&format!("more: --cursor {}\n", escaped(next)));
    }
    text
}

/// Columns as wide as their widest cell; those of numbers to the right; empty ones are left out.
pub(super) fn table(items: &[&Value], columns: &[Column]) -> String {
    let mut lines = vec![String::new(); items.len() + 1];
    for Column(heading, at, form) in columns {
        let values: Vec<&Value> = items.iter().map(|item| item.pointer(at).unwrap_or(&Value::Null)).collect();
        if values.iter().all(|value| is_empty(value)) {
            continue;
        }
        let right = !matches!(form, Form::Time) && values.iter().all(|value| value.is_number() || value.is_null());
        let cells = values.iter().map(|value| shown(value, *form));
        let cells: Vec<String> = std::iter::once((*heading).to_owned()).chain(cells).collect();
        let width = cells.iter().map(|cell| cell.width()).max().unwrap_or(0);
        for (line, cell) in lines.iter_mut().zip(&cells) {
            let gap = " ".repeat(width.saturating_sub(cell.width()));
            line.push_str(&if right { format!("{gap}{cell}  ") } else { format!("{cell}{gap}  ") });
        }
    }
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_str().is_some_and(str::is_empty) || value.as_array().is_some_and(Vec::is_empty)
}

fn shown(value: &Value, form: Form) -> String {
    match (form, value.as_u64(), value.as_f64()) {
        (Form::Time, Some(at), _) => moment(at),
        (Form::Size, Some(bytes), _) => human_size(bytes),
        (Form::Size, None, Some(bytes)) => human_size(Duration::try_from_secs_f64(bytes).unwrap_or_default().as_secs()),
        (Form::Latency, _, Some(seconds)) => latency(seconds),
        _ => cell(value),
    }
}

/// A short time with three digits at most: `80 µs`, `1.3 ms`, `2.1 s`.
fn latency(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s < 0.001 => (s * 1e6, "µs"),
        s if s < 1.0 => (s * 1e3, "ms"),
        s => (s, "s"),
    };
    if value < 10.0 && unit != "µs" { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

/// A moment in UTC, to the second.
pub(super) fn moment(at: u64) -> String {
    iso(UnixMillis(at)).get(..19).map(|text| format!("{text}Z")).unwrap_or_default()
}

/// A value as people read it; what came from a site cannot steer the terminal.
pub(super) fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => escaped(text).to_string(),
        Value::Number(n) if n.is_f64() => format!("{:.1}", n.as_f64().unwrap_or_default()),
        Value::Array(items) => items.iter().map(cell).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// Names and what belongs to them, one a line.
pub(super) fn pairs<N: AsRef<str>>(pairs: &[(N, String)]) -> String {
    let width = pairs.iter().map(|(name, _)| name.as_ref().width()).max().unwrap_or(0);
    let mut text = String::new();
    for (name, value) in pairs {
        let name = name.as_ref();
        let gap = " ".repeat(width.saturating_sub(name.width()));
        text.push_str(&format!("{name}{gap}  {}\n", escaped(value)));
    }
    text
}

/// One thing, every fact a line.
pub(super) fn facts(answer: &Value) -> String {
    let mut facts = Vec::new();
    flatten("", answer, &mut facts);
    pairs(&facts)
}

fn flatten(name: &str, value: &Value, facts: &mut Vec<(String, String)>) {
    let within = |part: &str| if name.is_empty() { part.to_owned() } else { format!("{name}.{part}") };
    match value {
        Value::Null => {}
        Value::Object(parts) => parts.iter().for_each(|(part, value)| flatten(&within(part), value, facts)),
        Value::Array(items) => {
            items.iter().zip(1..).for_each(|(item, n)| flatten(&within(&n.to_string()), item, facts));
        }
        Value::Number(n) if is_moment(name) && n.as_u64().is_some_and(|at| at > 1_000_000_000_000) => {
            let name = name.trim_end_matches("_ms").to_owned();
            facts.push((name, moment(n.as_u64().unwrap_or_default())));
        }
        plain => facts.push((name.to_owned(), value_of(plain))),
    }
}

fn is_moment(name: &str) -> bool {
    name.ends_with("_ms")
        || name.rsplit('.').next().is_some_and(|last| ["started", "ended", "made", "at"].contains(&last))
}

/// A string stays as it is: [`pairs`] makes it safe.
fn value_of(value: &Value) -> String {
    value.as_str().map_or_else(|| cell(value), str::to_owned)
}
