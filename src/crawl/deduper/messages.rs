//! What the Deduper is told.

use std::time::Duration;

use tokio::sync::oneshot;

use crate::base::time::UnixMillis;
use crate::crawl::control::SeedReport;
use crate::crawl::lease::Lease;
use crate::crawl::node::PagePermit;
use crate::crawl::store::Commit;
use crate::domain::fingerprint::{ContentDigest, UrlKey};
use crate::domain::reach::Reach;
use crate::domain::textprint::Shown;
use crate::domain::url::PageUrl;
use crate::storage::ledger::{Ending, LinkChange, NewUrl};
use crate::storage::values::{PageRecord, SeedValue};
use crate::warc::page::PageRecords;

/// What a page leaves behind.
pub struct PageParts {
    /// Its record, the WARC place apart.
    pub record: PageRecord,
    /// Its WARC records; none when the settings leave it out of the archive.
    pub records: Option<PageRecords>,
    /// Digest of its decoded content.
    pub content: Option<ContentDigest>,
    /// What it shows, of a page that was read to its end.
    pub shown: Option<Shown>,
}

/// A URL is finished, or must be tried again. Dropping it gives back lease and permit.
#[expect(missing_docs, reason = "each name says it")]
pub struct Parsed {
    pub lease: Lease,
    /// The page's permit, when it went through a fetch.
    pub permit: Option<PagePermit>,
    pub ending: Ending,
    pub parts: Option<Box<PageParts>>,
    /// URLs found, judged by the rules, not yet by the seen test.
    pub links: LinkChange,
    /// The way to it by which they were judged.
    pub reach: Reach,
    /// The status of an answer of which nothing is kept, because it is tried again.
    pub status: Option<u16>,
    /// When its request was sent.
    pub begun: UnixMillis,
    /// How long that took.
    pub took: Duration,
}

impl Parsed {
    /// A URL that leaves nothing behind but its state.
    pub fn bare(lease: Lease, permit: Option<PagePermit>, ending: Ending) -> Self {
        Self {
            reach: lease.entry.reach(),
            lease,
            permit,
            ending,
            parts: None,
            links: LinkChange::default(),
            status: None,
            begun: UnixMillis(0),
            took: Duration::ZERO,
        }
    }

    /// The same, turned away by the rules of this generation.
    #[must_use]
    pub fn judged_by(mut self, generation: u32) -> Self {
        self.links.generation = generation;
        self
    }
}

/// A robots.txt that names sitemaps: both are committed together.
pub struct Announced {
    /// The commit of the robots.txt.
    pub commit: Commit,
    /// The sitemaps, not judged yet.
    pub found: Vec<NewUrl>,
}

/// Seeds. Their hosts join the scope.
pub struct Inject {
    /// The seeds, canonical, each with what is said of it.
    pub seeds: Vec<(PageUrl, SeedValue)>,
    /// Told when they are committed; dropped when they are not.
    pub reply: Option<oneshot::Sender<SeedReport>>,
}

/// A batch was committed: these are on disk and no longer pending.
#[expect(missing_docs, reason = "each name says it")]
pub struct Settled {
    pub epoch: u64,
    pub urls: Vec<UrlKey>,
    pub contents: Vec<ContentDigest>,
    /// Pages that lead a group of near-duplicates.
    pub leaders: Vec<UrlKey>,
}

/// Save the filter: nothing more is coming.
pub struct SaveFilter(pub oneshot::Sender<()>);
