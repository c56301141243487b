//! The memory of the process: who gets how much of `memory.max`, and how many pages may be in flight when it is short.

const MIB: u64 = 1 << 20;

/// Kept free of both the database and the seen filter: the program, its threads, fixed caches and pages in flight.
pub const REST: u64 = 192 * MIB;
/// The least the database can work with.
pub const LEAST_DATABASE: u64 = 16 * MIB;
/// Page permits that are never withheld, so that the crawl goes on.
const LEAST_PERMITS: usize = 4;

/// Nothing works within so little.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "memory.max is {max} bytes; the crawl needs {needed}: {filter} for the seen filter of dedup.bloom_urls, {LEAST_DATABASE} for the \
     database, {REST} for the rest; raise memory.max or lower dedup.bloom_urls"
)]
pub struct TooLittle {
    max: u64,
    needed: u64,
    filter: u64,
}

/// Who gets how much; bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryPlan {
    /// The whole process.
    pub max: u64,
    /// Caches and write buffers of the database.
    pub database: u64,
    /// The seen filter, with the larger one that is to replace it.
    pub filter: u64,
}

impl MemoryPlan {
    /// Shares out `max`: the database gets `database`, or what `filter`, the size the seen filter begins with, leaves of it;
    /// the filter may grow into the rest.
    ///
    /// # Errors
    /// When not even the least fits.
    pub fn of(max: u64, database: u64, filter: u64) -> Result<Self, TooLittle> {
        let needed = filter.saturating_add(LEAST_DATABASE + REST);
        let for_both = max.saturating_sub(REST);
        match for_both.checked_sub(filter).filter(|left| *left >= LEAST_DATABASE) {
            Some(left) => {
                let database = database.min(left);
                Ok(Self { max, database, filter: for_both - database })
            }
            None => Err(TooLittle { max, needed, filter }),
        }
    }
}

/// How many of `all` page permits may be in use when `resident` of `max` bytes are and `now` permits are allowed: half as many
/// above 95 %, an eighth more below 85 %, as many as now in between, so that it does not swing.
pub fn permits_wanted(resident: u64, max: u64, now: usize, all: usize) -> usize {
    let percent = |n: u64| max / 100 * n;
    if resident > percent(95) {
        (now / 2).max(LEAST_PERMITS.min(all))
    } else if resident < percent(85) {
        now.saturating_add((all / 8).max(1)).min(all)
    } else {
        now.min(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1024 * MIB;

    #[test]
    fn the_database_yields_to_the_first_filter_and_the_filter_grows_into_what_is_left() {
        let cases = [
            (GIB, 256 * MIB, MIB, Some((256 * MIB, GIB - REST - 256 * MIB))),
            (256 * MIB, 256 * MIB, 8 * MIB, Some((56 * MIB, 8 * MIB))),
            (REST + 17 * MIB, 256 * MIB, MIB, Some((16 * MIB, MIB))),
            (REST + 17 * MIB - 1, 256 * MIB, MIB, None),
            (u64::MAX, u64::MAX, u64::MAX, None),
            (0, 0, 0, None),
        ];
        for (max, database, filter, wanted) in cases {
            let plan = MemoryPlan::of(max, database, filter);
            assert_eq!(
                plan.as_ref().ok().map(|p| (p.database, p.filter)),
                wanted,
                "{max} {database} {filter}: {plan:?}"
            );
        }
        let text = MemoryPlan::of(MIB, 0, MIB).unwrap_err().to_string();
        assert!(text.contains("memory.max is 1048576") && text.contains("raise memory.max"), "{text}");
    }

    #[test]
    fn permits_shrink_by_halves_grow_in_small_steps_and_rest_in_between() {
        let (max, all) = (1_000_000, 400);
        let cases = [
            (960_000, 400, 200),
            (960_000, 5, 4),
            (2_000_000, 4, 4),
            (900_000, 200, 200),
            (950_000, 7, 7),
            (850_000, 7, 7),
            (840_000, 200, 250),
            (0, 390, 400),
            (0, 400, 400),
        ];
        for (resident, now, wanted) in cases {
            assert_eq!(permits_wanted(resident, max, now, all), wanted, "{resident} {now}");
        }
        assert_eq!(permits_wanted(u64::MAX, max, 2, 2), 2, "never fewer than the least");
    }

    #[test]
    fn from_any_state_the_crawl_keeps_a_few_permits_and_gets_all_back() {
        let mut now = 400;
        (0..20).for_each(|_| now = permits_wanted(u64::MAX, 1_000, now, 400));
        assert_eq!(now, LEAST_PERMITS);
        (0..20).for_each(|_| now = permits_wanted(0, 1_000, now, 400));
        assert_eq!(now, 400);
    }
}
