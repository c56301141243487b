//! One crawl on several machines: what its members say to each other, and the lease by which each of them works.
//!
//! | | |
//! |---|---|
//! | [`engine`] | what members have in common: entries under compare-and-swap, requests with answers |
//! | [`folder`] | what a data folder knows of its membership |
//! | [`enter`] | how a folder becomes a member, and is it again |
//! | [`standby`] | how the place of one that is lost is awaited and taken |
//! | [`keeper`] | the thread that keeps the lease, and lets requests go out as long as it holds |
//! | [`known`] | the newest map, and what each member said last |
//! | [`links`] | rows of links from one member to another |
//! | [`mover`] | the thread that has partitions go where they should be |
//! | [`asking`] | questions of one member to another |
//! | [`ending`] | how it is found that the crawl is over |
//! | [`register`] | settings that hold for all |
//! | [`nodes`] | the members as people see them |
//!
//! Keys of the engine: `map`, `state` (that the crawl has come to its end), `settings` (those changed while it runs), `node.NAME` (a member's beat), `spare.NAME` (that of who waits).

pub mod asking;
pub mod ending;
pub mod engine;
pub mod enter;
pub mod folder;
pub mod keeper;
pub mod known;
pub mod links;
pub mod mover;
pub mod nodes;
pub mod register;
pub mod standby;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::time::Duration;

use engine::{Engine, EngineError, Shared};

use crate::domain::cluster::lease::{Beat, Facts, Found, MemberState};

/// The key of the map.
const MAP: &str = "map";
/// The key of the crawl's state.
const STATE: &str = "state";
/// The key of the settings that hold for all.
const SETTINGS: &str = "settings";

/// Who speaks to the engine, and for which folder.
#[derive(Clone)]
#[expect(missing_docs, reason = "each name says it")]
pub struct Who {
    pub engine: Shared,
    /// The crawl.
    pub cluster: String,
    /// The member, or the spare.
    pub name: String,
    pub data: PathBuf,
    pub lease: Duration,
    /// How much it takes in comparison with the others.
    pub weight: u16,
    pub machine: String,
}

impl Who {
    /// What is written with a beat.
    fn beat(&self, session: &str, beat: u64, state: MemberState, facts: Facts) -> Beat {
        let lease_ms = u64::try_from(self.lease.as_millis()).unwrap_or(u64::MAX);
        let (machine, version) = (self.machine.clone(), env!("CARGO_PKG_VERSION").to_owned());
        Beat { session: session.to_owned(), beat, state, lease_ms, machine, version, facts }
    }
}

/// The key of a member's beat.
fn node_key(name: &str) -> String {
    format!("node.{name}")
}

/// The key of a spare's.
fn spare_key(name: &str) -> String {
    format!("spare.{name}")
}

/// The beat under a key. One that cannot be read is a fault of the engine's content: nobody may take it for absent.
fn read_beat(engine: &dyn Engine, key: &str) -> Result<Found, EngineError> {
    let Some(entry) = engine.read(key)? else { return Ok(None) };
    let beat = serde_json::from_slice(&entry.value).map_err(|e| EngineError::Refused {
        server: engine.state().server.unwrap_or_default(),
        why: format!("the entry {key} is none of this version of lycosa ({e}): run one version on all machines"),
    })?;
    Ok(Some((beat, entry.revision)))
}

fn text(beat: &Beat) -> Vec<u8> {
    serde_json::to_vec(beat).unwrap_or_default() // texts and numbers: it cannot fail
}
