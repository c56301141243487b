//! The Store's part in a checkpoint: a moment between two commits at which no archive file is open.

use actix::{Context, Handler};

use super::messages::{TakeCheckpoint, Taken};
use super::open::Open;
use super::{Store, StoreError, fault};
use crate::actors::node::Node;
use crate::checkpoint::CheckpointError;
use crate::checkpoint::make::{Draft, Position};
use crate::storage::txn::Txn;

impl Handler<TakeCheckpoint> for Store {
    type Result = ();

    fn handle(&mut self, take: TakeCheckpoint, _: &mut Context<Self>) {
        let _at_work = self.node.doors().store.meter().enter();
        let TakeCheckpoint { draft, turn, reply } = take;
        self.flush();
        let node = self.node.clone();
        let taken = match &mut self.open {
            Some(open) if !self.closed => checkpoint(&node, open, &draft),
            _ => Err(CheckpointError::Node("it is coming to its end or cannot open its files".into())),
        };
        // Nobody waits any more: the draft goes with the answer.
        let _ = reply.send(taken.map(|position| Taken { draft, turn, position }));
    }
}

/// Closes the WARC, so that the checkpoint ends at a file's end; syncs archive, then log; links the database.
fn checkpoint(node: &Node, open: &mut Open, draft: &Draft) -> Result<Position, CheckpointError> {
    let lost = |e: StoreError| CheckpointError::Node(e.to_string());
    fault(node, "checkpoint.begin").map_err(lost)?;
    if let Some(name) = open.archive.close()? {
        log::info!("warc closed for a checkpoint: file={name}");
    }
    open.tails = open.archive.tails();
    fault(node, "checkpoint.closed").map_err(lost)?;
    open.forget_unsynced(node).map_err(lost)?;
    let mut txn = Txn::new(&*node.storage);
    txn.put_meta((), &open.tails);
    node.storage.write(&txn.into_batch())?;
    node.storage.sync()?;
    fault(node, "checkpoint.synced").map_err(lost)?;
    node.storage.checkpoint(&draft.db())?;
    let position = Position::look(&*node.storage, &node.rules.settings.warc_dir())?;
    fault(node, "checkpoint.linked").map_err(lost)?;
    Ok(position)
}
