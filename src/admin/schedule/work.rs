//! Jobs: visits reckoned anew, pages visited now.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::VisitWhich;
use crate::admin::ControlError;
use crate::admin::commit::{chunks, commit, reading};
use crate::admin::find::{Target, unread};
use crate::admin::jobs::JobView;
use crate::admin::orders::command::range_of;
use crate::crawl::jobs::{Job, JobError};
use crate::crawl::node::Node;
use crate::domain::fingerprint::UrlKey;
use crate::domain::url::{PageUrl, UrlPatterns};
use crate::storage::keys::{KeyRange, PageKey, SeenKey};
use crate::storage::ledger::Change;
use crate::storage::read;
use crate::storage::tables::{Failed, Pages, Seeds};
use crate::storage::values::{PageRecord, UrlState};

/// Pages of one commit.
const CHUNK: usize = 256;
/// URLs in one order.
const MOST_URLS: usize = 10_000;
/// Seeds whose tags are kept at hand.
const SEEDS: usize = 10_000;

/// Starts the job that reckons all visits anew.
pub(super) async fn reschedule(node: Arc<Node>) -> Result<JobView, ControlError> {
    let of_job = node.clone();
    let about = "visits of all pages reckoned anew, by the rules of today".to_owned();
    let job = node.jobs.start(&node.clock, "reschedule", about, move |job| reckon_all(&of_job, job));
    job.map_err(|e| ControlError::Refused(e.to_string()))
}

fn reckon_all(node: &Node, job: &Job) -> Result<Value, JobError> {
    let before = rows(node);
    let mut looked = 0_u64;
    let mut last = None;
    for pages in chunks::<Pages>(&*node.storage, job, KeyRange::all(), CHUNK) {
        let pages = pages?;
        let urls: Vec<SeenKey> =
            pages.iter().map(|(key, _)| key.seen()).filter(|seen| last.replace(*seen) != Some(*seen)).collect();
        looked += urls.len() as u64;
        reckon(node, job, urls)?;
    }
    for failed in chunks::<Failed>(&*node.storage, job, KeyRange::all(), CHUNK) {
        reckon(node, job, failed?.into_iter().map(|(key, _)| key).collect())?;
    }
    Ok(json!({ "pages": looked, "planned_before": before, "planned": rows(node) }))
}

/// Pages with a next visit.
fn rows(node: &Node) -> u64 {
    node.crawl.counters().frontier.visits
}

fn reckon(node: &Node, job: &Job, urls: Vec<SeenKey>) -> Result<(), JobError> {
    let n = urls.len() as u64;
    commit(node, job, &Change::Reschedule(urls))?;
    job.step(n, 0)
}

/// Starts the job that visits pages now.
pub(super) async fn visit(node: Arc<Node>, which: VisitWhich) -> Result<JobView, ControlError> {
    let of_job = node.clone();
    let which = Which::of(&node, which)?;
    let about = format!("pages visited now: {}", which.about);
    let job = node.jobs.start(&node.clock, "visit", about, move |job| which.all(&of_job, job));
    job.map_err(|e| ControlError::Refused(e.to_string()))
}

struct Which {
    about: String,
    urls: Vec<SeenKey>,
    range: KeyRange,
    pattern: Option<UrlPatterns>,
    tag: Option<String>,
}

/// The key of a URL that the crawl knows.
fn known(node: &Node, url: &str) -> Result<SeenKey, ControlError> {
    let Target { url, key } = Target::typed(node, url)?.target;
    match read::seen_state(&*node.storage, key).map_err(unread)? {
        Some(_) => Ok(key),
        None => Err(ControlError::Absent(format!(
            "nothing is known of {url}: nobody found a link to it yet (no page is visited now); `lycosa ctl seeds add URL` adds it"
        ))),
    }
}

