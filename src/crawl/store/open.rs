//! What the Store holds open, and how it is taken up at a start (I3, I8).

use std::time::Duration;

use data_encoding::HEXLOWER;

use super::StoreError;
use super::files;
use crate::base::invariant::{Invariant, uphold};
use crate::base::time::{UnixMillis, millis};
use crate::crawl::node::Node;
use crate::storage::format::random_bits;
use crate::storage::ledger::Ledger;
use crate::storage::mark::{self, Mark};
use crate::storage::read;
use crate::storage::txn::Txn;
use crate::storage::values::{FeedLog, FileLengths, Unsynced, UnsyncedLines, UnsyncedPage};
use crate::warc::WarcError;
use crate::warc::archive::{Archive, ArchiveRepair, Strays};
use crate::warc::jsonl::CrawlLine;
use crate::warc::name::open_name;

/// Entries of the feed that are let go at a time.
const TRIM: usize = 10_000;

/// The ledger and the files.
pub(super) struct Open {
    pub ledger: Ledger,
    pub archive: Archive,
    /// The files as of the last barrier.
    pub synced: FileLengths,
    /// Numbers of the commits whose pages may not have reached the disk: each left a list in `meta`.
    pub unsynced: Vec<u64>,
    /// Which feed its entries go to.
    feed: FeedLog,
    synced_mark: Mark,
    fed_mark: Mark,
    /// It could not be noted how far the feed is, and that was told.
    unshown: bool,
}

impl Open {
    /// Takes up files and counts where the last commit left them. Pages whose record a power failure took are queued again.
    ///
    /// `doubtful`: the files as of the last barrier, when a write or sync failed since. What follows is written once more.
    pub fn take_up(node: &Node, doubtful: Option<&FileLengths>) -> Result<Self, StoreError> {
        let storage = &*node.storage;
        let mut ledger = Ledger::open(storage, node.crawl.rules.ledger(node))?;
        let file_lengths: Option<FileLengths> = read::meta(storage, ())?;
        let strays = if file_lengths.is_some() { Strays::Remove } else { Strays::Keep };
        let file_lengths = match file_lengths {
            Some(file_lengths) => file_lengths,
            None => without_database(node),
        };
        let lists = read::unsynced(storage, usize::MAX)?;
        let lines = read::unsynced_lines(storage, usize::MAX)?;
        let listed = || lists.iter().flat_map(|(_, list)| &list.0);
        let open_warc = file_lengths.warc.as_ref().map(|(name, _)| name.as_str());
        let from = listed().filter(|p| Some(p.warc.file.as_str()) == open_warc).map(|p| p.warc.offset).min();
        let settings = files::archive_settings(node)?;
        if let Some(name) = open_warc {
            let path = settings.dir.join(name);
            if !path.exists() && !settings.dir.join(open_name(name)).exists() {
                return Err(WarcError::Missing(path).into());
            }
        }
        let (mut archive, repair) = Archive::open(settings, &file_lengths, from, strays, node.clock.date())?;
        tell(&repair);
        if let Some((_, first)) = lines.first() {
            archive.log_again(first.from, &lines_left(&lines, &repair))?;
        }
        if let Some(synced) = doubtful {
            archive.write_again(synced)?;
            archive.sync()?;
        }
        let synced = archive.file_lengths();
        let mut txn = Txn::new(storage);
        let shown = mark::fed(&node.crawl.rules.settings.store.data_dir);
        let feed = ledger.take_up_feed(&mut txn, shown.as_ref(), random_bits())?;
        if let Some(former) = feed.former.iter().rfind(|_| shown.as_ref().is_none_or(|shown| shown.log.id != feed.id)) {
            let (id, was) = (HEXLOWER.encode(&feed.id), HEXLOWER.encode(&former.id));
            log::warn!(
                "the feed goes on as another, for the database was put back or the note of what was shown is gone: id={id} former={was} common={}",
                former.common
            );
        }
        let (synced_mark, fed_mark) = (Mark::new(mark::SYNCED), Mark::new(mark::FED));
        let mut open =
            Self { ledger, archive, synced, unsynced: Vec::new(), feed, synced_mark, fed_mark, unshown: false };
        open.settle(node, txn, &lists, &repair)?;
        open.show(node);
        open.rotate(node)?; // the settings may ask for another compression now
        node.faults.check("store.opened")?;
        Ok(open)
    }

    /// Writes what the repair means: tails, lost pages back in their queues, no page in doubt any more.
    fn settle(
        &mut self,
        node: &Node,
        mut txn: Txn<'_>,
        lists: &[(u64, Unsynced)],
        repair: &ArchiveRepair,
    ) -> Result<(), StoreError> {
        let storage = &*node.storage;
        // From here on a file without a commit is known to be one.
        txn.put_meta((), &self.archive.file_lengths());
        if !lists.is_empty() {
            self.archive.sync()?; // what is there is there for good, before it is no longer listed
        }
        let mut again = 0_usize;
        for page in lists.iter().flat_map(|(_, list)| &list.0).filter(|page| is_lost(page, repair)) {
            again += usize::from(self.ledger.requeue(&mut txn, page)?);
        }
        lists.iter().for_each(|(number, _)| forget(&mut txn, *number));
        if repair.lost.is_some() {
            log::warn!("pages whose archive record did not reach the disk are queued again: pages={again}");
            self.ledger.seal(&mut txn)?;
        }
        storage.write(&txn.into_batch())?;
        storage.sync()?; // a database without tails would be taken for a new one beside files of a former one
        self.ledger.commit();
        Ok(())
    }

