//! What a member does with the others in one life of the crawl: links, settings, the end.

use std::sync::Arc;

use tokio::runtime::Handle;

use super::agreed::Agreed;
use super::common_end::CommonEnd;
use super::handing::{Handing, Ways};
use super::run::RunError;
use super::taking::Inbox;
use crate::cluster::ending::{Outgoing, OutgoingNow};
use crate::cluster::keeper::Membership;
use crate::cluster::known::Watcher;
use crate::crawl::node::Node;

/// By what it has to do with them.
pub(super) struct Others<'a> {
    pub membership: &'a Arc<Membership>,
    pub watcher: &'a Arc<Watcher>,
    /// How far links between members have come.
    pub ways: &'a Arc<Ways>,
    pub inbox: &'a Arc<Inbox>,
    pub runtime: &'a Handle,
}

/// All of it, at work.
#[derive(Default)]
pub(super) struct Together {
    handing: Option<Handing>,
    agreed: Option<Agreed>,
    end: Option<CommonEnd>,
}

impl Together {
    /// Begins.
    ///
    /// # Errors
    /// The engine's; threads that cannot be started.
    pub fn begin(node: &Arc<Node>, others: &Others<'_>) -> Result<Self, RunError> {
        let Others { membership, watcher, ways, inbox, runtime } = others;
        let handing = Handing::start(node, membership, watcher, inbox, Arc::clone(ways))?;
        let outgoing = handing.as_ref().map_or_else(|| Arc::new(Outgoing::none) as OutgoingNow, Handing::outgoing);
        let agreed = Agreed::start(node, watcher, runtime)?;
        let end = CommonEnd::start(node, membership.who(), membership.session(), watcher, outgoing)?;
        Ok(Self { handing, agreed: Some(agreed), end: Some(end) })
    }

    /// It is over.
    pub fn finish(self) {
        self.end.into_iter().for_each(CommonEnd::finish);
        self.agreed.into_iter().for_each(Agreed::finish);
        self.handing.into_iter().for_each(Handing::finish);
    }
}
