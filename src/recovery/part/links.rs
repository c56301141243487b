//! What members found for each other, carried in files while they are apart.
//!
//! A file is for one member. It begins with a line that says what it is and a line of JSON ([`Head`]); then the rows, each with its key of 12
//! bytes and its length in four, most significant byte first; at the end the SHA-256 of all that stands before. A row that came already is
//! passed over, so a file may be brought again and again. Rows stay where they were found until the members are merged (I13): only those
//! that the other says it has are not written again.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{PartError, Result, Side, share_of, with_map};
use crate::base::disk::own;
use crate::domain::cluster::map::{Map, MemberId};
use crate::recovery::checkpoint::files;
use crate::storage::keys::{Key, KeyRange, RowKey, after};
use crate::storage::share::{Share, may_go_on};
use crate::storage::tables::Outbox;
use crate::storage::values::{Handed, Membership, OutboxRow, Received, Value};
use crate::storage::{Batch, read};

const MAGIC: &[u8] = b"lycosa links 1\n";
/// Rows read, and committed, at a time.
const CHUNK: usize = 200;
const DIGEST: u64 = 32;
/// Most bytes of the line of JSON.
const HEAD_CAP: u64 = 1 << 20;
/// Most bytes of a row.
const ROW_CAP: u64 = 32 << 20;
const NO_FILE: &str = "no whole file of links: it is damaged, or something else";

/// What a file says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    /// Seed of the keys, sixteen hexadecimal digits.
    seed: String,
    /// Who wrote it, and for whom it is.
    from: MemberId,
    to: MemberId,
    /// Members that were merged into the writer.
    also: Vec<MemberId>,
    /// Of the rows that the writer itself has for the other all are in the file that have a greater number.
    after: u64,
    /// The last row that the writer has of each way to it: sender, addressee, number. Of a way that is not there it has none.
    got: Vec<(MemberId, MemberId, u64)>,
    /// Who has what, as the writer knows it.
    map: Map,
}

impl Head {
    /// What the writer has of this member's rows, as of now: less than before when it was put back to a checkpoint.
    fn receipts(&self, own: MemberId, handed: &mut Handed) {
        for (to, of) in handed.out.iter_mut().filter(|(to, _)| **to == self.from || self.also.contains(to)) {
            of.theirs = self.got.iter().find(|way| (way.0, way.1) == (own, *to)).map_or(0, |way| way.2);
            of.next = of.next.max(of.theirs + 1);
        }
    }

    /// What is said when rows before those of the file are missing.
    fn missing(&self, share: &Share) -> String {
        let (from, own) = (share.name_of(self.from), share.name());
        format!(
            "rows before those in it are missing, which were in an earlier file: bring that first; where there is none (this folder was put \
             back to a checkpoint), carry what {own} exports now to {from}, whose next file has them again"
        )
    }
}

/// A file that was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "each name says it")]
pub struct Written {
    pub file: PathBuf,
    pub to: String,
    pub rows: u64,
    pub links: u64,
}

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "each name says it")]
pub struct Brought {
    pub file: PathBuf,
    pub from: String,
    /// Rows that were news, and links in them.
    pub rows: u64,
    pub links: u64,
    /// Rows that came before.
    pub known: u64,
}

/// Writes what this member has for each other one into a folder.
///
/// # Errors
/// [`PartError`].
pub fn export(side: &Side<'_>, dir: &Path) -> Result<Vec<Written>> {
    may_go_on(side.storage)?;
    let member = side.member()?.ok_or_else(|| PartError::Whole(side.data.clone()))?;
    let (share, handed) = (share_of(&member)?, read::meta::<Handed>(side.storage, ())?.unwrap_or_default());
    let received = read::meta::<Received>(side.storage, ())?.unwrap_or_default();
    files::make_dir(dir)?;
    let mut written = Vec::new();
    for other in share.others().filter(|other| !share.map.owned_by(other.id).is_empty()) {
        written.push(write(side, (&share, &handed, &received), other.id, dir)?);
    }
    Ok(written)
}

