//! The lease by which a member works: until when it may send requests, and when another may take its place.
//!
//! One record of the engine a member, `node.NAME`, is written anew each *beat* by compare-and-swap on the holder's own last revision. The
//! holder sends requests until the moment at which it *sent* the last write that succeeded, and `lease` less a margin. Who has itself
//! watched a record stand still for a whole `lease` may write it: it saw the revision later than that was sent, so the holder's time ends
//! before. No clocks are compared; a stale read only makes the swap fail. (The idea of leases: Gray and Cheriton, SOSP 1989.)
//!
//! Moments are lengths of time since the machine booted, by a clock that counts while it sleeps.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Beats in a lease.
const BEATS: u32 = 90;
/// The margin is so many parts of a lease.
const MARGIN: u32 = 30;

/// What a member does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum MemberState {
    /// It crawls.
    Running,
    /// It makes its folder of a copy.
    Restoring,
    /// Its process has ended and will come back.
    Away,
    /// It was stopped by its operator: nobody takes its place.
    Stopped,
    /// Its crawl has come to its end.
    Done,
    /// An operator has said that its machine is off.
    Dead,
    /// It is no member: it holds nothing and waits to take the place of one.
    Spare,
}

impl MemberState {
    /// Its name, as it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Restoring => "restoring",
            Self::Away => "away",
            Self::Stopped => "stopped",
            Self::Done => "done",
            Self::Dead => "dead",
            Self::Spare => "spare",
        }
    }

    /// Whether it is to be heard of again and again.
    pub const fn is_expected(self) -> bool {
        matches!(self, Self::Running | Self::Restoring | Self::Away | Self::Spare)
    }

    /// Whether a spare takes the place of a member that was so when it was heard of last.
    pub const fn is_replaced(self) -> bool {
        !matches!(self, Self::Stopped | Self::Done | Self::Spare)
    }
}

/// What a member says with each beat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each name says it")]
pub struct Beat {
    /// The process that holds it.
    pub session: String,
    /// Counts the beats of this session.
    pub beat: u64,
    pub state: MemberState,
    /// The whole lease, milliseconds.
    pub lease_ms: u64,
    /// The machine.
    pub machine: String,
    pub version: String,
    pub facts: Facts,
}

/// What a member says of its crawl.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub struct Facts {
    /// Pages stored.
    pub pages: u64,
    /// Bytes of bodies received.
    pub bytes: u64,
    /// URLs given up.
    pub failures: u64,
    /// URLs waiting.
    pub waiting: u64,
    /// The newest checkpoint with a whole copy in the store.
    pub checkpoint: Option<String>,
    /// When it was made, milliseconds since 1970.
    pub checkpoint_ms: Option<u64>,
    /// Where its admin endpoint listens.
    pub admin: Option<String>,
    /// The version of the map that it acts by.
    pub map: u64,
    /// What its newest checkpoint with a whole copy in the store has.
    pub whole: Whole,
    /// What waits for each other member, by name.
    pub outbox: BTreeMap<String, Waits>,
    /// Links that it has handed over, and that it was handed, since its process began.
    pub links_out: u64,
    /// See `links_out`.
    pub links_in: u64,
}

/// What a whole checkpoint has, as far as other members wait for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub struct Whole {
    /// The last row of each sender, by its number: what is not above it may go there.
    pub covers: BTreeMap<u16, u64>,
    /// Partitions that were written out for others, and into which object.
    pub gone: BTreeMap<u16, String>,
    /// Partitions that came, and out of which object.
    pub came: BTreeMap<u16, String>,
}

/// Links that wait for another member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[expect(missing_docs, reason = "each name says it")]
pub struct Waits {
    pub rows: u64,
    pub links: u64,
    pub bytes: u64,
    /// Those of them that it has not said it has.
    pub unanswered: bool,
}

/// A record as it was found: its content and its revision.
pub type Found = Option<(Beat, u64)>;

/// A member's own lease.
#[derive(Clone, Debug)]
pub struct Lease {
    session: String,
    lease: Duration,
    revision: Option<u64>,
    beat: u64,
    /// Until when requests may be sent.
    until: Duration,
    due: Duration,
}

