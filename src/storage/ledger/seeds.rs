//! Seeds, with what was said of them.

use super::{Ledger, Result};
use crate::base::time::UnixMillis;
use crate::domain::url::PageUrl;
use crate::storage::keys::SeenKey;
use crate::storage::tables::Seeds;
use crate::storage::txn::Txn;
use crate::storage::values::SeedValue;

impl Ledger {
    /// Keeps seeds, and gives those that were not known. One that is known keeps its moment, and all that was said of it, unless something is said now.
    pub(super) fn keep_seeds(
        &mut self,
        txn: &mut Txn<'_>,
        seeds: &[SeedValue],
        now: UnixMillis,
    ) -> Result<Vec<SeenKey>> {
        let mut fresh = Vec::new();
        for seed in seeds {
            let Ok(url) = PageUrl::from_canonical(&seed.url) else { continue };
            let key = self.seen_key(&url);
            let known = txn.get::<Seeds>(&key)?;
            fresh.extend(known.is_none().then_some(key));
            if known.is_none() || seed.says() {
                let added = known.map_or(now, |known| known.added);
                txn.put::<Seeds>(&key, &SeedValue { added, ..seed.clone() });
                self.seeds.said(&seed.url);
                self.counters.seed_cycles = self.counters.seed_cycles.and(seed.cycle.as_ref());
                self.rules.refresh.of_seeds = self.counters.seed_cycles;
            }
        }
        Ok(fresh)
    }
}
