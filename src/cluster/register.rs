//! Settings that hold for all members: the engine's entry `settings`. Each change over HTTP, whoever is asked, is written here under
//! compare-and-swap before it is committed anywhere; each member takes up what is newer than what it has, also after it was away.
//!
//! An engine that has lost everything has none: who has the newest puts it back.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::SETTINGS;
use super::engine::{Engine, EngineError};

/// What was changed over HTTP in all, as of its last change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Register {
    /// Number of the change, from 1; greater than those before, also over an engine that was emptied.
    pub number: u64,
    /// Dotted key to its value as JSON text.
    pub overlay: BTreeMap<String, String>,
    /// The member that was asked.
    pub by: String,
    /// It took the change before it back.
    #[serde(default)]
    pub undoes: bool,
    /// Rejected URLs are to be judged again by it.
    #[serde(default)]
    pub readmit: bool,
    /// Waiting URLs are to be ranked anew by it.
    #[serde(default)]
    pub rerank: bool,
}

/// Why a change was not written.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what its fields are")]
pub enum RegisterError {
    #[error("settings hold for all members and are kept by the engine: {0}")]
    Engine(#[from] EngineError),
    /// Another's change is on its way here.
    #[error(
        "the settings were changed on member {by} at this moment: look at them (`lycosa ctl settings`), and change them again"
    )]
    Newer { by: String },
}

/// What the engine has.
///
/// # Errors
/// The engine's; an entry of another version is refused.
pub fn read(engine: &dyn Engine) -> Result<Option<(Register, u64)>, EngineError> {
    let Some(entry) = engine.read(SETTINGS)? else { return Ok(None) };
    let register = serde_json::from_slice(&entry.value).map_err(|e| EngineError::Refused {
        server: engine.state().server.unwrap_or_default(),
        why: format!("the entry {SETTINGS} is none of this version of lycosa ({e}): run one version on all machines"),
    })?;
    Ok(Some((register, entry.revision)))
}

/// Writes a change of who has the changes up to `known`; gives its number.
///
/// # Errors
/// [`RegisterError`]: nothing is written, unless the engine went away meanwhile.
pub fn write(engine: &dyn Engine, known: u64, change: Register) -> Result<u64, RegisterError> {
    let there = read(engine)?;
    let revision = match there {
        Some((newer, _)) if newer.number > known => return Err(RegisterError::Newer { by: newer.by }),
        there => there.map(|(_, revision)| revision),
    };
    let number = known.saturating_add(1);
    let text = serde_json::to_vec(&Register { number, ..change }).unwrap_or_default(); // texts and numbers: it cannot fail
    match engine.write_if(SETTINGS, &text, revision) {
        Ok(_) => Ok(number),
        Err(EngineError::Conflict { .. }) => {
            Err(RegisterError::Newer { by: read(engine)?.map_or_else(String::new, |(newer, _)| newer.by) })
        }
        Err(e) => Err(e.into()),
    }
}

/// Puts back what an engine that was emptied has lost. False when it has as much, or another was quicker.
///
/// # Errors
/// The engine's.
pub fn put_back(engine: &dyn Engine, mine: &Register) -> Result<bool, EngineError> {
    let there = read(engine)?;
    if there.as_ref().is_some_and(|(there, _)| there.number >= mine.number) {
        return Ok(false);
    }
    let text = serde_json::to_vec(mine).unwrap_or_default(); // the same
    match engine.write_if(SETTINGS, &text, there.map(|(_, revision)| revision)) {
        Ok(_) => Ok(true),
        Err(EngineError::Conflict { .. }) => Ok(false),
        Err(e) => Err(e),
    }
}

#[cfg(test)]
mod tests {
    use super::super::engine::Memory;
    use super::*;
    use crate::base::clock::Clock;

    fn of(by: &str, pages: &str) -> Register {
        let overlay = BTreeMap::from([("crawl.max_pages".to_owned(), pages.to_owned())]);
        Register { overlay, by: by.to_owned(), ..Register::default() }
    }

    #[test]
    fn a_change_by_who_does_not_have_the_newest_is_refused_and_names_whose_that_is() {
        let line = Memory::new(Clock::real()).connect();
        assert_eq!(write(&line, 0, of("n1", "1")).unwrap(), 1);
        let refused = write(&line, 0, of("n2", "2"));
        assert!(matches!(refused, Err(RegisterError::Newer { by }) if by == "n1"));
        assert_eq!(write(&line, 1, of("n2", "2")).unwrap(), 2);
        assert_eq!(read(&line).unwrap().unwrap().0, Register { number: 2, ..of("n2", "2") });
    }

    #[test]
    fn what_an_emptied_engine_lost_comes_back_in_its_newest_state_and_goes_on_from_there() {
        let line = Memory::new(Clock::real()).connect();
        let (old, new) = (Register { number: 4, ..of("n1", "4") }, Register { number: 5, ..of("n2", "5") });
        assert!(put_back(&line, &old).unwrap());
        assert!(put_back(&line, &new).unwrap());
        assert!(!put_back(&line, &old).unwrap());
        assert_eq!(write(&line, 5, of("n1", "6")).unwrap(), 6);
    }
}
