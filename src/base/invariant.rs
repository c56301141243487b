//! Invariants at work: an assertion in tests; in the shipped program a violation is counted and logged, never passed over
//! in silence (`docs/invariants.md`).

use std::sync::atomic::{AtomicU64, Ordering};

use super::kinds::kinds;

kinds! {
    /// The numbers of the invariants.
    Invariant {
        /// Politeness.
        I1 = "I1",
        /// Counts add up.
        I2 = "I2",
        /// One page, one commit.
        I3 = "I3",
        /// The seen test is exact.
        I4 = "I4",
        /// Deaths cost nothing committed.
        I5 = "I5",
        /// Memory does not grow with the frontier.
        I6 = "I6",
        /// The address policy.
        I7 = "I7",
        /// Restart after a kill.
        I8 = "I8",
        /// A host is queued if it has URLs.
        I9 = "I9",
        /// The feed is whole and in order.
        I10 = "I10",
        /// No unit of credit is made or lost.
        I11 = "I11",
    }
}

static VIOLATIONS: [AtomicU64; Invariant::ALL.len()] = [const { AtomicU64::new(0) }; Invariant::ALL.len()];

/// Panics when `holds` is false and debug assertions are on; else counts it, and logs the first of its kind as an error.
pub fn uphold(invariant: Invariant, holds: bool, broken: impl FnOnce() -> String) {
    if !holds {
        let said = broken();
        debug_assert!(holds, "{}: {said}", invariant.as_str());
        note(invariant, &said);
    }
}

fn note(invariant: Invariant, said: &str) {
    let Some(count) = VIOLATIONS.get(invariant as usize) else { return };
    if count.fetch_add(1, Ordering::Relaxed) == 0 {
        let name = invariant.as_str();
        log::error!("invariant broken, please report it; more of the kind are only counted: invariant={name} {said}");
    }
}

/// Violations since the process began.
pub fn violations(invariant: Invariant) -> u64 {
    VIOLATIONS.get(invariant as usize).map_or(0, |count| count.load(Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_violation_is_counted_and_what_holds_costs_no_words() {
        uphold(Invariant::I7, true, || unreachable!("nobody asks what is broken"));
        let before = violations(Invariant::I7);
        note(Invariant::I7, "a test");
        note(Invariant::I7, "a test");
        assert_eq!(violations(Invariant::I7), before + 2);
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "I8: a test")]
    fn with_assertions_on_it_ends_the_test() {
        uphold(Invariant::I8, false, || "a test".into());
    }
}
