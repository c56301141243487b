//! Pages whose WARC record may not have reached the disk.

use super::content::take_key;
use super::wire::{Blob, Reader, Wire};
use super::{QueueEntry, ValueError, WarcPlace};
use crate::storage::keys::{Key, PageKey};

/// A page committed since the last barrier, with all that is needed to queue it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsyncedPage {
    /// Its capture.
    pub page: PageKey,
    /// Its rank in the queue.
    pub rank: u8,
    /// Its order in the queue.
    pub order: u64,
    /// Its queue entry.
    pub entry: QueueEntry,
    /// Where its record should be.
    pub warc: WarcPlace,
}

/// The pages of one commit. Deleted when the WARC and then the WAL are synced; after a power loss, those whose record lies
/// beyond the WARC's end are queued again (I3, I8).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unsynced(pub Vec<UnsyncedPage>);

/// The lines of `crawl.jsonl` of one commit. Deleted with its [`Unsynced`]; after a power loss the end of the file is written
/// anew from them, whatever has become of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnsyncedLines {
    /// Length of the file before.
    pub from: u64,
    /// The lines, each with its end.
    pub text: String,
}

impl Wire for UnsyncedPage {
    fn put(&self, out: &mut Vec<u8>) {
        Blob(self.page.encode()).put(out);
        self.rank.put(out);
        self.order.put(out);
        self.entry.put(out);
        self.warc.put(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, ValueError> {
        Ok(Self {
            page: take_key(from)?,
            rank: u8::read(from)?,
            order: u64::read(from)?,
            entry: QueueEntry::read(from)?,
            warc: WarcPlace::read(from)?,
        })
    }
}

impl Wire for Unsynced {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, ValueError> {
        Vec::read(from).map(Self)
    }
}

impl Wire for UnsyncedLines {
    fn put(&self, out: &mut Vec<u8>) {
        self.from.put(out);
        self.text.put(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, ValueError> {
        Ok(Self { from: u64::read(from)?, text: String::read(from)? })
    }
}
