//! Dead links with all pages that hold them: a job that reads the links of every page from the archive.
//!
//! Memory holds the keys of the dead URLs, half a million at most; what is found is sorted in temporary files.

mod walk;

use std::iter::from_fn;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::admin::ControlError;
use crate::admin::commit::{chunks, reading};
use crate::admin::holders::{HeldLink, HoldersAbout, HoldersPage, WhichDead};
use crate::admin::jobs::JobView;
use crate::admin::kept::{KeptPage, Writing, page};
use crate::admin::orders::command::Named;
use crate::admin::paging::Paging;
use crate::base::sort::{Sorted, Sorter};
use crate::crawl::jobs::{Job, JobError};
use crate::crawl::node::Node;
use crate::domain::reason::Failure;
use crate::storage::keys::{KeyRange, SeenKey};
use crate::storage::tables::Failed;
use crate::storage::values::FailedValue;
use crate::storage::{Storage, read};
use walk::{Walk, is_of, page_of, sources};

const KIND: &str = "dead-link-holders";
/// URLs looked for at most: 14 MB.
const MOST: usize = 500_000;
/// Dead URLs read at a time.
const CHUNK: usize = 250;

/// A page of the report made last.
///
/// # Errors
/// A paging that makes no sense, or a report that cannot be read.
pub fn held(node: &Node, paging: &Paging) -> Result<HoldersPage, ControlError> {
    let KeptPage { about, items, next } = page(&node.crawl.rules.settings.store.data_dir, paging)?;
    Ok(HoldersPage { about, items, next })
}

/// Starts the job that makes the report anew, unless it runs already. One at a time: two would write the same report.
///
/// # Errors
/// No host name; another report is being made; no room for it.
pub fn start(node: &Arc<Node>, which: WhichDead) -> Result<JobView, ControlError> {
    let host = which.host.as_deref().map(|host| Named::of(node, host)).transpose()?;
    let about = format!("pages that hold dead links: host={}", host.as_ref().map_or("any", |host| &host.name));
    match node.jobs.at_work(KIND, |_| true) {
        Some((job, false)) if job.about == about => return Ok(job),
        Some((job, called_off)) => {
            let what = if called_off { "is coming to its end" } else { "makes another report" };
            let why = format!("job {} ({}) {what}: wait for it, or cancel it", job.id, job.about);
            return Err(ControlError::Refused(why));
        }
        None => {}
    }
    if node.disk.holds() {
        return Err(ControlError::Refused("the disk is low or broken: the report would need room".into()));
    }
    let of_job = node.clone();
    let job = node.jobs.start(&node.clock, KIND, about, move |job| work(&of_job, job, host.as_ref()));
    job.map_err(|e| ControlError::Refused(e.to_string()))
}

fn work(node: &Node, job: &Job, host: Option<&Named>) -> Result<Value, JobError> {
    let range = host.map_or_else(KeyRange::all, |host| KeyRange::host_crawl(host.at.crawl(node.crawl.id)));
    let mut dead = Dead::load(&*node.storage, job, range, MOST)?;
    let mut about = HoldersAbout {
        made: node.clock.date(),
        host: host.map(|host| host.name.clone()),
        dead: dead.keys.len() as u64,
        dead_cut: dead.cut,
        ..HoldersAbout::default()
    };
    let files = sources(node, job, &mut about)?;
    let rows = Sorter::new(&node.crawl.rules.spill_dir);
    let mut walk = Walk { node, job, dead: &mut dead, about: &mut about, rows };
    if !walk.dead.keys.is_empty() {
        walk.all(&files)?;
    }
    let rows = walk.rows.sorted().map_err(unwritten)?;
    write(node, job, &dead, rows, &about)?;
    Ok(json!(about))
}

fn unwritten(error: std::io::Error) -> JobError {
    JobError::Failed(format!("the report cannot be written: {error}"))
}

/// Writes each dead URL with its pages. One that was put back into its queue meanwhile is left out.
fn write(node: &Node, job: &Job, dead: &Dead, mut rows: Sorted, about: &HoldersAbout) -> Result<(), JobError> {
    let mut out = Writing::begin(&node.crawl.rules.settings.store.data_dir, about).map_err(unwritten)?;
    let mut rows = from_fn(move || rows.next_record().transpose()).peekable();
    let mut numbers = 0_u32..;
    for (keys, pages) in dead.keys.chunks(CHUNK).zip(dead.held.chunks(CHUNK)) {
        let failed = reading(job, || read::get_many::<Failed>(&*node.storage, keys))?;
        for ((failed, pages), number) in failed.into_iter().zip(pages).zip(numbers.by_ref()) {
            let mut found = Vec::new();
            while let Some(row) = rows.next_if(|row| row.as_ref().map_or(true, |row| is_of(row, number))) {
                found.extend(page_of(&row.map_err(unwritten)?));
            }
            for link in failed.into_iter().flat_map(|failed| lines(failed, u64::from(*pages), &found)) {
                out.line(&link).map_err(unwritten)?;
            }
        }
        job.step(0, 0)?;
    }
    out.end().map_err(unwritten)
}

