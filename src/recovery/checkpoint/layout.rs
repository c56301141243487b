//! What a place for copies holds. An object under a digest never changes, so what is there is not sent again.
//!
//! | key | |
//! |---|---|
//! | `checkpoints/NAME.json.zst` | what a copy is made of; written last, so that what has one is whole |
//! | `tables/SHA256` | a table file of the database |
//! | `pieces/SHA256.zst` | a piece of what grows, and the small files; the digest is that of the piece before zstd |
//! | `warc/FILE` | files of the archive; never removed |
//! | `unnamed.json.zst` | since when an object has been in no manifest |

use std::collections::{BTreeMap, HashMap};
use std::io::Read;

use serde::{Deserialize, Serialize};

use super::manifest::{LARGEST, Manifest, Stored, is_name, is_plain};
use super::pieces::Piece;
use super::place::{Place, put_bytes, read_small};
use super::{CheckpointError, Result, uploads};
use crate::storage::folder::MARKER;

/// The folder of manifests.
pub(super) const CHECKPOINTS: &str = "checkpoints";
/// The folders of what is under its digest.
pub(super) const TABLES: &str = "tables";
pub(super) const PIECES: &str = "pieces";
/// The folder of the archive's files.
pub const WARC: &str = "warc";
/// The list of the archive's files, as it goes in pieces.
pub(super) const ARCHIVE: &str = "archive.jsonl";
/// How much JSON is packed.
const LEVEL: i32 = 9;

/// A checkpoint as it lies elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Copy {
    /// Where the folder of the archive's files was as it was sent: the place may be under another name by now, or be moved.
    pub(super) warc_at: String,
    /// The checkpoint's own manifest: of its files the tables alone, and not the archive's.
    pub checkpoint: Manifest,
    /// Its other files, `crawl.jsonl`, and the list of the archive's files.
    pub(super) pieces: BTreeMap<String, Vec<Piece>>,
}

/// The key of a table file.
pub(super) fn table_key(sha256: &str) -> String {
    format!("{TABLES}/{sha256}")
}

/// The key of a file of the archive.
pub(super) fn warc_key(file: &str) -> String {
    format!("{WARC}/{file}")
}

/// The key of a manifest.
pub(super) fn copy_key(name: &str) -> String {
    format!("{CHECKPOINTS}/{name}.json.zst")
}

/// True for the path of a table file.
pub(super) fn is_table(file: &str) -> bool {
    file.starts_with("db/") && file.ends_with(".sst")
}

impl Copy {
    /// The copy of this name; none when there is none.
    ///
    /// # Errors
    /// [`CheckpointError::Manifest`] for one that is none, or whose names and digests would lead elsewhere; those of the place.
    pub(super) fn read(place: &dyn Place, name: &str) -> Result<Option<Self>> {
        let key = copy_key(name);
        let Some(read) = read_json::<Self>(place, &key)? else { return Ok(None) };
        let at = place.url(&key);
        let wrong = |problem: String| CheckpointError::Manifest { at: at.clone(), problem };
        let checkpoint = read.checkpoint.checked(&at)?;
        if checkpoint.name != name {
            return Err(wrong(format!("it is that of {}", checkpoint.name)));
        }
        let is_good = |file: &Stored| is_table(&file.file) && file.sha256.as_deref().is_some_and(is_digest);
        if let Some(other) = checkpoint.files.iter().find(|file| !is_good(file)) {
            return Err(wrong(format!("{:?} is no table file under its digest", other.file)));
        }
        let known = |path: &str| match path.strip_prefix("db/") {
            Some(file) => is_plain(file),
            None => [MARKER, uploads::LIST, uploads::JSONL, ARCHIVE].contains(&path),
        };
        if let Some((other, _)) = read.pieces.iter().find(|(path, all)| !known(path) || !all.iter().all(Piece::is_good))
        {
            return Err(wrong(format!("{other:?} is no file of a checkpoint in pieces")));
        }
        Ok(Some(Self { checkpoint, ..read }))
    }

    /// Writes it; gives its bytes there.
    pub(super) fn write(&self, place: &dyn Place) -> Result<u64> {
        write_json(place, &copy_key(&self.checkpoint.name), self)
    }

    /// The objects that it names, with their lengths; without the archive's.
    pub(super) fn objects(&self) -> impl Iterator<Item = (String, u64)> + '_ {
        let tables = self.checkpoint.files.iter();
        let tables = tables.filter_map(|file| Some((table_key(file.sha256.as_ref()?), file.bytes)));
        tables.chain(self.pieces.values().flatten().map(|piece| (piece.key(), piece.sent)))
    }

    /// The objects that are not `there` with their lengths.
    pub(super) fn lacking(&self, there: &HashMap<String, u64>) -> Vec<String> {
        self.objects().filter(|(key, bytes)| there.get(key) != Some(bytes)).map(|(key, _)| key).collect()
    }
}

/// Lower-case hexadecimal of a SHA-256.
pub(super) fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Names of the copies there, the oldest first.
pub(super) fn names(place: &dyn Place) -> Result<Vec<String>> {
    let keys = place.list(CHECKPOINTS)?.into_keys();
    let stem = |key: String| Some(key.split_once('/')?.1.strip_suffix(".json.zst")?.to_owned());
    let mut names: Vec<String> = keys.filter_map(stem).filter(|name| is_name(name)).collect();
    names.sort_unstable();
    Ok(names)
}

/// The objects that are there under a digest, with their lengths, and what a kill left of them.
pub(super) fn stock(place: &dyn Place) -> Result<HashMap<String, u64>> {
    let mut there = place.list(TABLES)?;
    there.extend(place.list(PIECES)?);
    Ok(there)
}

/// Reads packed JSON; none when it is not there.
pub(super) fn read_json<T: for<'de> Deserialize<'de>>(place: &dyn Place, key: &str) -> Result<Option<T>> {
    let Some(packed) = read_small(place, key)? else { return Ok(None) };
    let wrong = |problem: String| CheckpointError::Manifest { at: place.url(key), problem };
    let mut text = Vec::new();
    let unpacked = zstd::stream::read::Decoder::new(packed.as_slice());
    let read = unpacked.and_then(|unpacked| unpacked.take(LARGEST).read_to_end(&mut text)); // cut off it is no JSON
    read.map_err(|e| wrong(e.to_string()))?;
    serde_json::from_slice(&text).map(Some).map_err(|e| wrong(e.to_string()))
}

/// Packs and writes JSON, and reads it back; gives its bytes there.
pub(super) fn write_json<T: Serialize>(place: &dyn Place, key: &str, value: &T) -> Result<u64> {
    let text = serde_json::to_vec(value).unwrap_or_default(); // texts and numbers; an empty one is refused by every reader
    let wrong = |e: std::io::Error| CheckpointError::Manifest { at: place.url(key), problem: e.to_string() };
    let packed = zstd::bulk::compress(&text, LEVEL).map_err(wrong)?;
    put_bytes(place, key, &packed)?;
    Ok(packed.len() as u64)
}
