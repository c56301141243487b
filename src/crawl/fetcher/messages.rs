//! What a Fetcher is asked and what it reports.

use std::net::SocketAddr;
use std::sync::Arc;

use actix::Message;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::base::time::UnixMillis;
use crate::crawl::lease::Lease;
use crate::crawl::node::PagePermit;
use crate::crawl::slot::Slot;
use crate::domain::outcome::FetchOutcome;
use crate::domain::reason::Failure;
use crate::domain::url::PageUrl;
use crate::net::proxy::Proxy;
use crate::storage::values::PageRecord;
use crate::warc::page::PageRecords;

/// What the request is for.
pub enum FetchPurpose {
    /// A page: its document goes to the Parser.
    Page {
        /// The URL's lease.
        lease: Box<Lease>,
        /// What robots.txt says of the use of its content, to be recorded.
        usage: Option<String>,
        /// Its latest capture, when it is fetched once more.
        last: Option<Box<PageRecord>>,
        /// The page's permit, to its commit.
        permit: PagePermit,
    },
    /// robots.txt: its text goes back in the report.
    Robots {
        /// Another host's robots.txt redirects there.
        cross_host: bool,
    },
}

/// One request. Dropping it gives back lease, permit, slot and place on the wire.
#[derive(Message)]
#[rtype(result = "()")]
#[expect(missing_docs, reason = "each name says it")]
pub struct Fetch {
    pub url: PageUrl,
    /// Where to connect to, in this order: resolved and checked. Empty where a proxy looks the name up.
    pub addresses: Vec<SocketAddr>,
    /// The proxy it goes through, if any.
    pub via: Option<Arc<Proxy>>,
    pub slot: Slot,
    pub on_wire: OwnedSemaphorePermit,
    /// It asks whether anybody speaks https there, for a seed without a scheme: that nobody does is no sign of how the host feels.
    pub guess: bool,
    pub purpose: FetchPurpose,
    pub reply: oneshot::Sender<Report>,
}

/// A request was given up because it hung.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Hung {
    /// When it began: connections of a later life have nothing to do with it.
    pub begun: UnixMillis,
    /// What hung.
    pub why: String,
}

/// What the Host is told when its slot is free again.
pub struct Report {
    /// What became of the request.
    pub outcome: FetchOutcome,
    /// The answer, when robots.txt was asked for.
    pub robots: Option<RobotsAnswer>,
}

impl Report {
    /// A request that was never sent.
    pub fn fault(failure: Failure) -> Self {
        Self { outcome: FetchOutcome::Fault(failure), robots: None }
    }
}

/// An answer to a request for robots.txt.
pub struct RobotsAnswer {
    /// Its status.
    pub status: u16,
    /// The decoded text, at most 500 KiB of whole lines; none when it did not come whole and so says nothing.
    pub text: Option<Vec<u8>>,
    /// Where it points to.
    pub location: Option<String>,
    /// The exchanges for the WARC, redirects included.
    pub records: Vec<PageRecords>,
}
