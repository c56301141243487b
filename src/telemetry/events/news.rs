//! The kinds of event and what each tells.

use serde::Serialize;
use utoipa::ToSchema;

use crate::base::kinds::kinds;

kinds! {
    /// Kinds of event, and their names in `?kind=`.
    EventKind {
        /// A URL is done.
        Page = "page",
        /// A URL was given up.
        Error = "error",
        /// A URL is tried again later.
        Retry = "retry",
        /// A URL was turned away when its turn came.
        Rejected = "rejected",
        /// A host asks for nothing but refusals, or its robots.txt stays out of reach.
        Blocked = "blocked",
        /// An actor died and is replaced.
        Restart = "restart",
        /// The node changed its state.
        State = "state",
    }
}

kinds! {
    /// What a node may come to.
    StateChange {
        /// The operator pauses it.
        Paused = "paused",
        /// The operator lets it go on.
        Resumed = "resumed",
        /// Nothing new is begun any more.
        Draining = "draining",
        /// A host is to be erased: nothing new is begun, and the crawl begins anew after that.
        Erasing = "erasing",
        /// It has ended.
        Stopped = "stopped",
        /// A disk is low.
        DiskLow = "disk_low",
        /// A disk refuses writes.
        DiskBroken = "disk_broken",
        /// The disks are well again.
        DiskSound = "disk_sound",
        /// Memory is short.
        MemoryShort = "memory_short",
        /// Memory is no longer short.
        MemoryEnough = "memory_enough",
        /// A checkpoint was made.
        Checkpoint = "checkpoint",
        /// A checkpoint could not be made.
        CheckpointFailed = "checkpoint_failed",
        /// An actor died too often.
        Failing = "failing",
        /// The system's clock was set.
        ClockJumped = "clock_jumped",
    }
}

impl StateChange {
    /// True for what an operator must look at.
    pub fn degrades(self) -> bool {
        matches!(self, Self::DiskLow | Self::DiskBroken | Self::MemoryShort | Self::CheckpointFailed | Self::Failing)
    }

    /// How such a change is logged.
    pub fn level(self) -> log::Level {
        match self {
            Self::DiskLow | Self::DiskBroken | Self::CheckpointFailed => log::Level::Error,
            Self::MemoryShort | Self::Failing | Self::ClockJumped => log::Level::Warn,
            _ => log::Level::Info,
        }
    }
}

/// One event.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Event {
    /// Its number; grows by one with each event of the process, also with those that nobody heard.
    pub id: u64,
    /// When, milliseconds since 1970.
    pub ts_ms: u64,
    /// What.
    #[serde(flatten)]
    pub news: News,
}

/// What happened. What does not apply is absent.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct News {
    /// Of which kind.
    pub kind: EventKind,
    /// The URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Its host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The HTTP status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Bytes of the body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Milliseconds from the request to the end of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ms: Option<u32>,
    /// The page's title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// How a page was stored, why it failed or was turned away, which state or kind of actor.
    pub reason: String,
    /// The same for people, where that says more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl News {
    /// News without more than this.
    pub fn new(kind: EventKind, reason: &str) -> Self {
        let (url, host, title, text, status, bytes, ms) = Default::default();
        Self { kind, url, host, status, bytes, ms, title, reason: reason.to_owned(), text }
    }

    /// The node changed its state.
    pub fn state(change: StateChange, text: String) -> Self {
        Self { text: Some(text), ..Self::new(EventKind::State, change.as_str()) }
    }
}
