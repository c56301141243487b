//! The job: leaders are read from the database in the order of their keys, compared outside of memory, and told with their newest captures.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use super::groups::{Text, Texts, Written, groups, pair};
use super::{AcrossAbout, AcrossPage, AcrossReport};
use crate::admin::ControlError;
use crate::admin::commit::{chunks, reading};
use crate::admin::jobs::JobView;
use crate::admin::kept::{KeptPage, Writing, page};
use crate::admin::paging::Paging;
use crate::base::sort::Sorter;
use crate::crawl::jobs::{Job, JobError};
use crate::crawl::node::Node;
use crate::domain::fingerprint::{HostKey, UrlKey};
use crate::domain::near::Near::Leader;
use crate::domain::near::{Sketch, same_title};
use crate::domain::partition::Partition;
use crate::storage::keys::{HostAt, KeyRange, SeenKey};
use crate::storage::read;
use crate::storage::tables::Near;
use crate::storage::values::PageRecord;

const KIND: &str = "near-duplicates-across";
/// Rows read at a time.
const CHUNK: usize = 1_000;
/// Pages listed at most.
const LISTED: u64 = 1_000_000;

/// A page of the report made last.
pub(super) fn told(node: &Node, paging: &Paging) -> Result<AcrossReport, ControlError> {
    let KeptPage { about, items, next } = page(&node.crawl.rules.settings.store.data_dir, paging)?;
    Ok(AcrossReport { about, items, next })
}

/// Starts the job that makes it anew, unless it runs already.
pub(super) fn start(node: &Arc<Node>) -> Result<JobView, ControlError> {
    match node.jobs.at_work(KIND, |_| true) {
        Some((job, false)) => return Ok(job),
        Some((job, true)) => {
            let why = format!("job {} ({}) is coming to its end: wait for it", job.id, job.about);
            return Err(ControlError::Refused(why));
        }
        None => {}
    }
    if node.disk.holds() {
        return Err(ControlError::Refused("the disk is low or broken: the report would need room".into()));
    }
    let of_job = node.clone();
    let about = "near-duplicates across domains".to_owned();
    let job = node.jobs.start(&node.clock, KIND, about, move |job| work(&of_job, job));
    job.map_err(|e| ControlError::Refused(e.to_string()))
}

/// Why it ended early: the file, or its own reasons.
enum Failed {
    Io(std::io::Error),
    Job(JobError),
}

impl From<std::io::Error> for Failed {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<JobError> for Failed {
    fn from(error: JobError) -> Self {
        Self::Job(error)
    }
}

fn work(node: &Node, job: &Job) -> Result<Value, JobError> {
    report(node, job).map_err(|failed| match failed {
        Failed::Io(error) => JobError::Failed(format!("the report cannot be written: {error}")),
        Failed::Job(error) => error,
    })
}

fn report(node: &Node, job: &Job) -> Result<Value, Failed> {
    let dir = &node.crawl.rules.spill_dir;
    let mut texts = texts(node, job, dir)?;
    let mut about = AcrossAbout { made: node.clock.date(), texts: texts.count, ..AcrossAbout::default() };
    let mut found = groups(&mut texts, dir, |looked| job.step(looked, 0).map_err(Failed::Job))?;
    about.cut = found.cut;
    let mut lines = tempfile::spooled_tempfile_in(1 << 20, dir);
    let mut leader: Option<(u64, Option<PageRecord>)> = None;
    while let Some(record) = found.pairs.next_record()? {
        let Some((first, later, distance)) = pair(&record) else { continue };
        if about.listed >= LISTED {
            about.listed_cut = true;
            break;
        }
        if leader.as_ref().is_none_or(|(known, _)| *known != first) {
            leader = Some((first, newest(node, job, &texts.get(first)?.page)?));
        }
        let own = newest(node, job, &texts.get(later)?.page)?;
        if let Some((group, own)) = leader.as_ref().and_then(|(_, page)| page.as_ref()).zip(own) {
            serde_json::to_writer(&mut lines, &line(group, own, distance)).map_err(std::io::Error::from)?;
            std::io::Write::write_all(&mut lines, b"\n")?;
            about.listed += 1;
            job.step(0, 1)?;
        }
    }
    let mut out = Writing::begin(&node.crawl.rules.settings.store.data_dir, &about)?;
    out.lines(&mut lines)?;
    out.end()?;
    Ok(json!(about))
}

/// The leaders, in the order of their captures.
fn texts(node: &Node, job: &Job, dir: &Path) -> Result<Written, Failed> {
    let mut leaders = Sorter::new(dir);
    for rows in chunks::<Near>(&*node.storage, job, KeyRange::all(), CHUNK) {
        for (row, ()) in rows?.into_iter().filter(|(row, ())| row.table == 0) {
            let page = [&row.partition.0.to_be_bytes()[..], &row.host.0, &row.url.0];
            leaders.push(&[&page.concat()[..], &row.domain.0].concat())?;
        }
        job.step(0, 0)?;
    }
    let (mut leaders, mut texts) = (leaders.sorted()?, Texts::new(dir)?);
    while let Some(record) = leaders.next_record()? {
        let Some((page, domain)) = record.split_first_chunk() else { continue };
        let newest = newest(node, job, page)?.filter(|newest| newest.remarks.near == Some(Leader));
        let sketch = newest.and_then(|newest| Sketch::of(newest.print.as_ref()?));
        if let Some((sketch, domain)) = sketch.zip(domain.first_chunk()) {
            texts.push(&Text { sketch, domain: *domain, page: *page })?;
        }
        job.step(0, 0)?;
    }
    Ok(texts.end()?)
}

fn seen_of(node: &Node, page: &[u8; 22]) -> Option<SeenKey> {
    let (partition, rest) = page.split_first_chunk()?;
    let (host, url) = rest.split_first_chunk()?;
    let at = HostAt { partition: Partition(u16::from_be_bytes(*partition)), host: HostKey(*host) };
    Some(at.crawl(node.crawl.id).url(UrlKey::from_slice(url)?))
}

fn newest(node: &Node, job: &Job, page: &[u8; 22]) -> Result<Option<PageRecord>, JobError> {
    let Some(seen) = seen_of(node, page) else { return Ok(None) };
    Ok(reading(job, || read::latest_page(&*node.storage, seen))?.map(|(_, page)| page))
}

fn line(leader: &PageRecord, own: PageRecord, distance: u8) -> AcrossPage {
    let same_title = same_title(leader.title.as_deref(), own.title.as_deref());
    let (group, group_title) = (leader.url.clone(), leader.title.clone());
    AcrossPage { group, group_title, url: own.url, title: own.title, distance, same_title }
}
