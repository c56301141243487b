//! Names of the single records in `meta`.

use super::{Key, KeyError};
use crate::domain::fingerprint::{CrawlId, HostKey};

/// The name of a single record: ASCII, with a number of four (crawl) or sixteen (commit, host) hexadecimal digits behind a slash
/// where there are several of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MetaKey {
    /// Version and seed of the folder.
    Format,
    /// Counters of a crawl.
    Counters(CrawlId),
    /// A host that joined the scope of a crawl.
    Joined(CrawlId, HostKey),
    /// Hosts of which orders of the operator stand, in a crawl.
    Orders(CrawlId),
    /// Lengths of the output files as of this commit.
    FileLengths,
    /// Whether the last run ended cleanly.
    Run,
    /// What the clocks said at the last commit.
    Clock,
    /// What was changed while the crawl ran.
    Settings,
    /// Which feed this is, and where it begins.
    Feed,
    /// Who reads the feed, and how far each is.
    Consumers,
    /// What all accounts of link credit hold together, in a crawl.
    Credit(CrawlId),
    /// What cards of pages were made by.
    Cards,
    /// Which member of a crawl in parts this folder is.
    Member,
    /// What it has for others.
    Handed,
    /// What it has from others.
    Received,
    /// Pages committed since the last barrier, one record a commit.
    Unsynced(u64),
    /// Lines of `crawl.jsonl` written since the last barrier, one record a commit.
    Lines(u64),
}

const FORMAT: &str = "format";
const COUNTERS: &str = "counters/";
const JOINED: &str = "joined/";
const ORDERS: &str = "orders/";
const TAILS: &str = "tails";
const RUN: &str = "run";
const CLOCK: &str = "clock";
const SETTINGS: &str = "settings";
const FEED: &str = "feed";
const CONSUMERS: &str = "consumers";
const CARDS: &str = "cards";
const MEMBER: &str = "member";
const HANDED: &str = "handed";
const RECEIVED: &str = "received";
const CREDIT: &str = "credit/";
const UNSYNCED: &str = "unsynced/";
const LINES: &str = "lines/";

impl Key for MetaKey {
    fn encode(&self) -> Vec<u8> {
        match self {
            Self::Format => FORMAT.into(),
            Self::Counters(crawl) => format!("{COUNTERS}{:04x}", crawl.0).into_bytes(),
            Self::Joined(crawl, host) => {
                format!("{JOINED}{:04x}/{:016x}", crawl.0, u64::from_be_bytes(host.0)).into_bytes()
            }
            Self::Orders(crawl) => format!("{ORDERS}{:04x}", crawl.0).into_bytes(),
            Self::FileLengths => TAILS.into(),
            Self::Run => RUN.into(),
            Self::Clock => CLOCK.into(),
            Self::Settings => SETTINGS.into(),
            Self::Feed => FEED.into(),
            Self::Consumers => CONSUMERS.into(),
            Self::Cards => CARDS.into(),
            Self::Member => MEMBER.into(),
            Self::Handed => HANDED.into(),
            Self::Received => RECEIVED.into(),
            Self::Credit(crawl) => format!("{CREDIT}{:04x}", crawl.0).into_bytes(),
            Self::Unsynced(number) => format!("{UNSYNCED}{number:016x}").into_bytes(),
            Self::Lines(number) => format!("{LINES}{number:016x}").into_bytes(),
        }
    }

    fn decode(bytes: &[u8]) -> Result<Self, KeyError> {
        let name = std::str::from_utf8(bytes).map_err(|_| KeyError::Name)?;
        let key = match name {
            FORMAT => Self::Format,
            TAILS => Self::FileLengths,
            RUN => Self::Run,
            CLOCK => Self::Clock,
            SETTINGS => Self::Settings,
            FEED => Self::Feed,
            CONSUMERS => Self::Consumers,
            CARDS => Self::Cards,
            MEMBER => Self::Member,
            HANDED => Self::Handed,
            RECEIVED => Self::Received,
            _ => numbered(name).ok_or(KeyError::Name)?,
        };
        // `from_str_radix` takes more spellings than we write.
        if key.encode() == bytes { Ok(key) } else { Err(KeyError::Name) }
    }
}

/// A name with a number behind it.
fn numbered(name: &str) -> Option<MetaKey> {
    let number = |digits: &str| u64::from_str_radix(digits, 16).ok();
    let crawl = |digits: &str| number(digits).and_then(|n| u16::try_from(n).ok()).map(CrawlId);
    if let Some(digits) = name.strip_prefix(COUNTERS) {
        crawl(digits).map(MetaKey::Counters)
    } else if let Some((digits, host)) = name.strip_prefix(JOINED).and_then(|digits| digits.split_once('/')) {
        Some(MetaKey::Joined(crawl(digits)?, HostKey(number(host)?.to_be_bytes())))
    } else if let Some(digits) = name.strip_prefix(ORDERS) {
        crawl(digits).map(MetaKey::Orders)
    } else if let Some(digits) = name.strip_prefix(CREDIT) {
        crawl(digits).map(MetaKey::Credit)
    } else if let Some(digits) = name.strip_prefix(LINES) {
        number(digits).map(MetaKey::Lines)
    } else {
        name.strip_prefix(UNSYNCED).and_then(number).map(MetaKey::Unsynced)
    }
}
