//! One life of the crawl of a member, as those see it that outlive it: the mover, and the beats.

use std::sync::Arc;

use tokio::runtime::Handle;

use super::handing::Ways;
use super::taking::next_to;
use crate::admin::counts;
use crate::cluster::mover::{Life, Stock};
use crate::crawl::node::{Node, Stop};
use crate::domain::cluster::lease::{Facts, Whole};
use crate::domain::cluster::map::Map;
use crate::domain::partition::{Partition, PartitionSet};
use crate::recovery::checkpoint::fetch::keep_map;
use crate::recovery::checkpoint::{CheckpointError, Target};
use crate::recovery::part::{PartError, parcels};
use crate::storage::values::Handed;
use crate::storage::{StorageError, read};

/// A life of the crawl, as the mover has to do with it.
pub(super) fn life(node: &Arc<Node>, runtime: &Handle) -> Life {
    let share = node.crawl.share.clone();
    let held = share.as_ref().map(|share| share.held.clone());
    let (resting, copied, looked, runtime) =
        (Arc::downgrade(node), Arc::downgrade(node), Arc::downgrade(node), runtime.clone());
    let rest = move || _ = resting.upgrade().map(|node| node.stop_with(Stop::Moves));
    let copy = move || {
        if let Some(node) = copied.upgrade() {
            runtime.spawn(super::checkpoint::create(node, false)); // what comes of it is told; one that is being made will do
        }
    };
    let follow = move |map: &Map| _ = share.as_ref().map(|share| share.follow(map));
    let is_handed = move || looked.upgrade().is_some_and(|node| is_handed(&node).unwrap_or_default());
    Life {
        held,
        missing: PartitionSet::none(),
        rest: Box::new(rest),
        copy: Box::new(copy),
        follow: Box::new(follow),
        is_handed: Box::new(is_handed),
    }
}

/// Whether no row is kept for others, and none waits to be taken in, whose links may be others' too.
fn is_handed(node: &Node) -> Result<bool, StorageError> {
    let handed = read::meta::<Handed>(&*node.storage, ())?.unwrap_or_default();
    let waits = match &node.crawl.share {
        Some(share) => next_to(&*node.storage, share, &[])?.is_some(),
        None => false,
    };
    Ok(!waits && handed.out.values().all(|of| of.rows == 0))
}

/// The member's part of the store.
pub(super) struct Objects {
    pub store: Target,
    pub endpoint: Option<String>,
}

impl Objects {
    /// A start keeps the map, also in a store that has none.
    pub fn enter(&self, map: &Map) {
        if map.version > 1 && self.store.is_store().is_err() {
            log::warn!("the store knows nothing of this crawl, it is taken for a new one: store={}", self.store);
        }
        told(keep_map(&self.store, self.endpoint.as_deref(), &map.text()));
    }
}

fn told(kept: Result<(), CheckpointError>) {
    if let Err(e) = kept {
        log::warn!("map not kept in the store, an engine that loses everything would not be known by it: error={e}");
    }
}

impl Stock for Objects {
    fn remove(&self, object: &str) {
        let place = self.store.open(self.endpoint.as_deref());
        if let Err(e) = place.map_err(PartError::from).and_then(|place| parcels::remove(&*place, object)) {
            log::warn!("object of partitions that came is left in the store: object={object} error={e}");
        }
    }

    fn keep_map(&self, map: &Map) {
        told(self.store.is_store().and_then(|()| keep_map(&self.store, self.endpoint.as_deref(), &map.text())));
    }
}

/// What a checkpoint has that others wait for still.
fn waited_for(mut whole: Whole, node: &Node, map: Option<&Map>) -> Whole {
    let (Some(share), Some(map)) = (&node.crawl.share, map) else { return whole };
    let (hands, settles) = (share.held.hands_over(map, share.own), share.held.settles(map, share.own));
    whole.gone.retain(|partition, _| hands.contains_key(&Partition(*partition)));
    whole.came.retain(|partition, _| settles.contains_key(&Partition(*partition)));
    whole
}

/// What is said of a crawl with each beat.
pub(super) fn facts(node: &Node, ways: &Ways) -> Facts {
    let (links_out, links_in) = ways.links();
    node.telemetry.metrics.links(links_out, links_in);
    let map = node.member.get().and_then(|member| member.map());
    let counts = counts(node);
    let shelf = super::checkpoint::shelf(node);
    let names = shelf.names().unwrap_or_default();
    let copied = names.iter().rev().find(|name| shelf.copied(name).is_some());
    let made = copied.and_then(|name| shelf.find(Some(name)).ok());
    Facts {
        pages: counts.pages_stored,
        bytes: counts.bytes,
        failures: counts.errors,
        waiting: counts.waiting,
        checkpoint: made.as_ref().map(|made| made.name.clone()),
        checkpoint_ms: made.as_ref().map(|made| made.ts_ms),
        admin: node.crawl.rules.settings.admin_listen.map(|at| at.to_string()),
        outbox: node.crawl.share.as_ref().map(|share| ways.waits(node, share)).unwrap_or_default(),
        links_out,
        links_in,
        map: map.as_ref().map_or(0, |map| map.version),
        whole: made.and_then(|made| made.member).map(|whole| waited_for(whole, node, map.as_ref())).unwrap_or_default(),
    }
}
