//! Lines, first records and names of the Store's files.

use std::collections::BTreeSet;
use std::path::Path;

use super::messages::Commit;
use crate::actors::node::Node;
use crate::domain::time::UnixMillis;
use crate::storage::ledger::{Change, Ending};
use crate::storage::values::How;
use crate::warc::WarcError;
use crate::warc::digest::WarcDigest;
use crate::warc::info::WarcInfo;
use crate::warc::jsonl::CrawlLine;
use crate::warc::name::{Series, closed_name};
use crate::warc::record::{RecordBuilder, RecordBytes};
use crate::warc::spool::SpoolRule;
use crate::warc::writer::Place;

/// The line of `crawl.jsonl` for a URL that is finished; retries and other changes have none.
pub(super) fn line_of(commit: &Commit, place: Option<&Place>, now: UnixMillis, out: &mut Vec<u8>) {
    let Change::Page(page) = &commit.change else { return };
    let reason = match &page.ending {
        Ending::Retry { .. } => return,
        Ending::Done(How::Duplicate) => Some("revisit"),
        Ending::Done(_) => None,
        Ending::Error(failure) => Some(failure.as_str()),
        Ending::Rejected(rejection) => Some(rejection.as_str()),
    };
    let mut line = CrawlLine::new(now, page.url.as_str());
    line.reason = reason.map(Into::into);
    line.ms = u64::try_from(commit.took.as_millis()).unwrap_or(u64::MAX);
    if let Some(lease) = &commit.lease {
        let entry = &lease.entry;
        line.via = entry.via.as_deref().map(Into::into);
        line.attempt = u32::from(entry.attempts) + 1;
        let hops = "L".repeat(usize::from(entry.depth).min(64)) + &"R".repeat(usize::from(entry.hops).min(64));
        line.hop_path = hops.into();
    }
    if let Some(capture) = &page.capture {
        line.status = Some(capture.status);
        line.bytes = capture.bytes;
        line.mime = capture.mime.as_deref().map(Into::into);
        line.digest = Some(WarcDigest(capture.payload_digest));
    }
    let line = match place {
        Some(place) => line.placed(place),
        None => line,
    };
    line.write(out);
}

/// The record a WARC begins with.
pub(super) fn warcinfo(node: &Node, name: &str, now: UnixMillis) -> Result<RecordBytes, WarcError> {
    let settings = &node.rules.settings;
    let info = WarcInfo {
        software: concat!("Lycosa/", env!("CARGO_PKG_VERSION")).to_owned(),
        operator: settings.agent.contact.clone(),
        hostname: Some(node.rules.host_name.clone()),
        user_agent: Some(settings.agent.user_agent.clone()),
        robots: Some(if settings.politeness.respect_robots { "classic" } else { "ignore" }.to_owned()),
        is_part_of: Some(settings.crawl.name.clone()),
        ..WarcInfo::default()
    };
    let spool = SpoolRule { dir: node.rules.spill_dir.clone(), memory: 1 << 20 };
    let mut builder = RecordBuilder::new(settings.store.compression, spool);
    let id = node.rules.record_ids().next_id();
    builder.warcinfo(id, now, name, &info).map_err(|e| WarcError::io("build", Path::new(name))(std::io::Error::other(e)))
}

/// Removes `.open` files that no commit knows: they were begun by a batch that was never written.
pub(super) fn sweep(dir: &Path, current: Option<&str>) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(closed) = name.to_str().and_then(closed_name) else { continue };
        let stem = closed.trim_end_matches(".cdxj").trim_end_matches(".warc.gz");
        if current.is_some_and(|c| c.trim_end_matches(".warc.gz") == stem) {
            continue;
        }
        match std::fs::remove_file(entry.path()) {
            Ok(()) => log::info!("file without a committed record removed: {}", entry.path().display()),
            Err(e) => log::warn!("file without a committed record not removed: {}: {e}", entry.path().display()),
        }
    }
}

/// One more than the largest serial number in use.
pub(super) fn next_serial(dir: &Path, series: &Series) -> u32 {
    let Ok(entries) = std::fs::read_dir(dir) else { return 0 };
    let used: BTreeSet<u32> = entries
        .flatten()
        .filter_map(|e| {
            let name = e.file_name().into_string().ok()?;
            series.serial_of(closed_name(&name).unwrap_or(&name))
        })
        .collect();
    used.last().map_or(0, |n| n.saturating_add(1))
}
