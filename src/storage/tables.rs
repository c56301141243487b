//! Which key and which value belong to which family: one marker type a family, of the same name.

use super::keys::{
    ContentKey, CreditKey, DueKey, FeedKey, HostAt, HostCrawl, Key, MetaKey, NearKey, NearMemberKey, NoteKey, PageKey,
    ParkedKey, QueueKey, RejectedKey, RobotsKey, RowKey, SeenKey, VisitHostKey, VisitKey, WaitingKey,
};
use super::schema::Family;
use super::values::{
    self, CardSettings, ClockState, Consumers, Counters, CreditState, FeedLog, FileLengths, Format, Handed, JoinedHost,
    LiveSettings, Membership, OrderedHosts, Received, RunState, Unsynced, UnsyncedLines, Value,
};
use crate::domain::fingerprint::{CrawlId, HostKey};

/// A family with the types of its keys and values.
pub trait Table {
    /// The family.
    const FAMILY: Family;
    /// Its keys.
    type Key: Key;
    /// Its values.
    type Value: Value;
}

macro_rules! tables {
    ($($name:ident: $key:ty => $value:ty;)*) => {$(
        #[doc = concat!("The records of [`Family::", stringify!($name), "`].")]
        #[derive(Clone, Copy, Debug)]
        pub enum $name {}

        impl Table for $name {
            const FAMILY: Family = Family::$name;
            type Key = $key;
            type Value = $value;
        }
    )*};
}

tables! {
    Queue: QueueKey => values::QueueEntry;
    HostState: HostAt => values::HostState;
    HostCounts: HostCrawl => values::HostCounts;
    Waiting: WaitingKey => ();
    Parked: ParkedKey => ();
    Due: DueKey => values::QueueEntry;
    Seen: SeenKey => values::UrlState;
    Pages: PageKey => values::PageRecord;
    Rejected: RejectedKey => values::RejectedValue;
    Failed: SeenKey => values::FailedValue;
    Nearer: SeenKey => values::NearerValue;
    Seeds: SeenKey => values::SeedValue;
    Content: ContentKey => values::ContentValue;
    Near: NearKey => ();
    NearMembers: NearMemberKey => ();
    Robots: RobotsKey => values::RobotsValue;
    Sitemaps: DueKey => ();
    Visits: VisitKey => values::VisitRow;
    VisitHosts: VisitHostKey => ();
    Credit: CreditKey => values::CreditValue;
    Notes: NoteKey => values::NoteValue;
    Feed: FeedKey => values::FeedEntry;
    Outbox: RowKey => values::OutboxRow;
}

/// A single record of the whole folder, or one for each of a kind.
pub trait MetaRecord: Value {
    /// What tells several of a kind apart; `()` when there is one only.
    type Of;

    /// Its key in `meta`.
    fn key(of: Self::Of) -> MetaKey;
}

macro_rules! meta_records {
    ($($value:ident($of:ty) => $key:expr;)*) => {$(
        impl MetaRecord for $value {
            type Of = $of;
            fn key(of: $of) -> MetaKey { ($key)(of) }
        }
    )*};
}

meta_records! {
    Format(()) => |()| MetaKey::Format;
    FileLengths(()) => |()| MetaKey::FileLengths;
    RunState(()) => |()| MetaKey::Run;
    ClockState(()) => |()| MetaKey::Clock;
    LiveSettings(()) => |()| MetaKey::Settings;
    FeedLog(()) => |()| MetaKey::Feed;
    Consumers(()) => |()| MetaKey::Consumers;
    CardSettings(()) => |()| MetaKey::Cards;
    Membership(()) => |()| MetaKey::Member;
    Handed(()) => |()| MetaKey::Handed;
    Received(()) => |()| MetaKey::Received;
    Counters(CrawlId) => MetaKey::Counters;
    CreditState(CrawlId) => MetaKey::Credit;
    JoinedHost((CrawlId, HostKey)) => |(crawl, host)| MetaKey::Joined(crawl, host);
    OrderedHosts(CrawlId) => MetaKey::Orders;
    Unsynced(u64) => MetaKey::Unsynced;
    UnsyncedLines(u64) => MetaKey::Lines;
}
