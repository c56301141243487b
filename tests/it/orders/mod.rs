//! What the operator says of hosts, on a whole node: seen in the web's log, kept over restarts, carried out to the end
//! whatever dies meanwhile.

#[cfg(feature = "rocksdb")]
mod daemon;
mod hosts;
mod recrawl;
mod retry;
mod seeds;

use lycosa::admin::Control as _;
use lycosa::testweb::{AuditEntry, TestWeb, TestWebConfig};

use crate::support::Live;

/// A web of a few hosts that link to each other.
pub fn web() -> TestWebConfig {
    TestWebConfig {
        hosts: 3,
        pages: 25,
        links: 8,
        off_host: 0.3,
        min_size: 300,
        max_size: 1_500,
        ..TestWebConfig::default()
    }
}

/// One host with more URLs than a job takes in one step.
pub fn large_host() -> TestWebConfig {
    TestWebConfig { hosts: 1, pages: 600, links: 30, ..web() }
}

/// Requests to a host.
pub fn requests_to(web: &TestWeb, host: &str) -> Vec<AuditEntry> {
    web.audit().into_iter().filter(|entry| entry.host == host).collect()
}

/// A sample of `/metrics`, by its name with its labels.
fn metric(live: &Live<'_>, name: &str) -> u64 {
    let text = live.control().metrics_text();
    let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no {name} in\n{text}"));
    line.rsplit_once(' ').unwrap().1.parse().unwrap()
}
