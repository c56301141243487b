//! What grows, in pieces that are sent once: lines of a crawl, lists, the database's own record of its files; small files too.
//!
//! Pieces are digested as they are and sent packed by zstd. So that a crawl with a checkpoint each quarter of an hour does not gather
//! thousands, as many of a size as [`FAN`] are sent again as one: each byte at most once for each size.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::layout::{PIECES, is_digest};
use super::place::Place;
use super::{CheckpointError, Result, files};

/// So many pieces of a size become one.
const FAN: usize = 8;
/// Bytes of the smallest size; each size is eight times the one before.
const SMALLEST: u64 = 4 << 10;
/// Bytes of a piece at most.
const LARGEST: u64 = 256 << 20;

/// A piece.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Piece {
    /// Digest of its bytes before they were packed.
    pub sha256: String,
    /// Their number.
    pub bytes: u64,
    /// Bytes of the object.
    pub sent: u64,
}

impl Piece {
    /// Its key.
    pub fn key(&self) -> String {
        key(&self.sha256)
    }

    /// True unless it would lead out of its folder, or have no end.
    pub fn is_good(&self) -> bool {
        is_digest(&self.sha256) && self.bytes <= LARGEST
    }
}

/// The key of a piece with this digest.
pub(super) fn key(sha256: &str) -> String {
    format!("{PIECES}/{sha256}.zst")
}

/// Bytes of pieces.
pub(super) fn total(pieces: &[Piece]) -> u64 {
    pieces.iter().map(|piece| piece.bytes).fold(0, u64::saturating_add)
}

/// How many of the pieces that a file of `len` bytes begins with stay as they are, and what is sent behind them.
pub(super) fn plan(pieces: &[Piece], len: u64) -> (usize, Vec<Range<u64>>) {
    let size = |bytes: u64| (bytes / SMALLEST).max(1).ilog2() / FAN.ilog2();
    let (mut kept, mut begin) = (pieces.len(), total(pieces));
    if begin >= len {
        return (kept, Vec::new());
    }
    while let Some(former) = pieces.get(..kept) {
        let own = size(len - begin);
        let smaller = former.iter().rev().take_while(|piece| size(piece.bytes) <= own).count();
        let all = former.get(kept - smaller..).map_or(0, total);
        if smaller + 1 < FAN || len - begin + all > LARGEST {
            break;
        }
        (kept, begin) = (kept - smaller, begin - all);
    }
    let mut ranges = Vec::new();
    while begin < len {
        let end = len.min(begin + LARGEST);
        ranges.push(begin..end);
        begin = end;
    }
    (kept, ranges)
}

/// How many of these pieces the first `len` bytes of a file begin with.
pub(super) fn shared(path: &Path, pieces: &[Piece], len: u64) -> Result<usize> {
    let mut file = File::open(path).map_err(CheckpointError::io("open", path))?;
    let (mut count, mut at) = (0, 0);
    for piece in pieces {
        at += piece.bytes;
        if at > len {
            break;
        }
        let found = files::digest_of(&mut file, piece.bytes, |_| Ok(()));
        if found.map_err(CheckpointError::io("read", path))?.1 != piece.sha256 {
            break;
        }
        count += 1;
    }
    Ok(count)
}

/// Packs a part of a file; gives the digest of it as it is.
pub(super) fn pack(path: &Path, part: &Range<u64>, to: &mut File) -> Result<String> {
    let bytes = part.end - part.start;
    let pack = || {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(part.start))?;
        let mut packed = zstd::stream::write::Encoder::new(to, zstd::DEFAULT_COMPRESSION_LEVEL)?;
        let (read, sha256) = files::digest_of(file.take(bytes), bytes, |piece| packed.write_all(piece))?;
        packed.finish()?;
        if read == bytes { Ok(sha256) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    };
    pack().map_err(CheckpointError::io("pack a part of", path))
}

