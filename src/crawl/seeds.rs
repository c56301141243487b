//! What was said of seeds, for the pages that go back to them: read from the database, kept while there is room.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::base::sync::lock;
use crate::domain::fingerprint::{CrawlId, Fingerprinter};
use crate::domain::url::PageUrl;
use crate::storage::keys::SeenKey;
use crate::storage::tables::Seeds as Table;
use crate::storage::values::SeedValue;
use crate::storage::{Storage, StorageError, read};

/// Seeds kept; with one more all are read anew.
const KEPT: usize = 10_000;

/// The registry.
#[derive(Default)]
pub struct Seeds(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    seeds: HashMap<String, Option<Arc<SeedValue>>>,
    /// Raised by every change, so that what was read before it is not kept after it.
    changes: u64,
}

impl Seeds {
    /// What was said of the seed with this canonical URL; `None` when it is none, or nothing was said.
    ///
    /// # Errors
    /// The storage's own.
    pub fn of(
        &self,
        storage: &dyn Storage,
        crawl: CrawlId,
        prints: &Fingerprinter,
        seed: &str,
    ) -> Result<Option<Arc<SeedValue>>, StorageError> {
        let changes = {
            let kept = lock(&self.0);
            if let Some(known) = kept.seeds.get(seed) {
                return Ok(known.clone());
            }
            kept.changes
        };
        let Ok(url) = PageUrl::from_canonical(seed) else { return Ok(None) };
        let found = read::get::<Table>(storage, &SeenKey::of(prints, crawl, &url))?;
        let found = found.filter(|seed| seed.says() || seed.guessed).map(Arc::new);
        let mut kept = lock(&self.0);
        if kept.changes == changes {
            if kept.seeds.len() >= KEPT {
                kept.seeds.clear();
            }
            kept.seeds.insert(seed.to_owned(), found.clone());
        }
        Ok(found)
    }

    /// Something else is said of these seeds now.
    pub fn changed(&self, seeds: &[SeedValue]) {
        let mut kept = lock(&self.0);
        kept.changes += 1;
        for seed in seeds {
            kept.seeds.remove(&seed.url);
        }
    }
}
