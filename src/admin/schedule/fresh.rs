//! How true the pages are: what part of them is likely to be as it was captured, by what is known of their changes. A job that goes through all
//! captures once.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::FreshLine;
use crate::admin::ControlError;
use crate::admin::commit::{chunks, reading};
use crate::admin::jobs::JobView;
use crate::crawl::jobs::{Job, JobError};
use crate::crawl::node::Node;
use crate::domain::refresh::Rate;
use crate::storage::keys::{KeyRange, SeenKey};
use crate::storage::ledger::Scheduled;
use crate::storage::read;
use crate::storage::tables::Pages;
use crate::storage::txn::Txn;
use crate::storage::values::{PageRecord, UrlState};

const CHUNK: usize = 256;
/// Depths told apart; deeper pages are counted together.
const DEPTHS: u16 = 6;

/// Starts the job, unless it runs already.
pub(super) async fn start(node: Arc<Node>) -> Result<JobView, ControlError> {
    const KIND: &str = "freshness";
    if let Some((job, false)) = node.jobs.at_work(KIND, |_| true) {
        return Ok(job);
    }
    let of_job = node.clone();
    let about = "how true the pages are, by what is known of their changes".to_owned();
    let job = node.jobs.start(&node.clock, KIND, about, move |job| work(&of_job, job));
    job.map_err(|e| ControlError::Refused(e.to_string()))
}

/// Pages of a kind, and the sums of what is expected of them.
#[derive(Default)]
struct Sum {
    pages: u64,
    fresh: f64,
    age: f64,
    since: f64,
}

fn work(node: &Node, job: &Job) -> Result<Value, JobError> {
    let date = node.clock.date();
    let rules = node.crawl.rules.ledger(node);
    let mut sums: BTreeMap<(u8, String), Sum> = BTreeMap::new();
    let mut last: Option<SeenKey> = None;
    for rows in chunks::<Pages>(&*node.storage, job, KeyRange::all(), CHUNK) {
        let rows = rows?;
        let looked = rows.len() as u64;
        let newest: Vec<(SeenKey, PageRecord)> = rows
            .into_iter()
            .map(|(key, page)| (key.seen(), page))
            .filter(|(seen, _)| last.replace(*seen) != Some(*seen))
            .collect();
        let keys: Vec<SeenKey> = newest.iter().map(|(seen, _)| *seen).collect();
        let states = reading(job, || read::seen_states(&*node.storage, &keys))?;
        for ((seen, page), state) in newest.into_iter().zip(states) {
            if !matches!(state, Some(UrlState::Done { captured, .. }) if captured == page.fetched) {
                continue;
            }
            let scheduled = reading(job, || rules.schedule_of(&Txn::new(&*node.storage), seen, date))?;
            let Some(Scheduled { by, cycle, .. }) = scheduled else { continue };
            let rule = format!("{by}: {cycle}");
            let depth =
                if page.depth < DEPTHS { format!("depth {}", page.depth) } else { format!("depth {DEPTHS} and more") };
            let since = date.since(page.fetched).as_secs_f64();
            for of in [(0, "all".to_owned()), (1, depth), (2, rule)] {
                sums.entry(of).or_default().add(page.habit.rate, since);
            }
        }
        job.step(looked, 0)?;
    }
    let lines: Vec<FreshLine> = sums.into_iter().map(|((_, of), sum)| sum.line(of)).collect();
    Ok(json!({ "lines": lines }))
}

impl Sum {
    fn add(&mut self, rate: Rate, since: f64) {
        let changed = rate.changed_by_now(std::time::Duration::try_from_secs_f64(since).unwrap_or_default());
        self.pages += 1;
        self.fresh += 1.0 - changed;
        self.age += (since - changed / rate.per_second()).max(0.0);
        self.since += since;
    }

    fn line(&self, of: String) -> FreshLine {
        let mean = |sum: f64| sum / (self.pages.max(1) as f64);
        FreshLine {
            of,
            pages: self.pages,
            fresh: (mean(self.fresh) * 10_000.0).round() / 10_000.0,
            age_hours: (mean(self.age) / 36.0).round() / 100.0,
            visited_hours_ago: (mean(self.since) / 36.0).round() / 100.0,
        }
    }
}