    /// Closes a WARC that is due: between commits, so that everything in it is committed.
    pub fn rotate(&mut self, node: &Node) -> Result<(), StoreError> {
        if self.archive.rotate_due(node.clock.date()) {
            self.make_safe(node)?;
            let closed = self.archive.close()?;
            log::info!("warc closed: file={}", closed.as_deref().unwrap_or_default());
        }
        Ok(())
    }

    /// Brings everything committed to the disk: archive first, then the database's log (I3).
    pub fn make_safe(&mut self, node: &Node) -> Result<(), StoreError> {
        self.archive.sync()?;
        let sequence = node.storage.sequence();
        node.storage.sync()?;
        if let Err(e) = self.synced_mark.synced(&node.crawl.rules.settings.store.data_dir, sequence) {
            log::debug!("it could not be noted how far the database is synced: {e}");
        }
        self.show(node);
        self.forget_unsynced(node)
    }

    /// Shows the feed up to the last commit, which is synced: no loss of power takes back what somebody has seen (I10).
    fn show(&mut self, node: &Node) {
        let high = self.ledger.committed().fed;
        let data = &node.crawl.rules.settings.store.data_dir;
        if let Err(e) = self.fed_mark.fed(data, &self.feed, high) {
            if !std::mem::replace(&mut self.unshown, true) {
                log::error!(
                    "new entries of the feed are not shown, for it cannot be noted how far it is; see to the file: file={} error={e}",
                    data.join(mark::FED).display()
                );
            }
            return;
        }
        self.unshown = false;
        node.crawl.progress.fed.send_if_modified(|shown| {
            let before = shown.replace(high);
            let told = before.unwrap_or(0);
            uphold(Invariant::I10, told <= high, || format!("the feed was shown up to {told}, now up to {high}"));
            before != *shown
        });
    }

    /// Lets go of entries of the feed that are older than `keep`.
    pub fn trim_feed(&mut self, node: &Node, keep: Duration) -> Result<(), StoreError> {
        let before = UnixMillis(node.clock.date().0.saturating_sub(millis(keep)));
        let shown = node.crawl.progress.fed.borrow().unwrap_or(0);
        let mut txn = Txn::new(&*node.storage);
        let gone = self.ledger.trim_feed(&mut txn, before, shown, TRIM)?;
        if gone > 0 {
            node.storage.write(&txn.into_batch())?;
            log::debug!("old entries of the feed are gone: entries={gone}");
        }
        Ok(())
    }

    /// Every listed page is on the disk.
    fn forget_unsynced(&mut self, node: &Node) -> Result<(), StoreError> {
        self.synced = self.archive.file_lengths();
        if self.unsynced.is_empty() {
            return Ok(());
        }
        let mut txn = Txn::new(&*node.storage);
        self.unsynced.iter().for_each(|number| forget(&mut txn, *number));
        node.storage.write(&txn.into_batch())?;
        self.unsynced.clear();
        Ok(())
    }
}

/// A new database beside files of a former one: the lines there are kept.
fn without_database(node: &Node) -> FileLengths {
    let jsonl = node.crawl.rules.settings.store.data_dir.join("crawl.jsonl");
    FileLengths { jsonl: std::fs::metadata(jsonl).map_or(0, |m| m.len()), ..FileLengths::default() }
}

fn is_lost(page: &UnsyncedPage, repair: &ArchiveRepair) -> bool {
    repair.lacks(&page.warc.file, page.warc.offset)
}

fn forget(txn: &mut Txn<'_>, number: u64) {
    txn.delete_meta::<Unsynced>(number);
    txn.delete_meta::<UnsyncedLines>(number);
}

/// The lines since the last barrier, without those of pages that are queued again.
fn lines_left(lines: &[(u64, UnsyncedLines)], repair: &ArchiveRepair) -> String {
    let is_left = |line: &&str| match serde_json::from_str::<CrawlLine<'_>>(line) {
        Ok(CrawlLine { warc: Some(file), offset: Some(offset), .. }) => !repair.lacks(&file, offset),
        _ => true,
    };
    lines.iter().flat_map(|(_, commit)| commit.text.split_inclusive('\n')).filter(is_left).collect()
}

fn tell(repair: &ArchiveRepair) {
    if repair.warc.cut > 0 || repair.jsonl.cut > 0 || !repair.removed.is_empty() {
        log::info!(
            "archive cut back to what is committed: warc_bytes={} jsonl_bytes={} removed={:?}",
            repair.warc.cut,
            repair.jsonl.cut,
            repair.removed
        );
    }
    if repair.jsonl.missing > 0 {
        log::warn!(
            "crawl.jsonl is shorter than what was committed to it; those lines are lost, the pages are not: bytes={}",
            repair.jsonl.missing
        );
    }
    if let Some((file, offset)) = &repair.lost {
        log::warn!("archive lacks committed records, as after a power failure: file={file} from={offset}");
        if repair.synced_lost {
            log::error!(
                "archive lost records that were on the disk, so it was cut by something else; stop the crawl and run `lycosa check --repair`, which queues their pages again: file={file} from={offset}"
            );
        }
    }
}
