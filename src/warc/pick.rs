//! Reads one response by its place, whole and checked.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::digest::WarcDigest;
use super::http_head::{Coding, head_len, transfer_coding};
use super::name::open_name;
use super::reader::{ReadError, WarcHeader, WarcReader};
use super::scan::MAX_HEAD;
use crate::document::chunks;

/// A response as stored.
#[derive(Debug)]
pub struct Picked {
    /// The header of its record.
    pub header: WarcHeader,
    /// Its HTTP head.
    pub head: Vec<u8>,
    /// Its body without transfer coding, however it is stored; content coding kept.
    pub body: Vec<u8>,
}

/// Why a response cannot be shown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PickError {
    /// The file is not there any more.
    #[error("the archive file {0} is not in the folder any more: it was moved, or copied elsewhere and removed")]
    Gone(String),
    /// It is larger than is read at a time.
    #[error("the record has {size} bytes, more than the {most} that are read here; read it from {file} at {offset}")]
    TooLarge {
        /// Bytes of the record's content.
        size: u64,
        /// Most that are read.
        most: u64,
        /// The file.
        file: String,
        /// Where it begins.
        offset: u64,
    },
    /// The record is damaged, not yet on the disk, or another.
    #[error("the record in {file} at {offset} cannot be read: {why}")]
    Damaged {
        /// The file.
        file: String,
        /// Where it begins.
        offset: u64,
        /// What is wrong with it.
        why: String,
    },
}

/// Reads the response that stands in `file` (its final name) of `dir` at `offset`; the file may still be open. Its digests are
/// checked. At most `most` bytes are read.
pub fn response_at(dir: &Path, file: &str, offset: u64, most: u64) -> Result<Picked, PickError> {
    let damaged = |why: String| PickError::Damaged { file: file.to_owned(), offset, why };
    let unread = |e: ReadError| damaged(e.to_string());
    let mut reader = opened(dir, file, offset).map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => PickError::Gone(file.to_owned()),
        _ => damaged(e.to_string()),
    })?;
    let header = reader.next_record().map_err(unread)?.ok_or_else(|| damaged("the file ends before it".into()))?;
    if header.kind() != "response" {
        return Err(damaged(format!("it is a record of the type {:?}", header.kind())));
    }
    let size = header.content_length;
    if size > most {
        return Err(PickError::TooLarge { size, most, file: file.to_owned(), offset });
    }
    let mut content = Vec::new();
    reader.content().read_to_end(&mut content).map_err(|e| damaged(e.to_string()))?;
    reader.finish().map_err(unread)?;
    picked(header, content).map_err(damaged)
}

/// Head and body of the content of a response, or of a revisit, which has the head alone. Digests that the header names are checked.
///
/// # Errors
/// What is wrong with it.
pub fn picked(header: WarcHeader, mut content: Vec<u8>) -> Result<Picked, String> {
    let said = |name| header.get(name).and_then(|digest| digest.parse::<WarcDigest>().ok());
    if said("WARC-Block-Digest").is_some_and(|digest| digest != WarcDigest::of(&content)) {
        return Err("its content does not have its WARC-Block-Digest".into());
    }
    let end = head_len(&content).ok_or("it has no HTTP head")?;
    let mut body = content.split_off(end);
    if header.kind() == "revisit" {
        return Ok(Picked { header, head: content, body });
    }
    match transfer_coding(&content) {
        Coding::Plain => {}
        Coding::Chunked => body = chunks::payload(&body).map_err(|e| e.to_string())?,
        Coding::Other => return Err("its transfer coding is not known".into()),
    }
    if said("WARC-Payload-Digest").is_some_and(|digest| digest != WarcDigest::of(&body)) {
        return Err("its body does not have its WARC-Payload-Digest".into());
    }
    Ok(Picked { header, head: content, body })
}

