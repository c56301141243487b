//! Rejected URLs are judged again, as a background job: what the rules in force admit is queued.
//!
//! The walk misses nothing. By the time a change is answered its rules are in force, and the Deduper judges anew whatever
//! older rules have judged. What had passed the Deduper before is committed when the first, empty chunk is: only then the
//! family `rejected` is read, a chunk at a time, each waiting for its commit. Doing it twice changes nothing.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value as Json, json};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

use crate::crawl::Result;
use crate::crawl::admit::{judge, way};
use crate::crawl::deduper::Readmit;
use crate::crawl::jobs::{Job, JobError, JobView};
use crate::crawl::live::{Live, Readmitting, readmitted, stored};
use crate::crawl::node::Node;
use crate::domain::reason::Rejection;
use crate::domain::url::PageUrl;
use crate::storage::keys::{HostAt, HostCrawl, Key, KeyRange, SeenKey, after};
use crate::storage::ledger::NewUrl;
use crate::storage::values::RejectedValue;
use crate::storage::{read, tables};

/// URLs of a chunk.
const CHUNK: usize = 1_000;
/// How often a job that waits for a commit looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(50);
/// Rest before a chunk whose commit was lost is handed in again.
const AGAIN: Duration = Duration::from_millis(20);
/// Longest wait for the note that it is done; without it the next start does it again.
const PATIENCE: Duration = Duration::from_secs(10);

/// Which rejected URLs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Which {
    /// Those turned away for this reason; all that depend on rules when absent.
    pub reason: Option<Rejection>,
    /// Those held back since many pages of their shape brought nothing new, in place of a reason.
    pub held_back: bool,
    /// Those of this host.
    pub host: Option<String>,
    /// All of the rules before this generation: when it is through that is noted.
    pub generation: Option<u32>,
}

/// Whether a URL rejected for this reason can be queued again at all.
pub fn may_be_readmitted(reason: Rejection) -> bool {
    use Rejection as R;
    !matches!(reason, R::Collision | R::Malformed | R::Scheme | R::Redirects)
}

/// Whether the rules of the crawl decide on it, not its site, the network, or the operator.
pub fn is_of_rules(reason: Rejection) -> bool {
    use Rejection as R;
    let of_the_operator = matches!(reason, R::Dropped | R::Blocked);
    let of_sites = matches!(
        reason,
        R::Robots | R::Address | R::SitemapForeign | R::SitemapNesting | R::Nofollow | R::NearDuplicate
    );
    may_be_readmitted(reason) && !of_the_operator && !of_sites && !reason.is_held_back()
}

/// Starts the job.
///
/// # Errors
/// Others are running.
pub fn start(node: &Arc<Node>, which: Which, readmitting: Readmitting) -> Result<JobView, JobError> {
    let any = if which.held_back { "held back" } else { "of the rules" };
    let (reason, host) = (which.reason.map_or(any, Rejection::as_str), which.host.as_deref().unwrap_or("any"));
    let about = format!("rejected URLs judged again: reason={reason} host={host}");
    let of_job = node.clone();
    node.jobs.start(&node.clock, "readmit", about, move |job| {
        let _until_its_end = readmitting;
        let runtime = Builder::new_current_thread().enable_time().build().map_err(failed)?;
        Walk { node: &of_job, job, runtime, which: &which }.all()
    })
}

/// Goes on with what the last run did not come to the end of.
pub fn go_on(node: &Arc<Node>) {
    let Some(generation) = stored(node).ok().and_then(|record| record.readmit) else { return };
    let which = Which { generation: Some(generation), ..Which::default() };
    if let Err(e) = start(node, which, Readmitting::begin(node)) {
        log::warn!("rejected URLs are not judged again: {e}; start it with `lycosa ctl urls readmit`");
    }
}

/// Takes up all that is held back. A crawl that is to end does not before that is done.
pub fn take_up_held_back(node: &Arc<Node>) {
    let counts = node.crawl.counters().rejected;
    let is_held_back = |code: u8| Rejection::from_code(code).is_some_and(Rejection::is_held_back);
    let held: u64 = counts.iter().filter(|(code, _)| is_held_back(**code)).map(|(_, n)| n).sum();
    if held == 0 {
        log::info!("nothing is held back");
        return;
    }
    let which = Which { held_back: true, ..Which::default() };
    match start(node, which, Readmitting::begin(node)) {
        Ok(_) => log::info!("held-back URLs queued again: urls={held}"),
        Err(e) => {
            log::warn!("what is held back is not taken up: {e}; do it with `lycosa ctl urls readmit --held-back`")
        }
    }
}

fn failed(error: impl std::fmt::Display) -> JobError {
    JobError::Failed(error.to_string())
}

struct Walk<'j> {
    node: &'j Arc<Node>,
    job: &'j Job,
    runtime: Runtime,
    which: &'j Which,
}

