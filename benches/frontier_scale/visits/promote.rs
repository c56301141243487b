//! What it takes the Store to queue a page whose next visit is due: looked up, reckoned anew, queued, written.

use std::path::Path;

use lycosa::domain::refresh::Refresh;
use lycosa::storage::keys::{KeyRange, VisitHostKey};
use lycosa::storage::ledger::Change;
use lycosa::storage::tables::VisitHosts;
use lycosa::storage::{RocksOptions, RocksStorage, read};
use nix::sys::resource::UsageWho;

use super::super::fill::{ledger_with, write};
use super::super::seen::cpu_us;
use super::{CYCLE, Plan, Result, now};

/// Hosts that the Frontier tells of at a time.
const LOOK: usize = 64;

/// Lets the turn of each host come, as the Frontier does while nothing is fetched.
pub fn run(plan: &Plan, folder: &Path) -> Result<()> {
    let storage = RocksStorage::open(folder, RocksOptions::default())?;
    let refresh = Refresh { cycle: CYCLE.parse()?, ..Refresh::default() };
    let (mut ledger, _) = ledger_with(&storage, refresh)?;
    let date = now();
    let due = |key: &VisitHostKey| key.time <= date;
    let all = read::scan::<VisitHosts>(&storage, &KeyRange::all(), usize::MAX)?;
    let hosts: Vec<VisitHostKey> = all.into_iter().map(|(key, ())| key).filter(due).collect();
    let (thread, process) = (cpu_us(UsageWho::RUSAGE_THREAD)?, cpu_us(UsageWho::RUSAGE_SELF)?);
    let mut queued = 0;
    for hosts in hosts.chunks(LOOK) {
        let done = write(&storage, &mut ledger, &[Change::Revisit(hosts.to_vec())], date)?;
        queued += done.iter().map(|done| done.again.len()).sum::<usize>();
    }
    let each = |us: i64| us as f64 / queued.max(1) as f64;
    let (thread, process) = (cpu_us(UsageWho::RUSAGE_THREAD)? - thread, cpu_us(UsageWho::RUSAGE_SELF)? - process);
    println!("| rows | hosts due | pages queued | CPU µs a page | with the database's own threads |");
    println!("|--:|--:|--:|--:|--:|");
    println!("| {} | {} | {queued} | {:.1} | {:.1} |\n", plan.urls, hosts.len(), each(thread), each(process));
    drop(ledger);
    drop(storage);
    std::fs::remove_dir_all(folder)?;
    Ok(())
}
