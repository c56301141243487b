//! Which entries of the feed have the newest capture of their page. Memory is bounded however long the feed is: keys and numbers are sorted in
//! nameless files.

use std::path::Path;

use super::ExportError;
use crate::base::sort::{Sorted, Sorter};
use crate::storage::Storage;
use crate::storage::keys::{FeedKey, Key as _, KeyRange};
use crate::storage::read;
use crate::storage::tables::Feed;

/// Entries read at a time.
const CHUNK: usize = 2_000;
/// Bytes of an entry's number.
const NUMBER: usize = 8;

/// The numbers of such entries, ascending.
pub(super) struct Newest {
    numbers: Sorted,
    next: Option<u64>,
}

impl Newest {
    /// Of the entries behind `after`, up to and including `until`; temporary files lie in `dir`. `step` is called between pieces of work.
    pub fn find(
        storage: &dyn Storage,
        (mut after, until): (u64, u64),
        dir: &Path,
        mut step: impl FnMut() -> Result<(), ExportError>,
    ) -> Result<Self, ExportError> {
        let mut by_page = Sorter::new(dir);
        loop {
            let entries = read::scan::<Feed>(storage, &KeyRange::feed(after, until), CHUNK)?;
            let Some((last, _)) = entries.last() else { break };
            after = last.number;
            for (FeedKey { number }, entry) in entries.iter().filter(|(_, entry)| entry.captured.is_some()) {
                by_page.push(&[&entry.page.encode()[..], &number.to_be_bytes()].concat())?;
            }
            step()?;
        }
        let mut numbers = Sorter::new(dir);
        let (mut sorted, mut last): (_, Option<Vec<u8>>) = (by_page.sorted()?, None);
        while let Some(row) = sorted.next_record()? {
            let page = |row: &[u8]| row.len().saturating_sub(NUMBER);
            if let Some(last) = last.filter(|last| last.get(..page(last)) != row.get(..page(&row))) {
                numbers.push(last.get(page(&last)..).unwrap_or_default())?;
            }
            last = Some(row);
        }
        if let Some(last) = last {
            numbers.push(last.get(last.len().saturating_sub(NUMBER)..).unwrap_or_default())?;
        }
        let mut found = Self { numbers: numbers.sorted()?, next: None };
        found.advance()?;
        Ok(found)
    }

    /// Whether this entry is one; numbers must be asked for ascending.
    pub fn has(&mut self, number: u64) -> Result<bool, ExportError> {
        while self.next.is_some_and(|next| next < number) {
            self.advance()?;
        }
        Ok(self.next == Some(number))
    }

    fn advance(&mut self) -> Result<(), ExportError> {
        let row = self.numbers.next_record()?;
        self.next = row.and_then(|row| Some(u64::from_be_bytes(row.try_into().ok()?)));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::time::UnixMillis;
    use crate::domain::fingerprint::{CrawlId, HostKey, UrlKey};
    use crate::domain::partition::Partition;
    use crate::domain::visit::Visit;
    use crate::storage::keys::HostAt;
    use crate::storage::values::FeedEntry;
    use crate::storage::{Batch, MemoryStorage};

    #[test]
    fn the_last_entry_with_a_capture_of_each_page_is_found_within_the_part_that_is_asked_for() {
        let (storage, mut batch, dir) = (MemoryStorage::new(), Batch::new(), tempfile::tempdir().unwrap());
        let host = HostAt { partition: Partition(1), host: HostKey([2; 8]) }.crawl(CrawlId(1));
        // Number, page, whether there is a capture.
        for (number, page, captured) in
            [(1, 9, true), (2, 1, true), (3, 9, true), (4, 5, false), (5, 1, true), (6, 9, false), (9, 1, true)]
        {
            let (captured, page) = (captured.then_some(UnixMillis(number)), host.url(UrlKey([page; 12])));
            let entry = FeedEntry { kind: Visit::First, at: UnixMillis(number), page, captured, why: None };
            batch.put::<Feed>(&FeedKey { number }, &entry);
        }
        storage.write(&batch).unwrap();
        for (part, numbers) in [((0, 9), &[3, 9][..]), ((0, 5), &[3, 5]), ((3, 6), &[5]), ((9, 9), &[])] {
            let mut newest = Newest::find(&storage, part, dir.path(), || Ok(())).unwrap();
            let found: Vec<u64> = (1..10).filter(|number| newest.has(*number).unwrap()).collect();
            assert_eq!(found, numbers, "{part:?}");
        }
    }
}