impl Walk<'_> {
    fn all(&self) -> Result<Json, JobError> {
        self.hand_in(&[])?;
        let (mut looked, mut meant, mut queued, mut budget) = (0_u64, 0_u64, 0_u64, Budget::default());
        let mut range = self.range();
        loop {
            let rows = read::scan::<tables::Rejected>(&*self.node.storage, &range, CHUNK).map_err(failed)?;
            let Some((last, _)) = rows.last() else { break };
            range.from = after(&last.encode());
            let n = rows.len() as u64;
            meant += rows.iter().filter(|(_, value)| self.is_meant(value.reason)).count() as u64;
            let live = self.node.crawl.live();
            let mut chunk = Vec::new();
            for (key, value) in rows {
                chunk.extend(self.wanted(&live, &mut budget, key, value).map_err(failed)?);
            }
            let done = if chunk.is_empty() { 0 } else { self.hand_in(&chunk)? };
            (looked, queued) = (looked + n, queued + done);
            self.job.step(n, done)?;
        }
        if let Some(generation) = self.which.generation {
            let noted = async { tokio::time::timeout(PATIENCE, readmitted(self.node, generation)).await };
            if !matches!(self.runtime.block_on(noted), Ok(Ok(()))) {
                log::warn!("saving the readmit marker failed, rejected URLs are judged again at the next start");
            }
        }
        let generation = self.node.crawl.live.generation();
        Ok(json!({ "looked": looked, "meant": meant, "readmitted": queued, "generation": generation }))
    }

    fn range(&self) -> KeyRange {
        let Some(host) = &self.which.host else { return KeyRange::all() };
        KeyRange::host_crawl(HostAt::of(&self.node.prints, host).crawl(self.node.crawl.id))
    }

    fn is_meant(&self, reason: Rejection) -> bool {
        match self.which.reason {
            Some(of) => of == reason,
            None if self.which.held_back => reason.is_held_back(),
            None => is_of_rules(reason),
        }
    }

    /// The URL, when it is meant and the rules in force admit it.
    fn wanted(&self, live: &Live, budget: &mut Budget, key: SeenKey, value: RejectedValue) -> Result<Option<NewUrl>> {
        if !self.is_meant(value.reason) || !may_be_readmitted(value.reason) {
            return Ok(None);
        }
        let Ok(url) = PageUrl::from_canonical(&value.url) else { return Ok(None) };
        let url = url.spelled(value.spelling.as_deref());
        let scope = self.node.crawl.scope.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        let way = way(value.found, value.via.as_deref(), value.origin.as_deref());
        // What is too deep, and was turned away for another reason, is news to the ledger.
        let stays = |why| why != Rejection::TooDeep || value.reason == Rejection::TooDeep;
        if judge(live, &scope, &url, value.depth, way).is_err_and(stays) {
            return Ok(None);
        }
        drop(scope);
        if value.reason == Rejection::HostBudget && !budget.leaves_room(self.node, live, key.host_crawl())? {
            return Ok(None);
        }
        let node = self.node;
        // One that was handed in as a seed goes back to itself.
        let seed = value.origin.is_none() && read::get::<tables::Seeds>(&*node.storage, &key)?.is_some();
        let said_of = value.origin.as_deref().unwrap_or(url.as_str());
        let said = node.crawl.seeds.of(&*node.storage, node.crawl.id, &node.prints, said_of)?;
        let (depth, limit) = (value.depth, said.and_then(|said| said.max_depth));
        let (via, origin, found) = (value.via.map(Arc::from), value.origin.map(Arc::from), value.found);
        Ok(Some(NewUrl { limit, seed, via, origin, found, ..NewUrl::link(url, depth) }))
    }

    /// Hands a chunk in until its commit is answered; gives how many were queued.
    fn hand_in(&self, chunk: &[NewUrl]) -> Result<u64, JobError> {
        self.runtime.block_on(async {
            loop {
                let (reply, mut answer) = oneshot::channel();
                let (urls, by_shapes) = (chunk.to_vec(), self.which.reason.is_none() && !self.which.held_back);
                let reply = Box::new(move |n| {
                    let _ = reply.send(n);
                });
                self.node.mailboxes().deduper.tell(Readmit { urls, by_shapes, reply });
                let answered = loop {
                    match tokio::time::timeout(LOOK, &mut answer).await {
                        Ok(answered) => break answered,
                        Err(_) => self.job.step(0, 0)?,
                    }
                };
                if let Ok(n) = answered {
                    return Ok(n);
                }
                self.job.step(0, 0)?;
                tokio::time::sleep(AGAIN).await;
            }
        })
    }
}

/// How many URLs of the host under the walk its page budget leaves room for: what is beyond would be turned away again.
#[derive(Default)]
struct Budget {
    host: Option<HostCrawl>,
    left: u64,
}

impl Budget {
    fn leaves_room(&mut self, node: &Node, live: &Live, host: HostCrawl) -> Result<bool> {
        let Some(most) = live.settings.pages_per_host() else { return Ok(true) };
        if self.host != Some(host) {
            let counts = read::host_counts(&*node.storage, host)?.unwrap_or_default();
            let spoken_for = counts.done.saturating_add(counts.errors).saturating_add(counts.queued_total());
            *self = Self { host: Some(host), left: most.saturating_sub(spoken_for) };
        }
        let room = self.left > 0;
        self.left = self.left.saturating_sub(1);
        Ok(room)
    }
}
