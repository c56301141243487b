//! Watches a running node: limits, the end of the work. The disks have a file of their own.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::budget::used_up;
use super::cockpit::statistics;
use super::memory::Governor;
use super::{disk, next, status};
use crate::actors::node::{Node, Stop};
use crate::clock::Stopwatch;
use crate::config::units::roughly;
use crate::domain::time::UnixMillis;
use crate::storage::values::Counters;

/// How often limits are looked at when no commit comes.
const LOOK: Duration = Duration::from_millis(100);
/// How often the disks are looked at.
const DISK_LOOK: Duration = Duration::from_secs(1);
/// And while the crawl waits for one.
const DISK_WAIT: Duration = Duration::from_millis(200);
/// How often the memory is looked at.
const MEMORY_LOOK: Duration = Duration::from_secs(1);
/// After so long without anything finished it is asked when there will be something to do.
const SETTLED: Duration = Duration::from_secs(1);

/// Waits until the node has a reason to end, and gives it.
pub async fn watch(node: &Node) -> Stop {
    let mut stop = node.stop.subscribe();
    let mut committed = node.committed.subscribe();
    let began = Stopwatch::start();
    let mut patience = Patience::new(node.clock.now());
    let mut disk = Stopwatch::start();
    let (mut memory, mut memory_looked) = (Governor::new(node), Stopwatch::start());
    disk::look(node);
    publish(node);
    loop {
        if let Some(why) = stop.borrow_and_update().clone() {
            return why;
        }
        if let Some(why) = limit(node, began.elapsed()).or_else(|| patience.over(node)) {
            node.stop_with(why);
            continue;
        }
        if disk.elapsed() >= if node.disk.holds() { DISK_WAIT } else { DISK_LOOK } {
            disk = Stopwatch::start();
            disk::look(node);
            node.slots.sweep(node.clock.now());
            publish(node);
        }
        if memory_looked.elapsed() >= MEMORY_LOOK {
            memory_looked = Stopwatch::start();
            memory.look();
        }
        tokio::select! {
            _ = stop.changed() => {}
            _ = committed.changed() => {}
            () = memory.taken() => {}
            () = tokio::time::sleep(LOOK) => {}
        }
    }
}

/// Brings the gauges up to date, and keeps a sample for the statistics.
fn publish(node: &Node) {
    let status = status(node);
    node.publish_metrics(&status);
    statistics::note(node, &status);
}

fn limit(node: &Node, ran: Duration) -> Option<Stop> {
    used_up(&node.live().settings.crawl, &node.counters(), ran).map(|(stop, _)| stop)
}

/// `until_done`: over when nothing is left; when nothing was finished for `until_done_patience`; or at once when nothing
/// can be done before that time is over. As long as no page was fetched, `until_done_first_patience` takes its place.
struct Patience {
    finished: u64,
    since: UnixMillis,
    looked: UnixMillis,
    /// The wait has been told.
    told: bool,
}

impl Patience {
    fn new(now: UnixMillis) -> Self {
        Self { finished: 0, since: now, looked: now, told: false }
    }

    fn over(&mut self, node: &Node) -> Option<Stop> {
        let now = node.clock.now();
        let counters = node.counters();
        let finished = counters.done.saturating_add(counters.error()).saturating_add(counters.rejected_total());
        let paused = node.paused.load(Ordering::Acquire) || node.draining.load(Ordering::Acquire);
        // A retry under way is no progress: else hosts that never answer would keep a crawl for ever, one after the other.
        let busy = !node.is_quiet();
        if finished != self.finished || paused || (busy && !self.told) {
            (self.finished, self.since, self.told) = (finished, now, false);
            next::publish(node, None);
        }
        let live = node.live();
        let crawl = &live.settings.crawl;
        let nothing_left = counters.queued == 0 && !node.live.is_readmitting();
        if crawl.until_done && nothing_left && counters.discovered > 0 && node.is_quiet() {
            return Some(Stop::Done);
        }
        if busy {
            self.looked = now;
        }
        if now.since(self.since) < SETTLED || now.since(self.looked) < SETTLED {
            return None;
        }
        self.looked = now;
        let next = if node.disk.holds() { None } else { next_try(node) };
        next::publish(node, next);
        crawl.until_done.then(|| self.gives_up(node, &counters, now, next)).flatten()
    }

    /// `next`: when there will be something to do; `None` when something may be done now.
    fn gives_up(
        &mut self,
        node: &Node,
        counters: &Counters,
        now: UnixMillis,
        next: Option<UnixMillis>,
    ) -> Option<Stop> {
        let live = node.live();
        let crawl = &live.settings.crawl;
        let fetched_any = counters.statuses.range(200..300).next().is_some();
        let first = crawl.until_done_first_patience.min(crawl.until_done_patience);
        let until = self.since.plus(if fetched_any { crawl.until_done_patience } else { first });
        if let Some(why) = node.disk.why() {
            let ends = |why| Stop::Disk(format!("not waiting any longer (crawl.until_done_patience): {why}"));
            return (now >= until).then(|| ends(why));
        }
        let next_in = || next.map_or_else(|| "unknown".into(), |at| format!("in {}", roughly(at.since(now))));
        if next.is_some_and(|at| at > until) || now.since(self.since) >= crawl.until_done_patience {
            log::warn!(
                "not waiting any longer, what is left stays in the data folder for another run: urls={} next_try={:?}",
                counters.queued,
                next_in(),
            );
            return Some(Stop::Done);
        }
        if next.is_some() && !std::mem::replace(&mut self.told, true) {
            log::info!(
                "only retries are left, waiting for them (crawl.until_done_patience says how long): urls={} next_try={:?} \
                 until_at_most={:?}",
                counters.queued,
                next_in(),
                format!("in {}", roughly(until.since(now))),
            );
        }
        None
    }
}

/// A look that fails is repeated; the rooms that read the same records stop the node when it goes on.
fn next_try(node: &Node) -> Option<UnixMillis> {
    next::next_try(node).unwrap_or_else(|e| {
        log::warn!("it cannot be told when the next retry is due: {e}");
        None
    })
}
