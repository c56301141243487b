//! When a write fails: nothing is believed any more but the database, which is opened again and asked.
//!
//! A failed write says nothing of whether the batch got in. So the files are *not* cut back to what this Store remembers: a
//! batch that got in after all would then point past the end of its WARC (I3). The group is given up, the files are closed,
//! nothing new is begun; then, again and again: a probe is written, the database is opened again, and [`Open::take_up`] cuts
//! the files back to what *it* says.

use std::sync::Arc;

use super::{Commit, Open, Store, StoreError};
use crate::base::disk::policy::Next;
use crate::base::disk::{DiskFault, probe};
use crate::base::sync::lock;
use crate::base::units::format_duration;
use crate::crawl::frontier::Reload;
use crate::crawl::node::Stop;
use crate::crawl::worker::{Ctx, Handles};
use crate::telemetry::StateChange;

/// Bytes written to each folder before the database is closed and opened again: while the disk takes none, it stays open for
/// those who read.
const PROBE: u64 = 64 << 10;

/// It is time to try again.
pub(super) struct Mend;

impl StoreError {
    /// What it says of the disk.
    pub(super) fn fault(&self) -> DiskFault {
        match self {
            Self::Storage(e) => e.fault(),
            Self::Warc(e) => e.fault(),
            Self::Probe { source, .. } => DiskFault::of_io(source),
            Self::Injected(_) => DiskFault::Other,
        }
    }
}

impl Store {
    /// Opens the files at the start of a life. A disk that is full or broken is waited for, as later; what is not there or not
    /// ours is an error that ends the node.
    pub(super) fn open(&mut self) {
        match Open::take_up(&self.node, None) {
            Ok(open) => self.opened(open),
            Err(e) if !e.is_of_the_disk() => {
                log::error!("the store cannot open its files: {e}");
                self.node.stop_with(Stop::Disk(e.to_string()));
            }
            Err(e) => self.failed(&e, "the store cannot open its files"),
        }
    }

    /// Takes over what was opened. Pages whose commits were refused meanwhile carry an older epoch from here on.
    fn opened(&mut self, mut open: Open) {
        let node = &self.node;
        let counters = open.ledger.committed().clone();
        let known = std::mem::replace(&mut *lock(&node.crawl.progress.counters), counters.clone()).next_commit;
        if let Some(tries) = node.disk.store_mended() {
            node.crawl.epoch.raise();
            self.on_trial = true;
            let got_in = counters.next_commit > known;
            let text = format!("the store's files are open again: tries={tries} batch_in_doubt_got_in={got_in}");
            node.changed(StateChange::DiskSound, text);
        }
        crate::crawl::live::resync(node);
        let live = node.crawl.live();
        open.ledger.rules_are(live.generation, live.settings.max_depth(), live.settings.refresh_rules());
        open.ledger.priorities_are(live.priorities.clone());
        (self.open, self.doubtful) = (Some(open), None);
        node.mailboxes().frontier.tell(Reload);
    }

    /// A group is lost, or what was written may not be on the disk: nothing may hang on it.
    ///
    /// `group` is given back only now, when nothing is handed out any more: else its URLs could be fetched again before it is
    /// known whether they are committed.
    pub(super) fn lost(&mut self, error: &StoreError, group: Vec<Commit>) {
        self.failed(error, "commit lost, its pages are taken up again");
        drop(group);
    }

    /// Closes the files and plans the next try, or ends the node.
    fn failed(&mut self, error: &StoreError, what: &str) {
        self.forget_files();
        let node = &self.node;
        let (fault, text) = (error.fault(), error.to_string());
        node.telemetry.metrics.commit_failed(fault);
        let patience = node.crawl.rules.settings.disk.retry_for;
        let news = !node.disk.is_broken();
        let next = node.disk.store_failed(fault, &text, node.clock.now(), patience);
        node.crawl.epoch.raise();
        let freed = fault == DiskFault::Full && node.reserve.free();
        let pauses =
            if news && next != Next::GiveUp { ", the crawl pauses until the disk takes writes again" } else { "" };
        let told = format!("{what}{pauses}: fault={} reserve_freed={freed} error={text}", fault.as_str());
        if news {
            node.changed(StateChange::DiskBroken, told);
        } else {
            log::warn!("{told}");
        }
        match next {
            Next::GiveUp if fault == DiskFault::Damaged => node.stop_with(Stop::Disk(text)),
            Next::GiveUp => node.stop_with(Stop::Disk(format!(
                "{text}; it was tried again for {} (disk.retry_for): look at the disk and at the system's log, then start again",
                format_duration(patience)
            ))),
            Next::Again(wait) => {
                let node = Arc::clone(node);
                actix_rt::spawn(async move {
                    tokio::time::sleep(wait).await;
                    node.mailboxes().store.tell(Mend);
                });
            }
        }
    }

    /// Closes the files, whatever was in them: the next try asks the database where they end.
    pub(super) fn forget_files(&mut self) {
        if let Some(open) = self.open.take() {
            self.doubtful = Some(open.synced);
        }
    }

    /// One try to go on.
    pub(super) fn mend(&mut self) -> Result<(), StoreError> {
        let settings = &self.node.crawl.rules.settings;
        for dir in [&settings.store.data_dir, &settings.warc_dir()] {
            let refused = |source| StoreError::Probe { dir: dir.display().to_string(), source };
            probe::probe(dir, PROBE).map_err(refused)?;
        }
        if self.node.storage.reopen()? {
            self.node.telemetry.metrics.storage_reopened();
            log::info!("the database was opened again");
        }
        let open = Open::take_up(&self.node, self.doubtful.as_ref())?;
        self.opened(open);
        Ok(())
    }
}

impl StoreError {
    /// Whether the disk refused, so that it may take the same later.
    fn is_of_the_disk(&self) -> bool {
        match self {
            Self::Storage(e) if e.is_latched() => true,
            Self::Injected(_) => true,
            _ => matches!(self.fault(), DiskFault::Full | DiskFault::Io | DiskFault::ReadOnly),
        }
    }
}

impl Handles<Mend> for Store {
    const POINT: Option<&str> = Some("store.mend");

    fn handle(&mut self, _: Mend, _: &mut Ctx<Self>) {
        if self.open.is_some() || self.closed || self.node.stop.borrow().is_some() {
            return;
        }
        if let Err(e) = self.mend() {
            self.failed(&e, "the disk still refuses");
        }
    }
}
