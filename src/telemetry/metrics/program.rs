//! The program itself: memory, registries, log, invariants, those who listen.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Unit;

use super::parts::{Each, Labels, Values, count, follow, put, set, set_all};
use super::{Call, Metrics, Registry};
use crate::base::invariant::{Invariant, violations};
use crate::telemetry::log::errors_logged;

/// Parts of the process whose memory is told.
const PARTS: Values<'_> = ("part", &["database", "seen_filter"]);

metrics! {
    Program {
        violations: Each<Counter> =
            counters_of::<Invariant>("lycosa_invariant_violations", "Invariants found broken: faults of the program");
        lease: Gauge = gauge_in(
            "lycosa_lease",
            "How long requests may be sent without another word from the engine; 0 on one machine",
            Unit::Seconds
        );
        members_missing: Gauge = gauge(
            "lycosa_members_missing",
            "Other members of the crawl that are away, or have not been heard of for a ninth of their lease"
        );
        links: Each<Counter> = counters(
            "lycosa_links",
            "Links handed over to other members, and taken from them",
            ("way", &["out", "in"])
        );
        memory_max: Gauge = gauge_in("lycosa_memory_max", "Memory the process may use: memory.max", Unit::Bytes);
        memory_parts: Each<Gauge> = bytes("lycosa_memory_part", "Memory of parts of the process", PARTS);
        entries: Each<Gauge> =
            gauges_of::<Registry>("lycosa_registry_entries", "Entries of bounded registries in memory");
        log_errors: Counter = counter("lycosa_log_errors", "Lines logged at level error");
        listeners: Gauge = gauge("lycosa_event_listeners", "Clients of /api/v1/events");
        missed: Counter = counter("lycosa_events_missed", "Events that went by clients that were too slow");
        clock_jumps: Counter = counter(
            "lycosa_clock_jumps",
            "How often the system's clock was set, since the last commit before the start included"
        );
        clock_ahead: Gauge = gauge_in(
            "lycosa_clock_ahead",
            "The date less the time that waits are reckoned by: what the system's clock was set by, altogether",
            Unit::Seconds
        );
        webhooks: Each<Counter> =
            counters_of::<Call>("lycosa_webhook_calls", "Calls of webhooks, by what became of them");
    }
}

impl Program {
    /// Takes in what is counted elsewhere.
    pub fn refresh(&self) {
        follow(&self.log_errors, errors_logged());
        for (index, invariant) in Invariant::ALL.iter().enumerate() {
            let found = violations(*invariant);
            self.violations.with(index, |m| follow(m, found));
        }
    }
}

impl Metrics {
    /// Memory: what the process may use, and what two parts of it do, bytes.
    pub fn memory(&self, max: u64, database: u64, seen_filter: u64) {
        put(&self.0.program.memory_max, max);
        set_all(&self.0.program.memory_parts, &[database, seen_filter]);
    }

    /// For so long requests may be sent without another word from the engine.
    pub fn lease(&self, left: Duration) {
        put(&self.0.program.lease, left.as_secs());
    }

    /// So many other members are away, or not heard of.
    pub fn members_missing(&self, members: usize) {
        put(&self.0.program.members_missing, members as u64);
    }

    /// Links handed over to other members, and taken from them, since the process began.
    pub fn links(&self, out: u64, came: u64) {
        for (index, links) in [out, came].into_iter().enumerate() {
            self.0.program.links.with(index, |m| follow(m, links));
        }
    }

    /// The system's clock was set.
    pub fn clock_jumped(&self) {
        self.0.program.clock_jumps.inc();
    }

    /// By so many milliseconds the date is ahead of the crawl's time.
    pub fn clock_ahead(&self, ms: i64) {
        self.0.program.clock_ahead.set(ms / 1_000);
    }

    /// Entries of a registry.
    pub fn entries(&self, registry: Registry, n: usize) {
        set(&self.0.program.entries, registry.place(), n as u64);
    }

    /// The entries of a registry as last told.
    pub fn entries_of(&self, registry: Registry) -> i64 {
        self.0.program.entries.get(registry.place()).map_or(0, Gauge::get)
    }

    /// Who listens to events, and how many went by them so far.
    pub fn listening(&self, listeners: usize, missed: u64) {
        put(&self.0.program.listeners, listeners as u64);
        follow(&self.0.program.missed, missed);
    }

    /// A webhook was called.
    pub fn webhook(&self, call: Call) {
        count(&self.0.program.webhooks, call);
    }
}
