//! Sitemaps that a robots.txt names.

use actix::{Context, Handler};

use super::{Announced, Deduper};
use crate::crawl::admit::admit;
use crate::crawl::store::Commit;
use crate::storage::StorageError;
use crate::storage::ledger::{Change, NewUrl};

impl Deduper {
    /// The commit with those that are new. When it is lost, robots.txt is lost with it, and fetched again in time.
    fn with_sitemaps(&mut self, mut commit: Commit, found: Vec<NewUrl>) -> Result<Commit, StorageError> {
        let judged = admit(&self.node, found);
        if let Change::Robots { sitemaps, .. } = &mut commit.change {
            **sitemaps = self.unseen(judged, None)?;
        }
        Ok(Commit { epoch: Some(self.epoch), ..commit })
    }
}

impl Handler<Announced> for Deduper {
    type Result = ();

    fn handle(&mut self, Announced { commit, found }: Announced, ctx: &mut Context<Self>) {
        let _at_work = self.node.mailboxes().deduper.meter().enter();
        self.look_at_epoch();
        self.look_at_rules();
        match self.with_sitemaps(commit, found) {
            Ok(commit) => self.send(commit, ctx),
            Err(e) => self.failed(&e),
        }
    }
}