fn write(
    side: &Side<'_>,
    (share, handed, received): (&Share, &Handed, &Received),
    to: MemberId,
    dir: &Path,
) -> Result<Written> {
    let sent = handed.out.get(&to).map_or(0, |of| of.theirs);
    let got = received.got.iter().map(|((from, to), last)| (*from, *to, *last)).collect();
    let seed = format!("{:016x}", side.seed()?);
    let head = Head { seed, from: share.own, to, also: share.also.clone(), after: sent, got, map: share.map.clone() };
    let file = dir.join(format!("{}-to-{}.links", share.name(), share.name_of(to)));
    let new = file.with_extension("new");
    let failed = || PartError::io("write", &new);
    let mut out = Hashed { out: BufWriter::new(own::create(&new).map_err(failed())?), sha: Sha256::new() };
    let head = serde_json::to_vec(&head).unwrap_or_default();
    [MAGIC, &head, b"\n"].iter().try_for_each(|part| out.put(part)).map_err(failed())?;
    let (mut rows, mut links, mut range) = (0, 0, KeyRange::all());
    loop {
        let found = read::scan::<Outbox>(side.storage, &range, CHUNK)?;
        let next = found.last().filter(|_| found.len() == CHUNK).map(|(key, _)| after(&key.encode()));
        for (key, row) in found {
            if key.to == to && (key.from != share.own || key.number > sent) {
                let value = row.encode();
                let length = u32::try_from(value.len()).unwrap_or(u32::MAX).to_be_bytes();
                [&key.encode()[..], &length, &value].iter().try_for_each(|part| out.put(part)).map_err(failed())?;
                (rows, links) = (rows + 1, links + row.links);
            }
        }
        match next {
            Some(next) => range.from = next,
            None => break,
        }
    }
    out.end().map_err(failed())?;
    files::rename(&new, &file)?;
    Ok(Written { file, to: share.name_of(to), rows, links })
}

/// Writes, and hashes what was written.
struct Hashed {
    out: BufWriter<File>,
    sha: Sha256,
}

impl Hashed {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sha.update(bytes);
        self.out.write_all(bytes)
    }

    fn end(mut self) -> io::Result<()> {
        self.out.write_all(&self.sha.finalize())?;
        self.out.flush()?;
        self.out.get_ref().sync_all()
    }
}

/// Brings a file that another member wrote: its rows are taken in when the crawl runs next.
///
/// # Errors
/// [`PartError::Links`] for a file that is none, is damaged, or is not for this member.
pub fn import(side: &Side<'_>, path: &Path) -> Result<Brought> {
    may_go_on(side.storage)?;
    let member = side.member()?.ok_or_else(|| PartError::Whole(side.data.clone()))?;
    let share = share_of(&member)?;
    let wrong = |problem: &str| PartError::Links { path: path.to_owned(), problem: problem.to_owned() };
    let mut file = Source::open(path)?;
    let head = &file.head;
    if head.seed != format!("{:016x}", side.seed()?) {
        return Err(wrong("links of another crawl: its keys have another seed"));
    }
    if !share.is_me(head.to) {
        let (own, to) = (share.name(), head.map.numbered(head.to).map_or_else(String::new, |to| to.name.clone()));
        return Err(wrong(&format!("these links are for {to}, not for {own}")));
    }
    let mut handed = read::meta::<Handed>(side.storage, ())?.unwrap_or_default();
    let mut received = read::meta::<Received>(side.storage, ())?.unwrap_or_default();
    head.receipts(share.own, &mut handed);
    let mut brought = Brought {
        file: path.to_owned(),
        from: head.map.numbered(head.from).map_or_else(String::new, |from| from.name.clone()),
        rows: 0,
        links: 0,
        known: 0,
    };
    let (mut batch, newer) = (
        Batch::new(),
        newer(&share, &member, &head.map).map_err(|()| {
            wrong("its map of members and that of this folder say different things of what is this folder's own")
        })?,
    );
    newer.iter().for_each(|member| batch.put_meta((), member));
    batch.put_meta((), &handed); // what the other has holds, whatever becomes of the rows
    if head.after > received.got.get(&(head.from, head.to)).copied().unwrap_or_default() {
        side.storage.write(&batch)?;
        side.storage.sync()?;
        return Err(wrong(&head.missing(&share)));
    }
    while let Some((key, row)) = file.row()? {
        let last = received.got.entry((key.from, key.to)).or_default();
        if key.number <= *last {
            brought.known += 1;
            continue;
        }
        *last = key.number;
        (brought.rows, brought.links) = (brought.rows + 1, brought.links + row.links);
        batch.put::<Outbox>(&key, &row);
        if batch.len() >= CHUNK {
            batch.put_meta((), &received);
            side.storage.write(&batch)?;
            batch.clear();
        }
    }
    batch.put_meta((), &received);
    side.storage.write(&batch)?;
    side.storage.sync()?;
    Ok(brought)
}