/// Header and HTTP head of the response or revisit that stands in `file` (its final name) of `dir` at `offset`; no body, and no digest is
/// checked.
///
/// # Errors
/// It cannot be read so far.
pub fn head_at(dir: &Path, file: &str, offset: u64) -> Result<Picked, PickError> {
    let damaged = |why: String| PickError::Damaged { file: file.to_owned(), offset, why };
    let mut reader = opened(dir, file, offset).map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => PickError::Gone(file.to_owned()),
        _ => damaged(e.to_string()),
    })?;
    let header = reader.next_record().map_err(|e| damaged(e.to_string()))?;
    let header = header.ok_or_else(|| damaged("the file ends before it".into()))?;
    let (mut head, mut piece) = (Vec::new(), [0; 4 << 10]);
    loop {
        if let Some(end) = head_len(&head) {
            head.truncate(end);
            return Ok(Picked { header, head, body: Vec::new() });
        }
        match reader.content().read(&mut piece).map_err(|e| damaged(e.to_string()))? {
            n if n > 0 && head.len() < MAX_HEAD => head.extend_from_slice(piece.get(..n).unwrap_or_default()),
            _ => return Err(damaged("it has no HTTP head".into())),
        }
    }
}

/// How a URL was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Way {
    /// The page that led to it; none of a seed.
    pub via: Option<String>,
    /// One letter a hop from its seed; empty for a seed.
    pub hops: String,
}

/// Bytes read at a time.
const PIECE: usize = 64 << 10;
/// Records looked at for one way: response, request, and one of metadata.
const OF_A_PAGE: usize = 4;
/// Bytes of metadata read: the way stands before the links.
const WAY: u64 = 16 << 10;

/// The way to the page whose capture begins at `offset`, as its metadata record tells it; none when there is no such record, or the
/// file is gone.
pub fn way_at(dir: &Path, file: &str, offset: u64, url: &str) -> Option<Way> {
    let fields = metadata_at(dir, file, offset, url, WAY)?;
    let value = |name: &str| fields.lines().find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned()));
    Some(Way { via: value("via:"), hops: value("hopsFromSeed:").unwrap_or_default() })
}

/// The first `most` bytes of the metadata record of the page whose capture begins at `offset`; none when there is no such record, or it
/// cannot be read. `url`: as it was asked for.
pub fn metadata_at(dir: &Path, file: &str, offset: u64, url: &str, most: u64) -> Option<String> {
    let mut reader = opened(dir, file, offset).ok()?;
    for _ in 0..OF_A_PAGE {
        let header = reader.next_record().ok()??;
        if header.target() != Some(url) {
            return None;
        }
        if header.kind() == "metadata" {
            let mut fields = Vec::new();
            reader.content().take(most).read_to_end(&mut fields).ok()?;
            return Some(String::from_utf8_lossy(&fields).into_owned());
        }
        reader.finish().ok()?;
    }
    None
}

/// A reader of what begins at `offset`.
fn opened(dir: &Path, file: &str, offset: u64) -> io::Result<WarcReader<io::BufReader<File>>> {
    let mut found = opened_file(dir, file)?;
    found.seek(SeekFrom::Start(offset))?;
    Ok(WarcReader::new(io::BufReader::with_capacity(PIECE, found), offset))
}

/// Opens a file under its final name, or under that of an open file, which may be closed in this moment.
///
/// # Errors
/// The system's own.
pub fn opened_file(dir: &Path, file: &str) -> io::Result<File> {
    if file.contains(['/', '\\']) {
        return Err(io::ErrorKind::NotFound.into());
    }
    let closed = || File::open(dir.join(file));
    closed().or_else(|_| File::open(dir.join(open_name(file)))).or_else(|_| closed())
}

impl Picked {
    /// The fields of the HTTP head; bytes that are no UTF-8 are replaced.
    pub fn fields(&self) -> Vec<(String, String)> {
        let head = String::from_utf8_lossy(&self.head);
        let found = head.lines().skip(1).filter_map(|line| line.split_once(':'));
        found.map(|(field, value)| (field.trim().to_owned(), value.trim().to_owned())).collect()
    }

    /// The first value of a field of the HTTP head.
    pub fn field(&self, name: &str) -> Option<String> {
        self.values(name).next()
    }

    /// All values of a field of the HTTP head joined by `, ` (RFC 9110 section 5.3); none if there is none.
    pub fn field_list(&self, name: &str) -> Option<String> {
        let all: Vec<String> = self.values(name).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }

    fn values(&self, name: &str) -> impl Iterator<Item = String> {
        let named = move |(field, value): (String, String)| field.eq_ignore_ascii_case(name).then_some(value);
        self.fields().into_iter().filter_map(named)
    }
}
