//! The daemon is killed again and again and goes on each time: nothing lost, nothing committed fetched again, nobody asked too
//! early (I1, I3, I8).
//!
//! `LYCOSA_KILLS=1000` kills so often at random moments (20 by itself), in rows of 50, each on a web of its own. Each row
//! prints its seed; `LYCOSA_KILL_SEED=N` repeats from there. `make soak` runs the large one.

pub mod judge;
mod moments;
mod rest;

use std::time::Duration;

use lycosa::testweb::TestWebConfig;

use crate::dice::Dice;
use crate::sandbox::Sandbox;
use judge::{Life, Sum, judge};
use moments::{Moment, points};

/// Requests in flight; twice as many pages may be between fetch and commit.
pub const CONCURRENCY: usize = 16;
pub const HOSTS: u32 = 40;
/// Kills of one web.
const ROW: usize = 50;

/// How a web asks to be treated, and how the daemon is told to treat it.
pub struct Kind {
    name: &'static str,
    /// No limit of depth: within a host the newest link goes first, so that a late host's pages may be found by long ways. A web on a starved
    /// machine is slow, not silent: what timed out would be tried again in a minute, for which a crawl of half a minute does not wait.
    pub settings: &'static str,
    /// Between requests to a host: longer than a start takes, so that a restart that forgot it would be seen.
    gap: Duration,
    crawl_delay: Option<Duration>,
    retry_after: Duration,
}

/// All sorts of answers, none of which is asked for twice.
pub const QUICK: Kind = Kind {
    name: "quick",
    settings: "crawl.max_depth = \"none\"\nfetch.concurrency = 16\nfetch.threads = 2\npoliteness.min_delay = \"300ms\"\n\
        politeness.delay_factor = 1\ndurability.sync = \"100ms\"\nstore.warc_max_size = \"1MB\"\n\
        store.memory = \"32MiB\"\nfrontier.host_quantum = { pages = 8, time = \"10s\" }\n\
        fetch.timeouts = { connect = \"10m\", first_byte = \"10m\", min_rate = 0 }\ncrawl.until_done_patience = \"90s\"\n",
    gap: Duration::from_millis(300),
    crawl_delay: None,
    retry_after: Duration::ZERO,
};

/// Crawl-delay, and 503 with Retry-After.
const SLOW: Kind = Kind {
    name: "slow",
    settings: "crawl.max_depth = \"none\"\nfetch.concurrency = 16\nfetch.threads = 2\npoliteness.min_delay = \"200ms\"\n\
        politeness.delay_factor = 1\ndurability.sync = \"100ms\"\nstore.warc_max_size = \"1MB\"\n\
        store.memory = \"32MiB\"\nfetch.retries = 4\nfetch.retry_delays = [\"1s\"]\n\
        fetch.timeouts = { connect = \"10m\", first_byte = \"10m\", min_rate = 0 }\n",
    gap: Duration::from_millis(200),
    crawl_delay: Some(Duration::from_millis(400)),
    retry_after: Duration::from_secs(2),
};

/// The web of the quick kind.
pub fn web(pages: u32) -> TestWebConfig {
    let (min_size, max_size) = (8_000, 32_000);
    let rough = TestWebConfig { duplicates: 0.1, latency_ms: 10, jitter_ms: 30, ..TestWebConfig::rough() };
    TestWebConfig { hosts: HOSTS, pages, min_size, max_size, ..rough }
}

impl Kind {
    fn sandbox(&self, pages: u32) -> Sandbox {
        let config = match self.crawl_delay {
            None => web(pages),
            Some(delay) => TestWebConfig {
                redirects: 0.0,
                redirect_loops: 0.0,
                errors: 0.02,
                error_status: vec![404, 503],
                flaky: 0.08,
                retry_after: u32::try_from(self.retry_after.as_secs()).unwrap(),
                robots: format!("crawl-delay={}", delay.as_secs_f64()).parse().unwrap(),
                ..web(pages / 2)
            },
        };
        Sandbox::new(config, self.settings)
    }

    /// One row of kills on one web.
    fn row(&self, pages: u32, moments: impl Iterator<Item = Moment>, dice: &mut Dice) -> (Sum, Vec<Life>) {
        let mut sandbox = self.sandbox(pages);
        let mut lives: Vec<Life> = Vec::new();
        for moment in moments {
            let before = sandbox.web.audit_len();
            let Some(mut life) = moment.live(&mut sandbox) else {
                println!("the crawl was over before the next kill");
                break;
            };
            if self.retry_after > Duration::ZERO {
                life.paces = rest::paces(&sandbox);
            }
            let looked = if dice.below(5) == 0 { rest::check_a_copy(&sandbox) } else { "" };
            let requests = sandbox.web.audit_len() - before;
            let missed = if life.is_beside_its_point() { ", not passed so often" } else { "" };
            println!("{:5}  {} {requests:4} requests, {}{missed}{looked}", lives.len() + 1, self.name, life.how);
            lives.push(life);
            if dice.below(25) == 0 {
                lives.push(rest::warcs_are_readable(&mut sandbox));
            }
        }
        let said = sandbox.finish();
        assert!(!said.contains("not waiting any longer"), "what failed is left for another run: {said}");
        let poisoned: Vec<_> = sandbox.lines().into_iter().filter(|line| line["reason"] == "poison").collect();
        assert!(poisoned.is_empty(), "given up after five kills, as docs/durability.md says: {poisoned:?}");
        (judge(self, &sandbox, &lives), lives)
    }
}

/// So many kills at random moments in all; a quarter of them where hosts ask for delays.
fn kills() -> usize {
    std::env::var("LYCOSA_KILLS").map_or(20, |n| n.parse().unwrap())
}

#[test]
fn killed_at_random_moments_it_loses_nothing_and_is_never_early() {
    rows(&QUICK, kills() - kills() / 4);
}

#[test]
fn so_it_is_where_hosts_ask_for_delays() {
    rows(&SLOW, kills() / 4);
}

fn rows(kind: &Kind, mut left: usize) {
    let seed = Dice::seed();
    let (mut sum, mut n) = (Sum::default(), 0);
    while left > 0 {
        println!("LYCOSA_KILL_SEED={} {}", seed + n, kind.name);
        let (mut dice, mut of_row) = (Dice::of(seed + n), Dice::of(!(seed + n)));
        let kills = left.min(ROW);
        let moments = (0..kills).map(|_| Moment::any(&mut dice));
        let made = kind.row(10 + kills as u32 / 2, moments, &mut of_row).0;
        sum.add(&made);
        println!("{}\n{}", Sum::HEAD, sum.row());
        (left, n) = (left.saturating_sub(made.kills.max(kills / 2)), n + 1);
    }
}

/// `LYCOSA_PASSES=1,10,100`: at which passes of each point.
#[test]
fn killed_at_every_fault_point_it_loses_nothing() {
    let passes = std::env::var("LYCOSA_PASSES").unwrap_or_else(|_| "6".into());
    let passes: Vec<u32> = passes.split(',').map(|n| n.trim().parse().unwrap()).collect();
    let mut sum = Sum::default();
    for pass in passes {
        let moments = points().into_iter().map(|point| Moment::at(point, pass.into()));
        let (of_row, lives) = QUICK.row(32 + pass / 2, moments, &mut Dice::of(pass.into()));
        sum.add(&of_row);
        println!("pass {pass}\n{}\n{}", Sum::HEAD, sum.row());
        let missed: Vec<_> = lives.iter().filter(|l| l.is_beside_its_point()).map(|l| &l.how).collect();
        assert!(pass > 6 || missed.is_empty(), "never passed so often: {missed:?}");
    }
}
