//! What rooms ask the Store to commit, and what they are told afterwards.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use super::credit::Settling;
use crate::base::time::UnixMillis;
use crate::domain::cluster::map::MemberId;
use crate::domain::fingerprint::{ContentDigest, UrlKey};
use crate::domain::found_as::FoundAs;
use crate::domain::orders::{HostOrder, HostOrders};
use crate::domain::priority::Priorities;
use crate::domain::reach::Reach;
use crate::domain::reason::{Failure, Rejection};
use crate::domain::refresh::Refresh;
use crate::domain::revisit::RequeueReason;
use crate::domain::url::PageUrl;
use crate::domain::visit::Visit;
use crate::storage::keys::{DueKey, HostAt, PageKey, QueueKey, RobotsKey, RowKey, SeenKey, VisitHostKey};
use crate::storage::values::{
    Consumer, ContentValue, DoneKind, HandedLink, LiveSettings, NoteHost, PageRecord, Place, RobotsValue, SeedValue,
    UnsyncedPage,
};

/// A URL found new, with what it needs to be fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewUrl {
    /// Canonical form.
    pub url: PageUrl,
    /// Links from its seed on this way.
    pub depth: u16,
    /// Links that are followed from that seed, as was said of it.
    pub limit: Option<u16>,
    /// Redirects that led here.
    pub hops: u8,
    /// True for a seed and what seeds redirect to.
    pub seed: bool,
    /// The page it was found on.
    pub via: Option<Arc<str>>,
    /// The seed it goes back to; `None` for a seed itself.
    pub origin: Option<Arc<str>>,
    /// As what it was found.
    pub found: FoundAs,
    /// How important it is among the pages of its site, in hundredths, as a sitemap says.
    pub priority: Option<u8>,
    /// [`NewUrl::LAST`]: it comes after all others of its host.
    pub rank: Option<u8>,
    /// When it was changed last, as a sitemap says.
    pub lastmod: Option<UnixMillis>,
}

impl NewUrl {
    /// No rank: behind all ranks.
    pub const LAST: u8 = u8::MAX;

    /// A seed, of which nothing is said.
    pub fn seed(url: PageUrl) -> Self {
        Self { seed: true, ..Self::link(url, 0) }
    }

    /// A link, so many links from its seed; whose and where it stood is not known.
    pub fn link(url: PageUrl, depth: u16) -> Self {
        Self {
            url,
            depth,
            limit: None,
            hops: 0,
            seed: false,
            via: None,
            origin: None,
            found: FoundAs::Link,
            priority: None,
            rank: None,
            lastmod: None,
        }
    }

    /// The way to it.
    pub fn reach(&self) -> Reach {
        Reach { depth: self.depth, limit: self.limit }
    }

    /// Whether it comes after all others of its host.
    pub fn is_last(&self) -> bool {
        self.rank == Some(Self::LAST)
    }
}

/// A URL that is done and to be fetched once more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownUrl {
    /// As it was found now.
    pub new: NewUrl,
    /// Its capture: when there is a later one by now, nothing is done.
    pub captured: UnixMillis,
    /// Why.
    pub why: RequeueReason,
}

/// A URL turned away, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedUrl {
    /// The URL.
    pub new: NewUrl,
    /// Why.
    pub reason: Rejection,
}

/// A URL of another member's host: its owner judges it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignUrl {
    /// The URL.
    pub new: NewUrl,
    /// Why its page says that it is not to be followed.
    pub refused: Option<Rejection>,
    /// Link credit that came along with it.
    pub units: u128,
}

impl ForeignUrl {
    /// As it is handed over.
    pub fn handed(&self) -> HandedLink {
        let (new, text) = (&self.new, |text: &Option<Arc<str>>| text.as_deref().map(str::to_owned));
        HandedLink {
            url: new.url.as_str().to_owned(),
            spelling: new.url.spelling().map(str::to_owned),
            depth: new.depth,
            limit: new.limit,
            hops: new.hops,
            seed: new.seed,
            via: text(&new.via),
            origin: text(&new.origin),
            found: new.found,
            priority: new.priority,
            last: new.is_last(),
            lastmod: new.lastmod,
            refused: self.refused,
            units: self.units,
        }
    }

    /// As it came from another member; none when its text is no URL.
    pub fn of(link: HandedLink) -> Option<Self> {
        let url = PageUrl::from_canonical(&link.url).ok()?.spelled(link.spelling.as_deref());
        let new = NewUrl {
            limit: link.limit,
            hops: link.hops,
            seed: link.seed,
            via: link.via.map(Arc::from),
            origin: link.origin.map(Arc::from),
            found: link.found,
            priority: link.priority,
            rank: link.last.then_some(NewUrl::LAST),
            lastmod: link.lastmod,
            ..NewUrl::link(url, link.depth)
        };
        Some(Self { new, refused: link.refused, units: link.units })
    }
}

