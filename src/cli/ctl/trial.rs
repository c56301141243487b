//! What a change of the settings would do.

use std::io::Write;

use super::in_force::InForce;
use crate::admin::settings::{ChangedView, TrialPart, TrialView};
use crate::telemetry::log::escaped;

/// The keys, then the URLs.
pub(super) fn told(view: &TrialView, now: &InForce, readmit: bool, out: &mut dyn Write) -> std::io::Result<()> {
    for warning in &view.warnings {
        writeln!(out, "needs --force: {warning}")?;
    }
    if view.changed.is_empty() {
        writeln!(out, "no key would change: it is so already")?;
    }
    for key in &view.changed {
        writeln!(out, "{}", escaped(&change(key, now)))?;
    }
    part(("queued", "", "turned away"), &view.queued, view.sample, out)?;
    let condition = if readmit { "" } else { "with --readmit " };
    part(("rejected", condition, "readmitted, now"), &view.rejected, view.sample, out)
}

fn change(key: &ChangedView, now: &InForce) -> String {
    let before = now.now(&key.key).unwrap_or_else(|| now.given(&key.key, &key.before));
    format!("{}: {before} -> {}", key.key, now.given(&key.key, &key.after))
}

fn part(
    (what, condition, would): (&str, &str, &str),
    part: &TrialPart,
    sample: bool,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let sampled = if sample { ", a sample" } else { "" };
    writeln!(out, "{} of {} {what} URLs looked at{sampled}", part.looked, part.of)?;
    let others = part.of.saturating_sub(part.looked);
    if !sample && others > 0 {
        writeln!(out, "  {others} were not looked at: in flight, waiting for another try, or gone meanwhile")?;
    }
    if part.changing.is_empty() {
        writeln!(out, "  none would be {}", would.trim_end_matches(", now"))?;
    }
    for (reason, n) in &part.changing {
        writeln!(out, "  {condition}{n} would be {would}: {reason}")?;
    }
    for example in &part.examples {
        writeln!(out, "    {}", escaped(&format!("{} ({})", example.url, example.rule)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_trial_tells_each_key_old_and_new_what_would_happen_and_what_was_not_looked_at() {
        let setting = |key: &str, value: &str, default: &str| json!({"key": key, "value": value, "default": default, "origin": "x", "changeable": true});
        let settings = json!({"generation": 1, "settings": [setting("log.level", "debug", "info"), setting("politeness.min_delay", "2s", "1s")]});
        let now = InForce::read(&json!({"in_force": settings}).to_string());
        let changed =
            |key: &str, after: &str| ChangedView { key: key.into(), before: json!(null), after: json!(after) };
        let view = TrialView {
            changed: vec![changed("log.level", "warn"), changed("politeness.min_delay", "")],
            queued: TrialPart { of: 629, looked: 617, ..TrialPart::default() },
            ..TrialView::default()
        };
        let mut out = Vec::new();
        told(&view, &now, false, &mut out).unwrap();
        let expected = "log.level: \"debug\" -> \"warn\"\n\
                        politeness.min_delay: \"2s\" -> \"1s\" (built in)\n\
                        617 of 629 queued URLs looked at\n  \
                        12 were not looked at: in flight, waiting for another try, or gone meanwhile\n  \
                        none would be turned away\n\
                        0 of 0 rejected URLs looked at\n  \
                        none would be readmitted\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
