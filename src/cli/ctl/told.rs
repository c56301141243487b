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

    pub fn of(view: SettingsView) -> Self {
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
    let by_rank = now.value("crawl.order").as_deref() == Some("\"best\"");
    if made.rerank.is_none() && by_rank && change.changed.iter().any(ranks) {
        text += RERANK;
    }
    text + &made.job.iter().chain(&made.rerank).map(started).collect::<String>()
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

/// What is said after a change of ranks.
const RERANK: &str = "URLs that wait keep their ranks; `lycosa ctl urls rerank` gives them those of these rules\n";

/// Whether a change is one of importance.
fn ranks(change: &ChangedView) -> bool {
    let weight = |value: &Value| value.get("weight").cloned().unwrap_or_default();
    change.key == "priority" || (change.key.starts_with("host.") && weight(&change.before) != weight(&change.after))
}

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
    use crate::domain::cases::rows;

    #[test]
    fn only_what_may_let_in_more_is_followed_by_the_hint() {
        for row in rows(include_str!("../../../tests/data/cli/widens.txt"), 4) {
            let [before, after] = [1, 2].map(|n| serde_json::from_str(row.cells[n]).unwrap());
            let change = ChangedView { key: row.cells[0].into(), before, after };
            assert_eq!(if may_widen(&change) { "widens" } else { "not" }, row.cells[3], "{}", row.text);
        }
    }
}