/// A row of links that another member found.
#[derive(Clone, Debug)]
pub struct TakenIn {
    /// Which: its links count once.
    pub row: RowKey,
    /// What they change.
    pub links: LinkChange,
    /// Link credit that came along: to each page of each list.
    pub credit: Vec<(u128, Vec<NoteHost>)>,
}

/// How a page ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Done, in this way.
    Done(DoneKind),
    /// Done with the half that an earlier try has left: this is its record.
    Kept(Box<PageRecord>),
    /// Failed for good.
    Error(Failure),
    /// To be tried again.
    Retry {
        /// Not before this.
        at: UnixMillis,
        /// What went wrong this time.
        reason: Failure,
    },
    /// To be asked for later: it was not asked for now, and so has lost no attempt.
    Wait {
        /// Not before this.
        at: UnixMillis,
        /// What it waits for.
        reason: Failure,
    },
    /// Not to be fetched after all (robots.txt, address policy, budget).
    Rejected(Rejection),
}

/// The effects of one page, committed together (I3).
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "each name says it")]
pub struct PageChange {
    pub url: PageUrl,
    pub ending: Ending,
    /// The best way known to it when it was taken from its queue.
    pub taken: Reach,
    /// The way to it by which its links were judged: the same, with what was said of its seed then.
    pub reach: Reach,
    /// The status of the answer, if there was one: for people, it is not kept.
    pub status: Option<u16>,
    /// Its capture, if something was stored.
    pub capture: Option<PageRecord>,
    /// Set when it is the first with its content.
    pub first_with: Option<(ContentDigest, ContentValue)>,
    pub links: LinkChange,
    /// The state of its host's politeness, encoded.
    pub pace: Option<Vec<u8>>,
}

impl PageChange {
    /// What there is of the page: its capture, or the half that it is done with.
    pub fn record(&self) -> Option<&PageRecord> {
        let half = if let Ending::Kept(half) = &self.ending { Some(&**half) } else { None };
        self.capture.as_ref().or(half)
    }
}

/// What found links change.
#[derive(Clone, Debug, Default)]
pub struct LinkChange {
    /// The generation of rules that judged them; 0 when no rules had a part in it.
    pub generation: u32,
    /// New URLs, to be queued.
    pub new: Vec<NewUrl>,
    /// New URLs, turned away.
    pub turned: Vec<RejectedUrl>,
    /// Known URLs that were rejected for a reason which no longer holds: now to be queued.
    pub readmitted: Vec<NewUrl>,
    /// Known URLs found by a better way.
    pub nearer: Vec<NewUrl>,
    /// URLs that are done, to be fetched once more.
    pub again: Vec<KnownUrl>,
    /// URLs of hosts of other members.
    pub foreign: Vec<ForeignUrl>,
    /// One that is neither queued nor done was too deep, whether that is noted of it or not.
    pub too_deep: bool,
    /// Some are said to have changed and are not to be fetched once more yet.
    pub put_off: bool,
    /// Seeds among them or known before, with what is said of them.
    pub seeds: Vec<SeedValue>,
    /// All that are admitted, new or known, each once; only where there is link credit.
    pub linked: Vec<NoteHost>,
}

impl LinkChange {
    /// Judged links, new and turned away, in changes of at most `most`; at least one. Each may be committed for itself, and again:
    /// what the first ones queue is known to whoever finds it once more.
    pub fn in_chunks(self, most: usize) -> Vec<Self> {
        let (generation, most) = (self.generation, most.max(1));
        if self.new.len() + self.turned.len() <= most {
            return vec![self];
        }
        let Self { new, turned, foreign, .. } = self;
        let (mut new, mut turned) = (new.into_iter(), turned.into_iter());
        let mut chunks = Vec::new();
        while new.len() + turned.len() > 0 {
            let taken: Vec<_> = new.by_ref().take(most).collect();
            let turned = turned.by_ref().take(most - taken.len()).collect();
            chunks.push(Self { generation, new: taken, turned, ..Self::default() });
        }
        if let Some(last) = chunks.last_mut() {
            last.foreign = foreign;
        }
        chunks
    }
}

