//! Watches a running node: limits, the end of the work. The disks have a file of their own.

use std::time::Duration;

use super::memory::Governor;
use super::patience::Patience;
use super::{disk, time};
use crate::admin::{counts, statistics};
use crate::base::clock::Stopwatch;
use crate::crawl::budget::used_up;
use crate::crawl::node::{Node, Stop};

/// How often limits are looked at when no commit comes.
const LOOK: Duration = Duration::from_millis(100);
/// And while nothing is in hand and no end is awaited.
const IDLE_LOOK: Duration = Duration::from_secs(1);
/// How often the disks are looked at.
const DISK_LOOK: Duration = Duration::from_secs(1);
/// And while the crawl waits for one.
const DISK_WAIT: Duration = Duration::from_millis(200);
/// How often the memory is looked at.
const MEMORY_LOOK: Duration = Duration::from_secs(1);

/// Waits until the node has a reason to end, and gives it.
pub async fn watch(node: &Node) -> Stop {
    watch_since(node, &Stopwatch::start()).await
}

/// The same for a run that began before: `crawl.max_time` counts from then on.
pub(super) async fn watch_since(node: &Node, began: &Stopwatch) -> Stop {
    let mut stop = node.stop.subscribe();
    let mut committed = node.crawl.progress.committed.subscribe();
    let mut patience = Patience::new(node.clock.now());
    let mut disk = Stopwatch::start();
    let (mut memory, mut memory_looked) = (Governor::new(node), Stopwatch::start());
    disk::look(node);
    publish(node);
    loop {
        if let Some(why) = stop.borrow_and_update().clone() {
            return why;
        }
        let used = used_up(&node.crawl.live().settings.crawl, node.crawl.spent(), began.elapsed());
        if let Some(why) = used.map(|(stop, _)| stop).or_else(|| patience.over(node)) {
            node.stop_with(why);
            continue;
        }
        if disk.elapsed() >= if node.disk.holds() { DISK_WAIT } else { DISK_LOOK } {
            disk = Stopwatch::start();
            disk::look(node);
            node.slots.sweep(node.clock.now());
            time::follow(node);
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
            () = tokio::time::sleep(rest(node)) => {}
        }
    }
}

/// How long until the next look.
fn rest(node: &Node) -> Duration {
    let idle = node.is_quiet() && !node.disk.holds() && !node.crawl.live().settings.crawl.until_done;
    if idle { IDLE_LOOK } else { LOOK }
}

/// Brings the gauges up to date, and keeps a sample for the statistics.
fn publish(node: &Node) {
    let status = counts(node);
    node.publish_metrics(&status);
    statistics::note(node, &status);
}
