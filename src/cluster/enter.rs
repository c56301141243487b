//! How a data folder becomes a member, is it again, or takes the place of one that is lost.
//!
//! | folder | map | |
//! |---|---|---|
//! | anything | none | the folder's own is put back; without one its folder is the first member, and has everything |
//! | of a member | has it | goes on at once: the folder is locked by one process at a time, so its former one has ended |
//! | empty | has its name | waits until that member has stood still for a whole lease, and is made of its newest copy |
//! | empty | has not its name | joins: it is written into the map, and takes its part from the others |
//! | a spare's, empty | | waits for whichever member is lost |

use std::time::Duration;

use uuid::Uuid;

use super::engine::{ClockGap, EngineError};
use super::folder::{FolderError, Identity, folder_of};
use super::{MAP, Who, node_key, read_beat, text};
use crate::base::clock::since_boot;
use crate::base::units::format_duration;
use crate::domain::cluster::lease::{Claim, Facts, Found, Lease, MemberState, Watch};
use crate::domain::cluster::map::{Map, MapError};

/// How often is looked while something is waited for, at most and at least.
pub(super) const LOOK: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(2)];
/// Clocks that are further apart are told, and those that much further refuse a start: times on disk and checkpoints are dated.
const CLOCK_TOLD: u64 = 2_000;
const CLOCK_REFUSED: u64 = 10_000;

/// Is told what is waited for; sleeps so long, and gives false when nobody wants to wait any more.
pub type Waiting<'w> = &'w mut dyn FnMut(&str, Duration) -> bool;

/// A lease that was won.
pub struct Won {
    /// It.
    pub lease: Lease,
    /// What its folder knows; none of a folder that is yet to be made of a copy.
    pub identity: Option<Identity>,
    /// The map in force.
    pub map: Map,
}

/// Why a folder is no member.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what its fields are")]
pub enum EnterError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error("the map of the crawl {cluster}: {source}")]
    Map { cluster: String, source: MapError },
    /// The folder was replaced.
    #[error(
        "this folder was the member {name}, whose place {by} has taken (noticed at {at}): it does not go on, for two would crawl the same hosts. What it \
         archived and did not upload is in its archive folder; to use this machine again give it an empty folder (--data DIR), with \
         cluster.spare = true"
    )]
    Replaced { name: String, by: String, at: String },
    #[error(
        "the member {name} runs on the machine {machine}: only one process may be it; give this one another cluster.node, or stop that one"
    )]
    Taken { name: String, machine: String },
    #[error(
        "this folder holds a crawl, and there is no member {name} in the crawl {cluster}, whose members are {members}: an empty folder joins them \
         (--data DIR); to take the place of one use --as NAME with an empty folder"
    )]
    NoMember { name: String, cluster: String, members: String },
    #[error(
        "there is no member {name} in the crawl {cluster} whose place could be taken (--as); `lycosa ctl nodes` lists them"
    )]
    NoSuch { name: String, cluster: String },
    #[error(
        "this folder is of another crawl than {cluster} in the engine: its keys are made by another seed. Give one of the two another \
         cluster.name, or this machine an empty folder (--data DIR)"
    )]
    Seed { cluster: String },
    #[error(
        "this folder is the member {name} of the crawl {was}, and cluster.name is {cluster}: set it back, or use another folder (--data DIR)"
    )]
    OtherCrawl { name: String, was: String, cluster: String },
    #[error(
        "the clock of this machine is {ahead} s {word} that of the engine: set the clocks of all machines by NTP, then start again"
    )]
    Clock { ahead: u64, word: &'static str },
    /// Nobody wants to wait any more.
    #[error("stopped while it waited for its place in the crawl")]
    Interrupted,
    #[error("{0} came back, or another spare was quicker: its place is not taken")]
    Forestalled(String),
    #[error(
        "the folder of a spare must be new or empty, this one holds a crawl: use another (--data DIR), or leave cluster.spare out"
    )]
    NotEmpty,
    #[error(
        "this folder is a part of a crawl that was taken apart by `lycosa split`, which cannot be a member of a crawl with an engine yet: merge it \
         first (`lycosa merge`), or leave [cluster] out"
    )]
    InParts,
    #[error(
        "the store of {cluster} has a crawl already, of the members {members}, and the engine knows nothing of it: it has lost everything, or is another. \
         Start those members with their folders (they wait a whole lease), or take the place of one with --as NAME; for a new crawl name another \
         cluster.store"
    )]
    Known { cluster: String, members: String },
    #[error(
        "this folder is the member {name} of the crawl {cluster}, and there is no [cluster] in the settings: another machine may have its place by now, or \
         take it. Start it with them; to crawl on alone for good end the others first, then remove {}", file.display()
    )]
    Alone { name: String, cluster: String, file: std::path::PathBuf },
}

