//! Background jobs: walks over many records that the admin endpoint starts, watches and cancels.
//!
//! Each has a thread of its own; two run at a time, the last sixteen are kept. A job does its work in steps that may be done
//! again, so that one that was cut short by the end of the process is simply started anew.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::base::clock::Clock;
use crate::base::sync::lock;
use crate::base::time::UnixMillis;

/// Jobs at a time.
const RUNNING: usize = 2;
/// Jobs kept for a look.
const KEPT: usize = 16;

/// Why a job was not started, or ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what its fields are")]
pub enum JobError {
    #[error("{RUNNING} jobs are running: wait for one, or cancel it (`lycosa ctl jobs cancel ID`)")]
    Busy,
    #[error("the job's thread could not be started: {0}")]
    Thread(String),
    #[error("cancelled")]
    Cancelled,
    #[error("{0}")]
    Failed(String),
}

/// How far a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum JobState {
    /// At work.
    Running,
    /// Through; see its result.
    Done,
    /// Met something; see its error.
    Failed,
    /// Told to stop; what it had done stands.
    Cancelled,
}

/// One job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobView {
    /// Its number in this process.
    pub id: u64,
    /// What kind of work.
    pub kind: String,
    /// What it is to do, for people.
    pub about: String,
    /// How far it is.
    pub state: JobState,
    /// Records looked at so far.
    pub looked: u64,
    /// Records changed so far.
    pub changed: u64,
    /// When it began, milliseconds since 1970.
    #[schema(value_type = u64)]
    pub started: UnixMillis,
    /// When it ended.
    #[schema(value_type = Option<u64>)]
    pub ended: Option<UnixMillis>,
    /// What it met, when it failed.
    pub error: Option<String>,
    /// What it found, when it is done.
    #[schema(value_type = Object, nullable)]
    pub result: Value,
    /// The member that does it, of several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// The jobs that other members began by the same order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<JobElsewhere>,
}

/// A job of another member.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobElsewhere {
    /// The member.
    pub node: String,
    /// The number of the job there.
    pub id: u64,
}

/// The jobs of one node.
#[derive(Default)]
pub struct Jobs {
    kept: Mutex<VecDeque<Kept>>,
    last: AtomicU64,
    closed: AtomicBool,
}

struct Kept {
    job: Arc<Job>,
    thread: Option<JoinHandle<()>>,
}

/// A job as its own thread sees it.
#[derive(Default)]
pub struct Job {
    id: u64,
    kind: &'static str,
    about: String,
    started: UnixMillis,
    looked: AtomicU64,
    changed: AtomicU64,
    cancelled: AtomicBool,
    called_off: AtomicBool,
    end: Mutex<Option<End>>,
    ended: Condvar,
}

struct End {
    at: UnixMillis,
    outcome: Result<Value, JobError>,
}

impl Job {
    /// Counts records looked at and changed.
    ///
    /// # Errors
    /// [`JobError::Cancelled`] when it is to stop: the step that was counted stands.
    pub fn step(&self, looked: u64, changed: u64) -> Result<(), JobError> {
        self.looked.fetch_add(looked, Ordering::Relaxed);
        self.changed.fetch_add(changed, Ordering::Relaxed);
        if self.cancelled.load(Ordering::Acquire) { Err(JobError::Cancelled) } else { Ok(()) }
    }

    /// True when somebody cancelled it. A job that is stopped by the end of the process is not called off: it is gone on with.
    pub fn is_called_off(&self) -> bool {
        self.called_off.load(Ordering::Acquire)
    }

    fn view(&self) -> JobView {
        let end = lock(&self.end);
        let (state, error, result) = match end.as_ref().map(|e| &e.outcome) {
            None => (JobState::Running, None, Value::Null),
            Some(Ok(result)) => (JobState::Done, None, result.clone()),
            Some(Err(JobError::Cancelled)) => (JobState::Cancelled, None, Value::Null),
            Some(Err(e)) => (JobState::Failed, Some(e.to_string()), Value::Null),
        };
        JobView {
            id: self.id,
            kind: self.kind.to_owned(),
            about: self.about.clone(),
            state,
            looked: self.looked.load(Ordering::Relaxed),
            changed: self.changed.load(Ordering::Relaxed),
            started: self.started,
            ended: end.as_ref().map(|e| e.at),
            error,
            result,
            node: None,
            others: Vec::new(),
        }
    }
}

