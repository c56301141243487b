//! What can be seen of a running crawl: metric names, log set-up, the status snapshot.

pub mod attempts;
pub mod log;
pub mod machine;
pub mod metrics;
pub mod process;
pub mod series;
pub mod status;
pub mod trouble;

pub use attempts::{Attempt, Attempts};
pub use metrics::{ActorKind, Metrics, Phase};
pub use process::ProcessCollector;
pub use status::{State, StatusSnapshot};
pub use trouble::{Trouble, Troubles};
