//! A running node, what is done with it, and its end.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use lycosa::admin::jobs::{JobState, JobView};
use lycosa::admin::orders::HostOrdered;
use lycosa::admin::orders::command::order;
use lycosa::admin::status;
use lycosa::admin::{ControlError, SeedReport};
use lycosa::app::{NodeControl, Running, watch};
use lycosa::crawl::node::{Node, Stop};
use lycosa::domain::orders::HostOrder;
use lycosa::storage::Storage;
use lycosa::telemetry::StatusSnapshot;

use super::check::checked_as;
use super::ended::Ended;
use super::log;
use super::looker::Looker;
use super::sandbox::{DEADLINE, SEED, Sandbox};

/// A running node.
pub struct Live<'s> {
    pub(super) sandbox: &'s Sandbox,
    pub node: Arc<Node>,
    pub storage: Arc<dyn Storage>,
    pub(super) looker: Looker,
    pub(super) running: Option<Running>,
    pub(super) began: Instant,
    pub(super) forked: bool,
}

impl Live<'_> {
    pub fn control(&self) -> NodeControl {
        NodeControl(self.node.clone())
    }

    /// Hands in seeds and waits for their commit.
    pub fn seed<S: AsRef<str>>(&self, urls: &[S]) -> SeedReport {
        let urls = urls.iter().map(|u| u.as_ref().to_owned()).collect();
        self.block(NodeControl::add_seeds(self.node.clone(), urls), "seeds to be committed").unwrap()
    }

    /// Waits until the node has a reason to end.
    pub fn until_stop(&self) -> Stop {
        self.block(watch(&self.node), "the end of the crawl")
    }

    /// Does something while limits and disk are watched.
    pub fn during_watch(&self, doing: impl FnOnce()) {
        /// Ends the watch also when what is done meanwhile fails, which else would hang.
        struct Ends<'n>(&'n Node);
        impl Drop for Ends<'_> {
            fn drop(&mut self) {
                self.0.stop_with(Stop::Asked);
            }
        }
        let node = self.node.clone();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                runtime.block_on(watch(&node));
            });
            let _ends = Ends(&self.node);
            doing();
        });
    }

    /// Waits for commits until `done` holds.
    pub fn until(&self, what: &str, done: impl Fn(&StatusSnapshot) -> bool) {
        let mut committed = self.node.crawl.progress.committed.subscribe();
        let wait = async {
            while !done(&status(&self.node)) {
                let again = Duration::from_millis(5); // not everything that is waited for comes with a commit
                let _ = tokio::time::timeout(again, committed.changed()).await;
            }
        };
        self.block(wait, what);
    }

    /// Gives a command to a host, and waits for its commit.
    pub fn order(&self, host: &str, command: HostOrder) -> Result<HostOrdered, ControlError> {
        self.block(order(self.node.clone(), host, command), "an order to be committed")
    }

    /// Waits for the end of a job.
    pub fn until_job(&self, id: u64) -> JobView {
        let ended = async {
            loop {
                match self.node.jobs.get(id).unwrap() {
                    job if job.state != JobState::Running => return job,
                    _ => tokio::time::sleep(Duration::from_millis(2)).await,
                }
            }
        };
        self.block(ended, "the end of a job")
    }

    pub fn block<T>(&self, future: impl Future<Output = T>, what: &str) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        match runtime.block_on(async { tokio::time::timeout(DEADLINE, future).await }) {
            Ok(out) => out,
            Err(_) => panic!("waited {DEADLINE:?} for {what}\n{}", self.report()),
        }
    }

    /// Everything about it, for a failure.
    fn report(&self) -> String {
        let n = &self.node;
        let s = status(n);
        format!(
            "status: {s:?}\nidle: {}\nleases: {} pages free: {}/{} fetches free: {}\nran {:?}\nlog:\n{}",
            s.idle_reason,
            n.crawl.leases.len(),
            n.permits.pages.available_permits(),
            n.permits.pages_total,
            n.permits.fetches.available_permits(),
            self.began.elapsed(),
            log::latest()
        )
    }

    /// I5: everything lent came back, though not in the same instant.
    pub fn until_all_is_back(&self) {
        let n = &self.node;
        let concurrency = n.crawl.rules.settings.fetch.concurrency;
        let began = Instant::now();
        while !(n.is_quiet()
            && n.permits.fetches.available_permits() == concurrency
            && n.crawl.leases.is_empty()
            && n.permits.parsing.load(Ordering::Relaxed) == 0)
        {
            assert!(began.elapsed() < DEADLINE, "I5: permits or leases are missing\n{}", self.report());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Ends a node that has nothing in flight, and checks all that must hold then.
    pub fn end(self) -> Ended {
        self.until_all_is_back();
        self.close()
    }

    /// As [`end`](Self::end), where the web's log has requests of a node that went on beyond what this one began with.
    pub fn end_after_fork(mut self) -> Ended {
        self.forked = true;
        self.end()
    }

    /// Ends it cleanly whatever is in flight, and checks all that must hold then.
    pub fn close(mut self) -> Ended {
        let clean = self.running.take().unwrap().shutdown(Duration::from_secs(60));
        assert!(clean, "not closed cleanly\n{}", self.report());
        self.ended()
    }

    /// Ends it without waiting for what is in flight, as a program that embeds it may.
    pub fn drop_at_once(mut self) -> Ended {
        drop(self.running.take());
        self.ended()
    }

    fn ended(mut self) -> Ended {
        self.looker.end();
        let found = checked_as(&*self.storage, SEED, Some(self.sandbox.data()), self.sandbox.again);
        let ended = Ended {
            entries: self.sandbox.web.audit(),
            status: status(&self.node),
            found,
            folder: self.sandbox.data().to_owned(),
            gap: self.sandbox.gap,
        };
        if !self.forked && !self.sandbox.again {
            ended.assert_nothing_committed_is_fetched_again();
        }
        self.all_actors_are_gone();
        log::assert_no_unexpected_errors();
        ended
    }

    /// Every actor and thread held the node; when it is gone, so are they.
    fn all_actors_are_gone(self) {
        let Self { node, storage, looker, running, .. } = self;
        drop((looker, running));
        let weak: Weak<Node> = Arc::downgrade(&node);
        drop(node);
        let began = Instant::now();
        while weak.strong_count() > 0 {
            assert!(began.elapsed() < Duration::from_secs(30), "{} holders of the node are left", weak.strong_count());
            std::thread::sleep(Duration::from_millis(2));
        }
        storage.close(); // here and now, so that the next node finds the folder free
    }
}
