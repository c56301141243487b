//! Keys: fixed width, big-endian, led by the partition, so that bytes sort as the fields do. Byte by byte in `docs/storage.md`.

mod meta;
mod part;
mod range;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;

use crate::base::time::UnixMillis;
use crate::domain::cluster::map::MemberId;
use crate::domain::fingerprint::{CrawlId, Fingerprinter, HostKey, UrlKey};
use crate::domain::host::registrable_domain;
use crate::domain::near::{Band, Sketch, TABLES};
use crate::domain::partition::Partition;
use crate::domain::url::{PageUrl, Scheme};

pub use crate::domain::fingerprint::ContentDigest;
pub use meta::MetaKey;
use part::Part;
pub use range::{KeyRange, after, successor};

/// Why bytes are no key of the kind asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what its fields are")]
pub enum KeyError {
    #[error("{kind} has {wanted} bytes, not {found}")]
    Length { kind: &'static str, wanted: usize, found: usize },
    #[error("{kind} has a {field} that does not exist")]
    Field { kind: &'static str, field: &'static str },
    #[error("no record of this name is known")]
    Name,
}

/// A key and its bytes.
pub trait Key: Sized {
    /// Its bytes on disk.
    fn encode(&self) -> Vec<u8>;

    /// The key with these bytes.
    ///
    /// # Errors
    /// When the width is another or a field has no such value.
    fn decode(bytes: &[u8]) -> Result<Self, KeyError>;
}

/// Declares a key as the row of its fields; the width is the sum of theirs, the order of its bytes that of the fields.
macro_rules! fixed_key {
    ($(#[$doc:meta])* $name:ident { $($(#[$fdoc:meta])* $field:ident: $ty:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(missing_docs, reason = "each name says it")]
        pub struct $name { $($(#[$fdoc])* pub $field: $ty,)* }

        impl $name {
            /// Bytes on disk.
            pub const LEN: usize = 0 $(+ <$ty as Part>::WIDTH)*;
        }

        impl Key for $name {
            fn encode(&self) -> Vec<u8> {
                let mut out = Vec::with_capacity(Self::LEN);
                $(self.$field.put(&mut out);)*
                out
            }

            fn decode(bytes: &[u8]) -> Result<Self, KeyError> {
                if bytes.len() != Self::LEN {
                    return Err(KeyError::Length { kind: stringify!($name), wanted: Self::LEN, found: bytes.len() });
                }
                let mut rest = bytes;
                $(let $field = <$ty as Part>::take(&mut rest)
                    .ok_or(KeyError::Field { kind: stringify!($name), field: stringify!($field) })?;)*
                Ok(Self { $($field,)* })
            }
        }
    };
}

fixed_key! {
    /// `queue`: one URL to fetch. Within a host and crawl by rank, then order, both ascending.
    QueueKey {
        partition: Partition,
        host: HostKey,
        crawl: CrawlId,
        /// 0 is fetched first.
        rank: u8,
        /// Place within the rank, unique in the crawl.
        order: u64,
    }
}

fixed_key! {
    /// `host_state`: one host.
    HostAt {
        partition: Partition,
        host: HostKey,
    }
}

fixed_key! {
    /// `host_counts`: one host in one crawl.
    HostCrawl {
        partition: Partition,
        host: HostKey,
        crawl: CrawlId,
    }
}

fixed_key! {
    /// `waiting`: a host that may be activated. Within a partition by best rank, then order.
    WaitingKey {
        partition: Partition,
        /// Best rank among the host's URLs.
        rank: u8,
        /// Place in the row; a host that yields gets a new one.
        order: u64,
        host: HostKey,
    }
}

fixed_key! {
    /// `parked`: a host that may not be activated before a time.
    ParkedKey {
        partition: Partition,
        /// Not before this.
        time: UnixMillis,
        host: HostKey,
    }
}

fixed_key! {
    /// `due`: a URL to fetch again, not before a time.
    DueKey {
        partition: Partition,
        /// Not before this.
        time: UnixMillis,
        host: HostKey,
        crawl: CrawlId,
        url: UrlKey,
    }
}

fixed_key! {
    /// `visits`: a URL to visit again, not before a time. Within a host and crawl by time.
    VisitKey {
        partition: Partition,
        host: HostKey,
        crawl: CrawlId,
        /// Not before this.
        time: UnixMillis,
        url: UrlKey,
    }
}

/// `visit_hosts`: the shape of [`ParkedKey`].
pub type VisitHostKey = ParkedKey;

fixed_key! {
    /// `seen`: one URL in one crawl. `rejected` has keys of the same shape.
    SeenKey {
        partition: Partition,
        host: HostKey,
        crawl: CrawlId,
        url: UrlKey,
    }
}

/// `rejected`: the shape of [`SeenKey`].
pub type RejectedKey = SeenKey;

fixed_key! {
    /// `pages`: one capture of a URL; the newest sorts first.
    PageKey {
        partition: Partition,
        host: HostKey,
        crawl: CrawlId,
        url: UrlKey,
        /// When it was captured; its bits are inverted on disk.
        captured: Reverse<UnixMillis>,
    }
}

fixed_key! {
    /// `robots`: one robots.txt.
    RobotsKey {
        partition: Partition,
        host: HostKey,
        /// http or https.
        scheme: Scheme,
        /// The effective port.
        port: u16,
    }
}

fixed_key! {
    /// `content`: a digest of a decoded payload.
    ContentKey {
        digest: ContentDigest,
    }
}

fixed_key! {
    /// `near`: a page that leads near-duplicates, in one of four tables (`domain::near`). Within a domain and table by its band.
    NearKey {
        partition: Partition,
        /// Key of the name of the registrable domain.
        domain: HostKey,
        /// 0 to 3.
        table: u8,
        /// Of the sketch of its text.
        band: Band,
        /// Its host.
        host: HostKey,
        /// The page.
        url: UrlKey,
    }
}

fixed_key! {
    /// `near_members`: a page near the leader of a group, behind it.
    NearMemberKey {
        partition: Partition,
        /// Host of the leader.
        host: HostKey,
        crawl: CrawlId,
        /// The leader.
        url: UrlKey,
        member_host: HostKey,
        member: UrlKey,
    }
}

fixed_key! {
    /// `feed`: one entry; 1 is the first that ever was.
    FeedKey {
        number: u64,
    }
}

fixed_key! {
    /// `notes`: what a fetched page gave to those it leads to.
    NoteKey {
        crawl: CrawlId,
        /// In the order of the commits.
        number: u64,
    }
}

fixed_key! {
    /// `outbox`: a row of links that one member has for another.
    RowKey {
        from: MemberId,
        to: MemberId,
        /// Rises, with gaps, and never comes again.
        number: u64,
    }
}

/// `credit`: the shape of [`SeenKey`].
pub type CreditKey = SeenKey;

impl From<ContentDigest> for ContentKey {
    fn from(digest: ContentDigest) -> Self {
        Self { digest }
    }
}

impl HostAt {
    /// The registrable domain of the host with this name: never the key of a host.
    pub fn domain(prints: &Fingerprinter, name: &str) -> HostKey {
        prints.host(&format!("domain {}", registrable_domain(name)))
    }

    /// The host with this name.
    pub fn of(prints: &Fingerprinter, name: &str) -> Self {
        Self { partition: Partition::of_host(name), host: prints.host(name) }
    }

    /// This host in `crawl`.
    pub fn crawl(self, crawl: CrawlId) -> HostCrawl {
        HostCrawl { partition: self.partition, host: self.host, crawl }
    }

    /// Its robots.txt of this scheme and port.
    pub fn robots(self, scheme: Scheme, port: u16) -> RobotsKey {
        RobotsKey { partition: self.partition, host: self.host, scheme, port }
    }

    /// Its entry in `waiting`.
    pub fn waiting(self, rank: u8, order: u64) -> WaitingKey {
        WaitingKey { partition: self.partition, rank, order, host: self.host }
    }

    /// Its entry in `parked`.
    pub fn parked(self, time: UnixMillis) -> ParkedKey {
        ParkedKey { partition: self.partition, time, host: self.host }
    }
}

impl NearKey {
    /// The rows of a page that leads, of the host with this name.
    pub fn rows(prints: &Fingerprinter, name: &str, page: SeenKey, sketch: &Sketch) -> [Self; TABLES as usize] {
        let SeenKey { partition, host, url, .. } = page;
        let domain = prints.host(registrable_domain(name));
        let mut rows = sketch.bands().map(|band| Self { partition, domain, table: 0, band, host, url });
        rows.iter_mut().zip(0..).for_each(|(row, table)| row.table = table);
        rows
    }

    /// The page, in this crawl.
    pub fn page(self, crawl: CrawlId) -> SeenKey {
        HostAt { partition: self.partition, host: self.host }.crawl(crawl).url(self.url)
    }
}

impl NearMemberKey {
    /// The leader.
    pub fn leader(self) -> SeenKey {
        let Self { partition, host, crawl, url, .. } = self;
        SeenKey { partition, host, crawl, url }
    }

    /// The page that is near it.
    pub fn page(self) -> SeenKey {
        let Self { partition, crawl, member_host: host, member: url, .. } = self;
        SeenKey { partition, host, crawl, url }
    }
}

impl HostCrawl {
    /// One URL of this host and crawl.
    pub fn url(self, url: UrlKey) -> SeenKey {
        SeenKey { partition: self.partition, host: self.host, crawl: self.crawl, url }
    }

    /// A queue entry of this host and crawl.
    pub fn queue(self, rank: u8, order: u64) -> QueueKey {
        QueueKey { partition: self.partition, host: self.host, crawl: self.crawl, rank, order }
    }
}

impl SeenKey {
    /// Whether it is the key of a purse in `credit`: the URL begins with eight zero bytes.
    pub fn is_purse(&self) -> bool {
        self.url.0.starts_with(&[0; 8])
    }

    /// This URL in this crawl.
    pub fn of(prints: &Fingerprinter, crawl: CrawlId, url: &PageUrl) -> Self {
        HostAt::of(prints, url.host()).crawl(crawl).url(prints.url(url))
    }

    /// The capture of this URL at that time.
    pub fn page(self, captured: UnixMillis) -> PageKey {
        let Self { partition, host, crawl, url } = self;
        PageKey { partition, host, crawl, url, captured: Reverse(captured) }
    }

    /// This URL among those of its host that are visited again.
    pub fn visit(self, time: UnixMillis) -> VisitKey {
        let Self { partition, host, crawl, url } = self;
        VisitKey { partition, host, crawl, time, url }
    }

    /// A page near this one, which leads its group. Both are of one domain, and so of one partition.
    pub fn near_member(self, member: Self) -> NearMemberKey {
        let Self { partition, host, crawl, url } = self;
        NearMemberKey { partition, host, crawl, url, member_host: member.host, member: member.url }
    }

    /// This URL in the row of retries and revisits.
    pub fn due(self, time: UnixMillis) -> DueKey {
        let Self { partition, host, crawl, url } = self;
        DueKey { partition, time, host, crawl, url }
    }
}

/// The part of a domain for all its parts that have no purse of their own.
pub const OTHERS: u32 = u32::MAX;

/// Number of the part of its domain that a URL belongs to, never 0 nor [`OTHERS`]: its host with the uppermost folder of its path.
pub fn part_of(prints: &Fingerprinter, host: &str, tail: &str) -> u32 {
    let path = tail.split(['?', '#']).next().unwrap_or_default().trim_start_matches('/');
    let top = path.split_once('/').map_or("", |(top, _)| top);
    let number = prints.text(&format!("{host}/{top}")) >> 32;
    u32::try_from(number).unwrap_or(1).clamp(1, OTHERS - 1)
}

/// The purse, for a page, of its domain (part 0) or of a part of it.
pub fn purse(page: SeenKey, domain: HostKey, part: u32) -> CreditKey {
    let mut url = [0; 12];
    url.iter_mut().skip(8).zip(part.to_be_bytes()).for_each(|(to, from)| *to = from);
    HostAt { partition: page.partition, host: domain }.crawl(page.crawl).url(UrlKey(url))
}

/// What a key says of its host, or of its URL, by the fields that both have.
macro_rules! less_of {
    ($($name:ident: $less:ident = $to:ident { $($field:ident),* };)*) => {$(
        impl $name {
            #[doc = concat!("The [`", stringify!($to), "`] in it.")]
            pub fn $less(self) -> $to {
                $to { $($field: self.$field),* }
            }
        }
    )*};
}

less_of! {
    HostCrawl: host_at = HostAt { partition, host };
    WaitingKey: host_at = HostAt { partition, host };
    ParkedKey: host_at = HostAt { partition, host };
    QueueKey: host_crawl = HostCrawl { partition, host, crawl };
    SeenKey: host_crawl = HostCrawl { partition, host, crawl };
    DueKey: seen = SeenKey { partition, host, crawl, url };
    VisitKey: seen = SeenKey { partition, host, crawl, url };
    PageKey: seen = SeenKey { partition, host, crawl, url };
}
