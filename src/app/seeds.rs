//! The seeds of the settings, handed in when a run begins.

use std::sync::Arc;
use std::time::Duration;

use super::NodeControl;
use crate::admin::{ControlError, RejectedSeed, SeedReport};
use crate::base::units::format_duration;
use crate::config::{without_credentials, without_scheme};
use crate::crawl::node::{Node, Stop};
use crate::crawl::together::Company;
use crate::storage::read;
use crate::storage::values::RunState;

/// How often the seeds are handed in before the run gives up.
const SEED_TRIES: u32 = 5;
/// Time between.
const SEED_REST: Duration = Duration::from_millis(200);
/// Seeds without a scheme that are told one by one.
const TOLD: usize = 10;

/// Hands in the seeds of the settings; those known from a former run change nothing. Gives those that were not taken. A crawl
/// that is to end by itself, and has nothing at all to do, ends.
pub(super) async fn begin(node: &Arc<Node>) -> Vec<RejectedSeed> {
    let run: Option<RunState> = read::meta(&*node.storage, ()).ok().flatten();
    let handed_in = tokio::select! {
        handed_in = hand_in(node) => handed_in,
        () = lose_patience(node) => return Vec::new(),
    };
    match handed_in {
        Ok(report) => {
            for refused in &report.rejected {
                log::warn!("seed not taken: seed={:?} why={:?}", without_credentials(&refused.url), refused.reason);
            }
            report.guessed.iter().take(TOLD).for_each(|url| log::info!("{}", without_scheme(url)));
            let (runs, new, known) = (run.map_or(1, |r| r.runs), report.accepted, report.known);
            log::info!("crawl begins: run={runs} new_seeds={new} known_seeds={known}");
            let live = node.crawl.live();
            let kept = node.crawl.rules.seeds().len();
            if live.settings.crawl.seeds.is_empty() && kept > 0 {
                log::info!(
                    "no seeds in the settings: the scope is that of the seeds that the crawl knows: seeds={kept}"
                );
            }
            let crawl = &live.settings.crawl;
            if crawl.seeds.is_empty() && !crawl.until_done && node.crawl.counters().queued == 0 {
                log::info!("no seeds: waiting for `lycosa ctl seeds add URL`");
            }
            let is_alone = node.crawl.together.company() == Company::Alone; // else others may have something for it
            if crawl.until_done && is_alone && node.crawl.counters().discovered == 0 {
                node.stop_with(Stop::Done);
            }
            report.rejected
        }
        Err(e) => {
            log::error!("the seeds were not taken: {e}");
            node.stop_with(Stop::Disk(e.to_string()));
            Vec::new()
        }
    }
}

/// Until the seeds are committed nobody else looks at the disks. One that refuses is waited for as long as `disk.retry_for`,
/// be it full or broken; then the run ends.
async fn lose_patience(node: &Node) {
    let patience = node.crawl.rules.settings.disk.retry_for;
    let mut since = None;
    loop {
        tokio::time::sleep(SEED_REST).await;
        super::disk::look(node);
        let now = node.clock.now();
        let Some(why) = node.disk.why().filter(|_| node.disk.is_broken()) else { continue };
        let first = *since.get_or_insert_with(|| {
            let most = format_duration(patience);
            log::warn!("the seeds cannot be committed yet, the disk is waited for: for_at_most={most} (disk.retry_for) why={why:?}");
            now
        });
        if now.since(first) >= patience {
            let most = format_duration(patience);
            let told = format!("the seeds could not be committed for {most} (disk.retry_for), then start again: {why}");
            return node.stop_with(Stop::Disk(told));
        }
    }
}

/// A commit of seeds may be lost like any other (an actor died at that moment): they are handed in again.
async fn hand_in(node: &Arc<Node>) -> Result<SeedReport, ControlError> {
    let mut tries = 1;
    loop {
        match NodeControl::add_seeds(node.clone(), node.crawl.rules.settings.crawl.seeds.clone()).await {
            // While the disk refuses, and nothing else is wrong, it is waited for.
            Err(_) if node.disk.is_broken() && node.stop.borrow().is_none() => tokio::time::sleep(SEED_REST).await,
            Err(e) if tries < SEED_TRIES && node.stop.borrow().is_none() => {
                log::warn!("the seeds are handed in again: tries={tries} why={e}");
                tries += 1;
                tokio::time::sleep(SEED_REST).await;
            }
            other => return other,
        }
    }
}
