//! The pass over all hosts: seven families whose keys begin with the host are read side by side, so that each host is seen
//! whole and counted in passing.

use super::context::Context;
use super::error::Result;
use super::fault::Fault;
use super::findings::Findings;
use super::queue;
use super::stream::{Stream, look_one};
use super::tally::{HostTally, Totals};
use super::{places, urls};
use crate::storage::keys::{HostAt, HostCrawl, Key};
use crate::storage::tables::{Failed, HostCounts, HostState, Pages, Queue, Rejected, Seen, Table};
use crate::storage::values;

/// The families side by side.
pub struct Walk {
    names: Stream<HostState>,
    /// The host named last: it may have records in several crawls.
    named: Option<(HostAt, String, bool)>,
    pub queue: Stream<Queue>,
    pub counts: Stream<HostCounts>,
    pub seen: Stream<Seen>,
    pub pages: Stream<Pages>,
    pub rejected: Stream<Rejected>,
    pub failed: Stream<Failed>,
}

/// One host in one crawl while it passes by.
pub struct Unit {
    pub at: HostCrawl,
    /// Its key, with which all its records' keys begin.
    pub prefix: Vec<u8>,
    /// Its name, when that is known and belongs to the key.
    pub name: Option<String>,
    /// True when the operator holds it.
    pub held: bool,
    /// Its name as a URL of one of its records has it.
    pub hint: Option<String>,
    pub tally: HostTally,
    /// Queue entries that their marks point to, and marks that point to a queue entry.
    pub bound: u64,
    pub waiting: u64,
}

impl Unit {
    /// Its name, or its key, for a report.
    pub fn shown(&self) -> String {
        let named = self.name.as_ref().or(self.hint.as_ref()).cloned();
        named.unwrap_or_else(|| format!("host {}", self.at.host))
    }
}

/// The pass.
pub fn hosts(context: &mut Context<'_>, findings: &mut Findings<'_>, totals: &mut Totals) -> Result<()> {
    let mut walk = Walk {
        names: Stream::all(),
        named: None,
        queue: Stream::all(),
        counts: Stream::all(),
        seen: Stream::all(),
        pages: Stream::all(),
        rejected: Stream::all(),
        failed: Stream::all(),
    };
    let kept_any = !findings.storage.scan(Rejected::FAMILY, &[], &[], 1)?.is_empty();
    while let Some(at) = walk.next_unit(findings)? {
        let prefix = at.encode();
        let (name, held) = walk.name_of(context, findings, totals, at.host_at())?.unzip();
        let held = held.unwrap_or_default();
        let mut unit = Unit { at, prefix, name, held, hint: None, tally: HostTally::default(), bound: 0, waiting: 0 };
        let before = findings.report.total();
        urls::urls(context, findings, &mut walk, &mut unit, totals, kept_any)?;
        queue::entries(context, findings, &mut walk, &mut unit, totals)?;
        if unit.bound != unit.waiting {
            queue::look_for_entries(context, findings, &unit)?;
        }
        nameless(context, findings, &unit)?;
        let changing = findings.repairing() && findings.report.total() > before;
        places::counts(context, findings, &mut walk, &unit, totals, changing)?;
    }
    walk.name_of(context, findings, totals, LAST).map(drop)
}

/// Above every host.
const LAST: HostAt = HostAt {
    partition: crate::domain::partition::Partition(u16::MAX),
    host: crate::domain::fingerprint::HostKey([u8::MAX; 8]),
};

impl Walk {
    /// The next host with any record, in one crawl.
    fn next_unit(&mut self, findings: &mut Findings<'_>) -> Result<Option<HostCrawl>> {
        fn least<T: Table>(stream: &mut Stream<T>, findings: &mut Findings<'_>) -> Result<Option<Vec<u8>>> {
            Ok(stream.peek(findings)?.and_then(|row| row.raw.get(..HostCrawl::LEN)).map(<[u8]>::to_vec))
        }
        let all = [
            least(&mut self.queue, findings)?,
            least(&mut self.counts, findings)?,
            least(&mut self.seen, findings)?,
            least(&mut self.pages, findings)?,
            least(&mut self.rejected, findings)?,
            least(&mut self.failed, findings)?,
        ];
        Ok(all.into_iter().flatten().min().and_then(|key| HostCrawl::decode(&key).ok()))
    }

    /// The name of a host, and whether it is held; every record up to its own is judged on the way.
    fn name_of(
        &mut self,
        context: &Context<'_>,
        findings: &mut Findings<'_>,
        totals: &mut Totals,
        at: HostAt,
    ) -> Result<Option<(String, bool)>> {
        let until = at.encode();
        while self.names.peek(findings)?.is_some_and(|row| row.raw <= until)
            && let Some(row) = self.names.next_in(findings, &[])?
        {
            let (name, held) = (row.value.name, row.value.orders.holds());
            if name.is_empty() {
                continue; // its pace is known, nothing else
            }
            totals.counters.hosts += 1;
            if context.host_at(&name) == row.key {
                self.named = Some((row.key, name, held));
            } else {
                findings.find(Fault::HostMisnamed, &name, &format!("stands at the key {}", row.key.host), |batch| {
                    batch.delete::<HostState>(&row.key);
                })?;
            }
        }
        Ok(self.named.as_ref().filter(|(key, ..)| *key == at).map(|(_, name, held)| (name.clone(), *held)))
    }
}

/// A host with URLs to fetch needs its name, for its entries hold the rest of their URLs only.
fn nameless(context: &mut Context<'_>, findings: &mut Findings<'_>, unit: &Unit) -> Result<()> {
    let needs = unit.tally.queued.iter().any(|n| *n > 0) || unit.tally.due > 0;
    if unit.name.is_some() || !needs {
        return Ok(());
    }
    let at = unit.at.host_at();
    if unit.hint.is_none() && !context.lost.gave_up(at) {
        context.lost.host(at);
    }
    let known = look_one::<HostState>(findings.storage, &at)?.unwrap_or_default();
    findings.find(Fault::HostNameless, &unit.shown(), "has URLs to fetch", |batch| {
        if let Some(name) = unit.hint.clone() {
            batch.put::<HostState>(&at, &values::HostState { name, ..known });
        }
    })
}