pub(super) type Result<T> = std::result::Result<T, EnterError>;

/// What a start finds.
#[derive(Debug, PartialEq, Eq)]
pub enum Start {
    /// The folder goes on, or begins a crawl of its own.
    GoOn,
    /// The folder is empty, and of that name there is a member already.
    Restore,
    /// The folder is empty, and joins a crawl whose keys are made by this seed.
    Join(u64),
}

/// Looks at folder and map before the database is opened. `is_empty`: no crawl is in the folder.
///
/// # Errors
/// [`EnterError`].
pub fn before(who: &Who, is_empty: bool, kept: Option<Map>, waiting: Waiting<'_>) -> Result<Start> {
    let identity = known(who)?;
    let map = match (map_there(who, waiting)?, kept) {
        (Some(map), _) => map,
        (None, None) => return Ok(Start::GoOn),
        // The engine has lost everything, or is another: whoever is a member may run.
        (None, Some(kept)) if kept.member(&who.name).is_some() => {
            if kept.members.len() == 1 {
                answered(who, waiting, || put_back(who, &kept))?;
            }
            kept
        }
        (None, Some(kept)) => {
            return Err(EnterError::Known { cluster: who.cluster.clone(), members: names_of(&kept) });
        }
    };
    match (map.member(&who.name), identity.is_some() || !is_empty) {
        (Some(_), true) => Ok(Start::GoOn),
        (Some(_), false) => Ok(Start::Restore),
        (None, false) => Ok(Start::Join(map.seed)),
        (None, true) => Err(no_member(who, &map)),
    }
}

fn no_member(who: &Who, map: &Map) -> EnterError {
    EnterError::NoMember { name: who.name.clone(), cluster: who.cluster.clone(), members: names_of(map) }
}

