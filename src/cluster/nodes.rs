//! The members of a crawl as people see them.

use super::engine::{Engine, EngineError, EngineState, Entry};
use super::{MAP, Who, node_key, read_beat, text};
use crate::base::clock::Clock;
use crate::base::time::UnixMillis;
use crate::domain::cluster::lease::{Beat, MemberState};
use crate::domain::cluster::map::Map;
use crate::domain::cluster::views::{EngineView, NodeView, Nodes};

/// The members as the engine knows them now, and who asks.
///
/// # Errors
/// What the engine refuses. One that is away, and a map that cannot be read, are told as nobody.
pub fn nodes(who: &Who) -> Result<Nodes, EngineError> {
    let entries = match who.engine.all() {
        Err(EngineError::Away { .. }) => Vec::new(), // that is told then
        entries => entries?,
    };
    let state = who.engine.state();
    let now = UnixMillis(Clock::real().date().0.saturating_add_signed(state.clock.map_or(0, |gap| gap.ahead)));
    let map = entries.iter().find(|entry| entry.key == MAP).and_then(|entry| Map::read(&entry.value).ok());
    let mut nodes = Vec::new();
    for member in map.iter().flat_map(|map| &map.members) {
        let entry = entries.iter().find(|entry| entry.key == node_key(&member.name));
        let partitions = map.as_ref().map_or(0, |map| map.owned_by(member.id).len());
        nodes.push(NodeView { partitions, ..view(&member.name, entry, now) });
    }
    for entry in &entries {
        if let Some(name) = entry.key.strip_prefix("spare.") {
            let spare = view(name, Some(entry), now);
            nodes.extend((!spare.is_lost).then_some(spare)); // one that was killed has left its record
        }
    }
    let (cluster, asked, map) = (who.cluster.clone(), who.name.clone(), map.map(|map| map.version));
    Ok(Nodes { cluster, asked, map, nodes, engine: engine_view(state) })
}

fn view(name: &str, entry: Option<&Entry>, now: UnixMillis) -> NodeView {
    let beat = entry.and_then(|entry| serde_json::from_slice::<Beat>(&entry.value).ok());
    let age = entry.map(|entry| now.since(entry.written).as_millis() as u64);
    let is_lost = age.zip(beat.as_ref()).is_none_or(|(age, beat)| age > beat.lease_ms && beat.state.is_expected());
    let is_lost = is_lost || beat.as_ref().is_some_and(|beat| beat.state == MemberState::Dead);
    NodeView {
        name: name.to_owned(),
        state: beat.as_ref().map(|beat| beat.state),
        beat_age_ms: age,
        is_lost,
        partitions: 0,
        machine: beat.as_ref().map(|beat| beat.machine.clone()),
        version: beat.as_ref().map(|beat| beat.version.clone()),
        facts: beat.map(|beat| beat.facts).unwrap_or_default(),
    }
}

fn engine_view(state: EngineState) -> EngineView {
    let clock_ahead_ms = state.clock.map(|gap| gap.ahead);
    EngineView {
        connected: state.connected,
        since_ms: state.since.0,
        server: state.server,
        why: state.why,
        clock_ahead_ms,
    }
}

/// Why a member cannot be said to be dead.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what its fields are")]
pub enum DeadError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error("there is no member {name} in the crawl {cluster}; `lycosa ctl nodes` lists them")]
    Unknown { name: String, cluster: String },
    #[error("{0} is the member that answers here: it is alive")]
    Myself(String),
}

/// An operator says that a member's machine is off: its place may be taken at once. When it is not, both would crawl for one beat more.
///
/// # Errors
/// [`DeadError`].
pub fn declare_dead(who: &Who, name: &str) -> Result<(), DeadError> {
    if name == who.name
        && read_beat(&*who.engine, &node_key(name))?.is_some_and(|(beat, _)| beat.machine == who.machine)
    {
        return Err(DeadError::Myself(name.to_owned()));
    }
    loop {
        let Some((beat, revision)) = read_beat(&*who.engine, &node_key(name))? else {
            return Err(DeadError::Unknown { name: name.to_owned(), cluster: who.cluster.clone() });
        };
        let dead = Beat { state: MemberState::Dead, ..beat };
        match write(&*who.engine, name, &dead, revision) {
            Err(EngineError::Conflict { .. }) => {}
            answer => return Ok(answer?),
        }
    }
}

fn write(engine: &dyn Engine, name: &str, beat: &Beat, revision: u64) -> Result<(), EngineError> {
    engine.write_if(&node_key(name), &text(beat), Some(revision)).map(drop)
}
