//! Changes of the settings in words: what was made, what would be, what was done before, and what to do next.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::door::{Ask, Door, send};
use super::jobs::started;
use super::table::{Column, Form, table};
use crate::admin::settings::{ChangeView, Changed, ChangedView, SettingView, SettingsView, TrialPart, TrialView};
use crate::telemetry::log::escaped;

/// What keys of the settings hold now, for the words about a change; empty when that could not be had.
#[derive(Debug, Default)]
pub(super) struct InForce(BTreeMap<String, SettingView>);

impl InForce {
    /// Asks for them. What was done stands, also when they cannot be had.
    pub async fn now(door: &Door) -> Self {
        let answer = send(door, Ask::get("/api/v1/settings")).await.ok();
        answer.and_then(|answer| serde_json::from_str(&answer).ok()).map(Self::of).unwrap_or_default()
    }

    fn of(view: SettingsView) -> Self {
        Self(view.settings.into_iter().map(|one| (one.key.clone(), one)).collect())
    }

    /// The value of a key now.
    fn value(&self, key: &str) -> Option<String> {
        self.0.get(key).map(|one| shown(&one.value))
    }

    /// A value that a change gives a key: of an empty one the built-in default; null is what is configured.
    fn given(&self, key: &str, value: &Value) -> String {
        match (value, self.0.get(key)) {
            (Value::Null, _) => "as configured".to_owned(),
            (Value::String(text), Some(one)) if text.is_empty() => format!("{} (built in)", shown(&one.default)),
            _ => shown(value),
        }
    }
}

fn shown(value: &Value) -> String {
    if value.is_null() { "not set".to_owned() } else { value.to_string() }
}

/// A change that was made: what is in force now, and what else is to be known.
pub(super) fn made(made: &Changed, now: &InForce) -> String {
    let change = &made.change;
    let mut text = match change.changed.is_empty() {
        true => format!("nothing changed: it was so before (generation {})\n", change.generation),
        false => format!("in force, generation {}\n", change.generation),
    };
    for key in &change.changed {
        text += &format!("{} = {}\n", key.key, escaped(&value(key, now)));
    }
    if let Some(note) = &made.note {
        text += &format!("note: {note}\n");
    }
    if made.job.is_none() && change.changed.iter().any(may_widen) {
        text += READMIT;
    }
    text + &made.job.as_ref().map(started).unwrap_or_default()
}

/// The value in force; of a key that went back, also whose it is.
fn value(key: &ChangedView, now: &InForce) -> String {
    match (&key.after, now.value(&key.key)) {
        (Value::Null, Some(value)) => format!("{value} (as configured)"),
        (Value::String(text), Some(value)) if text.is_empty() => format!("{value} (built in)"),
        (after, _) => now.given(&key.key, after),
    }
}

/// What is said after a change that may let in URLs that were rejected before.
const READMIT: &str =
    "URLs rejected before stay rejected; `lycosa ctl urls readmit` judges them again by these rules\n";

/// Whether a change may let in more URLs. What a key was by the configuration is not known here: null is taken for the
/// built-in default.
fn may_widen(change: &ChangedView) -> bool {
    let (before, after) = (&change.before, &change.after);
    match change.key.as_str() {
        "scope.mode" => after != "hosts",
        "scope.exclude" | "scope.deny_hosts" => !items(before).is_subset(&items(after)),
        "scope.include" if items(after).is_empty() => true,
        "scope.include" => !(items(before).is_empty() || items(after).is_subset(&items(before))),
        "scope.allow_hosts" | "scope.prefixes" => !items(after).is_subset(&items(before)),
        "scope.skip_extensions" => true,
        "crawl.max_depth" => limit(after) > limit(before),
        key if key.starts_with("traps.") => before.is_null() || limit(after) > limit(before),
        _ => false,
    }
}

fn items(list: &Value) -> BTreeSet<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// No number is no limit.
fn limit(value: &Value) -> u64 {
    value.as_u64().unwrap_or(u64::MAX)
}

/// What a change would do: to the keys, then to the URLs.
pub(super) fn tried(view: &TrialView, now: &InForce, readmit: bool) -> String {
    let mut text: String = view.warnings.iter().map(|warning| format!("needs --force: {warning}\n")).collect();
    if view.changed.is_empty() {
        text += "no key would change: it is so already\n";
    }
    for key in &view.changed {
        let before = now.value(&key.key).unwrap_or_else(|| now.given(&key.key, &key.before));
        let change = format!("{}: {before} -> {}", key.key, now.given(&key.key, &key.after));
        text += &format!("{}\n", escaped(&change));
    }
    let condition = if readmit { "" } else { "with --readmit " };
    text + &part(("queued", "", "turned away"), &view.queued, view.sample)
        + &part(("rejected", condition, "readmitted, now"), &view.rejected, view.sample)
}

fn part((what, condition, would): (&str, &str, &str), part: &TrialPart, sample: bool) -> String {
    let sampled = if sample { ", a sample" } else { "" };
    let mut text = format!("{} of {} {what} URLs looked at{sampled}\n", part.looked, part.of);
    let others = part.of.saturating_sub(part.looked);
    if !sample && others > 0 {
        text += &format!("  {others} were not looked at: in flight, waiting for another try, or gone meanwhile\n");
    }
    if part.changing.is_empty() {
        text += &format!("  none would be {}\n", would.trim_end_matches(", now"));
    }
    for (reason, n) in &part.changing {
        text += &format!("  {condition}{n} would be {would}: {reason}\n");
    }
    for example in &part.examples {
        text += &format!("    {}\n", escaped(&format!("{} ({})", example.url, example.rule)));
    }
    text
}

