//! Standing by: the place of a member that is lost is awaited, and taken when a copy of it is at hand.

use std::collections::HashMap;
use std::path::Path;

use uuid::Uuid;

use super::ending::has_ended;
use super::enter::{EnterError, LOOK, Own, Result, Waiting, Won, answered, claim, clocks, map_there, put_back, wait};
use super::folder::Identity;
use super::{Who, node_key, read_beat, spare_key, text};
use crate::base::clock::since_boot;
use crate::domain::cluster::lease::{Claim, Facts, MemberState, Watch};
use crate::domain::cluster::map::Map;

/// Waits for the place of a member that is lost, until one may be taken and has a copy.
pub struct StandBy {
    who: Who,
    /// Whose alone.
    wanted: Option<String>,
    session: String,
    watches: HashMap<String, Watch>,
    /// The revision of its own record.
    own: Option<u64>,
    beats: u64,
}

impl StandBy {
    /// For one member, or for all.
    pub fn new(who: Who, wanted: Option<String>) -> Self {
        let session = Uuid::new_v4().to_string();
        Self { who, wanted, session, watches: HashMap::new(), own: None, beats: 0 }
    }

    /// Waits until the place of a member may be taken; gives its name. None when the crawl has come to its end. `has_copy`: whether there is
    /// a whole copy to take it with.
    ///
    /// # Errors
    /// [`EnterError`].
    pub fn lost(
        &mut self,
        kept: Option<&Map>,
        has_copy: &mut dyn FnMut(&str) -> bool,
        waiting: Waiting<'_>,
    ) -> Result<Option<String>> {
        if let (None, Some(kept)) = (map_there(&self.who, waiting)?, kept) {
            answered(&self.who, waiting, || put_back(&self.who, kept))?; // the engine has lost everything
        }
        loop {
            self.beat();
            let Some(map) = map_there(&self.who, waiting)? else {
                wait(
                    waiting,
                    &format!("the crawl {} to begin: no member has been started", self.who.cluster),
                    LOOK[1],
                )?;
                continue;
            };
            let members = map.members.iter().map(|member| member.name.clone());
            let members: Vec<String> =
                members.filter(|name| self.wanted.as_ref().is_none_or(|one| one == name)).collect();
            let (mut ended, mut soonest, mut lacking) = (0, self.who.lease, None);
            for name in &members {
                let found = answered(&self.who, waiting, || read_beat(&*self.who.engine, &node_key(name)))?;
                let state = found.as_ref().map(|(beat, _)| beat.state);
                ended += usize::from(state == Some(MemberState::Done));
                let watch = self.watches.entry(name.clone()).or_default();
                match watch.look(&found, &[], self.who.lease, since_boot()) {
                    // By its operator's word a stopped one comes back; who names it wants it.
                    Claim::Now(_) if self.wanted.is_none() && !state.is_none_or(MemberState::is_replaced) => {}
                    // It was killed after the end of all, before it said that it had seen it.
                    Claim::Now(_) if self.wanted.is_none() && has_ended(&*self.who.engine) => return Ok(None),
                    Claim::Now(_) if has_copy(name) => return Ok(Some(name.clone())),
                    Claim::Now(_) => lacking = Some(name.clone()),
                    Claim::After(left) => soonest = soonest.min(left),
                }
            }
            if self.wanted.is_none() && !members.is_empty() && ended == members.len() {
                return Ok(None);
            }
            let what = match lacking {
                Some(name) => format!(
                    "a copy of {name}, which is lost and has no whole one in the store: only its own folder can go on"
                ),
                None => match &self.wanted {
                    Some(name) => format!("{name} to be lost: it is heard of"),
                    None => format!("a member to be lost; heard of: {}", members.join(", ")),
                },
            };
            wait(waiting, &what, soonest)?;
        }
    }

    /// Takes the place of a member of which [`lost`](Self::lost) gave the name, now: nobody has beaten meanwhile.
    ///
    /// # Errors
    /// [`EnterError::Forestalled`]; the engine's.
    pub fn take(&mut self, name: &str, staging: &Path, waiting: Waiting<'_>) -> Result<Won> {
        let who = Who { name: name.to_owned(), ..self.who.clone() };
        let map = map_there(&who, waiting)?.ok_or_else(|| EnterError::Forestalled(name.to_owned()))?;
        let found = answered(&who, waiting, || read_beat(&*who.engine, &node_key(name)))?;
        let watch = self.watches.entry(name.to_owned()).or_default();
        if !matches!(watch.look(&found, &[], who.lease, since_boot()), Claim::Now(_)) {
            return Err(EnterError::Forestalled(name.to_owned()));
        }
        clocks(who.engine.state().clock)?; // before anybody's place is taken
        let identity = Identity {
            cluster: who.cluster.clone(),
            name: name.to_owned(),
            sessions: vec![self.session.clone()],
            map: map.clone(),
            folder: None, // known once it is in its place
            replaced: None,
        };
        identity.write(staging)?;
        let lease = match claim(&who, &self.session, Own::New, watch, MemberState::Restoring, waiting) {
            Err(EnterError::Taken { .. }) => return Err(EnterError::Forestalled(name.to_owned())),
            lease => lease?,
        };
        self.withdraw();
        Ok(Won { lease, identity: Some(identity), map })
    }

    /// Shows that it waits. Nothing hangs on it.
    fn beat(&mut self) {
        self.beats += 1;
        let key = spare_key(&self.who.name);
        let beat = self.who.beat(&self.session, self.beats, MemberState::Spare, Facts::default());
        self.own = match self.who.engine.write_if(&key, &text(&beat), self.own) {
            Ok(revision) => Some(revision),
            Err(_) => self.who.engine.read(&key).ok().flatten().map(|entry| entry.revision),
        };
    }

    /// It waits no more.
    pub fn withdraw(&mut self) {
        if let Some(revision) = self.own.take() {
            let _ = self.who.engine.remove_if(&spare_key(&self.who.name), revision);
        }
    }
}
