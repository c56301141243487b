//! Dead links with all pages that hold them: a job that reads the links of every page from the archive.
//!
//! Memory holds the keys of the dead URLs, at most [`dead::MOST`]; what is found is sorted in temporary files.

mod dead;
mod result;
mod walk;

use std::sync::Arc;

use serde_json::{Value, json};

use crate::admin::ControlError;
use crate::admin::commit::reading;
use crate::admin::holders::{HeldLink, HoldersAbout, HoldersPage, WhichDead};
use crate::admin::jobs::JobView;
use crate::admin::orders::command::Named;
use crate::admin::paging::Paging;
use crate::base::sort::{Sorted, Sorter};
use crate::crawl::jobs::Job;
use crate::crawl::jobs::JobError;
use crate::crawl::node::Node;
use crate::storage::keys::KeyRange;
use crate::storage::read;
use crate::storage::tables::Failed;
use crate::storage::values::FailedValue;
use dead::Dead;
use result::Writing;
use walk::{Walk, of_row, sources};

/// The job's name.
const KIND: &str = "dead-link-holders";
/// Dead URLs read at a time when the report is written.
const CHUNK: usize = 250;

/// A page of the report made last.
///
/// # Errors
/// A paging that makes no sense, or a report that cannot be read.
pub fn held(node: &Node, paging: &Paging) -> Result<HoldersPage, ControlError> {
    result::page(&node.crawl.rules.settings.store.data_dir, paging)
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
    let mut dead = Dead::load(&*node.storage, job, range, dead::MOST)?;
    let mut about = HoldersAbout {
        made: node.clock.date(),
        host: host.map(|host| host.name.clone()),
        dead: dead.len() as u64,
        dead_cut: dead.cut,
        ..HoldersAbout::default()
    };
    let files = sources(node, job, &mut about)?;
    let rows = Sorter::new(&node.crawl.rules.spill_dir);
    let mut walk = Walk { node, job, dead: &mut dead, about: &mut about, rows };
    if walk.dead.len() > 0 {
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
fn write(node: &Node, job: &Job, dead: &Dead, rows: Sorted, about: &HoldersAbout) -> Result<(), JobError> {
    let mut out = Writing::begin(&node.crawl.rules.settings.store.data_dir, about).map_err(unwritten)?;
    let mut rows = Rows { rows, next: None };
    for (first, keys) in dead.parts(CHUNK) {
        let failed = reading(job, || read::get_many::<Failed>(&*node.storage, keys))?;
        for (number, failed) in (first..).zip(failed) {
            let found = rows.of(number).map_err(unwritten)?;
            for link in failed.into_iter().flat_map(|failed| lines(failed, dead.pages(number), &found)) {
                out.link(&link).map_err(unwritten)?;
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

/// Sorted rows, taken by the number of their dead URL.
struct Rows {
    rows: Sorted,
    next: Option<(usize, String, String)>,
}

impl Rows {
    /// Pages and contexts of the next number.
    fn of(&mut self, number: usize) -> std::io::Result<Vec<(String, String)>> {
        let mut found = Vec::new();
        loop {
            let row = match self.next.take() {
                Some(row) => Some(row),
                None => self.rows.next_record()?.as_deref().and_then(of_row),
            };
            match row {
                Some((n, page, context)) if n == number => found.push((page, context)),
                other => {
                    self.next = other;
                    return Ok(found);
                }
            }
        }
    }
}
