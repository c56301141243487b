//! What an order means for the URLs of a host: chunk by chunk, each of which may be made twice.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Named;
use crate::admin::commit::{chunks, commit, reading, rest};
use crate::base::time::UnixMillis;
use crate::crawl::jobs::Job;
use crate::crawl::jobs::JobError;
use crate::crawl::node::Node;
use crate::domain::fingerprint::UrlKey;
use crate::domain::orders::HostOrder;
use crate::domain::reason::Rejection;
use crate::storage::keys::{KeyRange, PageKey, SeenKey};
use crate::storage::ledger::Change;
use crate::storage::read;
use crate::storage::tables::{Due, Pages, Queue, Table};
use crate::storage::values::{QueueEntry, UrlState};

/// URLs of one commit.
const CHUNK: usize = 256;
/// Rounds in which nothing could be done before a job gives up.
const FRUITLESS: u32 = 50;

/// Carries out what stands for a host.
pub(super) fn carry_out(node: &Node, job: &Job, host: &Named) -> Result<Value, JobError> {
    let orders = node.crawl.orders.of(&host.at.host);
    let mut changed = BTreeMap::new();
    if let Some(reason) = orders.refusal() {
        changed.insert(reason.as_str(), drop_urls(node, job, host, reason)?);
    }
    if orders.dropping.is_some() {
        over(node, job, host, HostOrder::Dropped)?;
    }
    if let Some(before) = orders.recrawling {
        changed.insert("queued", recrawl(node, job, host, before)?);
        over(node, job, host, HostOrder::Recrawled)?;
    }
    Ok(json!(changed))
}

fn over(node: &Node, job: &Job, host: &Named, order: HostOrder) -> Result<(), JobError> {
    commit(node, job, &Change::Order { host: host.name.clone(), order })
}

/// Turns away all that is queued of a host that refuses. What is in somebody's hands is waited for: it ends, or comes back.
fn drop_urls(node: &Node, job: &Job, host: &Named, reason: Rejection) -> Result<u64, JobError> {
    let (mut changed, mut fruitless) = (0, 0);
    loop {
        let counts =
            reading(job, || read::host_counts(&*node.storage, host.at.crawl(node.crawl.id)))?.unwrap_or_default();
        if counts.queued_total() == 0 && counts.due == 0 {
            return Ok(changed);
        }
        if node.crawl.orders.of(&host.at.host).refusal() != Some(reason) {
            return Err(JobError::Failed("the order was taken back; what was turned away stays so".into()));
        }
        let mut now = walk::<Queue>(
            node,
            job,
            KeyRange::host_crawl(host.at.crawl(node.crawl.id)),
            |_, entry| {
                let url = entry.url(&host.name).ok()?;
                Some(host.at.crawl(node.crawl.id).url(node.prints.url(&url)))
            },
            reason,
        )?;
        if counts.due > 0 {
            let own = |seen: &SeenKey| seen.host_crawl() == host.at.crawl(node.crawl.id);
            let range = KeyRange::partition(host.at.partition);
            now += walk::<Due>(node, job, range, |key, _| Some(key.seen()).filter(own), reason)?;
        }
        changed += now;
        fruitless = if now > 0 || !node.crawl.leases.is_empty() { 0 } else { fruitless + 1 };
        if fruitless > FRUITLESS {
            let why =
                format!("{} URLs cannot be taken out of the queue: stop and run `lycosa check`", counts.queued_total());
            return Err(JobError::Failed(why));
        }
        rest(job)?;
    }
}

/// Goes once through waiting URLs and turns them away; gives how many were.
fn walk<T: Table<Value = QueueEntry>>(
    node: &Node,
    job: &Job,
    range: KeyRange,
    url: impl Fn(&T::Key, &QueueEntry) -> Option<SeenKey>,
    reason: Rejection,
) -> Result<u64, JobError> {
    let mut changed = 0;
    for rows in chunks::<T>(&*node.storage, job, range, CHUNK) {
        let urls: Vec<SeenKey> = rows?.iter().filter_map(|(key, entry)| url(key, entry)).collect();
        changed += turn_away(node, job, urls, reason)?;
    }
    Ok(changed)
}

fn turn_away(node: &Node, job: &Job, urls: Vec<SeenKey>, reason: Rejection) -> Result<u64, JobError> {
    if urls.is_empty() {
        return Ok(0);
    }
    commit(node, job, &Change::DropUrls { urls: urls.clone(), reason })?;
    let states = reading(job, || read::seen_states(&*node.storage, &urls))?;
    let gone = states.iter().filter(|state| matches!(state, Some(UrlState::Rejected { .. }))).count() as u64;
    job.step(urls.len() as u64, gone)?;
    Ok(gone)
}

/// Queues what is done by a capture from before a moment.
fn recrawl(node: &Node, job: &Job, host: &Named, before: UnixMillis) -> Result<u64, JobError> {
    let range = KeyRange::host_crawl(host.at.crawl(node.crawl.id));
    let (mut changed, mut last_url): (u64, Option<UrlKey>) = (0, None);
    for rows in chunks::<Pages>(&*node.storage, job, range, CHUNK) {
        let rows = rows?;
        let keys = rows.iter().map(|(key, _)| *key);
        let newest = keys.filter(|key| last_url.replace(key.url) != Some(key.url));
        let pages: Vec<PageKey> = newest.filter(|key| key.captured.0 <= before).collect();
        let urls: Vec<SeenKey> = pages.iter().map(|key| key.seen()).collect();
        commit(node, job, &Change::FetchAgain(pages))?;
        let states = reading(job, || read::seen_states(&*node.storage, &urls))?;
        let queued = states.iter().filter(|state| matches!(state, Some(UrlState::Waiting { .. }))).count() as u64;
        job.step(rows.len() as u64, queued)?;
        changed += queued;
    }
    Ok(changed)
}