impl Which {
    fn of(node: &Node, asked: VisitWhich) -> Result<Self, ControlError> {
        let VisitWhich { urls, host, pattern, tag } = asked;
        if urls.is_empty() && host.is_none() && pattern.is_none() && tag.is_none() {
            return Err(ControlError::Invalid("nothing is chosen: give urls, host, pattern or tag".into()));
        }
        if !urls.is_empty() && (host.is_some() || pattern.is_some() || tag.is_some()) {
            return Err(ControlError::Invalid(
                "urls are chosen one by one: give no host, pattern or tag with them".into(),
            ));
        }
        if urls.len() > MOST_URLS {
            return Err(ControlError::Invalid(format!("{} urls are more than {MOST_URLS}", urls.len())));
        }
        let or_any = |text: &Option<String>| text.clone().unwrap_or_else(|| "any".into());
        let about = match urls.len() {
            0 => format!("host={} pattern={} tag={}", or_any(&host), or_any(&pattern), or_any(&tag)),
            n => format!("urls={n}"),
        };
        let urls = urls.iter().map(|url| known(node, url)).collect::<Result<_, ControlError>>()?;
        let range = range_of(node, host.as_deref())?;
        let compiled =
            |text: String| UrlPatterns::new(&[text]).map_err(|e| ControlError::Invalid(format!("pattern: {e}")));
        Ok(Self { about, urls, range, pattern: pattern.map(compiled).transpose()?, tag })
    }

    fn all(&self, node: &Node, job: &Job) -> Result<Value, JobError> {
        let mut queued = 0;
        if !self.urls.is_empty() {
            for urls in self.urls.chunks(CHUNK) {
                let pages = reading(job, || {
                    let states = read::seen_states(&*node.storage, urls)?;
                    Ok(urls.iter().zip(states).filter_map(|(key, state)| done(*key, state)).collect::<Vec<PageKey>>())
                })?;
                queued += fetch(node, job, (urls.len(), pages))?;
            }
            return Ok(json!({ "queued": queued, "asked": self.urls.len() }));
        }
        let (mut last, mut tags): (Option<UrlKey>, _) = (None, HashMap::new());
        for rows in chunks::<Pages>(&*node.storage, job, self.range.clone(), CHUNK) {
            let rows = rows?;
            let looked = rows.len();
            let mut pages = Vec::new();
            for (key, page) in rows {
                let newest = last.replace(key.url) != Some(key.url);
                if newest && self.fits(node, job, &page, &mut tags)? {
                    pages.push(key);
                }
            }
            queued += fetch(node, job, (looked, pages))?;
        }
        Ok(json!({ "queued": queued }))
    }

    fn fits(
        &self,
        node: &Node,
        job: &Job,
        page: &PageRecord,
        known: &mut HashMap<String, bool>,
    ) -> Result<bool, JobError> {
        if self.pattern.as_ref().is_some_and(|pattern| !pattern.is_match(&page.url)) {
            return Ok(false);
        }
        let Some(tag) = &self.tag else { return Ok(true) };
        let origin = page.origin.as_ref().unwrap_or(&page.url);
        if let Some(has) = known.get(origin) {
            return Ok(*has);
        }
        let has = match PageUrl::from_canonical(origin) {
            Ok(seed) => {
                let key = SeenKey::of(&node.prints, node.crawl.id, &seed);
                reading(job, || read::get::<Seeds>(&*node.storage, &key))?.is_some_and(|seed| seed.tags.contains(tag))
            }
            Err(_) => false,
        };
        if known.len() >= SEEDS {
            known.clear();
        }
        known.insert(origin.clone(), has);
        Ok(has)
    }
}

fn done(key: SeenKey, state: Option<UrlState>) -> Option<PageKey> {
    match state {
        Some(UrlState::Done { captured, .. }) => Some(key.page(captured)),
        _ => None,
    }
}

/// Queues pages once more; gives how many wait then.
fn fetch(node: &Node, job: &Job, (looked, pages): (usize, Vec<PageKey>)) -> Result<u64, JobError> {
    let urls: Vec<SeenKey> = pages.iter().map(|key| key.seen()).collect();
    commit(node, job, &Change::FetchAgain(pages))?;
    let states = reading(job, || read::seen_states(&*node.storage, &urls))?;
    let queued = states.iter().filter(|state| matches!(state, Some(UrlState::Waiting { .. }))).count() as u64;
    job.step(looked as u64, queued)?;
    Ok(queued)
}
