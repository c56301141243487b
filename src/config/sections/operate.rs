//! How it is watched and steered: `[admin] [[webhook]] [memory] [supervision] [log]`.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::section;
use crate::base::units::{duration, optional_duration, optional_size};
use crate::telemetry::notice::NoticeKind;

section! {
    /// `[admin]`: the HTTP endpoint.
    AdminSection {
        /// Address and port, port 0 for any free one, or `off`.
        listen: String = "127.0.0.1:7700".into();
        /// File with the bearer token; it is made when it is not there. A token is required off loopback.
        token_file: Option<PathBuf> = None;
        /// File with a token that only looks.
        read_token_file: Option<PathBuf> = None;
    }
}

/// `[[webhook]]`: an address that is called when something happens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebhookSection {
    /// An http or https URL of the operator's own choice; `net.allow` does not hold for it.
    pub url: String,
    /// What it is called for.
    #[serde(default = "all_notices")]
    pub on: Vec<NoticeKind>,
    /// File with the secret that signs the calls.
    pub secret_file: Option<PathBuf>,
}

fn all_notices() -> Vec<NoticeKind> {
    NoticeKind::ALL.to_vec()
}

/// Environment variable with a token for everything.
pub const ADMIN_TOKEN: &str = "LYCOSA_ADMIN_TOKEN";
/// Environment variable with a token that only looks.
pub const ADMIN_READ_TOKEN: &str = "LYCOSA_ADMIN_READ_TOKEN";

/// Whether the environment holds a token of the admin endpoint.
pub fn admin_token_in_environment() -> bool {
    [ADMIN_TOKEN, ADMIN_READ_TOKEN].iter().any(|name| std::env::var_os(name).is_some())
}

section! {
    /// `[memory]`: fewer pages are taken at a time before the process has more than this.
    MemorySection {
        /// Bytes of the whole process; three quarters of what machine and control group allow when absent.
        max: Option<u64> as "optional_size" = None;
    }
}

section! {
    /// `[supervision]`: what becomes of actors that die or hang.
    SupervisionSection {
        /// Rest after an actor's first death, doubled by each further one inside the window; a random part of its second half
        /// is left out.
        backoff: Duration as "duration" = Duration::from_millis(50);
        /// Longest rest.
        // So short that the budget can be spent inside the window: an actor that always dies stops the node.
        backoff_max: Duration as "duration" = Duration::from_secs(1);
        /// Deaths of one actor inside the window that are forgiven; one more stops the node with exit code 70.
        budget: usize = 20;
        /// The window.
        window: Duration as "duration" = Duration::from_secs(60);
        /// A wait for an answer (resolver, fetch, report) that lasts longer than this hangs, and its actor is replaced. Half as
        /// long again as the slowest request may take, when absent.
        hung_after: Option<Duration> as "optional_duration" = None;
        /// A thread that has not moved for so long is blocked, and the process ends with exit code 70.
        blocked_after: Duration as "duration" = Duration::from_secs(3 * 60);
    }
}

pub use crate::telemetry::log::{LogFormat, LogSection};
