//! A crawl in parts: which member this folder is, and the links that members have for each other.

use std::collections::BTreeMap;

use super::wire::{Reader, Wire, fields};
use super::{SeedValue, Value, ValueError};
use crate::base::time::UnixMillis;
use crate::domain::cluster::map::MemberId;
use crate::domain::found_as::FoundAs;
use crate::domain::reason::Rejection;

/// Most bytes of a row, unless it has one link only.
pub const ROW_CAP: usize = 64 << 10;
/// Bytes of links that are tried as one row.
const TOGETHER: usize = 512 << 10;
/// Most bytes that a row unpacks to.
const UNPACKED_CAP: usize = 16 << 20;
/// Level of zstd.
const LEVEL: i32 = 1;

fields! {
    /// Which member of a crawl this folder is; none: it has the whole crawl.
    Membership {
        /// Who has what: the text of a [`Map`](crate::domain::cluster::map::Map).
        map: String,
        /// Which of its members this is.
        own: MemberId,
        /// Members that were merged into this one.
        also: Vec<MemberId>,
        /// What is under way between this folder and another, as JSON: until it is done nobody else may change either.
        work: Option<String>,
        /// Who has all of it now: this folder is a crawl no more.
        merged: Option<String>,
        /// Bytes at the beginning of `crawl.jsonl` that are copied from that member's.
        lines: Option<(MemberId, u64)>,
        /// What the folder has of the partitions, as JSON ([`Held`](crate::domain::cluster::held::Held)); none: what the map says.
        held: Option<String>,
    }
}

fields! {
    /// What there is for another member, also of those that were merged into this one.
    #[derive(Default)]
    OutTo {
        /// The least number that the next row may have; it is that of its time, in milliseconds since 1970, if that is more.
        next: u64,
        /// Rows that are kept.
        rows: u64,
        /// Their bytes.
        bytes: u64,
        /// Links in them.
        links: u64,
        /// The last row that it says it has.
        theirs: u64,
    }
}

fields! {
    /// What this member has for others. The ledger alone writes it.
    #[derive(Default)]
    Handed {
        /// By who is to have it.
        out: BTreeMap<MemberId, OutTo>,
    }
}

fields! {
    /// What this member has from others. Who receives rows alone writes it, with them.
    #[derive(Default)]
    Received {
        /// By sender and addressee: the last row that came.
        got: BTreeMap<(MemberId, MemberId), u64>,
    }
}

fields! {
    /// A row, packed by zstd.
    OutboxRow {
        /// Links in it.
        links: u64,
        /// [`HandedLinks`], packed.
        packed: Vec<u8>,
    }
}

fields! {
    /// What is in a row.
    #[derive(Default)]
    HandedLinks {
        /// The links.
        links: Vec<HandedLink>,
        /// What was said of seeds among them, and of those they go back to.
        said: Vec<SeedValue>,
    }
}

impl OutTo {
    /// A row is kept no longer.
    pub fn less(&mut self, row: &OutboxRow) {
        self.rows = self.rows.saturating_sub(1);
        self.links = self.links.saturating_sub(row.links);
        self.bytes = self.bytes.saturating_sub(row.packed.len() as u64);
    }

    /// The last row that was ever made; 0 for none.
    pub fn last(&self) -> u64 {
        self.next.saturating_sub(1)
    }
}

/// A link with all that its owner cannot know.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each name says it; they are those of `NewUrl`")]
pub struct HandedLink {
    pub url: String,
    pub spelling: Option<String>,
    pub depth: u16,
    pub limit: Option<u16>,
    pub hops: u8,
    pub seed: bool,
    pub via: Option<String>,
    pub origin: Option<String>,
    pub found: FoundAs,
    pub priority: Option<u8>,
    /// It comes after all others of its host.
    pub last: bool,
    pub lastmod: Option<UnixMillis>,
    /// Why its page says that it is not to be followed.
    pub refused: Option<Rejection>,
    /// Link credit that goes along.
    pub units: u128,
}

const SEED: u8 = 1;
const LAST: u8 = 2;

