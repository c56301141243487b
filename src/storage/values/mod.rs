//! Values: the first byte is the version of the value, the rest its fields (`docs/storage.md`).

mod counters;
mod credit;
mod feed;
mod folder;
mod handed;
mod host;
mod page;
#[cfg(test)]
mod tests;
mod url;
mod wire;

pub use counters::{Counters, FrontierCounts, OTHER_TYPES};
pub use credit::{CreditRound, CreditState, CreditValue, NoteHost, NoteValue};
pub use feed::{CONSUMERS, Consumer, Consumers, FeedEntry, FeedLog, FormerFeed, INDEX, Shown};
pub use folder::{CardSettings, ChangedKey, ClockState, FileLengths, Format, LiveSettings, RunState, SettingsChange};
pub use handed::{Handed, HandedLink, HandedLinks, Membership, OutTo, OutboxRow, Received};
pub use host::{
    HostCounts, HostState, JoinedHost, OrderedHosts, Place, RANKS, ROBOTS_TEXT_CAP, RobotsValue, VisitCounts, VisitRow,
};
pub use page::{
    AsSitemap, ContentValue, DoneKind, PageRecord, Remarks, Unsynced, UnsyncedLines, UnsyncedPage, WarcPlace,
};
pub use url::{FailedValue, LastTime, NearerValue, QueueEntry, RejectedValue, SeedValue, UrlState};
use wire::{Reader, Wire};

/// Why bytes are no value of the kind asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what its fields are")]
pub enum ValueError {
    #[error("{kind} has version {found}, this program knows up to {known}")]
    Version { kind: &'static str, found: u8, known: u8 },
    #[error("it ends too early")]
    Short,
    #[error("bytes are left behind its end")]
    Long,
    /// A number is out of its range or not in its shortest spelling.
    #[error("a number is out of range")]
    Number,
    #[error("a {0} that does not exist")]
    Tag(&'static str),
    #[error("text that is not UTF-8")]
    Text,
    #[error("a map out of order")]
    Order,
    /// A compressed part does not unpack within its cap.
    #[error("a compressed part does not unpack")]
    Packed,
}

/// A value and its bytes.
pub trait Value: Sized {
    /// Its bytes on disk.
    fn encode(&self) -> Vec<u8>;

    /// The value with these bytes.
    ///
    /// # Errors
    /// When the version is unknown or the bytes are no such value, whole and nothing else.
    fn decode(bytes: &[u8]) -> Result<Self, ValueError>;
}

/// Bytes that a value has at first: most have fewer, and growing by steps to it costs more than to have it.
const ROOM: usize = 128;

/// The version byte and then the fields.
fn encode<T: Wire>(version: u8, value: &T) -> Vec<u8> {
    let mut out = Vec::with_capacity(ROOM);
    out.push(version);
    value.put(&mut out);
    out
}

/// Reads what [`encode`] wrote.
fn decode<T: Wire>(kind: &'static str, known: u8, bytes: &[u8]) -> Result<T, ValueError> {
    let mut from = Reader::new(bytes);
    let found = from.byte()?;
    if found != known {
        return Err(ValueError::Version { kind, found, known });
    }
    let value = T::read(&mut from)?;
    if from.is_empty() { Ok(value) } else { Err(ValueError::Long) }
}

/// Gives values their version.
macro_rules! values {
    ($($name:ident = $version:literal),* $(,)?) => {$(
        impl Value for $name {
            fn encode(&self) -> Vec<u8> { encode($version, self) }
            fn decode(bytes: &[u8]) -> Result<Self, ValueError> { decode(stringify!($name), $version, bytes) }
        }
    )*};
}

values! {
    CardSettings = 1,
    ClockState = 1,
    Consumers = 1,
    ContentValue = 1,
    Counters = 1,
    CreditState = 1,
    CreditValue = 1,
    FailedValue = 1,
    FeedEntry = 1,
    FeedLog = 1,
    Format = 1,
    Handed = 1,
    HandedLinks = 1,
    HostCounts = 1,
    HostState = 1,
    JoinedHost = 1,
    LiveSettings = 1,
    Membership = 1,
    NearerValue = 1,
    NoteValue = 1,
    OrderedHosts = 1,
    OutboxRow = 1,
    PageRecord = 1,
    QueueEntry = 1,
    Received = 1,
    RejectedValue = 1,
    RobotsValue = 1,
    RunState = 1,
    SeedValue = 1,
    FileLengths = 1,
    Unsynced = 1,
    UnsyncedLines = 1,
    UrlState = 1,
    VisitRow = 1,
}

/// No value: the key says it all. No byte on disk.
impl Value for () {
    fn encode(&self) -> Vec<u8> {
        Vec::new()
    }

    fn decode(bytes: &[u8]) -> Result<Self, ValueError> {
        if bytes.is_empty() { Ok(()) } else { Err(ValueError::Long) }
    }
}