/// Fetches pieces one after another, each as its digest says.
///
/// # Errors
/// Those of the place; [`CheckpointError::Damaged`] for one that is not there or not as it was.
pub(super) fn unpack(place: &dyn Place, name: &str, pieces: &[Piece], to: &mut dyn Write) -> Result<()> {
    for piece in pieces {
        let key = piece.key();
        let damaged = |what: &str| CheckpointError::Damaged {
            name: name.to_owned(),
            problems: vec![format!("{} {what}", place.url(&key))],
        };
        let out = Checked { to, sha: Sha256::new(), left: piece.bytes };
        let opened = zstd::stream::write::Decoder::new(out);
        let mut unpacked = opened.map_err(|e| damaged(&format!("cannot be unpacked: {e}")))?;
        let mut problem = None;
        // What it holds is looked at here: an error of `each` would be told as one of the place.
        let got = place.get(&key, &mut |chunk| {
            problem = problem.take().or_else(|| unpacked.write_all(chunk).err());
            Ok(())
        })?;
        let flushed = unpacked.flush();
        let out = unpacked.into_inner();
        match problem.or(flushed.err()) {
            _ if got.is_none() => return Err(damaged("is not there")),
            Some(e) => return Err(damaged(&format!("is not as it was: {e}"))),
            None if out.left > 0 || files::hex(&out.sha.finalize()) != piece.sha256 => {
                return Err(damaged("has another content"));
            }
            None => {}
        }
    }
    Ok(())
}

/// Writes on so many bytes at most, and digests them.
struct Checked<'w> {
    to: &'w mut dyn Write,
    sha: Sha256,
    left: u64,
}

impl Write for Checked<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = self.left.checked_sub(bytes.len() as u64);
        self.left = left.ok_or_else(|| io::Error::other("it is longer than its manifest says"))?;
        self.sha.update(bytes);
        self.to.write_all(bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Target;
    use super::super::place::put_bytes;
    use super::*;

    fn piece(bytes: u64) -> Piece {
        Piece { sha256: "0".repeat(64), bytes, sent: bytes }
    }

    #[test]
    fn what_grew_is_sent_alone_and_many_small_pieces_become_one() {
        // A file that grows by 100,000 bytes three thousand times: 300 MB.
        let (mut pieces, mut sent, mut most): (Vec<Piece>, u64, usize) = (Vec::new(), 0, 0);
        for n in 1..=3_000 {
            let (kept, ranges) = plan(&pieces, n * 100_000);
            pieces.truncate(kept);
            assert_eq!(ranges.first().map(|r| r.start), Some(total(&pieces)), "without a gap");
            pieces.extend(ranges.iter().map(|r| piece(r.end - r.start)));
            sent += ranges.iter().map(|r| r.end - r.start).sum::<u64>();
            most = most.max(pieces.len());
            assert_eq!(total(&pieces), n * 100_000);
        }
        assert!(most <= 32, "{most} pieces");
        assert!(sent <= 5 * 300_000_000, "each byte once for each size: {sent}");
        assert_eq!(plan(&pieces, 300_000_000), (pieces.len(), Vec::new()), "nothing new, nothing sent");
        assert_eq!(plan(&[], 3 * LARGEST + 1).1.len(), 4);
    }

    #[test]
    fn pieces_come_back_as_they_were_or_are_told_as_damaged() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "abcdefgh").unwrap();
        let place = Target::Folder(dir.path().join("to")).open(None).unwrap();
        let mut pieces = Vec::new();
        for part in [0..3, 3..8] {
            let packed = tempfile::NamedTempFile::new().unwrap();
            let sha256 = pack(&file, &part, &mut packed.reopen().unwrap()).unwrap();
            let bytes = std::fs::read(packed.path()).unwrap();
            put_bytes(&*place, &key(&sha256), &bytes).unwrap();
            pieces.push(Piece { sha256, bytes: part.end - part.start, sent: bytes.len() as u64 });
        }
        let back = |pieces: &[Piece]| {
            let mut out = Vec::new();
            unpack(&*place, "c", pieces, &mut out).map(|()| String::from_utf8(out).unwrap())
        };
        assert_eq!(back(&pieces).unwrap(), "abcdefgh");
        assert_eq!((shared(&file, &pieces, 8).unwrap(), shared(&file, &pieces, 7).unwrap()), (2, 1));
        std::fs::write(&file, "abcdefgX").unwrap();
        assert_eq!(shared(&file, &pieces, 8).unwrap(), 1);
        for (bytes, why) in [(4, "another content"), (2, "longer than its manifest says")] {
            let error = back(&[Piece { bytes, ..pieces[0].clone() }]).unwrap_err();
            assert!(matches!(error, CheckpointError::Damaged { .. }) && error.to_string().contains(why), "{error}");
        }
        put_bytes(&*place, &pieces[0].key(), b"garbage").unwrap();
        assert!(back(&pieces).unwrap_err().to_string().contains("is not as it was"));
        place.remove(&pieces[0].key()).unwrap();
        assert!(back(&pieces).unwrap_err().to_string().contains("is not there"));
    }
}
