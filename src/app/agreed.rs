//! The thread that takes up settings which were changed at other members, and puts back into an emptied engine what it has lost of them.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;

use super::follow::{Ending, Follower, Last};
use crate::cluster::known::{Known, Watcher};
use crate::crawl::control::ControlError;
use crate::crawl::live::{put_back, take_up};
use crate::crawl::node::Node;

/// How often it looks whether it is to end, and tries again what did not work.
const LOOK: Duration = Duration::from_secs(1);

/// The thread.
pub(super) struct Agreed(Follower);

impl Agreed {
    /// Begins for this life of the crawl.
    ///
    /// # Errors
    /// A thread that cannot be started.
    pub fn start(node: &Arc<Node>, watcher: &Arc<Watcher>, runtime: &Handle) -> io::Result<Self> {
        let (node, watcher, runtime) = (node.clone(), watcher.clone(), runtime.clone());
        Follower::start("settings", move |ending| run(&node, &watcher, &runtime, ending)).map(Self)
    }

    /// Ends it.
    pub fn finish(self) {
        self.0.tell(Last::Now);
        self.0.join();
    }
}

fn run(node: &Arc<Node>, watcher: &Watcher, runtime: &Handle, ending: &Ending) {
    let (mut told, mut refused, mut known) = (None, None, watcher.known());
    while ending.told().is_none() {
        if known.map.is_some() && told != Some(known.told) {
            match runtime.block_on(heed(node, &known)) {
                Ok(()) => told = Some(known.told),
                Err(e) => {
                    let number = known.settings.as_ref().map(|change| change.number);
                    if refused.replace(number) != Some(number) {
                        log::error!("settings changed at another member are not in force here: error={e}");
                    }
                    // What is wrong stays so until somebody changes it.
                    told = matches!(e, ControlError::Invalid(_)).then_some(known.told);
                }
            }
        }
        known = watcher.newer(known.told, LOOK);
    }
}

async fn heed(node: &Arc<Node>, known: &Known) -> Result<(), ControlError> {
    if let Some(change) = &known.settings
        && take_up(node, change).await?.is_some()
    {
        if change.readmit {
            crate::crawl::readmit::go_on(node);
        }
        if change.rerank {
            crate::admin::rerank::go_on(node);
        }
    }
    let (node, told) = (node.clone(), known.settings.clone());
    let put = tokio::task::spawn_blocking(move || put_back(&node, told.as_ref()));
    put.await.unwrap_or(Ok(()))
}
