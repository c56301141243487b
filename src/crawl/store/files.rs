//! The Store's part in the files beside the database: the line of a finished URL, and what the archive is told.

use super::messages::Commit;
use crate::base::fault::Faults;
use crate::base::time::UnixMillis;
use crate::config::Settings;
use crate::crawl::node::Node;
use crate::storage::StorageError;
use crate::storage::ledger::{Change, Ending};
use crate::storage::values::{DoneKind, WarcPlace};
use crate::warc::WarcError;
use crate::warc::archive::ArchiveSettings;
use crate::warc::digest::WarcDigest;
use crate::warc::exchange::hop_path;
use crate::warc::info::WarcInfo;
use crate::warc::jsonl::CrawlLine;
use crate::warc::name::Series;
use crate::warc::writer::{Place, WarcLimits};

/// Notes in a page's record where its response stands.
pub(super) fn note_place(commit: &mut Commit, place: Option<&Place>) {
    if let (Change::Page(page), Some(Place { file, offset, length })) = (&mut commit.change, place)
        && let Some(capture) = &mut page.capture
    {
        capture.warc = Some(WarcPlace { file: file.to_string(), offset: *offset, length: *length });
    }
}

/// The line of `crawl.jsonl` for a URL that is finished; retries and other changes have none.
pub(super) fn line_of<'c>(
    node: &Node,
    commit: &'c Commit,
    place: Option<&Place>,
    now: UnixMillis,
) -> Result<Option<CrawlLine<'c>>, StorageError> {
    let Change::Page(page) = &commit.change else { return Ok(None) };
    let reason = match &page.ending {
        Ending::Retry { .. } | Ending::Wait { .. } => return Ok(None),
        Ending::Done(DoneKind::Duplicate) => Some("revisit"),
        Ending::Done(DoneKind::NotModified) => Some("not_modified"),
        Ending::Done(_) | Ending::Kept(_) => {
            page.record().filter(|capture| capture.how == DoneKind::Unstored).map(|_| "unstored")
        }
        Ending::Error(failure) => Some(failure.as_str()),
        Ending::Rejected(rejection) => Some(rejection.as_str()),
    };
    let mut line = CrawlLine::new(now, page.url.as_str());
    line.asked = page.url.spelling().map(|_| page.url.asked());
    line.reason = reason.map(Into::into);
    line.ms = u64::try_from(commit.took.as_millis()).unwrap_or(u64::MAX);
    if let Some(lease) = &commit.lease {
        let entry = &lease.entry;
        line.via = entry.via.as_deref().map(Into::into);
        let own = entry.seed.then_some(page.url.as_str());
        line.seed = entry.origin.as_deref().or(own).map(Into::into);
        line.tags = node.seed_of(lease)?.map(|seed| seed.tags.clone()).unwrap_or_default();
        line.attempt = u32::from(entry.attempts) + 1;
        line.hop_path = hop_path(entry).into();
    }
    if let Some(capture) = page.record() {
        line.status = Some(capture.status);
        line.bytes = capture.bytes;
        line.target = capture.remarks.target.as_deref().map(Into::into);
        line.target_refused = capture.refused.as_deref().map(Into::into);
        line.canonical = capture.remarks.canonical.as_deref().map(Into::into);
        line.extracted = capture.remarks.extracted.as_deref().and_then(|json| serde_json::from_str(json).ok());
        line.mime = capture.mime.as_deref().map(Into::into);
        line.digest = Some(WarcDigest(capture.payload_digest));
        line.remark(&capture.remarks);
    }
    let half = page.record().filter(|_| page.capture.is_none()).and_then(|half| half.warc.as_ref());
    Ok(Some(match (place, half) {
        (Some(place), _) => line.placed(place),
        (None, Some(at)) => line.placed(&Place { file: at.file.as_str().into(), offset: at.offset, length: at.length }),
        (None, None) => line,
    }))
}

/// Where the archive's files are and what they say of themselves.
///
/// # Errors
/// A prefix or host name that cannot be part of a file name.
pub(super) fn archive_settings(node: &Node) -> Result<ArchiveSettings, WarcError> {
    archive_settings_of(&node.crawl.rules.settings, &node.crawl.rules.host_name, &node.faults)
}

/// The same of a crawl at rest.
///
/// # Errors
/// As [`archive_settings`].
pub fn archive_settings_of(settings: &Settings, host: &str, faults: &Faults) -> Result<ArchiveSettings, WarcError> {
    let info = WarcInfo {
        software: concat!("Lycosa/", env!("CARGO_PKG_VERSION")).to_owned(),
        operator: settings.agent.contact.clone().unwrap_or_default(),
        hostname: host.to_owned(),
        ip: own_address().map_or_else(String::new, |ip| ip.to_string()),
        user_agent: settings.agent.user_agent.clone(),
        robots: if settings.politeness.respect_robots { "obey" } else { "ignore" }.to_owned(),
        is_part_of: settings.crawl.name.clone(),
        ..WarcInfo::default()
    };
    Ok(ArchiveSettings {
        dir: settings.warc_dir(),
        jsonl: settings.store.data_dir.join("crawl.jsonl"),
        series: Series::new(&settings.store.warc_prefix, host)?,
        limits: WarcLimits { max_size: settings.store.warc_max_size, max_age: settings.store.warc_max_age },
        compression: settings.store.compression,
        info,
        faults: faults.clone(),
    })
}

/// The address this machine speaks from to the outside. Nothing is sent: a datagram socket only picks its route.
fn own_address() -> Option<std::net::IpAddr> {
    let socket = std::net::UdpSocket::bind((std::net::Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect((std::net::Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    Some(socket.local_addr().ok()?.ip()).filter(|ip| !ip.is_unspecified())
}
