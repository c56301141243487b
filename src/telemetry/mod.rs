//! What can be seen of a running crawl: metric names, events, log set-up, the status snapshot.

pub mod advice;
pub mod attempts;
pub mod events;
pub mod log;
pub mod machine;
pub mod metrics;
pub mod notice;
pub mod process;
pub mod series;
pub mod status;
pub mod summary;
pub mod trouble;

pub use attempts::{Attempt, Attempts};
pub use events::{Events, StateChange};
pub use metrics::{ActorKind, Metrics, Phase};
pub use process::ProcessCollector;
pub use status::{HeldBack, HeldShapeView, HostsOrdered, MemberView, OutboxView, State, StatusSnapshot};
pub use trouble::{Trouble, Troubles};
