//! The Store's part in a checkpoint: a moment between two commits at which no archive file is open.

use super::messages::{TakeCheckpoint, Taken};
use super::open::Open;
use super::{Store, StoreError};
use crate::crawl::node::Node;
use crate::crawl::worker::{Ctx, Handles};
use crate::recovery::checkpoint::CheckpointError;
use crate::recovery::checkpoint::make::{Draft, Position, of_member};
use crate::storage::txn::Txn;

impl Handles<TakeCheckpoint> for Store {
    fn handle(&mut self, take: TakeCheckpoint, _: &mut Ctx<Self>) {
        let TakeCheckpoint { draft, turn, reply } = take;
        let taken = self.take_checkpoint(&draft);
        // Nobody waits any more: the draft goes with the answer.
        let _ = reply.send(taken.map(|position| Taken { draft, turn, position }));
    }
}

impl Store {
    /// A write of the files that fails is dealt with like any other; a link that fails costs the checkpoint alone.
    fn take_checkpoint(&mut self, draft: &Draft) -> Result<Position, CheckpointError> {
        self.flush();
        let node = self.node.clone();
        node.faults.check("checkpoint.begin").map_err(|e| told(e.into()))?;
        let Some(open) = self.open.as_mut().filter(|_| !self.closed) else {
            return Err(CheckpointError::Node("it is coming to its end, or its disk refuses writes".into()));
        };
        if let Err(e) = settle(&node, open) {
            self.lost(&e, Vec::new());
            return Err(told(e));
        }
        let member = of_member(&*node.storage)?;
        node.storage.checkpoint(&draft.db())?;
        let position = Position::look(&*node.storage, &node.crawl.rules.settings.warc_dir(), member)?;
        node.faults.check("checkpoint.linked").map_err(|e| told(e.into()))?;
        Ok(position)
    }
}

fn told(error: StoreError) -> CheckpointError {
    CheckpointError::Node(error.to_string())
}

/// Brings all to the disk, then closes the WARC, so that the checkpoint ends at a file's end.
fn settle(node: &Node, open: &mut Open) -> Result<(), StoreError> {
    open.make_safe(node)?;
    if let Some(name) = open.archive.close()? {
        log::info!("warc closed for a checkpoint: file={name}");
    }
    node.faults.check("checkpoint.closed")?;
    let mut txn = Txn::new(&*node.storage);
    txn.put_meta((), &open.archive.file_lengths());
    node.storage.write(&txn.into_batch())?;
    node.storage.sync()?;
    Ok(node.faults.check("checkpoint.synced")?)
}