/// What is known of a lease after a write whose answer did not come, or that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is held, and the next write comes when it is due.
    Held,
    /// Nothing is there any more, and somebody may have been there before: it is to be waited for a whole lease.
    Emptied,
    /// Another holds it.
    Lost(Box<Beat>),
}

impl Lease {
    /// One that was won by a write sent at `sent`, which made this revision.
    pub fn won(session: String, lease: Duration, sent: Duration, revision: u64) -> Self {
        let due = sent + lease / BEATS;
        Self { session, lease, revision: Some(revision), beat: 1, until: until(sent, lease), due }
    }

    /// The process that holds it.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// How long it is.
    pub fn length(&self) -> Duration {
        self.lease
    }

    /// Until when requests may be sent.
    pub fn until(&self) -> Duration {
        self.until
    }

    /// When the next beat is to be sent.
    pub fn due(&self) -> Duration {
        self.due
    }

    /// The number of the next beat, and the revision that its write replaces; the next is due a beat later, whatever becomes of it.
    pub fn begin(&mut self, now: Duration) -> (u64, Option<u64>) {
        self.beat += 1;
        self.due = now + self.lease / BEATS;
        (self.beat, self.revision)
    }

    /// A write sent at `sent` has made this revision.
    pub fn written(&mut self, sent: Duration, revision: u64) {
        self.revision = Some(revision);
        self.until = self.until.max(until(sent, self.lease));
    }

    /// Nothing is there, and was not for a whole lease: it is written anew with the next beat.
    pub fn forget(&mut self) {
        self.revision = None;
    }

    /// Nobody knows what became of the write sent at `sent`, or it was refused: this is what stands there now, at `now`.
    pub fn found(&mut self, found: &Found, sent: Duration, now: Duration) -> Standing {
        match found {
            Some((there, revision)) if there.session == self.session => {
                if there.state == MemberState::Dead {
                    return Standing::Lost(Box::new(there.clone()));
                }
                self.revision = Some(*revision);
                if there.beat == self.beat {
                    self.until = self.until.max(until(sent, self.lease)); // it was done
                }
                Standing::Held
            }
            Some((there, _)) => Standing::Lost(Box::new(there.clone())),
            // Within its time nobody can have taken its place: it is written anew.
            None if now < self.until => {
                self.revision = None;
                Standing::Held
            }
            None => Standing::Emptied,
        }
    }
}

fn until(sent: Duration, lease: Duration) -> Duration {
    sent + lease - lease / MARGIN
}

/// Watches a record of another until its place may be taken.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    /// The revision, none while nothing is there, and since when it has been that.
    since: Option<(Option<u64>, Duration)>,
}

/// Whether a place may be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// It may, by a write that replaces this revision.
    Now(Option<u64>),
    /// Not before so long a time has passed.
    After(Duration),
}

impl Watch {
    /// Whether it was seen at another revision before.
    pub fn has_moved(&self, revision: u64) -> bool {
        self.since.is_some_and(|(seen, _)| seen != Some(revision))
    }

