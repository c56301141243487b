//! What stands in the place of erased records: bytes of exactly their length, so that nothing else in the file moves.
//!
//! In a `.warc.gz` that is one gzip member with a `metadata` record of the type [`ERASED`], made longer by a comment in the member's
//! header (RFC 1952, section 2.3.1) or by zeros as its content, in stored blocks (RFC 1951, section 3.2.4). In a `.warc.zst` it is a
//! skippable frame (RFC 8878, section 3.1.2) of zeros, which every reader passes over.

use std::io::{self, Write};

use flate2::{Compress, Crc, FlushCompress};
use sha1::{Digest as _, Sha1};

use super::date::iso;
use super::digest::WarcDigest;
use super::header::HeaderBlock;
use super::member::Compression;
use super::record::RecordId;
use crate::base::time::UnixMillis;

/// `Content-Type` of the record.
pub const ERASED: &str = "application/x-erased";

/// Most bytes that a comment may have; readers look for the end of a header in one piece.
const COMMENT: u64 = 2_048;
/// Most bytes in a stored block.
const BLOCK: u64 = 65_535;
/// What a gzip member has around its blocks: header and trailer.
const AROUND: u64 = 18;
/// What stands before a stored block.
const BEFORE_BLOCK: u64 = 5;
/// Bytes of a skippable frame before its content; most that one is given.
const FRAME: (u64, u64) = (8, 1 << 30);
/// Ends a record.
const END: &[u8] = b"\r\n\r\n";

/// Where a filler stands, which makes its name, and its date.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "each name says it")]
pub struct Filler<'a> {
    pub file: &'a str,
    pub offset: u64,
    pub date: UnixMillis,
}

impl Filler<'_> {
    /// Writes `length` bytes in the form of the file.
    ///
    /// # Errors
    /// Those of `out`; [`io::ErrorKind::InvalidInput`] when so few bytes can hold no filler (below about 230 of gzip, 8 of zstd).
    pub fn write(&self, compression: Compression, length: u64, out: &mut impl Write) -> io::Result<()> {
        match compression {
            Compression::Gzip(_) => self.gzip(length, out),
            Compression::Zstd(_) => frames(length, out),
        }
    }

    fn gzip(&self, length: u64, out: &mut impl Write) -> io::Result<()> {
        let small = [self.head(0, WarcDigest::of(&[])).as_slice(), END].concat();
        let packed = deflated(&small)?;
        let least = AROUND + packed.len() as u64;
        let gap = length.checked_sub(least).ok_or_else(|| too_short(length, least))?;
        if gap > COMMENT {
            return self.stored(length, out);
        }
        begin(gap, out)?;
        out.write_all(&packed)?;
        let mut crc = Crc::new();
        crc.update(&small);
        end(&crc, out)
    }

    /// The record with zeros as its content.
    fn stored(&self, length: u64, out: &mut impl Write) -> io::Result<()> {
        let least = self.head(length, WarcDigest::of(&[])).len() as u64 + AROUND + END.len() as u64;
        let content = length - least - BEFORE_BLOCK * length.div_ceil(BLOCK);
        let head = self.head(content, digest_of_zeros(content));
        let record = head.len() as u64 + content + END.len() as u64;
        begin(length - AROUND - record - BEFORE_BLOCK * record.div_ceil(BLOCK), out)?;
        let mut blocks = Blocks { out, crc: Crc::new(), left: record, room: 0 };
        blocks.put(&head)?;
        let zeros = vec![0; BLOCK as usize];
        let mut left = content;
        while left > 0 {
            let piece = left.min(BLOCK);
            blocks.put(zeros.get(..piece as usize).unwrap_or_default())?;
            left -= piece;
        }
        blocks.put(END)?;
        let crc = blocks.crc;
        end(&crc, out)
    }

    /// The header of a record with so many zeros as its content, which have this digest.
    fn head(&self, content: u64, digest: WarcDigest) -> Vec<u8> {
        let mut head = HeaderBlock::default();
        head.put("WARC-Type", "metadata");
        head.put("WARC-Record-ID", RecordId::of(format!("erased\n{}\n{}", self.file, self.offset).as_bytes()));
        head.put("WARC-Date", iso(self.date));
        head.put("WARC-Block-Digest", digest);
        head.put("Content-Type", ERASED);
        head.finish(content)
    }
}

