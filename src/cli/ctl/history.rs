//! The last changes of the settings.

use serde_json::{Value, json};

use super::table::{Column, Form, table};
use crate::admin::settings::{ChangeView, ChangedView};

const HISTORY: &[Column] = &[
    Column("generation", "/generation", Form::Plain),
    Column("when", "/at", Form::Time),
    Column("by", "/by", Form::Plain),
    Column("key", "/key", Form::Plain),
    Column("before", "/before", Form::Plain),
    Column("after", "/after", Form::Plain),
    Column("note", "/note", Form::Plain),
];

/// A line for each key of each change.
pub(super) fn told(changes: &[ChangeView]) -> String {
    let value = |value: &Value| if value.is_null() { json!("as configured") } else { json!(value.to_string()) };
    let line = |change: &ChangeView, key: &ChangedView| {
        let undoes = change.undoes.map(|generation| format!("takes back {generation}"));
        let note = undoes.or_else(|| change.undone.then(|| "taken back".to_owned()));
        let (before, after) = (value(&key.before), value(&key.after));
        json!({ "generation": change.generation, "at": change.at, "by": change.by, "key": key.key, "before": before, "after": after, "note": note })
    };
    let lines: Vec<Value> =
        changes.iter().flat_map(|change| change.changed.iter().map(|key| line(change, key))).collect();
    if lines.is_empty() { "no change was made yet\n".into() } else { table(&lines.iter().collect::<Vec<_>>(), HISTORY) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_history_has_a_line_for_each_key_of_each_change() {
        let change = |generation: u32, undoes: Option<u32>, undone, after: Value| {
            let changed = json!([{"key": "scope.exclude", "before": null, "after": after}]);
            json!({"generation": generation, "at": 1_714_979_289_000_u64, "by": "admin", "undoes": undoes, "undone": undone, "changed": changed})
        };
        let changes = json!([change(3, Some(2), false, json!(null)), change(2, None, true, json!(["/a"]))]);
        let text = told(&serde_json::from_value::<Vec<ChangeView>>(changes).unwrap());
        let expected = "generation  when                  by     key            before         after          note\n         \
                        3  2024-05-06T07:08:09Z  admin  scope.exclude  as configured  as configured  takes back 2\n         \
                        2  2024-05-06T07:08:09Z  admin  scope.exclude  as configured  [\"/a\"]         taken back\n";
        assert_eq!(text, expected);
        assert_eq!(told(&[]), "no change was made yet\n");
    }
}