impl Wire for HandedLink {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(if self.seed { SEED } else { 0 } | if self.last { LAST } else { 0 });
        out.push(self.found.code());
        self.url.put(out);
        self.spelling.put(out);
        self.depth.put(out);
        self.limit.put(out);
        self.hops.put(out);
        self.via.put(out);
        self.origin.put(out);
        self.priority.put(out);
        self.lastmod.put(out);
        self.refused.put(out);
        self.units.put(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, ValueError> {
        let flags = from.byte()?;
        if flags > SEED | LAST {
            return Err(ValueError::Tag("kind of link"));
        }
        let found = FoundAs::from_code(from.byte()?).ok_or(ValueError::Tag("way of being found"))?;
        Ok(Self {
            seed: flags & SEED != 0,
            last: flags & LAST != 0,
            found,
            url: Wire::read(from)?,
            spelling: Wire::read(from)?,
            depth: Wire::read(from)?,
            limit: Wire::read(from)?,
            hops: Wire::read(from)?,
            via: Wire::read(from)?,
            origin: Wire::read(from)?,
            priority: Wire::read(from)?,
            lastmod: Wire::read(from)?,
            refused: Wire::read(from)?,
            units: Wire::read(from)?,
        })
    }
}

impl HandedLink {
    /// About how many bytes it has, unpacked.
    fn bytes(&self) -> usize {
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        self.url.len() + text(&self.spelling) + text(&self.via) + text(&self.origin) + 32
    }
}

impl HandedLinks {
    /// The rows they make, each of at most [`ROW_CAP`] bytes, unless a single link has more.
    pub fn into_rows(self) -> Vec<OutboxRow> {
        let Self { links, mut said } = self;
        let (mut rows, mut chunk, mut bytes) = (Vec::new(), Vec::new(), 0);
        let mut pack = |links: Vec<HandedLink>| rows_of(Self { links, said: std::mem::take(&mut said) }, &mut rows);
        for link in links {
            bytes += link.bytes();
            chunk.push(link);
            if bytes >= TOGETHER {
                pack(std::mem::take(&mut chunk));
                bytes = 0;
            }
        }
        if !chunk.is_empty() {
            pack(chunk);
        }
        rows
    }
}

fn rows_of(mut handed: HandedLinks, rows: &mut Vec<OutboxRow>) {
    let packed = zstd::bulk::compress(&handed.encode(), LEVEL).unwrap_or_default(); // into memory: it cannot fail
    if packed.len() <= ROW_CAP || handed.links.len() < 2 {
        rows.push(OutboxRow { links: handed.links.len() as u64, packed });
        return;
    }
    let links = handed.links.split_off(handed.links.len() / 2);
    rows_of(handed, rows);
    rows_of(HandedLinks { links, said: Vec::new() }, rows);
}

impl OutboxRow {
    /// Its links.
    ///
    /// # Errors
    /// What does not unpack, or to something else.
    pub fn unpack(&self) -> Result<HandedLinks, ValueError> {
        let bytes = zstd::bulk::decompress(&self.packed, UNPACKED_CAP).map_err(|_| ValueError::Packed)?;
        HandedLinks::decode(&bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(nth: usize, noise: usize) -> HandedLink {
        // No two bytes alike for zstd to save.
        let tail: String = (0..noise).map(|at| char::from(b'a' + ((nth * 7 + at * at * 31 + at) % 26) as u8)).collect();
        HandedLink {
            url: format!("http://h{nth}.test/{tail}"),
            spelling: None,
            depth: 3,
            limit: Some(7),
            hops: 1,
            seed: nth.is_multiple_of(2),
            via: Some("http://a.test/".into()),
            origin: Some("http://a.test/".into()),
            found: FoundAs::Link,
            priority: Some(50),
            last: nth.is_multiple_of(3),
            lastmod: Some(UnixMillis(7)),
            refused: nth.is_multiple_of(5).then_some(Rejection::Nofollow),
            units: 1 << 70,
        }
    }

    #[test]
    fn links_come_back_from_their_rows_in_their_order_and_what_is_said_of_seeds_once() {
        let said = vec![SeedValue {
            url: "http://a.test/".into(),
            added: UnixMillis(1),
            rank: Some(1),
            weight: None,
            max_depth: Some(2),
            tags: vec!["x".into()],
            cycle: None,
            guessed: false,
        }];
        for (count, noise) in [(1, 0), (3, 10), (2_000, 200), (500, 2_000), (2, 100_000)] {
            let links: Vec<_> = (0..count).map(|nth| link(nth, noise)).collect();
            let rows = HandedLinks { links: links.clone(), said: said.clone() }.into_rows();
            assert!(rows.iter().all(|row| row.packed.len() <= ROW_CAP || row.links == 1), "{count} {noise}");
            let back: Vec<_> = rows.iter().map(|row| row.unpack().unwrap()).collect();
            assert_eq!(back.iter().flat_map(|part| part.links.clone()).collect::<Vec<_>>(), links);
            assert_eq!(back.iter().flat_map(|part| part.said.clone()).collect::<Vec<_>>(), said);
        }
        assert!(HandedLinks::default().into_rows().is_empty());
    }

    #[test]
    fn what_is_said_of_members_and_rows_comes_back_and_less_or_more_is_refused() {
        fn comes_back<V: Value + PartialEq + std::fmt::Debug>(value: V) {
            let bytes = value.encode();
            assert_eq!(V::decode(&bytes).unwrap(), value);
            assert!(V::decode(&bytes[..bytes.len() - 1]).is_err());
            assert!(V::decode(&[&bytes[..], &[0]].concat()).is_err());
        }
        let (a, b) = (MemberId(0), MemberId(300));
        comes_back(Membership {
            map: "{}".into(),
            own: b,
            also: vec![a],
            work: Some("x".into()),
            merged: None,
            lines: Some((a, 1 << 40)),
            held: Some("{}".into()),
        });
        let out = OutTo { next: 7, rows: 6, bytes: 1 << 33, links: 9, theirs: 2 };
        comes_back(Handed { out: [(a, out.clone()), (b, out)].into() });
        comes_back(Received { got: [((a, b), 7), ((b, a), 9)].into() });
        comes_back(OutboxRow { links: 2, packed: vec![1, 2, 3] });
    }

    #[test]
    fn garbage_is_no_row() {
        for packed in [vec![], vec![1, 2, 3], zstd::bulk::compress(&[9; 100], 1).unwrap()] {
            assert!(OutboxRow { links: 1, packed }.unpack().is_err());
        }
    }
}
