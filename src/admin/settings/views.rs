//! How settings and their changes are shown.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::admin::jobs::JobView;
use crate::base::time::UnixMillis;
pub use crate::crawl::live::views::{ChangedView, TrialExample, TrialPart, TrialView};

/// The configuration in force.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SettingsView {
    /// The number of the rules in force; each change makes a new one.
    pub generation: u32,
    /// Number of the last change that holds for all members; 0 in a crawl on one machine.
    #[serde(default)]
    pub agreed: u64,
    /// Every key, in the order of the sections.
    pub settings: Vec<SettingView>,
}

/// One key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SettingView {
    /// Dotted; `host.PATTERN` is the section of one host.
    pub key: String,
    /// The value in force, of its own type; null when it is not set.
    pub value: Value,
    /// The value that is built in; null when there is none.
    #[serde(default)]
    pub default: Value,
    /// Who set it: `default`, `FILE:LINE`, `environment variable NAME`, the flag, or `admin`.
    pub origin: String,
    /// Whether it can change while the crawl runs.
    pub changeable: bool,
}

/// One change of the settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChangeView {
    /// The number of the rules that it made; of a change that changed nothing, of those in force.
    pub generation: u32,
    /// When, milliseconds since 1970.
    #[schema(value_type = u64)]
    pub at: UnixMillis,
    /// `admin` (over HTTP), `admin@NAME` (the same, at that member), `reload` (SIGHUP), or `start`: a flag of the command line took back limits set over HTTP.
    pub by: String,
    /// The generation whose change it took back.
    pub undoes: Option<u32>,
    /// Whether it was taken back.
    pub undone: bool,
    /// What it changed.
    pub changed: Vec<ChangedView>,
}

/// What became of a change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Changed {
    /// The change.
    pub change: ChangeView,
    /// The job that judges rejected URLs again, when that was asked for.
    pub job: Option<JobView>,
    /// The job that ranks waiting URLs anew, when that was asked for.
    #[serde(default)]
    pub rerank: Option<JobView>,
    /// Anything else to know.
    pub note: Option<String>,
}

/// The answer to a change that was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum Answered {
    /// It was made.
    Made(Box<Changed>),
    /// It was tried only.
    Tried(TrialView),
}

/// Which rejected URLs are to be judged again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReadmitView {
    /// Those turned away for this reason, such as `scope` or `robots`; all that depend on the rules when absent.
    pub reason: Option<String>,
    /// Those held back because many pages of their shape brought nothing new (`barren`, `self_fed`, `session`, `permuted`), in
    /// place of a reason.
    pub held_back: bool,
    /// Those of this host.
    pub host: Option<String>,
}