impl Jobs {
    /// Starts a job on a thread of its own; `about` says for people what it is to do. Its result is shown as JSON.
    ///
    /// # Errors
    /// [`JobError::Busy`], [`JobError::Thread`].
    pub fn start<F>(&self, clock: &Clock, kind: &'static str, about: String, work: F) -> Result<JobView, JobError>
    where
        F: FnOnce(&Job) -> Result<Value, JobError> + Send + 'static,
    {
        let mut kept = lock(&self.kept);
        let running = kept.iter().filter(|k| lock(&k.job.end).is_none()).count();
        if running >= RUNNING || self.closed.load(Ordering::Acquire) {
            return Err(JobError::Busy);
        }
        let job = Arc::new(Job {
            id: self.last.fetch_add(1, Ordering::Relaxed) + 1,
            kind,
            about,
            started: clock.date(),
            ..Job::default()
        });
        let (of_thread, clock) = (job.clone(), clock.clone());
        let thread = std::thread::Builder::new().name("job".into()).spawn(move || run(&of_thread, &clock, work));
        let thread = thread.map_err(|e| JobError::Thread(e.to_string()))?;
        kept.push_back(Kept { job: job.clone(), thread: Some(thread) });
        while kept.len() > KEPT {
            let Some(oldest) = kept.iter().position(|k| lock(&k.job.end).is_some()) else { break };
            kept.remove(oldest);
        }
        Ok(job.view())
    }

    /// All that are kept, the newest first.
    pub fn all(&self) -> Vec<JobView> {
        lock(&self.kept).iter().rev().map(|k| k.job.view()).collect()
    }

    /// One of them.
    pub fn get(&self, id: u64) -> Option<JobView> {
        lock(&self.kept).iter().find(|k| k.job.id == id).map(|k| k.job.view())
    }

    /// The job of a kind that is at work, with true when it was cancelled and is coming to its end: it does nothing more, so
    /// it is not the job that somebody asks for now.
    pub fn at_work(&self, kind: &str, is_it: impl Fn(&str) -> bool) -> Option<(JobView, bool)> {
        let kept = lock(&self.kept);
        let mut running = kept.iter().map(|k| &k.job).filter(|job| lock(&job.end).is_none());
        let job = running.find(|job| job.kind == kind && is_it(&job.about))?;
        Some((job.view(), job.cancelled.load(Ordering::Acquire)))
    }

    /// Tells a job to stop after its step, and waits a little for its end: what it leaves behind is committed then.
    pub fn cancel(&self, id: u64, patience: Duration) -> Option<JobView> {
        let job = lock(&self.kept).iter().find(|k| k.job.id == id)?.job.clone();
        job.called_off.store(true, Ordering::Release);
        job.cancelled.store(true, Ordering::Release);
        let end = lock(&job.end);
        drop(job.ended.wait_timeout_while(end, patience, |end| end.is_none()));
        Some(job.view())
    }

    /// Stops all and waits for their threads; no more are started. Before the database is closed.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
        let threads: Vec<_> = {
            let mut kept = lock(&self.kept);
            kept.iter().for_each(|k| k.job.cancelled.store(true, Ordering::Release));
            kept.iter_mut().filter_map(|k| k.thread.take()).collect()
        };
        for thread in threads {
            if thread.join().is_err() {
                log::error!("a job's thread panicked");
            }
        }
    }
}

