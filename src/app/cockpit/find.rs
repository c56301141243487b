//! Finds what is recorded of a URL or a host.

use crate::actors::node::Node;
use crate::actors::supervise::lock;
use crate::admin::ControlError;
use crate::admin::views::HostState;
use crate::domain::partition::Partition;
use crate::domain::url::{PageUrl, with_schemes};
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

    /// As people type it: without a scheme that one is taken which the crawl knows it by.
    ///
    /// # Errors
    /// As [`Target::parse`]; storage that does not answer.
    pub fn typed(node: &Node, text: &str) -> Result<Typed, ControlError> {
        let Some([https, http]) = with_schemes(text) else {
            return Ok(Typed { target: Self::parse(node, text)?, text: text.to_owned(), assumed: None });
        };
        let (safe, plain) = (Self::parse(node, &https)?, Self::parse(node, &http)?);
        let known = (safe.known(node).map_err(unread)?, plain.known(node).map_err(unread)?);
        let (target, text) = if known.1 > known.0 { (plain, http) } else { (safe, https) };
        let why = match known {
            (Known::Not, Known::Not) => "as browsers do",
            (Known::Url, Known::Url) => "the crawl knows it under http too",
            (Known::Url, _) | (_, Known::Url) => "as the crawl knows it",
            _ => "as the crawl asks its host",
        };
        let assumed = format!("{} was taken for its scheme, {why}", target.url.scheme().as_str());
        Ok(Typed { target, text, assumed: Some(assumed) })
    }

    fn known(&self, node: &Node) -> Result<Known, StorageError> {
        let (scheme, port) = (self.url.scheme(), self.url.port());
        if read::seen_state(&*node.storage, self.key)?.is_some() {
            return Ok(Known::Url);
        }
        let asked = read::robots(&*node.storage, self.host().robots(scheme, port))?.is_some();
        Ok(if asked { Known::Host } else { Known::Not })
    }

    /// The keys of its host.
    pub fn host(&self) -> HostAt {
        self.key.host_crawl().host_at()
    }
}

/// A URL as people type it.
pub(super) struct Typed {
    pub target: Target,
    /// The text with its scheme.
    pub text: String,
    /// Which scheme was taken, and why, when there was none.
    pub assumed: Option<String>,
}

/// How much the crawl knows under a scheme.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Known {
    Not,
    /// The host was asked for its robots.txt.
    Host,
    Url,
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
