//! What a change of the rules would do to the URLs there are, and what its author may not mean of it: that the crawl
//! ends at once, or that most of the queue is turned away. Nothing is changed.

use std::sync::Arc;

use serde_json::Value as Json;

use super::change::{Draft, changed_views};
use super::digest;
use crate::crawl::admit::{LINK, judge, way};
use crate::crawl::budget::used_up;
use crate::crawl::control::ControlError;
use crate::crawl::jobs::{Job, JobError};
use crate::crawl::live::views::{TrialExample, TrialPart, TrialView};
use crate::crawl::node::Node;
use crate::crawl::readmit::is_of_rules;
use crate::domain::reason::Rejection;
use crate::domain::url::PageUrl;
use crate::storage::keys::{HostAt, Key, KeyRange, after, successor};
use crate::storage::tables::{Queue, Rejected, Table};
use crate::storage::values::ChangedKey;
use crate::storage::{StorageError, read};

/// Hosts of a sample.
const HOSTS: usize = 50;
/// URLs of each of them.
const EACH: usize = 20;
/// Records read at a time for the whole.
const CHUNK: usize = 1_000;
/// Examples of a reason.
const EXAMPLES: usize = 5;
/// Of fewer URLs than these a share says nothing.
const ENOUGH: u64 = 20;

/// A trial of rules that are not in force.
pub(crate) struct Trial {
    node: Arc<Node>,
    draft: Draft,
    view: TrialView,
    /// The host whose queue was looked at last, with its name.
    host: Option<(HostAt, String)>,
}

impl Trial {
    /// A trial of this draft; who joined the scope in force joins it too, as when it is put in force.
    pub fn new(node: Arc<Node>, mut draft: Draft, changed: Vec<ChangedKey>) -> Self {
        let counters = node.crawl.counters();
        draft.scope.join_all(&node.crawl.scope.read().unwrap_or_else(std::sync::PoisonError::into_inner));
        let of = |of| TrialPart { of, ..TrialPart::default() };
        let view = TrialView {
            sample: true,
            warnings: Vec::new(),
            changed: changed_views(&changed),
            queued: of(counters.queued),
            rejected: of(counters.rejected_total()),
        };
        Self { node, draft, view, host: None }
    }

    /// What there is to fear of the change; looks at the queue only when it would be judged by other rules.
    ///
    /// # Errors
    /// The storage's own.
    pub fn warnings(self) -> Result<Vec<String>, StorageError> {
        let looks = judges_anew(&self.node, &self.draft);
        Ok(if looks { self.sample()?.warnings } else { self.warned().warnings })
    }

    /// Looks at the first URLs of some hosts.
    ///
    /// # Errors
    /// The storage's own.
    pub fn sample(mut self) -> Result<TrialView, StorageError> {
        self.at_first::<Queue>(|key| key.host_crawl().host_at(), Self::queued)?;
        self.at_first::<Rejected>(|key| key.host_crawl().host_at(), Self::rejected)?;
        let looked = self.view.queued.looked.saturating_add(self.view.rejected.looked);
        self.view.sample = looked < self.view.queued.of.saturating_add(self.view.rejected.of);
        Ok(self.warned())
    }

