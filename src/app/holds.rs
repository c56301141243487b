//! Which archive files somebody who reads the feed still needs.

use std::collections::BTreeMap;

use crate::crawl::node::Node;
use crate::storage::values::Consumers;
use crate::storage::{StorageError, feed, read};
use crate::warc::name::cdxj_name;

/// The last entry that needs each file, as far as the feed was read.
#[derive(Default)]
pub(super) struct Holds {
    last: BTreeMap<String, u64>,
    /// Entries up to the first number do not matter any more, those up to the second were read.
    read: (u64, u64),
}

impl Holds {
    /// The files that hold what a consumer which holds has not read, with their indexes; none when that is not known yet, as long as the feed
    /// is not taken up. Each entry is read once.
    ///
    /// # Errors
    /// The storage's own.
    pub fn needed(&mut self, node: &Node) -> Result<Option<Vec<String>>, StorageError> {
        let Some(until) = *node.crawl.progress.fed.borrow() else { return Ok(None) };
        let consumers: Consumers = read::meta(&*node.storage, ())?.unwrap_or_default();
        let Some(after) = consumers.held_after() else {
            *self = Self::default();
            return Ok(Some(Vec::new()));
        };
        if after < self.read.0 || self.read == (0, 0) {
            *self = Self { read: (after, after), ..Self::default() }; // somebody went back, or is the first
        }
        let last = &mut self.last;
        feed::files(&*node.storage, self.read.1, until, |file, number| _ = last.insert(file.to_owned(), number))?;
        self.read = (after, self.read.1.max(until));
        self.last.retain(|_, last| *last > after);
        Ok(Some(self.last.keys().flat_map(|file| [file.clone(), cdxj_name(file)]).collect()))
    }
}
