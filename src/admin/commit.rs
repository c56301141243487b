//! Changes that the operator asks for, on their way to the Store: handed in until their commit is answered, for a commit is
//! lost when an actor dies. So every one of them must be one that may be made twice.

use std::iter::from_fn;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::admin::ControlError;
use crate::admin::paging::Record;
use crate::crawl::jobs::{Job, JobError};
use crate::crawl::node::Node;
use crate::crawl::store::Commit;
use crate::storage::keys::{Key, KeyRange, after};
use crate::storage::ledger::Change;
use crate::storage::tables::Table;
use crate::storage::{Storage, StorageError, read};

/// Rest before a lost change is handed in again.
const AGAIN: Duration = Duration::from_millis(20);
/// Longest wait for the last commit of a job.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often a waiting job looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(100);

/// Commits a change; for the endpoint, which bounds the wait.
pub(super) async fn committed(node: &Node, change: Change) -> Result<(), ControlError> {
    let hand_in = |done: oneshot::Sender<()>| {
        let reply = move || _ = done.send(());
        node.mailboxes().store.tell(Commit { reply: Some(Box::new(reply)), ..Commit::bare(change.clone()) });
    };
    answered(node, hand_in).await
}

/// Hands something in until it is answered: what an actor that dies had in hands is lost.
///
/// # Errors
/// The crawl comes to its end.
pub(crate) async fn answered<T>(node: &Node, mut hand_in: impl FnMut(oneshot::Sender<T>)) -> Result<T, ControlError> {
    loop {
        let (reply, answer) = oneshot::channel();
        hand_in(reply);
        if let Ok(answer) = answer.await {
            return Ok(answer);
        }
        if let Some(why) = &*node.stop.borrow() {
            return Err(ControlError::Unavailable(format!("the crawl is coming to its end: {why:?}")));
        }
        tokio::time::sleep(AGAIN).await;
    }
}

/// Commits a change of a job: the job goes on when it is on disk, so that it never runs ahead of the Store.
pub(super) fn commit(node: &Node, job: &Job, change: &Change) -> Result<(), JobError> {
    waiting(node, change, |_| job.step(0, 0))
}

/// Commits what a cancelled job leaves behind: tried for ten seconds, or until the node ends. False when that was in vain.
pub(super) fn commit_last(node: &Node, change: &Change) -> bool {
    let mut looks = PATIENCE.as_millis() / LOOK.as_millis();
    let may_go_on = |is_lost: bool| {
        looks = looks.saturating_sub(1);
        if is_lost {
            std::thread::sleep(LOOK);
        }
        if looks == 0 || (is_lost && node.stop.borrow().is_some()) { Err(()) } else { Ok(()) }
    };
    waiting(node, change, may_go_on).is_ok()
}

/// Hands a change in until it is committed. `go_on` is asked while that takes, and each time the change was lost.
fn waiting<E>(node: &Node, change: &Change, mut go_on: impl FnMut(bool) -> Result<(), E>) -> Result<(), E> {
    loop {
        let (done, answer) = sync_channel(1);
        let reply = move || _ = done.send(());
        node.mailboxes().store.tell(Commit { reply: Some(Box::new(reply)), ..Commit::bare(change.clone()) });
        loop {
            match answer.recv_timeout(LOOK) {
                Ok(()) => return Ok(()),
                Err(RecvTimeoutError::Timeout) => go_on(false)?,
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        go_on(true)?;
        std::thread::sleep(AGAIN);
    }
}

/// A job's read of the database; waits while the database is being opened again.
pub(super) fn reading<T>(job: &Job, look: impl Fn() -> Result<T, StorageError>) -> Result<T, JobError> {
    loop {
        match look() {
            Err(e) if e.is_latched() => rest(job)?,
            other => return other.map_err(|e| JobError::Failed(e.to_string())),
        }
    }
}

/// The records of a range of keys for a job, so many at a time.
pub(super) fn chunks<T: Table>(
    storage: &dyn Storage,
    job: &Job,
    mut range: KeyRange,
    size: usize,
) -> impl Iterator<Item = Result<Vec<Record<T>>, JobError>> {
    from_fn(move || {
        let rows = reading(job, || read::scan::<T>(storage, &range, size));
        if let Ok(rows) = &rows {
            range.from = after(&rows.last()?.0.encode());
        }
        Some(rows)
    })
}

/// A moment's rest of a job, unless it is to stop.
pub(super) fn rest(job: &Job) -> Result<(), JobError> {
    job.step(0, 0)?;
    std::thread::sleep(AGAIN);
    Ok(())
}
