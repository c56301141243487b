//! What the admin endpoint may do to a node.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{checkpoint, pause};
use crate::admin::commit::answered;
use crate::admin::{Control, ControlError, NewSeed, RejectedSeed, Reply, SeedReport, status};
use crate::base::disk::is_same_folder;
use crate::config::without_credentials;
use crate::crawl::deduper::Inject;
use crate::crawl::frontier::Look;
use crate::crawl::node::{Node, Stop};
use crate::domain::login::login_refused;
use crate::domain::url::PageUrl;
use crate::recovery::checkpoint::CheckpointError;
use crate::recovery::checkpoint::manifest::Summary;
use crate::recovery::checkpoint::shelf::Listing;
use crate::storage::values::SeedValue;
use crate::telemetry::{StateChange, StatusSnapshot};

/// Seeds of one commit.
const CHUNK: usize = 1_000;
/// Longest wait for a commit.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why a seed on a public address is not taken by a daemon that names nobody.
const NO_CONTACT: &str = "it is on a public address, so its site must be able to reach you: restart the daemon with \
                          --contact you@example.org, or with agent.email set";

/// A handle on a running node.
#[derive(Clone)]
pub struct NodeControl(pub Arc<Node>);

impl NodeControl {
    /// Adds seeds; those that are no URLs are told in the report. Resolves when the others are committed.
    pub async fn add_seeds(node: Arc<Node>, seeds: Vec<impl Into<NewSeed>>) -> Result<SeedReport, ControlError> {
        let mut report = SeedReport::default();
        let mut good: Vec<(PageUrl, SeedValue)> = Vec::new();
        let mut known = HashSet::new();
        let live = node.crawl.live();
        for seed in seeds {
            let NewSeed { url: text, rank, weight, max_depth, tags, cycle, guessed } = seed.into().with_scheme();
            if let Some(reason) = login_refused(&text) {
                report.rejected.push(RejectedSeed { url: without_credentials(&text), reason });
                continue;
            }
            match live.canon.parse(text.trim()) {
                Ok(url) if known.insert(url.clone()) => {
                    let added = node.clock.date();
                    report.guessed.extend(guessed.then(|| url.as_str().to_owned()));
                    let canonical = url.as_str().to_owned();
                    let said = SeedValue { url: canonical, added, rank, weight, max_depth, tags, cycle, guessed };
                    good.push((url, said));
                }
                Ok(_) => {}
                Err(e) => report.rejected.push(RejectedSeed { url: without_credentials(&text), reason: e.to_string() }),
            }
        }
        for chunk in good.chunks(CHUNK) {
            let late = |_| {
                ControlError::Unavailable("the seeds were not committed in time and may still be taken: send them again, then those are known".into())
            };
            // A commit is lost when an actor dies, and at the start when the Store opens its files after the Deduper
            // (it raises the epoch): seeds are handed in until theirs is answered. What was committed is known then.
            let hand_in = |reply| node.mailboxes().deduper.tell(Inject { seeds: chunk.to_vec(), reply: Some(reply) });
            let done = tokio::time::timeout(PATIENCE, answered(&node, hand_in)).await.map_err(late)??;
            report.accepted += done.accepted;
            report.known += done.known;
            report.rejected.extend(done.rejected);
        }
        Ok(report)
    }

    /// It holds now, whatever the disk says.
    fn keep_pause(&self, paused: bool) {
        if let Err(e) = pause::keep(&self.0.crawl.rules.settings.store.data_dir, paused) {
            log::error!("the next start will not know of this pause or its end: paused={paused} error={e}");
        }
    }
}

impl Control for NodeControl {
    fn status(&self) -> StatusSnapshot {
        status(&self.0)
    }

    fn ready(&self) -> Result<(), String> {
        let ends = self.0.stop.borrow().is_some() || self.0.crawl.switches.draining.load(Ordering::Acquire);
        if ends { Err("the crawl is coming to its end".into()) } else { Ok(()) }
    }

    fn seeds(&self, seeds: Vec<NewSeed>) -> Reply<SeedReport> {
        let node = self.0.clone();
        Box::pin(async move {
            let settings = &node.crawl.rules.settings;
            let (good, lacking): (Vec<_>, Vec<_>) = seeds
                .into_iter()
                .map(NewSeed::with_scheme)
                .partition(|seed| settings.contact_for(std::slice::from_ref(&seed.url)).is_ok());
            let mut report = Self::add_seeds(node, good).await?;
            let reject =
                |seed: NewSeed| RejectedSeed { url: without_credentials(&seed.url), reason: NO_CONTACT.to_owned() };
            report.rejected.extend(lacking.into_iter().map(reject));
            Ok(report)
        })
    }

    fn pause(&self) -> Result<(), ControlError> {
        self.0.crawl.switches.paused.store(true, Ordering::Release);
        self.keep_pause(true);
        self.0.changed(StateChange::Paused, "paused by the operator");
        Ok(())
    }

    fn resume(&self) -> Result<(), ControlError> {
        self.0.crawl.switches.paused.store(false, Ordering::Release);
        self.keep_pause(false);
        self.0.mailboxes().frontier.tell(Look);
        self.0.changed(StateChange::Resumed, "resumed by the operator");
        Ok(())
    }

    fn drain(&self) -> Result<(), ControlError> {
        log::info!("drain asked for by the operator");
        self.0.stop_with(Stop::Drained);
        Ok(())
    }

    fn stop(&self) -> Result<(), ControlError> {
        log::info!("stop asked for by the operator");
        self.0.stop_with(Stop::Asked);
        Ok(())
    }

    fn checkpoint(&self, of: Option<PathBuf>) -> Reply<Summary> {
        let node = self.0.clone();
        let own = node.crawl.rules.settings.store.data_dir.clone();
        if let Some(other) = of.filter(|of| !is_same_folder(of, &own)) {
            let (own, other) = (own.display(), other.display());
            let why =
                format!("this is the crawl of {own}, not of {other}: name the address of the other one with --admin");
            return Box::pin(std::future::ready(Err(ControlError::Refused(why))));
        }
        let refused = |e: CheckpointError| match e {
            CheckpointError::Busy | CheckpointError::Node(_) => ControlError::Unavailable(e.to_string()),
            _ => ControlError::Refused(e.to_string()),
        };
        Box::pin(async move { checkpoint::create(node, true).await.map(|made| Summary::from(&made)).map_err(refused) })
    }

    fn checkpoints(&self) -> Result<Listing, ControlError> {
        let db = self.0.crawl.rules.settings.store.data_dir.join("db");
        checkpoint::shelf(&self.0).listing(&db).map_err(|e| ControlError::Refused(e.to_string()))
    }

    fn metrics_text(&self) -> String {
        self.0.publish_metrics(&self.status());
        self.0.telemetry.metrics.text()
    }
}
