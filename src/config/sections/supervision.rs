//! What becomes of actors that die or hang: `[supervision]`.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::base::units::{duration, optional_duration};

/// `[supervision]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SupervisionSection {
    /// Rest after an actor's first death, doubled by each further one inside the window; a random part of its second half
    /// is left out.
    #[serde(with = "duration")]
    pub backoff: Duration,
    /// Longest rest.
    #[serde(with = "duration")]
    pub backoff_max: Duration,
    /// Deaths of one actor inside the window that are forgiven; one more stops the node with exit code 70.
    pub budget: usize,
    /// The window.
    #[serde(with = "duration")]
    pub window: Duration,
    /// A wait for an answer (resolver, fetch, report) that lasts longer than this hangs, and its actor is replaced. Half as
    /// long again as the slowest request may take, when absent.
    #[serde(with = "optional_duration")]
    pub hung_after: Option<Duration>,
    /// A thread that has not moved for so long is blocked, and the process ends with exit code 70.
    #[serde(with = "duration")]
    pub blocked_after: Duration,
}

impl Default for SupervisionSection {
    fn default() -> Self {
        Self {
            backoff: Duration::from_millis(50),
            // So short that the budget can be spent inside the window: an actor that always dies stops the node.
            backoff_max: Duration::from_secs(1),
            budget: 20,
            window: Duration::from_secs(60),
            hung_after: None,
            blocked_after: Duration::from_secs(3 * 60),
        }
    }
}