/// A file that is read row by row.
struct Source {
    path: PathBuf,
    head: Head,
    rows: io::Take<BufReader<File>>,
}

impl Source {
    /// Opens a file that is whole, and reads its head.
    fn open(path: &Path) -> Result<Self> {
        let failed = || PartError::io("read", path);
        let wrong = || PartError::Links { path: path.to_owned(), problem: NO_FILE.to_owned() };
        let not = |problem: &str| PartError::Links { path: path.to_owned(), problem: problem.to_owned() };
        let mut file = File::open(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => not("there is no such file"),
            _ => failed()(error),
        })?;
        let about = file.metadata().map_err(failed())?;
        if about.is_dir() {
            return Err(not("that is a folder: name the files in it that are for this member"));
        }
        let length = about.len().checked_sub(DIGEST).ok_or_else(wrong)?;
        let (_, found) = files::digest_of(&file, length, |_| Ok(())).map_err(failed())?;
        let mut digest = Vec::new();
        file.seek(SeekFrom::Start(length)).and_then(|_| file.read_to_end(&mut digest)).map_err(failed())?;
        if files::hex(&digest) != found {
            return Err(wrong());
        }
        file.rewind().map_err(failed())?;
        let mut rows = BufReader::new(file).take(length);
        let mut magic = vec![0; MAGIC.len()];
        rows.read_exact(&mut magic).map_err(|_| wrong())?;
        let mut head = Vec::new();
        rows.by_ref().take(HEAD_CAP).read_until(b'\n', &mut head).map_err(failed())?;
        let head: Head = serde_json::from_slice(&head).ok().filter(|_| magic == MAGIC).ok_or_else(wrong)?;
        Map::read(&head.map.text())?; // with all that a map must keep
        Ok(Self { path: path.to_owned(), head, rows })
    }

    /// The next row.
    fn row(&mut self) -> Result<Option<(RowKey, OutboxRow)>> {
        if self.rows.limit() == 0 {
            return Ok(None);
        }
        let mut begin = [0; RowKey::LEN + 4];
        self.rows.read_exact(&mut begin).map_err(PartError::io("read", &self.path))?;
        let (key, length) = begin.split_at(RowKey::LEN);
        let length = length.iter().fold(0, |all, byte| all << 8 | u64::from(*byte));
        let mut value = Vec::new();
        if length <= self.rows.limit().min(ROW_CAP) {
            self.rows.by_ref().take(length).read_to_end(&mut value).map_err(PartError::io("read", &self.path))?;
        }
        let row = OutboxRow::decode(&value).ok().filter(|row| row.unpack().is_ok());
        let wrong = || PartError::Links { path: self.path.clone(), problem: "a row that cannot be read".to_owned() };
        RowKey::decode(key).ok().zip(row).map(Some).ok_or_else(wrong)
    }
}

/// The record with the map of another, when that is newer and leaves this folder what it has.
fn newer(share: &Share, member: &Membership, map: &Map) -> std::result::Result<Option<Membership>, ()> {
    if map.version <= share.map.version {
        return if map.version == share.map.version && *map != share.map { Err(()) } else { Ok(None) };
    }
    if map.owned_by(share.own) != *share.mine() {
        return Err(());
    }
    Ok(Some(with_map(member, map)))
}

/// What there is for each other member, by its name: rows, bytes, links.
///
/// # Errors
/// The storage's own.
pub fn waiting(side: &dyn crate::storage::Storage, share: &Share) -> Result<BTreeMap<String, (u64, u64, u64)>> {
    let handed = read::meta::<Handed>(side, ())?.unwrap_or_default();
    let others = handed.out.iter().filter(|(to, _)| !share.is_me(**to));
    Ok(others.map(|(to, of)| (share.name_of(*to), (of.rows, of.bytes, of.links))).collect())
}
