//! Finds what is recorded of a URL or a host.

use encoding_rs::{BIG5, EUC_JP, EUC_KR, Encoding, GB18030, GBK, SHIFT_JIS, WINDOWS_1251, WINDOWS_1252};

use crate::admin::ControlError;
use crate::admin::views::HostState;
use crate::base::sync::lock;
use crate::crawl::node::Node;
use crate::domain::url::{PageUrl, with_schemes};
use crate::storage::keys::{HostAt, PageKey, SeenKey};
use crate::storage::tables::{Due, Queue};
use crate::storage::values::{PageRecord, Place, QueueEntry, RejectedValue, UrlState};
use crate::storage::{StorageError, read};

/// Encodings of pages in which links are written that people then type in letters.
const ENCODINGS: [&Encoding; 8] = [GBK, GB18030, BIG5, SHIFT_JIS, EUC_JP, EUC_KR, WINDOWS_1251, WINDOWS_1252];

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
        let url = node.crawl.live().canon.parse(text.trim()).map_err(|e| ControlError::Invalid(format!("url: {e}")))?;
        Ok(Self::of(node, url))
    }

    /// As people type it: without a scheme that one is taken which the crawl knows it by, and letters of a query may be those of a
    /// page in another encoding than UTF-8.
    ///
    /// # Errors
    /// As [`Target::parse`]; storage that does not answer.
    pub fn typed(node: &Node, text: &str) -> Result<Typed, ControlError> {
        // As the crawl has it, whatever would be taken away elsewhere.
        let itself = PageUrl::from_canonical(text.trim()).ok().map(|url| Self::of(node, url));
        if let Some(target) = itself
            && target.known(node).map_err(unread)? == Known::Url
        {
            return Ok(Typed { target, text: text.to_owned(), assumed: None });
        }
        let typed = Self::in_utf8(node, text)?;
        let query = typed.text.split_once('?').map_or("", |(_, query)| query);
        if query.is_ascii() || typed.target.known(node).map_err(unread)? == Known::Url {
            return Ok(typed);
        }
        Ok(typed.as_pages_have_it(node).map_err(unread)?.unwrap_or(typed))
    }

    fn in_utf8(node: &Node, text: &str) -> Result<Typed, ControlError> {
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

    fn of(node: &Node, url: PageUrl) -> Self {
        let key = SeenKey::of(&node.prints, node.crawl.id, &url);
        Self { url, key }
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
    /// Which scheme or encoding was taken, and why, when the text does not say.
    pub assumed: Option<String>,
}

impl Typed {
    /// The same, its query written as in pages of some other encoding, when the crawl knows it so.
    fn as_pages_have_it(&self, node: &Node) -> Result<Option<Self>, StorageError> {
        let base = self.target.url.to_url();
        for encoding in ENCODINGS {
            let Ok(url) = node.crawl.live().canon.join(&base, self.text.trim(), Some(encoding)) else { continue };
            let target = Target::of(node, url);
            if target.known(node)? == Known::Url {
                let told = format!("its query was taken as {}, as the crawl knows it", encoding.name());
                let assumed = self.assumed.iter().cloned().chain([told]).collect::<Vec<_>>().join("; ");
                let text = target.url.as_str().to_owned(); // letters in another encoding are no change
                return Ok(Some(Self { target, text, assumed: Some(assumed) }));
            }
        }
        Ok(None)
    }
}

/// How much the crawl knows under a scheme.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Known {
    Not,
    /// The host was asked for its robots.txt.
    Host,
    Url,
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
        record.leased = matches!(record.state, Some(UrlState::Waiting { .. })) && node.crawl.leases.contains(&key.url);
        record.page = read::latest_page(storage, key)?;
        Ok(record)
    }

    /// Depth of the shortest path known.
    pub fn depth(&self) -> Option<u16> {
        match self.state {
            Some(UrlState::Waiting { reach, .. } | UrlState::Rejected { reach, .. }) => Some(reach.depth),
            _ => self.page.as_ref().map(|(_, page)| page.depth),
        }
    }
}

pub(super) fn host_state(node: &Node, at: HostAt, place: Place) -> HostState {
    if lock(&node.actors.hosts).contains_key(&at.host) {
        return HostState::Active;
    }
    match place {
        Place::None => HostState::Idle,
        Place::Waiting { .. } => HostState::Waiting,
        Place::Parked { .. } => HostState::Parked,
        Place::Held => HostState::Held,
    }
}
