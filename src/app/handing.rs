//! Links from member to member while the crawl runs: a thread for each other member that there are rows for, and who takes theirs.
//!
//! Rows that came lie in the database before they are answered, and wait there for the [`Taker`](super::taking::Taker).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver as Told, RecvTimeoutError, Sender as Tell, bounded};

use super::run::RunError;
use super::taking::Inbox;
use crate::base::clock::since_boot;
use crate::base::sync::lock;
use crate::base::time::UnixMillis;
use crate::cluster::asking::session_number;
use crate::cluster::ending::{Outgoing, OutgoingNow};
use crate::cluster::engine::Answering;
use crate::cluster::enter::EnterError;
use crate::cluster::keeper::Membership;
use crate::cluster::known::{Known, Watcher};
use crate::cluster::links::{Receiver, answer, request, subject};
use crate::crawl::node::Node;
use crate::crawl::store::Commit;
use crate::domain::cluster::lease::Waits;
use crate::domain::cluster::map::{Map, MemberId};
use crate::domain::cluster::sender::{ANSWER, REQUEST, Sender};
use crate::storage::keys::{Key, KeyRange, RowKey, after};
use crate::storage::ledger::Change;
use crate::storage::share::Share;
use crate::storage::tables::Outbox;
use crate::storage::values::{Handed, OutTo, Value};
use crate::storage::{StorageError, read};

/// How often is looked for rows.
const LOOK: Duration = Duration::from_millis(100);
/// Rows that are read for a request.
const ROWS: usize = 64;
/// Bytes of rows that wait to be taken in: beyond, none are taken.
const WAITING: u64 = 64 << 20;

/// How far links have come, for people and for the end of the crawl.
#[derive(Default)]
pub(crate) struct Ways {
    sent: AtomicU64,
    came: AtomicU64,
    /// By destination: up to which row it says it has everything, and which session said so.
    stands: Mutex<BTreeMap<MemberId, Said>>,
}

/// What a destination has said.
#[derive(Clone, Copy)]
struct Said {
    upto: Option<u64>,
    by: Option<u64>,
}

/// Everything at work.
pub(super) struct Handing {
    node: Arc<Node>,
    receiver: Arc<Receiver>,
    _answering: Answering,
    end: Tell<()>,
    thread: JoinHandle<()>,
    ways: Arc<Ways>,
}

impl Handing {
    /// Begins, where the folder is one of several members.
    ///
    /// # Errors
    /// The engine's; a thread that cannot be started.
    pub fn start(
        node: &Arc<Node>,
        member: &Arc<Membership>,
        watcher: &Arc<Watcher>,
        inbox: &Arc<Inbox>,
        ways: Arc<Ways>,
    ) -> Result<Option<Self>, RunError> {
        let Some(share) = node.crawl.share.clone().filter(|share| !share.by_hand) else { return Ok(None) };
        lock(&ways.stands).clear();
        let (asked, told, counts) = (node.clone(), inbox.clone(), ways.clone());
        let may_take = move || !asked.disk.holds() && !asked.fence.is_over() && told.waiting() < WAITING;
        let told = inbox.clone();
        let came = move |links, bytes| {
            counts.came.fetch_add(links, Ordering::Relaxed);
            told.came(bytes);
        };
        let receiver = Arc::new(Receiver::new(node.storage.clone(), share.clone(), may_take, came));
        let (engine, hears) = (member.who().engine.clone(), receiver.clone());
        let heard_at = subject(&member.who().name, member.session());
        let answering =
            engine.answer(&heard_at, Arc::new(move |request| hears.hear(request))).map_err(EnterError::from)?;
        let (end, ended) = bounded(0);
        let work =
            Senders { node: node.clone(), member: member.clone(), watcher: watcher.clone(), share, ways: ways.clone() };
        let thread = std::thread::Builder::new().name("links".into()).spawn(move || work.run(&ended))?;
        Ok(Some(Self { node: node.clone(), receiver, _answering: answering, end, thread, ways }))
    }

    /// Ends it: nothing is written any more.
    pub fn finish(self) {
        self.receiver.close();
        drop(self.end);
        if self.thread.join().is_err() {
            log::error!("the thread that hands links over panicked; another life does what is left");
        }
    }

