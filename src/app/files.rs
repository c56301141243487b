//! Open files: a crawl needs many, and a lack of them would look like faults of the sites.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::config::Settings;

/// Idle connections that one Fetcher keeps at least, and at most.
const IDLE: [usize; 2] = [256, 4_096];
/// Files of the database (`RocksOptions::open_files`).
const DATABASE: u64 = 512;
/// All else: logs, sockets of the admin endpoint, threads' own.
const REST: u64 = 100;

/// Raises the limit of open files as far as the system allows.
///
/// # Errors
/// A sentence that says what is needed, when that is not enough.
pub(super) fn allow(settings: &Settings) -> std::io::Result<()> {
    let needed = needed(settings);
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if soft < needed {
        setrlimit(Resource::RLIMIT_NOFILE, hard.min(needed.saturating_mul(2)).max(soft), hard)?;
    }
    let (soft, _) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if soft >= needed {
        return Ok(());
    }
    Err(std::io::Error::other(format!(
        "the system allows {soft} open files, this crawl needs {needed}: raise the limit (ulimit -n {needed}, LimitNOFILE= of a \
         service) or lower fetch.concurrency"
    )))
}

fn needed(settings: &Settings) -> u64 {
    let bodies = 2 * settings.fetch.concurrency as u64; // a connection, and perhaps a spill file
    bodies + (settings.fetch.threads * idle(settings)) as u64 + DATABASE + REST
}

/// Idle connections that one Fetcher keeps: one for each of its active hosts, so that a host that is polite to wait for is not
/// connected to anew for each page.
pub(super) fn idle(settings: &Settings) -> usize {
    let [least, most] = IDLE;
    settings.max_active_hosts().div_ceil(settings.fetch.threads.max(1)).clamp(least, most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Layers;

    #[test]
    fn the_need_grows_with_the_concurrency() {
        let settings = |n: &str| Layers::new().set(&format!("fetch.concurrency={n}")).unwrap().load().unwrap();
        assert_eq!(needed(&settings("300")) - needed(&settings("200")), 2 * 100 + 3 * 100, "and with the active hosts");
        assert_eq!(needed(&settings("20")) - needed(&settings("10")), 20);
        assert!(allow(&settings("1")).is_ok());
    }
}
