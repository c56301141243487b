//! Endless spaces: a calendar, session ids, relative links that only ever lead deeper.
//!
//! All of it lies under `/trap/`, links to itself alone, and is never part of the truth.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Which traps are laid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TrapSet {
    /// `/trap/calendar?y=2026&m=11`: each month links to its neighbours, for ever.
    pub calendar: bool,
    /// `/trap/session/3?sid=…` and `/trap/session/3;jsessionid=…`: a few pages under ever new session ids.
    pub sessions: bool,
    /// `/trap/relative/…`: each page links to folders below itself.
    pub relative: bool,
}

impl TrapSet {
    /// All of them.
    pub const ALL: Self = Self { calendar: true, sessions: true, relative: true };

    fn names(self) -> Vec<&'static str> {
        let all = [(self.calendar, "calendar"), (self.sessions, "sessions"), (self.relative, "relative")];
        all.into_iter().filter_map(|(on, name)| on.then_some(name)).collect()
    }
}

impl fmt::Display for TrapSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.names().as_slice() {
            [] => f.write_str("none"),
            names => f.write_str(&names.join(",")),
        }
    }
}

impl FromStr for TrapSet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut set = Self::default();
        for name in text.split(',').map(str::trim) {
            match name {
                "none" | "" => {}
                "all" => set = Self::ALL,
                "calendar" => set.calendar = true,
                "sessions" => set.sessions = true,
                "relative" => set.relative = true,
                other => {
                    return Err(format!("no trap is called {other:?}; known: none, all, calendar, sessions, relative"));
                }
            }
        }
        Ok(set)
    }
}

impl TryFrom<String> for TrapSet {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<TrapSet> for String {
    fn from(set: TrapSet) -> Self {
        set.to_string()
    }
}