    fn at_first<T: Table>(&mut self, host: fn(&T::Key) -> HostAt, look: Look) -> Result<(), StorageError> {
        let mut range = KeyRange::all();
        for _ in 0..HOSTS {
            let Some(key) = read::first_key::<T>(&*self.node.storage, &range)? else { break };
            let host = host(&key);
            look(self, &KeyRange::prefix(host.crawl(self.node.crawl.id).encode()), EACH)?;
            range.from = successor(&host.encode());
            if range.from.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Looks at all.
    ///
    /// # Errors
    /// The storage's own, or it is told to stop.
    pub fn all(mut self, job: &Job) -> Result<Json, JobError> {
        let failed = |e: StorageError| JobError::Failed(e.to_string());
        for look in [Self::queued as Look, Self::rejected] {
            let (mut range, mut before) = (KeyRange::all(), self.looked());
            while let Some(last) = look(&mut self, &range, CHUNK).map_err(failed)? {
                range.from = after(&last);
                job.step(self.looked() - before, 0)?;
                before = self.looked();
            }
        }
        self.view.sample = false;
        serde_json::to_value(self.warned()).map_err(|e| JobError::Failed(e.to_string()))
    }

    /// What was found, with what there is to fear.
    fn warned(self) -> TrialView {
        let of_budget = of_budget(&self.node, &self.draft);
        let of_queue = judges_anew(&self.node, &self.draft).then(|| of_queue(&self.view)).flatten();
        TrialView { warnings: of_budget.into_iter().chain(of_queue).collect(), ..self.view }
    }

    fn looked(&self) -> u64 {
        self.view.queued.looked + self.view.rejected.looked
    }

    /// Up to `limit` queued URLs of a range; gives the last key.
    fn queued(&mut self, range: &KeyRange, limit: usize) -> Looked {
        let rows = read::scan::<Queue>(&*self.node.storage, range, limit)?;
        let last = rows.last().map(|(key, _)| key.encode());
        for (key, entry) in rows {
            self.view.queued.looked += 1;
            let Some(name) = self.name(key.host_crawl().host_at())? else { continue };
            let Ok(url) = entry.url(&name) else { continue };
            let way = way(entry.found, entry.via.as_deref(), entry.origin.as_deref());
            if let Err(reason) = judge(&self.draft.live, &self.draft.scope, &url, entry.depth, way) {
                let rule = self.rule(&url, entry.depth);
                note(&mut self.view.queued, &url, reason, rule);
            }
        }
        Ok(last)
    }

    /// The same of rejected ones.
    fn rejected(&mut self, range: &KeyRange, limit: usize) -> Looked {
        let rows = read::scan::<Rejected>(&*self.node.storage, range, limit)?;
        let last = rows.last().map(|(key, _)| key.encode());
        for (_, value) in rows {
            self.view.rejected.looked += 1;
            let meant = is_of_rules(value.reason) && (value.reason != Rejection::HostBudget || self.has_more_budget());
            let Ok(url) = PageUrl::from_canonical(&value.url).map(|url| url.spelled(value.spelling.as_deref())) else {
                continue;
            };
            if meant && judge(&self.draft.live, &self.draft.scope, &url, value.depth, LINK).is_ok() {
                let rule = self.rule(&url, value.depth);
                note(&mut self.view.rejected, &url, value.reason, rule);
            }
        }
        Ok(last)
    }

    /// Whether hosts may have more pages than now; how many of their URLs that admits is not counted here.
    fn has_more_budget(&self) -> bool {
        let (now, then) = (self.node.crawl.live().settings.pages_per_host(), self.draft.live.settings.pages_per_host());
        now.is_some_and(|now| then.is_none_or(|then| then > now))
    }

    fn rule(&self, url: &PageUrl, depth: u16) -> String {
        match self.draft.live.traps.judge(url) {
            Err(reason) => format!("traps: {reason}"),
            Ok(()) => self.draft.scope.explain(url, depth).1,
        }
    }

    fn name(&mut self, at: HostAt) -> Result<Option<String>, StorageError> {
        if let Some((_, name)) = self.host.as_ref().filter(|(known, _)| *known == at) {
            return Ok(Some(name.clone()));
        }
        let Some(state) = read::host_state(&*self.node.storage, at)? else { return Ok(None) };
        self.host = Some((at, state.name.clone()));
        Ok(Some(state.name))
    }
}

/// The last key that was looked at; `None` at the end.
type Looked = Result<Option<Vec<u8>>, StorageError>;
/// A look at some URLs of one family.
type Look = fn(&mut Trial, &KeyRange, usize) -> Looked;

fn note(part: &mut TrialPart, url: &PageUrl, reason: Rejection, rule: String) {
    let n = part.changing.entry(reason.as_str().to_owned()).or_default();
    *n += 1;
    if *n <= EXAMPLES as u64 {
        let (url, reason) = (url.as_str().to_owned(), reason.as_str().to_owned());
        part.examples.push(TrialExample { url, reason, rule });
    }
}

/// Whether a change of this key can end the crawl or turn URLs away: budgets, scope and traps.
pub(crate) fn may_harm(key: &str) -> bool {
    ["crawl.", "scope.", "traps."].iter().any(|section| key.starts_with(section))
}

/// Sentences of a change to these rules; none when there is nothing to fear.
fn of_budget(node: &Node, draft: &Draft) -> Option<String> {
    if node.stop.borrow().is_some() {
        return None; // it ends anyway
    }
    let (spent, ran) = (node.crawl.spent(), node.clock.now().since(node.telemetry.started));
    let (_, why) = used_up(&draft.live.settings.crawl, spent, ran)?;
    Some(format!("the crawl would end at once: {why}"))
}

/// Whether rules that judge URLs would be others.
fn judges_anew(node: &Node, draft: &Draft) -> bool {
    digest(&draft.live.settings) != digest(&node.crawl.live().settings)
}

/// The same of the queued URLs that were looked at.
fn of_queue(view: &TrialView) -> Option<String> {
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
pub(crate) fn check_warnings(warnings: &[String]) -> Result<(), ControlError> {
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
        assert_eq!(check_warnings(&[]), Ok(()));
        let refused = check_warnings(&[told, "x".into()]).unwrap_err().to_string();
        assert!(refused.contains("; x; ") && refused.contains("?force=true"), "{refused}");
    }
}
