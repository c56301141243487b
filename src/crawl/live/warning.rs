//! What a change would do that its author may not mean: end the crawl at once, or turn most of the queue away.

use crate::crawl::budget::used_up;
use crate::crawl::control::ControlError;
use crate::crawl::live::views::TrialView;
use crate::crawl::node::Node;

use super::change::Draft;
use super::digest;

/// Of fewer URLs than these a share says nothing.
const ENOUGH: u64 = 20;

/// Whether a change of this key can do any of it: budgets, scope and traps.
pub(crate) fn may_harm(key: &str) -> bool {
    ["crawl.", "scope.", "traps."].iter().any(|section| key.starts_with(section))
}

/// Sentences of a change to these rules; none when there is nothing to fear.
pub(crate) fn of_budget(node: &Node, draft: &Draft) -> Option<String> {
    if node.stop.borrow().is_some() {
        return None; // it ends anyway
    }
    let (counters, ran) = (node.crawl.counters(), node.clock.now().since(node.telemetry.started));
    let (_, why) = used_up(&draft.live.settings.crawl, &counters, ran)?;
    Some(format!("the crawl would end at once: {why}"))
}

/// Whether rules that judge URLs would be others.
pub(crate) fn judges_anew(node: &Node, draft: &Draft) -> bool {
    digest(&draft.live.settings) != digest(&node.crawl.live().settings)
}

/// The same of the queued URLs that were looked at.
pub(crate) fn of_queue(view: &TrialView) -> Option<String> {
    let (looked, turned) = (view.queued.looked, view.queued.changing.values().sum::<u64>());
    if looked < ENOUGH || turned <= looked / 2 {
        return None;
    }
    let of = view.queued.of;
    Some(format!(
        "most of the queue would be turned away: {turned} of {looked} URLs that were looked at, {of} are queued"
    ))
}

/// A change with warnings is made only by who says that it is meant.
pub(crate) fn check(warnings: &[String]) -> Result<(), ControlError> {
    if warnings.is_empty() {
        return Ok(());
    }
    let way =
        "nothing was changed; `?dry_run=true` shows more, `?force=true` (`lycosa ctl … --force`) does it all the same";
    Err(ControlError::Refused(format!("{}; {way}", warnings.join("; "))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crawl::live::views::TrialPart;

    #[test]
    fn more_than_half_of_the_looked_at_is_most_and_a_handful_says_nothing() {
        let view = |looked, scope, traps| {
            let changing = [("scope".to_owned(), scope), ("traps".to_owned(), traps)].into();
            TrialView {
                queued: TrialPart { of: 900, looked, changing, ..TrialPart::default() },
                ..TrialView::default()
            }
        };
        assert_eq!(of_queue(&view(100, 30, 20)), None);
        assert_eq!(of_queue(&view(19, 19, 0)), None);
        let told = of_queue(&view(100, 30, 21)).unwrap();
        assert!(told.contains("51 of 100") && told.contains("900 are queued"), "{told}");
        assert_eq!(check(&[]), Ok(()));
        let refused = check(&[told, "x".into()]).unwrap_err().to_string();
        assert!(refused.contains("; x; ") && refused.contains("?force=true"), "{refused}");
    }
}