fn names_of(map: &Map) -> String {
    map.members.iter().map(|member| member.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// Refuses a member's folder that is started without the others.
///
/// # Errors
/// [`EnterError::Alone`], [`EnterError::Replaced`].
pub fn alone(data: &std::path::Path) -> Result<()> {
    let Some(identity) = Identity::read(data)? else { return Ok(()) };
    let Identity { name, cluster, replaced, .. } = identity;
    match replaced {
        Some(replaced) => Err(EnterError::Replaced { name, by: replaced.by, at: replaced.at }),
        None => Err(EnterError::Alone { name, cluster, file: data.join(crate::recovery::checkpoint::fetch::MEMBER) }),
    }
}

/// What the folder knows of itself, when it may go on.
fn known(who: &Who) -> Result<Option<Identity>> {
    let Some(identity) = Identity::read(&who.data)? else { return Ok(None) };
    if let Some(replaced) = &identity.replaced {
        let (by, at) = (replaced.by.clone(), replaced.at.clone());
        return Err(EnterError::Replaced { name: identity.name.clone(), by, at });
    }
    if identity.cluster != who.cluster {
        let (name, was) = (identity.name.clone(), identity.cluster.clone());
        return Err(EnterError::OtherCrawl { name, was, cluster: who.cluster.clone() });
    }
    Ok(Some(identity))
}

/// Waits until an answer of the engine comes; what it refuses is an error.
pub(super) fn answered<T>(
    who: &Who,
    waiting: Waiting<'_>,
    mut ask: impl FnMut() -> std::result::Result<T, EngineError>,
) -> Result<T> {
    let mut rest = LOOK[0];
    loop {
        match ask() {
            Err(e @ EngineError::Away { .. }) => wait(waiting, &format!("the engine of {}: {e}", who.cluster), rest)?,
            answer => return Ok(answer?),
        }
        rest = (rest * 2).min(LOOK[1]);
    }
}

pub(super) fn wait(waiting: Waiting<'_>, what: &str, long: Duration) -> Result<()> {
    if waiting(what, long.clamp(LOOK[0], LOOK[1])) { Ok(()) } else { Err(EnterError::Interrupted) }
}

/// The newest map that is known. A folder of a crawl of one puts its own back where the engine has none, or an older one; among several that is
/// done when all have said which they have (`mover`).
pub(super) fn map_there(who: &Who, waiting: Waiting<'_>) -> Result<Option<Map>> {
    let own = known(who)?.map(|identity| identity.map);
    loop {
        let there = answered(who, waiting, || who.engine.read(MAP))?;
        let read =
            |value: &[u8]| Map::read(value).map_err(|source| EnterError::Map { cluster: who.cluster.clone(), source });
        let there = there.map(|entry| read(&entry.value)).transpose()?;
        match (&own, there) {
            (Some(own), Some(there)) if there.seed != own.seed => {
                return Err(EnterError::Seed { cluster: who.cluster.clone() });
            }
            (Some(own), there) if there.as_ref().is_none_or(|there| there.version < own.version) => {
                if own.members.len() > 1 {
                    return Ok(Some(own.clone()));
                }
                answered(who, waiting, || put_back(who, own))?;
                log::warn!("map put back: the engine had an older one or none: version={}", own.version);
            }
            (_, there) => return Ok(there),
        }
    }
}

/// Puts a map back where the engine has none, or an older one of the same crawl. False when it has this one or a newer.
///
/// # Errors
/// The engine's.
pub fn put_back(who: &Who, map: &Map) -> std::result::Result<bool, EngineError> {
    let there = who.engine.read(MAP)?;
    let older =
        |value: &[u8]| Map::read(value).is_ok_and(|there| there.seed == map.seed && there.version < map.version);
    if there.as_ref().is_some_and(|entry| !older(&entry.value)) {
        return Ok(false);
    }
    match who.engine.write_if(MAP, &map.text(), there.map(|entry| entry.revision)) {
        Ok(_) => Ok(true),
        Err(EngineError::Conflict { .. }) => Ok(false),
        Err(e) => Err(e),
    }
}

/// Enters with a folder whose keys are made by `seed`. A crawl that has no map yet is begun with it; `joins`: an empty one becomes a member of
/// a crawl that there is.
///
/// # Errors
/// [`EnterError`]. One that was [replaced](EnterError::Replaced) meanwhile is marked so.
pub fn enter(who: &Who, seed: u64, joins: bool, waiting: Waiting<'_>) -> Result<Won> {
    let identity = known(who)?;
    let mut begun = false;
    let map = loop {
        if let Some(map) = map_there(who, waiting)? {
            break map;
        }
        let named = |source| EnterError::Map { cluster: who.cluster.clone(), source };
        let first = Map::first(&who.name, seed).map_err(named)?;
        begun = answered(who, waiting, || put_back(who, &first))?;
    };
    if map.seed != seed {
        return Err(EnterError::Seed { cluster: who.cluster.clone() });
    }
    let map = match map.member(&who.name) {
        Some(_) => map,
        None if joins => {
            clocks(who.engine.state().clock)?;
            begun = true;
            join(who, waiting)?
        }
        None => return Err(no_member(who, &map)),
    };
    let fresh = || Identity {
        cluster: who.cluster.clone(),
        name: who.name.clone(),
        sessions: Vec::new(),
        map: map.clone(),
        folder: None,
        replaced: None,
    };
    clocks(who.engine.state().clock)?; // before anybody's place is taken
    let mut identity = identity.unwrap_or_else(fresh);
    let session = Uuid::new_v4().to_string();
    let folder = folder_of(&who.data)?;
    if identity.folder.is_some_and(|was| was != folder) {
        log::warn!("this folder was moved or is a copy, and is waited for like a stranger: member={}", who.name);
        identity.sessions.clear();
    }
    identity.folder = Some(folder);
    let before = identity.sessions.clone();
    identity.map = map.clone();
    identity.remember(&session);
    identity.write(&who.data)?; // before it is asked for: a kill in between leaves a folder that knows both
    let own = match begun {
        true => Own::First,
        false if before.is_empty() => Own::New,
        false => Own::Known(&before),
    };
    let lease = claim(who, &session, own, &mut Watch::default(), MemberState::Running, waiting);
    let lease = lease.inspect_err(|error| mark_replaced(&mut identity, who, error))?;
    Ok(Won { lease, identity: Some(identity), map })
}

/// Writes the member into the map, by which its place is its own; gives that map.
fn join(who: &Who, waiting: Waiting<'_>) -> Result<Map> {
    let named = |source| EnterError::Map { cluster: who.cluster.clone(), source };
    loop {
        let Some(entry) = answered(who, waiting, || who.engine.read(MAP))? else {
            wait(waiting, &format!("the map of {}, which its members put back", who.cluster), LOOK[1])?;
            continue;
        };
        let (joined, id) = Map::read(&entry.value).and_then(|map| map.joined(&who.name, who.weight)).map_err(named)?;
        match who.engine.write_if(MAP, &joined.text(), Some(entry.revision)) {
            Ok(_) => {
                log::info!(
                    "member joins: crawl={} member={} number={} map={}",
                    who.cluster,
                    who.name,
                    id.0,
                    joined.version
                );
                return Ok(joined);
            }
            Err(EngineError::Conflict { .. }) => {}
            Err(e @ EngineError::Away { .. }) => {
                wait(waiting, &format!("the engine of {}: {e}", who.cluster), LOOK[1])?
            }
            Err(e) => return Err(e.into()),
        }
    }
}

fn mark_replaced(identity: &mut Identity, who: &Who, error: &EnterError) {
    if let EnterError::Replaced { by, at, .. } = error {
        identity.replaced = Some(super::folder::Replaced { by: by.clone(), at: at.clone() });
        if let Err(e) = identity.write(&who.data) {
            log::error!("this folder was replaced and cannot be marked so: error={e}");
        }
    }
}

/// Who asks for a place.
#[derive(Clone, Copy)]
pub(super) enum Own<'o> {
    /// A folder that held it by these sessions.
    Known(&'o [String]),
    /// A folder that never did.
    New,
    /// The one that has begun the crawl: nobody can have held it.
    First,
}

/// Waits until the place may be had, and takes it.
pub(super) fn claim(
    who: &Who,
    session: &str,
    own: Own<'_>,
    watch: &mut Watch,
    state: MemberState,
    waiting: Waiting<'_>,
) -> Result<Lease> {
    let (key, sessions) = (
        node_key(&who.name),
        match own {
            Own::Known(sessions) => sessions,
            Own::New | Own::First => &[],
        },
    );
    let mut first_sent: Option<Duration> = None;
    loop {
        let found = answered(who, waiting, || read_beat(&*who.engine, &key))?;
        if let (Some((beat, revision)), Some(sent)) = (&found, first_sent)
            && beat.session == session
        {
            return Ok(Lease::won(session.to_owned(), who.lease, sent, *revision)); // the answer alone was lost
        }
        refuse(who, &found, own, watch)?;
        let claim = match (own, &found) {
            (Own::First, None) => Claim::Now(None),
            _ => watch.look(&found, sessions, who.lease, since_boot()),
        };
        match claim {
            Claim::After(left) => {
                let left_told = format_duration(Duration::from_secs(left.as_secs()));
                wait(waiting, &format!("the lease of {}, for {left_told} more at most", who.name), left)?;
            }
            Claim::Now(revision) => {
                let sent = since_boot();
                let beat = who.beat(session, 1, state, Facts::default());
                match who.engine.write_if(&key, &text(&beat), revision) {
                    Ok(revision) => {
                        return Ok(Lease::won(session.to_owned(), who.lease, first_sent.unwrap_or(sent), revision));
                    }
                    Err(EngineError::Conflict { .. }) => {}
                    Err(e @ EngineError::Away { .. }) => {
                        first_sent.get_or_insert(sent);
                        wait(waiting, &format!("the engine of {}: {e}", who.cluster), LOOK[1])?;
                    }
                    Err(e) => return Err(e.into()),
                }
            }
        }
    }
}

/// What stands there forbids this folder to go on.
fn refuse(who: &Who, found: &Found, own: Own<'_>, watch: &Watch) -> Result<()> {
    let Some((beat, revision)) = found else { return Ok(()) };
    match own {
        // Who has written it since took the place of this folder.
        Own::Known(sessions) if !sessions.contains(&beat.session) && beat.state != MemberState::Dead => {
            let at = crate::warc::date::iso(crate::base::clock::Clock::real().date());
            Err(EnterError::Replaced { name: who.name.clone(), by: format!("the machine {}", beat.machine), at })
        }
        Own::New if watch.has_moved(*revision) => {
            Err(EnterError::Taken { name: who.name.clone(), machine: beat.machine.clone() })
        }
        _ => Ok(()),
    }
}

/// Refuses clocks that are far apart.
pub(super) fn clocks(gap: Option<ClockGap>) -> Result<()> {
    let Some(ClockGap { ahead, within }) = gap else { return Ok(()) };
    let apart = ahead.unsigned_abs().saturating_sub(within);
    let word = if ahead < 0 { "ahead of" } else { "behind" };
    if apart >= CLOCK_REFUSED {
        return Err(EnterError::Clock { ahead: apart / 1_000, word });
    }
    if apart >= CLOCK_TOLD {
        log::warn!("clock differs: this machine is {word} the engine by {} s; set both by NTP", apart / 1_000);
    }
    Ok(())
}
