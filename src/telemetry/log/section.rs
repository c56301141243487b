//! What of the log is set.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::base::units::duration;

/// Form of the log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// `[log]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogSection {
    /// `error`, `warn`, `info`, `debug`, `trace`, or `RUST_LOG` directives.
    pub level: String,
    /// Form.
    pub format: LogFormat,
    /// A summary line is written this often; `0s` for never.
    #[serde(with = "duration")]
    pub summary: Duration,
}

impl Default for LogSection {
    fn default() -> Self {
        Self { level: "info".into(), format: LogFormat::Text, summary: Duration::from_secs(60) }
    }
}
