//! The thread that copies closed archive files elsewhere. The crawl never waits for it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::holds::Holds;
use super::run::AtRest;
use crate::base::disk::is_same_folder;
use crate::crawl::node::Node;
use crate::recovery::checkpoint::place::Place;
use crate::recovery::checkpoint::uploads::Uploads;
use crate::recovery::checkpoint::{CheckpointError, Target};
use crate::storage::read;
use crate::storage::values::FileLengths;
use crate::telemetry::trouble::UPLOAD;

/// How often the folder is looked at.
const LOOK: Duration = Duration::from_secs(1);
/// Rest after a failure, doubled each time up to the longest.
const FIRST_REST: Duration = Duration::from_secs(2);
const LONGEST_REST: Duration = Duration::from_secs(300);

/// The thread. Left to itself it ends after the file at hand: what it has not listed is copied by another run.
pub(super) struct Uploader {
    end: mpsc::Sender<()>,
    leave: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Uploader {
    /// Starts it when `store.upload` names a place, or `checkpoint.upload` the one above it.
    ///
    /// # Errors
    /// A thread that cannot be started.
    pub fn start(node: &Arc<Node>) -> io::Result<Option<Self>> {
        let Some(to) = node.crawl.rules.settings.archive_upload() else { return Ok(None) };
        let (end, ended) = mpsc::channel();
        let (node, leave) = (node.clone(), Arc::<AtomicBool>::default());
        let of_thread = leave.clone();
        let work = move || work(&node, &to, &ended, &of_thread);
        let thread = std::thread::Builder::new().name("uploads".into()).spawn(work)?;
        Ok(Some(Self { end, leave, thread }))
    }

    /// Ends it after the file at hand; gives whether it has come to its end.
    pub fn leave(self) -> AtRest {
        self.leave.store(true, Ordering::Release);
        Box::new(move || self.thread.is_finished())
    }

    /// Lets it copy what is closed by now, then ends it. A failure ends it at once.
    pub fn finish(self) {
        let _ = self.end.send(());
        if self.thread.join().is_err() {
            log::error!("the thread that copies archive files panicked; another run copies what is left");
        }
    }
}

fn work(node: &Node, to: &str, ended: &mpsc::Receiver<()>, leave: &AtomicBool) {
    let endpoint = node.crawl.rules.settings.checkpoint.s3_endpoint.as_deref();
    let (mut place, mut holds): (Option<Box<dyn Place>>, _) = (None, Holds::default());
    let mut rest = LOOK;
    loop {
        let last = match ended.recv_timeout(rest) {
            Err(RecvTimeoutError::Timeout) => false,
            Err(RecvTimeoutError::Disconnected) => return,
            Ok(()) => true,
        };
        match look(node, (&mut place, &mut holds), to, endpoint, leave) {
            Ok(()) => rest = LOOK,
            Err(e) => {
                rest = if rest == LOOK { FIRST_REST } else { (rest * 2).min(LONGEST_REST) };
                node.telemetry.metrics.upload(false);
                node.telemetry.troubles.note(node.clock.now(), UPLOAD, e.to_string());
                log::warn!("archive files wait to be copied: again_in_s={} error={e}", rest.as_secs());
            }
        }
        if last {
            return;
        }
    }
}

/// The place; never the archive's own folder, whatever name it goes by.
fn opened(node: &Node, to: &str, endpoint: Option<&str>) -> Result<Box<dyn Place>, CheckpointError> {
    let target = Target::parse(to)?;
    let place = target.open(endpoint)?;
    match target {
        Target::Folder(dir) if is_same_folder(&dir, &node.crawl.rules.settings.warc_dir()) => {
            Err(CheckpointError::Node(format!("store.upload={to} is the archive's own folder: name another place")))
        }
        _ => Ok(place),
    }
}

/// Copies all that is due, then removes what may go.
fn look(
    node: &Node,
    (place, holds): (&mut Option<Box<dyn Place>>, &mut Holds),
    to: &str,
    endpoint: Option<&str>,
    leave: &AtomicBool,
) -> Result<(), CheckpointError> {
    let place = match place {
        Some(place) => place,
        None => place.insert(opened(node, to, endpoint)?),
    };
    let store = &node.crawl.rules.settings.store;
    let (data, warc_dir) = (store.data_dir.clone(), node.crawl.rules.settings.warc_dir());
    let uploads = Uploads { data, warc_dir, place: &**place, delete: store.delete_uploaded };
    for file in uploads.due()? {
        node.crawl.rules.settings.has_store()?;
        if leave.load(Ordering::Acquire) {
            return Ok(());
        }
        let line = uploads.upload(&file, node.clock.date(), &node.faults)?;
        node.telemetry.metrics.upload(true);
        log::info!("archive file copied: file={} bytes={} to={}", line.file, line.bytes, line.to);
    }
    let file_lengths: FileLengths = read::meta(&*node.storage, ())?.unwrap_or_default();
    // What the database still names as the one being written stays, and what somebody has yet to read.
    let needed = if store.delete_uploaded { holds.needed(node)? } else { None };
    let Some(mut needed) = needed else { return Ok(()) };
    needed.extend(file_lengths.warc.map(|(name, _)| name));
    let removed = uploads.remove_listed(|file| needed.iter().any(|name| name == file))?;
    if !removed.is_empty() {
        log::info!("copied archive files removed here: files={}", removed.len());
    }
    Ok(())
}