fn run(job: &Job, clock: &Clock, work: impl FnOnce(&Job) -> Result<Value, JobError>) {
    log::info!("job begins: id={} kind={} about={:?}", job.id, job.kind, job.about);
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(job)));
    let outcome = outcome.unwrap_or_else(|_| Err(JobError::Failed("it panicked; see the log".into())));
    let (looked, changed) = (job.looked.load(Ordering::Relaxed), job.changed.load(Ordering::Relaxed));
    match &outcome {
        Ok(_) => log::info!("job done: id={} kind={} looked={looked} changed={changed}", job.id, job.kind),
        Err(e) => log::warn!("job ended: id={} kind={} looked={looked} changed={changed} why={e}", job.id, job.kind),
    }
    *lock(&job.end) = Some(End { at: clock.date(), outcome });
    job.ended.notify_all();
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_job_that_was_cancelled_and_does_not_end_yet_is_told_as_such() {
        let (jobs, clock) = (Jobs::default(), Clock::real());
        let (go_on, gone_on) = mpsc::channel();
        let work = move |_: &Job| {
            let _ = gone_on.recv();
            Err(JobError::Cancelled)
        };
        let id = jobs.start(&clock, "drop", "h.test".into(), work).unwrap().id;
        assert_eq!(jobs.cancel(id, Duration::ZERO).unwrap().state, JobState::Running);
        assert!(matches!(jobs.at_work("drop", |about| about == "h.test"), Some((job, true)) if job.id == id));
        assert!(jobs.at_work("drop", |about| about == "other.test").is_none());
        go_on.send(()).unwrap();
        assert_eq!(jobs.cancel(id, Duration::from_secs(60)).unwrap().state, JobState::Cancelled);
    }

    #[test]
    fn a_job_counts_its_steps_and_keeps_its_result_and_a_panic_is_a_failure() {
        let (jobs, clock) = (Jobs::default(), Clock::real());
        let counts = |job: &Job| job.step(10, 3).map(|()| serde_json::json!({"n": 1}));
        let first = jobs.start(&clock, "count", "ten".into(), counts).unwrap().id;
        let second = jobs.start(&clock, "count", "none".into(), |_| panic!("as a test wants it")).unwrap().id;
        while jobs.all().iter().any(|job| job.state == JobState::Running) {
            std::thread::yield_now();
        }
        let done = jobs.get(first).unwrap();
        assert_eq!((done.state, done.looked, done.changed), (JobState::Done, 10, 3));
        assert_eq!(done.result["n"], 1);
        assert_eq!(jobs.get(second).unwrap().state, JobState::Failed);
        assert_eq!(jobs.all().len(), 2);
    }

    #[test]
    fn two_run_at_a_time_and_one_that_is_cancelled_makes_room() {
        let (jobs, clock) = (Jobs::default(), Clock::real());
        let long = || {
            let (ended, end) = mpsc::channel();
            let work = move |job: &Job| loop {
                if let Err(e) = job.step(1, 0) {
                    let _ = ended.send(job.is_called_off());
                    return Err(e);
                }
                std::thread::yield_now();
            };
            (work, end)
        };
        let ((a, a_ends), (b, b_ends), (c, _)) = (long(), long(), long());
        let a = jobs.start(&clock, "long", String::new(), a).unwrap().id;
        jobs.start(&clock, "long", String::new(), b).unwrap();
        assert_eq!(jobs.start(&clock, "long", String::new(), c).unwrap_err(), JobError::Busy);
        assert!(matches!(jobs.at_work("long", |_| true), Some((job, false)) if job.id == a));
        let cancelled = jobs.cancel(a, Duration::from_secs(60)).unwrap();
        assert_eq!(cancelled.state, JobState::Cancelled, "the answer waits for its end");
        assert!(jobs.cancel(99, Duration::ZERO).is_none());
        assert!(a_ends.recv().unwrap());
        jobs.close();
        assert!(!b_ends.recv().unwrap(), "the end of the process calls nothing off");
        assert!(jobs.all().iter().all(|job| job.state == JobState::Cancelled), "{:?}", jobs.all());
        assert_eq!(jobs.at_work("long", |_| true), None);
        assert_eq!(jobs.start(&clock, "late", String::new(), |_| Ok(Value::Null)).unwrap_err(), JobError::Busy);
    }
}
