//! The memory of the process: how `memory.max` is shared out at the start, and fewer pages at a time while it is short.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::Ordering;

use tokio::sync::{AcquireError, OwnedSemaphorePermit};

use crate::base::fault::Fault;
use crate::base::units::human_size;
use crate::config::Settings;
use crate::crawl::node::Node;
use crate::domain::memory::{MemoryPlan, TooLittle, permits_wanted};
use crate::telemetry::StateChange;
use crate::telemetry::machine::{MemoryLimit, memory_limit};
use crate::telemetry::process::own_bytes;

/// Who gets how much of `memory.max`; without it, of three quarters of what there is.
///
/// # Errors
/// When it is too little.
pub fn plan(settings: &Settings) -> Result<MemoryPlan, TooLittle> {
    let max = settings.memory.max.unwrap_or_else(|| memory_limit().map_or(u64::MAX, share));
    MemoryPlan::of(max, settings.store.memory, settings.dedup.filter_bytes(settings.dedup.bloom_urls))
}

fn share(limit: MemoryLimit) -> u64 {
    limit.bytes / 4 * 3
}

/// As [`plan`]; the database gets its part, and all of it is told.
///
/// # Errors
/// When it is too little.
pub(super) fn share_out(settings: &mut Settings) -> Result<(), TooLittle> {
    let plan = plan(settings)?;
    let why = match (settings.memory.max, memory_limit()) {
        (Some(_), _) => "memory.max".to_owned(),
        (None, Some(limit)) => format!("three quarters of the {}'s {}", limit.by, human_size(limit.bytes)),
        (None, None) => "the machine does not say how much it has; set memory.max".to_owned(),
    };
    let (max, database, filter) = (human_size(plan.max), human_size(plan.database), human_size(plan.filter));
    log::info!("memory: max={max:?} why={why:?} database={database:?} seen_filter_up_to={filter:?}");
    if plan.database < settings.store.memory {
        let asked = human_size(settings.store.memory);
        log::warn!("store.memory is lowered so that it fits into memory.max: asked={asked:?} given={database:?}");
        settings.store.memory = plan.database;
    }
    Ok(())
}

type Taking = Pin<Box<dyn Future<Output = Result<OwnedSemaphorePermit, AcquireError>>>>;

/// Withholds page permits while memory is short; what it holds comes back when it is dropped.
pub(super) struct Governor<'n> {
    node: &'n Node,
    /// Permits taken out of the node's.
    held: Vec<OwnedSemaphorePermit>,
    /// More are wanted: they are taken as pages give them back, before other pages get them.
    taking: Option<Taking>,
    /// Permits that pages may use, once `taking` is done.
    allowed: usize,
}

impl<'n> Governor<'n> {
    pub fn new(node: &'n Node) -> Self {
        Self { node, held: Vec::new(), taking: None, allowed: node.permits.pages_total }
    }

    /// Looks how much memory is resident and asks for permits, or gives some back.
    pub fn look(&mut self) {
        let node = self.node;
        let Some(mut resident) = own_bytes() else { return };
        if node.faults.pass("node.memory") == Some(Fault::Error) {
            resident = node.permits.memory.max;
        }
        let wanted = permits_wanted(resident, node.permits.memory.max, self.allowed, node.permits.pages_total);
        if wanted == self.allowed {
            return;
        }
        self.tell(wanted, resident);
        self.allowed = wanted;
        self.withhold(node.permits.pages_total - wanted);
    }

    fn withhold(&mut self, target: usize) {
        self.taking = None; // what it had gathered so far comes back
        let mut held = self.held();
        while held > target
            && let Some(mut permit) = self.held.pop()
        {
            let keep = permit.num_permits().saturating_sub(held - target);
            let kept = permit.split(keep).filter(|_| keep > 0);
            held -= permit.num_permits();
            // First the number, then the permits: in between fewer seem to be there than are, never more.
            self.node.permits.withheld.store(held, Ordering::Release);
            self.held.extend(kept);
        }
        if let Some(more) = target.checked_sub(held).filter(|n| *n > 0) {
            let more = u32::try_from(more).unwrap_or(u32::MAX);
            self.taking = Some(Box::pin(self.node.permits.pages.clone().acquire_many_owned(more)));
        }
    }

    fn held(&self) -> usize {
        self.held.iter().map(OwnedSemaphorePermit::num_permits).sum()
    }

    /// Ends when permits that were asked for have been taken.
    pub async fn taken(&mut self) {
        let Some(taking) = &mut self.taking else { return std::future::pending().await };
        let taken = taking.await;
        self.taking = None;
        self.held.extend(taken); // the semaphore is never closed
        self.node.permits.withheld.store(self.held(), Ordering::Release);
    }

    fn tell(&self, wanted: usize, resident: u64) {
        let (all, resident, max) =
            (self.node.permits.pages_total, human_size(resident), human_size(self.node.permits.memory.max));
        if self.allowed == all {
            let text = format!(
                "memory is short, fewer pages are taken at a time until it is not; with the same settings it will be again: raise \
                 memory.max, or lower fetch.concurrency or store.memory: resident={resident:?} max={max:?}"
            );
            self.node.changed(StateChange::MemoryShort, text);
        } else if wanted == all {
            let text =
                format!("memory is no longer short, all page permits are back: resident={resident:?} max={max:?}");
            self.node.changed(StateChange::MemoryEnough, text);
        }
    }
}

impl Drop for Governor<'_> {
    fn drop(&mut self) {
        self.node.permits.withheld.store(0, Ordering::Release);
    }
}
