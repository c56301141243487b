//! The threads of the sinks (`[[sink]]`), one for each: they follow the feed and hand pages on. What fails is done again from the entry that is
//! acknowledged, after a rest; an entry of which a sink dies three times is passed over and listed.

mod life;
mod send;

use std::cell::Cell;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use self::life::Life;
use self::send::{Poster, auth};
use super::call::Caller;
use super::follow::{Deaths, Ending, Follower, Last, Rest, lived};
use crate::config::{SINK_CONSUMER, Settings};
use crate::crawl::node::Node;
use crate::net::tls::TlsSetupError;
use crate::sink::rejected::{Line, List};
use crate::sink::{Doing, SinkError};
use crate::storage::read;
use crate::storage::values::Consumers;
use crate::telemetry::trouble;

/// Why there are no sinks.
#[derive(Debug, thiserror::Error)]
pub enum SinksError {
    /// The file with what is sent as `Authorization`.
    #[error("[[sink]] {name}: auth_file {}: {why}", path.display())]
    Auth {
        /// Whose.
        name: String,
        /// Which.
        path: std::path::PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// No connections.
    #[error("TLS for sinks could not be set up: {0}")]
    Tls(#[from] TlsSetupError),
    /// No thread.
    #[error("the thread of a sink could not be started: {0}")]
    Thread(#[from] io::Error),
}

/// Finds what [`Sinks::start`] would stumble over: an `auth_file` that cannot be read.
///
/// # Errors
/// The first.
pub fn check(settings: &Settings) -> Result<(), SinksError> {
    settings.sink.iter().try_for_each(|section| auth(section).map(drop))
}

/// The threads. Dropped, they end at once, and another run goes on.
pub(super) struct Sinks(Vec<Follower>);

impl Sinks {
    /// Starts one for each sink of the settings.
    ///
    /// # Errors
    /// An `auth_file` that cannot be read, a thread that cannot be started.
    pub fn start(node: &Arc<Node>) -> Result<Self, SinksError> {
        let settings = &node.crawl.rules.settings;
        check(settings)?;
        tell_strays(node);
        let caller = match settings.sink.iter().all(|section| section.kind.is_files()) {
            true => None,
            false => Some(Caller::new(&settings.tls_roots()?)?),
        };
        let mut all = Vec::new();
        for (nth, section) in settings.sink.iter().enumerate() {
            let (node, caller) = (node.clone(), caller.clone());
            let name = format!("sink {}", section.name);
            all.push(Follower::start(&name, move |ending| work(&node, nth, caller.as_ref(), ending))?);
        }
        Ok(Self(all))
    }

    /// Tells them to end at once.
    pub fn end_now(&self) {
        self.0.iter().for_each(|follower| follower.tell(Last::Now));
    }

    /// Ends them once they have handed on all there is, or cannot; at once where they were told so.
    pub fn finish(self) {
        self.0.iter().for_each(|follower| follower.tell(Last::CaughtUp));
        self.0.into_iter().for_each(Follower::join);
    }
}

/// Says which sinks of former settings still have entries and archive files kept for them.
fn tell_strays(node: &Node) {
    let known: Consumers = read::meta(&*node.storage, ()).ok().flatten().unwrap_or_default();
    let sinks = &node.crawl.rules.settings.sink;
    for consumer in known.0.iter().filter(|known| known.name.starts_with(SINK_CONSUMER)) {
        if sinks.iter().all(|section| section.consumer() != consumer.name) {
            let name = &consumer.name;
            log::warn!(
                "a sink is not in the settings any more, and all that it has not read is kept for it: `lycosa ctl feed forget {name}` ends that: \
                 read_up_to={}",
                consumer.after
            );
        }
    }
}

/// Lives, again and again, until it is told to end.
fn work(node: &Node, nth: usize, caller: Option<&Caller>, ending: &Ending) {
    let settings = &node.crawl.rules.settings;
    let (Some(section), Some(told)) = (settings.sink.get(nth), node.sinks.get(nth)) else { return };
    let poster = caller.filter(|_| !section.kind.is_files()).map(|caller| Poster::new(caller.clone(), section));
    let rejects = List::of(&settings.sink_dir(), &section.name);
    let (mut deaths, mut rest) = (Deaths::default(), Rest::default());
    let after = Cell::new(None);
    loop {
        let (in_hand, went) = (Cell::new(None), Cell::new(false));
        let (deaths_of, poster) = (&deaths, poster.as_ref());
        let life = Life {
            node,
            section,
            told,
            ending,
            deaths: deaths_of,
            in_hand: &in_hand,
            after: &after,
            went: &went,
            rejects: &rejects,
            poster,
        };
        let why = match lived(|| life.live()) {
            Ok(Ok(())) => break,
            Ok(Err(e)) => {
                if !matches!(e, SinkError::Injected(_)) {
                    in_hand.set(None); // the entry has no part in it
                }
                e.to_string()
            }
            Err(panic) => panic,
        };
        if went.get() {
            rest = Rest::default();
        }
        if let Some(entry) = in_hand.take().filter(|entry| deaths.note(*entry)) {
            skip(node, nth, &rejects, entry, &why);
        }
        failure(node, nth, &why, rest.next());
        if ending.wait(rest.take()).is_some() {
            break;
        }
    }
    told.tell(|told| told.doing = Doing::Off);
}

/// An entry is passed over.
fn skip(node: &Node, nth: usize, rejects: &List, entry: u64, why: &str) {
    let Some(sink) = node.sinks.get(nth) else { return };
    log::error!(
        "an entry of the feed is passed over, for the sink died of it three times: sink={} entry={entry}",
        sink.name
    );
    sink.tell(|told| told.skip(entry));
    let line = Line { at_ms: node.clock.date(), seq: entry, id: "", url: None, status: None, why };
    if let Err(e) = rejects.add(&line) {
        log::error!("what a sink passes over cannot be listed: sink={} entry={entry} error={e}", sink.name);
    }
}

fn failure(node: &Node, nth: usize, why: &str, rest: Duration) {
    let Some(sink) = node.sinks.get(nth) else { return };
    sink.tell(|told| {
        told.doing = Doing::Resting;
        told.failures += 1;
        told.error = Some(why.to_owned());
        told.away_since.get_or_insert(node.clock.date());
    });
    node.telemetry.troubles.note(node.clock.now(), trouble::SINK, format!("{}: {why}", sink.name));
    log::warn!("a sink waits: sink={} again_in_s={} error={why}", sink.name, rest.as_secs());
}
