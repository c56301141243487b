//! Tables for spreadsheets: RFC 4180, with a line of names before.

/// A value as a field of a table.
pub(crate) trait Row {
    /// The names of the columns.
    const NAMES: &'static [&'static str];

    /// The fields, in the order of the names.
    fn fields(&self) -> Vec<String>;
}

/// The whole table.
pub(crate) fn table<R: Row>(rows: &[R]) -> String {
    names::<R>() + &rows.iter().map(line).collect::<String>()
}

/// The line of names.
pub(crate) fn names<R: Row>() -> String {
    R::NAMES.join(",") + "\r\n"
}

/// The line of a row.
pub(crate) fn line<R: Row>(row: &R) -> String {
    let fields: Vec<String> = row.fields().iter().map(|field| cell(field)).collect();
    fields.join(",") + "\r\n"
}

/// A field, quoted where it must be. What a spreadsheet would take for a formula gets an apostrophe before it: texts come from
/// strangers.
fn cell(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let safe = if formula { format!("'{text}") } else { text.to_owned() };
    if safe.contains([',', '"', '\r', '\n']) { format!("\"{}\"", safe.replace('"', "\"\"")) } else { safe }
}

/// A number or text that may be missing.
pub(crate) fn some<T: ToString>(value: Option<&T>) -> String {
    value.map(ToString::to_string).unwrap_or_default()
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
}
