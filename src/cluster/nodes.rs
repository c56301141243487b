//! The members of a crawl as people see them.

use super::engine::{EngineError, EngineState, Entry};
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
        let part = map.as_ref().map(|map| (map.owned_by(member.id).len(), map.on_their_way(member.id)));
        let (partitions, (going, coming)) = part.unwrap_or_default();
        let leaving = member.leaving;
        nodes.push(NodeView { partitions, going, coming, leaving, ..view(&member.name, entry, now) });
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
        going: 0,
        coming: 0,
        leaving: false,
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

/// Why what an operator says of a member does not hold.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what its fields are")]
pub enum WordError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error("there is no member {name} in the crawl {cluster}; `lycosa ctl nodes` lists them")]
    Unknown { name: String, cluster: String },
    #[error("{0} is the member that answers here: it is alive")]
    Myself(String),
    #[error("{0} is the only member that stays: nobody could take what it has. To end the crawl stop it")]
    Last(String),
    #[error("{0} leaves already: `lycosa ctl nodes` shows what it still has")]
    Leaves(String),
    #[error("the engine has no map of members that can be read: {0}")]
    Map(String),
}

/// An operator says that a member's machine is off: its place may be taken at once. When it is not, both would crawl for one beat more.
///
/// # Errors
/// [`WordError`].
pub fn declare_dead(who: &Who, name: &str) -> Result<(), WordError> {
    if name == who.name
        && read_beat(&*who.engine, &node_key(name))?.is_some_and(|(beat, _)| beat.machine == who.machine)
    {
        return Err(WordError::Myself(name.to_owned()));
    }
    loop {
        let Some((beat, revision)) = read_beat(&*who.engine, &node_key(name))? else {
            return Err(unknown(who, name));
        };
        let dead = Beat { state: MemberState::Dead, ..beat };
        match who.engine.write_if(&node_key(name), &text(&dead), Some(revision)) {
            Err(EngineError::Conflict { .. }) => {}
            answer => return Ok(answer.map(drop)?),
        }
    }
}

/// An operator says that a member is to leave: the others take all that it has, then it ends.
///
/// # Errors
/// [`WordError`].
pub fn order_leave(who: &Who, name: &str) -> Result<(), WordError> {
    loop {
        let entry = who.engine.read(MAP)?.ok_or_else(|| WordError::Map("it has none".to_owned()))?;
        let map = Map::read(&entry.value).map_err(|e| WordError::Map(e.to_string()))?;
        let member = map.member(name).ok_or_else(|| unknown(who, name))?;
        if !map.members.iter().any(|other| other.id != member.id && !other.leaving) {
            return Err(WordError::Last(name.to_owned()));
        }
        let next = map.leaving(member.id).map_err(|_| WordError::Leaves(name.to_owned()))?;
        match who.engine.write_if(MAP, &next.text(), Some(entry.revision)) {
            Err(EngineError::Conflict { .. }) => {}
            answer => return Ok(answer.map(drop)?),
        }
    }
}

fn unknown(who: &Who, name: &str) -> WordError {
    WordError::Unknown { name: name.to_owned(), cluster: who.cluster.clone() }
}