fn lines(failed: FailedValue, pages: u64, found: &[(String, String)]) -> Vec<HeldLink> {
    let FailedValue { url, reason, status, via, .. } = failed;
    let line = |page: Option<String>, context: Option<String>| {
        let (url, reason) = (url.clone(), reason.as_str().to_owned());
        HeldLink { url, reason, status, page, context, pages }
    };
    if found.is_empty() {
        return vec![line(via.clone(), None)];
    }
    found.iter().map(|(page, context)| line(Some(page.clone()), Some(context.clone()))).collect()
}

/// Dead URLs that are looked for, in the order of their keys. In memory: a key and a count each.
#[derive(Default)]
struct Dead {
    keys: Vec<SeenKey>,
    held: Vec<u32>,
    /// There are more than are looked for.
    cut: bool,
}

impl Dead {
    /// Those given up within a range of keys.
    fn load(storage: &dyn Storage, job: &Job, range: KeyRange, most: usize) -> Result<Self, JobError> {
        let mut dead = Self::default();
        for rows in chunks::<Failed>(storage, job, range, CHUNK) {
            let rows = rows?;
            // What this machine did itself says nothing of a link.
            let keys = rows.iter().filter(|(_, failed)| failed.reason != Failure::Spill).map(|(key, _)| *key);
            dead.keys.extend(keys);
            dead.cut = dead.keys.len() > most;
            if dead.cut {
                dead.keys.truncate(most);
                break;
            }
            job.step(0, 0)?;
        }
        dead.held = vec![0; dead.keys.len()];
        Ok(dead)
    }

    /// The number of a URL that is looked for.
    fn find(&self, key: &SeenKey) -> Option<usize> {
        self.keys.binary_search(key).ok()
    }

    /// One more page holds it; gives how many do.
    fn hold(&mut self, number: usize) -> u32 {
        let Some(held) = self.held.get_mut(number) else { return 0 };
        *held = held.saturating_add(1);
        *held
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admin::jobs::JobState;
    use crate::base::clock::Clock;
    use crate::base::time::UnixMillis;
    use crate::crawl::jobs::Jobs;
    use crate::domain::fingerprint::{CrawlId, HostKey, UrlKey};
    use crate::domain::partition::Partition;
    use crate::storage::keys::HostAt;
    use crate::storage::{Batch, MemoryStorage};

    fn key(n: u8) -> SeenKey {
        HostAt { partition: Partition(1), host: HostKey([2; 8]) }.crawl(CrawlId(1)).url(UrlKey([n; 12]))
    }

    fn failed(reason: Failure) -> FailedValue {
        FailedValue {
            url: "http://h.test/".into(),
            reason,
            status: None,
            when: UnixMillis(1),
            captured: None,
            attempts: 1,
            limit: None,
            depth: 0,
            hops: 0,
            seed: false,
            next: None,
            visits: 0,
            found: crate::domain::found_as::FoundAs::Link,
            discovered: UnixMillis(1),
            origin: None,
            via: None,
            spelling: None,
        }
    }

    #[test]
    fn what_this_machine_did_is_no_dead_link_more_than_can_be_looked_for_is_cut_and_pages_are_counted() {
        let (storage, mut batch) = (MemoryStorage::new(), Batch::new());
        for n in 1..=5 {
            batch.put::<Failed>(&key(n), &failed(if n == 2 { Failure::Spill } else { Failure::Reset }));
        }
        storage.write(&batch).unwrap();
        let jobs = Jobs::default();
        let look = move |job: &Job| {
            let mut all = Dead::load(&storage, job, KeyRange::all(), 4)?;
            let cut = Dead::load(&storage, job, KeyRange::all(), 3)?;
            let numbers = [1, 2, 5].map(|n| all.find(&key(n)));
            let counts = [all.hold(3), all.hold(3), all.hold(9)];
            Ok(json!([all.keys.len(), all.cut, cut.keys.len(), cut.cut, numbers, counts, all.held]))
        };
        let id = jobs.start(&Clock::real(), "test", String::new(), look).unwrap().id;
        while jobs.get(id).unwrap().state == JobState::Running {
            std::thread::yield_now();
        }
        assert_eq!(jobs.get(id).unwrap().result, json!([4, false, 3, true, [0, null, 3], [1, 2, 0], [0, 0, 0, 2]]));
    }
}
