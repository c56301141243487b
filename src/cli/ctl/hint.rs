//! What to do next after a change of the settings.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::admin::settings::{Changed, ChangedView};

/// What is said after a change that may let in URLs that were rejected before.
const READMIT: &str = "URLs rejected before stay rejected; `lycosa ctl urls readmit` judges them again by these rules";

/// The hint that goes with a change that was made.
pub(super) fn after(made: &Changed) -> Option<&'static str> {
    (made.job.is_none() && made.change.changed.iter().any(may_widen)).then_some(READMIT)
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
}