    /// What is under way to others.
    pub fn outgoing(&self) -> OutgoingNow {
        let (node, ways) = (Arc::downgrade(&self.node), self.ways.clone());
        Arc::new(move || {
            let now = node.upgrade().and_then(|node| ways.outgoing(&node).ok());
            now.unwrap_or(Outgoing { all_answered: false, answered_by: BTreeMap::new() })
        })
    }
}

/// Rows that are kept for others.
fn kept(node: &Node) -> Result<BTreeMap<MemberId, OutTo>, StorageError> {
    let handed = read::meta::<Handed>(&*node.storage, ())?.unwrap_or_default();
    Ok(handed.out.into_iter().filter(|(_, of)| of.rows > 0).collect())
}

impl Ways {
    fn outgoing(&self, node: &Node) -> Result<Outgoing, StorageError> {
        let (kept, stands) = (kept(node)?, lock(&self.stands));
        let answered = |(to, of): (&MemberId, &OutTo)| stands.get(to).is_some_and(|said| said.upto >= Some(of.last()));
        let by = |to: &MemberId| Some((*to, stands.get(to)?.by?));
        Ok(Outgoing { all_answered: kept.iter().all(answered), answered_by: kept.keys().filter_map(by).collect() })
    }

    /// Links handed over, and those that came.
    pub fn links(&self) -> (u64, u64) {
        (self.sent.load(Ordering::Relaxed), self.came.load(Ordering::Relaxed))
    }

    /// What waits for whom, by name.
    pub fn waits(&self, node: &Node, share: &Share) -> BTreeMap<String, Waits> {
        let stands = lock(&self.stands);
        let of = |(to, of): (MemberId, OutTo)| {
            let unanswered = stands.get(&to).is_none_or(|said| said.upto < Some(of.last()));
            (share.name_of(to), Waits { rows: of.rows, links: of.links, bytes: of.bytes, unanswered })
        };
        kept(node).unwrap_or_default().into_iter().map(of).collect()
    }
}

/// Who sends.
struct Senders {
    node: Arc<Node>,
    member: Arc<Membership>,
    watcher: Arc<Watcher>,
    share: Arc<Share>,
    ways: Arc<Ways>,
}

impl Senders {
    /// Starts a thread for each member that there are rows for.
    fn run(self, ended: &Told<()>) {
        let this = Arc::new(self);
        let mut threads: BTreeMap<MemberId, (Tell<()>, JoinHandle<()>)> = BTreeMap::new();
        while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(LOOK) {
            threads.retain(|_, (_, thread)| !thread.is_finished());
            let kept = kept(&this.node).unwrap_or_default();
            for to in kept.into_keys().filter(|to| *to != this.share.own) {
                if threads.contains_key(&to) {
                    continue;
                }
                let ((end, ended), of) = (bounded(0), this.clone());
                let work = move || of.hand_over(to, &ended);
                match std::thread::Builder::new().name("links-out".into()).spawn(work) {
                    Ok(thread) => _ = threads.insert(to, (end, thread)),
                    Err(e) => log::warn!("no thread for links to another member, it is tried again: error={e}"),
                }
            }
        }
        for (end, thread) in threads.into_values() {
            drop(end);
            let _ = thread.join(); // its panic is told where it happens
        }
    }

    /// Sends rows to one member until there are none, or the end.
    fn hand_over(&self, to: MemberId, ended: &Told<()>) {
        let mut sender: Option<Sender> = None;
        while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(LOOK) {
            match self.step(to, &mut sender) {
                Ok(true) => {}
                Ok(false) => return,
                Err(e) => log::warn!("links wait: to={} error={e}", self.share.name_of(to)),
            }
        }
    }

    /// What is to be done for a member now. False when no row is left.
    fn step(&self, to: MemberId, sender: &mut Option<Sender>) -> Result<bool, StorageError> {
        let Some(of) = kept(&self.node)?.remove(&to) else { return Ok(false) };
        let known = self.watcher.known();
        let Some((map, _)) = &known.map else { return Ok(true) };
        if !map.takes_links(to) {
            return self.commit(Change::TurnRound(to)).map(|()| true);
        }
        let sender = match sender {
            Some(sender) => sender,
            None => {
                let first = self.rows(to, 0, 1)?.first().map_or(of.last(), |(number, _)| *number);
                sender.insert(Sender::new(Some((first, of.last()))))
            }
        };
        sender.added(of.last());
        let Some(beat) = known.beat_of(to) else { return Ok(true) };
        let session = session_number(&beat.session);
        sender.receiver(session);
        if let Some(upto) = beat.facts.whole.covers.get(&self.share.own.0).and_then(|stand| sender.covered(*stand)) {
            self.remove(to, upto)?;
        }
        // A former process must not send what it numbered at the time of its heir.
        while !self.node.fence.is_over() && self.ask(to, (map, &known), sender, session)? {}
        lock(&self.ways.stands).insert(to, Said { upto: sender.stands(), by: sender.answered_by() });
        Ok(true)
    }

