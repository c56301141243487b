//! Checkpoints of a running node: on request, and every so often.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::base::clock::Stopwatch;
use crate::base::time::UnixMillis;
use crate::crawl::node::Node;
use crate::crawl::store::{TakeCheckpoint, Taken};
use crate::recovery::checkpoint::carry::{self, Carried, How};
use crate::recovery::checkpoint::make::{About, Draft};
use crate::recovery::checkpoint::manifest::Copied;
use crate::recovery::checkpoint::restore::Source;
use crate::recovery::checkpoint::{CheckpointError, Manifest, Shelf, Target};
use crate::storage::read;
use crate::storage::values::RunState;
use crate::telemetry::StateChange;
use crate::telemetry::trouble::{CHECKPOINT, UPLOAD};

/// Longest wait for the Store's part.
const PATIENCE: Duration = Duration::from_secs(120);
/// Rest after a checkpoint that failed, when `checkpoint.every` is not shorter.
const AGAIN: Duration = Duration::from_secs(600);
/// Longest wait for the archive's files to be uploaded that a copy names.
const ARCHIVE: Duration = Duration::from_secs(600);
/// Shortest rest between two looks.
const LOOK: Duration = Duration::from_millis(100);

/// Makes a checkpoint; resolves when it is whole. The Store does its part between two commits; the rest, and the copy that
/// `checkpoint.upload` asks for, is done on a thread that may take its time. `by_hand`: somebody asked for it, so that the
/// periodic ones do not push it out.
///
/// # Errors
/// [`CheckpointError::Busy`]; else there is no such checkpoint, and the crawl goes on.
pub async fn create(node: Arc<Node>, by_hand: bool) -> Result<Manifest, CheckpointError> {
    let turn = node.checkpoints.clone().try_acquire_owned().map_err(|_| CheckpointError::Busy)?;
    let made = make(node.clone(), turn, by_hand).await;
    match &made {
        Ok(manifest) => {
            node.telemetry.metrics.checkpoint(Some(UnixMillis(manifest.ts_ms)));
            let (name, counts, bytes) = (&manifest.name, &manifest.counts, manifest.bytes());
            let (pages, waiting) = (counts.pages_stored, counts.waiting);
            let text = format!("checkpoint made: name={name} pages={pages} waiting={waiting} bytes={bytes}");
            node.changed(StateChange::Checkpoint, text);
        }
        Err(e) => {
            node.telemetry.metrics.checkpoint(None);
            node.telemetry.troubles.note(node.clock.now(), CHECKPOINT, e.to_string());
            node.changed(StateChange::CheckpointFailed, format!("no checkpoint was made, the crawl goes on: {e}"));
        }
    }
    made
}

async fn make(node: Arc<Node>, turn: OwnedSemaphorePermit, by_hand: bool) -> Result<Manifest, CheckpointError> {
    let gone = |_| CheckpointError::Node("an actor or thread died at it; see the log".into());
    let late = |_| CheckpointError::Node(format!("its store did not come to it within {} s", PATIENCE.as_secs()));
    let run = read::meta::<RunState>(&*node.storage, ())?.map_or(0, |r| r.runs);
    let draft = Draft::begin(&shelf(&node), node.clock.date(), run)?;
    let (reply, taken) = oneshot::channel();
    node.mailboxes().store.tell(TakeCheckpoint { draft, turn, reply });
    let taken = tokio::time::timeout(PATIENCE, taken).await.map_err(late)?.map_err(gone)??;
    let (done, made) = oneshot::channel();
    let spawned =
        std::thread::Builder::new().name("checkpoint".into()).spawn(move || finish(&node, taken, by_hand, done));
    spawned.map_err(|e| CheckpointError::Node(format!("no thread could be started: {e}")))?;
    made.await.map_err(gone)?
}

/// Digests and manifest, then the copy elsewhere; the turn is held until both are done.
fn finish(node: &Node, taken: Taken, by_hand: bool, done: oneshot::Sender<Result<Manifest, CheckpointError>>) {
    let Taken { draft, turn, position } = taken;
    let settings = &node.crawl.rules.settings;
    let (data, crawl) = (settings.store.data_dir.clone(), settings.crawl.name.clone());
    let about = About { data, crawl, keep: settings.checkpoint.keep, by_hand };
    let made = draft.finish(&about, position, &node.faults);
    let name = made.as_ref().ok().map(|manifest| manifest.name.clone());
    let _ = done.send(made); // whoever asked may be gone, the checkpoint stays
    if let (Some(name), Some(to)) = (name, settings.checkpoint_upload()) {
        upload(node, &name, &to);
    }
    drop(turn);
}

