//! Finds what is recorded of a URL or a host.

use crate::actors::node::Node;
use crate::actors::supervise::lock;
use crate::admin::ControlError;
use crate::admin::views::HostState;
use crate::domain::partition::Partition;
use crate::domain::url::PageUrl;
use crate::storage::keys::{HostAt, PageKey, SeenKey};
use crate::storage::tables::{Due, Queue};
use crate::storage::values::{PageRecord, Place, QueueEntry, RejectedValue, UrlState};
use crate::storage::{StorageError, read};

/// Storage that does not answer is waited for by whoever asks again.
pub(super) fn unread(error: StorageError) -> ControlError {
    ControlError::Unavailable(format!("the database does not answer: {error}"))
}

/// A URL in canonical form and its key.
pub(super) struct Target {
    pub url: PageUrl,
    pub key: SeenKey,
}

impl Target {
    /// # Errors
    /// [`ControlError::Invalid`] for a text that is no URL of a page.
    pub fn parse(node: &Node, text: &str) -> Result<Self, ControlError> {
        let url = node.live().canon.parse(text.trim()).map_err(|e| ControlError::Invalid(format!("url: {e}")))?;
        let key = host_at(node, url.host()).crawl(node.crawl).url(node.prints.url(&url));
        Ok(Self { url, key })
    }

    /// The keys of its host.
    pub fn host(&self) -> HostAt {
        self.key.host_crawl().host_at()
    }
}

/// The keys of the host with this name.
pub(super) fn host_at(node: &Node, name: &str) -> HostAt {
    HostAt { partition: Partition::of_host(name), host: node.prints.host(name) }
}

/// What is recorded of one URL.
#[derive(Default)]
pub(super) struct Record {
    /// Its state; none for a URL never seen.
    pub state: Option<UrlState>,
    /// True while it is in somebody's hands.
    pub leased: bool,
    /// Its queue entry while it waits.
    pub entry: Option<QueueEntry>,
    /// Its newest capture.
    pub page: Option<(PageKey, PageRecord)>,
    /// What is kept of a URL turned away.
    pub rejected: Option<RejectedValue>,
}

impl Record {
    /// Reads it: two to four look-ups.
    ///
    /// # Errors
    /// The storage's own.
    pub fn read(node: &Node, key: SeenKey) -> Result<Self, StorageError> {
        let storage = &*node.storage;
        let mut record = Self { state: read::seen_state(storage, key)?, ..Self::default() };
        match record.state {
            None => return Ok(record),
            Some(UrlState::Waiting { due: Some(time), .. }) => {
                record.entry = read::get::<Due>(storage, &key.due(time))?
            }
            Some(UrlState::Waiting { rank, order, .. }) => {
                record.entry = read::get::<Queue>(storage, &key.host_crawl().queue(rank, order))?;
            }
            Some(UrlState::Rejected { .. }) => record.rejected = read::rejected(storage, key)?,
            Some(UrlState::Done { .. } | UrlState::Error { .. }) => {}
        }
        record.leased = matches!(record.state, Some(UrlState::Waiting { .. })) && node.leases.contains(&key.url);
        record.page = read::latest_page(storage, key)?;
        Ok(record)
    }

    /// Depth of the shortest path known.
    pub fn depth(&self) -> Option<u16> {
        match self.state {
            Some(UrlState::Waiting { depth, .. } | UrlState::Rejected { depth, .. }) => Some(depth),
            _ => self.page.as_ref().map(|(_, page)| page.depth),
        }
    }
}

/// Where a host stands.
pub(super) fn host_state(node: &Node, at: HostAt, place: Place) -> HostState {
    if lock(&node.hosts).contains_key(&at.host) {
        return HostState::Active;
    }
    match place {
        Place::None => HostState::Idle,
        Place::Waiting { .. } => HostState::Waiting,
        Place::Parked { .. } => HostState::Parked,
        Place::Held => HostState::Held,
    }
}
