//! A change of the settings that was made.

use std::io::Write;

use serde_json::Value;

use super::in_force::InForce;
use super::jobs::started;
use crate::admin::settings::{Changed, ChangedView};
use crate::telemetry::log::escaped;

/// What is in force now, and what else is to be known.
pub(super) fn told(made: &Changed, now: &InForce, out: &mut dyn Write) -> std::io::Result<()> {
    let change = &made.change;
    match change.changed.is_empty() {
        true => writeln!(out, "nothing changed: it was so before (generation {})", change.generation)?,
        false => writeln!(out, "in force, generation {}", change.generation)?,
    }
    for key in &change.changed {
        writeln!(out, "{} = {}", key.key, escaped(&value(key, now)))?;
    }
    if let Some(note) = &made.note {
        writeln!(out, "note: {note}")?;
    }
    if let Some(hint) = super::hint::after(made) {
        writeln!(out, "{hint}")?;
    }
    made.job.as_ref().map_or(Ok(()), |job| write!(out, "{}", started(job)))
}

/// The value in force; of a key that went back, also whose it is.
fn value(key: &ChangedView, now: &InForce) -> String {
    match (&key.after, now.now(&key.key)) {
        (Value::Null, Some(value)) => format!("{value} (as configured)"),
        (Value::String(text), Some(value)) if text.is_empty() => format!("{value} (built in)"),
        (after, _) => now.given(&key.key, after),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_key_that_went_back_is_told_with_the_value_in_force() {
        let change = |after: Value, settings: Value| {
            let changed = json!([{"key": "politeness.min_delay", "before": "5s", "after": after}]);
            let change =
                json!({"generation": 3, "at": 0, "by": "admin", "undoes": null, "undone": false, "changed": changed});
            let answer = json!({"change": change, "job": null, "note": null, "in_force": settings});
            let (mut out, now) = (Vec::new(), InForce::read(&answer.to_string()));
            told(&serde_json::from_value(answer).unwrap(), &now, &mut out).unwrap();
            String::from_utf8(out).unwrap().lines().last().unwrap().to_owned()
        };
        let settings = json!({"generation": 3, "settings": [{"key": "politeness.min_delay", "value": "1s", "default": "1s",
            "origin": "default", "changeable": true}]});
        assert_eq!(change(json!(""), settings.clone()), "politeness.min_delay = \"1s\" (built in)");
        assert_eq!(change(json!(null), settings.clone()), "politeness.min_delay = \"1s\" (as configured)");
        assert_eq!(change(json!("7s"), settings), "politeness.min_delay = \"7s\"");
        assert_eq!(change(json!(null), json!(null)), "politeness.min_delay = as configured");
    }
}