/// The copy elsewhere, with what the log and the metrics say of it.
fn upload(node: &Node, name: &str, to: &str) {
    let copied = copy(node, name, to);
    node.telemetry.metrics.upload(copied.is_ok());
    match copied {
        Ok(done) => {
            node.telemetry.metrics.copied(done.bytes, done.reused);
            let Carried { to, files, bytes, reused, .. } = done;
            log::info!("checkpoint copied: to={to} objects={files} sent_bytes={bytes} reused_bytes={reused}");
            #[cfg(feature = "cluster")]
            node.member.get().into_iter().for_each(|member| member.beat_now());
        }
        Err(e) => {
            node.telemetry.troubles.note(node.clock.now(), UPLOAD, e.to_string());
            log::warn!("the checkpoint was not copied, the next one will be: name={name} error={e}");
        }
    }
}

fn copy(node: &Node, name: &str, to: &str) -> Result<Carried, CheckpointError> {
    let settings = &node.crawl.rules.settings;
    let (shelf, data) = (shelf(node), settings.store.data_dir.clone());
    let source = Source { dir: shelf.path(name), data, warc_dir: settings.warc_dir() };
    let manifest = Manifest::read(&source.dir)?;
    let begun = Stopwatch::start();
    // The file that was closed for it is on its way; a store that is away is told by the thread that sends them.
    let may_wait = || node.stop.borrow().is_none() && begun.elapsed() < ARCHIVE;
    while may_wait() && !carry::waiting(&source.data, &manifest)?.is_empty() {
        std::thread::sleep(LOOK);
    }
    if node.fence.is_over() {
        let why =
            "the lease of this member is over, another may have taken its place: its copies are left alone".to_owned();
        return Err(CheckpointError::Node(why));
    }
    settings.has_store()?;
    let how = How::Kept(settings.checkpoint.keep, node.clock.date());
    let done =
        carry::export(&source, &Target::parse(to)?, settings.checkpoint.s3_endpoint.as_deref(), how, &node.faults)?;
    shelf.note_copied(name, &Copied::from(&done))?;
    Ok(done)
}

/// The folder of this node's checkpoints.
pub(super) fn shelf(node: &Node) -> Shelf {
    Shelf::new(node.crawl.rules.settings.checkpoint_dir())
}

/// What a kill left half made goes at the start, before anybody can ask for a checkpoint.
pub(super) fn sweep(node: &Node) {
    match shelf(node).sweep() {
        Ok(left) if left.is_empty() => {}
        Ok(left) => log::info!("incomplete checkpoints removed: names={left:?}"),
        Err(e) => log::warn!("a half made checkpoint was not removed: {e}"),
    }
}

/// Makes one every `checkpoint.every` while something changes, or the last one has no copy that it should have, and the disk has room,
/// until the node ends.
pub async fn keep(node: Arc<Node>) {
    let every = node.crawl.rules.settings.checkpoint_every();
    if every.is_zero() {
        return;
    }
    let mut stop = node.stop.subscribe();
    let newest = shelf(&node).find(None).ok();
    // It is dated; one of the future, by a wrong clock, is taken to be of now.
    let age = newest.as_ref().map(|m| node.clock.date().since(UnixMillis(m.ts_ms)));
    let mut made = newest.map(|m| (m.sequence, m.name));
    let upload = node.crawl.rules.settings.checkpoint_upload().is_some();
    let is_newest = |(sequence, name): &(u64, String)| {
        *sequence == node.storage.sequence() && (!upload || shelf(&node).copied(name).is_some())
    };
    let mut due = node.clock.now().plus(every.saturating_sub(age.unwrap_or_default()));
    loop {
        let now = node.clock.now();
        tokio::select! {
            _ = stop.wait_for(Option::is_some) => return,
            () = tokio::time::sleep(due.since(now).max(LOOK)) => {}
        }
        let now = node.clock.now();
        if now < due {
            continue;
        }
        if node.disk.holds() {
            due = now.plus(every.min(AGAIN)); // it would hold files that compaction lets go
            continue;
        }
        due = now.plus(every);
        if made.as_ref().is_some_and(is_newest) {
            continue;
        }
        match create(node.clone(), false).await {
            Ok(manifest) => made = Some((manifest.sequence, manifest.name)),
            Err(CheckpointError::Busy) => due = now.plus(LOOK),
            Err(_) => due = now.plus(every.min(AGAIN)),
        }
    }
}
