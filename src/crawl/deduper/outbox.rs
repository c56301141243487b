//! The way to the Store: in order, and no more than there is room for before it.
//!
//! While there is none, the Deduper handles no further message; what it would have said waits in *its* mailbox, bounded by
//! page permits, and the fetchers wait for those. No ring can close: the Store needs nothing of the Deduper to write what it
//! has, and a commit gives its room back by Drop, be it written, refused or lost.

use std::collections::VecDeque;

use actix::fut::wrap_future;
use actix::{ActorFutureExt, AsyncContext};

use super::Deduper;
use crate::crawl::store::Commit;
use crate::crawl::worker::{Ctx, Worker};

/// What is on its way to the Store.
#[derive(Default)]
pub(super) struct Outbox {
    commits: VecDeque<Commit>,
    /// Room is being waited for.
    waits: bool,
}

impl Deduper {
    /// Sends a commit to the Store, after those that wait for room.
    pub(super) fn send(&mut self, commit: Commit, ctx: &mut Ctx<Self>) {
        self.outbox.commits.push_back(commit);
        if !self.outbox.waits {
            self.post(ctx);
        }
    }

    fn post(&mut self, ctx: &mut Ctx<Self>) {
        while let Some(commit) = self.outbox.commits.pop_front() {
            let permits = commit.permits();
            match self.node.permits.store_room.clone().try_acquire_many_owned(permits) {
                Ok(room) => self.node.mailboxes().store.tell(Commit { room: Some(room), ..commit }),
                Err(_) => {
                    self.outbox.waits = true;
                    let room = self.node.permits.store_room.clone().acquire_many_owned(permits);
                    return ctx.wait(wrap_future::<_, Worker<Self>>(room).map(move |room, this, ctx| {
                        this.outbox.waits = false;
                        this.node.mailboxes().store.tell(Commit { room: room.ok(), ..commit });
                        this.post(ctx);
                    }));
                }
            }
        }
    }
}
