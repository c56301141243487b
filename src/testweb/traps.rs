//! Endless spaces: which of them are laid.
//!
//! All of it lies under `/trap/`, or on hosts made up under a host, links to itself alone, and is never part of the truth.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An endless space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Trap {
    /// `/trap/calendar?y=2026&m=11`: each month links to its neighbours, for ever.
    Calendar,
    /// `/trap/session/3?sid=…` and `/trap/session/3;jsessionid=…`: a few pages under ever new session ids.
    Sessions,
    /// `/trap/relative/…`: each page links to folders below itself.
    Relative,
    /// `/trap/ids/9f3ab27c00c1d2e3/3`: a few pages under ever new numbers in the path.
    Ids,
    /// `/trap/days/2026/11/05/`: each day links to days before and after.
    Days,
    /// `/trap/facets?color=red&size=m`: one list in all combinations and orders of its filters.
    Facets,
    /// `/trap/tickets/3;ticket=…`: a few pages under ever new session ids of a name that nobody knows.
    Tickets,
    /// `/trap/anything/…`: 200 to whatever is asked for, with what was asked for in its text.
    Anything,
    /// `x9f3ab27c.h0.test`: each host made up links to others.
    Hosts,
}

impl Trap {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Calendar,
        Self::Sessions,
        Self::Relative,
        Self::Ids,
        Self::Days,
        Self::Facets,
        Self::Tickets,
        Self::Anything,
        Self::Hosts,
    ];

    /// Its name in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Calendar => "calendar",
            Self::Sessions => "sessions",
            Self::Relative => "relative",
            Self::Ids => "ids",
            Self::Days => "days",
            Self::Facets => "facets",
            Self::Tickets => "tickets",
            Self::Anything => "anything",
            Self::Hosts => "hosts",
        }
    }
}

/// Which traps are laid: a bit for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TrapSet(u16);

impl TrapSet {
    /// All of them.
    pub const ALL: Self = Self((1 << Trap::ALL.len()) - 1);

    /// Whether this one is laid.
    pub fn has(self, trap: Trap) -> bool {
        self.0 & (1 << trap as u16) != 0
    }

    fn names(self) -> Vec<&'static str> {
        Trap::ALL.into_iter().filter(|trap| self.has(*trap)).map(Trap::name).collect()
    }
}

impl From<Trap> for TrapSet {
    fn from(trap: Trap) -> Self {
        Self(1 << trap as u16)
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
            set.0 |= match name {
                "none" | "" => 0,
                "all" => Self::ALL.0,
                name => match Trap::ALL.into_iter().find(|trap| trap.name() == name) {
                    Some(trap) => Self::from(trap).0,
                    None => {
                        return Err(format!(
                            "no trap is called {name:?}; known: none, all, {}",
                            Trap::ALL.map(Trap::name).join(", ")
                        ));
                    }
                },
            };
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