    /// The record as it was read by a reading that *ended* at `now`, by who has the folder with these sessions, or none. `lease` holds where
    /// the record does not say another.
    pub fn look(&mut self, found: &Found, own: &[String], lease: Duration, now: Duration) -> Claim {
        let revision = found.as_ref().map(|(_, revision)| *revision);
        let since = match self.since {
            Some((seen, since)) if seen == revision => since,
            _ => {
                self.since = Some((revision, now));
                now
            }
        };
        let lease = found.as_ref().map_or(lease, |(beat, _)| Duration::from_millis(beat.lease_ms));
        // The folder is locked by one process at a time: who wrote that as its last has ended.
        let is_free =
            found.as_ref().is_some_and(|(beat, _)| own.contains(&beat.session) || beat.state == MemberState::Dead);
        let left = lease.saturating_sub(now.saturating_sub(since));
        if is_free || left.is_zero() { Claim::Now(revision) } else { Claim::After(left) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(900);

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn beat(session: &str, beat: u64, state: MemberState) -> Beat {
        let (machine, version) = ("m".into(), "0".into());
        Beat { session: session.into(), beat, state, lease_ms: 900_000, machine, version, facts: Facts::default() }
    }

    fn running(session: &str, nth: u64, revision: u64) -> Found {
        Some((beat(session, nth, MemberState::Running), revision))
    }

    #[test]
    fn requests_are_sent_until_thirty_seconds_before_the_end_of_a_lease_counted_from_the_sending() {
        let mut lease = Lease::won("a".into(), LEASE, at(100), 1);
        assert_eq!((lease.until(), lease.due()), (at(970), at(110)));
        assert_eq!(lease.begin(at(111)), (2, Some(1)));
        lease.written(at(111), 7);
        assert_eq!((lease.until(), lease.due()), (at(981), at(121)));
        assert_eq!(lease.begin(at(121)), (3, Some(7)));
    }

    #[test]
    fn a_write_whose_answer_did_not_come_counts_when_it_is_found_to_have_been_done() {
        let mut lease = Lease::won("a".into(), LEASE, at(100), 1);
        lease.begin(at(110));
        assert_eq!(lease.found(&running("a", 1, 1), at(110), at(115)), Standing::Held);
        assert_eq!(lease.until(), at(970));
        assert_eq!(lease.found(&running("a", 2, 2), at(110), at(116)), Standing::Held);
        assert_eq!((lease.until(), lease.begin(at(120))), (at(980), (3, Some(2))));
    }

    #[test]
    fn who_finds_another_session_or_itself_declared_dead_has_lost() {
        let mut lease = Lease::won("a".into(), LEASE, at(100), 1);
        assert_eq!(
            lease.found(&running("b", 9, 5), at(110), at(110)),
            Standing::Lost(Box::new(beat("b", 9, MemberState::Running)))
        );
        let dead = beat("a", 1, MemberState::Dead);
        assert_eq!(lease.found(&Some((dead.clone(), 5)), at(110), at(110)), Standing::Lost(Box::new(dead)));
    }

    #[test]
    fn an_engine_that_was_emptied_is_written_to_anew_within_the_lease_only() {
        let mut lease = Lease::won("a".into(), LEASE, at(100), 1);
        assert_eq!(lease.found(&None, at(110), at(969)), Standing::Held);
        assert_eq!(lease.begin(at(969)), (2, None));
        assert_eq!(lease.found(&None, at(110), at(970)), Standing::Emptied);
    }

    #[test]
    fn a_place_is_taken_only_after_it_was_watched_to_stand_still_for_a_whole_lease() {
        let mut watch = Watch::default();
        assert_eq!(watch.look(&running("a", 1, 1), &[], LEASE, at(0)), Claim::After(LEASE));
        assert_eq!(watch.look(&running("a", 1, 1), &[], LEASE, at(899)), Claim::After(at(1)));
        assert_eq!(watch.look(&running("a", 2, 2), &[], LEASE, at(900)), Claim::After(LEASE));
        assert_eq!(watch.look(&running("a", 2, 2), &[], LEASE, at(1_800)), Claim::Now(Some(2)));
    }

    #[test]
    fn a_folder_that_comes_back_and_a_member_declared_dead_are_not_waited_for() {
        let mine = ["x".to_owned(), "a".to_owned()];
        assert_eq!(Watch::default().look(&running("a", 1, 4), &mine, LEASE, at(0)), Claim::Now(Some(4)));
        let dead = Some((beat("b", 1, MemberState::Dead), 6));
        assert_eq!(Watch::default().look(&dead, &[], LEASE, at(0)), Claim::Now(Some(6)));
    }

    #[test]
    fn where_nothing_is_said_a_whole_lease_is_waited_too() {
        let mut watch = Watch::default();
        assert_eq!(watch.look(&None, &["a".to_owned()], LEASE, at(5)), Claim::After(LEASE));
        assert_eq!(watch.look(&None, &["a".to_owned()], LEASE, at(905)), Claim::Now(None));
    }

    /// Two who want the same place, over every order of their looks and writes that two machines can have: never both within their time.
    #[test]
    fn never_do_two_send_requests_at_a_time() {
        // The old one's last write was sent at 0 and seen by the new one at any moment after; the new one begins when it may.
        for seen in 0..1_000 {
            let old = Lease::won("a".into(), LEASE, at(0), 1);
            let mut watch = Watch::default();
            let mut now = at(seen);
            while let Claim::After(left) = watch.look(&running("a", 1, 1), &[], LEASE, now) {
                now += left;
            }
            assert!(now > old.until(), "{seen}");
        }
    }
}
