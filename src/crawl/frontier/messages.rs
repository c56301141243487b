//! What the Frontier is told.

use std::sync::Arc;

use crate::base::time::UnixMillis;
use crate::crawl::lease::LeaseCore;
use crate::domain::fingerprint::HostKey;
use crate::storage::ledger::HostNews;

/// What a lease's end means for its host's page budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Its URL is done, or an error: a page of the budget is used.
    Finished,
    /// Its URL was turned away, is tried again, or came back: nothing is used.
    Unfinished,
}

/// A batch was committed: the new standing of the hosts it touched, and the leases it ended.
pub struct Committed {
    /// Hosts whose queue or place changed.
    pub hosts: Vec<HostNews>,
    /// Leases that ended by this commit.
    pub ended: Vec<(Arc<LeaseCore>, Ended)>,
}

/// A lease was dropped: its URL is to be taken up again.
pub struct LeaseReturned(pub Arc<LeaseCore>);

/// A Host can take this many more URLs.
pub struct Want {
    /// Which.
    pub host: HostKey,
    /// How many.
    pub n: usize,
}

/// A Host gives up its place; it holds no lease any more.
pub struct GaveUp {
    /// Which.
    pub host: HostKey,
    /// Not before this; `None` after a used-up quantum.
    pub until: Option<UnixMillis>,
}

/// A commit was lost, or the Store restarted: what was told before may be wrong, read it again.
pub struct Reload;

/// Looks for hosts to activate and for URLs whose time has come; also sent when a pause ends.
pub struct Look;
