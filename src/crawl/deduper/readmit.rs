//! Rejected URLs that are judged again: those that the rules in force admit are queued.

use actix::{Context, Handler, Message};

use super::Deduper;
use super::seen::Pending;
use crate::base::sync::lock;
use crate::crawl::admit::admit;
use crate::crawl::store::Commit;
use crate::domain::reason::Rejection;
use crate::storage::ledger::{Change, LinkChange, NewUrl};
use crate::storage::values::UrlState;
use crate::storage::{StorageError, read};

/// A chunk of rejected URLs. There is one of it at a time, so it needs no permit. Empty, it is a barrier: when it is
/// answered, everything that passed the Deduper before it is committed or lost.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Readmit {
    /// The URLs.
    pub urls: Vec<NewUrl>,
    /// Whether shapes are asked too: what has had its budget is turned away once more.
    pub by_shapes: bool,
    /// Called after the commit with the number of those that were queued; dropped when it is lost.
    pub reply: Box<dyn FnOnce(u64) + Send>,
}

impl Deduper {
    /// Those that are rejected still and that the rules admit. What is pending is regarded as in the seen test.
    fn readmitted(&mut self, urls: Vec<NewUrl>, by_shapes: bool) -> Result<LinkChange, StorageError> {
        self.max_depth = self.node.crawl.live().settings.max_depth();
        let admitted = admit(&self.node, urls).new;
        let mut last = None;
        let keys: Vec<_> = admitted.iter().map(|new| self.key(new, &mut last)).collect();
        let states = read::seen_states(&*self.node.storage, &keys)?;
        let mut out = LinkChange::default();
        for ((mut new, key), state) in admitted.into_iter().zip(keys).zip(states) {
            let Some(UrlState::Rejected { reason, reach, .. }) = state else { continue };
            if reason.is_held_back() {
                lock(&self.node.crawl.shapes).pardon(key.host, &new.url, &self.node.crawl.live().shapes);
            }
            if reason != Rejection::Collision && (!by_shapes || self.by_shapes(key, &mut new, None).is_ok()) {
                let pending = self.pending.get(&key.url).copied();
                let before = pending.unwrap_or(Pending { reach, turned_away: true, last: false });
                self.found_again(key.url, before, new, &mut out);
            }
        }
        Ok(out)
    }
}

impl Handler<Readmit> for Deduper {
    type Result = ();

    fn handle(&mut self, message: Readmit, ctx: &mut Context<Self>) {
        let _at_work = self.node.mailboxes().deduper.meter().enter();
        self.look_at_epoch();
        let links = match self.readmitted(message.urls, message.by_shapes) {
            Ok(links) => links,
            Err(e) => return self.failed(&e),
        };
        let (n, reply) = (links.readmitted.len() as u64, message.reply);
        let hook: Box<dyn FnOnce() + Send> = Box::new(move || reply(n));
        let change = Change::Links(Box::new(links));
        self.send(Commit { epoch: Some(self.epoch), reply: Some(hook), ..Commit::bare(change) }, ctx);
    }
}
