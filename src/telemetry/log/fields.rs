//! The fields at the end of a message: `page committed: url=… took_ms=12`, for a log of JSON objects.

use serde_json::Value;

/// Parts a message at its first field: what comes before it, and the fields with their values, numbers as numbers. A field
/// begins behind the start, or behind `: `, with a name of `[a-z0-9_]`; its value goes on to the next such name, or is quoted.
pub(super) fn parted(message: &str) -> (&str, Vec<(&str, Value)>) {
    let first = (0..message.len()).find(|at| begins(message, *at) && name_at(message, *at).is_some());
    let Some(first) = first else { return (message, Vec::new()) };
    let (text, mut rest) = message.split_at(first);
    let mut fields = Vec::new();
    while let Some(name) = name_at(rest, 0) {
        let value = rest.get(name.len() + 1..).unwrap_or_default();
        let end = end_of(value);
        let (value, after) = value.split_at(end);
        fields.push((name, valued(value.trim_end())));
        rest = after.trim_start();
    }
    (text.trim_end().trim_end_matches(':'), fields)
}

fn begins(message: &str, at: usize) -> bool {
    at == 0 || message.get(..at).is_some_and(|before| before.ends_with(": "))
}

/// The name before `=` at a place.
fn name_at(text: &str, at: usize) -> Option<&str> {
    let (name, _) = text.get(at..)?.split_once('=')?;
    let good = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    (name.starts_with(|c: char| c.is_ascii_lowercase()) && name.len() <= 40 && name.bytes().all(good)).then_some(name)
}

/// Where a value ends: behind its closing quote, or before the next name.
fn end_of(value: &str) -> usize {
    if value.starts_with('"') {
        let mut escaped = false;
        let close = value.char_indices().skip(1).find(|(_, c)| {
            let is_end = *c == '"' && !escaped;
            escaped = *c == '\\' && !escaped;
            is_end
        });
        if let Some((at, _)) =
            close.filter(|(at, _)| value.get(at + 1..).is_none_or(|rest| rest.is_empty() || rest.starts_with(' ')))
        {
            return at + 1;
        }
    }
    let next = value.match_indices(' ').map(|(at, _)| at).find(|at| name_at(value, at + 1).is_some());
    next.unwrap_or(value.len())
}

/// A number, a truth, or a text.
fn valued(text: &str) -> Value {
    let is_number = text.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    let number = || serde_json::from_str(text).ok().filter(Value::is_number);
    match text {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ if is_number => number().unwrap_or_else(|| Value::from(text)),
        _ => Value::from(unquoted(text)),
    }
}

/// A quoted text as it was before it was quoted (`{:?}`).
fn unquoted(text: &str) -> String {
    let Some(inner) = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) else { return text.to_owned() };
    let (mut out, mut chars) = (String::with_capacity(inner.len()), inner.chars());
    while let Some(c) = chars.next() {
        match (c, if c == '\\' { chars.next() } else { None }) {
            ('\\', Some('n')) => out.push('\n'),
            ('\\', Some('r')) => out.push('\r'),
            ('\\', Some('t')) => out.push('\t'),
            ('\\', Some('0')) => out.push('\0'),
            ('\\', Some('u')) => {
                let code: String = chars.by_ref().skip(1).take_while(|c| *c != '}').collect();
                out.extend(u32::from_str_radix(&code, 16).ok().and_then(char::from_u32));
            }
            ('\\', Some(other)) => out.push(other),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::domain::cases::rows;

    #[test]
    fn fields_are_parted_from_the_text_with_their_types() {
        for row in rows(include_str!("../../../tests/data/log_fields.txt"), 3) {
            let [message, text, want] = [0, 1, 2].map(|n| row.cells[n]);
            let (found, fields) = parted(message);
            let fields: Value = fields.into_iter().collect();
            let want: Value = serde_json::from_str(want).unwrap();
            assert_eq!((found, fields), (text, want), "line {}: {message}", row.line);
        }
    }

    proptest! {
        #[test]
        fn any_message_is_parted_and_quoted_values_come_back(value in "\\PC{0,20}", text in "[a-z ]{0,10}") {
            let message = format!("{text}: a={value:?} b=1");
            let (_, fields) = parted(&message);
            prop_assert_eq!(fields, vec![("a", Value::from(value.clone())), ("b", json!(1))]);
            let _ = parted(&value);
        }
    }
}