/// One entry in the Store's work, in order.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "each name says it")]
pub enum Change {
    Page(Box<PageChange>),
    /// Seeds, or links handed over.
    Links(Box<LinkChange>),
    /// robots.txt of a host, with the host's politeness and the sitemaps it names.
    Robots {
        key: RobotsKey,
        host: String,
        value: Box<RobotsValue>,
        /// The state of the host's politeness, encoded.
        pace: Option<Vec<u8>>,
        /// Sitemaps that were not known.
        sitemaps: Box<LinkChange>,
    },
    /// Settings changed while the crawl runs; `rules` is the number of the rules in force from here on.
    Settings {
        record: Box<LiveSettings>,
        rules: u32,
        /// Digest of the rules that judge URLs.
        digest: [u8; 16],
        /// Links that are followed from any seed.
        max_depth: Option<u16>,
        /// When pages are visited again.
        refresh: Box<Refresh>,
        /// What is said of the importance of pages.
        priorities: Arc<Priorities>,
    },
    /// A host gives up its place: to the end of its front queue, or parked until a time.
    Yield {
        at: HostAt,
        /// Parked until this; `None` sends it to the end of its queue.
        until: Option<UnixMillis>,
        /// The state of the host's politeness, encoded.
        pace: Option<Vec<u8>>,
    },
    /// A parked host whose time has come.
    Unpark(HostAt),
    /// Retries whose time has come.
    Promote(Vec<DueKey>),
    /// The operator says something of a host.
    Order {
        host: String,
        order: HostOrder,
    },
    /// Waiting URLs are turned away after all; those in somebody's hands stay.
    DropUrls {
        urls: Vec<SeenKey>,
        reason: Rejection,
    },
    /// URLs whose latest captures these are are queued once more; their captures stay.
    FetchAgain(Vec<PageKey>),
    /// URLs given up are queued again, as if they were new.
    TryAgain(Vec<SeenKey>),
    /// Hosts of which the first visit is due.
    Revisit(Vec<VisitHostKey>),
    /// Rules have changed: when these are visited next is reckoned anew.
    Reschedule(Vec<SeenKey>),
    /// Sitemaps of these rows are queued again: their time has come.
    ReadAgain(Vec<DueKey>),
    /// Pages to which better ways wait in `nearer` are queued once more, now that a URL was too deep.
    FollowNearer(Vec<SeenKey>),
    /// URLs that wait take the places that the rules in force give them.
    Rerank(Rerank),
    /// Links that another member found.
    TakeIn(Box<TakenIn>),
    /// Rows for another member up to this one are no longer kept: a whole checkpoint there has them. A piece at a time.
    Covered {
        to: MemberId,
        upto: u64,
    },
    /// Rows for a member that takes none any more go where their links belong now, by way of this member itself. A piece at a time.
    TurnRound(MemberId),
    /// A piece of a round of link credit.
    Settle(Box<Settling>),
    /// Who reads the feed says how far it is; `None`: it reads no more.
    Consumer {
        name: String,
        at: Option<Consumer>,
    },
}

/// URLs that are ranked anew.
#[derive(Clone, Debug, Default)]
pub struct Rerank {
    /// Where they stand.
    pub urls: Vec<QueueKey>,
    /// How many of them moved, as of the commit: set when it is applied.
    pub moved: Arc<AtomicU64>,
}

/// What a commit changed for one host: the Frontier's news.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostNews {
    /// Whose.
    pub at: HostAt,
    /// Where it stands now.
    pub place: Place,
    /// URLs in its queue, retries apart.
    pub queued: u64,
    /// URLs of it that are done, or errors.
    pub finished: u64,
    /// Entries put into the queue: (rank, smallest order).
    pub put: Vec<(u8, u64)>,
    /// Earliest retry put.
    pub due: Option<UnixMillis>,
    /// Earliest visit of a sitemap noted.
    pub sitemap: Option<UnixMillis>,
    /// When its first visit is due.
    pub visit: Option<UnixMillis>,
}

/// What one change did, beside its writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// The page's URL was no longer waiting: the change was void (I3: nothing is counted twice).
    pub void: bool,
    /// Keys that are no longer pending.
    pub settled: Vec<UrlKey>,
    /// The page, to be listed until the archive is synced.
    pub unsynced: Option<UnsyncedPage>,
    /// What its visit brought, as its entry in the feed says.
    pub visit: Option<Visit>,
    /// What stands for a host now, after an order.
    pub ordered: Option<(HostAt, HostOrders)>,
    /// URLs that were queued once more, by why.
    pub again: Vec<RequeueReason>,
    /// URLs that were given another place.
    pub reranked: u64,
    /// How late the first visits of hosts' turns began.
    pub late: Vec<Duration>,
}
