//! Looks at the disks: pauses the crawl before one is full, and lets it go on when there is room and writes go through.

use std::path::PathBuf;

use crate::base::disk::policy::{Need, Room, SLACK};
use crate::base::disk::probe::{probe, room};
use crate::base::disk::state::Shortage;
use crate::base::units::format_duration;
use crate::crawl::frontier::Look;
use crate::crawl::node::{Node, Stop};
use crate::telemetry::StateChange;

/// Bytes written to see whether temporary files can be made again.
const PROBE: u64 = 64 << 10;

/// A folder, the room where it lies, and the free bytes below which the crawl pauses.
struct Place {
    path: PathBuf,
    room: Room,
    pause_below: u64,
}

/// Before the first request: a look, and the reserve, when there is room for it.
pub(super) fn begin(node: &Node) {
    look(node);
    let missing = node.reserve.missing();
    let roomy = places(node).first().is_some_and(|p| p.room.free >= p.pause_below.saturating_add(missing));
    if missing == 0 || roomy {
        make_reserve(node);
    } else {
        log::warn!("no room for the reserve (disk.reserve): reserve_bytes={missing}");
    }
}

fn make_reserve(node: &Node) {
    if let Err(e) = node.reserve.make() {
        log::warn!("the reserve (disk.reserve) could not be made: {e}");
    }
}

/// Pauses the crawl or lets it go on.
pub(super) fn look(node: &Node) {
    look_at_spill(node);
    let places = places(node);
    let low = node.disk.is_low();
    match (low, places.iter().find_map(|place| shortage(node, place, low))) {
        (false, None) => {}
        (false, Some(short)) => {
            // What is told is what it waits for, which is more than what it began with.
            let short = places.iter().find_map(|place| shortage(node, place, true)).unwrap_or(short);
            let fields = short.fields();
            node.disk.set_low(short);
            let text = "disk low, the crawl pauses until there is more (or start with a smaller disk.pause_below)";
            node.changed(StateChange::DiskLow, format!("{text}: {fields}"));
        }
        (true, Some(short)) => node.disk.set_low(short),
        (true, None) if writes_go_through(node, &places) => {
            node.disk.has_room();
            node.changed(StateChange::DiskSound, "disk has space again, the crawl goes on");
            node.mailboxes().frontier.tell(Look);
        }
        (true, None) => {}
    }
}

/// The folders that are written to; one that cannot be looked at is left out, for writes to it will tell.
fn places(node: &Node) -> Vec<Place> {
    let settings = &node.crawl.rules.settings;
    let folders = [settings.store.data_dir.clone(), settings.warc_dir(), node.crawl.rules.spill_dir.clone()];
    let mut places = Vec::new();
    for (number, path) in folders.into_iter().enumerate() {
        let Ok(room) = room(&path) else { continue };
        node.telemetry.metrics.disk_free(number, room.free);
        let pause_below = settings.disk.pause_below(room.total);
        // Temporary files may lie on a small file system of their own, in memory for example.
        let pause_below = if number == 2 { pause_below.min(room.total / 4) } else { pause_below };
        places.push(Place { path, room, pause_below });
    }
    places
}

fn shortage(node: &Node, place: &Place, low: bool) -> Option<Shortage> {
    let Place { path, room, pause_below } = place;
    let need = if low {
        let reserve = if path == &node.crawl.rules.settings.store.data_dir { node.reserve.missing() } else { 0 };
        Need::to_go_on(room, *pause_below, node.disk.was_full(), reserve)
    } else {
        Need::to_run(room, *pause_below)
    };
    room.lacks(&need).map(|lack| Shortage { path: path.clone(), lack })
}

/// The figures of a file system do not know of quotas: after a write that found no space, the reserve is made again and some
/// slack is written to each folder.
fn writes_go_through(node: &Node, places: &[Place]) -> bool {
    if !node.disk.was_full() {
        make_reserve(node);
        return true;
    }
    let slack = |place: &Place| probe(&place.path, SLACK.min(place.room.total / 4));
    let tried = node.reserve.make().and_then(|()| places.iter().try_for_each(slack));
    tried.inspect_err(|e| log::debug!("still no space: {e}")).is_ok()
}

/// Whether temporary files can be written again, when they could not.
fn look_at_spill(node: &Node) {
    let Some(since) = node.disk.spill_since() else { return };
    let dir = &node.crawl.rules.spill_dir;
    let patience = node.crawl.rules.settings.disk.retry_for;
    match std::fs::create_dir_all(dir).and_then(|()| probe(dir, PROBE)) {
        Ok(()) => {
            node.disk.spill_works();
            node.changed(StateChange::DiskSound, "temporary files can be written again, the crawl goes on");
            node.mailboxes().frontier.tell(Look);
        }
        Err(e) if node.clock.now().since(since) >= patience => node.stop_with(Stop::Disk(format!(
            "temporary files cannot be written to {}: {e}; it was tried for {} (disk.retry_for): look at the disk, then start again",
            dir.display(),
            format_duration(patience)
        ))),
        Err(_) => {}
    }
}