const HISTORY: &[Column] = &[
    Column("generation", "/generation", Form::Plain),
    Column("when", "/at", Form::Time),
    Column("by", "/by", Form::Plain),
    Column("key", "/key", Form::Plain),
    Column("before", "/before", Form::Plain),
    Column("after", "/after", Form::Plain),
    Column("note", "/note", Form::Plain),
];

/// The last changes: a line for each key of each.
pub(super) fn history(changes: &[ChangeView]) -> String {
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

    fn in_force(settings: Value) -> InForce {
        serde_json::from_value(settings).map(InForce::of).unwrap_or_default()
    }

    #[test]
    fn a_key_that_went_back_is_told_with_the_value_in_force() {
        let change = |after: Value, settings: Value| {
            let changed = json!([{"key": "politeness.min_delay", "before": "5s", "after": after}]);
            let change =
                json!({"generation": 3, "at": 0, "by": "admin", "undoes": null, "undone": false, "changed": changed});
            let answer = json!({"change": change, "job": null, "note": null});
            let told = made(&serde_json::from_value(answer).unwrap(), &in_force(settings));
            told.lines().last().unwrap().to_owned()
        };
        let settings = json!({"generation": 3, "settings": [{"key": "politeness.min_delay", "value": "1s", "default": "1s",
            "origin": "default", "changeable": true}]});
        assert_eq!(change(json!(""), settings.clone()), "politeness.min_delay = \"1s\" (built in)");
        assert_eq!(change(json!(null), settings.clone()), "politeness.min_delay = \"1s\" (as configured)");
        assert_eq!(change(json!("7s"), settings), "politeness.min_delay = \"7s\"");
        assert_eq!(change(json!(null), json!(null)), "politeness.min_delay = as configured");
    }

    #[test]
    fn only_what_may_let_in_more_is_followed_by_the_hint() {
        let cases = [
            ("scope.mode", json!(null), json!("any"), true),
            ("scope.mode", json!("any"), json!("hosts"), false),
            ("scope.mode", json!("hosts"), json!(null), true),
            ("scope.exclude", json!(null), json!(["/a"]), false),
            ("scope.exclude", json!(["/a"]), json!(["/a", "/b"]), false),
            ("scope.exclude", json!(["/a"]), json!(["/b"]), true),
            ("scope.exclude", json!(["/a"]), json!(null), true),
            ("scope.include", json!(null), json!(["/a"]), false),
            ("scope.include", json!(["/a"]), json!(null), true),
            ("scope.include", json!(["/a"]), json!(["/a", "/b"]), true),
            ("scope.allow_hosts", json!(["a.test"]), json!(null), false),
            ("scope.allow_hosts", json!(null), json!(["a.test"]), true),
            ("crawl.max_depth", json!(null), json!(3), false),
            ("crawl.max_depth", json!(3), json!(null), true),
            ("traps.max_segments", json!(9), json!(3), false),
            ("politeness.min_delay", json!(null), json!("2s"), false),
        ];
        for (key, before, after, widens) in cases {
            let change = ChangedView { key: key.into(), before: before.clone(), after: after.clone() };
            assert_eq!(may_widen(&change), widens, "{key} {before} {after}");
        }
    }

    #[test]
    fn a_trial_tells_each_key_old_and_new_what_would_happen_and_what_was_not_looked_at() {
        let setting = |key: &str, value: &str, default: &str| json!({"key": key, "value": value, "default": default, "origin": "x", "changeable": true});
        let settings = json!({"generation": 1, "settings": [setting("log.level", "debug", "info"), setting("politeness.min_delay", "2s", "1s")]});
        let now = in_force(settings);
        let changed =
            |key: &str, after: &str| ChangedView { key: key.into(), before: json!(null), after: json!(after) };
        let view = TrialView {
            changed: vec![changed("log.level", "warn"), changed("politeness.min_delay", "")],
            queued: TrialPart { of: 629, looked: 617, ..TrialPart::default() },
            ..TrialView::default()
        };
        let expected = "log.level: \"debug\" -> \"warn\"\n\
                        politeness.min_delay: \"2s\" -> \"1s\" (built in)\n\
                        617 of 629 queued URLs looked at\n  \
                        12 were not looked at: in flight, waiting for another try, or gone meanwhile\n  \
                        none would be turned away\n\
                        0 of 0 rejected URLs looked at\n  \
                        none would be readmitted\n";
        assert_eq!(tried(&view, &now, false), expected);
    }

    #[test]
    fn the_history_has_a_line_for_each_key_of_each_change() {
        let change = |generation: u32, undoes: Option<u32>, undone, after: Value| {
            let changed = json!([{"key": "scope.exclude", "before": null, "after": after}]);
            json!({"generation": generation, "at": 1_714_979_289_000_u64, "by": "admin", "undoes": undoes, "undone": undone, "changed": changed})
        };
        let changes = json!([change(3, Some(2), false, json!(null)), change(2, None, true, json!(["/a"]))]);
        let text = history(&serde_json::from_value::<Vec<ChangeView>>(changes).unwrap());
        let expected = "generation  when                  by     key            before         after          note\n         \
                        3  2024-05-06T07:08:09Z  admin  scope.exclude  as configured  as configured  takes back 2\n         \
                        2  2024-05-06T07:08:09Z  admin  scope.exclude  as configured  [\"/a\"]         taken back\n";
        assert_eq!(text, expected);
        assert_eq!(history(&[]), "no change was made yet\n");
    }
}