    /// Asks once, if there is something to be asked. False when there is not, or nothing came of it.
    fn ask(
        &self,
        to: MemberId,
        (map, known): (&Map, &Known),
        sender: &mut Sender,
        session: u64,
    ) -> Result<bool, StorageError> {
        let now = || UnixMillis(u64::try_from(since_boot().as_millis()).unwrap_or(u64::MAX));
        let (mut rows, mut failed) = (Vec::new(), None);
        let ask = sender.ask(now(), map.version, |after| match self.rows(to, after, ROWS) {
            Ok(found) => {
                rows = found;
                rows.first().zip(rows.last()).map(|((first, _), (last, _))| (*first, *last))
            }
            Err(e) => {
                failed = Some(e);
                None
            }
        });
        if let Some(e) = failed {
            return Err(e);
        }
        let (Some(ask), Some(beat)) = (ask, known.beat_of(to)) else { return Ok(false) };
        let name = self.share.name_of(to);
        let asked = request(self.share.own, &ask, &rows.iter().map(|(n, row)| (*n, row.encode())).collect::<Vec<_>>());
        let told = self.member.who().engine.ask(&subject(&name, &beat.session), &asked, ANSWER);
        let Some(answer) = told.ok().as_deref().and_then(answer) else { return Ok(false) };
        let stood = sender.stands().unwrap_or_default();
        if let Some((from, upto)) = sender.answered(ask.id, session, answer, now()) {
            log::error!(
                "links are lost, the member that had them lacks them and they are kept nowhere: to={name} rows={from}..={upto}"
            );
        }
        let stands = sender.stands().unwrap_or_default();
        let sent = rows.iter().filter(|(number, _)| (stood + 1..=stands).contains(number)).map(|(_, row)| row.links);
        self.ways.sent.fetch_add(sent.sum(), Ordering::Relaxed);
        Ok(stands > stood || ask.rows.1 < ask.rows.0 && !sender.is_answered())
    }

    /// The rows for a member behind a number, as many as one request may have.
    fn rows(
        &self,
        to: MemberId,
        behind: u64,
        most: usize,
    ) -> Result<Vec<(u64, crate::storage::values::OutboxRow)>, StorageError> {
        let key = |number| RowKey { from: self.share.own, to, number }.encode();
        let range = KeyRange { from: after(&key(behind)), until: after(&key(u64::MAX)) };
        let mut bytes = 0;
        let rows = read::scan::<Outbox>(&*self.node.storage, &range, most)?;
        let few = rows.into_iter().enumerate().take_while(|(nth, (_, row))| {
            bytes += row.packed.len();
            *nth == 0 || bytes <= REQUEST
        });
        Ok(few.map(|(_, (key, row))| (key.number, row)).collect())
    }

    /// Rows up to a number go.
    fn remove(&self, to: MemberId, upto: u64) -> Result<(), StorageError> {
        loop {
            let rows = self.rows(to, 0, 1)?;
            if rows.first().is_none_or(|(first, _)| *first > upto) {
                return Ok(());
            }
            self.commit(Change::Covered { to, upto })?;
            if self.rows(to, 0, 1)?.first().map(|(first, _)| *first) == rows.first().map(|(first, _)| *first) {
                return Ok(()); // the commit was lost: a later look does it
            }
        }
    }

    /// A change for the Store; waits for its commit, or for its loss.
    fn commit(&self, change: Change) -> Result<(), StorageError> {
        let (tell, told) = std::sync::mpsc::channel();
        let reply: Box<dyn FnOnce() + Send> = Box::new(move || _ = tell.send(()));
        self.node.mailboxes().store.tell(Commit { reply: Some(reply), ..Commit::bare(change) });
        let _ = told.recv_timeout(ANSWER);
        Ok(())
    }
}
