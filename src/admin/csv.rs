//! Tables for spreadsheets: RFC 4180, with a line of names before.

use serde::Serialize;
use serde_json::Value;

use crate::base::time::UnixMillis;
use crate::warc::date::iso;

/// A value as a line of a table: each column is a field of its JSON, or of the orders in it.
pub(crate) trait Row: Serialize {
    /// The names of the columns.
    const NAMES: &'static [&'static str];
}

/// Columns that are moments.
const MOMENTS: [&str; 5] = ["when", "when_before", "added", "paused", "blocked"];

pub(crate) fn table<R: Row>(rows: &[R]) -> String {
    names::<R>() + &rows.iter().map(line).collect::<String>()
}

pub(crate) fn names<R: Row>() -> String {
    R::NAMES.join(",") + "\r\n"
}

/// The line of a row.
pub(crate) fn line<R: Row>(row: &R) -> String {
    let json = serde_json::to_value(row).unwrap_or_default();
    let field = |name: &&str| json.get(name).or_else(|| json.get("orders")?.get(name)).map(|value| text(name, value));
    let cells: Vec<String> = R::NAMES.iter().map(|name| cell(&field(name).unwrap_or_default())).collect();
    cells.join(",") + "\r\n"
}

/// A field as text; one that is missing is empty.
fn text(name: &str, value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(texts) => texts.iter().map(|one| text(name, one)).collect::<Vec<_>>().join(" "),
        Value::Number(at) if MOMENTS.contains(&name) => iso(UnixMillis(at.as_u64().unwrap_or_default())),
        other => other.to_string(),
    }
}

/// A field, quoted where it must be. What a spreadsheet would take for a formula gets an apostrophe before it: texts come from
/// strangers.
fn cell(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let safe = if formula { format!("'{text}") } else { text.to_owned() };
    if safe.contains([',', '"', '\r', '\n']) { format!("\"{}\"", safe.replace('"', "\"\"")) } else { safe }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_quoted_where_it_must_be_and_never_a_formula() {
        for (text, field) in [
            ("", ""),
            ("plain", "plain"),
            ("a,b", "\"a,b\""),
            ("say \"x\"", "\"say \"\"x\"\"\""),
            ("two\r\nlines", "\"two\r\nlines\""),
            ("=HYPERLINK(\"http://evil.test\")", "\"'=HYPERLINK(\"\"http://evil.test\"\")\""),
            ("+1", "'+1"),
            ("-1", "'-1"),
            ("@x", "'@x"),
        ] {
            assert_eq!(cell(text), field);
        }
    }

    #[test]
    fn a_column_is_a_field_a_moment_is_a_date_and_what_is_missing_is_empty() {
        #[derive(Serialize)]
        struct Line(serde_json::Map<String, Value>);
        impl Row for Line {
            const NAMES: &'static [&'static str] = &["url", "when", "status", "tags", "paused", "bytes"];
        }
        let json = serde_json::json!({
            "url": "a,b", "when": 1_000, "status": null, "tags": ["x", "y"], "orders": { "paused": 0 }, "bytes": 7,
        });
        let row = Line(json.as_object().cloned().unwrap());
        let line = "\"a,b\",1970-01-01T00:00:01.000Z,,x y,1970-01-01T00:00:00.000Z,7\r\n";
        assert_eq!(table(&[row]), format!("url,when,status,tags,paused,bytes\r\n{line}"));
    }
}
