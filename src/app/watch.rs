//! Watches a running node: limits, the end of the work, the disk.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::status;
use crate::actors::frontier::Look;
use crate::actors::node::{Node, Stop};
use crate::clock::Stopwatch;
use crate::domain::time::UnixMillis;

/// How often limits are looked at when no commit comes.
const LOOK: Duration = Duration::from_millis(100);
/// How often the disk is looked at.
const DISK_LOOK: Duration = Duration::from_secs(1);

/// Waits until the node has a reason to end, and gives it.
pub async fn watch(node: &Node) -> Stop {
    let mut stop = node.stop.subscribe();
    let mut committed = node.committed.subscribe();
    let began = Stopwatch::start();
    let mut patience = Patience::new(node.clock.now());
    let mut disk = Stopwatch::start();
    check_disk(node);
    loop {
        if let Some(why) = stop.borrow_and_update().clone() {
            return why;
        }
        if let Some(why) = limit(node, began.elapsed()).or_else(|| patience.over(node)) {
            node.stop_with(why);
            continue;
        }
        if disk.elapsed() >= DISK_LOOK {
            disk = Stopwatch::start();
            check_disk(node);
            node.slots.sweep(node.clock.now());
            node.publish_metrics(&status(node));
        }
        tokio::select! {
            _ = stop.changed() => {}
            _ = committed.changed() => {}
            () = tokio::time::sleep(LOOK) => {}
        }
    }
}

fn limit(node: &Node, ran: Duration) -> Option<Stop> {
    let crawl = &node.rules.settings.crawl;
    let counters = node.counters();
    if crawl.max_pages.is_some_and(|max| counters.pages_stored >= max) {
        Some(Stop::Pages)
    } else if crawl.max_bytes.is_some_and(|max| counters.bytes >= max) {
        Some(Stop::Bytes)
    } else if crawl.max_time.is_some_and(|max| ran >= max) {
        Some(Stop::Time)
    } else {
        None
    }
}

/// `until_done`: over when nothing is left, or when nothing was finished for `until_done_patience`.
struct Patience {
    finished: u64,
    since: UnixMillis,
}

impl Patience {
    fn new(now: UnixMillis) -> Self {
        Self { finished: 0, since: now }
    }

    fn over(&mut self, node: &Node) -> Option<Stop> {
        let crawl = &node.rules.settings.crawl;
        if !crawl.until_done {
            return None;
        }
        let counters = node.counters();
        if counters.queued == 0 && counters.discovered > 0 && node.is_quiet() {
            return Some(Stop::Done);
        }
        let finished = counters.done.saturating_add(counters.error()).saturating_add(counters.rejected_total());
        let now = node.clock.now();
        if finished != self.finished || !node.is_quiet() || node.holds() {
            (self.finished, self.since) = (finished, now);
        }
        if now.since(self.since) < crawl.until_done_patience {
            return None;
        }
        log::warn!(
            "nothing was finished for {:?}: {} URLs are left for another run",
            crawl.until_done_patience,
            counters.queued
        );
        Some(Stop::Done)
    }
}

/// Pauses the crawl before the disk is full, and lets it go on when there is space again.
fn check_disk(node: &Node) {
    let settings = &node.rules.settings;
    let Ok(disk) = nix::sys::statvfs::statvfs(&settings.store.data_dir) else { return };
    let free = disk.blocks_available().saturating_mul(disk.fragment_size());
    let total = disk.blocks().saturating_mul(disk.fragment_size());
    node.metrics.disk_free(free);
    let least = settings.disk.pause_below(total);
    let low = node.disk_low.load(Ordering::Acquire);
    if !low && free < least {
        log::error!("disk low, the crawl pauses until there is more space: free_bytes={free} needed_bytes={least}");
        node.disk_low.store(true, Ordering::Release);
    } else if low && free >= least.saturating_add(least / 2) {
        log::info!("disk has space again, the crawl goes on: free_bytes={free}");
        node.disk_low.store(false, Ordering::Release);
        node.doors().frontier.tell(Look);
    }
}