fn too_short(length: u64, least: u64) -> io::Error {
    let why =
        format!("a record of {length} bytes has no room for what takes its place: that has {least} bytes at least");
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

fn digest_of_zeros(count: u64) -> WarcDigest {
    let (mut sha, zeros, mut left) = (Sha1::new(), [0; 4_096], count);
    while left > 0 {
        let piece = left.min(zeros.len() as u64);
        sha.update(zeros.get(..piece as usize).unwrap_or_default());
        left -= piece;
    }
    sha.into()
}

/// One piece of compressed data (RFC 1951).
fn deflated(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut out = Vec::with_capacity(bytes.len() + 64);
    Compress::new(flate2::Compression::best(), false)
        .compress_vec(bytes, &mut out, FlushCompress::Finish)
        .map_err(io::Error::other)?;
    Ok(out)
}

/// The header of a member, with a comment that makes it `longer` bytes longer.
fn begin(longer: u64, out: &mut impl Write) -> io::Result<()> {
    const HAS_COMMENT: u8 = 0x10;
    let flags = if longer > 0 { HAS_COMMENT } else { 0 };
    out.write_all(&[0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 255])?;
    if longer > 0 {
        let mut comment = vec![b'-'; usize::try_from(longer).map_err(io::Error::other)?];
        comment.last_mut().into_iter().for_each(|last| *last = 0);
        out.write_all(&comment)?;
    }
    Ok(())
}

fn end(crc: &Crc, out: &mut impl Write) -> io::Result<()> {
    out.write_all(&crc.sum().to_le_bytes())?;
    out.write_all(&crc.amount().to_le_bytes())
}

/// Stored blocks being written.
struct Blocks<'o, W> {
    out: &'o mut W,
    crc: Crc,
    /// Bytes still to come, and those that fit into the block at hand.
    left: u64,
    room: u64,
}

impl<W: Write> Blocks<'_, W> {
    fn put(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        self.crc.update(bytes);
        while !bytes.is_empty() {
            if self.room == 0 {
                self.room = self.left.min(BLOCK);
                self.left -= self.room;
                let [low, high] = (self.room as u16).to_le_bytes();
                self.out.write_all(&[u8::from(self.left == 0), low, high, !low, !high])?;
            }
            let now = bytes.len().min(self.room as usize);
            let (piece, rest) = bytes.split_at(now);
            self.out.write_all(piece)?;
            self.room -= now as u64;
            bytes = rest;
        }
        Ok(())
    }
}

/// Skippable frames of zeros.
fn frames(length: u64, out: &mut impl Write) -> io::Result<()> {
    let (head, most) = FRAME;
    if length < head {
        return Err(too_short(length, head));
    }
    let mut left = length;
    while left > 0 {
        // What is left behind this one must have room for another.
        let now = if left <= head + most { left } else { most.min(left - head) };
        let content = now - head;
        out.write_all(&[0x50, 0x2a, 0x4d, 0x18])?;
        out.write_all(&(content as u32).to_le_bytes())?;
        io::copy(&mut io::Read::take(io::repeat(0), content), out)?;
        left -= now;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::reader::WarcReader;
    use super::super::scan::scan_next;
    use super::*;

    const AT: Filler<'_> = Filler { file: "a.warc.gz", offset: 7, date: UnixMillis(1_714_996_800_123) };
    const GZIP: Compression = Compression::Gzip(1);
    const ZSTD: Compression = Compression::Zstd(1);

    fn filled(compression: Compression, length: u64) -> Vec<u8> {
        let mut out = Vec::new();
        AT.write(compression, length, &mut out).unwrap();
        assert_eq!(out.len() as u64, length);
        out
    }

    fn least() -> u64 {
        (0..1_000).find(|length| AT.write(GZIP, *length, &mut Vec::new()).is_ok()).unwrap()
    }

    #[test]
    fn a_filler_of_gzip_has_every_length_from_the_least_on_and_is_one_record() {
        let least = least();
        assert!(least < 260, "{least}: records of a page are longer");
        let long = [BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 30, 1_000_000, 5_000_003];
        for length in (least..=3_000).chain(long.into_iter().flat_map(|long| long - 40..long + 40)) {
            let member = filled(GZIP, length);
            let mut reader = WarcReader::new(&*member, 0);
            let record = scan_next(&mut reader).unwrap().unwrap();
            assert_eq!((record.header.kind(), record.length), ("metadata", length));
            assert_eq!(record.header.get("Content-Type"), Some(ERASED));
            record.check_digests().unwrap();
            assert!(scan_next(&mut reader).unwrap().is_none(), "{length}");
        }
    }

    #[test]
    fn a_filler_of_zstd_has_every_length_from_eight_on_and_is_passed_over() {
        let mut record = Vec::new();
        let mut member = super::super::member::Packer::new(ZSTD);
        let mut open = member.member(&mut record).unwrap();
        open.write_all(b"WARC/1.1\r\nWARC-Type: metadata\r\nContent-Length: 0\r\n\r\n\r\n\r\n").unwrap();
        open.finish().unwrap();
        for length in 8..=3_000 {
            let file = [filled(ZSTD, length), record.clone(), filled(ZSTD, 8)].concat();
            let mut reader = WarcReader::new(&*file, 0);
            assert_eq!(scan_next(&mut reader).unwrap().unwrap().header.offset, length);
            assert!(scan_next(&mut reader).unwrap().is_none(), "{length}");
        }
    }

    #[test]
    fn what_is_too_short_is_refused_and_nothing_is_written() {
        for (compression, length) in [(GZIP, 0), (GZIP, least() - 1), (ZSTD, 0), (ZSTD, 7)] {
            let mut out = Vec::new();
            let error = AT.write(compression, length, &mut out).unwrap_err();
            assert_eq!((error.kind(), out.len()), (io::ErrorKind::InvalidInput, 0), "{compression:?} {length}");
        }
    }
}
